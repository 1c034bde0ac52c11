"""The trays of a hall: straight runs along x or y, listed by the user or implied by the rows, and where they meet.

    tray row-A   ----o----------------o----   trays that touch or cross are joined there (o), unless they say not to;
                     |                |       where their heights differ a cable climbs or drops by the difference
    tray row-B   ----o----------------o----
                  cross-1          cross-2

Places are whole micrometres from here on, so that sums are exact and ways of equal length are truly equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..fabric.hall_spec import HallSpec

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tray:
    """One straight run of tray; it begins at its end with the least x and y."""

    name: str
    x_m: float
    y_m: float
    to_x_m: float
    to_y_m: float
    above_m: float
    """Bottom of the tray above the top of the racks."""
    height_m: float
    """Bottom of the tray above the floor."""
    width_mm: float
    depth_mm: float
    fill_percent: float
    no_joint: tuple[str, ...] = ()
    """Trays it crosses without a joint."""

    @property
    def along_x(self) -> bool:
        """True when it runs along x."""
        return self.to_x_m > self.x_m


def listed_trays(spec: HallSpec, rack_height_m: float) -> tuple[Tray, ...]:
    """The trays that a hall lists, with the hall's own figures where they give none."""
    trays = []
    for tray in spec.trays:
        (x, to_x), (y, to_y) = (sorted((round(a, 6), round(b, 6))) for a, b in zip((tray.x_m, tray.y_m), tray.end, strict=True))
        above_m = spec.routing.riser_m if tray.height_m is None else tray.height_m - rack_height_m
        width, depth, fill = tray.width_mm or spec.tray_width_mm, tray.depth_mm or spec.tray_depth_mm, tray.fill_percent or spec.tray_fill_percent
        trays.append(Tray(tray.name, x, y, to_x, to_y, above_m, tray.height_m or rack_height_m + above_m, width, depth, fill, tray.no_joint))
    return tuple(trays)


def implied_trays(spec: HallSpec, lines: Sequence[tuple[str, float, float, float]], crosses_m: Sequence[float], rack_height_m: float) -> tuple[Tray, ...]:
    """Trays of a hall that lists none: one above every line of rows, cross trays from the first line to the last.

    `lines` gives name, begin and end along x, and y of every row; rows on one line share their tray.
    """
    size = (spec.routing.riser_m, rack_height_m + spec.routing.riser_m, spec.tray_width_mm, spec.tray_depth_mm, spec.tray_fill_percent)
    by_y: dict[float, list[tuple[str, float, float, float]]] = {}
    for line in lines:
        by_y.setdefault(round(line[3], 6), []).append(line)
    crosses = sorted({round(x, 6) for x in crosses_m}) if len(by_y) > 1 else []
    trays = []
    for y, rows in by_y.items():
        begin, end = min([*crosses, *(r[1] for r in rows)]), max([*crosses, *(r[2] for r in rows)])
        trays.append(Tray("row-" + "+".join(r[0] for r in rows), round(begin, 6), y, round(end, 6), y, *size))
    trays += [Tray(f"cross-{i}", x, min(by_y), x, max(by_y), *size) for i, x in enumerate(crosses, 1)]
    return tuple(trays)


@dataclass(frozen=True)
class Runs:
    """The trays as arrays, in micrometres; `across` is the place of the middle line on the other axis."""

    along_x: NDArray[np.bool_]
    across: Ints
    begin: Ints
    end: Ints
    height: Ints


def runs_of(trays: Sequence[Tray]) -> Runs:
    """Lay the trays out as arrays."""
    along_x = np.array([t.along_x for t in trays], bool)
    x, y, to_x, to_y, height = (micrometres([getattr(t, name) for t in trays]) for name in ("x_m", "y_m", "to_x_m", "to_y_m", "height_m"))
    return Runs(along_x, np.where(along_x, y, x), np.where(along_x, x, y), np.where(along_x, to_x, to_y), height)


def micrometres(metres: Sequence[float] | NDArray[np.float64]) -> Ints:
    """Whole micrometres."""
    return np.rint(np.asarray(metres, float) * 1e6).astype(np.int64)


def joints(trays: Sequence[Tray], runs: Runs, silent: bool = False) -> Ints:
    """Where trays meet: [joint, 4] with both trays and the place along each; with `silent` only where they say that there is no joint."""
    flat, upright = np.flatnonzero(runs.along_x), np.flatnonzero(~runs.along_x)
    a, b = flat[:, None], upright[None, :]
    meet = (runs.begin[a] <= runs.across[b]) & (runs.across[b] <= runs.end[a]) & (runs.begin[b] <= runs.across[a]) & (runs.across[a] <= runs.end[b])
    at = np.argwhere(meet)
    i, j = flat[at[:, 0]], upright[at[:, 1]]
    found = [np.stack([i, j, runs.across[j], runs.across[i]], axis=1)]
    for line in (flat, upright):  # end to end, or one above the other
        a, b = line[:, None], line[None, :]
        at = np.argwhere((a < b) & (runs.across[a] == runs.across[b]) & (np.maximum(runs.begin[a], runs.begin[b]) <= np.minimum(runs.end[a], runs.end[b])))
        i, j = line[at[:, 0]], line[at[:, 1]]
        first, last = np.maximum(runs.begin[i], runs.begin[j]), np.minimum(runs.end[i], runs.end[j])
        found += [np.stack([i, j, place, place], axis=1) for place in (first, last)]
    every = np.unique(np.concatenate(found), axis=0)
    said = {(n, other) for n, tray in enumerate(trays) for other in tray.no_joint}
    unsaid = np.array([(i, trays[j].name) not in said and (j, trays[i].name) not in said for i, j in every[:, :2].tolist()], bool)
    return np.asarray(every[~unsaid if silent else unsaid], np.int64)
