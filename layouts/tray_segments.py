"""The pieces of tray between neighbouring joints, ends and drops, and which of them the way between two positions uses.

What fills a tray follows from it: give each pair of positions once to `segments_of_pairs`, and add up, for each segment,
the cables of its pairs. Positions are row numbers of `hall.positions`. Listed and implied trays alike.

    table = segments(hall)                                # one row for each piece of tray, table SEGMENTS
    pair, segment = segments_of_pairs(hall, a, b)         # a[pair[i]] to b[pair[i]] runs through row segment[i] of the table
    counts = loads(hall, a, b, carried)                   # the same summed up, for hundreds of thousands of pairs
    points = way_points(hall, one, other)                 # corners of one way, for a drawing
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..fabric.tables import frame
from .hall import Floats, Hall, Ints
from .tables import SEGMENTS
from .tray_net import TrayNet, key_of, place_of


def segments(hall: Hall) -> pl.DataFrame:
    """Every piece of tray between neighbouring joints, ends and drops of free positions; table `SEGMENTS`, tray by tray."""
    tray, begin, end = _pieces(hall)
    net, trays = hall.tray_net, hall.trays
    flat, across = net.runs.along_x[tray], net.runs.across[tray]
    sizes = {name: np.array([getattr(t, name) for t in trays], float)[tray] for name in ("height_m", "width_mm", "depth_mm", "fill_percent")}
    return frame(
        SEGMENTS,
        {
            "segment": range(len(tray)),
            "tray": [trays[t].name for t in tray.tolist()],
            "x_m": np.where(flat, begin, across) / 1e6,
            "y_m": np.where(flat, across, begin) / 1e6,
            "to_x_m": np.where(flat, end, across) / 1e6,
            "to_y_m": np.where(flat, across, end) / 1e6,
            "length_m": (end - begin) / 1e6,
            **sizes,
        },
    )


def segments_of_pairs(hall: Hall, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Segments that the ways between positions `a` and `b` use: (number of the pair, row in `segments`), sorted.

    Two positions of one pair that are the same use none. Both directions of a pair use the same segments.
    """
    points = _points(hall)
    pairs, firsts, counts = [], [], []
    for pair, tray, begin, end in stretches(hall, np.asarray(a, np.int64), np.asarray(b, np.int64)):
        low, high = np.searchsorted(points, key_of(tray, np.minimum(begin, end))), np.searchsorted(points, key_of(tray, np.maximum(begin, end)))
        pairs.append(pair)
        firsts.append(low - tray)  # each tray has one point more than segments
        counts.append(high - low)
    pair, first, count = (np.concatenate(parts) for parts in (pairs, firsts, counts))
    every = np.repeat(pair, count)
    piece = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
    order = np.lexsort((piece, every))
    return every[order], piece[order]


def loads(hall: Hall, a: Ints, b: Ints, carried: Ints) -> Ints:
    """What every segment carries: [segment, thing], where the way of pair `i` carries `carried[i]` ([pair, thing], whole numbers below 2^53)."""
    points = _points(hall)
    change = np.zeros((len(points), carried.shape[1]))
    for pair, tray, begin, end in stretches(hall, np.asarray(a, np.int64), np.asarray(b, np.int64)):
        low, high = np.searchsorted(points, key_of(tray, np.minimum(begin, end))), np.searchsorted(points, key_of(tray, np.maximum(begin, end)))
        for thing in range(carried.shape[1]):
            count = carried[pair, thing]
            change[:, thing] += np.bincount(low, count, len(points)) - np.bincount(high, count, len(points))
    tray = place_of(points)[0]
    return np.asarray(np.cumsum(change, axis=0)[:-1][tray[1:] == tray[:-1]], np.int64)


def point_names(hall: Hall) -> tuple[list[str], list[str]]:
    """What is at the begin and at the end of every segment: racks that hang there and trays that are joined there, by +; else `end`."""
    net, points = hall.tray_net, _points(hall)
    names: list[dict[str, None]] = [{} for _ in points]
    hanging = hall.free[net.tray[hall.free] >= 0]
    found = [(key_of(net.tray[hanging], net.at[hanging]), hall.positions["rack"].gather(hanging).to_list())]
    for own, other, at in ((0, 1, 2), (1, 0, 3)):
        found.append((key_of(net.joints[:, own], net.joints[:, at]), [hall.trays[t].name for t in net.joints[:, other].tolist()]))
    for keys, words in found:
        for point, word in zip(np.searchsorted(points, keys).tolist(), words, strict=True):
            names[point][word] = None
    tray = place_of(points)[0]
    here = np.flatnonzero(tray[1:] == tray[:-1])
    every = ["+".join(found) or "end" for found in names]
    return [every[i] for i in here.tolist()], [every[i + 1] for i in here.tolist()]


def stretches(hall: Hall, a: Ints, b: Ints) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Stretches of tray that ways use, from the position of the lower number on, in their order: (pair, tray, from, to), in micrometres along the tray."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    if hall.listed:
        yield from hall.tray_net.stretches(low, high)
    else:
        yield from _implied_stretches(hall.tray_net, low, high)


def _implied_stretches(net: TrayNet, low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Straight along the tray of the row, or over the first of the cross trays that make the way shortest."""
    tray_a, tray_b, at_a, at_b = net.tray[low], net.tray[high], net.at[low], net.at[high]
    pair = np.flatnonzero((tray_a == tray_b) & (low != high))
    yield pair, tray_a[pair], at_a[pair], at_b[pair]
    pair = np.flatnonzero(tray_a != tray_b)
    best, cross = np.full(len(pair), np.iinfo(np.int64).max), np.zeros(len(pair), np.int64)
    for number in np.flatnonzero(~net.runs.along_x).tolist():
        x = net.runs.across[number]
        length = np.abs(at_a[pair] - x) + np.abs(at_b[pair] - x)
        better = length < best
        best[better], cross[better] = length[better], number
    a, b, x = tray_a[pair], tray_b[pair], net.runs.across[cross]
    yield pair, a, at_a[pair], x
    yield pair, cross, net.runs.across[a], net.runs.across[b]
    yield pair, b, x, at_b[pair]


def way_points(hall: Hall, a: int, b: int) -> Floats:
    """Corners [point, (x, y, height)] of the way from position `a` to `b`, from the top of one rack to the top of the other, in metres."""
    net, trays = hall.tray_net, hall.trays
    low, high = min(a, b), max(a, b)
    spot = {n: (float(hall.positions["x_m"][n]), float(hall.positions["y_m"][n])) for n in (low, high)}
    corners: list[tuple[float, float, float]] = []

    def on_tray(tray: int, at: int) -> tuple[float, float, float]:
        across = int(net.runs.across[tray]) / 1e6
        return (at / 1e6, across, trays[tray].height_m) if trays[tray].along_x else (across, at / 1e6, trays[tray].height_m)

    if low != high:
        for _, tray, begin, end in stretches(hall, np.array([low]), np.array([high])):
            for one, start, stop in zip(tray.tolist(), begin.tolist(), end.tolist(), strict=True):
                corners += [on_tray(one, start), on_tray(one, stop)]
        corners = [(*spot[low], corners[0][2]), *corners, (*spot[high], corners[-1][2])] if corners else []
    corners = [(*spot[low], hall.rack_height_m), *corners, (*spot[high], hall.rack_height_m)]
    return np.array(_bends(corners if a <= b else corners[::-1]), float)


def _bends(corners: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Leave out points that stand twice and points in the middle of a straight run."""
    kept: list[tuple[float, float, float]] = []
    for corner in corners:
        if kept and max(abs(p - q) for p, q in zip(kept[-1], corner, strict=True)) < 1e-6:
            continue
        if len(kept) > 1 and _axis(kept[-2], kept[-1]) == _axis(kept[-1], corner):
            kept[-1] = corner
        else:
            kept.append(corner)
    return kept


def _axis(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, ...]:
    """Direction of a step along one axis."""
    return tuple(float(np.sign(round(q - p, 6))) for p, q in zip(a, b, strict=True))


def _points(hall: Hall) -> Ints:
    """Keys of all joints, ends and drops of free positions, sorted."""
    net = hall.tray_net
    hanging = hall.free[net.tray[hall.free] >= 0]
    return np.unique(np.concatenate([key_of(net.node_tray, net.node_at), key_of(net.tray[hanging], net.at[hanging])]))


def _pieces(hall: Hall) -> tuple[Ints, Ints, Ints]:
    """Tray, begin and end of every segment."""
    tray, at = place_of(_points(hall))
    here: NDArray[np.bool_] = tray[1:] == tray[:-1]
    return tray[1:][here], at[:-1][here], at[1:][here]
