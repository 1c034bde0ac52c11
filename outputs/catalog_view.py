"""The catalog as a person or a program reads it: lists of parts, and one part with the source of each datum."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..problems import DesignError, Problem, did_you_mean
from ..vendors.catalog import Catalog
from ..vendors.models import Copper, Fibre, Licence, Module, Node, Part, RackType, Switch

if TYPE_CHECKING:
    from rich.console import Console

ROOMS = ("switches", "nodes", "cables", "modules", "racks", "licences")
"""`cables` are copper and fibres together."""


def parts_in(catalog: Catalog, room: str) -> Mapping[str, Part]:
    """Parts of a room by model name; raises DesignError with the nearest room names."""
    rooms: dict[str, Mapping[str, Part]] = {
        "switches": catalog.switches,
        "nodes": catalog.nodes,
        "cables": {**catalog.copper, **catalog.fibres},
        "modules": catalog.modules,
        "racks": catalog.racks,
        "licences": catalog.licences,
    }
    if room not in rooms:
        raise DesignError([Problem("catalog", "", f"the catalog has no kind or model {room!r}", fix=did_you_mean(room, [*rooms, *(m for parts in rooms.values() for m in parts)]))])
    return rooms[room]


def _chosen(catalog: Catalog, room: str, model: str) -> Part:
    parts = parts_in(catalog, room)
    if model not in parts:
        raise DesignError([Problem("catalog", "", f"unknown model {model!r} in {room}", fix=did_you_mean(model, parts))])
    return parts[model]


def room_of(catalog: Catalog, room: str | None, model: str | None) -> tuple[str | None, str | None]:
    """(room, model) as asked; a lone model name finds its room."""
    if room is not None and model is None and room not in ROOMS:
        return next(((r, room) for r in ROOMS if room in parts_in(catalog, r)), (room, None))
    return room, model


def catalog_json(catalog: Catalog, room: str | None, model: str | None) -> str:
    """The chosen part, room, or whole catalog as a JSON document."""
    room, model = room_of(catalog, room, model)
    if room and model:
        data: object = _chosen(catalog, room, model).model_dump(mode="json")
    else:
        data = {r: {m: p.model_dump(mode="json") for m, p in parts_in(catalog, r).items()} for r in ([room] if room else ROOMS)}
    return json.dumps(data, indent=2)


def print_catalog(catalog: Catalog, room: str | None, model: str | None, console: Console) -> None:
    """Print the rooms, one room's parts, or one part with source, date and confidence of each datum."""
    room, model = room_of(catalog, room, model)
    if room is None:
        for name in ROOMS:
            console.print(f"{name:<10}{len(parts_in(catalog, name)):>4} models", markup=False)
        console.print(f"{'families':<10}     {', '.join(f'{f} ({m})' for f, m in sorted(catalog.families.items()))}", markup=False)
    elif model is None:
        parts = parts_in(catalog, room)
        width = max(len(m) for m in parts)
        for name, part in parts.items():
            status = "" if part.status == "shipping" else f" [{part.status}]"
            console.print(f"{name:<{width}}  {part.description}{status}{_key_figures(part)}", markup=False, soft_wrap=True)
    else:
        _print_part(catalog, _chosen(catalog, room, model), console)


def _key_figures(part: Part) -> str:
    if isinstance(part, Switch):
        return f"  families: {', '.join(part.families) or 'none'}"
    if isinstance(part, Node):
        return f"  {_networks(part)}"
    if isinstance(part, Licence):
        return f"  one for each {part.per} of {', '.join(part.families)}"
    if isinstance(part, Copper | Fibre):
        return f"  {_lengths(part.lengths_m)}"
    if isinstance(part, Module):
        return f"  {part.optics}, {', '.join(f'{grade} {reach:g} m' for grade, reach in part.reach_m.items())}"
    if isinstance(part, RackType):
        return f"  {part.height_ru}U, {part.power_w / 1000:g} kW, {part.weight_kg:g} kg"
    return ""


def _networks(part: Node) -> str:
    """What the node is and has for each network: `gpu: compute 8 x 800G`, at the fastest mode that nobody disputes."""
    cages = {c.label: c.modes for c in part.cages}
    found: dict[str, list[int]] = {}
    for port in part.ports:
        modes = part.modes if port.use == "compute" else cages[port.cage]
        found.setdefault(port.use, []).append(max((m.ports * m.gbps for m in modes if not m.disputed), default=0))
    return f"{part.role}: " + ", ".join(f"{use} {len(speeds)} x {max(speeds)}G" if max(speeds) else f"{use} {len(speeds)}" for use, speeds in found.items())


def _lengths(lengths: Iterable[float]) -> str:
    return ", ".join(f"{length:g}" for length in sorted(lengths)) + " m"


def _print_part(catalog: Catalog, part: Part, console: Console) -> None:
    console.print(f"{part.model}  {part.description} ({part.vendor})", markup=False)
    data = part.model_dump(mode="json", exclude_defaults=True)
    for row in part.evidence:
        source = catalog.sources[row.source]
        console.print(f"\n{row.confidence}, checked {row.checked}: {source.title}" + (f" <{source.url}>" if source.url else ""), markup=False, soft_wrap=True)
        if row.note:
            console.print(f"  note: {row.note}", markup=False, soft_wrap=True)
        for field in row.fields:
            if field in data:
                console.print(f"  {field}: {_short(data[field])}", markup=False, soft_wrap=True)
    for caution in part.cautions:
        console.print(f"\ncaution: {caution}", markup=False, soft_wrap=True)


def _short(value: object) -> str:
    """One line for one datum; lists of mappings get a line each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "".join("\n    " + ", ".join(f"{k} {_short(v)}" for k, v in item.items()) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{k} ({v})" if v is not None else str(k) for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_short(v) for v in value)
    return str(value)
