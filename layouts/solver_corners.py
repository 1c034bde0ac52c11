"""Corners of sets of distributions: how spines can stand in one, two or three racks so that their centre is on the border of a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from .hall import Floats, Ints, Mask

TINY = 1e-9

Sides = tuple[float, float, float, float]


@dataclass(frozen=True)
class Corners:
    """Distributions of spines over a few racks: [corner, rack] spots and their shares."""

    spot: Ints
    share: Floats

    def pick(self, rows: Ints | Mask) -> Corners:
        """Some of them."""
        return Corners(self.spot[rows], self.share[rows])


def corners_of(at_m: Floats, sides: Sides) -> Corners:
    """All corners of the set of distributions with their centre between the sides."""
    (x, y), (left, right, front, back) = at_m.T, sides
    inside = np.flatnonzero((x >= left - TINY) & (x <= right + TINY) & (y >= front - TINY) & (y <= back + TINY))
    single = Corners(np.repeat(inside[:, None], 3, axis=1), np.tile([1.0, 0.0, 0.0], (len(inside), 1)))
    parts = [single, _pairs(x, y, left, front, back), _pairs(x, y, right, front, back), _pairs(y, x, front, left, right), _pairs(y, x, back, left, right)]
    parts += _triples(at_m, [(px, py) for px in (left, right) for py in (front, back)])
    return Corners(np.concatenate([p.spot for p in parts]), np.concatenate([p.share for p in parts]))


def _pairs(along: Floats, across: Floats, value: float, low: float, high: float) -> Corners:
    """Two racks with their centre on one side of the box."""
    a, b = np.triu_indices(len(along), 1)
    step = along[b] - along[a]
    t = np.divide(value - along[a], step, out=np.full(len(a), -1.0), where=np.abs(step) > TINY)
    meets = across[a] + (across[b] - across[a]) * t
    good = (t > TINY) & (t < 1 - TINY) & (meets >= low - TINY) & (meets <= high + TINY)
    return Corners(np.stack([a[good], b[good], a[good]], axis=1), np.stack([1 - t[good], t[good], np.zeros(int(good.sum()))], axis=1))


def _triples(at_m: Floats, posts: Sequence[tuple[float, float]]) -> list[Corners]:
    """Three racks with their centre in a corner post of the box, for each post."""
    three = np.array(list(combinations(range(len(at_m)), 3)), np.int64).reshape(-1, 3)
    p, r, s = (at_m[three[:, i]] for i in range(3))
    area = (r[:, 0] - p[:, 0]) * (s[:, 1] - p[:, 1]) - (s[:, 0] - p[:, 0]) * (r[:, 1] - p[:, 1])
    spans = np.abs(area) > TINY
    three, area = three[spans], area[spans]
    p, r, s = p[spans], r[spans], s[spans]
    found = []
    for px, py in posts:
        of_r = ((px - p[:, 0]) * (s[:, 1] - p[:, 1]) - (s[:, 0] - p[:, 0]) * (py - p[:, 1])) / area
        of_s = ((r[:, 0] - p[:, 0]) * (py - p[:, 1]) - (px - p[:, 0]) * (r[:, 1] - p[:, 1])) / area
        shares = np.stack([1 - of_r - of_s, of_r, of_s], axis=1)
        good = (shares > TINY).all(axis=1)
        found.append(Corners(three[good], shares[good]))
    return found
