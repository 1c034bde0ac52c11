"""The whole search of one placement: local search, exact polish, and a bound; large halls in parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..fabric.topology import Topology
from .arrangements import amid_su
from .hall import Ints
from .hall_bound import hall_bound
from .keep import Kept, servers_at
from .pins import Wishes, wishes
from .placement import Ground
from .pricing import METRES_A_MODULE, Tariff
from .sites import State, make_sites, positions_of
from .solver_bound import conditional_bound, lower_bound
from .solver_pods import solve_pods
from .solver_polish import polish_all
from .solver_search import scratch, search, state_of
from .solver_walk import make_board

WORK = {"fixed": 2_000_000, "quick": 15_000_000, "normal": 150_000_000, "thorough": 5_000_000_000}
"""Cells of cost tables that a search may fill, by effort: about 2 s, 30 s and 10 min on one core."""


LEGS = {"fixed": 1, "quick": 1, "normal": 4, "thorough": 16}
"""Searches that begin anew, each with a seed of its own and its share of the work."""

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


def solve(
    topology: Topology,
    ground: Ground,
    tariff: Tariff,
    kept: Kept | None,
    starts: Sequence[tuple[Ints, Ints]],
    effort: str,
    tell: Callable[[str], None],
    stop: Callable[[], bool],
    jobs: int,
    unit: str,
) -> Found | None:
    """Search with the work that the effort allows; None when nothing was found at all."""
    simple = hall_bound(topology, ground, tariff)
    scale = 1.0 if tariff.priced else METRES_A_MODULE
    if kept is None and starts and len(ground.hall.free) > SPOTS_MAX[effort]:
        try:
            asked = wishes(topology, ground.hall, ground.racks)
            several = tuple(solve_pods(topology, ground, tariff, asked, start, POD_WORK[effort], tell, stop) for start in starts[: STARTS[effort]])
        except KeyboardInterrupt:
            return None
        return Found(several, simple, 0.0, "interrupted" if stop() else "feasible")
    standing = _standing(topology, ground, starts, kept)
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
            tell(f"placing racks and switches: {cost / scale:,.0f} {unit}")

    status, bound, within = "feasible", simple, 0.0
    try:
        begin = [s for start in starts if (s := state_of(sites, *start)) is not None]
        fresh = scratch(board)
        begin += [] if fresh is None else [fresh]
        for leg in range(LEGS[effort]):
            search(board, begin, topology.design.seed + leg, WORK[effort] // LEGS[effort], heard, stop, simple)
        if best and effort in ("normal", "thorough"):
            within, slots_open = conditional_bound(board, *best[0])
            within = max(within, polish_all(board, best[0][0], POLISH[effort], jobs, slots_open, heard, stop))
        if best and effort != "fixed":
            bound = lower_bound(board, *best[0], simple, effort, stop)
            tell(f"placing racks and switches: {best[0][1] / scale:,.0f} {unit}, bound {bound / scale:,.0f}")
    except KeyboardInterrupt:
        status = "interrupted"
    if not best:
        return None
    places = positions_of(sites, best[0][0], topology.devices.height)
    return Found((places if kept is None else kept.override(*places),), bound, within, "interrupted" if stop() else status)


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
    return None if found is None else (servers_at(topology, *found), servers_at(topology, *found, kept))
