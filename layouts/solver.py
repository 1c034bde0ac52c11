"""The whole search of one placement: local search, exact polish, and a bound; large halls in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..fabric.topology import Topology, grown
from .arrangements import amid_su
from .hall import Ints
from .hall_bound import hall_bound
from .kept import Kept, servers_at
from .pins import Wishes, wishes
from .placement import Ground
from .pricing import METRES_A_MODULE, Tariff
from .sites import State, make_sites, positions_of
from .sizes import device_sizes
from .solver_bound import conditional_bound, lower_bound
from .solver_pods import solve_pods
from .solver_polish import polish_all
from .solver_search import scratch, search, state_of
from .solver_together import search_together
from .solver_walk import make_board

WORK = {"fixed": 2_000_000, "quick": 15_000_000, "normal": 150_000_000, "thorough": 5_000_000_000}
"""Cells of cost tables that a search may fill, by effort: less than 1 s, about 2 s, 30 s and 10 min on one core."""

LEGS = {"fixed": 1, "quick": 1, "normal": 4, "thorough": 16}
"""Searches that begin anew, each with a seed of its own and its share of the work."""

TOGETHER = 0.5
"""Work of the search with pods together, as a share of the free one's."""

POLISH = {"normal": 3.0, "thorough": 120.0}
"""Deterministic time of the exact polish."""

POD_WORK = {"fixed": 200_000, "quick": 1_000_000, "normal": 10_000_000, "thorough": 200_000_000}
"""Work for each kind of pod of a large hall."""

STARTS = {"fixed": 1, "quick": 1, "normal": 2, "thorough": 4}
"""Fixed arrangements, cheapest first, that a large hall is searched from."""

SPOTS_MAX = {"fixed": 160, "quick": 160, "normal": 240, "thorough": 320}
"""Positions up to which a hall is searched as a whole."""


class Found(NamedTuple):
    """What a search found: places (hall position, lowest unit) to price, bounds, and how it ended."""

    places: tuple[tuple[Ints, Ints], ...]
    bound: float
    """On the cost of any placement."""
    within: float
    """On the cost of any placement with the upper switches where they are; 0 where it was not asked."""
    status: str


def counts_hold(topology: Topology) -> bool:
    """True when a rack's most switches hold for every placement: no feed and no row's air is shared out, and all switches draw, heat and weigh the same."""
    sizes = device_sizes(topology).filter(topology.devices["role"] != "node")
    design = topology.design
    shared = design.placement.power_groups or any(row.cooling_kw is not None for row in design.hall.rows)
    return not shared and sizes.select("power_w", "air_w", "weight_kg").unique().height <= 1


class Task(NamedTuple):
    """What to search for, from where, and with how much work."""

    topology: Topology
    ground: Ground
    tariff: Tariff
    kept: Kept | None
    starts: Sequence[tuple[Ints, Ints]]
    """Fixed arrangements, cheapest first."""
    effort: str
    tell: Callable[[str], None]
    stop: Callable[[], bool]
    """Whether the time is up."""
    jobs: int
    unit: str
    """What the price is counted in, for people."""


def solve(task: Task) -> Found | None:
    """Search with the work that the effort allows, for the cluster when it has grown; None when nothing was found at all.

    Around kept devices nothing is searched in a hall too large to be searched as a whole. An interrupt (Ctrl-C) ends the search:
    what was found until then is kept.
    """
    nothing = Found((), 0.0, 0.0, "interrupted")
    if task.stop() and task.starts:
        return nothing
    try:
        task = task._replace(topology=grown(task.topology))
        simple = hall_bound(task.topology, task.ground, task.tariff)
        if len(task.ground.hall.free) <= SPOTS_MAX[task.effort]:
            return _of_whole_hall(task, simple)
        if task.kept is not None:
            return Found((), simple, 0.0, "feasible")  # the arrangements around kept devices are all there is
        return _in_parts(task, simple) if task.starts else _of_whole_hall(task, simple)
    except KeyboardInterrupt:
        return nothing


def _in_parts(task: Task, simple: float) -> Found:
    """Pods by themselves, then the switches above them, from several arrangements."""
    topology, ground = task.topology, task.ground
    asked = wishes(topology, ground.hall, ground.racks)
    several = []
    interrupted = False
    for start in task.starts[: STARTS[task.effort]]:
        places, interrupted = solve_pods(topology, ground, task.tariff, asked, start, POD_WORK[task.effort], task.tell, task.stop)
        several.append(places)
        if interrupted:
            break
    return Found(tuple(several), simple, 0.0, "interrupted" if interrupted or task.stop() else "feasible")


def _of_whole_hall(task: Task, simple: float) -> Found | None:
    """All racks and switches at once."""
    topology, ground, tariff, starts, effort, tell, stop = task.topology, task.ground, task.tariff, task.starts, task.effort, task.tell, task.stop
    scale = 1.0 if tariff.priced else METRES_A_MODULE
    standing = _standing(topology, ground, starts, task.kept)
    if standing is None:
        return None
    servers, kept = standing
    asked = _with_pdus_for_all(topology, ground, wishes(topology, ground.hall, ground.racks, servers), starts)
    sites = make_sites(topology, ground.hall, tariff, ground.racks, ground.cap, asked, kept)
    board = make_board(sites)
    best: list[tuple[State, float]] = []

    def heard(state: State, cost: float) -> None:
        if not best or cost < best[0][1]:
            best[:] = [(state, cost)]
            tell(_progress(cost, simple, scale, task.unit))

    together: list[tuple[State, float]] = []

    def heard_together(state: State, cost: float) -> None:
        together[:] = [(state, cost)]

    status, bound, within = "feasible", simple, 0.0
    try:
        begin = [s for start in starts if (s := state_of(sites, *start)) is not None]
        fresh = scratch(board)
        begin += [] if fresh is None else [fresh]
        for leg in range(LEGS[effort]):
            search(board, begin, topology.design.seed + leg, WORK[effort] // LEGS[effort], heard, stop, simple)
        if best and effort in ("normal", "thorough"):
            within, slots_open = conditional_bound(board, *best[0])
            within = max(within, polish_all(board, best[0][0], POLISH[effort], task.jobs, slots_open, heard, stop))
        if best and task.kept is None and topology.design.placement.contiguous != "never":
            work = int(WORK[effort] * TOGETHER)
            search_together(board, [best[0][0], *begin], topology.design.seed, work, heard_together, stop)
        if best and effort != "fixed":
            tell(f"{_progress(best[0][1], simple, scale, task.unit)}; raising the bound")
            bound = lower_bound(board, *best[0], simple, effort, stop) if counts_hold(topology) else simple
            tell(_progress(best[0][1], bound, scale, task.unit))
    except KeyboardInterrupt:
        status = "interrupted"
    if not best:
        return None
    found = [positions_of(sites, state, topology.devices.height) for state, _ in (*best, *together)]
    return Found(tuple(found) if kept is None else tuple(kept.override(*p) for p in found), bound, within, "interrupted" if stop() else status)


def _progress(cost: float, bound: float, scale: float, unit: str) -> str:
    """The best placement so far as the search counts it (each link by its own route), the bound, and how far apart they are."""
    gap = 100 * (cost - bound) / cost if cost > 0 else 0.0
    return f"placing racks and switches: about {cost / scale:,.0f} {unit}, bound {bound / scale:,.0f}, gap {max(0.0, gap):.1f}%"


def _with_pdus_for_all(topology: Topology, ground: Ground, asked: Wishes, starts: Sequence[tuple[Ints, Ints]]) -> Wishes:
    """The wishes, with no more positions open than there are PDUs for: those of the cheapest arrangement, then the first others."""
    pdus = (topology.devices["role"] == "pdu").to_numpy()
    if topology.design.pdus is None or not starts:
        return asked
    racks = -(-int(pdus.sum()) // topology.design.pdus.per_rack)
    used = np.isin(ground.hall.free, starts[0][0][~pdus])
    used[np.flatnonzero(~used)[: max(0, racks - int(used.sum()))]] = True
    return replace(asked, may=asked.may & used[None, :])


def _standing(topology: Topology, ground: Ground, starts: Sequence[tuple[Ints, Ints]], kept: Kept | None) -> tuple[Kept | None, Kept | None] | None:
    """(servers, which stay where the cheapest arrangement stands them; these and what is kept already); None where they find no place."""
    if not topology.design.servers:
        return None, kept
    found = starts[0] if starts else amid_su(topology, ground.hall, ground.racks, ground.cap)
    if found is None:
        return None
    both = servers_at(topology, *found, kept)
    return servers_at(topology, both.position, both.ru), both
