"""Racks of different type, cooling and floor load: limits of each position, routes, rules, the reference arrangement and the search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, DesignError, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.hall_spec import HallSpec
from railplan.fabric.topology import Topology
from railplan.layouts.fill import node_racks, room
from railplan.layouts.hall import RACK_UNIT_M, Hall, hall_problems, make_hall
from railplan.layouts.optimise import place_best
from railplan.layouts.pins import wishes
from railplan.layouts.placement import assemble, place, survey
from railplan.layouts.pricing import make_tariff
from railplan.layouts.racks import RackLimits, rack_types
from railplan.layouts.routes import route_lengths
from railplan.layouts.rules import check_placement
from railplan.layouts.sites import State, is_sound, make_sites, positions_of
from railplan.layouts.sizes import NodeRack, Size, allowed, device_sizes, misfits
from railplan.layouts.solver_search import scratch, shaken
from railplan.layouts.solver_walk import make_board
from railplan.problems import Problem

NETWORK_ROW = "hall: {rows: [{name: A, racks: 9}, {name: B, racks: 9}, {name: N, racks: 4, rack: rack-42u, rack_power_kw: 20}]}\n"
LIQUID_ROWS = (
    "hall: {rack_cooling_kw: 40, floor_kg_per_m2: 4000, rows: [{name: A, racks: 6, rack_power_kw: 40}, "
    "{name: L, racks: 6, rack: rack-52u, rack_power_kw: 150, rack_weight_kg: 3000, liquid: true}]}\n"
)


def hall_of(catalog: Catalog, **fields: Any) -> Hall:
    spec = HallSpec.model_validate(fields)
    types = rack_types(spec, catalog)
    return make_hall(spec, types[spec.rack], (), types)


def topology_of(catalog: Catalog, hall: str, nodes: str = "model: dgx-h100, count: 64", fabric: str = "family: quantum-ndr") -> Topology:
    return build_topology(parse_design(f"nodes: {{{nodes}}}\nfabrics: {{compute: {{{fabric}}}}}\n{hall}"), catalog)


def problems_of(catalog: Catalog, topology: Topology) -> list[Problem]:
    with pytest.raises(DesignError) as caught:
        place_best(topology, catalog)
    return [p for p in caught.value.problems if p.level == "error"]


def test_racks_stand_side_by_side_whatever_their_widths(catalog: Catalog) -> None:
    hall = hall_of(catalog, rows=[{"name": "A", "racks": 3, "x_m": 1.0, "other_racks": [{"positions": [2], "rack": "rack-42u"}]}])
    assert hall.positions["width_m"].to_list() == [0.7, 0.6, 0.7]
    assert hall.positions["x_m"].to_list() == pytest.approx([1.35, 2.0, 2.65])
    assert hall.cross_trays_x_m == pytest.approx((1.0, 2.0, 3.0))


def test_a_row_is_as_deep_as_its_deepest_rack(catalog: Catalog) -> None:
    deep = catalog.rack("rack-48u").model_copy(update={"model": "deep", "depth_mm": 1600.0})
    racks = replace(catalog, racks={**catalog.racks, "deep": deep})
    rows = [{"name": "A", "racks": 2}, {"name": "B", "racks": 2, "other_racks": [{"positions": [1], "rack": "deep"}]}, {"name": "C", "racks": 2, "rack": "deep"}]
    hall = hall_of(racks, cold_aisle_m=1.2, hot_aisle_m=0.9, rows=rows)
    assert hall.positions["y_m"].unique(maintain_order=True).to_list() == pytest.approx([0.6, 0.6 + 0.6 + 1.2 + 0.8, 0.6 + 0.6 + 1.2 + 0.8 + 1.6 + 0.9])
    spec = HallSpec.model_validate({"rows": [{"name": "A", "racks": 2}, {"name": "B", "racks": 2, "rack": "deep", "y_m": 1.9}]})
    assert [p.rule for p in hall_problems(spec, racks.rack("rack-48u"), racks.racks)] == ["rows-overlap"]


def test_the_figures_nearest_to_a_rack_win_and_the_halls_are_for_its_own_type(catalog: Catalog) -> None:
    other = [{"positions": [2], "rack": "rack-42u"}, {"positions": [3], "rack": "rack-42u", "rack_power_kw": 9, "rack_weight_kg": 300}]
    rows = [
        {"name": "A", "racks": 3, "rack_power_kw": 30, "other_racks": other},
        {"name": "B", "racks": 1, "rack_cooling_kw": 25, "cooling_kw": 20},
        {"name": "C", "racks": 1, "rack": "rack-52u", "liquid": True},
    ]
    positions = hall_of(catalog, rack_power_kw=50, rack_weight_kg=900, rack_cooling_kw=45, rows=rows).positions
    own, floor = catalog.rack("rack-42u"), float("inf")
    assert positions.select("type", "height_ru", "power_w", "weight_kg", "floor_kg", "air_w", "row_air_w", "liquid").rows() == [
        ("rack-48u", 48, 30_000.0, 900.0, floor, 45_000.0, floor, False),
        ("rack-42u", 42, own.power_w, own.weight_kg, floor, 45_000.0, floor, False),
        ("rack-42u", 42, 9_000.0, 300.0, floor, 45_000.0, floor, False),
        ("rack-48u", 48, 50_000.0, 900.0, floor, 25_000.0, 20_000.0, False),
        ("rack-52u", 52, catalog.rack("rack-52u").power_w, catalog.rack("rack-52u").weight_kg, floor, 45_000.0, floor, True),
    ]


def test_the_floor_bears_the_empty_rack_too(catalog: Catalog) -> None:
    rack = catalog.rack("rack-42u")
    hall = hall_of(catalog, rack="rack-42u", floor_kg_per_m2=1000, rows=[{"name": "A", "racks": 1}])
    assert hall.positions["floor_kg"].to_list() == pytest.approx([1000 * 0.6 * 1.2 - (rack.own_weight_kg or 0)])
    assert hall.limits.bears_kg == pytest.approx(583)
    assert hall_of(catalog, rack="rack-42u", floor_kg_per_m2=1, rows=[{"name": "A", "racks": 1}]).limits.bears_kg == 0


def test_how_many_fit_is_the_least_over_all_limits() -> None:
    limits = RackLimits(42, 60_000.0, 1000.0, floor_kg=500.0, air_w=21_000.0, liquid=False)
    assert allowed(limits, Size(8, 10_200.0, 130.0, 10_200.0)) == (5, 5, 3, 2)
    assert min(allowed(limits, Size(1, 8_300.0, 30.0, 1_000.0, liquid=True))) == 0
    assert misfits(limits, Size(8, 10_200.0, 130.0, 10_200.0)) == []
    assert misfits(limits, Size(43, 61_000.0, 600.0, 61_000.0, liquid=True)) == [
        "43 U in 42 U, 1 U too high",
        "61 kW drawn of 60 kW, 1 kW too much",
        "61 kW to the air of 21 kW, 40 kW too much",
        "600 kg on a floor that bears 500 kg, 100 kg too heavy",
        "cooled by liquid, which does not reach it",
    ]


def test_a_lower_rack_has_a_longer_way_up_to_the_tray(catalog: Catalog) -> None:
    topology = topology_of(catalog, NETWORK_ROW + "placement: {pins: [{role: leaf, rows: [N]}, {role: spine, rows: [N]}]}\n")
    placement = place_best(topology, catalog)
    assert check_placement(topology, placement) == []
    hall = placement.hall
    assert hall.rack_height_m == pytest.approx(2.3)
    leaves = placement.places.filter((topology.devices["role"] == "leaf").to_numpy())
    assert set(leaves["rack"].str.slice(0, 1)) == {"N"}
    assert int((leaves["ru"] + leaves["height_ru"] - 1).max()) <= 42  # type: ignore[arg-type]
    assert set(placement.racks.filter(pl.col("row") == "N")["height_ru"]) == {42}
    link = route_lengths(topology, placement).row(0, named=True)
    middle_ru = link["ru_b"] - 0.5
    assert link["down_m"] == pytest.approx(2.3 - middle_ru * RACK_UNIT_M + hall.routing.riser_m)


@pytest.mark.parametrize("effort", ["fixed", "quick"])
def test_a_hall_with_a_lower_network_row_is_planned(catalog: Catalog, effort: str) -> None:
    topology = topology_of(catalog, NETWORK_ROW)
    placement = place_best(topology, catalog, effort)
    assert check_placement(topology, placement) == []
    assert not placement.places.filter((topology.devices["role"] == "node").to_numpy())["rack"].str.starts_with("N").any()  # 20 kW is less than 4 nodes draw


@pytest.mark.parametrize("effort", ["fixed", "quick"])
def test_liquid_cooled_trays_stand_in_the_liquid_rows_alone(catalog: Catalog, effort: str) -> None:
    topology = topology_of(catalog, LIQUID_ROWS, "model: gb200-nvl72-tray, count: 72")
    placement = place_best(topology, catalog, effort)
    assert check_placement(topology, placement) == []
    trays = placement.places.filter((topology.devices["role"] == "node").to_numpy())
    assert set(trays["rack"].str.slice(0, 1)) == {"L"}
    moved = placement.hall.positions.with_columns(liquid=~pl.col("liquid"))
    rules = {p.rule for p in check_placement(topology, replace(placement, hall=replace(placement.hall, positions=moved)))}
    assert rules == {"liquid-cooling"}


def test_without_liquid_rows_nothing_is_said_of_liquid(catalog: Catalog) -> None:
    topology = topology_of(catalog, "", "model: gb200-nvl72-tray, count: 36")
    placement = place(topology, catalog)
    assert placement.hall.positions["liquid"].all()
    assert check_placement(topology, placement) == []


def test_heat_to_the_air_is_the_catalogs_share_or_the_halls_assumption(catalog: Catalog) -> None:
    known = topology_of(catalog, "hall: {rack_cooling_kw: 40}\n", "model: gb200-nvl72-tray, count: 36")
    heat = dict(zip(known.devices["role"], device_sizes(known).select("air_w", "liquid").rows(), strict=True))
    assert heat["node"] == (pytest.approx(8300 * 0.13), True)
    assert heat["leaf"] == (1720.0, False)
    assert not [p for p in survey(known, catalog).findings if p.rule == "air-assumed"]
    assumed = topology_of(catalog, "hall: {rack_cooling_kw: 40, assumed_air_percent: 20}\n", "model: gb300-nvl72-tray, count: 36", "family: quantum-xdr")
    assert device_sizes(assumed)["air_w"][0] == pytest.approx(7800 * 0.2)
    assert [p.where for p in survey(assumed, catalog).findings if p.rule == "air-assumed"] == ["gb300-nvl72-tray"]
    plain = topology_of(catalog, "", "model: gb300-nvl72-tray, count: 36", "family: quantum-xdr")
    assert not [p for p in survey(plain, catalog).findings if p.rule == "air-assumed"]


def test_whole_racks_of_trays_raise_the_limits_of_liquid_rows_alone(catalog: Catalog) -> None:
    topology = topology_of(catalog, "hall: {rows: [{name: A, racks: 4}, {name: L, racks: 4, liquid: true}]}\n", "model: gb200-nvl72-tray, count: 36")
    ground = survey(topology, catalog)
    by_row = dict(ground.hall.positions.select("row", "power_w").iter_rows())
    assert by_row == {"A": 60_000.0, "L": pytest.approx(149_400.0)}
    assert {p.where for p in ground.findings if p.rule == "whole-racks"} == {"hall.rows.1.rack_power_kw", "hall.rows.1.rack_weight_kg"}


@pytest.mark.parametrize("effort", ["fixed", "quick"])
def test_the_cooling_of_a_row_is_shared_by_its_racks(catalog: Catalog, effort: str) -> None:
    topology = topology_of(catalog, "hall: {rows: [{name: A, racks: 12, cooling_kw: 350}, {name: B, racks: 14, cooling_kw: 420}]}\n")
    placement = place_best(topology, catalog, effort)
    assert check_placement(topology, placement) == []
    rows = dict(placement.racks.group_by("row").agg(pl.col("power_w").sum()).iter_rows())
    assert rows["A"] <= 350_000
    assert rows["B"] <= 420_000


def test_nodes_in_a_rack_are_the_most_that_the_hall_has_positions_for(catalog: Catalog) -> None:
    small = "hall: {rows: [{name: A, racks: 4}, {name: B, racks: 30, rack_power_kw: 25}]}\n"
    for count, per_rack in ((16, 4), (17, 2), (60, 2)):
        topology = topology_of(catalog, small, f"model: dgx-h100, count: {count}")
        ground = survey(topology, catalog)
        assert ground.racks["node"].per_rack == per_rack
        assert [p.rule for p in ground.findings if p.where == "hall.rows"] == ([] if per_rack == 4 else ["nodes-per-rack"])
        assert room(ground.hall.stands, NodeRack(ground.racks["node"].size, 4)) == 4
        assert room(ground.hall.stands, NodeRack(ground.racks["node"].size, 2)) == 34
    assert node_racks(topology_of(catalog, ""), ground.hall.stands[:1])[0]["node"].per_rack == 4


def test_everything_that_the_sites_allow_keeps_the_rules(catalog: Catalog) -> None:
    rows = (
        "{name: A, racks: 10, rack_cooling_kw: 44, other_racks: [{positions: [4, 5], rack: rack-42u, rack_power_kw: 12}]}, "
        "{name: B, racks: 8, rack: rack-52u, cooling_kw: 300}, {name: C, racks: 4, rack: rack-42u, rack_weight_kg: 200}"
    )
    existing = "placement: {existing: [{rack: A04, ru: 40, height_ru: 3, power_w: 3000, weight_kg: 50}]}\n"
    topology = topology_of(catalog, f"hall: {{floor_kg_per_m2: 1000, rows: [{rows}]}}\n" + existing, "model: dgx-h100, count: 48")
    ground = survey(topology, catalog)
    sites = make_sites(topology, ground.hall, make_tariff(topology, catalog, 60.0), ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks))
    board = make_board(sites)
    state = scratch(board)
    rng = np.random.default_rng(3)
    seen = 0
    for _ in range(150):
        assert state is not None
        tried = shaken(board, state, rng)
        if tried is None or not is_sound(sites, tried):
            continue
        state, seen = tried, seen + 1
        assert check_placement(topology, assemble(topology, ground.hall, *positions_of(sites, state, topology.devices.height))) == []
    assert seen > 50


def test_slots_of_a_lower_rack_end_at_its_top(catalog: Catalog) -> None:
    rows = "{name: A, racks: 2, other_racks: [{positions: [2], rack: rack-42u}]}, {name: B, racks: 1, rack: odd}"
    odd = catalog.rack("rack-42u").model_copy(update={"model": "odd", "height_ru": 47})
    racks = replace(catalog, racks={**catalog.racks, "odd": odd})
    topology = topology_of(catalog, f"hall: {{nodes_per_rack: 1, rows: [{rows}]}}\n", "model: dgx-b300, count: 2", "family: quantum-xdr")
    ground = survey(topology, racks)
    sites = make_sites(topology, ground.hall, make_tariff(topology, racks, 60.0), ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks))
    height_ru = int(device_sizes(topology)["height_ru"].to_numpy()[sites.switch_dev].max())
    assert height_ru == 4
    for spot, units in enumerate((48, 42, 47)):
        open_k = np.flatnonzero(sites.free_slot[spot] & (np.arange(sites.slots) < sites.open_slots[spot, 0]))
        lowest = sites.slot_ru[open_k] + sites.shift_ru[spot]
        assert lowest.tolist() == [units - 4 * (i + 1) + 1 for i in range(units // 4)]
        for k in open_k.tolist():
            state = State(np.full(len(sites.block_devs), (spot + 1) % 3), np.full(len(sites.switch_dev), spot * sites.slots + k))
            position, ru = positions_of(sites, state, topology.devices.height)
            port_m = (ru[sites.switch_dev[0]] - 1 + 2) * RACK_UNIT_M
            assert make_board(sites).heights[0][k] + sites.shift_ru[spot] * RACK_UNIT_M == pytest.approx(port_m)
            assert position[sites.switch_dev[0]] == sites.spots[spot]


def test_a_large_hall_of_several_types_is_placed(catalog: Catalog) -> None:
    rows = ", ".join(f"{{name: R{i:02d}, racks: 30}}" for i in range(12)) + ", " + ", ".join(f"{{name: N{i}, racks: 30, rack: rack-42u, rack_power_kw: 20}}" for i in range(3))
    topology = topology_of(catalog, f"hall: {{rows: [{rows}]}}\n", "model: dgx-h100, count: 1280")
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    assert placement.solution is not None
    assert placement.solution.bound <= placement.solution.objective
    assert placement.solution.baselines["amid-su"] is not None


def test_it_is_said_which_device_fits_which_rack_not_and_by_how_much(catalog: Catalog) -> None:
    topology = topology_of(catalog, "hall: {rows: [{name: A, racks: 4, rack_power_kw: 9}, {name: B, racks: 4, rack: rack-42u, rack_power_kw: 1, rack_weight_kg: 100}]}\n")
    found = {p.rule: p for p in problems_of(catalog, topology)}
    assert found["no-rack-type"].what == "one dgx-h100 (node) fits no rack of the hall"
    assert "rack-48u in row A: 10.2 kW drawn of 9 kW, 1.2 kW too much; rack-42u in row B:" in found["no-rack-type"].why
    assert found["rack-unused"].what == "nothing of the plan fits rack-42u in row B"
    assert "one nvidia-qm9700: 1.72 kW drawn of 1 kW, 0.72 kW too much" in found["rack-unused"].why


def test_a_hall_too_small_says_so_type_by_type(catalog: Catalog) -> None:
    topology = topology_of(catalog, "hall: {nodes_per_rack: 4, rows: [{name: A, racks: 9}, {name: N, racks: 9, rack: rack-42u, rack_power_kw: 20}]}\n")
    (found,) = problems_of(catalog, topology)
    assert found.what == "16 racks of 4 dgx-h100 needed, 9 positions take one: 7 short, which is 224 U and 285.6 kW"
    assert "9 of rack-48u in row A: all fit; 9 of rack-42u in row N: 40.8 kW drawn of 20 kW, 20.8 kW too much" in found.why
    crowded = topology_of(catalog, "hall: {nodes_per_rack: 4, rows: [{name: A, racks: 16, rack_power_kw: 41}, {name: N, racks: 4, rack: rack-42u, rack_power_kw: 2}]}\n")
    (found,) = problems_of(catalog, crowded)
    assert found.what == "16 racks of nodes, 536 U and 694.08 kW needed: 30.08 kW short"
    warm = topology_of(catalog, "hall: {nodes_per_rack: 4, rows: [{name: A, racks: 16}, {name: N, racks: 4, cooling_kw: 42}]}\n")
    assert check_placement(warm, place_best(warm, catalog)) == []
    hot = topology_of(catalog, "hall: {nodes_per_rack: 4, rows: [{name: A, racks: 16, rack_cooling_kw: 40.9}, {name: N, racks: 4, cooling_kw: 10}]}\n")
    (found,) = problems_of(catalog, hot)
    assert found.what.endswith(": 29.68 kW of cooling short")


def test_a_row_whose_cooling_takes_no_rack_of_nodes_is_named(catalog: Catalog) -> None:
    topology = topology_of(catalog, "hall: {rows: [{name: A, racks: 20}, {name: B, racks: 4, cooling_kw: 30}]}\n")
    placement = place_best(topology, catalog)
    (found,) = [p for p in placement.findings if p.rule == "row-cooling"]
    assert (found.where, found.level) == ("hall.rows.1.cooling_kw", "warning")
    assert "takes 30 kW from row B, a rack of nodes gives it 40.8 kW" in found.what
    nowhere = topology_of(catalog, "hall: {nodes_per_rack: 4, rows: [{name: A, racks: 20, cooling_kw: 30}]}\n")
    assert "0 fit, the air takes 30 kW from the row" in problems_of(catalog, nowhere)[-1].why
