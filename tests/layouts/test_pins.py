"""Pins, existing equipment, feeds and anti-affinity: kept by the search, checked by the rules, contradictions found before any search."""

from __future__ import annotations

import pytest

from railplan import Catalog, DesignError, make_plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts import solver
from railplan.layouts.arrangements import FIXED
from railplan.layouts.optimise import place_best
from railplan.layouts.placement import Placement, place
from railplan.layouts.rules import check_placement
from railplan.layouts.sizes import device_sizes
from railplan.problems import Problem

HALL = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 12}, {name: B, racks: 12}]}\n"


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.WORK, "quick", 600_000)
    monkeypatch.setitem(solver.WORK, "fixed", 300_000)


def topology_of(catalog: Catalog, placement: str, count: int = 64) -> Topology:
    text = f"nodes: {{model: hgx-h100, count: {count}}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{HALL}placement: {placement}\n"
    return build_topology(parse_design(text), catalog)


def racks_of(topology: Topology, placement: Placement, role: str) -> set[str]:
    return set(placement.places.filter(topology.devices["role"] == role)["rack"])


WISHES = [
    "{pins: [{role: spine, rows: [B]}]}",
    "{pins: [{role: node, pod: 0, rows: [A]}, {role: leaf, pod: 0, rows: [A]}]}",
    "{pins: [{device: leaf-*-r0, racks: [A01, B01]}]}",
    "{forbidden: [A01, A02, B06]}",
    "{existing: [{rack: A05, ru: 30, height_ru: 19, power_w: 5000}, {rack: B05, ru: 1, height_ru: 4}]}",
    "{apart: [spine, leaf]}",
    "{power_groups: [{rows: [A], power_kw: 400}, {name: feed, racks: [B01, B02, B03], power_kw: 60}]}",
]


@pytest.mark.parametrize("effort", ["fixed", "quick"])
@pytest.mark.parametrize("asked", WISHES)
def test_what_a_design_asks_is_kept(catalog: Catalog, asked: str, effort: str) -> None:
    topology = topology_of(catalog, asked)
    assert check_placement(topology, place_best(topology, catalog, effort)) == []


BROKEN = [
    ("{pins: [{role: spine, racks: [B12]}]}", "pin"),
    ("{forbidden: [A01]}", "pin"),
    ("{existing: [{rack: A01, ru: 2, height_ru: 1}]}", "existing-units"),
    ("{existing: [{rack: A01, ru: 48, height_ru: 1, power_w: 50000}]}", "rack-power"),
    ("{existing: [{rack: A01, ru: 48, height_ru: 1, weight_kg: 1900}]}", "rack-weight"),
    ("{apart: [spine]}", "stand-apart"),
    ("{power_groups: [{rows: [A], power_kw: 100}]}", "power-group"),
]


@pytest.mark.parametrize(("asked", "rule"), BROKEN)
def test_the_rules_see_what_the_reference_arrangement_breaks(catalog: Catalog, asked: str, rule: str) -> None:
    topology = topology_of(catalog, asked)
    assert {p.rule for p in check_placement(topology, place(topology, catalog))} == {rule}


WRONG = [
    ("{pins: [{role: spine, racks: [Z01]}]}", "the hall has no rack 'Z01'"),
    ("{pins: [{role: spine, rows: [C]}]}", "the hall has no row 'C'"),
    ("{pins: [{device: spine-99, rows: [A]}]}", "the plan has no spine-99"),
    ("{pins: [{role: core, rows: [A]}]}", "the plan has no core"),
    ("{pins: [{role: spine, rows: [A]}, {device: spine-01, rows: [B]}]}", "leave 1 devices no rack, such as spine-01"),
    ("{pins: [{role: node, racks: [A01, A02]}]}", "they take 512 U, 96 U are free there"),
    ("{existing: [{rack: A01, ru: 48, height_ru: 2}]}", "takes U48 to U49 of A01, which has 48 U"),
    ("{existing: [{rack: A01, ru: 1, height_ru: 4}, {rack: A01, ru: 4, height_ru: 1}]}", "shares units of A01 with placement.existing.0"),
    ("{forbidden: [Q]}", "the hall has no rack 'Q'"),
]


@pytest.mark.parametrize(("asked", "message"), WRONG)
def test_bad_wishes_are_found_before_any_search(catalog: Catalog, asked: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("railplan.layouts.optimise.solve", lambda *a, **k: pytest.fail("the search began"))
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, asked), catalog, "quick")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "asked", ["{pins: [{role: spine}]}", "{pins: [{role: spine, device: x, rows: [A]}]}", "{pins: [{device: x, pod: 1, rows: [A]}]}", "{forbidden: [A01, A01]}"]
)
def test_a_pin_says_who_and_where(catalog: Catalog, asked: str) -> None:
    with pytest.raises(DesignError):
        topology_of(catalog, asked)


def test_pinned_spines_stand_where_they_were_pinned(catalog: Catalog) -> None:
    topology = topology_of(catalog, "{pins: [{role: spine, racks: [B12]}]}")
    assert racks_of(topology, place_best(topology, catalog, "quick"), "spine") == {"B12"}


def problems_of(catalog: Catalog, asked: str, effort: str, count: int = 64) -> list[Problem]:
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, asked, count), catalog, effort)
    return [p for p in caught.value.problems if p.level == "error"]


SHORT = "{power_groups: [{rows: [A], power_kw: 300}, {name: feed-b, racks: [B01, B02, B03], power_kw: 60}, {racks: [B04, B05, B06, B07, B08, B09, B10, B11, B12], power_kw: 200}]}"

IMPOSSIBLE = [
    ("{pins: [{role: spine, racks: [A01, A02]}], forbidden: [A01, A02]}", "placement.pins.0", "placement.forbidden keeps it out of every rack it names: A01, A02"),
    (
        "{pins: [{role: spine, racks: [A01, B01]}, {device: spine-01, racks: [B01, B02]}], forbidden: [B01]}",
        "placement.pins.1",
        "placement.pins.0 and placement.pins.1 beside placement.forbidden leave 1 devices no rack, such as spine-01",
    ),
    ("{apart: [spine], pins: [{role: spine, racks: [B12]}]}", "placement.apart", "all 8 spine switches of plane 0 may stand only in B12"),
    (SHORT, "placement.power_groups", "the devices draw 694.08 kW, feeds and racks carry 560 kW at most: 134.08 kW short"),
    ("{power_groups: [{rows: [A], power_kw: 80}, {rows: [B], power_kw: 620}]}", "placement.power_groups", "16 racks of nodes needed, feeds and racks carry 13: 3 short"),
    (
        "{forbidden: [A01, A02, A03, A04, A05, A06, A07, A08, A09]}",
        "hall.rows",
        "18 racks needed, the hall has 15 positions besides 9 forbidden ones: 3 short, which is 144 U and 180 kW",
    ),
]


@pytest.mark.parametrize("effort", ["fixed", "quick"])
@pytest.mark.parametrize(("asked", "at", "message"), IMPOSSIBLE)
def test_what_cannot_be_together_is_said_in_numbers(catalog: Catalog, asked: str, at: str, message: str, effort: str) -> None:
    (problem,) = problems_of(catalog, asked, effort)
    assert problem.where == at
    assert message in problem.what
    assert problem.fix


def test_feeds_that_fall_short_say_by_how_much(catalog: Catalog) -> None:
    topology = topology_of(catalog, SHORT)
    (problem,) = problems_of(catalog, SHORT, "quick")
    need = device_sizes(topology)["power_w"].sum() / 1000
    assert f"carry 560 kW at most: {need - 560:g} kW short" in problem.what
    assert "feed-b: 60 kW in 3 racks" in problem.why


def test_feeds_count_what_each_of_their_racks_carries(catalog: Catalog) -> None:
    hall = "hall: {rack_power_kw: 12, rows: [{name: A, racks: 12, rack_power_kw: 50}, {name: B, racks: 8}]}\n"
    design = f"nodes: {{model: hgx-h100, count: 32}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{hall}placement: {{power_groups: [{{rows: [A], power_kw: %s}}]}}\n"
    racks = make_plan(parse_design(design % 2000), catalog).placement.racks
    assert set(racks.filter(racks["role"] == "node")["row"]) == {"A"}
    with pytest.raises(DesignError, match="feeds and racks carry 196 kW at most"):  # 100 of row A, 8 racks of 12 in row B
        make_plan(parse_design(design % 100), catalog)


def test_a_feed_that_carries_no_rack_of_nodes_is_noted(catalog: Catalog) -> None:
    placement = place_best(topology_of(catalog, "{power_groups: [{name: weak, racks: [A01, A02], power_kw: 20}]}"), catalog)
    assert [p.what for p in placement.findings if p.rule == "power-group-small"] == ["weak carries 20 kW, a rack of nodes draws 40.8 kW"]


def test_when_all_else_fails_each_arrangement_says_what_it_breaks(catalog: Catalog) -> None:
    asked = "{power_groups: [{rows: [A], power_kw: 391}, {rows: [B], power_kw: 304}]}"
    (problem,) = problems_of(catalog, asked, "fixed")
    assert problem.rule == "no-placement"
    for name in FIXED:
        assert name in problem.why


@pytest.mark.parametrize("effort", ["fixed", "quick", "normal"])
@pytest.mark.parametrize(
    ("placement", "short"), [("{}", "18 racks needed, "), ("{arrangement: end-of-row}", "17 racks needed for end-of-row"), ("{arrangement: switch-per-rack}", "16 racks needed")]
)
def test_a_hall_too_small_says_by_how_much_at_every_effort(catalog: Catalog, placement: str, short: str, effort: str) -> None:
    text = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 10}]}"
    design = f"nodes: {{model: hgx-h100, count: 64}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{text}\nplacement: {placement}\n"
    with pytest.raises(DesignError) as caught:
        place_best(build_topology(parse_design(design), catalog), catalog, effort)
    (problem,) = (p for p in caught.value.problems if p.level == "error")
    assert problem.rule == "hall-too-small"
    assert " U and " in problem.what
    assert short in problem.what
