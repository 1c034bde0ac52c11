"""How cheap any placement could be: a bound by Lagrange multipliers on racks, and branching over where spines stand.

Three things are relaxed, all of them downwards. Pods are pooled: a leaf may serve the racks that suit it best, whosever
they are; a multiplier on every spot sees that each is used as often as a rack is linked. Slots of a rack are taken in
zones at their cheapest. And where spines stand is open: every spine may choose the leaves' slots anew, its share of the
leaves' other costs in hand. Branching fixes the number of spines rack by rack, best-first, which mends the last.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .hall import Floats, Ints, Mask
from .sites import Sites, State
from .solver_polish import parts_of
from .solver_walk import Board, node_cost, open_mask, pair_cost, slot_costs

WORK = {"quick": 3_000_000, "normal": 100_000_000, "thorough": 5_000_000_000}
"""Cells of cost tables that the relaxation may look at, by effort."""

QUICK_SLOTS = 2_000
"""Slots up to which a quick search asks for more than the simple bound."""

TARGET = {"quick": 0.02, "normal": 0.01, "thorough": 0.005}
"""Gap at which a branch is let go."""

NEVER = 1e12


@dataclass(frozen=True)
class Relaxed:
    """One plane of a regular two-tier fabric, its slots in zones."""

    planes: int
    to_rack: Floats
    """[zone, spot]: cost of a leaf there to a rack of nodes there."""
    to_spines: Floats
    """[spot, n, zone]: least cost of a leaf to n spines of a rack."""
    room: Ints
    """Slots of a zone."""
    racks: int
    """Racks that a leaf serves."""
    leaves: int
    spines: int
    leaves_of_rack: int
    blocks: int


@dataclass(frozen=True)
class Branch:
    """Number of spines fixed for some racks, and the rest."""

    fixed: tuple[tuple[int, int], ...]
    left: int
    multipliers: Floats
    next_spot: int


def lower_bound(board: Board, cost: float, effort: str, stop: Callable[[], bool] = lambda: False) -> float:
    """Return a cost that no placement of the sites goes below; `cost` is that of a known one."""
    simple = simple_bound(board)
    relaxed = None if effort == "quick" and board.sites.slot_count > QUICK_SLOTS else relax(board)
    if relaxed is None:
        return min(cost, simple)
    share = cost / relaxed.planes
    found = branch_and_bound(relaxed, share, share * (1 - TARGET[effort]), WORK[effort] // relaxed.to_rack.size, stop) * relaxed.planes
    return min(cost, max(simple, found))


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
    best, branch, _ = _ascend(q, (), 0, np.zeros(len(s.spots)), cost, cost, 200, upper)
    reduced = np.partition(q.to_rack - branch.multipliers, q.racks - 1, axis=1)[:, : q.racks].sum(axis=1) + upper
    last = np.partition(reduced, q.leaves - 1)[q.leaves - 1]
    return min(cost, best), reduced - last <= cost - best


def simple_bound(board: Board) -> float:
    """Every switch by itself at its best: its best racks, and every peer at its cheapest; links between switches count half at either end."""
    s = board.sites
    total = 0.0
    cheapest: dict[tuple[int, int, int], Floats] = {}
    seen: dict[bytes, float] = {}
    for switch in range(len(s.switch_dev)):
        mine = int(board.height_of[switch])
        links = [v[switch] for v in s.to_switches]
        weights = [w[switch] for w in s.to_blocks]
        peers = [tuple(float(v[board.height_of == h].sum()) for h in range(len(board.heights))) for v in links]
        key = np.array([mine, *(x for p in peers for x in p), *(x for w in weights for x in sorted(w.tolist()))]).tobytes() + bytes(s.block_load[sum(weights) > 0].tolist())
        if key not in seen:
            costs = np.zeros(s.slot_count)
            for kind in range(len(s.steps)):
                for nodes in np.unique(s.block_load[weights[kind] > 0]).tolist():
                    these = weights[kind][(s.block_load == nodes) & (weights[kind] > 0)]
                    near = np.partition(node_cost(board, kind, mine, nodes), len(these) - 1, axis=1)[:, : len(these)]
                    costs += np.sort(near, axis=1) @ np.sort(these)[::-1]
                for other, count in enumerate(peers[kind]):
                    if count:
                        if (kind, mine, other) not in cheapest:
                            cheapest[kind, mine, other] = _cheapest_peer(board, kind, mine, other)
                        costs += 0.5 * count * cheapest[kind, mine, other]
            seen[key] = float(costs.min(initial=np.inf)) if len(costs) else 0.0
        total += seen[key]
    return total


def _cheapest_peer(board: Board, kind: int, mine: int, other: int) -> Floats:
    """Cost of a link from each slot to the slot that costs least: in its own rack or in the nearest."""
    s = board.sites
    every = np.arange(s.slot_count)
    if s.slot_count <= 4000:
        return np.asarray(pair_cost(board, kind, mine, other, every).min(axis=1), float)
    return np.full(s.slot_count, float(s.steps[kind][1].diagonal().min()))


def relax(board: Board, zoned: bool = True) -> Relaxed | None:
    """Pool and zone a fabric of equal planes, equal pods and full racks; None for any other. Without zones spines are left out."""
    s: Sites = board.sites
    parts = parts_of(board)
    if parts is None or len(np.unique(s.block_load)) != 1 or len(board.heights) != 1:
        return None
    leaves = np.concatenate([p.leaves for p in parts])
    spines = np.setdiff1d(np.arange(len(s.switch_dev)), leaves)
    every = np.sum(s.to_switches, axis=0)
    links = every[np.ix_(leaves, spines)]
    kinds = [k for k, v in enumerate(s.to_switches) if v.any()]
    shapes = {(len(p.blocks), p.weight, p.kind) for p in parts}
    if len(kinds) != 1 or len(shapes) != 1 or every[np.ix_(spines, spines)].any() or len(np.unique(links[links > 0])) != 1:
        return None
    columns = np.unique(links > 0, axis=1)
    planes = columns.shape[1]
    if (columns.sum(axis=1) != 1).any() or len(np.unique(columns.sum(axis=0))) != 1 or len(spines) % planes:
        return None
    racks, weight, kind = shapes.pop()
    degree = np.unique(sum((w > 0).sum(axis=0) for w in s.to_blocks))
    if len(degree) != 1 or degree[0] % planes:
        return None
    return (_zoned if zoned else _slotted)(
        board, planes, int(racks), weight, kind, kinds[0], float(links.max()), len(leaves) // planes, len(spines) // planes, int(degree[0]) // planes
    )


def _slotted(board: Board, planes: int, racks: int, weight: float, kind: int, up: int, links: float, leaves: int, spines: int, degree: int) -> Relaxed:
    """Slot by slot; no spines, for they are placed."""
    s = board.sites
    nodes, every = int(s.block_load[0]), np.arange(s.slot_count)
    deep = every % s.slots >= s.open_slots[every // s.slots, nodes]
    own = every[:, None] // s.slots == np.arange(len(s.spots))[None, :]
    to_rack = np.where(deep[:, None] & own, NEVER, node_cost(board, kind, 0, nodes) * weight)
    return Relaxed(planes, to_rack, np.zeros((len(s.spots), 1, s.slot_count)), np.ones(s.slot_count, np.int64), racks, leaves, spines, degree, len(s.block_devs))


def _zoned(board: Board, planes: int, racks: int, weight: float, kind: int, up: int, links: float, leaves: int, spines: int, degree: int) -> Relaxed:
    s = board.sites
    nodes, n = int(s.block_load[0]), len(s.spots)
    open_slots = int(s.open_slots[:, nodes].max(initial=0))
    pieces = 4 if s.slots >= 16 else 1
    k = np.arange(s.slots)
    zone_of = np.where(k < open_slots, k // pieces, open_slots + (k - open_slots) // (4 * pieces))
    _, zone_of = np.unique(zone_of, return_inverse=True)
    begins = np.flatnonzero(np.r_[True, np.diff(zone_of) > 0])
    cost = node_cost(board, kind, 0, nodes).reshape(n, s.slots, n) * weight
    to_rack = np.minimum.reduceat(cost, begins, axis=1)
    spot = np.arange(n)
    for zone in np.flatnonzero(begins >= open_slots).tolist():
        to_rack[spot, zone, spot] = NEVER  # a leaf so deep stands in a rack without nodes
    most = min(spines, s.slots)
    to_spines = np.zeros((n, most + 1, n * len(begins)))
    for p in range(n):
        pair = pair_cost(board, up, 0, 0, p * s.slots + k).astype(float) * links
        nearest = np.sort(np.minimum.reduceat(pair.reshape(n, s.slots, s.slots), begins, axis=1).reshape(n * len(begins), s.slots), axis=1)[:, :most]
        to_spines[p, 1:] = np.cumsum(nearest, axis=1).T
    room = np.tile(np.diff(np.r_[begins, s.slots]), n)
    return Relaxed(planes, to_rack.reshape(n * len(begins), n), to_spines, room, racks, leaves, spines, degree, len(s.block_devs))


def branch_and_bound(q: Relaxed, cost: float, target: float, work: int, stop: Callable[[], bool]) -> float:
    """Raise the bound best-first until it meets `target` or the work is done."""
    spots = np.arange(q.to_rack.shape[1])
    bound, branch, spent = _ascend(q, (), q.spines, np.zeros(len(spots)), cost, target, min(60, work))
    heap: list[tuple[float, int, Branch]] = [(bound, 0, branch)]
    count, floor = 0, np.inf
    while heap and spent < work and not stop():
        bound, _, branch = heapq.heappop(heap)
        if bound >= target:
            heapq.heappush(heap, (bound, -1, branch))
            break
        if branch.left == 0:
            floor = min(floor, bound)
            continue
        for spines in range(min(branch.left, q.to_spines.shape[1] - 1) + 1):
            fixed = (*branch.fixed, (branch.next_spot, spines))
            left = branch.left - spines
            if left and len(fixed) == len(spots):
                continue
            child, lower, used = _child(q, fixed, left, branch.multipliers, cost, target)
            spent += used
            if child is not None and max(lower, bound) < target:
                count += 1
                heapq.heappush(heap, (max(lower, bound), count, child))
    return float(min(floor, target, heap[0][0] if heap else np.inf))


def _child(q: Relaxed, fixed: tuple[tuple[int, int], ...], left: int, multipliers: Floats, cost: float, target: float) -> tuple[Branch | None, float, int]:
    lower, child, used = _ascend(q, fixed, left, multipliers, cost, target, 15 if left else 150)
    return child, lower, used


def _ascend(
    q: Relaxed, fixed: tuple[tuple[int, int], ...], left: int, multipliers: Floats, cost: float, target: float, steps: int, upper: Floats | None = None
) -> tuple[float, Branch, int]:
    """Raise the relaxation's value over the multipliers by subgradients, `steps` times at most: (bound, branch, steps used)."""
    decided = {spot for spot, _ in fixed}
    free = np.array([p for p in range(q.to_rack.shape[1]) if p not in decided], np.int64)
    if upper is None:
        upper = sum((q.to_spines[p, n] for p, n in fixed if n), np.zeros(len(q.room)))
    best, best_at, best_next = -np.inf, multipliers, -1
    length, waited, used = 1.0, 0, 0
    for used in range(1, steps + 1):  # noqa: B007
        value, slope, following = _value(q, multipliers, upper, left, free)
        if value > best + 1e-9:
            best, best_at, best_next, waited = value, multipliers, following, 0
        else:
            waited += 1
            if waited > 4:
                length, waited, multipliers = length / 2, 0, best_at
                continue
        norm = float((slope**2).sum())
        if best >= target or norm < 1e-9 or length < 0.01:
            break
        multipliers = multipliers + length * max(cost - value, 1e-6 * cost) / norm * slope
    return best, Branch(fixed, left, best_at, best_next), used


def _value(q: Relaxed, multipliers: Floats, upper: Floats, left: int, free: Ints) -> tuple[float, Floats, int]:
    """Value of the relaxation, its slope in the multipliers, and the rack where a spine costs least."""
    spots = q.to_rack.shape[1]
    reduced = q.to_rack - multipliers
    serve = np.argpartition(reduced, q.racks - 1, axis=1)[:, : q.racks]
    at = np.take_along_axis(reduced, serve, axis=1).sum(axis=1) + upper
    used = np.argsort(multipliers, kind="stable")[: q.blocks]
    slope = np.zeros(spots)
    slope[used] = q.leaves_of_rack
    value = q.leaves_of_rack * float(multipliers[used].sum())
    columns = at[:, None] if left == 0 else q.to_spines[free, 1].T + (at / left)[:, None]
    order = np.argsort(columns, axis=0, kind="stable")
    room = q.room[order]
    taken = np.clip(q.leaves - (np.cumsum(room, axis=0) - room), 0, room)
    sums = (taken * np.take_along_axis(columns, order, axis=0)).sum(axis=0)
    rest, following = max(left, 1), -1
    for column in np.argsort(sums, kind="stable").tolist():
        count = min(rest, q.to_spines.shape[1] - 1) if left else 1
        value += count * float(sums[column])
        share = np.zeros(len(q.room))
        share[order[:, column]] = taken[:, column]
        slope -= np.bincount(serve.ravel(), weights=np.repeat(share, q.racks), minlength=spots) * (count / max(left, 1))
        following = int(free[column]) if following < 0 and left else following
        rest -= count
        if rest <= 0:
            return value, slope, following
    return np.inf, slope, following
