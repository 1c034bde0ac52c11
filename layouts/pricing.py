"""What a placement costs in cables and modules, free of any solver: the specification that every search is measured by.

Which links share cages never depends on where things stand, so a `Tariff` is made once: for each shape of cage group
its lengths sold and, at each, the choice that `cables.cable` makes. Pricing a placement is then looking up routes.

Links that growth will add are priced with those of today, as `cables.cable` decides them together: placements are
compared by what the grown cluster costs. What the bill of today comes to is asked for by `today`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from ..fabric.topology import Topology, grown
from ..vendors.catalog import Catalog
from ..vendors.models import Part
from .assemblies import Choice, CopperChoice, Group, best, fibre_length, fibres, limits_on, options
from .cables import SIGNATURE, fibre_shapes, groups_of, lengths_sold, with_cages
from .hall import Floats, Ints
from .placement import Placement
from .plugs import CageClass
from .routes import route_lengths

NO_CABLE = 1e7
"""Price, or modules, of a link that no cable joins: dearer than anything legal."""

METRES_A_MODULE = 1e7
"""Weight of one optical module against metres of cable where prices are not known: modules always come first."""


class Cost(NamedTuple):
    """What a placement costs. Compare `rank`: lower is better."""

    money: float | None
    """Price of all cables and modules without spares, in the design's currency; None when a part has no price."""
    modules: int
    longest_m: float
    metres: float
    stuck: int
    """Links that no legal cable joins."""

    @property
    def rank(self) -> tuple[float, ...]:
        """Order of placements: joined at all, then price, or without prices modules; then longest cable, then metres."""
        first = float(self.modules) if self.money is None else round(self.money, 2)
        return (float(self.stuck), first, round(self.longest_m, 6), round(self.metres, 3))

    @property
    def objective(self) -> float:
        """The figure that is minimised: price, or number of optical modules where prices are missing."""
        return float(self.modules) if self.money is None else round(self.money, 2)


@dataclass(frozen=True)
class Step:
    """The choice for one kind of cage group up to one length sold."""

    kind: str
    copper: bool
    fixed: float
    """Price of the cable (copper) or of all modules (optics) of one group; not-a-number when unknown."""
    modules: int
    by_class: Floats
    """Price of the module in a cage of each class; 0 for copper and for classes that the group has none of."""
    length_m: float
    """Length of a copper cable; 0 for optics, whose fibres have their own lengths."""
    fibre_m: Mapping[str, Floats]
    """Shape of fibre -> lengths sold, ascending."""
    fibre_price: Mapping[str, Floats]


@dataclass(frozen=True)
class Kind:
    """One kind of cage group: `steps_m` are lengths sold; `steps[i]` holds for routes up to `steps_m[i]` (None: no legal choice)."""

    links: int
    fibres: Mapping[str, int]
    """Shape -> fibres of one group, were it optical."""
    steps_m: Floats
    steps: tuple[Step | None, ...]


@dataclass(frozen=True)
class Tariff:
    """Cage groups and fibres of every link, future ones included, and what each kind of group costs by length."""

    kinds: tuple[Kind, ...]
    kind_of_group: Ints
    group_of_link: Ints
    fibre_of_link: Ints
    group_of_fibre: Ints
    shape_of_fibre: Sequence[str]
    tier_of_group: Sequence[str]
    links_today: int
    """Links that are there today: those of lower numbers."""
    cages: Ints
    """[group, cage class]: cages."""
    cages_today: Ints
    """Those of them that a link of today ends in."""
    priced: bool
    """Every part that any route may ask for has a price in the design's currency."""

    @property
    def kind_of_link(self) -> Ints:
        """Kind of the cage group of each link."""
        return self.kind_of_group[self.group_of_link]


def make_tariff(topology: Topology, catalog: Catalog, reach_m: float) -> Tariff:
    """Group the cages of all links, future ones included, and look up what each kind of group costs at each length; `reach_m` is the longest route there can be."""
    whole = grown(topology)
    classes, links = with_cages(whole, _blank_routes(whole), catalog)
    links = links.sort("link")
    groups = groups_of(links).join(_mix(links), on="group", how="left", maintain_order="left").with_row_index("row")
    shaped = fibre_shapes(links).sort("fibre").with_row_index("fibre_no")
    numbered = links.join(groups.select("group", pl.col("row").alias("group_no")), on="group", how="left", maintain_order="left").join(
        shaped.select("fibre", "fibre_no"), on="fibre", how="left", maintain_order="left"
    )
    group_of_link = numbered["group_no"].to_numpy().astype(np.int64)
    fibre_of_link = numbered["fibre_no"].to_numpy().astype(np.int64)
    group_of_fibre = np.zeros(shaped.height, np.int64)
    group_of_fibre[fibre_of_link] = group_of_link
    kind_of_group = np.zeros(groups.height, np.int64)
    kinds: list[Kind] = []
    keyed = groups.group_by([*SIGNATURE, "mix", "fibre_mix"], maintain_order=True).agg("row")
    for signature in keyed.iter_rows(named=True):
        kind_of_group[np.array(signature["row"], np.int64)] = len(kinds)
        kinds.append(_kind(signature, classes, topology, catalog))
    tiers = numbered.group_by("group_no").agg(pl.col("tier").first()).sort("group_no")["tier"].to_list()
    priced = all(_has_prices(k, reach_m) for k in kinds)
    today = topology.links.height
    cages, cages_today = (_cages(some, groups.height, len(classes)) for some in (numbered, numbered.filter(pl.col("link") < today)))
    return Tariff(tuple(kinds), kind_of_group, group_of_link, fibre_of_link, group_of_fibre, shaped["shape"].to_list(), tiers, today, cages, cages_today, priced)


def _cages(links: pl.DataFrame, groups: int, classes: int) -> Ints:
    """[group, cage class]: cages that links end in."""
    found = np.zeros((groups, classes), np.int64)
    ends = pl.concat(links.select("group_no", pl.col(f"{end}_key").alias("cage"), pl.col(f"{end}_class").alias("class")) for end in "ab").unique()
    np.add.at(found, (ends["group_no"].to_numpy(), ends["class"].to_numpy()), 1)
    return found


def price(topology: Topology, placement: Placement, tariff: Tariff) -> Cost:
    """Price a placement: what `cables.cable` and the bill of materials come to when the cluster has grown, without spares."""
    return price_routes(tariff, whole_routes_m(topology, placement))


def whole_routes_m(topology: Topology, placement: Placement) -> Floats:
    """Length of the route of each link, then of each future link."""
    return route_lengths(grown(topology), placement)["route_m"].to_numpy()


def price_routes(tariff: Tariff, route_m: Floats, today: bool = False) -> Cost:
    """Price the routes of all links, future ones included, in link order; `today` counts only cables and modules that links of today need."""
    money, modules, longest, metres, stuck = 0.0, 0, 0.0, 0.0, 0
    count = tariff.links_today if today else len(tariff.group_of_link)
    links = np.bincount(tariff.group_of_link[:count], minlength=len(tariff.kind_of_group))
    needed = np.zeros(len(tariff.group_of_fibre), bool)
    needed[tariff.fibre_of_link[:count]] = True
    cages = tariff.cages_today if today else tariff.cages
    of_fibre = np.zeros(len(tariff.group_of_fibre))
    np.maximum.at(of_fibre, tariff.fibre_of_link, route_m)
    shapes = np.array(tariff.shape_of_fibre)
    at = step_of_groups(tariff, route_m)
    for number, kind in enumerate(tariff.kinds):
        for i in np.unique(at[tariff.kind_of_group == number]).tolist():
            groups = (tariff.kind_of_group == number) & (at == i) & (links > 0)
            step = kind.steps[i] if i < len(kind.steps) else None
            if step is None:
                stuck += int(links[groups].sum())
                continue
            if step.copper:
                copper = int(groups.sum())
                money += copper * step.fixed
                longest, metres = max(longest, step.length_m if copper else 0.0), metres + copper * step.length_m
                continue
            money += float((cages[groups] @ step.by_class).sum())
            modules += int(cages[groups].sum())
            inside = groups[tariff.group_of_fibre] & needed
            for shape, lengths in step.fibre_m.items():
                routes = of_fibre[inside & (shapes == shape)]
                bins = np.minimum(np.searchsorted(lengths, routes), len(lengths) - 1)
                money += float(step.fibre_price[shape][bins].sum())
                metres += float(lengths[bins].sum())
                longest = max(longest, float(lengths[bins].max(initial=0.0)))
    return Cost(money if tariff.priced else None, modules, longest, metres, stuck)


def step_of_groups(tariff: Tariff, route_m: Floats) -> Ints:
    """Row of its kind's steps that each group falls on, by its longest route."""
    longest = np.zeros(len(tariff.kind_of_group))
    np.maximum.at(longest, tariff.group_of_link, route_m)
    at = np.zeros(len(longest), np.int64)
    for number, kind in enumerate(tariff.kinds):
        mine = tariff.kind_of_group == number
        at[mine] = np.searchsorted(kind.steps_m, longest[mine])
    return at


def links_by_kind(tariff: Tariff, route_m: Floats) -> dict[str, dict[str, int]]:
    """Tier -> kind of cable -> number of links of today."""
    at = step_of_groups(tariff, route_m).tolist()
    links = np.bincount(tariff.group_of_link[: tariff.links_today], minlength=len(at)).tolist()
    found: dict[str, dict[str, int]] = {}
    for group, (number, i) in enumerate(zip(tariff.kind_of_group.tolist(), at, strict=True)):
        if links[group]:
            kind = tariff.kinds[number]
            step = kind.steps[i] if i < len(kind.steps) else None
            counts = found.setdefault(tariff.tier_of_group[group], {})
            name = step.kind if step else "none"
            counts[name] = counts.get(name, 0) + links[group]
    return found


def link_price(kind: Kind, priced: bool) -> tuple[Floats, Floats]:
    """Share of one link in its group's cost: (lengths, [step of the group's longest route, step of its own route]).

    The last row and column stand for routes beyond all lengths. Without prices the cost is modules, weighted by
    METRES_A_MODULE, plus metres. With one route for all links of a group (the diagonal) it is the group's cost shared out.
    """
    count = len(kind.steps_m)
    nothing = NO_CABLE * (1 if priced else METRES_A_MODULE)
    table = np.full((count + 1, count + 1), nothing)
    for i, step in enumerate(kind.steps):
        if step is None or (priced and np.isnan(step.fixed)):  # no price: farther than the hall reaches
            continue
        table[i, : i + 1] = (step.fixed if priced else step.modules * METRES_A_MODULE + step.length_m) / kind.links
        for shape, fibres_of in kind.fibres.items() if not step.copper else ():
            rows = np.minimum(np.searchsorted(step.fibre_m[shape], kind.steps_m[: i + 1]), len(step.fibre_m[shape]) - 1)
            table[i, : i + 1] += fibres_of / kind.links * (step.fibre_price if priced else step.fibre_m)[shape][rows]
    return kind.steps_m, np.nan_to_num(table, nan=nothing)


def _blank_routes(topology: Topology) -> pl.DataFrame:
    """A table of routes with the columns that grouping asks for; lengths play no part in it."""
    return pl.DataFrame({"link": topology.links["link"], "route_m": np.zeros(topology.links.height)})


def _mix(links: pl.DataFrame) -> pl.DataFrame:
    """Cages of each class and fibres of each shape in every group: columns `mix` (class and cages) and `fibre_mix` (shape and fibres), as lists of structs."""
    ends = pl.concat(links.select("group", pl.col(f"{end}_key").alias("cage"), pl.col(f"{end}_class").alias("class")) for end in "ab")
    cages = ends.group_by("group", "class").agg(pl.col("cage").n_unique().alias("n")).sort("group", "class").group_by("group").agg(pl.struct("class", "n").alias("mix"))
    shaped = links.select("group", "fibre").unique().join(fibre_shapes(links), on="fibre")
    kinds = shaped.group_by("group", "shape").len("n").sort("group", "shape").group_by("group").agg(pl.struct("shape", "n").alias("fibre_mix"))
    return cages.join(kinds, on="group")


def _kind(signature: dict[str, object], classes: Sequence[CageClass], topology: Topology, catalog: Catalog) -> Kind:
    """Look up the choice of one kind of group at every length sold."""
    policy = topology.design.cables
    limits = limits_on(policy, str(signature["tier"]))
    numbers = {name: signature[name] for name in SIGNATURE[:5]}
    sides = {side: tuple(classes[c] for c in signature[side]) for side in ("a_classes", "b_classes")}  # type: ignore[attr-defined]
    group = Group(**numbers, **sides)  # type: ignore[arg-type]
    shapes: tuple[str, ...] = tuple(signature["shapes"])  # type: ignore[arg-type]
    cages = {classes[row["class"]]: int(row["n"]) for row in signature["mix"]}  # type: ignore[attr-defined]
    steps_m = lengths_sold(group, shapes, catalog)
    steps: list[Step | None] = []
    for at_m in steps_m:
        found = options(group, at_m, catalog, limits, shapes)
        steps.append(_step(best(found, group, at_m, catalog, policy.currency), cages, classes, shapes, catalog, policy.currency) if found else None)
    counts = {str(row["shape"]): int(row["n"]) for row in signature["fibre_mix"]}  # type: ignore[attr-defined]
    return Kind(group.links, counts, np.array(steps_m), tuple(steps))


def _step(choice: Choice, cages: Mapping[CageClass, int], classes: Sequence[CageClass], shapes: Sequence[str], catalog: Catalog, currency: str) -> Step:
    def value(part: Part, length_m: float | None = None, number: str | None = None) -> float:
        found = catalog.price(part, length_m, number)
        return found.value if found and found.currency == currency else float("nan")

    if isinstance(choice, CopperChoice):
        fixed = value(choice.part, choice.length_m, choice.part.lengths_m[choice.length_m])
        return Step(choice.kind, True, fixed, 0, np.zeros(len(classes)), choice.length_m, {}, {})
    lengths: dict[str, Floats] = {}
    prices: dict[str, Floats] = {}
    for shape in shapes:
        sold = {}
        for fibre in sorted(fibres(catalog, shape, choice.glass, choice.connector), key=lambda f: f.model, reverse=True):
            for length in fibre.lengths_m:
                if fibre_length(fibre, length, choice.modules) == length:
                    sold[length] = value(fibre, length, fibre.lengths_m[length])
        lengths[shape] = np.array(sorted(sold))
        prices[shape] = np.array([sold[length] for length in sorted(sold)])
    by_class = np.array([value(choice.modules[c]) if c in cages else 0.0 for c in classes])
    fixed = sum(by_class[classes.index(c)] * n for c, n in cages.items())
    return Step(choice.kind, False, float(fixed), sum(cages.values()), by_class, 0.0, lengths, prices)


def _has_prices(kind: Kind, reach_m: float) -> bool:
    """True when everything that routes up to `reach_m` may ask for has a price."""
    last = int(np.searchsorted(kind.steps_m, reach_m)) + 1
    for step in (s for s in kind.steps[:last] if s is not None):
        glass = (step.fibre_price[shape][: int(np.searchsorted(step.fibre_m[shape], reach_m)) + 1] for shape in step.fibre_m)
        if np.isnan(step.fixed) or any(bool(np.isnan(prices).any()) for prices in glass):
            return False
    return True
