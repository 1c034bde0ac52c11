"""A bound by where the spines' centre lies: boxes of the hall, each with prices of racks and of room that suit it.

With leaves at their best, the relaxed cost is the least of many sums that are linear in how many spines a rack has: it is
concave in that distribution. So among all distributions with their centre in a box the least is at a corner of that set:
one rack in the box, or two or three racks whose centre lies on its border. Corners are few; counts need no listing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .hall import Floats, Ints, Mask
from .solver_corners import TINY, Corners, Sides, corners_of
from .solver_relax import NEVER, Relaxed

ROOM_PACE = 32.0
"""How much faster prices of room move than those of racks: a leaf pays room once and many racks."""

ACTIVE = 16
"""Corners that the prices are raised against at a time."""

STEPS, CHECKED = 120, 20
"""Steps of the prices in one box, and after how many all corners are looked at."""

NARROW_M = 0.25
"""Sides of a box from which on counts are split."""

GAIN, PATIENCE = 0.0005, 80
"""Boxes without such a gain, as a share of the cost, after which splitting ends."""


@dataclass(frozen=True)
class Prices:
    """Multipliers of one box: of a link to the racks of a spot, and of a slot of a spot."""

    rack: Floats
    room: Floats


@dataclass(frozen=True)
class Box:
    """A part of all distributions."""

    sides: Sides
    """Where the centre of the spines lies: x low, x high, y low, y high."""
    holds: Ints
    """[spot]: known to hold nodes (1) or none (0); -1 is open."""
    prices: Prices
    share: tuple[int, int, int] | None = None
    """One rack with the fewest and most spines it has here."""


def centre_bound(q: Relaxed, at_m: Floats, cost: float, target: float, work: int, stop: Callable[[], bool] = lambda: False) -> float:
    """Return a cost below which no distribution of spines goes, at most `target`.

    `at_m` is where spots are, [spot, 2]; `cost` is a known plan's; `work` counts cells of cost tables.
    """
    low, high = at_m.min(axis=0), at_m.max(axis=0)
    for axis in (0, 1):  # a distribution and its mirror image cost the same: half of the hall is enough
        if mirror_of(q, at_m, axis) is not None:
            high[axis] = (low[axis] + high[axis]) / 2
    nothing = np.zeros(len(at_m))
    heap = [(0.0, 0, Box((low[0], high[0], low[1], high[1]), np.full(len(at_m), -1, np.int64), Prices(nothing, nothing)))]
    count, spent, since, risen = 0, 0, 0, 0.0
    while heap and heap[0][0] < target and spent < work and not stop():
        bound, _, box = heapq.heappop(heap)
        if bound > risen + GAIN * cost:
            risen, since = bound, 0
        elif (since := since + 1) > PATIENCE:
            return bound
        corners = corners_in(at_m, box, q.spines)
        if not len(corners.spot):
            continue
        found, box, least, used = _raised(q, box, corners, cost, target)
        spent += used
        for child in _split(q, box, least, at_m) if found < target else ():
            count += 1
            heapq.heappush(heap, (max(bound, found), count, child))
    return min(target, heap[0][0]) if heap else target


def mirror_of(q: Relaxed, at_m: Floats, axis: int) -> Ints | None:
    """Image of each spot when the hall is mirrored along an axis; None where the relaxed problem is not the same then."""
    other = at_m.copy()
    other[:, axis] = at_m[:, axis].min() + at_m[:, axis].max() - at_m[:, axis]
    here, there = np.lexsort(np.round(at_m, 3).T), np.lexsort(np.round(other, 3).T)
    if not np.allclose(at_m[here], other[there], atol=2e-3):
        return None
    image = np.empty(len(at_m), np.int64)
    image[there] = here
    zones = len(q.room) // len(at_m)
    rows = (image[:, None] * zones + np.arange(zones)).ravel()
    same = np.allclose(q.to_rack[rows][:, image], q.to_rack) and np.allclose(q.to_spines[image][:, :, rows], q.to_spines)
    return image if same and (q.cap_empty[image] == q.cap_empty).all() and (q.cap_full[image] == q.cap_full).all() else None


def mirrors(q: Relaxed, at_m: Floats) -> list[Ints]:
    """Every mirror image of the hall under which the relaxed problem is the same."""
    found = [image for axis in (0, 1) if (image := mirror_of(q, at_m, axis)) is not None]
    return [*found, found[0][found[1]]] if len(found) == 2 else found


def corners_in(at_m: Floats, box: Box, spines: int) -> Corners:
    """Corners of a set that holds every distribution of a box: what its one rack has, and the rest with a centre that makes up for it."""
    if box.share is None:
        return corners_of(at_m, box.sides)
    spot, fewest, most = box.share
    if fewest == spines:
        return Corners(np.array([[spot]]), np.ones((1, 1)))
    ends = [fewest / spines, *([most / spines] if most < spines else [])]
    centre = np.repeat(at_m[spot], 2)
    rest = np.array([(np.array(box.sides) - end * centre) / (1 - end) for end in ends])
    low, high = rest.min(axis=0), rest.max(axis=0)
    others = corners_of(at_m, (low[0], high[1], low[2], high[3]))
    if most < spines:
        others = others.pick(((others.spot != spot) | (others.share <= 0)).all(axis=1))
    one = np.full((len(others.spot), 1), spot)
    spots = np.tile(np.concatenate([others.spot, one], axis=1), (len(ends), 1))
    return Corners(spots, np.concatenate([np.concatenate([others.share * (1 - end), np.full(one.shape, end)], axis=1) for end in ends]))


def _raised(q: Relaxed, box: Box, corners: Corners, cost: float, target: float) -> tuple[float, Box, Corners, int]:
    """Raise the least value of all corners over the prices: (bound, box with its prices, lowest corner, cells looked at)."""
    prices, zones = box.prices, len(q.room)
    best, active, spent = _lowest(q, box.holds, prices, corners, np.arange(0))
    best_prices, least, top, at, length, waited = prices, active[:1], best, prices, 1.0, 0
    for step in range(1, STEPS + 1):
        value, slope = _least(q, box.holds, prices, corners.pick(active), cost)
        spent += (len(active) + 4) * zones
        if value > top + 1e-7 * cost:
            top, at, waited = value, prices, 0
        elif (waited := waited + 1) > 5:
            length, waited, prices = length * 0.6, 0, at
        if step % CHECKED == 0 or top >= target:
            lowest, order, used = _lowest(q, box.holds, at, corners, active)
            spent += used
            if lowest > best:
                best, best_prices, least = lowest, at, order[:1]
            if best >= target or length < 0.02:
                break
            active, top, prices, waited = np.unique(np.r_[active[-ACTIVE:], order]), lowest, at, 0
            continue
        norm = float((slope.rack**2).sum() + ROOM_PACE * (slope.room**2).sum())
        if norm < TINY:
            break
        pace = length * max(1.02 * cost - value, 1e-6 * cost) / norm
        prices = Prices(prices.rack + pace * slope.rack, np.maximum(prices.room + pace * ROOM_PACE * slope.room, 0.0))
    return best, replace(box, prices=best_prices), corners.pick(least), spent


def _served(q: Relaxed, holds: Ints, prices: Prices) -> tuple[Floats, Ints]:
    """Cost of a leaf in each zone without its spines, and the racks it serves there."""
    reduced = q.to_rack - prices.rack
    serve = np.argpartition(reduced, q.racks - 1, axis=1)[:, : q.racks]
    own = q.spot_of_zone
    base = np.take_along_axis(reduced, serve, axis=1).sum(axis=1) + prices.room[own]
    return np.where(q.deep & (holds[own] == 1), NEVER, base), serve


def _standing(q: Relaxed, holds: Ints, prices: Prices) -> tuple[Mask, float]:
    """Spots where racks of nodes stand at these prices, and what prices come to without leaves and spines."""
    worth = q.leaves_of_rack * prices.rack + prices.room * (q.cap_empty - q.cap_full)
    key = np.where(holds == 1, -np.inf, np.where(holds == 0, np.inf, worth))
    stands = np.zeros(len(key), bool)
    stands[np.argsort(key, kind="stable")[: q.blocks]] = True
    return stands, float(worth[stands].sum() - prices.room @ q.cap_empty)


def _columns(q: Relaxed, base: Floats, corners: Corners) -> Floats:
    """[corner, zone]: cost of a leaf."""
    near = q.to_spines[:, 1]
    return np.asarray(base + q.spines * sum(corners.share[:, i, None] * near[corners.spot[:, i]] for i in range(corners.spot.shape[1])))


def _values(q: Relaxed, base: Floats, prices: Prices, fixed: float, corners: Corners, last: Floats | None = None, enough: float = np.inf) -> tuple[Floats, Floats]:
    """Relaxed cost of every corner, and what its last leaf costs.

    With a guess of that, `last`, corners that it shows to cost `enough` are not looked at closer: they come with what it shows.
    """
    piece = int(q.room.min())
    copies = np.repeat(np.arange(len(q.room)), -(-q.room // piece))
    full, part = divmod(q.leaves - 1, piece)
    room = (-(-q.room // piece) * piece).astype(np.float64)
    spines = q.spines * (prices.room[corners.spot] * corners.share).sum(axis=1) + fixed
    found, dearest = np.empty(len(corners.spot)), np.empty(len(corners.spot))
    for begin in range(0, len(found), 1024):
        rows = np.arange(begin, min(begin + 1024, len(found)))
        columns = _columns(q, base, corners.pick(rows))
        if last is not None:
            found[rows] = q.leaves * last[rows] - np.maximum(last[rows][:, None] - columns, 0.0) @ room + spines[rows]
            open_ = found[rows] < enough
            rows, columns = rows[open_], columns[open_]
        table = np.partition(columns[:, copies], full, axis=1)
        dearest[rows] = table[:, full]
        found[rows] = table[:, :full].sum(axis=1) * piece + table[:, full] * (part + 1) + spines[rows]
    return found, dearest


def _lowest(q: Relaxed, holds: Ints, prices: Prices, corners: Corners, likely: Ints) -> tuple[float, Ints, int]:
    """Least relaxed cost of all corners, the lowest corners in order, and the cells looked at.

    The cost is concave: a corner lies above the line between its racks, so most need not be looked at.
    """
    base, _ = _served(q, holds, prices)
    _, fixed = _standing(q, holds, prices)
    spots = np.arange(len(holds))
    single, last = _values(q, base, prices, fixed, Corners(spots[:, None], np.ones((len(spots), 1))))
    line = (single[corners.spot] * corners.share).sum(axis=1)
    tried = np.union1d(likely, np.argpartition(line, min(ACTIVE, len(line) - 1))[:ACTIVE])
    values, _ = _values(q, base, prices, fixed, corners.pick(tried))
    rows = np.setdiff1d(np.flatnonzero(line < values.min()), tried)
    some = corners.pick(rows)
    more, _ = _values(q, base, prices, fixed, some, (last[some.spot] * some.share).sum(axis=1), float(values.min()))
    values, tried = np.r_[values, more], np.r_[tried, rows]
    order = np.argsort(values, kind="stable")[:ACTIVE]
    return float(values[order[0]]), tried[order], (len(tried) + len(spots)) * len(q.room)


def _least(q: Relaxed, holds: Ints, prices: Prices, corners: Corners, cost: float) -> tuple[float, Prices]:
    """Least value of the corners, and the direction that raises those near it."""
    base, serve = _served(q, holds, prices)
    stands, fixed = _standing(q, holds, prices)
    columns = _columns(q, base, corners)
    order = np.argsort(columns, axis=1, kind="stable")
    room = q.room[order]
    taken = np.clip(q.leaves - (np.cumsum(room, axis=1) - room), 0, room)
    values = (taken * np.take_along_axis(columns, order, axis=1)).sum(axis=1) + q.spines * (prices.room[corners.spot] * corners.share).sum(axis=1) + fixed
    least = float(values.min())
    weight = np.exp(-(values - least) / max(0.05 * (cost - least), 1e-4 * cost))
    weight /= weight.sum()
    zone = np.bincount(order.ravel(), weights=(taken * weight[:, None]).ravel(), minlength=len(q.room))
    spots = len(holds)
    covered = np.bincount(serve.ravel(), weights=np.repeat(zone, q.racks), minlength=spots)
    leaves = np.bincount(q.spot_of_zone, weights=zone, minlength=spots)
    spines = q.spines * np.bincount(corners.spot.ravel(), weights=(corners.share * weight[:, None]).ravel(), minlength=spots)
    lacking = leaves + spines - np.where(stands, q.cap_full, q.cap_empty)
    return least, Prices(q.leaves_of_rack * stands.astype(np.float64) - covered, np.where((prices.room <= 0) & (lacking < 0), 0.0, lacking))


def _split(q: Relaxed, box: Box, least: Corners, at_m: Floats) -> list[Box]:
    """Halves of a box: left and right or front and back of it; about a single rack with and without nodes in it, then with fewer and more spines."""
    heaviest = int(least.spot[0, np.argmax(least.share[0])])
    weight = float(least.share[0][least.spot[0] == heaviest].sum())
    left, right, front, back = box.sides
    inside = (at_m[:, 0] >= left) & (at_m[:, 0] <= right) & (at_m[:, 1] >= front) & (at_m[:, 1] <= back)
    if inside.sum() <= 2 and weight >= 0.5:
        if box.holds[heaviest] < 0:
            return [replace(box, holds=np.where(np.arange(len(at_m)) == heaviest, value, box.holds)) for value in (0, 1)]
        spot, fewest, most = box.share or (heaviest, 0, q.spines)
        if spot == heaviest and fewest < most and max(right - left, back - front) < NARROW_M:
            middle = (fewest + most) // 2
            return [replace(box, share=(spot, fewest, middle)), replace(box, share=(spot, middle + 1, most))]
    if right - left >= back - front:
        middle_m = (left + right) / 2
        return [replace(box, sides=(left, middle_m, front, back)), replace(box, sides=(middle_m, right, front, back))]
    middle_m = (front + back) / 2
    return [replace(box, sides=(left, right, front, middle_m)), replace(box, sides=(left, right, middle_m, back))]
