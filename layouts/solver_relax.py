"""The relaxation behind the bounds: pods pooled, slots in zones, racks priced by Lagrange multipliers.

A leaf may serve the racks that suit it best, whosever they are; a multiplier on every spot sees that each is used as
often as a rack is linked. Spines that are not fixed each choose the leaves' slots anew, with their share of the leaves'
other costs in hand. All of it errs downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .hall import Floats, Ints, Mask
from .sites import Sites
from .solver_polish import parts_of
from .solver_walk import Board, node_cost, pair_cost

NEVER = 1e12

Pattern = tuple[tuple[int, int], ...]
"""(spot, spines in its rack) of every spot that was decided."""


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
    spot_of_zone: Ints
    deep: Mask
    """[zone]: no leaf stands so low beside nodes."""
    cap_empty: Ints
    """[spot]: most switches of a rack without nodes."""
    cap_full: Ints
    """[spot]: most switches beside nodes."""


@dataclass(frozen=True)
class Branch:
    """Number of spines fixed for some racks, and the rest."""

    fixed: tuple[tuple[int, int], ...]
    left: int
    multipliers: Floats
    next_spot: int


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
    room, bare = np.ones(s.slot_count, np.int64), np.zeros((len(s.spots), 1, s.slot_count))
    return Relaxed(planes, to_rack, bare, room, racks, leaves, spines, degree, len(s.block_devs), every // s.slots, deep, *_caps(s, nodes))


def _caps(s: Sites, nodes: int) -> tuple[Ints, Ints]:
    """Most switches of each rack without and beside nodes."""
    open_ = np.arange(s.slots)[None, :] < s.open_slots[:, [0, nodes]].T[:, :, None]
    empty, full = (open_ & s.free_slot[None]).sum(axis=2)
    return empty, np.minimum(full, empty)


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
        pair[p * s.slots + k, k] = NEVER  # a slot holds one switch
        nearest = np.sort(np.minimum.reduceat(pair.reshape(n, s.slots, s.slots), begins, axis=1).reshape(n * len(begins), s.slots), axis=1)[:, :most]
        to_spines[p, 1:] = np.cumsum(nearest, axis=1).T
    room, deep = (np.tile(part, n) for part in (np.diff(np.r_[begins, s.slots]), begins >= open_slots))
    of = np.repeat(spot, len(begins))
    return Relaxed(planes, to_rack.reshape(len(of), n), to_spines, room, racks, leaves, spines, degree, len(s.block_devs), of, deep, *_caps(s, nodes))


def ascend(
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
