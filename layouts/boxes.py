"""Rectangles on the floor, and names in a sentence: what the checks of a hall are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..fabric.hall_spec import ObstacleSpec, RoomSpec
from .trays import Tray

if TYPE_CHECKING:
    from .hall import Hall

EPS_M = 1e-6
Floats = NDArray[np.float64]
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
    low, high = ((pl.col("x_m") + sign * pl.col("width_m") / 2) for sign in (-1, 1))
    top, foot = ((pl.col("y_m").first() + sign * pl.col("depth_m").max() / 2) for sign in (-1, 1))
    rows = hall.positions.group_by("row_no", maintain_order=True).agg(low.min(), top, high.max().alias("to_x"), foot.alias("to_y"))
    return list(rows.drop("row_no").iter_rows())


def in_the_way(obstacles: Sequence[ObstacleSpec], x_m: Floats, y_m: Floats, width_m: Floats, depth_m: Floats) -> NDArray[np.bool_]:
    """[obstacle, position]: the obstacle reaches into the position (middles `x_m`, `y_m`, racks of that width and depth)."""
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
