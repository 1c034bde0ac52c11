"""Names of rows, rooms and listed trays in the picture of a hall, where they cover nothing else that is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl

from ..layouts.boxes import Box, box_of, tray_box
from ..layouts.hall import Hall
from ..layouts.trays import Tray
from .hall_floor import AROUND, WALL, Floor, aisles_of
from .hall_trays import marks
from .svg import Point, rect, text, text_width

SIZE, HIGH = 9.0, 11.0
"""Size of a tray's name, and pixels that its line takes."""


def row_names(hall: Hall, floor: Floor) -> list[str]:
    """Write row names at both ends, or at the begin of each row where rows stand side by side or within walls."""
    steps = [at for at, _, _ in marks(hall, floor)] if hall.listed else []
    abreast = Counter(round(middle) for _, _, _, middle in floor.rows.values())
    parts = []
    for name, left, right, middle in floor.rows.values():
        if max(abreast.values()) > 1 or hall.rooms or hall.listed:
            parts.append(text((_beside(steps, left, middle) - 3, middle + 4), name, 11, anchor="end", bold=True, halo=True))
            continue
        at_left, at_right = min(left, floor.low[0]) - 10, max(right, floor.high[0]) + 10
        parts += [text((at_left, middle + 5), name, 15, anchor="end", bold=True, width=AROUND - 20), text((at_right, middle + 5), name, 15, bold=True, width=AROUND - 40)]
    return parts


def _beside(steps: Iterable[Point], left: float, middle: float) -> float:
    """Where a row's name ends: at the begin of the row, or before the mark of a joint there."""
    return min([left, *(x - 4 for x, y in steps if left - 14 < x < left + 8 and abs(y - middle) < 12)])


def labels(hall: Hall, floor: Floor) -> list[str]:
    """Write the names of rooms and listed trays; what finds no room stands in the lines below the picture and under the pointer."""
    if not hall.rooms and not hall.listed:
        return []
    trays = hall.trays if hall.listed else ()
    bands = [floor.box(tray_box(tray)) for tray in trays]
    taken = list(_written(hall, floor))
    parts = []
    for room in hall.rooms:
        words = f"room {room.name}, {room.width_m:g} m x {room.depth_m:g} m"
        box = _first(_corners(floor.box(box_of(room)), text_width(words, 11) + 6), [*taken, *bands])
        if box is not None:
            taken.append(box)
            parts.append(text((box[0] + 3, box[3] - 3), words, 11, bold=True, colour=WALL, halo=True))
    for number, tray in enumerate(trays):
        others = bands[:number] + bands[number + 1 :]
        wordings = (f"{tray.name} {tray.height_m:.2f} m, {tray.width_mm:g} mm", f"{tray.name} {tray.height_m:.2f} m", tray.name)
        ways = [(words, places, within) for within in ([*taken, *others], taken) for places in (_along, _beyond) for words in wordings]
        boxes = ((words, _first(places(tray, floor, text_width(words, SIZE) + 6), within)) for words, places, within in ways)
        placed = next(((words, box) for words, box in boxes if box is not None), None)
        if placed is not None:
            taken.append(placed[1])
            parts += _on_tray(tray, placed[1], placed[0])
    return parts


def _written(hall: Hall, floor: Floor) -> Iterator[Box]:
    """What is on the page already: racks, row names, obstacles, walls, words in aisles, marks of joints."""
    steps = [at for at, _, _ in marks(hall, floor)]
    depth_m = dict(hall.positions.group_by("row_no").agg(pl.col("depth_m").max()).iter_rows())
    for row_no, (name, left, right, middle) in floor.rows.items():
        end, deep = _beside(steps, left, middle), depth_m[row_no] * floor.scale
        yield left, middle - deep / 2, right, middle + deep / 2
        yield end - 5 - text_width(name, 11), middle - 8, end, middle + 8
    for one in hall.obstacles:
        yield floor.box(box_of(one))
    for room in hall.rooms:
        left, top, right, bottom = floor.box(box_of(room))
        yield from ((left - 4, top - 4, right + 4, top), (left - 4, bottom, right + 4, bottom + 4), (left - 4, top, left, bottom), (right, top, right + 4, bottom))
    for aisle in aisles_of(hall, floor):
        half = min(aisle.room, text_width(aisle.words, aisle.size)) / 2
        yield aisle.at[0] - half, aisle.at[1] - aisle.size, aisle.at[0] + half, aisle.at[1] + 3
    for x, y in steps:
        yield x - 7, y - 7, x + 7, y + 7


def _corners(room: Box, width: float) -> Iterator[Box]:
    """Places of a room's name: in its corners, then along its upper and lower wall."""
    left, top, right, bottom = room
    steps = max(1, int((right - left - width - 4) // 20))
    for high in (top + 2, bottom - HIGH - 5):
        for begin in (left + 2, right - width - 2, *(left + 2 + 20 * i for i in range(1, steps))):
            if left <= begin and begin + width <= right:
                yield begin, high, begin + width, high + HIGH + 3


def _along(tray: Tray, floor: Floor, width: float) -> Iterator[Box]:
    """Places of a tray's name on the tray, from its middle outwards."""
    low, high, across = _run(tray, floor)
    room = high - low - width
    steps = int(room // 16) if room > 0 else -1
    for i in sorted(range(steps + 1), key=lambda i: abs(i - steps / 2)):
        yield _turned(tray, low + (room * i / steps if steps else room / 2), across, width)


def _beyond(tray: Tray, floor: Floor, width: float) -> Iterator[Box]:
    """Places of a tray's name just beyond its ends."""
    low, high, across = _run(tray, floor)
    yield _turned(tray, high + 2, across, width)
    yield _turned(tray, low - width - 2, across, width)


def _run(tray: Tray, floor: Floor) -> tuple[float, float, float]:
    """Begin and end of a tray along its axis and where its middle line lies across it, in pixels."""
    left, top, right, bottom = floor.box((tray.x_m, tray.y_m, tray.to_x_m, tray.to_y_m))
    return (left, right, top) if tray.along_x else (top, bottom, left)


def _turned(tray: Tray, begin: float, across: float, width: float) -> Box:
    """A label's box on the middle line of a tray."""
    box = (begin, across - HIGH / 2, begin + width, across + HIGH / 2)
    return box if tray.along_x else (box[1], box[0], box[3], box[2])


def _on_tray(tray: Tray, box: Box, words: str) -> list[str]:
    ground = rect(box[:2], (box[2] - box[0], box[3] - box[1]), "#ffffff", stroke="none", radius=2)
    if tray.along_x:
        return [ground, text((box[0] + 3, box[3] - 2.5), words, SIZE)]
    return [ground, f'<g transform="translate({box[2] - 2.5:.2f} {box[3] - 3:.2f}) rotate(-90)">{text((0, 0), words, SIZE)}</g>']


def _first(boxes: Iterable[Box], taken: list[Box]) -> Box | None:
    """The first box that covers nothing taken."""
    every = np.array(taken, float).reshape(-1, 4)
    for box in boxes:
        shared = np.minimum(every[:, 2:], box[2:]) - np.maximum(every[:, :2], box[:2])
        if not (shared > 0).all(axis=1).any():
            return box
    return None
