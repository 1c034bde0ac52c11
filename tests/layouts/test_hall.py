"""Halls: rows, positions, names, trays, and how blocks of racks stand in them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from railplan.fabric.hall_spec import HallSpec
from railplan.layouts.hall import hall_problems, make_hall, measured_problems, row_name, stand_blocks, tray_path_m
from railplan.vendors.catalog import Catalog


def spec_of(**fields: Any) -> HallSpec:
    return HallSpec.model_validate(fields)


def rows_of(*racks: int, **fields: Any) -> HallSpec:
    return spec_of(rows=[{"name": row_name(i), "racks": n} for i, n in enumerate(racks)], **fields)


def test_a_position_is_named_by_row_and_two_digits(catalog: Catalog) -> None:
    hall = make_hall(rows_of(2, 101), catalog.rack("rack-48u"))
    assert hall.positions["rack"].to_list()[:3] == ["A01", "A02", "B01"]
    assert hall.positions["rack"].to_list()[-1] == "B101"


def test_rows_are_lettered_as_spreadsheet_columns() -> None:
    assert [row_name(i) for i in (0, 25, 26, 27, 51, 52, 701, 702)] == ["A", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]


def test_rows_face_each_other_over_cold_aisles_with_hot_aisles_between_pairs(catalog: Catalog) -> None:
    hall = make_hall(rows_of(1, 1, 1, 1, cold_aisle_m=1.2, hot_aisle_m=0.9), catalog.rack("rack-48u"))
    gaps = np.diff(hall.positions["y_m"].to_numpy()) - 1.2  # rack-48u is 1.2 m deep
    assert gaps == pytest.approx([1.2, 0.9, 1.2])


def test_a_row_stands_where_it_is_said_to_and_the_next_follows_it(catalog: Catalog) -> None:
    spec = spec_of(rows=[{"name": "A", "racks": 2, "x_m": 3.0, "y_m": 10.0}, {"name": "B", "racks": 1}])
    hall = make_hall(spec, catalog.rack("rack-48u"))
    assert hall.positions["x_m"].to_list() == pytest.approx([3.35, 4.05, 0.35])
    assert hall.positions["y_m"].to_list() == pytest.approx([10.0, 10.0, 12.4])


def test_trays_cross_at_both_ends_and_in_the_middle_unless_said_otherwise(catalog: Catalog) -> None:
    rack = catalog.rack("rack-48u")
    assert make_hall(rows_of(10, 4), rack).cross_trays_x_m == pytest.approx((0.0, 3.5, 7.0))
    assert make_hall(rows_of(10, 4, cross_trays_x_m=[1.0]), rack).cross_trays_x_m == (1.0,)


@pytest.mark.parametrize(
    ("need", "rows"),
    [
        ([], []),
        ([1], [1]),
        ([9], [9]),
        ([9, 9], [18]),
        ([9, 9, 9], [18, 18]),
        ([25], [20, 20]),
        ([9, 9, 25], [20, 20, 20]),
        ([7, 7, 7, 2], [16, 16]),
    ],
)
def test_a_hall_made_to_fit_has_the_fewest_equal_rows(catalog: Catalog, need: list[int], rows: list[int]) -> None:
    hall = make_hall(spec_of(row_racks=20), catalog.rack("rack-48u"), need)
    assert hall.room().tolist() == rows


@given(need=st.lists(st.integers(1, 30), max_size=12), row_racks=st.integers(1, 20))
def test_a_hall_made_to_fit_holds_its_blocks_and_tears_none_that_fits_a_row(catalog: Catalog, need: list[int], row_racks: int) -> None:
    hall = make_hall(spec_of(row_racks=row_racks), catalog.rack("rack-48u"), need)
    stands = stand_blocks(hall.room(), need)
    row = hall.positions["row_no"].to_numpy()
    assert [len(s) for s in stands] == need
    assert len({int(p) for s in stands for p in s}) == sum(need)
    assert all(len(set(row[s].tolist())) == 1 for s in stands if len(s) <= row_racks)
    assert hall.room().max(initial=0) <= row_racks


@example(room=[1, 6, 6], size=12)
@example(room=[6, 0, 6, 6], size=11)
@given(room=st.lists(st.integers(0, 6), min_size=1, max_size=6), size=st.integers(1, 12))
def test_a_block_takes_the_first_fewest_neighbouring_rows(room: list[int], size: int) -> None:
    runs = [(end - begin, begin) for begin, end in product(range(len(room)), range(1, len(room) + 1)) if begin < end and sum(room[begin:end]) >= size]
    if not runs:
        with pytest.raises(ValueError, match="do not fit"):
            stand_blocks(np.array(room), [size])
        return
    length, begin = min(runs)
    row_of = np.repeat(np.arange(len(room)), room)
    stood = stand_blocks(np.array(room), [size])[0]
    assert len(set(stood.tolist())) == size
    assert {int(r) for r in row_of[stood]} <= set(range(begin, begin + length))


def test_a_block_is_torn_rather_than_refused_when_no_row_has_room() -> None:
    stands = stand_blocks(np.array([5, 5]), [3, 3, 4])
    assert [s.tolist() for s in stands] == [[0, 1, 2], [5, 6, 7], [3, 4, 8, 9]]


def test_the_tray_path_is_the_cheapest_over_all_cross_trays(catalog: Catalog) -> None:
    hall = make_hall(rows_of(7, 5, 6, cross_trays_x_m=[0.4, 2.9]), catalog.rack("rack-48u"))
    rows = hall.positions.rows(named=True)
    a, b = np.divmod(np.arange(len(rows) ** 2), len(rows))
    along, across = tray_path_m(hall, a, b)
    for i, j, dx, dy in zip(a.tolist(), b.tolist(), along.tolist(), across.tolist(), strict=True):
        one, two = rows[i], rows[j]
        same = one["row"] == two["row"]
        expected = abs(one["x_m"] - two["x_m"]) if same else min(abs(one["x_m"] - x) + abs(x - two["x_m"]) for x in (0.4, 2.9))
        assert dx == pytest.approx(expected)
        assert dy == pytest.approx(abs(one["y_m"] - two["y_m"]))


def test_rows_on_one_line_share_their_tray(catalog: Catalog) -> None:
    rows = [{"name": "A", "racks": 3, "y_m": 1}, {"name": "B", "racks": 3, "y_m": 1, "x_m": 5}, {"name": "C", "racks": 3, "y_m": 4}]
    hall = make_hall(spec_of(rows=rows, cross_trays_x_m=[0.0]), catalog.rack("rack-48u"))
    along, across = tray_path_m(hall, np.array([0, 3, 0]), np.array([3, 0, 6]))
    assert along.tolist() == pytest.approx([5.0, 5.0, 0.7])
    assert across.tolist() == [0.0, 0.0, 3.0]


def test_blocked_positions_are_not_free(catalog: Catalog) -> None:
    hall = make_hall(spec_of(rows=[{"name": "A", "racks": 4, "blocked": [2, 3]}]), catalog.rack("rack-48u"))
    assert hall.positions[hall.free]["rack"].to_list() == ["A01", "A04"]
    assert hall.room().tolist() == [2]


def test_rows_that_stand_in_each_other_are_found(catalog: Catalog) -> None:
    spec = spec_of(rows=[{"name": "A", "racks": 4, "y_m": 0}, {"name": "B", "racks": 4, "y_m": 1.0}, {"name": "C", "racks": 2, "y_m": 0, "x_m": 2.8}])
    found = hall_problems(spec, catalog.rack("rack-48u"))
    assert [p.rule for p in found] == ["rows-overlap"]
    assert "rows A and B" in found[0].what


def test_rows_that_name_a_rack_alike_are_found(catalog: Catalog) -> None:
    found = hall_problems(spec_of(rows=[{"name": "A", "racks": 101}, {"name": "A1", "racks": 1}]), catalog.rack("rack-48u"))
    assert [p.what for p in found] == ["rows A and A1 both have a rack A101"]


def test_measured_lengths_name_racks_that_exist_and_are_not_shorter_than_the_air(catalog: Catalog) -> None:
    measured = [
        {"rack_a": "A01", "rack_b": "A1", "length_m": 5},
        {"rack_a": "A02", "rack_b": "A03", "length_m": 5},
        {"rack_a": "A01", "rack_b": "A04", "length_m": 1.5},
    ]
    spec = spec_of(rows=[{"name": "A", "racks": 4, "blocked": [2]}], measured=measured)
    found = measured_problems(spec, make_hall(spec, catalog.rack("rack-48u")))
    assert [(p.rule, p.where, p.level) for p in found] == [
        ("measured-rack", "hall.measured.0.rack_b", "error"),
        ("measured-rack", "hall.measured.1.rack_a", "error"),
        ("measured-short", "hall.measured.2.length_m", "warning"),
    ]
    assert "A01" in found[0].fix
    assert "blocked" in found[1].what


def test_the_halls_own_limits_win_over_the_rack_types(catalog: Catalog) -> None:
    rack = catalog.rack("rack-48u")
    limits = make_hall(spec_of(rack_power_kw=57.2, rack_weight_kg=900), rack).limits
    assert (limits.height_ru, limits.power_w, limits.weight_kg) == (48, 57200.0, 900)
    assert make_hall(spec_of(), rack).limits.power_w == rack.power_w


def test_positions_are_in_row_order(catalog: Catalog) -> None:
    positions = make_hall(rows_of(3, 2), catalog.rack("rack-48u")).positions
    assert positions.equals(positions.sort("row_no", "position"))
    assert positions.schema["row_no"] == pl.UInt32
