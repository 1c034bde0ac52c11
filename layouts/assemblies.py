"""Every legal way to join a group of cages: copper assemblies and optical channels, with their lengths.

One cage is all optics or all copper, and a twin module serves both of its ports. So cages that links join,
directly or through each other, are decided together: that is a `Group`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ..fabric.design import CablesSpec
from ..vendors.catalog import Catalog
from ..vendors.models import Copper, Fibre, Module, Part
from .plugs import CageClass, module_fits, plug_fits

Kind = Literal["dac", "acc", "aec", "utp", "aoc", "mmf", "smf"]
KINDS: tuple[Kind, ...] = ("dac", "acc", "aec", "utp", "aoc", "mmf", "smf")
"""In order of preference where prices do not decide: passive copper first, single-mode last. RJ45 takes utp alone."""

GLASS_KIND: dict[str, Kind] = {"multimode": "mmf", "single-mode": "smf"}


@dataclass(frozen=True)
class Group:
    """The shape of one group of cages that must be decided together (lengths apart)."""

    a_cages: int
    b_cages: int
    links: int
    a_links: int
    """Links of the fullest cage on side a."""
    b_links: int
    a_classes: tuple[CageClass, ...]
    b_classes: tuple[CageClass, ...]

    def __str__(self) -> str:
        a, b = (" and ".join(str(c) for c in classes) for classes in (self.a_classes, self.b_classes))
        return f"{a} to {b}"


@dataclass(frozen=True)
class CopperChoice:
    """One copper (or active optical) cable that carries all links of a group."""

    part: Copper
    length_m: float
    head_on_b: bool

    @property
    def kind(self) -> Kind:
        """Kind of the cable."""
        return self.part.kind


@dataclass(frozen=True)
class OpticalChoice:
    """Modules for every class of cage in a group; fibres are chosen by each one's own length."""

    kind: Kind
    optics: str
    modules: Mapping[CageClass, Module]
    connector: str
    glass: str
    reach_m: float


Choice = CopperChoice | OpticalChoice


def limits_on(policy: CablesSpec, tier: str) -> dict[str, float]:
    """Longest cable of each kind that the design trusts on a tier; 0 is off."""
    off = {} if tier in policy.copper_tiers else dict.fromkeys(("dac", "acc", "aec"), 0.0)
    return {**{str(kind): length for kind, length in policy.max_length_m.items()}, **off}


def trusted(kind: Kind, length_m: float, limits: Mapping[str, float]) -> bool:
    """True when the design trusts this kind at this length."""
    return kind not in limits or (limits[kind] > 0 and length_m <= limits[kind])


def copper_parts(group: Group, catalog: Catalog) -> Iterator[tuple[Copper, bool]]:
    """Copper parts whose plugs fit the group's cages and carry all of its links: (part, head on side b)."""
    if len(group.a_classes) != 1 or len(group.b_classes) != 1:
        return
    a, b = group.a_classes[0], group.b_classes[0]
    for part in catalog.copper.values():
        if (a.gbps, a.lane_gbps) not in part.speeds or a.protocol not in part.protocols or part.status == "planned":
            continue
        for head_on_b in (True, False):
            head, tail = (b, a) if head_on_b else (a, b)
            heads, tails, per_tail = (group.b_cages, group.a_cages, group.a_links) if head_on_b else (group.a_cages, group.b_cages, group.b_links)
            if heads != 1 or tails > len(part.tails) or (tails < len(part.tails) and group.links > tails * part.tails[0].ports):
                continue
            if part.head.ports != head.ports or any(t.ports != tail.ports or per_tail > t.ports for t in part.tails):
                continue
            if plug_fits(part.head, head) and all(plug_fits(t, tail) for t in part.tails):
                yield part, head_on_b
                break


def modules_for(cage: CageClass, catalog: Catalog) -> list[Module]:
    """Modules that can be ordered and that serve the cage as it is run."""
    return [m for m in catalog.modules.values() if m.status != "planned" and module_fits(m, cage)]


def connectors(cage: CageClass, catalog: Catalog) -> int:
    """Fibre connectors of the cage's modules; the cage's ports lie on them in equal shares (0: no module fits)."""
    return max((m.connectors for m in modules_for(cage, catalog)), default=0)


def optical_types(group: Group, catalog: Catalog) -> Iterator[tuple[str, str, str, dict[CageClass, list[Module]]]]:
    """(optics, glass, connector, modules by cage class) of every type that serves all cages of the group."""
    classes = tuple(dict.fromkeys((*group.a_classes, *group.b_classes)))
    fitting = {c: [m for m in modules_for(c, catalog) if m.connectors == connectors(c, catalog)] for c in classes}
    types = {c: {(m.optics, m.glass, m.connector) for m in fitting[c]} for c in classes}
    for optics, glass, connector in sorted(set.intersection(*types.values())):
        yield optics, glass, connector, {c: [m for m in fitting[c] if (m.optics, m.glass, m.connector) == (optics, glass, connector)] for c in classes}


def fibres(catalog: Catalog, shape: str, glass: str, connector: str) -> list[Fibre]:
    """Fibres of one shape, glass and connector."""
    return [f for f in catalog.fibres.values() if (f.shape, f.glass, f.connector) == (shape, glass, connector)]


def next_length(lengths: Mapping[float, object], route_m: float) -> float | None:
    """Shortest length sold that covers the route; None when none does."""
    return min((length for length in lengths if length >= route_m), default=None)


def fibre_length(fibre: Fibre, route_m: float, modules: Mapping[CageClass, Module]) -> float | None:
    """Length sold that covers the route and that every module still reaches in that length's glass."""
    length = next_length(fibre.lengths_m, route_m)
    if length is None:
        return None
    grade = fibre.grade(length)
    return length if all(_reach(m, grade) >= length for m in modules.values()) else None


def _reach(module: Module, grade: str) -> float:
    return next((reach for name, reach in module.reach_m.items() if name == grade), 0.0)


def options(group: Group, route_m: float, catalog: Catalog, limits: Mapping[str, float], shapes: tuple[str, ...]) -> list[Choice]:
    """Every legal choice for a group whose longest route is `route_m` and whose fibres have these shapes."""
    found: list[Choice] = []
    for part, head_on_b in copper_parts(group, catalog):
        length = next_length(part.lengths_m, route_m)
        if length is not None and trusted(part.kind, length, limits):
            found.append(CopperChoice(part, length, head_on_b))
    for optics, glass, connector, by_class in optical_types(group, catalog):
        kind = GLASS_KIND[glass]
        lengths = []
        for shape in shapes:
            fitting = [length for f in fibres(catalog, shape, glass, connector) if (length := next_length(f.lengths_m, route_m)) is not None and trusted(kind, length, limits)]
            lengths.append(min(fitting, default=None))
        if not lengths or None in lengths:
            continue
        need = max(length for length in lengths if length is not None)
        grade = next(f.grade(need) for f in fibres(catalog, shapes[0], glass, connector))
        modules = {c: _best_module([m for m in candidates if _reach(m, grade) >= need], catalog) for c, candidates in by_class.items()}
        chosen = {c: m for c, m in modules.items() if m is not None}
        if len(chosen) == len(modules):
            found.append(OpticalChoice(kind, optics, chosen, connector, glass, min(_reach(m, grade) for m in chosen.values())))
    return found


def _best_module(candidates: list[Module], catalog: Catalog) -> Module | None:
    """Shipping before announced, then the shortest reach that suffices, then price, then name."""

    def rank(module: Module) -> tuple[object, ...]:
        price = catalog.price(module)
        return (module.status != "shipping", max(module.reach_m.values()), price.value if price else float("inf"), module.model)

    return min(candidates, key=rank, default=None)


def price_of(choice: Choice, group: Group, route_m: float, catalog: Catalog, currency: str) -> float | None:
    """Price of a choice for one group, or None when a part of it has none in the currency."""

    def value(part: Part, length_m: float | None = None) -> float | None:
        price = catalog.price(part, length_m)
        return price.value if price and price.currency == currency else None

    if isinstance(choice, CopperChoice):
        return value(choice.part, choice.length_m)
    fibre = next((f for f in fibres(catalog, "straight", choice.glass, choice.connector)), None)
    glass = value(fibre, next_length(fibre.lengths_m, route_m)) if fibre else None
    a = [value(choice.modules[c]) for c in group.a_classes]
    b = [value(choice.modules[c]) for c in group.b_classes]
    if glass is None or None in a or None in b:
        return None
    top_a, top_b = (max(v for v in side if v is not None) for side in (a, b))
    return glass * group.links + top_a * group.a_cages + top_b * group.b_cages


def best(found: list[Choice], group: Group, route_m: float, catalog: Catalog, currency: str) -> Choice:
    """The cheapest choice when all have prices; else by kind, shorter reach first."""
    prices = [price_of(c, group, route_m, catalog, currency) for c in found]

    def order(choice: Choice) -> tuple[object, ...]:
        if isinstance(choice, CopperChoice):
            return (KINDS.index(choice.kind), choice.part.confidence_of("tails") == "unverified", choice.length_m, choice.part.model)
        return (KINDS.index(choice.kind), False, choice.reach_m, choice.optics)

    if all(p is not None for p in prices):
        return min(zip(prices, found, strict=True), key=lambda pair: (pair[0], order(pair[1])))[1]
    return min(found, key=order)
