"""Trays as the user lists them: joints, ways, segments; two ways to reach each length."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railplan.fabric.hall_spec import HallSpec
from railplan.layouts.hall import Hall, make_hall
from railplan.layouts.routes import route_terms_m, tray_way_m
from railplan.layouts.tables import SEGMENTS
from railplan.layouts.tray_segments import segments, segments_of_pairs, way_points
from railplan.layouts.trays import joints
from railplan.vendors.catalog import Catalog


def hall_of(catalog: Catalog, **fields: Any) -> Hall:
    return make_hall(HallSpec.model_validate(fields), catalog.rack("rack-48u"))


def listed(hall: Hall, catalog: Catalog, fields: dict[str, Any]) -> Hall:
    """The same hall with its implied trays written out in its file."""
    trays = [{"name": f"t{i}", "x_m": t.x_m, "y_m": t.y_m, "to_x_m": t.to_x_m, "to_y_m": t.to_y_m} for i, t in enumerate(hall.trays)]
    return hall_of(catalog, **fields, trays=trays)


def all_pairs(hall: Hall) -> tuple[Any, Any]:
    spots = hall.free
    return tuple(grid.ravel() for grid in np.meshgrid(spots, spots, indexing="ij"))  # type: ignore[return-value]


ROWS = [{"name": "A", "racks": 5, "y_m": 0.6}, {"name": "B", "racks": 4, "y_m": 3.0}, {"name": "C", "racks": 6, "y_m": 5.1, "x_m": 1.0}]
COLUMNS = [{"name": n, "racks": 4, "x_m": x, "y_m": y} for n, x, y in (("A", 0, 0.6), ("B", 0, 3), ("C", 0, 5.1), ("D", 5.2, 0.6), ("E", 5.2, 3), ("F", 10.4, 5.1))]
TWO_LEVELS: dict[str, Any] = {
    "rows": ROWS,
    "trays": [
        {"name": "a", "x_m": -1, "y_m": 0.6, "to_x_m": 6},
        {"name": "b", "x_m": 8, "y_m": 3.2, "to_x_m": 0, "height_m": 2.9},
        {"name": "c", "x_m": 0, "y_m": 5.1, "to_x_m": 8, "height_m": 2.4},
        {"name": "main", "x_m": -1, "y_m": 0, "to_y_m": 6, "height_m": 3.1},
        {"name": "east", "x_m": 5.3, "y_m": 0, "to_y_m": 6, "height_m": 3.3, "no_joint": ["b"]},
        {"name": "stub", "x_m": 0, "y_m": 5.1, "to_x_m": -1, "height_m": 2.4},
        {"name": "over", "x_m": -1, "y_m": 3.2, "to_x_m": 0, "height_m": 3.1},
    ],
}


LIKE_IMPLIED: dict[str, dict[str, Any]] = {
    "rows": {"rows": ROWS},
    "columns": {"rows": COLUMNS},
    "one row": {"rows": ROWS[:1]},
    "crosses": {"rows": ROWS, "cross_trays_x_m": [-2.0, 3.3]},
}


@pytest.mark.parametrize("fields", LIKE_IMPLIED.values(), ids=LIKE_IMPLIED)
def test_trays_listed_like_the_implied_ones_give_the_same_routes(catalog: Catalog, fields: dict[str, Any]) -> None:
    implied = hall_of(catalog, **fields)
    a, b = all_pairs(implied)
    same = listed(implied, catalog, {"rows": fields["rows"]})
    assert same.listed
    assert not implied.listed
    heights = np.linspace(0, 2, len(a)), np.linspace(2, 0.5, len(a))
    one, two = (route_terms_m(hall, a, b, *heights) for hall in (implied, same))
    for name in one:
        assert one[name] == pytest.approx(two[name], abs=2e-6), name
    assert segments(implied).drop("tray").equals(segments(same).drop("tray"))
    metres = []
    for hall in (implied, same):
        pair, segment = segments_of_pairs(hall, a, b)
        metres.append(np.bincount(pair, weights=segments(hall)["length_m"].to_numpy()[segment], minlength=len(a)))
    assert metres[0] == pytest.approx(metres[1])
    assert metres[0] == pytest.approx(one["along_m"] + one["across_m"])


def walked(hall: Hall, step_m: float = 0.05) -> dict[tuple[int, int], float]:
    """Shortest ways from the top of every rack to every other, on points 5 cm apart, by plain Dijkstra."""
    points: dict[tuple[int, int, int], list[tuple[tuple[int, int, int], float]]] = {}

    def key(x: float, y: float, z: float) -> tuple[int, int, int]:
        return round(x * 1000), round(y * 1000), round(z * 1000)

    def join(p: tuple[int, int, int], q: tuple[int, int, int]) -> None:
        length = sum(abs(u - v) for u, v in zip(p, q, strict=True)) / 1000
        points.setdefault(p, []).append((q, length))
        points.setdefault(q, []).append((p, length))

    on: dict[str, set[tuple[int, int]]] = {}
    for tray in hall.trays:
        steps = round(max(tray.to_x_m - tray.x_m, tray.to_y_m - tray.y_m) / step_m)
        spots = [(tray.x_m + (tray.to_x_m - tray.x_m) * i / steps, tray.y_m + (tray.to_y_m - tray.y_m) * i / steps) for i in range(steps + 1)]
        on[tray.name] = {key(x, y, 0)[:2] for x, y in spots}
        for (x, y), (u, v) in pairwise(spots):
            join(key(x, y, tray.height_m), key(u, v, tray.height_m))
    for i, one in enumerate(hall.trays):
        for two in hall.trays[i + 1 :]:
            if two.name not in one.no_joint and one.name not in two.no_joint:
                for x, y in on[one.name] & on[two.name]:
                    join((x, y, round(one.height_m * 1000)), (x, y, round(two.height_m * 1000)))
    tops = {}
    for number, (x, y) in enumerate(hall.positions.select("x_m", "y_m").rows()):
        over = [(abs(x - u / 1000) + abs(y - v / 1000), tray.height_m, u, v) for tray in hall.trays for u, v in on[tray.name]]
        beside, height, u, v = min(o for o in over if abs(x - o[2] / 1000) <= 0.3501 and abs(y - o[3] / 1000) <= 0.6001)
        tops[number] = ((u, v, round(height * 1000)), beside + height - hall.rack_height_m)
    found = {}
    for number, (begin, rise) in tops.items():
        best, queue = {begin: 0.0}, [(0.0, begin)]
        while queue:
            far, here = heapq.heappop(queue)
            for there, length in points[here] if far <= best[here] else ():
                if far + length < best.get(there, np.inf) - 1e-9:
                    best[there] = far + length
                    heapq.heappush(queue, (far + length, there))
        found |= {(number, other): rise + best[end] + down for other, (end, down) in tops.items() if end in best}
    return found


def test_ways_over_trays_at_different_heights_are_those_that_one_walks(catalog: Catalog) -> None:
    hall = hall_of(catalog, **TWO_LEVELS)
    a, b = all_pairs(hall)
    lengths = np.sum(tray_way_m(hall, a, b), axis=0)
    steps = walked(hall)
    assert len(steps) == len(a)
    for i, j, length in zip(a.tolist(), b.tolist(), lengths.tolist(), strict=True):
        if i != j:
            assert length == pytest.approx(steps[i, j], abs=1e-6), (i, j)


def test_climbs_and_drops_stand_in_up_and_down(catalog: Catalog) -> None:
    hall = hall_of(catalog, **TWO_LEVELS)
    a, b = (np.array([hall.positions["rack"].to_list().index(n)]) for n in ("A01", "C06"))
    along, across, up, down = (float(t[0]) for t in tray_way_m(hall, a, b))
    top, default = hall.rack_height_m, hall.rack_height_m + hall.routing.riser_m
    assert along == pytest.approx((5.3 - 0.35) + (5.3 - 4.85))
    assert across == pytest.approx(4.5)
    assert up == pytest.approx((default - top) + (3.3 - default))
    assert down == pytest.approx((3.3 - 2.4) + (2.4 - top))


def test_trays_that_cross_without_a_joint_are_not_joined(catalog: Catalog) -> None:
    hall = hall_of(catalog, **TWO_LEVELS)
    names = [t.name for t in hall.trays]
    met = {(names[i], names[j]) for i, j in joints(hall.trays, hall.tray_net.runs)[:, :2].tolist()}
    assert {frozenset(p) for p in met} == {frozenset(p) for p in (("a", "main"), ("a", "east"), ("c", "east"), ("c", "stub"), ("stub", "main"), ("main", "over"), ("over", "b"))}
    assert joints(hall.trays, hall.tray_net.runs, silent=True)[:, :2].tolist() == [[1, 4]]


def test_ends_that_touch_are_joined_and_a_gap_is_not(catalog: Catalog) -> None:
    one, two = ({"rows": ROWS[:1], "trays": [{"name": "a", "x_m": 0, "y_m": 0.6, "to_x_m": 2}, {"name": "b", "x_m": x, "y_m": 0.6, "to_x_m": 3.5}]} for x in (2, 2.01))
    a, b = np.array([0]), np.array([4])
    assert tray_way_m(hall_of(catalog, **one), a, b)[0].tolist() == [pytest.approx(2.8)]
    assert tray_way_m(hall_of(catalog, **two), a, b)[0].tolist() == [np.inf]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_directions_agree_to_the_bit_and_no_way_beats_the_air(catalog: Catalog, data: st.DataObject) -> None:
    place = st.integers(-20, 80).map(lambda n: n / 10)
    off, height = st.integers(-5, 5).map(lambda n: n / 10), st.integers(24, 35).map(lambda n: n / 10)
    along = [{"x_m": -2, "to_x_m": 8, "y_m": round(y + data.draw(off), 3), "height_m": data.draw(height)} for y in (0.6, 3, 5.1)]
    crosses = [{"x_m": x, "y_m": 0, "to_y_m": 6, "height_m": data.draw(height)} for x in data.draw(st.lists(place, min_size=1, max_size=3, unique=True))]
    trays = [{"name": f"t{i}", **tray} for i, tray in enumerate([*along, *crosses])]
    hall = hall_of(catalog, rows=ROWS, trays=trays)
    a, b = all_pairs(hall)
    there, back = tray_way_m(hall, a, b), tray_way_m(hall, b, a)
    assert all(np.array_equal(one, two) for one, two in zip(there, (back[0], back[1], back[3], back[2]), strict=True))
    heights = np.full(len(a), 0.5), np.full(len(a), 1.5)
    x, y = (hall.positions[c].to_numpy() for c in ("x_m", "y_m"))
    air = np.sqrt((x[a] - x[b]) ** 2 + (y[a] - y[b]) ** 2 + 1)
    assert (np.sum(list(route_terms_m(hall, a, b, *heights).values()), axis=0) >= air - 1e-6).all()
    pair, segment = segments_of_pairs(hall, a, b)
    beside = sum(side[a] + side[b] for side in (hall.tray_net.side_x, hall.tray_net.side_y)) / 1e6
    used = np.bincount(pair, weights=segments(hall)["length_m"].to_numpy()[segment], minlength=len(a))
    assert used == pytest.approx(np.where(a == b, 0, there[0] + there[1] - beside), abs=1e-6)


@pytest.mark.parametrize("fields", [TWO_LEVELS, {"rows": COLUMNS}], ids=["listed", "implied"])
def test_segments_tile_the_trays_and_add_up_to_the_ways(catalog: Catalog, fields: dict[str, Any]) -> None:
    hall = hall_of(catalog, **fields)
    table = segments(hall)
    assert dict(table.schema) == SEGMENTS
    assert (table["length_m"] > 0).all()
    for tray in hall.trays:
        pieces = [row for row in table.rows(named=True) if row["tray"] == tray.name]
        assert sum(p["length_m"] for p in pieces) == pytest.approx(tray.to_x_m - tray.x_m + tray.to_y_m - tray.y_m)
        assert {(p["height_m"], p["width_mm"], p["depth_mm"], p["fill_percent"]) for p in pieces} == {(tray.height_m, tray.width_mm, tray.depth_mm, tray.fill_percent)}
    a, b = all_pairs(hall)
    pair, segment = segments_of_pairs(hall, a, b)
    there = {p: set(segment[pair == p].tolist()) for p in range(0, len(a), 7)}
    back_pair, back_segment = segments_of_pairs(hall, b, a)
    assert there == {p: set(back_segment[back_pair == p].tolist()) for p in there}


def test_corners_of_a_way_are_as_long_as_it(catalog: Catalog) -> None:
    hall = hall_of(catalog, **TWO_LEVELS)
    a, b = all_pairs(hall)
    lengths = np.sum(tray_way_m(hall, a, b), axis=0)
    for i in range(0, len(a), 11):
        points = way_points(hall, int(a[i]), int(b[i]))
        if a[i] == b[i]:
            assert points.tolist() == [[hall.positions["x_m"][int(a[i])], hall.positions["y_m"][int(a[i])], hall.rack_height_m]]
            continue
        assert points[[0, -1], 2].tolist() == [hall.rack_height_m] * 2
        assert np.abs(np.diff(points, axis=0)).sum() == pytest.approx(lengths[i])
        assert (np.count_nonzero(np.round(np.diff(points, axis=0), 6), axis=1) == 1).all()


def test_a_position_hangs_on_the_nearest_tray_and_on_the_lower_of_two(catalog: Catalog) -> None:
    where = {"far": {"y_m": 0.9}, "high": {"y_m": 0.6, "height_m": 3.5}, "low": {"y_m": 0.6, "height_m": 2.5}, "aisle": {"y_m": 2}}
    trays = [{"name": name, "x_m": 0, "to_x_m": 3.5, **place} for name, place in where.items()]
    net = hall_of(catalog, rows=ROWS[:1], trays=trays).tray_net
    assert set(net.tray.tolist()) == {2}
    assert set(net.side_y.tolist()) == {0}


def test_of_ways_of_equal_length_the_one_with_fewest_changes_of_tray_is_taken(catalog: Catalog) -> None:
    rows = [{"name": n, "racks": 8, "y_m": y} for n, y in (("A", 0.6), ("B", 3.0), ("C", 5.4))]
    implied = hall_of(catalog, rows=rows, cross_trays_x_m=[0.7, 2.1, 3.5, 4.9])
    hall = listed(implied, catalog, {"rows": rows})
    spots = {name: n for n, name in enumerate(hall.positions["rack"].to_list())}
    for one in (implied, hall):
        _, used = segments_of_pairs(one, np.array([spots["A01"]]), np.array([spots["C08"]]))
        assert segments(one)[used]["tray"].n_unique() == 3
