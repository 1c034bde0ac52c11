"""The ground of a hall, to scale: where it lies on the page, walls, rows, aisles, obstacles, dimensions. Drawn from a Hall alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import polars as pl

from ..layouts.boxes import Box, box_of, overlap, tray_box
from ..layouts.hall import Hall
from .svg import BLUE, FAINT, INK, RULE, Point, line, rect, text, text_width

COLD, HOT = "#e3f1fb", "#fbe9df"
WALL, SOLID = "#4d4d4d", "#d9d9d9"
PAGE_WIDTH, SCALE_LEAST, SCALE_MOST = 1350.0, 20.0, 80.0
"""Pixels the hall should take, and the limits of pixels per metre."""
AROUND = 62.0
"""Pixels around the hall for row names and dimensions."""


@dataclass(frozen=True)
class Spot:
    """One position as drawn: its upper left corner in pixels, and what stands there."""

    rack: str
    row_no: int
    position: int
    at: Point
    kind: str
    """node, network, server, reserved, blocked or free."""
    size: Point
    """Width and depth in pixels."""
    type: str
    """Rack type and its units, where racks of the hall differ."""
    roles: str = ""
    pods: tuple[int, ...] = ()
    fabrics: tuple[str, ...] = ()
    """Of the switches that stand there, where the plan has several."""


@dataclass(frozen=True)
class Floor:
    """Scale of the picture and where the hall's rows lie, in pixels."""

    scale: float
    origin: Point
    """Where x_m = y_m = 0 lies."""
    rows: dict[int, tuple[str, float, float, float]]
    """Row number -> name, left end, right end, middle."""
    rooms: dict[int, str]
    """Row number -> the room whose walls are around its begin; "" where none are."""
    low: Point
    high: Point
    """Corners of the ground that the hall covers."""

    def box(self, box: Box) -> Box:
        """A box of the hall in pixels."""
        (x, y), scale = self.origin, self.scale
        return x + box[0] * scale, y + box[1] * scale, x + box[2] * scale, y + box[3] * scale


def ground(hall: Hall) -> tuple[float, float, float, float]:
    """Corner and size, in metres, of the ground that positions, trays, rooms and obstacles cover."""
    x, y, wide, deep = (hall.positions[c].to_numpy() for c in ("x_m", "y_m", "width_m", "depth_m"))
    boxes = [(float((x - wide / 2).min()), float((y - deep / 2).min()), float((x + wide / 2).max()), float((y + deep / 2).max()))]
    boxes += [(m, boxes[0][1], m, boxes[0][3]) for m in hall.cross_trays_x_m]
    boxes += [*(box_of(room) for room in hall.rooms), *(box_of(one) for one in hall.obstacles), *(tray_box(tray) for tray in hall.trays if hall.listed)]
    left, top, right, bottom = (pick(box[k] for box in boxes) for k, pick in enumerate((min, min, max, max)))
    return left, top, right - left, bottom - top


def scale_of(hall: Hall) -> float:
    """Pixels per metre: the hall fills the page's width, within limits."""
    _, _, width_m, depth_m = ground(hall)
    return max(SCALE_LEAST, min(SCALE_MOST, PAGE_WIDTH / width_m, 1.6 * PAGE_WIDTH / depth_m))


def floor_of(hall: Hall, scale: float, corner: Point) -> Floor:
    """Lay the hall on the page, its upper left corner at `corner`."""
    left, top, width_m, depth_m = ground(hall)
    origin = (corner[0] - left * scale, corner[1] - top * scale)
    rows, rooms = {}, {}
    for (row_no, name), row in hall.positions.group_by("row_no", "row", maintain_order=True):
        x, half, y = row["x_m"].to_numpy(), row["width_m"].to_numpy() / 2, float(row["y_m"][0])
        ends = [float((x - half).min()), float((x + half).max())]
        rows[int(str(row_no))] = (str(name), origin[0] + ends[0] * scale, origin[0] + ends[1] * scale, origin[1] + y * scale)
        begin = (float(x[0]), y, float(x[0]) + 0.01, y + 0.01)
        rooms[int(str(row_no))] = next((room.name for room in hall.rooms if overlap(begin, box_of(room))), "")
    high = (corner[0] + width_m * scale, corner[1] + depth_m * scale)
    return Floor(scale, origin, rows, rooms, corner, high)


SPOT = ("rack", "row_no", "position", "x_m", "y_m", "blocked", "width_m", "depth_m", "type", "height_ru")
"""Columns of the hall's positions that a spot is drawn from."""


def spots_of(hall: Hall, floor: Floor) -> list[Spot]:
    """Return every position of the hall, free or blocked."""
    differ, scale = hall.positions["type"].n_unique() > 1, floor.scale
    spots = []
    for rack, row_no, position, x, y, blocked, wide, deep, model, units in hall.positions.select(SPOT).iter_rows():
        at = (floor.origin[0] + (x - wide / 2) * scale, floor.origin[1] + (y - deep / 2) * scale)
        spots.append(Spot(rack, row_no, position, at, "blocked" if blocked else "free", (wide * scale, deep * scale), f"{model}, {units} U" if differ else ""))
    return spots


def front(floor: Floor, row_no: int) -> int:
    """Side of a row that faces its cold aisle: 1 is down the page, -1 up; rows stand in pairs that face each other."""
    partner = row_no + 1 if row_no % 2 == 0 else row_no - 1
    if partner not in floor.rows or floor.rooms[partner] != floor.rooms[row_no]:
        return 1
    return 1 if floor.rows[partner][3] >= floor.rows[row_no][3] else -1


class Aisle(NamedTuple):
    """Ground between neighbouring rows, in pixels, and what is written there: words, their middle, size and room."""

    ground: Box
    cold: bool
    words: str
    at: Point
    size: float
    room: float


def aisles_of(hall: Hall, floor: Floor) -> list[Aisle]:
    """The ground between neighbouring rows of a room, cold where fronts face; its words stand clear of trays and obstacles."""
    found = []
    depth_m = dict(hall.positions.group_by("row_no").agg(pl.col("depth_m").max()).iter_rows())
    for (a_no, a), (b_no, b) in pairwise(floor.rows.items()):
        (upper, upper_m), (lower, lower_m) = sorted(((a[3], depth_m[a_no]), (b[3], depth_m[b_no])))
        top, bottom = upper + upper_m * floor.scale / 2, lower - lower_m * floor.scale / 2
        left, right = max(a[1], b[1]), min(a[2], b[2])
        crowded = any(upper < row[3] < lower and row[1] < right and row[2] > left for no, row in floor.rows.items() if no not in (a_no, b_no))
        if bottom - top < 4 or right <= left or crowded or floor.rooms[a_no] != floor.rooms[b_no]:
            continue
        words = f"{'cold' if a_no % 2 == 0 else 'hot'} aisle, {(bottom - top) / floor.scale:.2f} m"
        (begin, end), (high, low) = _clear(hall, floor, (left, top, right, bottom))
        size = min(13.0, (low - high) * 0.6)
        at = ((begin + end) / 2, (high + low) / 2 + size * 0.36)
        found.append(Aisle((min(a[1], b[1]), top, max(a[2], b[2]), bottom), a_no % 2 == 0, words, at, size, end - begin - 8))
    return found


def _clear(hall: Hall, floor: Floor, ground: Box) -> tuple[Point, Point]:
    """The longest piece of an aisle between what crosses it, and the widest strip beside what runs along it."""
    left, top, right, bottom = ground
    across = [] if hall.listed else [(floor.origin[0] + x * floor.scale,) * 2 for x in hall.cross_trays_x_m]
    along: list[Point] = []
    for tray in hall.trays if hall.listed else ():
        box = floor.box(tray_box(tray))
        if overlap(box, ground):
            if tray.along_x:
                along.append((box[1], box[3]))
            else:
                across.append((box[0], box[2]))
    across += [(box[0], box[2]) for one in hall.obstacles if overlap(box := floor.box(box_of(one)), ground)]
    return _widest(across, left, right), _widest(along, top, bottom)


def _widest(taken: Sequence[tuple[float, ...]], begin: float, end: float) -> Point:
    """The widest gap between taken stretches."""
    stretches = sorted((max(begin, s[0]), min(end, s[-1])) for s in taken if s[0] < end and s[-1] > begin)
    gaps, at = [], begin
    for low, high in stretches:
        gaps.append((at, max(at, low)))
        at = max(at, high)
    return max([*gaps, (at, end)], key=lambda gap: gap[1] - gap[0])


def aisles(hall: Hall, floor: Floor) -> list[str]:
    """Draw the ground between neighbouring rows with its width."""
    parts = []
    for aisle in aisles_of(hall, floor):
        left, top, right, bottom = aisle.ground
        parts.append(rect((left, top), (right - left, bottom - top), COLD if aisle.cold else HOT, stroke="none"))
        parts.append(text(aisle.at, aisle.words, aisle.size, anchor="middle", colour="#004a75" if aisle.cold else "#8a3c00", width=aisle.room))
    return parts


def walls(hall: Hall, floor: Floor) -> list[str]:
    """Draw the walls of rooms."""
    parts = []
    for room in hall.rooms:
        left, top, right, bottom = floor.box(box_of(room))
        hover = f"room {room.name}: {room.width_m:g} m x {room.depth_m:g} m"
        parts.append(rect((left - 2, top - 2), (right - left + 4, bottom - top + 4), "none", stroke=WALL, thick=4, hover=hover))
    return parts


def obstacles(hall: Hall, floor: Floor) -> list[str]:
    """Draw obstacles with their names, where the name fits."""
    parts = []
    for one in hall.obstacles:
        left, top, right, bottom = floor.box(box_of(one))
        high = "to the ceiling" if one.height_m is None else f"{one.height_m:g} m high"
        parts.append(rect((left, top), (right - left, bottom - top), SOLID, stroke=WALL, hover=f"obstacle {one.name}: {one.width_m:g} m x {one.depth_m:g} m, {high}"))
        if bottom - top >= 10 and text_width(one.name, 6) <= right - left - 2:
            parts.append(text(((left + right) / 2, (top + bottom) / 2 + 3.5), one.name, 10, anchor="middle", width=right - left - 2))
    return parts


def rack_names(spots: Sequence[Spot], floor: Floor, halo: bool) -> list[str]:
    """Write the name of each position a rack can take; in narrow ones of every fifth and those at the ends. A halo parts it from trays."""
    each = text_width("A00", 8) <= min(spot.size[0] for spot in spots) - 2
    parts = []
    for row_no, members in groupby(spots, key=lambda s: s.row_no):
        row = list(members)
        for i, spot in enumerate(row):
            if not each and spot.position % 5 and 0 < i < len(row) - 1:
                continue
            if not each and i == len(row) - 1 and spot.position % 5 < 3 and i > 0 and spot.position % 5:
                continue
            if spot.kind != "blocked":
                wide, deep = spot.size
                y = spot.at[1] + deep / 2 + front(floor, row_no) * deep * 0.27 + 4
                size, room = (11.0, wide - 3) if each else (8.0, 2.6 * wide)
                parts.append(text((spot.at[0] + wide / 2, y), spot.rack, size, anchor="middle", colour=FAINT if spot.kind == "free" else INK, halo=halo or not each, width=room))
    return parts


def stand(spot: Spot, floor: Floor, fill: str, words: str) -> list[str]:
    """Draw one position: the rack in its colour with its front, or that it is free or blocked; `words` are shown under the pointer."""
    (x, y), (wide, deep) = spot.at, spot.size
    free = spot.kind == "free"
    parts = [rect((x, y), (wide, deep), fill, stroke=RULE if free else INK, thick=0.8, dash="2 2" if free else "", hover=words)]
    if spot.kind == "blocked":
        parts += [line((x, y), (x + wide, y + deep), FAINT), line((x, y + deep), (x + wide, y), FAINT)]
    elif not free:
        edge = y + deep - 1.5 if front(floor, spot.row_no) > 0 else y + 1.5
        parts.append(line((x + 1.5, edge), (x + wide - 1.5, edge), BLUE, thick=2.5))
    return parts


def sizes(floor: Floor) -> list[str]:
    """Dimension lines: total width above the hall, total depth to its right."""
    (left, top), (right, bottom) = floor.low, floor.high
    y, x = top - 22, right + AROUND - 18
    parts = [line((left, y), (right, y), FAINT), line((left, y - 5), (left, y + 5), FAINT), line((right, y - 5), (right, y + 5), FAINT)]
    parts += [line((x, top), (x, bottom), FAINT), line((x - 5, top), (x + 5, top), FAINT), line((x - 5, bottom), (x + 5, bottom), FAINT)]
    parts.append(text(((left + right) / 2, y - 8), f"{(right - left) / floor.scale:.2f} m", 12, anchor="middle", colour=FAINT))
    turned = text((0, 0), f"{(bottom - top) / floor.scale:.2f} m", 12, anchor="middle", colour=FAINT)
    return [*parts, f'<g transform="translate({x + 15:.2f} {(top + bottom) / 2:.2f}) rotate(90)">{turned}</g>']
