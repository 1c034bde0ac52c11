"""The placement of a design: fixed arrangements, the search at the effort asked for, the cheapest of all that keeps every rule.

A fixed arrangement that breaks a rule is no candidate, and what the search finds is priced and checked like any other:
so the result is never worse than the best fixed arrangement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..fabric.topology import Topology
from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from .arrangements import FIXED, PRESETS
from .hall import Ints
from .keep import kept_from_folder
from .pins import pin_problems
from .placement import Ground, Placement, Solution, assemble, reference, survey
from .pricing import METRES_A_MODULE, Cost, Tariff, links_by_kind, make_tariff, price_routes
from .routes import route_lengths, route_terms_m
from .rules import check_placement
from .solver import Found, solve

Tell = Callable[[str], None]

ROWS_AT_ONCE = 256
"""Positions whose routes to all others are looked at together."""


@dataclass(frozen=True)
class Candidate:
    """One placement that keeps the rules, with its price."""

    name: str
    placement: Placement
    cost: Cost


def place_best(
    topology: Topology, catalog: Catalog, effort: str = "fixed", keep: Path | None = None, tell: Tell = lambda text: None, stop: Callable[[], bool] = lambda: False, jobs: int = 1
) -> Placement:
    """Place every device; `effort` is fixed (no search), quick, normal or thorough; `keep` is the folder of a plan whose devices stay.

    `stop` is asked from time to time and ends the search early. Raises DesignError with all problems found.
    """
    spec = topology.design.placement
    ground = survey(topology, catalog)
    raise_errors(pin_problems(topology, ground.hall))
    kept = None if keep is None else kept_from_folder(keep, topology, ground.hall)
    if effort == "fixed" and spec.arrangement == "auto" and kept is None:
        raise_errors(ground.short)
        placement = reference(topology, ground)
        if placement is not None and not check_placement(topology, placement):
            return placement
    tariff = make_tariff(topology, catalog, _reach_m(ground))
    fixed = {} if kept else _arranged(topology, ground, tariff, FIXED if spec.arrangement == "auto" else {**FIXED, spec.arrangement: None})
    unit = topology.design.cables.currency if tariff.priced else "modules"
    found: Found | None = None
    if spec.arrangement != "auto" and kept is None:
        if spec.arrangement not in fixed:
            raise DesignError(ground.short or _breaks_rules(topology, ground, spec.arrangement))
        best, status = fixed[spec.arrangement], "fixed"
    else:
        if effort != "fixed" or not fixed:
            starts = [_places(c.placement) for c in sorted(fixed.values(), key=lambda c: c.cost.rank)] or ([] if kept else _other_starts(topology, ground))
            found = solve(topology, ground, tariff, kept, starts, effort, tell, stop, jobs, unit)
        searched = [] if found is None else [_candidate("search", topology, ground, tariff, *places) for places in found.places]
        candidates = [*fixed.values(), *(c for c in searched if c is not None)]
        if not candidates:
            raise DesignError(ground.short or _breaks_rules(topology, ground, None))
        best = min(candidates, key=lambda c: c.cost.rank)
        status = "fixed" if found is None else found.status
    bound, within = (0.0, 0.0) if found is None else (found.bound, found.within if best.name == "search" else 0.0)
    if not tariff.priced:
        bound, within = (float(np.floor(b / METRES_A_MODULE + 1e-6)) for b in (bound, within))
    if best.cost.objective <= bound + 1e-6:
        status = "optimal"
    solution = Solution(
        arrangement=best.name,
        status=status,
        unit=unit,
        objective=best.cost.objective,
        bound=min(round(bound, 2), best.cost.objective),
        bound_within=min(round(within, 2), best.cost.objective),
        baselines={name: fixed[name].cost.objective if name in fixed else None for name in FIXED},
        links=links_by_kind(tariff, route_lengths(topology, best.placement)["route_m"].to_numpy()),
        effort=effort,
    )
    return replace(best.placement, solution=solution)


def _places(placement: Placement) -> tuple[Ints, Ints]:
    """Hall position and lowest unit of every device."""
    number = {rack: i for i, rack in enumerate(placement.hall.positions["rack"].to_list())}
    position = np.array([number[rack] for rack in placement.racks["rack"].to_list()], np.int64)
    return position[placement.places["rack_no"].to_numpy()], placement.places["ru"].to_numpy().astype(np.int64)


def _reach_m(ground: Ground) -> float:
    """Longest route there can be: floor to floor, between the ends of the hall's rows, or between any positions where the hall lists its trays."""
    hall = ground.hall
    rows = hall.positions["row_no"].to_numpy()
    turns = rows[1:] != rows[:-1]
    ends = np.flatnonzero(np.r_[True, turns] | np.r_[turns, True]) if len(rows) else np.zeros(0, np.int64)
    spots, reach = hall.free if hall.listed else ends, 0.0
    for begin in range(0, len(spots), ROWS_AT_ONCE):
        a, b = (grid.ravel() for grid in np.meshgrid(spots[begin : begin + ROWS_AT_ONCE], spots[begin:]))
        floor = np.zeros(len(a))
        reach = max(reach, float(np.max(sum(route_terms_m(hall, a, b, floor, floor).values()), initial=0.0)))
    return reach


def _candidate(name: str, topology: Topology, ground: Ground, tariff: Tariff, position: Ints, ru: Ints) -> Candidate | None:
    """Price a placement; None when it breaks a rule."""
    placement = assemble(topology, ground.hall, position, ru, ground.findings)
    if check_placement(topology, placement):
        return None
    return Candidate(name, placement, price_routes(tariff, route_lengths(topology, placement)["route_m"].to_numpy()))


def _arranged(topology: Topology, ground: Ground, tariff: Tariff, names: Iterable[str]) -> dict[str, Candidate]:
    """The fixed arrangements that fit and keep the rules."""
    found = {}
    for name in names:
        arranged = PRESETS[name](topology, ground.hall, ground.racks, ground.cap)
        candidate = None if arranged is None else _candidate(name, topology, ground, tariff, *arranged)
        if candidate is not None:
            found[name] = candidate
    return found


def _other_starts(topology: Topology, ground: Ground) -> list[tuple[Ints, Ints]]:
    """Fixed arrangements that are none only because they take more racks than there are PDUs for: a search may do with fewer."""
    arranged = [a for name in FIXED if (a := PRESETS[name](topology, ground.hall, ground.racks, ground.cap)) is not None]
    return [a for a in arranged if {p.rule for p in check_placement(topology, assemble(topology, ground.hall, *a))} == {"rack-pdus"}]


def _breaks_rules(topology: Topology, ground: Ground, name: str | None) -> list[Problem]:
    """Say why a forced arrangement is none, or that nothing keeps all rules."""
    if name is None:
        what = "no placement was found that keeps every pin, power group and limit together"
        return [Problem("no-placement", "placement", what, "each of them can be kept alone", "loosen pins or power groups, or add positions to hall.rows")]
    arranged = PRESETS[name](topology, ground.hall, ground.racks, ground.cap)
    if arranged is None:
        return [
            Problem("arrangement", "placement.arrangement", f"{name} does not fit the hall", "its racks need more positions or units", "add positions to hall.rows, or use auto")
        ]
    broken = check_placement(topology, assemble(topology, ground.hall, *arranged))
    return [Problem("arrangement", "placement.arrangement", f"{name} breaks a rule: {broken[0].where} {broken[0].what}", fix="use auto, or loosen what it breaks")]
