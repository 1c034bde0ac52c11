"""The placement of a design: fixed arrangements, the search at the effort asked for, the cheapest of all that keeps every rule.

A fixed arrangement that breaks a rule is no candidate, and what the search finds is priced and checked like any other:
so the result is never worse than the best fixed arrangement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..fabric.topology import Topology
from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from .around import arranged_around, arranged_beside, racks_needed
from .arrangements import FIXED
from .hall import Ints
from .impossible import impossible
from .keep import kept_places, with_fellows
from .kept import Kept
from .pins import pin_problems
from .placement import Ground, Placement, Solution, assemble, reference, survey, too_small
from .pricing import METRES_A_MODULE, Cost, Tariff, links_by_kind, make_tariff, price_routes, whole_routes_m
from .routes import route_terms_m
from .rules import check_placement
from .solver import Found, Task, solve
from .together import torn_in

TOGETHER_COSTS = 0.01
"""What racks of a pod that stand together may cost more than scattered ones, as a share, unless the design says."""

REFERENCE = "amid-su"
"""The arrangement that is planned unless a search is asked for."""

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

    Devices whose places are given stay there; around some of them the others are searched at any effort, and where all are
    given nothing is searched. `stop` is asked from time to time and ends the search early. Raises DesignError with all problems found.
    """
    spec = topology.design.placement
    ground = survey(topology, catalog)
    kept, remarks = kept_places(topology, ground.hall, keep)
    remarks = raise_errors([*pin_problems(topology, ground.hall), *remarks])
    ground = replace(ground, findings=(*ground.findings, *remarks, *raise_errors(impossible(topology, ground))))
    if effort == "fixed" and spec.arrangement == "auto" and kept is None:
        raise_errors(ground.short)
        placement = reference(topology, ground)
        if placement is not None and not check_placement(topology, placement):
            return placement
    tariff = make_tariff(topology, catalog, _reach_m(ground))
    fixed = _arranged(topology, ground, tariff, FIXED if spec.arrangement == "auto" else {**FIXED, spec.arrangement: None})
    unit = topology.design.cables.currency if tariff.priced else "modules"
    found: Found | None = None
    together = scattered = None
    if spec.arrangement != "auto" and kept is None:
        if spec.arrangement not in fixed:
            raise DesignError(_forced_breaks(topology, ground, spec.arrangement))
        best, effort = fixed[spec.arrangement], "fixed"
    elif kept is not None and kept.mask.all():
        placement = assemble(topology, ground.hall, kept.position, kept.ru, ground.findings)
        best, effort = Candidate("given", placement, price_routes(tariff, whole_routes_m(topology, placement))), "fixed"
    else:
        around = None if kept is None else with_fellows(kept, topology, ground)
        arranged = sorted(fixed.values(), key=lambda c: c.cost.rank) if around is None else _arranged_beside(topology, ground, tariff, around)
        if effort != "fixed" or around is not None or not arranged:
            starts = [] if around is not None else [_places(topology, c.placement) for c in arranged] or _other_starts(topology, ground)
            found = solve(Task(topology, ground, tariff, around, starts, effort, tell, stop, jobs, unit))
        searched = [_candidate("search", topology, ground, tariff, *places) for places in (found.places if found else ())]
        candidates = [*arranged, *(c for c in searched if c is not None)]
        if not candidates:
            if found is not None and found.status == "interrupted" and not stop():
                raise KeyboardInterrupt
            raise DesignError(_nothing_found(topology, ground, kept))
        best, together, scattered = _chosen(topology, candidates, fixed)
        if effort == "fixed" and kept is None and REFERENCE in fixed:
            best = fixed[REFERENCE]
    solution = _solution(topology, tariff, fixed, best, found, effort, unit)
    return replace(best.placement, solution=replace(solution, kept=0 if kept is None else int(kept.mask.sum()), together=together, scattered=scattered))


def _solution(topology: Topology, tariff: Tariff, fixed: Mapping[str, Candidate], best: Candidate, found: Found | None, effort: str, unit: str) -> Solution:
    """How good the best candidate is, against the fixed arrangements and the bounds of the search."""
    bound, within = (0.0, 0.0) if found is None else (found.bound, found.within if best.name == "search" else 0.0)
    if not tariff.priced:
        bound, within = (float(np.floor(b / METRES_A_MODULE + 1e-6)) for b in (bound, within))
    status = "fixed" if found is None else found.status
    routes_m = whole_routes_m(topology, best.placement)
    return Solution(
        arrangement=best.name,
        status="optimal" if best.cost.objective <= bound + 1e-6 else status,
        unit=unit,
        objective=best.cost.objective,
        today=price_routes(tariff, routes_m, today=True).objective,
        bound=min(round(bound, 2), best.cost.objective),
        bound_within=min(round(within, 2), best.cost.objective),
        baselines={name: fixed[name].cost.objective if name in fixed else None for name in FIXED},
        links=links_by_kind(tariff, routes_m),
        effort=effort,
    )


def _chosen(topology: Topology, candidates: Sequence[Candidate], fixed: Mapping[str, Candidate]) -> tuple[Candidate, float | None, float]:
    """The candidate to take, and the least cost with every pod's racks together and of any: together wins where it costs little more."""
    cheapest = min(candidates, key=lambda c: c.cost.rank)
    whole = [c for c in candidates if not len(torn_in(topology, c.placement))] if topology.design.placement.contiguous != "never" else []
    if not whole:
        return cheapest, None, cheapest.cost.objective
    best = min(whole, key=lambda c: c.cost.rank)
    limit = min([cheapest.cost.objective * (1 + TOGETHER_COSTS), *(c.cost.objective for c in fixed.values())])
    near = best.cost.stuck <= cheapest.cost.stuck and best.cost.objective <= limit
    return best if near else cheapest, best.cost.objective, cheapest.cost.objective


def _places(topology: Topology, placement: Placement) -> tuple[Ints, Ints]:
    """Hall position and lowest unit of every device; PDUs have none, for they follow the racks."""
    number = {rack: i for i, rack in enumerate(placement.hall.positions["rack"].to_list())}
    position = np.array([number[rack] for rack in placement.racks["rack"].to_list()], np.int64)
    ru = np.where((topology.devices["role"] == "pdu").to_numpy(), 0, placement.places["ru"].to_numpy())
    return position[placement.places["rack_no"].to_numpy()], ru.astype(np.int64)


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
    return Candidate(name, placement, price_routes(tariff, whole_routes_m(topology, placement)))


def _arranged(topology: Topology, ground: Ground, tariff: Tariff, names: Iterable[str]) -> dict[str, Candidate]:
    """The fixed arrangements that fit and keep the rules."""
    found = {}
    for name in names:
        tries = (_candidate(name, topology, ground, tariff, *arranged) for arranged in arranged_around(name, topology, ground))
        candidate = next((c for c in tries if c is not None), None)
        if candidate is not None:
            found[name] = candidate
    return found


def _too_small(topology: Topology, ground: Ground, name: str = "", searched: bool = False) -> list[Problem]:
    """By how much the hall without its forbidden racks is too small for the reference arrangement, or the one named."""
    shut = int(ground.hall.positions["rack"].gather(ground.hall.free).is_in(topology.design.placement.forbidden).sum())
    return too_small(topology, ground.hall, ground.blocks, ground.racks, ground.cap, racks_needed(name, topology, ground) if name else None, shut, name, searched)


def _arranged_beside(topology: Topology, ground: Ground, tariff: Tariff, kept: Kept) -> list[Candidate]:
    """The fixed arrangements of everything else around kept devices, as far as they keep the rules."""
    tries = (_candidate("arranged", topology, ground, tariff, *places) for name in FIXED for places in arranged_beside(name, topology, ground, kept))
    return [candidate for candidate in tries if candidate is not None]


def _forced_breaks(topology: Topology, ground: Ground, name: str) -> list[Problem]:
    """Say why a forced arrangement is none."""
    broken = _broken_by(topology, ground, name)
    if broken is None:
        what = f"{name} finds no room around pins, forbidden racks, feeds and existing equipment"
        fix = "use auto, loosen them, or add positions to hall.rows"
        return _too_small(topology, ground, name) or [Problem("arrangement", "placement.arrangement", what, f"it takes {racks_needed(name, topology, ground):,} racks", fix)]
    return [Problem("arrangement", "placement.arrangement", f"{name} breaks a rule: {broken}", "a forced arrangement stands as it is", "use auto, or loosen what it breaks")]


def _broken_by(topology: Topology, ground: Ground, name: str) -> str | None:
    """The first rule that an arrangement breaks, and how many times rules are broken; None when it does not fit at all."""
    arranged = next(arranged_around(name, topology, ground), None)
    if arranged is None:
        return None
    broken = check_placement(topology, assemble(topology, ground.hall, *arranged))
    return f"{broken[0].where} {broken[0].what}" + (f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else "")


def _other_starts(topology: Topology, ground: Ground) -> list[tuple[Ints, Ints]]:
    """Fixed arrangements that are none only because they take more racks than there are PDUs for: a search may do with fewer."""
    tries = [places for name in FIXED for places in arranged_around(name, topology, ground)]
    return [places for places in tries if {p.rule for p in check_placement(topology, assemble(topology, ground.hall, *places))} == {"rack-pdus"}]


def _nothing_found(topology: Topology, ground: Ground, kept: Kept | None) -> list[Problem]:
    """Say why nothing keeps all rules: the hall is too small, or what each arrangement breaks."""
    short = _too_small(topology, ground, searched=True)
    if short:
        return short
    if kept is not None:
        what = f"no placement was found around {int(kept.mask.sum()):,} devices whose places are given"
        return [Problem("no-placement", "placement", what, "what is given stays", "let go of some of them, loosen pins or power groups, or add positions to hall.rows")]
    what = "no placement was found that keeps every pin, power group and limit together"
    why = "; ".join(f"{name} {'does not fit' if (broken := _broken_by(topology, ground, name)) is None else f'breaks: {broken}'}" for name in FIXED)
    most = max((kind.per_rack for kind in ground.racks.values()), default=1)
    together = f"; nodes stand together, {most} in a rack: `placement.places` gives single ones their place, hall.nodes_per_rack makes racks smaller" if most > 1 else ""
    return [Problem("no-placement", "placement", what, why, f"loosen pins or power groups, or add positions to hall.rows{together}")]
