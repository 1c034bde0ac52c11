"""The catalog: every part file of the shipped folder and of the user's own, read, checked and joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast

from ..problems import DesignError, Problem, did_you_mean
from .models import PART_ROOMS, Copper, Fibre, Licence, Module, Node, Part, Price, PriceList, RackType, SourceDoc, Switch
from .yaml_source import Source, read_yaml, validate

SHIPPED = Path(__file__).parent
AnyPart = TypeVar("AnyPart", bound=Part)


@dataclass(frozen=True)
class Catalog:
    """All parts by model name. `families` maps a family to its default switch model."""

    switches: Mapping[str, Switch]
    nodes: Mapping[str, Node]
    modules: Mapping[str, Module]
    copper: Mapping[str, Copper]
    fibres: Mapping[str, Fibre]
    racks: Mapping[str, RackType]
    licences: Mapping[str, Licence]
    prices: tuple[Price, ...]
    sources: Mapping[str, SourceDoc]
    families: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    """Part -> the file it was read from, as `room/model`."""

    def switch(self, model: str) -> Switch:
        """Return a switch; raises DesignError with the nearest names."""
        return _named(self.switches, model, "switch")

    def node(self, model: str) -> Node:
        """Return a node; raises DesignError with the nearest names."""
        return _named(self.nodes, model, "node")

    def rack(self, model: str) -> RackType:
        """Return a rack type; raises DesignError with the nearest names."""
        return _named(self.racks, model, "rack type")

    def price(self, part: Part, length_m: float | None = None, part_number: str | None = None) -> Price | None:
        """Price of a part (of a length, where it is sold by length); the last list read wins."""
        names = {part.model, *part.part_numbers, part_number or part.model}
        fitting = [p for p in self.prices if p.part in names and p.length_m in (None, length_m)]
        exact = [p for p in fitting if p.length_m is not None]
        chosen = exact or fitting
        return chosen[-1] if chosen else None


def _named(parts: Mapping[str, AnyPart], model: str, what: str) -> AnyPart:
    if model not in parts:
        raise DesignError([Problem("catalog", "", f"unknown {what} {model!r}", fix=did_you_mean(model, parts))])
    return parts[model]


def load_catalog(extra: str | Path | Iterable[str | Path] = ()) -> Catalog:
    """Read the shipped catalog and then each extra folder, which adds parts or overrides them by model name.

    Raises DesignError with every fault of every file.
    """
    problems: list[Problem] = []
    parts: dict[str, dict[str, Part]] = {room: {} for room in PART_ROOMS}
    files: dict[str, str] = {}
    prices: list[Price] = []
    sources: dict[str, SourceDoc] = {}
    families: dict[str, str] = {}
    folders = [extra] if isinstance(extra, str | Path) else list(extra)
    for folder in (SHIPPED, *map(Path, folders)):
        if not folder.is_dir():
            problems.append(Problem("catalog", str(folder), "is not a folder", fix="name a folder with switches/, nodes/, modules/, ... in it"))
            continue
        problems += _unknown_rooms(folder)
        for index, target in (("sources.yaml", sources), ("families.yaml", families)):
            if (folder / index).is_file():
                problems += _read_index(folder / index, cast("dict[str, Any]", target))
        for room, model in PART_ROOMS.items():
            problems += _read_room(folder / room, model, parts[room], files)
        for path in sorted((folder / "prices").glob("*.yaml")):
            try:
                prices += validate(PriceList, read_yaml(path, "catalog"), "catalog").prices
            except DesignError as error:
                problems += error.problems
    problems += _dangling(parts, families, prices, sources, files)
    if problems:
        raise DesignError(problems)
    rooms = {room: MappingProxyType(dict(sorted(found.items()))) for room, found in parts.items()}
    return Catalog(**cast("dict[str, Any]", rooms), prices=tuple(prices), sources=sources, families=families, files=files)


def _unknown_rooms(folder: Path) -> list[Problem]:
    if folder == SHIPPED:
        return []
    known = {*PART_ROOMS, "prices"}
    unread = [
        Problem("catalog", str(p), "is not read", f"part files end in .yaml and lie in {', '.join(sorted(known))}", "rename or move it")
        for p in sorted(folder.rglob("*.y*ml"))
        if p.suffix == ".yml" or (p.parent == folder and p.name not in ("sources.yaml", "families.yaml"))
    ]
    return unread + [
        Problem("catalog", str(p), f"unknown folder {p.name!r}", "its files would be left unread", did_you_mean(p.name, known))
        for p in sorted(folder.iterdir())
        if p.is_dir() and p.name not in known and not p.name.startswith(".")
    ]


def _read_index(path: Path, target: dict[str, Any]) -> Iterable[Problem]:
    try:
        source = read_yaml(path, "catalog")
        if not isinstance(source.data, dict):
            return [Problem("catalog", source.where(()), "is not a mapping", fix="write `key: value` lines")]
        if path.name == "families.yaml":
            target.update({str(k): str(v) for k, v in source.data.items()})
        else:
            for key, value in source.data.items():
                target[key] = validate(SourceDoc, Source(source.name, value, _below(source, key)), "catalog")
    except DesignError as error:
        return error.problems
    return []


def _below(source: Source, key: str) -> dict[tuple[str | int, ...], int]:
    return {loc[1:]: line for loc, line in source.lines.items() if loc[:1] == (key,)}


def _read_room(folder: Path, model: type[Part], found: dict[str, Part], files: dict[str, str]) -> list[Problem]:
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            source = read_yaml(path, "catalog")
            part = validate(model, source, "catalog")
        except DesignError as error:
            problems += error.problems
            continue
        if part.model != path.stem:
            problems.append(
                Problem("catalog", source.where(("model",)), f"model {part.model!r} in file {path.name!r}", "a part is found by its file name", f"name the file {part.model}.yaml")
            )
        found[part.model] = part
        files[f"{folder.name}/{part.model}"] = str(path)
    return problems


def _dangling(
    parts: Mapping[str, Mapping[str, Part]], families: Mapping[str, str], prices: Iterable[Price], sources: Mapping[str, SourceDoc], files: Mapping[str, str]
) -> list[Problem]:
    problems = []
    for room, found in parts.items():
        for part in found.values():
            for key in sorted({row.source for row in part.evidence} - set(sources)):
                problems.append(Problem("catalog", files[f"{room}/{part.model}"], f"unknown source {key!r}", fix=did_you_mean(key, sources)))
    for family, model in families.items():
        if model not in parts["switches"]:
            problems.append(Problem("catalog", "families.yaml", f"family {family} names switch {model!r}", fix=did_you_mean(model, parts["switches"])))
    every = {n: part for found in parts.values() for part in found.values() for n in (part.model, *part.part_numbers)}
    for price in prices:
        priced = every.get(price.part)
        if priced is None:
            what = f"a price names part {price.part!r}, which the catalog does not have"
            problems.append(Problem("catalog", "prices", what, "it would price nothing", did_you_mean(price.part, every)))
        elif price.length_m is not None and price.length_m not in getattr(priced, "lengths_m", {}):
            lengths = ", ".join(f"{length:g}" for length in getattr(priced, "lengths_m", {})) or "not by length"
            what = f"a price of {price.part} at {price.length_m:g} m, a length it is not sold in"
            problems.append(Problem("catalog", "prices", what, "it would price nothing", f"it is sold in: {lengths}"))
        if price.source not in sources:
            problems.append(Problem("catalog", "prices", f"price of {price.part} names unknown source {price.source!r}", fix=did_you_mean(price.source, sources)))
    return problems
