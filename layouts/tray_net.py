"""Ways on trays: positions hang on the tray above them, joints and tray ends are the nodes of a graph, shortest ways between all of them.

    joint     position a                 joint            joint      position b
      o-----------v------------------------o----- ... ------o------------v--------- end
      left of a                      right of a        left of b                right of b

A way goes from a to the node left or right of it, from there on a shortest way to a node beside b, and on to b; on one
tray it goes straight. Of ways of equal length the one with the fewest changes of tray is taken, then the lowest numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .trays import Ints, Runs, Tray, joints, micrometres, runs_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIT = 4096
"""Costs count micrometres in units of this plus one for each joint: exact in a float up to 2,000 km and 4,000 joints."""

PAIRS_AT_ONCE = 1 << 19

NODES_MAX = 4000
"""Joints and ends of trays; the ways between so many take about 1 GB."""


@dataclass(frozen=True)
class Ways:
    """Shortest ways between all nodes; the first index is where a way ends, the second where it begins."""

    cost: Floats
    """Micrometres x UNIT + joints; infinite where no way leads."""
    x_um: Ints
    y_um: Ints
    before: NDArray[np.int32]
    """The node before the last."""


@dataclass(frozen=True)
class Choice:
    """How pairs of positions are joined: by the nodes beside both, or straight along their tray."""

    cost: Floats
    first: Ints
    last: Ints
    straight: Mask


@dataclass(frozen=True)
class TrayNet:
    """Trays, the nodes on them (sorted by tray and place) and the drops of positions; places in micrometres along the tray."""

    trays: tuple[Tray, ...]
    runs: Runs
    joints: Ints
    """As `trays.joints`."""
    node_tray: Ints
    node_at: Ints
    tray: Ints
    """Tray that each position hangs on, -1 where none passes over it."""
    at: Ints
    side_x: Ints
    """How far the tray hangs beside the middle of the position."""
    side_y: Ints
    left: Ints
    right: Ints
    """Nodes on either side of each position's drop."""

    def node(self, tray: Ints, at: Ints) -> Ints:
        """Number of the node at a place of a tray."""
        return np.searchsorted(key_of(self.node_tray, self.node_at), key_of(tray, at))

    @cached_property
    def edges(self) -> Ints:
        """Edges of the graph: [edge, 4] with two nodes, micrometres along the tray or of height, and 1 for a joint."""
        here = np.flatnonzero(self.node_tray[1:] == self.node_tray[:-1])
        runs = np.stack([here, here + 1, self.node_at[here + 1] - self.node_at[here], np.zeros_like(here)], axis=1)
        i, j, at_i, at_j = self.joints.T
        step = np.abs(self.runs.height[i] - self.runs.height[j])
        return np.concatenate([runs, np.stack([self.node(i, at_i), self.node(j, at_j), step, np.ones_like(i)], axis=1)])

    @cached_property
    def groups(self) -> Ints:
        """For each tray the number of the group of trays that cables can reach from it."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n = len(self.trays)
        return np.asarray(connected_components(coo_array((np.ones(len(self.joints)), (self.joints[:, 0], self.joints[:, 1])), shape=(n, n)), directed=False)[1], np.int64)

    @cached_property
    def ways(self) -> Ways:
        """Shortest ways between all nodes."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        n = len(self.node_at)
        a, b, um, joint = self.edges.T
        weight = um * UNIT + joint
        cost = dijkstra(coo_array((weight.astype(float), (a, b)), shape=(n, n)).tocsr(), directed=False)
        everywhere = np.arange(n)
        before = np.repeat(everywhere[:, None], n, axis=1).astype(np.int32)
        flat = self.runs.along_x[self.node_tray]
        steps = [np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)]
        order = np.argsort(-np.concatenate([a, b]), kind="stable")
        for edge in order.tolist():
            u, v = (a[edge], b[edge]) if edge < len(a) else (b[edge - len(a)], a[edge - len(a)])
            e = edge % len(a)
            on = np.isfinite(cost[v]) & (cost[u] + weight[e] == cost[v])
            before[v, on] = u
            for axis, metres in enumerate(steps):
                metres[v, on] = um[e] if not joint[e] and flat[v] == (axis == 0) else 0
        link, total = before.astype(np.int64), steps
        while True:  # doubles the stretch of way that each entry sums up
            further = np.take_along_axis(link, link, axis=0)
            if np.array_equal(further, link):
                return Ways(cost, total[0], total[1], before)
            total = [metres + np.take_along_axis(metres, link, axis=0) for metres in total]
            link = further

    def choose(self, a: Ints, b: Ints) -> Choice:
        """Choose the way between different positions, each `a` before its `b`."""
        cost = np.full(len(a), np.inf)
        first, last = np.zeros(len(a), np.int64), np.zeros(len(a), np.int64)
        joined = (self.tray[a] >= 0) & (self.tray[b] >= 0)
        straight = joined & (self.tray[a] == self.tray[b])
        cost[straight] = np.abs(self.at[a] - self.at[b])[straight] * UNIT
        rest = np.flatnonzero(joined & ~straight)
        if len(rest):
            a, b = a[rest], b[rest]
            best, p, q = np.full(len(rest), np.inf), np.zeros(len(rest), np.int64), np.zeros(len(rest), np.int64)
            for near_a in (self.left[a], self.right[a]):
                for near_b in (self.left[b], self.right[b]):
                    off = np.abs(self.at[a] - self.node_at[near_a]) + np.abs(self.at[b] - self.node_at[near_b])
                    one = self.ways.cost[near_b, near_a] + off * UNIT
                    better = one < best
                    best[better], p[better], q[better] = one[better], near_a[better], near_b[better]
            cost[rest], first[rest], last[rest] = best, p, q
        return Choice(cost, first, last, straight)

    def way_m(self, a: Ints, b: Ints) -> tuple[Floats, Floats, Floats, Floats]:
        """Metres of the way between positions `a` and `b`: along x, along y, up from the racks' top, down to it; infinite where none leads."""
        out = np.zeros((4, len(a)))
        for begin in range(0, len(a), PAIRS_AT_ONCE):
            part = slice(begin, begin + PAIRS_AT_ONCE)
            out[:, part] = self._way_m(np.asarray(a[part], np.int64), np.asarray(b[part], np.int64))
        return out[0], out[1], out[2], out[3]

    def _way_m(self, a: Ints, b: Ints) -> Floats:
        low, high = np.minimum(a, b), np.maximum(a, b)
        way = self.choose(low, high)
        known = np.isfinite(way.cost)
        sums = [self.side_x[a] + self.side_x[b], self.side_y[a] + self.side_y[b]]
        through = known & ~way.straight
        for end, node in ((low, way.first), (high, way.last)):
            self._add(sums, end, np.where(through, np.abs(self.at[end] - self.node_at[node]), 0))
        self._add(sums, low, np.where(way.straight, np.abs(self.at[low] - self.at[high]), 0))
        if through.any():
            p, q = way.first[through], way.last[through]
            inner = self.ways.x_um[q, p], self.ways.y_um[q, p]
            climbs = np.zeros(len(a), np.int64)
            climbs[through] = self.ways.cost[q, p].astype(np.int64) // UNIT - inner[0] - inner[1]
            for metres, one in zip(sums, inner, strict=True):
                metres[through] += one
        else:
            climbs = np.zeros(len(a), np.int64)
        rise = np.where(known, self.runs.height[self.tray[b]] - self.runs.height[self.tray[a]], 0)
        above = np.array([t.above_m for t in self.trays])
        up, down = above[self.tray[a]] + (climbs + rise) // 2 / 1e6, above[self.tray[b]] + (climbs - rise) // 2 / 1e6
        found = np.stack([sums[0] / 1e6, sums[1] / 1e6, up, down])
        found[:, ~known] = np.inf
        found[:, a == b] = 0.0
        return np.asarray(found, np.float64)

    def _add(self, sums: Sequence[Ints], position: Ints, um: Ints) -> None:
        """Add a stretch of the tray of each position to the metres of its axis."""
        flat = self.runs.along_x[self.tray[position]]
        sums[0][...] += np.where(flat, um, 0)
        sums[1][...] += np.where(flat, 0, um)

    def stretches(self, low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Stretches of tray that the ways from `low` to `high` use, in their order: (pair, tray, from, to)."""
        way = self.choose(low, high)
        pair = np.flatnonzero(way.straight & (low != high))
        yield pair, self.tray[low[pair]], self.at[low[pair]], self.at[high[pair]]
        pair = np.flatnonzero(np.isfinite(way.cost) & ~way.straight)
        p, q = way.first[pair], way.last[pair]
        yield pair, self.tray[low[pair]], self.at[low[pair]], self.node_at[p]
        back: list[tuple[Ints, Ints, Ints, Ints]] = []
        walking, node = pair, q
        while len(walking):
            before = self.ways.before[node, p].astype(np.int64)
            same = self.node_tray[before] == self.node_tray[node]
            back.append((walking[same], self.node_tray[node[same]], self.node_at[before[same]], self.node_at[node[same]]))
            on = before != p
            walking, node, p = walking[on], before[on], p[on]
        yield from reversed(back)
        yield pair, self.tray[high[pair]], self.node_at[q], self.at[high[pair]]


def key_of(tray: Ints, at: Ints) -> Ints:
    """One number for a place of a tray that sorts by tray, then by place; places lie within 34 km."""
    return np.asarray((tray << 36) + at + (1 << 35), np.int64)


def place_of(key: Ints) -> tuple[Ints, Ints]:
    """Tray and place of keys."""
    tray = key >> 36
    return tray, key - (tray << 36) - (1 << 35)


def tray_net(trays: Sequence[Tray], x_m: Floats, y_m: Floats, width_m: Floats, depth_m: Floats) -> TrayNet:
    """Join the trays where they meet and hang positions (middles `x_m`, `y_m`, racks of that width and depth) on those that pass over their racks.

    A position hangs on the tray nearest to its middle, the lowest of several, then the first.
    """
    runs = runs_of(trays)
    met = joints(trays, runs)
    every = np.arange(len(trays))
    key = np.unique(np.concatenate([key_of(met[:, 0], met[:, 2]), key_of(met[:, 1], met[:, 3]), key_of(every, runs.begin), key_of(every, runs.end)]))
    node_tray, node_at = place_of(key)
    tray, at, side_x, side_y = hang(runs, micrometres(x_m), micrometres(y_m), np.stack([micrometres(width_m / 2), micrometres(depth_m / 2)]))
    drop = key_of(np.maximum(tray, 0), at)
    right = np.clip(np.searchsorted(key, drop), 0, max(len(key) - 1, 0))
    left = np.where(len(key) and key[right] == drop, right, np.maximum(right - 1, 0)) if len(key) else right
    return TrayNet(tuple(trays), runs, met, node_tray, node_at, tray, at, side_x, side_y, left, right)


def hang(runs: Runs, x: Ints, y: Ints, half: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """For positions (middles and [half width, half depth], in micrometres) their tray, the place on it, and how far it is beside their middle."""
    n = len(x)
    tray, at, best = np.full(n, -1), np.zeros(n, np.int64), np.full(n, np.iinfo(np.int64).max)
    side = np.zeros((2, n), np.int64)
    for number in sorted(range(len(runs.begin)), key=lambda t: (int(runs.height[t]), t)):
        flat = bool(runs.along_x[number])
        own, other = (x, y) if flat else (y, x)
        place = np.clip(own, runs.begin[number], runs.end[number])
        beside, off = np.abs(other - runs.across[number]), np.abs(own - place)
        near = (off <= half[0 if flat else 1]) & (beside <= half[1 if flat else 0]) & (off + beside < best)
        tray[near], at[near], best[near] = number, place[near], (off + beside)[near]
        side[:, near] = (off[near], beside[near]) if flat else (beside[near], off[near])
    return tray, at, side[0], side[1]
