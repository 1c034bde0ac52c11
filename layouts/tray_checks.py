"""What is wrong with a hall's trays: places without one, trays that no way joins, trays in racks or in each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from ..fabric.hall_spec import HallSpec, RoomSpec
from ..problems import Problem
from .boxes import EPS_M, box_of, inside, listed, row_boxes, tray_box
from .hall import Floats, Hall, Ints
from .tray_net import NODES_MAX
from .trays import Tray, joints


def tray_problems(spec: HallSpec, hall: Hall) -> list[Problem]:
    """Return what is wrong with the trays of a hall that lists them, or with the rooms of one that does not."""
    if hall.listed:
        return [*_too_many(hall), *_in_racks(hall), *_in_each_other(hall), *_without_tray(hall), *_apart(spec, hall)]
    return _behind_walls(spec, hall)


def _too_many(hall: Hall) -> Iterator[Problem]:
    """More joints and ends than ways can be found between."""
    nodes = len(hall.tray_net.node_at)
    if nodes > NODES_MAX:
        what = f"{len(hall.trays):,} trays have {nodes:,} joints and ends, more than the {NODES_MAX:,} that ways can be found between"
        yield Problem("too-many-joints", "hall.trays", what, "", "join trays of one line into one, and leave out trays that carry no cable of this fabric")


def _in_racks(hall: Hall) -> Iterator[Problem]:
    """Trays that hang lower than the racks they pass over."""
    x, y, wide, deep = (hall.positions[c].to_numpy()[hall.free] * part for c, part in (("x_m", 1), ("y_m", 1), ("width_m", 0.5), ("depth_m", 0.5)))
    for i, tray in enumerate(hall.trays):
        if tray.above_m >= -EPS_M:
            continue
        left, top, right, bottom = tray_box(tray)
        over = (np.minimum(x + wide, right) - np.maximum(x - wide, left) > EPS_M) & (np.minimum(y + deep, bottom) - np.maximum(y - deep, top) > EPS_M)
        if over.any():
            racks = hall.positions["rack"].gather(hall.free[over]).to_list()
            what = f"tray {tray.name} hangs {tray.height_m:.2f} m above the floor, racks are {hall.rack_height_m:.2f} m high"
            fix = f"hang it at {hall.rack_height_m:.2f} m or higher, or lead it beside the racks"
            yield Problem("tray-low", f"hall.trays.{i}", what, f"it would run through {listed(racks)}", fix)


def _in_each_other(hall: Hall) -> Iterator[Problem]:
    """Trays on one line and at one height that overlap."""
    for a, (j, b) in combinations(enumerate(hall.trays), 2):
        one = a[1]
        if one.along_x != b.along_x or abs(one.height_m - b.height_m) >= EPS_M or (one.y_m != b.y_m if b.along_x else one.x_m != b.x_m):
            continue
        shared = min(one.to_x_m, b.to_x_m) - max(one.x_m, b.x_m) + min(one.to_y_m, b.to_y_m) - max(one.y_m, b.y_m)
        if shared > EPS_M:
            what = f"trays {one.name} and {b.name} run in each other for {shared:g} m"
            yield Problem(
                "trays-overlap", f"hall.trays.{j}", what, "a cable would lie in two trays at once", "let one end where the other begins, or hang them at different heights"
            )


def _without_tray(hall: Hall) -> Iterator[Problem]:
    """Positions that no tray passes over."""
    bare = hall.positions["rack"].gather(hall.free[hall.tray_net.tray[hall.free] < 0]).to_list()
    if bare:
        what = f"{len(bare):,} position{'s have' if len(bare) > 1 else ' has'} no tray above: {listed(bare)}"
        why = "cables leave a rack upwards, into a tray that passes over its footprint"
        yield Problem("no-tray", "hall.trays", what, why, "lead a tray over them, or name them in blocked of their rows")


def _apart(spec: HallSpec, hall: Hall) -> Iterator[Problem]:
    """Rows between whose trays no way leads."""
    net = hall.tray_net
    hanging = hall.free[net.tray[hall.free] >= 0]
    group = net.groups[net.tray[hanging]]
    groups = list(dict.fromkeys(group.tolist()))
    silent = joints(hall.trays, net.runs, silent=True)
    for other in groups[1:]:
        here, there = (_rows_of(spec, hall, hanging[group == g]) for g in (groups[0], other))
        a, b, gap_m = _nearest(hall.trays, *(np.flatnonzero(net.groups == g) for g in (groups[0], other)))
        why, fix = f"the nearest trays are {a} and {b}, {gap_m:g} m apart", f"lead {b} to {a}, or add a tray that joins them"
        for i, j in silent[:, :2].tolist():
            if {int(net.groups[i]), int(net.groups[j])} == {groups[0], other}:
                why = f"trays {hall.trays[i].name} and {hall.trays[j].name} cross, and no_joint says that nothing joins them"
                fix = "remove no_joint, or add a tray that joins them"
        yield Problem("trays-apart", "hall.trays", f"no tray leads from {here} to {there}", why, fix)


def _behind_walls(spec: HallSpec, hall: Hall) -> list[Problem]:
    """Rows in several rooms of a hall that lists no trays, and cross trays outside the walls."""
    rooms = _room_of_rows(spec, hall)
    inside_of = {id(room): room for room in rooms}
    if len(inside_of) > 1:
        row_no = np.arange(len(rooms))
        first, second = [_named(spec, rooms, row_no[[r is room for r in rooms]].tolist()) for room in list(inside_of.values())[:2]]
        fix = "list all trays of the hall under trays, with one through the wall"
        return [Problem("trays-apart", "hall.rooms", f"no tray leads from {first} to {second}", "trays that nobody listed end at the walls", fix)]
    found = []
    room = rooms[0]
    for i, x in enumerate(hall.cross_trays_x_m if room is not None and len(rooms) > 1 else ()):
        if room is not None and not room.x_m - EPS_M <= x <= room.x_m + room.width_m + EPS_M:
            what = f"the cross tray at x = {x:g} m lies outside room {room.name}, which covers x {room.x_m:g} to {room.x_m + room.width_m:g} m"
            fix = "move it into the room, or list all trays of the hall under trays"
            found.append(Problem("tray-wall", f"hall.cross_trays_x_m.{i}", what, "trays that nobody listed end at the walls", fix))
    return found


def _room_of_rows(spec: HallSpec, hall: Hall) -> list[RoomSpec | None]:
    """The room that each row names, or whose walls are around it; None outside all of them."""
    named = {room.name: room for room in spec.rooms}
    around = [next((room for room in spec.rooms if inside(box, box_of(room))), None) for box in row_boxes(hall)]
    return [found if row.room is None else named.get(row.room) for row, found in zip(spec.rows, around, strict=True)]


def _rows_of(spec: HallSpec, hall: Hall, positions: Ints) -> str:
    """Name the rows of positions, with their rooms."""
    return _named(spec, _room_of_rows(spec, hall), np.unique(hall.positions["row_no"].to_numpy()[positions]).tolist())


def _named(spec: HallSpec, rooms: Sequence[RoomSpec | None], rows: Sequence[int]) -> str:
    """Rows and their rooms in words."""
    names = list(dict.fromkeys(room.name for n in rows if (room := rooms[n]) is not None))
    where = f" in room{'s' if len(names) > 1 else ''} {listed(names)}" if names else " outside all rooms" if spec.rooms else ""
    return f"row{'s' if len(rows) > 1 else ''} {listed([spec.rows[n].name for n in rows])}{where}"


def _nearest(trays: Sequence[Tray], a: Ints, b: Ints) -> tuple[str, str, float]:
    """The two trays of two groups that come nearest to each other, and how near, in metres."""
    box = np.array([[t.x_m, t.y_m, t.to_x_m, t.to_y_m] for t in trays])
    off: list[Floats] = [np.maximum(0, np.maximum(box[a, k][:, None] - box[b, k + 2][None, :], box[b, k][None, :] - box[a, k + 2][:, None])) for k in (0, 1)]
    away = np.hypot(*off)
    i, j = (int(n) for n in np.unravel_index(int(np.argmin(away)), away.shape))
    return trays[int(a[i])].name, trays[int(b[j])].name, round(float(away[i, j]), 3)
