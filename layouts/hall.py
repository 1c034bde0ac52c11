"""The hall: where racks can stand, what a rack may hold, and how trays run between them.

                 cross tray        cross tray        cross tray
    row A  ----------+-----------------+-----------------+----   y grows
             A01  A02  A03 ...   (fronts)                          |
                      cold aisle                                   v
             B01  B02  B03 ...   (fronts)
    row B  ----------+-----------------+-----------------+----
                      hot aisle                     x grows ->

Rows stand in pairs that face each other over a cold aisle; between pairs is a hot aisle.
A tray runs above every row, cross trays join them, unless the hall lists its trays: then these are all there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..fabric.hall_spec import HallSpec, ObstacleSpec, RoomSpec, RoutingSpec, RowSpec
from ..fabric.tables import frame
from ..problems import Problem, did_you_mean
from ..vendors.models import RackType
from .boxes import in_the_way
from .racks import LIMITS, UNLIMITED, RackLimits, Spot, Stand, least, limits_of, rack_limits, spots_of, stands_of
from .tables import POSITIONS
from .tray_net import TrayNet, tray_net
from .trays import Tray, implied_trays, listed_trays

COLUMN_AISLE_M = 2.4
"""Way between columns of rows of a hall made to fit: a main aisle, two of the 1.2 m aisles that guidelines ask for."""

RACK_UNIT_M = 0.04445
"""Height of a rack unit: 1.75 inches (EIA-310)."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Hall:
    """Positions with their racks (table `POSITIONS`, in row order), and the geometry of racks and trays."""

    positions: pl.DataFrame
    limits: RackLimits
    """Of a rack of the hall's own type."""
    rack_width_m: float
    """Of the hall's own type, as the next one."""
    rack_depth_m: float
    rack_height_m: float
    """Outer height of the highest rack: all trays hang above it, so a lower rack has a longer way up."""
    cross_trays_x_m: tuple[float, ...]
    """Where implied trays cross; none where the hall lists its trays."""
    routing: RoutingSpec
    trays: tuple[Tray, ...]
    """Listed by the hall, or implied by its rows."""
    listed: bool
    """The hall lists its trays."""
    rooms: tuple[RoomSpec, ...]
    obstacles: tuple[ObstacleSpec, ...]

    @cached_property
    def tray_net(self) -> TrayNet:
        """Positions on their trays, and ways between them."""
        x, y = (self.positions[c].to_numpy() for c in ("x_m", "y_m"))
        wide, deep = (self.positions[c].to_numpy() for c in ("width_m", "depth_m"))
        return tray_net(self.trays, x, y, wide, deep)

    @property
    def free(self) -> Ints:
        """Row numbers in `positions` where a rack can stand, in row order."""
        return np.flatnonzero(~self.positions["blocked"].to_numpy())

    @property
    def highest_ru(self) -> int:
        """Units of the highest rack."""
        return int(self.positions["height_ru"].to_numpy().max(initial=0)) or self.limits.height_ru

    @property
    def stands(self) -> list[Stand]:
        """Free positions that are alike, row by row."""
        return stands_of(self.positions)

    @property
    def least(self) -> RackLimits:
        """What the rack of every free position may hold."""
        return least(limits_of(self.positions[self.free].unique(LIMITS)) or [self.limits])

    @property
    def plain(self) -> bool:
        """Every rack may hold the same, and no row has a limit of its own."""
        stands = self.stands
        return len({s.limits for s in stands}) <= 1 and all(s.row_air_w == UNLIMITED for s in stands)

    def room(self) -> Ints:
        """Number of positions of each row where a rack can stand."""
        rows = self.positions["row_no"].to_numpy().astype(np.int64)
        return np.bincount(rows[self.free], minlength=int(rows.max(initial=-1)) + 1)


def make_hall(spec: HallSpec, rack: RackType, need: Sequence[int] = (), types: Mapping[str, RackType] | None = None) -> Hall:
    """Lay out the hall's rows, or, when it has none, as many as blocks of `need` racks fill.

    `rack` is the hall's own type, `types` has the others that rows name, by model.
    """
    width, depth = rack.width_mm / 1000, rack.depth_mm / 1000
    rows = spec.rows or side_by_side(spec, rows_to_fit(spec.row_racks, need), width, depth)
    counts = [r.racks for r in rows]
    position = np.concatenate([np.arange(1, n + 1) for n in counts]) if counts else np.zeros(0, np.int64)
    row_no = np.repeat(np.arange(len(rows)), counts)
    names = [r.name for r in rows]
    spots, stands = spots_of(spec, rows, {**(types or {}), rack.model: rack})
    widths_m, depths_m = np.array([s.width_m for s in spots]), np.array([s.depth_m for s in spots])
    middles_m = [row.x_m + np.cumsum(widths_m[own]) - widths_m[own] / 2 for row, own in zip(rows, stands, strict=True)]
    racks = pl.DataFrame(spots, schema=list(Spot._fields), orient="row")[np.concatenate(stands)] if rows else pl.DataFrame(schema=list(Spot._fields))
    middles = row_middles_m(spec, rows, [float(depths_m[own].max()) for own in stands])
    x_m, y_m = np.round(np.concatenate([np.zeros(0), *middles_m]), 6), np.array(middles, float)[row_no]
    shut = np.concatenate([np.isin(np.arange(1, r.racks + 1), r.blocked) for r in rows]) if counts else np.zeros(0, bool)
    wide, deep = (np.asarray(racks[c].to_numpy(), np.float64) for c in ("width_m", "depth_m"))
    positions = frame(
        POSITIONS,
        {
            "rack": [f"{names[r]}{p:02d}" for r, p in zip(row_no.tolist(), position.tolist(), strict=True)],
            "row": [names[r] for r in row_no.tolist()],
            "row_no": row_no,
            "position": position,
            "x_m": x_m,
            "y_m": y_m,
            "blocked": shut | in_the_way(spec.obstacles, x_m, y_m, wide, deep).any(axis=0),
            **{name: racks[name] for name in Spot._fields},
        },
    )
    lengths_m = [float(widths_m[own].sum()) for own in stands]
    crosses = () if spec.trays else tuple(spec.cross_trays_x_m if spec.cross_trays_x_m is not None else cross_trays(rows, lengths_m))
    height_m = max((max(s.outer_m, s.height_ru * RACK_UNIT_M) for s in spots), default=0.0)
    lines = [(r.name, r.x_m, r.x_m + length_m, y) for r, length_m, y in zip(rows, lengths_m, middles, strict=True)]
    return Hall(
        positions=positions,
        limits=rack_limits(spec, rack),
        rack_width_m=width,
        rack_depth_m=depth,
        rack_height_m=height_m,
        cross_trays_x_m=crosses,
        routing=spec.routing,
        trays=listed_trays(spec, height_m) if spec.trays else implied_trays(spec, lines, crosses, height_m),
        listed=bool(spec.trays),
        rooms=spec.rooms,
        obstacles=spec.obstacles,
    )


def side_by_side(spec: HallSpec, rows: Sequence[RowSpec], width_m: float, depth_m: float) -> tuple[RowSpec, ...]:
    """Stand the rows of a hall made to fit in columns of rows, so that a large hall is about as long as it is wide."""
    if not rows:
        return ()
    pitch_m, length_m = depth_m + (spec.cold_aisle_m + spec.hot_aisle_m) / 2, rows[0].racks * width_m + COLUMN_AISLE_M
    columns = max(1, round(math.sqrt(len(rows) * pitch_m / length_m)))
    each = -(-len(rows) // (2 * columns)) * 2  # rows face each other in pairs
    return tuple(row.model_copy(update={"x_m": round(i // each * length_m, 6), "y_m": depth_m / 2 if i % each == 0 and i else None}) for i, row in enumerate(rows))


def cross_trays(rows: Sequence[RowSpec], lengths_m: Sequence[float]) -> tuple[float, ...]:
    """Trays across the rows where the hall names none: at both ends and in the middle of every column of rows."""
    columns: list[list[float]] = []
    for begin, end in sorted((r.x_m, r.x_m + length_m) for r, length_m in zip(rows, lengths_m, strict=True)):
        if columns and begin < columns[-1][1]:
            columns[-1][1] = max(columns[-1][1], end)
        else:
            columns.append([begin, end])
    return tuple(sorted({round(x, 6) for begin, end in columns or [[0.0, 0.0]] for x in (begin, (begin + end) / 2, end)}))


def row_middles_m(spec: HallSpec, rows: Sequence[RowSpec], depths_m: Sequence[float]) -> list[float]:
    """Middle of each row across the hall: as given, or the row before plus a cold (then a hot, ...) aisle. A row is as deep as its deepest rack."""
    middles: list[float] = []
    for i, row in enumerate(rows):
        aisle_m = spec.cold_aisle_m if i % 2 else spec.hot_aisle_m
        follows = middles[-1] + (depths_m[i - 1] + depths_m[i]) / 2 + aisle_m if middles else depths_m[i] / 2
        middles.append(round(follows, 6) if row.y_m is None else row.y_m)
    return middles


def row_name(number: int) -> str:
    """Name of a row of a hall made to fit: A, B, ..., Z, AA, AB, ..."""
    letters = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def rows_to_fit(row_racks: int, need: Sequence[int]) -> tuple[RowSpec, ...]:
    """Return the fewest equal rows of at most `row_racks` that hold blocks of `need` racks as `stand_blocks` stands them."""
    rows_at_most = len(need) + sum(-(-size // row_racks) for size in need)
    stands = stand_blocks(np.full(rows_at_most, row_racks), need)
    if not stands:
        return ()
    taken = np.concatenate(stands)
    longest = int((taken % row_racks).max()) + 1
    return tuple(RowSpec(name=row_name(i), racks=longest) for i in range(int(taken.max()) // row_racks + 1))


def stand_blocks(room: Ints, sizes: Sequence[int]) -> list[Ints]:
    """Give every block of racks, in order, the first fewest neighbouring rows with room for it, each filled from its begin.

    `room` holds the free positions of each row. The result numbers free positions of the hall from 0, in row order.
    Raises ValueError when the hall is too small for all of them together.
    """
    if sum(sizes) > room.sum():
        raise ValueError(f"{sum(sizes)} racks do not fit {room.sum()} positions")
    first = np.cumsum(room) - room
    free = room.copy()
    stands: list[Ints] = []
    for size in sizes:
        one = int(np.argmax(free >= size))
        rows: Iterable[int] = (one,) if free[one] >= size else _fewest_rows(free, size)
        taken: list[Ints] = []
        left = size
        for row in rows:
            count = min(left, int(free[row]))
            begin = first[row] + room[row] - free[row]
            taken.append(np.arange(begin, begin + count))
            free[row] -= count
            left -= count
        stands.append(np.concatenate(taken))
    return stands


def _fewest_rows(free: Ints, size: int) -> range:
    """Return the first of the shortest runs of rows with room for a block that no single row holds."""
    ends = np.cumsum(free)
    last = np.searchsorted(ends, ends - free + size)
    spans = np.where(last < len(free), last - np.arange(len(free)), len(free))
    begin = int(np.argmin(spans))
    return range(begin, int(last[begin]) + 1)


def tray_path_m(hall: Hall, a: Ints, b: Ints) -> tuple[Floats, Floats]:
    """Metres along the rows and across them of the shortest way on trays between positions `a` and `b`."""
    if hall.listed:
        return hall.tray_net.way_m(a, b)[:2]
    x, y, row = (hall.positions[c].to_numpy() for c in ("x_m", "y_m", "row_no"))
    xa, xb, line = x[a], x[b], np.round(y, 6)
    along = np.full(len(a), np.inf)
    for tray_m in hall.cross_trays_x_m:
        np.minimum(along, np.abs(xa - tray_m) + np.abs(tray_m - xb), out=along)
    same = (row[a] == row[b]) | (line[a] == line[b])  # rows on one line share their tray
    return np.where(same, np.abs(xa - xb), along), np.where(same, 0.0, np.abs(y[a] - y[b]))


def hall_problems(spec: HallSpec, rack: RackType, types: Mapping[str, RackType] | None = None) -> list[Problem]:
    """Return what is wrong with the rows themselves: racks of one name, rows that stand in each other."""
    problems = []
    hall = make_hall(spec, rack, (), types)
    for name, rows in hall.positions.group_by("rack", maintain_order=True).agg("row").filter(pl.col("row").list.len() > 1).iter_rows():
        problems.append(Problem("rack-names", "hall.rows", f"rows {' and '.join(rows)} both have a rack {name}", "labels name racks", "rename one of the rows"))
    extent = hall.positions.group_by("row_no", maintain_order=True).agg(pl.col("row").first(), pl.col("width_m").sum(), pl.col("depth_m").max(), pl.col("y_m").first())
    spans = [(name, row.x_m, row.x_m + long, deep, y) for row, (_, name, long, deep, y) in zip(spec.rows, extent.iter_rows(), strict=True)]
    for (a, a_from, a_to, a_deep, a_y), (b, b_from, b_to, b_deep, b_y) in combinations(spans, 2):
        if abs(a_y - b_y) < (a_deep + b_deep) / 2 - 1e-6 and min(a_to, b_to) - max(a_from, b_from) > 1e-6:
            why = f"their middles are {abs(a_y - b_y):g} m apart and racks are {max(a_deep, b_deep):g} m deep"
            problems.append(Problem("rows-overlap", "hall.rows", f"rows {a} and {b} stand in each other", why, f"mend y_m or x_m of row {b}"))
    return problems


def measured_problems(spec: HallSpec, hall: Hall) -> list[Problem]:
    """Return measured routes that name no rack of the hall (errors) or are shorter than the way through the air (warnings)."""
    problems = []
    blocked = dict(hall.positions.select("rack", "blocked").iter_rows())
    known = [name for name, shut in blocked.items() if not shut]
    spot = {name: (x, y) for name, x, y in hall.positions.select("rack", "x_m", "y_m").iter_rows()}
    for i, measured in enumerate(spec.measured):
        where = f"hall.measured.{i}"
        ends = {"rack_a": measured.rack_a, "rack_b": measured.rack_b}
        wrong = {field: name for field, name in ends.items() if blocked.get(name, True)}
        for field, name in wrong.items():
            what = f"position {name} is blocked: no rack stands there" if name in blocked else f"the hall has no rack {name!r}"
            problems.append(Problem("measured-rack", f"{where}.{field}", what, "its length would win nowhere", did_you_mean(name, known)))
        if wrong:
            continue
        (xa, ya), (xb, yb) = spot[measured.rack_a], spot[measured.rack_b]
        apart_m = float(np.hypot(xa - xb, ya - yb))
        if measured.length_m < apart_m - 1e-6:
            what = f"{measured.rack_a} to {measured.rack_b} measured as {measured.length_m:g} m, their middles are {apart_m:.1f} m apart"
            problems.append(Problem("measured-short", f"{where}.length_m", what, "cables cut to it may not reach", "measure again, or mend the rows' places", "warning"))
    return problems
