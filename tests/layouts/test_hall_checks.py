"""Halls that cannot be: rooms, rows in them, obstacles, trays; each with one that may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from railplan import DesignError
from railplan.fabric.hall_spec import HallSpec
from railplan.layouts import tray_checks
from railplan.layouts.hall import hall_problems, make_hall
from railplan.layouts.hall_checks import checked_hall, floor_problems
from railplan.layouts.routes import tray_way_m
from railplan.layouts.tray_segments import segments_of_pairs
from railplan.vendors.catalog import Catalog

ROWS: list[dict[str, Any]] = [{"name": "A", "racks": 5, "x_m": 1, "y_m": 2}, {"name": "B", "racks": 5, "x_m": 1, "y_m": 5}]
TRAYS: list[dict[str, Any]] = [
    {"name": "a", "x_m": 1, "y_m": 2, "to_x_m": 5},
    {"name": "b", "x_m": 1, "y_m": 5, "to_x_m": 5},
    {"name": "cross", "x_m": 5, "y_m": 2, "to_y_m": 5},
]
NORTH, SOUTH = {"name": "north", "width_m": 6, "depth_m": 3}, {"name": "south", "y_m": 3.2, "width_m": 6, "depth_m": 3}


def rules(catalog: Catalog, **hall: Any) -> list[str]:
    return [p.rule for p in floor_problems(HallSpec.model_validate({"rows": ROWS, **hall}), catalog.rack("rack-48u"))]


def tray(number: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**one, **changes} if i == number else one for i, one in enumerate(TRAYS)]


RIGHT: dict[str, dict[str, Any]] = {
    "plain": {},
    "trays": {"trays": TRAYS},
    "two rooms": {"rooms": [NORTH, SOUTH], "trays": TRAYS},
    "one room": {"rooms": [{"name": "all", "width_m": 9, "depth_m": 9}]},
    "obstacle above a position": {"obstacles": [{"name": "o", "x_m": 1, "y_m": 2, "width_m": 0.1, "depth_m": 0.1}]},
    "obstacle that blocks nothing": {"obstacles": [{"name": "o", "x_m": 50, "y_m": 2, "width_m": 1, "depth_m": 1}], "trays": TRAYS},
    "tray above an obstacle": {"obstacles": [{"name": "o", "x_m": 4.8, "y_m": 3, "width_m": 1, "depth_m": 1, "height_m": 2.6}], "trays": TRAYS},
    "tray beside an obstacle": {"obstacles": [{"name": "o", "x_m": 5.3, "y_m": 3, "width_m": 1, "depth_m": 1}], "trays": TRAYS},
    "one tray above another": {"trays": [*TRAYS, {"name": "high", "x_m": 1, "y_m": 2, "to_x_m": 5, "height_m": 3}]},
    "low tray in an aisle": {"trays": [*TRAYS, {"name": "low", "x_m": 0, "y_m": 3.5, "to_x_m": 7, "height_m": 1}]},
    "rooms wall to wall": {"rooms": [{**NORTH, "depth_m": 3.5}, {**SOUTH, "y_m": 3.5}], "trays": TRAYS},
    "a bare position that is blocked": {"rows": [{**ROWS[0], "racks": 6, "blocked": [6]}, {**ROWS[1], "x_m": 1.7}], "trays": tray(0, to_x_m=5.0)},
}
WRONG: dict[str, tuple[list[str], dict[str, Any]]] = {
    "room twice": (["room-names"], {"rooms": [{**NORTH, "depth_m": 9}, {**NORTH, "x_m": 20}]}),
    "tray twice": (["tray-names"], {"trays": [*TRAYS, {**TRAYS[0], "y_m": 3.4}]}),
    "obstacle twice": (["obstacle-names"], {"obstacles": [{"name": "o", "x_m": 20, "y_m": y, "width_m": 1, "depth_m": 1} for y in (0, 5)]}),
    "unknown room": (["row-room"], {"rows": [{**ROWS[0], "room": "east"}, ROWS[1]], "trays": TRAYS}),
    "unknown tray": (["tray-joint"], {"trays": tray(0, no_joint=["x"])}),
    "tray apart from itself": (["tray-joint"], {"trays": tray(0, no_joint=["a"])}),
    "rooms overlap": (["rooms-overlap"], {"rooms": [NORTH, {**SOUTH, "y_m": 2.9}], "trays": TRAYS}),
    "row in a wall": (["row-outside"], {"rooms": [NORTH, {**SOUTH, "width_m": 4}], "trays": TRAYS}),
    "row in another room": (["row-outside"], {"rows": [ROWS[0], {**ROWS[1], "room": "north"}], "rooms": [NORTH, SOUTH], "trays": TRAYS}),
    "row covered": (["row-covered"], {"obstacles": [{"name": "o", "x_m": 1, "y_m": 1.5, "width_m": 3.5, "depth_m": 0.2}]}),
    "tray in a column": (["tray-obstacle"], {"obstacles": [{"name": "o", "x_m": 5.2, "y_m": 3, "width_m": 1, "depth_m": 1}], "trays": TRAYS}),
    "tray in racks": (["tray-low"], {"trays": tray(0, height_m=2.2)}),
    "tray through the backs of racks": (["tray-low"], {"trays": [*TRAYS, {"name": "low", "x_m": 0, "y_m": 2.8, "to_x_m": 7, "height_m": 1}]}),
    "tray in a tray": (["trays-overlap"], {"trays": [*TRAYS, {"name": "again", "x_m": 4, "y_m": 2, "to_x_m": 6}]}),
    "no tray above": (["no-tray"], {"trays": [*tray(0, to_x_m=3.7, y_m=2.6), {"name": "join", "x_m": 3.7, "y_m": 2.6, "to_y_m": 5}]}),
    "trays end to end with a gap": (["trays-apart"], {"trays": tray(2, y_m=2.1)}),
    "trays cross without a joint": (["trays-apart"], {"trays": tray(2, no_joint=["a"])}),
    "rooms without trays": (["trays-apart"], {"rooms": [NORTH, SOUTH]}),
    "a room and rows outside": (["trays-apart"], {"rooms": [NORTH]}),
    "cross tray behind the wall": (["tray-wall"], {"rooms": [{"name": "all", "width_m": 6, "depth_m": 9}], "cross_trays_x_m": [2, 7]}),
}


@pytest.mark.parametrize("hall", RIGHT.values(), ids=RIGHT)
def test_a_hall_that_may_be(catalog: Catalog, hall: dict[str, Any]) -> None:
    assert rules(catalog, **hall) == []


@pytest.mark.parametrize(("expected", "hall"), WRONG.values(), ids=WRONG)
def test_a_hall_that_cannot_be(catalog: Catalog, expected: list[str], hall: dict[str, Any]) -> None:
    assert rules(catalog, **hall) == expected


def test_every_problem_says_where_and_the_way_out(catalog: Catalog) -> None:
    for _, hall in WRONG.values():
        for problem in floor_problems(HallSpec.model_validate({"rows": ROWS, **hall}), catalog.rack("rack-48u")):
            assert problem.where.startswith("hall.")
            assert problem.fix
            assert problem.what


def test_all_rows_that_cannot_be_reached_are_named_with_the_gap(catalog: Catalog) -> None:
    rows = [*ROWS, {"name": "C", "racks": 5, "x_m": 1, "y_m": 8}]
    trays = [*tray(2, y_m=2.25), {"name": "c", "x_m": 0, "y_m": 8, "to_x_m": 5}]
    found = floor_problems(HallSpec.model_validate({"rows": rows, "trays": trays}), catalog.rack("rack-48u"))
    assert [p.what for p in found] == ["no tray leads from row A to row B", "no tray leads from row A to row C"]
    assert "a and cross, 0.25 m apart" in found[0].why


def test_positions_without_a_tray_are_counted(catalog: Catalog) -> None:
    found = floor_problems(HallSpec.model_validate({"rows": ROWS[:1], "trays": [{"name": "a", "x_m": 1, "y_m": 2, "to_x_m": 2}]}), catalog.rack("rack-48u"))
    assert [p.what for p in found] == ["3 positions have no tray above: A03, A04 and A05"]


def test_more_joints_than_can_be_searched_are_refused(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tray_checks, "NODES_MAX", 3)
    assert rules(catalog, trays=TRAYS) == ["too-many-joints"]


def test_obstacles_block_the_positions_they_reach_into(catalog: Catalog) -> None:
    obstacles = [{"name": "o", "x_m": 1.7, "y_m": 2.6, "width_m": 0.7, "depth_m": 1}, {"name": "p", "x_m": 3.9, "y_m": 2.5, "width_m": 0.2, "depth_m": 3, "height_m": 0.1}]
    hall = make_hall(HallSpec.model_validate({"rows": [{**ROWS[0], "blocked": [1]}, ROWS[1]], "obstacles": obstacles}), catalog.rack("rack-48u"))
    assert hall.positions.filter("blocked")["rack"].to_list() == ["A01", "A05", "B05"]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_hall_is_refused_with_reasons_or_every_rack_is_reached(catalog: Catalog, data: st.DataObject) -> None:
    place, size = st.integers(0, 24).map(lambda n: n / 2), st.integers(1, 24).map(lambda n: n / 2)
    some = {"min_size": 0, "max_size": 3}
    rows = [{"name": n, "racks": data.draw(st.integers(1, 5)), "x_m": data.draw(place), "y_m": data.draw(place)} for n in "ABC"[: data.draw(st.integers(1, 3))]]
    rooms = [{"name": f"r{i}", "x_m": x, "y_m": y, "width_m": w, "depth_m": d} for i, (x, y, w, d) in enumerate(data.draw(st.lists(st.tuples(place, place, size, size), **some)))]
    drawn = data.draw(st.lists(st.tuples(place, place, size, st.booleans(), st.sampled_from([None, 1.0, 2.6, 3.1])), **some))
    runs = [{"x_m": x, "y_m": y, ("to_x_m" if flat else "to_y_m"): (x if flat else y) + length, "height_m": height} for x, y, length, flat, height in drawn]
    over = [{"x_m": 0, "y_m": row["y_m"], "to_x_m": 18} for row in rows] + [{"x_m": 13, "y_m": 0, "to_y_m": 13}] if data.draw(st.booleans()) else []
    trays = [{"name": f"t{i}", **run, "no_joint": data.draw(st.sampled_from([[], [], ["t1"]]))} for i, run in enumerate([*over, *runs])]
    obstacles = [{"name": f"o{i}", "x_m": x, "y_m": y, "width_m": w, "depth_m": 0.5} for i, (x, y, w) in enumerate(data.draw(st.lists(st.tuples(place, place, size), **some)))]
    spec = HallSpec.model_validate({"rows": rows, "rooms": rooms, "trays": trays, "obstacles": obstacles})
    found = [*hall_problems(spec, catalog.rack(spec.rack)), *floor_problems(spec, catalog.rack(spec.rack))]
    event("refused" if found else "taken")
    assert all(p.fix and p.where.startswith("hall") for p in found)
    if found:
        return
    hall = make_hall(spec, catalog.rack(spec.rack))
    a, b = (grid.ravel() for grid in np.meshgrid(hall.free, hall.free))
    assert np.isfinite(np.array(tray_way_m(hall, a, b))).all()
    pair, _ = segments_of_pairs(hall, a, b)
    x, y = (hall.positions[c].to_numpy() for c in ("x_m", "y_m"))
    far = np.hypot(x[a] - x[b], y[a] - y[b]) > 2
    assert set(np.flatnonzero(far).tolist()) <= set(pair.tolist())


def test_a_hall_by_itself_is_checked_as_a_whole(catalog: Catalog) -> None:
    hall, findings = checked_hall(HallSpec.model_validate({"rows": ROWS, "measured": [{"rack_a": "A01", "rack_b": "A05", "length_m": 1}]}), catalog)
    assert hall.positions.height == 10
    assert [p.rule for p in findings] == ["measured-short"]
    for wrong, rule in (({}, "no-rows"), ({"rows": [ROWS[0], {**ROWS[1], "y_m": 2.2}]}, "rows-overlap"), ({"rows": ROWS, "rack": "rack-49u"}, "rack-type")):
        with pytest.raises(DesignError) as caught:
            checked_hall(HallSpec.model_validate(wrong), catalog)
        assert [p.rule for p in caught.value.problems] == [rule]
