"""Rectangles on the floor, and names in a sentence: what the checks of a hall are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..fabric.hall_spec import ObstacleSpec, RoomSpec
from .trays import Tray

if TYPE_CHECKING:
    from .hall import Hall

EPS_M = 1e-6
Box = tuple[float, float, float, float]
"""Least x, least y, greatest x, greatest y."""


def box_of(thing: RoomSpec | ObstacleSpec) -> Box:
    """Ground of a room or an obstacle."""
    return thing.x_m, thing.y_m, thing.x_m + thing.width_m, thing.y_m + thing.depth_m


def tray_box(tray: Tray) -> Box:
    """Ground below a tray."""
    half = tray.width_mm / 2000
    return (tray.x_m, tray.y_m - half, tray.to_x_m, tray.y_m + half) if tray.along_x else (tray.x_m - half, tray.y_m, tray.x_m + half, tray.to_y_m)


def row_boxes(hall: Hall) -> list[Box]:
    """Ground of every row, blocked positions included."""
    rows = hall.positions["row_no"].to_numpy()
    x, y = (hall.positions[c].to_numpy() for c in ("x_m", "y_m"))
    wide, deep = hall.rack_width_m / 2, hall.rack_depth_m / 2
    begins = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]]) if len(rows) else np.zeros(0, np.int64)
    ends = np.r_[begins[1:], len(rows)] - 1 if len(rows) else begins
    return [(x0 - wide, y0 - deep, x1 + wide, y0 + deep) for x0, x1, y0 in zip(x[begins].tolist(), x[ends].tolist(), y[begins].tolist(), strict=True)]


def in_the_way(obstacles: Sequence[ObstacleSpec], x_m: NDArray[np.float64], y_m: NDArray[np.float64], width_m: float, depth_m: float) -> NDArray[np.bool_]:
    """[obstacle, position]: the obstacle reaches into the position (middles `x_m`, `y_m`)."""
    found = np.zeros((len(obstacles), len(x_m)), bool)
    for number, one in enumerate(obstacles):
        wide = np.minimum(x_m + width_m / 2, one.x_m + one.width_m) - np.maximum(x_m - width_m / 2, one.x_m)
        deep = np.minimum(y_m + depth_m / 2, one.y_m + one.depth_m) - np.maximum(y_m - depth_m / 2, one.y_m)
        found[number] = (wide > 1e-6) & (deep > 1e-6)
    return found


def inside(box: Box, around: Box) -> bool:
    """True when a box lies within another."""
    return box[0] >= around[0] - EPS_M and box[1] >= around[1] - EPS_M and box[2] <= around[2] + EPS_M and box[3] <= around[3] + EPS_M


def overlap(a: Box, b: Box) -> bool:
    """True when two boxes share ground."""
    return min(a[2], b[2]) - max(a[0], b[0]) > EPS_M and min(a[3], b[3]) - max(a[1], b[1]) > EPS_M


def span(box: Box) -> str:
    """Say where a box lies."""
    return f"x {box[0]:g} to {box[2]:g} m and y {box[1]:g} to {box[3]:g} m"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; of many the first six."""
    shown = list(names[:6])
    if len(names) > 6:
        return ", ".join(shown) + f" and {len(names) - 6:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
