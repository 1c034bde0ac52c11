"""How cheap any placement could be: branching over where spines stand, with the relaxation of `solver_relax` as the bound.

First by boxes that hold the spines' centre (`solver_centre`), which narrows a whole hall down. Where that stays below the
target, branching fixes the number of spines rack by rack, the lowest bound first. Patterns that stay below the target are
few; they are looked at slot by slot, and the lowest of them by CP-SAT with pods kept apart.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from .hall import Ints, Mask
from .sites import State
from .solver_centre import centre_bound, mirrors
from .solver_polish import parts_of, polish
from .solver_relax import NEVER, Branch, Pattern, Relaxed, ascend, relax
from .solver_walk import Board, open_mask, pair_cost, slot_costs

WORK = {"quick": 3_000_000, "normal": 50_000_000, "thorough": 2_000_000_000}
"""Cells of cost tables that branching over counts may look at, by effort."""

CENTRE_WORK = {"quick": 10_000_000, "normal": 300_000_000, "thorough": 5_000_000_000}
"""Cells that branching over the spines' centre may look at."""

CENTRE_SPOTS = 64
"""Positions up to which the centre is asked for: its corners grow with the third power."""

FAR = 0.05
"""Gap after the centre from which branching over counts has nothing to add in a hall of more than `FEW_SPOTS`."""

FEW_SPOTS = 24

QUICK_SLOTS = 2_000
"""Slots up to which a quick search asks for more than the simple bound."""

TARGET = {"quick": 0.02, "normal": 0.0095, "thorough": 0.005}
"""Gap at which a branch is let go."""

REFINED = {"quick": 0, "normal": 12, "thorough": 200}
"""Complete patterns of spines whose bound CP-SAT raises, the lowest first."""

PATTERN_TIME = {"quick": 0.0, "normal": 12.0, "thorough": 60.0}
"""Deterministic time of each, by effort."""


def lower_bound(board: Board, state: State, cost: float, simple: float, effort: str, stop: Callable[[], bool] = lambda: False) -> float:
    """Return a cost that no placement of the sites goes below; `state` is a known one, `cost` what it costs, `simple` a bound already known."""
    relaxed = None if effort == "quick" and board.sites.slot_count > QUICK_SLOTS else relax(board)
    if relaxed is None:
        return min(cost, simple)
    share = cost / relaxed.planes
    target, at_m = share * (1 - TARGET[effort]), np.stack([board.sites.hall.positions[c].to_numpy()[board.sites.spots] for c in ("x_m", "y_m")], axis=1)
    centre = centre_bound(relaxed, at_m, share, target, CENTRE_WORK[effort], stop) if len(at_m) <= CENTRE_SPOTS and is_free(board) else 0.0
    found = 0.0
    if centre < target and (len(at_m) <= FEW_SPOTS or centre < share * (1 - FAR)):
        images = mirrors(relaxed, at_m) if is_free(board) else []
        found, whole = branch_and_bound(relaxed, share, target, WORK[effort] // relaxed.to_rack.size, images, stop)
        if whole and relaxed.planes == 1:
            found = min(found, _refined_all(board, state, cost, target, whole, effort, stop))
        elif whole:
            found = min(found, *(bound for bound, _ in whole))
    return min(cost, max(simple, found * relaxed.planes, centre * relaxed.planes))


def is_free(board: Board) -> bool:
    """True when nothing stands already: what stands takes room that is not counted."""
    return bool((board.sites.fixed_block < 0).all() and (board.sites.fixed_switch < 0).all())


def _refined_all(board: Board, state: State, cost: float, target: float, whole: list[tuple[float, Pattern]], effort: str, stop: Callable[[], bool]) -> float:
    """Return the least bound of the patterns after the lowest, one by one, were raised: slot by slot, then by CP-SAT (so many of these)."""
    tries = REFINED[effort]
    heap = [(bound, 0, pattern) for bound, pattern in whole]
    heapq.heapify(heap)
    while heap[0][0] < target and not stop():
        bound, level, pattern = heap[0]
        if level == 2 or (level == 1 and tries == 0):
            break
        tries -= level
        heapq.heapreplace(heap, (max(bound, refined(board, state, cost, pattern, PATTERN_TIME[effort] if level == 1 else 0.0)), level + 1, pattern))
    return heap[0][0]


def refined(board: Board, state: State, cost: float, pattern: Pattern, exact: float = 0.0) -> float:
    """Return the bound for so many spines in each rack, slot by slot, spines at their best for every leaf; with `exact`, a deterministic time, pods are kept apart by CP-SAT."""
    s, q = board.sites, relax(board, zoned=False)
    parts = parts_of(board)
    if q is None or parts is None:
        return 0.0
    one = parts[0].leaves[0]
    spines = np.setdiff1d(np.arange(len(s.switch_dev)), np.concatenate([p.leaves for p in parts]))
    kind = next(k for k, v in enumerate(s.to_switches) if v.any())
    links = float(np.max(s.to_switches[kind][one, spines]))
    upper = np.zeros(s.slot_count)
    for spot, count in pattern:
        if count:
            pair = pair_cost(board, kind, 0, 0, spot * s.slots + np.arange(s.slots)).astype(float) * links
            upper += np.sort(pair, axis=1)[:, :count].sum(axis=1)
    bound, branch, _ = ascend(q, (), 0, np.zeros(len(s.spots)), cost, cost, 200, upper)
    if exact <= 0:
        return bound
    reduced = np.partition(q.to_rack - branch.multipliers, q.racks - 1, axis=1)[:, : q.racks].sum(axis=1) + upper
    slots_open = reduced - np.partition(reduced, q.leaves - 1)[q.leaves - 1] <= cost - bound
    proved = polish(board, state, exact, 1, None, slots_open, upper)
    return max(bound, proved.bound if proved is not None else 0.0)


def conditional_bound(board: Board, state: State, cost: float) -> tuple[float, Mask | None]:
    """Return a cost that no placement with the upper switches where they are goes below, and the slots where leaves of a cheaper one could stand.

    For an irregular fabric the bound is 0 and nothing is said of slots.
    """
    s, q = board.sites, relax(board, zoned=False)
    parts = parts_of(board)
    if q is None or parts is None or q.planes != 1:
        return 0.0, None
    leaves = np.concatenate([p.leaves for p in parts])
    slot_of = state.slot_of_switch.copy()
    slot_of[leaves] = -1
    bare = State(np.full_like(state.spot_of_block, -1), slot_of)
    upper = np.where(open_mask(board, bare), slot_costs(board, bare, leaves[:1])[0][0], NEVER)
    best, branch, _ = ascend(q, (), 0, np.zeros(len(s.spots)), cost, cost, 200, upper)
    reduced = np.partition(q.to_rack - branch.multipliers, q.racks - 1, axis=1)[:, : q.racks].sum(axis=1) + upper
    last = np.partition(reduced, q.leaves - 1)[q.leaves - 1]
    return min(cost, best), reduced - last <= cost - best


def branch_and_bound(q: Relaxed, cost: float, target: float, work: int, images: Sequence[Ints], stop: Callable[[], bool]) -> tuple[float, list[tuple[float, Pattern]]]:
    """Raise the bound best-first until it meets `target` or the work is done: (bound of all else, complete patterns below the target with theirs).

    Of patterns that are mirror images (`images` of the spots) one is enough: that with the most spines in the rack decided first.
    """
    spots = np.arange(q.to_rack.shape[1])
    bound, branch, spent = ascend(q, (), q.spines, np.zeros(len(spots)), cost, target, min(60, work))
    heap: list[tuple[float, int, Branch]] = [(bound, 0, branch)]
    count, whole = 0, []
    while heap and spent < work and not stop():
        bound, _, branch = heapq.heappop(heap)
        if bound >= target:
            heapq.heappush(heap, (bound, -1, branch))
            break
        if branch.left == 0:
            whole.append((bound, branch.fixed))
            continue
        for spines in range(min(branch.left, q.to_spines.shape[1] - 1) + 1):
            fixed = (*branch.fixed, (branch.next_spot, spines))
            if spines > fixed[0][1] and any(image[fixed[0][0]] == branch.next_spot for image in images):
                continue
            left = branch.left - spines
            if left and len(fixed) == len(spots):
                continue
            lower, child, used = ascend(q, fixed, left, branch.multipliers, cost, target, 15 if left else 150)
            spent += used
            if max(lower, bound) < target:
                count += 1
                heapq.heappush(heap, (max(lower, bound), count, child))
    return float(min(target, heap[0][0] if heap else np.inf)), whole
