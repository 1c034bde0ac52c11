"""The reference arrangement, its growth, and what is said when something does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railplan.fabric.tables import NONE
from railplan.fabric.topology import Topology
from railplan.layouts.arrangement import hang
from railplan.layouts.placement import Placement, place
from railplan.layouts.racks import RackLimits
from railplan.layouts.rules import check_placement
from railplan.layouts.tables import PLACES, RACKS
from railplan.problems import DesignError, Problem
from railplan.vendors.catalog import Catalog

Build = Callable[..., Topology]


def problems_of(topology: Topology, catalog: Catalog) -> list[Problem]:
    with pytest.raises(DesignError) as caught:
        place(topology, catalog)
    return list(caught.value.problems)


def racks_by_role(placement: Placement) -> str:
    return "".join("n" if role == "node" else "S" for role in placement.racks["role"])


def where(topology: Topology, placement: Placement) -> dict[str, tuple[str, int]]:
    named = placement.places.with_columns(topology.devices["device"])
    return {device: (rack, ru) for device, rack, ru in named.select("device", "rack", "ru").iter_rows()}


def racks_of_role(topology: Topology, placement: Placement, role: str) -> list[str]:
    return placement.places.filter(topology.devices["role"] == role)["rack"].unique(maintain_order=True).to_list()


def occupied(placement: Placement) -> set[tuple[str, int]]:
    """Every unit taken, found by walking; fails when one is taken twice or lies outside the rack."""
    units: set[tuple[str, int]] = set()
    for rack, ru, height in placement.places.select("rack", "ru", "height_ru").iter_rows():
        for unit in range(ru, ru + height):
            assert 1 <= unit <= placement.hall.limits.height_ru
            assert (rack, unit) not in units
            units.add((rack, unit))
    return units


def test_an_su_of_32_dgx_h100_is_8_racks_with_the_leaf_rack_in_the_middle(built: Build, catalog: Catalog) -> None:
    topology = built(32, grow_to=64)
    placement = place(topology, catalog)
    assert racks_by_role(placement)[:9] == "nnnnSnnnn"
    assert placement.racks["rack"].to_list()[4] == "A05"
    assert placement.racks["used_ru"].to_list()[:4] == [32] * 4


def test_nodes_stand_in_order_from_the_bottom_and_leaves_hang_from_the_top(built: Build, catalog: Catalog) -> None:
    topology = built(64)
    stands = where(topology, place(topology, catalog))
    assert [stands[f"gpu-00{n}"] for n in range(1, 6)] == [("A01", 1), ("A01", 9), ("A01", 17), ("A01", 25), ("A02", 1)]
    leaves = [stands[d] for d in topology.devices.filter(role="leaf", pod=0).sort("plane", "rail")["device"]]
    assert leaves == [("A05", 48 - i) for i in range(8)]


def test_spines_follow_the_leaves_of_the_middle_pod(built: Build, catalog: Catalog) -> None:
    topology = built(96)
    placement = place(topology, catalog)
    leaf_racks = placement.places.filter((topology.devices["role"] == "leaf") & (topology.devices["pod"] == 1))["rack"].unique().to_list()
    assert racks_of_role(topology, placement, "spine") == leaf_racks
    spines = placement.places.filter(topology.devices["role"] == "spine")["ru"].to_list()
    assert spines == [40 - i for i in range(len(spines))]


def test_switches_hang_in_order_of_tier_plane_and_index_however_they_are_numbered(by_hand: Build, catalog: Catalog) -> None:
    shuffled = [("ufm", NONE, NONE, 0), ("spine", NONE, 1, 0), ("leaf", 0, 1, 0), ("spine", NONE, 0, 1), ("leaf", 0, 0, 1), ("spine", NONE, 0, 0), ("leaf", 0, 0, 0)]
    topology = by_hand([*shuffled, *(("node", 0, NONE, n) for n in range(9))])
    placement = place(topology, catalog)
    hung = sorted(zip(placement.places["ru"][:7], shuffled, strict=True), reverse=True)
    assert [device for _, device in hung] == [
        ("leaf", 0, 0, 0),
        ("leaf", 0, 0, 1),
        ("leaf", 0, 1, 0),
        ("spine", NONE, 0, 0),
        ("spine", NONE, 0, 1),
        ("spine", NONE, 1, 0),
        ("ufm", NONE, NONE, 0),
    ]


@pytest.mark.parametrize(
    ("limits", "cap", "racks"),
    [((10, 99, 99), 99, 1), ((4, 99, 99), 99, 2), ((9, 6.0, 99), 99, 2), ((9, 99, 3.0), 99, 2), ((9, 99, 99), 1, 5)],
)
def test_a_network_rack_is_full_when_units_power_weight_or_the_number_asked_are_used_up(limits: tuple[int, float, float], cap: int, racks: int) -> None:
    slot, ru, count = hang([(2, 2.0, 1.5)] * 3 + [(1, 2.0, 1.5), (1, 0.0, 0.0)], RackLimits(*limits), cap)
    assert count == racks
    assert slot.tolist() == sorted(slot.tolist())
    assert ru[0] == limits[0] - 1


def test_spines_go_on_in_racks_beside_the_leaves_when_these_are_full(built: Build, catalog: Catalog) -> None:
    topology = built(64, switches_per_rack=5)
    placement = place(topology, catalog)
    assert racks_by_role(placement) == "nnnnSSSSnnnn" + "nnnnSSnnnn"
    assert racks_of_role(topology, placement, "leaf") == ["A05", "A06", "B05", "B06"]
    assert racks_of_role(topology, placement, "spine") == ["A06", "A07", "A08"]


def test_spines_of_a_pod_stand_with_it_and_what_serves_all_stands_in_the_middle_pod(three_tiers: Topology, catalog: Catalog) -> None:
    placement = place(three_tiers, catalog)
    by_pod = [placement.places.filter((three_tiers.devices["pod"] == pod) & (three_tiers.devices["role"] != "node"))["rack"].unique().to_list() for pod in range(4)]
    assert by_pod == [["A02"], ["A05"], ["A08"], ["A11"]]
    assert racks_of_role(three_tiers, placement, "core") == racks_of_role(three_tiers, placement, "ufm") == ["A05"]
    assert check_placement(three_tiers, placement) == []


def test_a_cluster_that_fits_one_rack_gets_one(built: Build, catalog: Catalog) -> None:
    topology = built(4, fabric={"style": "single"})
    placement = place(topology, catalog)
    assert placement.racks.select("rack", "role").rows() == [("A01", "node")]
    assert check_placement(topology, placement) == []
    assert occupied(placement) == {("A01", u) for u in [*range(1, 33), 48]}


@pytest.mark.parametrize("hall", [{"rack_power_kw": 42}, {"rack_weight_kg": 530}, {"nodes_per_rack": 2}])
def test_one_rack_is_not_forced_beyond_power_weight_or_nodes_in_a_rack(built: Build, catalog: Catalog, hall: dict[str, Any]) -> None:
    topology = built(4, fabric={"style": "single"}, **hall)
    placement = place(topology, catalog)
    assert "S" in racks_by_role(placement)
    assert check_placement(topology, placement) == []


@pytest.mark.parametrize(
    ("hall", "nodes"),
    [
        ({}, 4),
        ({"rack": "rack-52u"}, 4),
        ({"rack_power_kw": 40.8}, 4),
        ({"rack_power_kw": 40}, 2),
        ({"rack_weight_kg": 300}, 2),
        ({"rack_power_kw": 11}, 1),
        ({"nodes_per_rack": 3}, 3),
        ({"nodes_per_rack": 5}, 5),
    ],
)
def test_nodes_in_a_rack_are_the_largest_published_number_that_fits_or_as_asked(built: Build, catalog: Catalog, hall: dict[str, Any], nodes: int) -> None:
    topology = built(64, **hall)
    placement = place(topology, catalog)
    in_racks = placement.places.filter(topology.devices["role"] == "node").group_by("rack").len()["len"]
    assert in_racks.max() == nodes


@pytest.mark.parametrize(("count", "grow_to"), [(1, 64), (20, 40), (33, 200), (64, 65), (100, 256)])
def test_nothing_moves_when_a_cluster_grows(built: Build, catalog: Catalog, count: int, grow_to: int) -> None:
    small, large = built(count, grow_to=grow_to), built(grow_to)
    before, after = place(small, catalog), place(large, catalog)
    now, then = where(small, before), where(large, after)
    assert now == {device: then[device] for device in now}
    assert check_placement(small, before) == []


def test_racks_that_only_wait_for_growth_are_reserved_and_count_nothing(built: Build, catalog: Catalog) -> None:
    placement = place(built(32, grow_to=64), catalog)
    reserved = placement.racks.filter("reserved")
    assert reserved["rack"].to_list() == [f"A{p:02d}" for p in range(10, 19)]
    assert reserved.select("used_ru", "power_w", "weight_kg").sum().row(0) == (0, 0.0, 0.0)


def test_racks_add_up_what_is_present(built: Build, catalog: Catalog) -> None:
    topology = built(33, grow_to=128)
    placement = place(topology, catalog)
    present = placement.places.filter(topology.devices["present"])
    for total in ("power_w", "weight_kg"):
        assert placement.racks[total].sum() == pytest.approx(present[total].sum())
    assert placement.racks["used_ru"].sum() == present["height_ru"].sum()


def test_tables_follow_their_schemas(built: Build, catalog: Catalog) -> None:
    placement = place(built(40), catalog)
    assert dict(placement.racks.schema) == RACKS
    assert dict(placement.places.schema) == PLACES


def test_the_same_design_is_placed_alike_every_time(built: Build, catalog: Catalog) -> None:
    one, two = (place(built(100, grow_to=150), catalog) for _ in range(2))
    assert one.racks.equals(two.racks)
    assert one.places.equals(two.places)


def test_blocks_do_not_straddle_rows_that_can_hold_them(built: Build, catalog: Catalog) -> None:
    topology = built(96, row_racks=16)
    placement = place(topology, catalog)
    rows = placement.places.with_columns(topology.devices["pod"], row=pl.col("rack").str.head(1)).filter(pl.col("pod") != NONE)
    assert rows.group_by("pod").agg(pl.col("row").n_unique())["row"].to_list() == [1, 1, 1]
    assert not [p for p in placement.findings if p.rule == "pod-torn"]


def test_a_pod_larger_than_any_row_fills_on_and_is_noted(built: Build, catalog: Catalog) -> None:
    topology = built(64, row_racks=5)
    placement = place(topology, catalog)
    assert [p.level for p in placement.findings if p.rule == "pod-torn"] == ["note"]
    assert check_placement(topology, placement) == []


def test_blocked_positions_stay_empty(built: Build, catalog: Catalog) -> None:
    topology = built(64, rows=[{"name": "A", "racks": 22, "blocked": [1, 7, 8]}])
    placement = place(topology, catalog)
    assert not {"A01", "A07", "A08"} & set(placement.racks["rack"])
    assert check_placement(topology, placement) == []


def test_a_hall_too_small_is_told_by_how_many_racks_units_and_kilowatts(built: Build, catalog: Catalog) -> None:
    [problem] = [p for p in problems_of(built(64, rows=[{"name": "A", "racks": 16, "blocked": [3]}]), catalog) if p.level == "error"]
    assert (problem.rule, problem.where) == ("hall-too-small", "hall.rows")
    assert "18 racks needed, the hall has 15 positions: 3 short, which is 144 U and 180 kW" in problem.what
    assert problem.fix.startswith("add 3 positions to hall.rows")


def test_a_hall_too_small_names_the_nodes_in_a_rack_that_would_do(built: Build, catalog: Catalog) -> None:
    room_above = ", or let --effort quick look for room above the nodes"
    for positions, asked, short, would_do in ((18, 2, 16, 4), (16, 4, 2, 5)):
        rows = [{"name": "A", "racks": positions}]
        [problem] = [p for p in problems_of(built(64, nodes_per_rack=asked, rows=rows), catalog) if p.level == "error"]
        assert problem.fix == f"add {short} positions to hall.rows, or set hall.nodes_per_rack to {would_do}" + (room_above if short == 2 else "")
        assert place(built(64, nodes_per_rack=would_do, rows=rows), catalog).racks.height == positions


def test_a_hall_too_small_names_the_limits_to_raise_where_that_would_do_and_only_there(built: Build, catalog: Catalog) -> None:
    rows = [{"name": "A", "racks": 14}]
    [problem] = [p for p in problems_of(built(64, nodes_per_rack=5, rows=rows), catalog) if p.level == "error"]
    room_above = ", or let --effort quick look for room above the nodes"
    assert problem.fix == "add 2 positions to hall.rows, or set hall.nodes_per_rack to 6 and raise hall.rack_power_kw to 61.2" + room_above
    assert place(built(64, nodes_per_rack=6, rack_power_kw=61.2, rows=rows), catalog).racks.height == 14
    [problem] = [p for p in problems_of(built(64, nodes_per_rack=5, rows=[{"name": "A", "racks": 13}]), catalog) if p.level == "error"]
    assert problem.fix == "add 3 positions to hall.rows"


def test_a_hall_that_holds_just_enough_racks_is_enough(built: Build, catalog: Catalog) -> None:
    topology = built(64, rows=[{"name": "A", "racks": 10}, {"name": "B", "racks": 8}])
    assert check_placement(topology, place(topology, catalog)) == []


def test_every_limit_below_one_device_is_told_at_once(built: Build, catalog: Catalog) -> None:
    measured = [{"rack_a": "A01", "rack_b": "Z99", "length_m": 5}]
    topology = built(64, rack_power_kw=1, rack_weight_kg=100, rows=[{"name": "A", "racks": 30}], measured=measured)
    found = [(p.rule, p.where) for p in problems_of(topology, catalog) if p.level == "error"]
    assert found == [
        ("rack-power", "hall.rack_power_kw"),
        ("rack-power", "hall.rack_power_kw"),
        ("rack-weight", "hall.rack_weight_kg"),
        ("measured-rack", "hall.measured.0.rack_b"),
    ]


def test_a_limit_below_one_node_gives_both_numbers_and_the_fix(built: Build, catalog: Catalog) -> None:
    [problem] = [p for p in problems_of(built(64, rack_power_kw=8), catalog) if p.level == "error"]
    assert problem.what == "one dgx-h100 (node) draws 10.2 kW, a rack may draw 8 kW"
    assert "raise hall.rack_power_kw to 10.2 or more" in problem.fix


def test_more_nodes_in_a_rack_than_fit_are_refused_with_the_reason(built: Build, catalog: Catalog) -> None:
    [problem] = [p for p in problems_of(built(64, nodes_per_rack=7), catalog) if p.level == "error"]
    assert problem.what == "7 nodes in a rack asked for, 5 fit"
    assert "8 U each in 48 U: 6; 10.2 kW each in 60 kW: 5" in problem.why
    assert problem.fix == "set hall.nodes_per_rack to 5 or less, or choose a rack type of 56 U and raise hall.rack_power_kw to 71.4"


def test_more_switches_in_a_rack_than_fit_are_a_warning(built: Build, catalog: Catalog) -> None:
    placement = place(built(64, switches_per_rack=60), catalog)
    assert [p.level for p in placement.findings if p.rule == "switches-per-rack"] == ["warning"]


def test_an_unknown_rack_type_is_told_with_the_nearest_name(built: Build, catalog: Catalog) -> None:
    [problem] = problems_of(built(4, rack="rack-84u"), catalog)
    assert problem.where == "hall.rack"
    assert "rack-48u" in problem.fix


def test_an_assumed_power_is_warned_about_once_and_never_below_the_typical_one(by_hand: Build, catalog: Catalog) -> None:
    devices = [("node", 0, NONE, 0), ("leaf", 0, 0, 0), ("leaf", 0, 0, 1)]
    for assumed, taken in ((2500, 2500.0), (100, 940.0)):
        placement = place(by_hand(devices, switch="nvidia-sn5600", assumed_switch_power_w=assumed), catalog)
        warnings = [p for p in placement.findings if p.rule == "power-assumed"]
        assert [(p.where, p.level) for p in warnings] == [("nvidia-sn5600", "warning")]
        assert f"{taken:,g} W" in warnings[0].what
        assert placement.places["power_w"].to_list()[1:] == [taken, taken]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    leaves=st.integers(0, 9),
    spines=st.integers(0, 12),
    per_rack=st.sampled_from(["auto", 1, 3]),
    cap=st.sampled_from(["auto", 1, 4]),
    power_kw=st.sampled_from([10.2, 25, 60]),
    weight_kg=st.sampled_from([140, 1500]),
    row_racks=st.integers(1, 9),
)
def test_every_arrangement_keeps_every_rule(
    by_hand: Build, catalog: Catalog, nodes: list[int], leaves: int, spines: int, per_rack: Any, cap: Any, power_kw: float, weight_kg: float, row_racks: int
) -> None:
    pods = [pod for pod, count in enumerate(nodes) for _ in range(count)] or [0]
    devices = [("node", pod, NONE, i) for i, pod in enumerate(pods)]
    devices += [("leaf", pod, 0, i) for pod in range(len(nodes)) for i in range(leaves)] + [("spine", NONE, 0, i) for i in range(spines)]
    allowed = 1 if power_kw == 10.2 or weight_kg == 140 else 2 if power_kw == 25 else 3
    asked = per_rack if per_rack == "auto" else min(per_rack, allowed)
    topology = by_hand(devices, nodes_per_rack=asked, switches_per_rack=cap, rack_power_kw=power_kw, rack_weight_kg=weight_kg, row_racks=row_racks)
    placement = place(topology, catalog)
    assert check_placement(topology, placement) == []
    assert placement.places["dev"].to_list() == list(range(len(devices)))
    assert len(occupied(placement)) == placement.places["height_ru"].sum()
    load = placement.places.group_by("rack").agg(pl.col("power_w", "weight_kg").sum())
    assert (load["power_w"] <= power_kw * 1000 + 1e-6).all()
    assert (load["weight_kg"] <= weight_kg + 1e-6).all()


def moved(placement: Placement, number: int, **columns: Any) -> Placement:
    """The placement with one device's place changed."""
    changes = [pl.when(pl.col("dev") == number).then(pl.lit(value)).otherwise(pl.col(name)).cast(PLACES[name]).alias(name) for name, value in columns.items()]
    return replace(placement, places=placement.places.with_columns(changes))


def test_the_rules_find_what_is_wrong_with_a_placement(built: Build, catalog: Catalog) -> None:
    topology = built(64, nodes_per_rack=4, switches_per_rack=30)
    good = place(topology, catalog)
    assert check_placement(topology, good) == []

    def rules(placement: Placement) -> set[str]:
        return {p.rule for p in check_placement(topology, placement)}

    assert rules(replace(good, places=good.places[1:])) == {"device-placed-once"}
    assert rules(replace(good, places=pl.concat([good.places, good.places[:1]]))) == {"device-placed-once"}
    assert rules(replace(good, places=good.places.reverse())) == {"device-order"}
    assert "device-unknown" in rules(moved(good, 0, dev=9999))
    assert rules(moved(good, 0, rack="A02")) == {"rack-number"}
    assert "units-overlap" in rules(moved(good, 0, ru=2))
    assert rules(moved(good, 3, ru=42)) == {"units-outside"}
    assert rules(moved(good, 0, ru=0)) == {"units-outside"}
    assert rules(moved(good, 0, power_w=1.0)) == {"device-size", "rack-totals"}
    assert rules(moved(good, 0, rack="A02", rack_no=1, ru=33)) == {"nodes-per-rack", "rack-totals"}
    assert rules(replace(good, racks=good.racks.with_columns(power_w=pl.lit(1.0)))) == {"rack-totals"}
    assert rules(replace(good, racks=good.racks.with_columns(rack=pl.col("rack").str.replace("A01", "Q01")))) >= {"rack-unknown"}

    def hall(**columns: float | int | bool) -> Placement:
        return replace(good, hall=replace(good.hall, positions=good.hall.positions.with_columns(**{name: pl.lit(value) for name, value in columns.items()})))

    assert rules(hall(power_w=40_000.0, weight_kg=500.0)) == {"rack-power", "rack-weight"}
    assert rules(hall(air_w=40_000.0)) == {"rack-cooling"}
    assert rules(hall(row_air_w=40_000.0)) == {"row-cooling"}
    assert rules(hall(floor_kg=500.0)) == {"floor-load"}
    assert rules(hall(liquid=False)) == set()
    shut = replace(good.hall, positions=good.hall.positions.with_columns(blocked=pl.col("rack") == "A03"))
    assert rules(replace(good, hall=shut)) == {"position-blocked"}


def test_a_long_device_below_short_ones_is_an_overlap_even_when_neighbours_in_the_list_do_not_touch(by_hand: Build, catalog: Catalog) -> None:
    topology = by_hand([("node", 0, NONE, 0), ("leaf", 0, 0, 0), ("leaf", 0, 0, 1)])
    good = place(topology, catalog)
    overlaps = [p.where for p in check_placement(topology, moved(moved(good, 1, ru=2), 2, ru=5)) if p.rule == "units-overlap"]
    assert overlaps == ["leaf-1", "leaf-2"]


def test_placing_a_hundred_thousand_gpus_counts_every_device(by_hand: Build, catalog: Catalog) -> None:
    devices = [("node", n // 128, NONE, n) for n in range(12_288)] + [("leaf", pod, 0, i) for pod in range(96) for i in range(32)] + [("spine", NONE, 0, i) for i in range(1536)]
    topology = by_hand(devices)
    placement = place(topology, catalog)
    assert check_placement(topology, placement) == []
    assert np.unique(placement.places["dev"].to_numpy()).size == len(devices)
