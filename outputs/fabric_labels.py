"""Finds room for the words on the lines of the fabric picture: on their own line, off every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .fabric_groups import Wire
from .svg import Point, text_width

LABEL_SIZE = 9.5
STEPS = (24.0, 32.0, 40.0, 50.0, 60.0, 72.0, 84.0, 18.0, 98.0, 112.0)
"""Heights above (or below) the end of a line where its label may stand, the best first."""


HEAD = 60.0
"""Height of the frame and heading above a box."""


class Room(NamedTuple):
    """The ground that a label covers."""

    left: float
    top: float
    right: float
    bottom: float


def place_labels(runs: Mapping[Wire, tuple[Point, Point]], alone: Mapping[Wire, bool]) -> dict[Wire, Point]:
    """Where the labels of the wires of `alone` stand (middle of their baseline); True: the wire is alone at its lower end.

    `runs` are the lower and upper ends of all lines. A label keeps off other labels and, where it can, off other lines;
    one that only finds room on two or more of them is left out: the notes at the side tell how many links a line has.
    """
    found: dict[Wire, Point] = {}
    rooms: list[Room] = []
    for wire, low_end in alone.items():
        best: tuple[int, Point, Room] | None = None
        for away in STEPS:
            if wire.tier == "spine-core" and low_end and away < HEAD:
                continue  # the lower end lies under the heading of the spines
            at = _on_line(*runs[wire], away, low_end)
            room = _room(at, wire.label)
            if at[1] - 12 <= runs[wire][1][1] or any(_overlap(room, other) for other in rooms):
                continue
            crossed = sum(_crosses(run, room) for other, run in runs.items() if other is not wire)
            if best is None or crossed < best[0]:
                best = (crossed, at, room)
            if not crossed:
                break
        if best and best[0] < 2:
            found[wire] = best[1]
            rooms.append(best[2])
    return found


def _on_line(low: Point, high: Point, away: float, low_end: bool) -> Point:
    """Baseline of a label centred on a line, `away` from one of its ends in height."""
    share = away / abs(low[1] - high[1])
    share = share if low_end else 1 - share
    return low[0] + (high[0] - low[0]) * share, low[1] + (high[1] - low[1]) * share + 3


def _room(at: Point, words: str) -> Room:
    half = text_width(words, LABEL_SIZE) * 0.43 + 2
    return Room(at[0] - half, at[1] - 10, at[0] + half, at[1] + 4)


def _overlap(a: Room, b: Room) -> bool:
    return a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom


def _crosses(run: tuple[Point, Point], room: Room) -> bool:
    """True when a line, from its lower to its upper end, passes over the ground of a label."""
    (x_low, y_low), (x_high, y_high) = run
    top, bottom = max(room.top, y_high), min(room.bottom, y_low)
    if top >= bottom:
        return False
    slope = (x_high - x_low) / (y_high - y_low)
    ends = sorted(x_low + (y - y_low) * slope for y in (top, bottom))
    return ends[0] < room.right and ends[1] > room.left
