"""What is wrong with a hall's rooms, rows in them and obstacles; all of it at once, before anything is placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from ..fabric.hall_spec import HallSpec
from ..problems import DesignError, Problem, did_you_mean, raise_errors
from ..vendors.catalog import Catalog
from ..vendors.models import RackType
from .boxes import EPS_M, box_of, in_the_way, inside, listed, overlap, row_boxes, span, tray_box
from .hall import Hall, hall_problems, make_hall, measured_problems
from .racks import rack_types
from .tray_checks import tray_problems


def checked_hall(spec: HallSpec, catalog: Catalog) -> tuple[Hall, list[Problem]]:
    """Lay out a hall by itself and return it with warnings; raises DesignError with all that is wrong with it."""
    if not spec.rows:
        raise DesignError([Problem("no-rows", "hall", "the hall lists no rows", "without rows a hall is made to fit a design", "list its rows")])
    types = rack_types(spec, catalog)
    rack = types[spec.rack]
    hall = make_hall(spec, rack, (), types)
    return hall, raise_errors([*hall_problems(spec, rack, types), *floor_problems(spec, rack, types), *measured_problems(spec, hall)])


def floor_problems(spec: HallSpec, rack: RackType, types: Mapping[str, RackType] | None = None) -> list[Problem]:
    """Return what is wrong with rooms, trays and obstacles, and with rows among them."""
    if not spec.rows:
        return []
    hall = make_hall(spec, rack, (), types)
    of_rooms = [*_names(spec), *_rooms(spec), *_rows_in_rooms(spec, hall)]
    of_trays = tray_problems(spec, hall) if hall.listed or not of_rooms else []  # implied trays follow from the rooms
    return [*of_rooms, *_covered_rows(spec, hall), *_trays_through(hall), *of_trays]


def _names(spec: HallSpec) -> Iterator[Problem]:
    """Names that stand twice, and names of rooms and trays that nothing has."""
    for kind, things in (("room", spec.rooms), ("tray", spec.trays), ("obstacle", spec.obstacles)):
        names = [thing.name for thing in things]
        for i, name in enumerate(names):
            if name in names[:i]:
                yield Problem(f"{kind}-names", f"hall.{kind}s.{i}.name", f"a second {kind} is called {name}", "problems and pictures name it", f"give every {kind} its own name")
    rooms, trays = [r.name for r in spec.rooms], [t.name for t in spec.trays]
    for i, row in enumerate(spec.rows):
        if row.room is not None and row.room not in rooms:
            yield Problem("row-room", f"hall.rows.{i}.room", f"the hall has no room {row.room!r}", fix=did_you_mean(row.room, rooms))
    for i, tray in enumerate(spec.trays):
        for j, other in enumerate(tray.no_joint):
            if other not in trays or other == tray.name:
                what = f"tray {tray.name} cannot cross itself" if other == tray.name else f"the hall has no tray {other!r}"
                yield Problem("tray-joint", f"hall.trays.{i}.no_joint.{j}", what, fix=did_you_mean(other, [t for t in trays if t != tray.name]))


def _rooms(spec: HallSpec) -> Iterator[Problem]:
    """Rooms that stand in each other."""
    for a, (j, b) in combinations(enumerate(spec.rooms), 2):
        if overlap(box_of(a[1]), box_of(b)):
            what = f"rooms {a[1].name} and {b.name} overlap"
            yield Problem("rooms-overlap", f"hall.rooms.{j}", what, "a place lies in one room at most", f"mend x_m, y_m, width_m or depth_m of room {b.name}")


def _rows_in_rooms(spec: HallSpec, hall: Hall) -> Iterator[Problem]:
    """Rows that stand outside the room they name, or in a wall."""
    rooms = {room.name: room for room in spec.rooms}
    fix = "mend x_m, y_m or racks of the row, or the room"
    for i, (row, box) in enumerate(zip(spec.rows, row_boxes(hall), strict=True)):
        own = rooms.get(row.room or "")
        if own is not None and not inside(box, box_of(own)):
            what = f"row {row.name} covers {span(box)}, room {own.name} {span(box_of(own))}"
            yield Problem("row-outside", f"hall.rows.{i}", what, "the row would stand in or behind a wall", fix)
        for room in spec.rooms if row.room is None else ():
            if overlap(box, box_of(room)) and not inside(box, box_of(room)):
                what = f"row {row.name} covers {span(box)} and stands in a wall of room {room.name}"
                yield Problem("row-outside", f"hall.rows.{i}", what, f"the room covers {span(box_of(room))}", fix)


def _covered_rows(spec: HallSpec, hall: Hall) -> Iterator[Problem]:
    """Rows that obstacles leave no position."""
    x, y, wide, deep, row_no = (hall.positions[c].to_numpy() for c in ("x_m", "y_m", "width_m", "depth_m", "row_no"))
    blocks = in_the_way(spec.obstacles, x, y, wide, deep)
    free = hall.room()
    for i, row in enumerate(spec.rows):
        names = [spec.obstacles[n].name for n in np.flatnonzero(blocks[:, row_no == i].any(axis=1)).tolist()]
        if names and not free[i]:
            also = " and by name" if row.blocked else ""
            what = f"no rack can stand in row {row.name}: all of its {row.racks} positions are blocked, by {listed(names)}{also}"
            yield Problem("row-covered", f"hall.rows.{i}", what, "", "move the row or what stands in its way, or remove the row")


def _trays_through(hall: Hall) -> Iterator[Problem]:
    """Listed trays that run through an obstacle."""
    for i, tray in enumerate(hall.trays if hall.listed else ()):
        for one in hall.obstacles:
            if (one.height_m is None or one.height_m > tray.height_m + EPS_M) and overlap(tray_box(tray), box_of(one)):
                high = "reaches the ceiling" if one.height_m is None else f"is {one.height_m:g} m high"
                what = f"tray {tray.name} runs through obstacle {one.name}"
                why = f"the tray hangs {tray.height_m:.2f} m above the floor and is {tray.width_mm:g} mm wide, {one.name} {high}"
                yield Problem("tray-obstacle", f"hall.trays.{i}", what, why, f"lead the tray around it, or set height_m of {one.name} where the tray passes above")
