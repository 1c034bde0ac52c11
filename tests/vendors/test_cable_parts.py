"""Modules, copper, fibres and prices of the shipped catalog keep the rules of the trade."""

from __future__ import annotations

from collections import Counter

import pytest

from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import Copper, Fibre, Module

CATALOG = load_catalog()
MODULES = pytest.mark.parametrize("module", CATALOG.modules.values(), ids=lambda m: m.model)
COPPER = pytest.mark.parametrize("cable", CATALOG.copper.values(), ids=lambda c: c.model)
FIBRES = pytest.mark.parametrize("fibre", CATALOG.fibres.values(), ids=lambda f: f.model)


def is_straight(cable: Copper) -> bool:
    return len(cable.tails) == 1


def test_no_passive_copper_and_no_active_optical_cable_runs_at_200g_lanes() -> None:
    assert {c.kind for c in CATALOG.copper.values() if c.lane_gbps == 200} == {"acc"}


def test_no_multimode_module_runs_at_200g_lanes() -> None:
    assert {m.glass for m in CATALOG.modules.values() if m.lane_gbps == 200} == {"single-mode"}


def test_100g_and_200g_lane_optics_never_match() -> None:
    lanes = {(m.optics, m.lane_gbps) for m in CATALOG.modules.values()}
    assert len(lanes) == len({optics for optics, _ in lanes})


@COPPER
def test_copper_is_no_longer_than_its_kind_reaches(cable: Copper) -> None:
    longest = {
        ("dac", 100, True): 2, ("dac", 100, False): 3, ("dac", 50, False): 3, ("dac", 50, True): 3, ("dac", 25, True): 5,
        ("acc", 100, True): 5, ("acc", 100, False): 5, ("utp", 1, True): 100, ("acc", 200, True): 3, ("acc", 200, False): 2,
    }  # fmt: skip
    if cable.kind != "aoc":
        assert max(cable.lengths_m) <= longest[cable.kind, cable.lane_gbps, is_straight(cable)]


@COPPER
def test_copper_carries_each_port_on_whole_lanes(cable: Copper) -> None:
    assert cable.gbps % cable.lane_gbps == 0
    assert cable.head.ports * cable.gbps // cable.lane_gbps <= 8


@COPPER
def test_all_plugs_of_one_lane_speed_have_a_form_of_that_speed(cable: Copper) -> None:
    xdr = {plug.form == "osfp224" for plug in (cable.head, *cable.tails)}
    assert xdr == {cable.lane_gbps == 200}


@MODULES
def test_module_lanes_add_up_to_its_speed(module: Module) -> None:
    assert module.lanes * module.lane_gbps == module.gbps


@MODULES
def test_module_serves_one_port_at_each_fibre_connector(module: Module) -> None:
    assert module.plug.ports == module.connectors


@MODULES
def test_module_has_a_straight_fibre_that_mates_and_whose_glass_it_reaches_over(module: Module) -> None:
    mates = [f for f in CATALOG.fibres.values() if f.shape == "straight" and (f.connector, f.glass) == (module.connector, module.glass)]
    assert mates
    for fibre in mates:
        assert {fibre.grade(length_m) for length_m in fibre.lengths_m} <= set(module.reach_m)


@pytest.mark.parametrize("module", [m for m in CATALOG.modules.values() if m.plug.form not in ("qsfp56", "qsfp28")], ids=lambda m: m.model)
def test_module_has_a_partner_for_the_finned_end_of_its_link(module: Module) -> None:
    partners = [m for m in CATALOG.modules.values() if m.optics == module.optics and m.plug.cooling == "finned" and set(m.protocols) & set(module.protocols)]
    assert partners


def test_a_single_port_400g_plug_is_never_finned() -> None:
    plugs = [m.plug for m in CATALOG.modules.values() if m.gbps == 400] + [p for c in CATALOG.copper.values() if c.gbps == 400 for p in (c.head, *c.tails)]
    assert {p.cooling for p in plugs if p.ports == 1} == {"flat"}
    assert {p.cooling for p in plugs if p.ports == 2} == {"finned", "flat"}


def test_every_qsfp_plug_is_flat() -> None:
    plugs = [m.plug for m in CATALOG.modules.values()] + [p for c in CATALOG.copper.values() for p in (c.head, *c.tails)]
    assert {p.cooling for p in plugs if p.form.startswith("qsfp")} == {"flat"}


@pytest.mark.parametrize("flat", [m for m in CATALOG.modules if m.endswith(("-flt", "-rhs"))])
def test_a_flat_module_differs_from_its_finned_twin_only_in_the_top(flat: str) -> None:
    base = flat.removesuffix("-flt").removesuffix("-rhs")
    twin = CATALOG.modules.get(f"{base}-ihs") or CATALOG.modules[base]
    apart = {"model", "description", "part_numbers", "status", "cautions", "evidence", "plug"}
    assert CATALOG.modules[flat].model_dump(exclude=apart) == twin.model_dump(exclude=apart)
    assert (CATALOG.modules[flat].plug.cooling, twin.plug.cooling) == ("flat", "finned")
    assert CATALOG.modules[flat].plug.model_dump(exclude={"cooling"}) == twin.plug.model_dump(exclude={"cooling"})


@pytest.mark.parametrize("flat", [c for c in CATALOG.copper if c.endswith("-flt")])
def test_a_flat_headed_cable_has_a_finned_sister_that_is_sold_at_least_as_long(flat: str) -> None:
    cable, sister = CATALOG.copper[flat], CATALOG.copper[flat.removesuffix("-flt")]
    assert (cable.head.cooling, sister.head.cooling) == ("flat", "finned")
    assert set(cable.lengths_m) <= set(sister.lengths_m)


@FIBRES
def test_every_sold_fibre_length_is_made_in_a_grade_that_reaches_it(fibre: Fibre) -> None:
    assert max(fibre.lengths_m) <= max(fibre.grade_m.values())


def test_multimode_is_om3_to_30_m_and_om4_above() -> None:
    fibre = CATALOG.fibres["mfp7e10"]
    assert (fibre.grade(30), fibre.grade(50)) == ("om3", "om4")


def test_the_disputed_reach_of_mms1x00_ns400_is_the_safe_one_and_is_told() -> None:
    module = CATALOG.modules["mms1x00-ns400"]
    assert module.reach_m == {"os2": 100}
    assert module.confidence_of("reach_m") == "unverified"
    assert any("500 m" in caution for caution in module.cautions)


def test_the_disputed_ends_of_mcp4y10_flt_are_told() -> None:
    cable = CATALOG.copper["mcp4y10-flt"]
    assert {cable.confidence_of("head"), cable.confidence_of("tails")} == {"unverified"}
    assert cable.cautions


def test_no_order_number_stands_for_two_parts() -> None:
    parts = [*CATALOG.modules.values(), *CATALOG.copper.values(), *CATALOG.fibres.values()]
    counts = Counter(number for part in parts for number in part.part_numbers)
    assert [number for number, times in counts.items() if times > 1] == []


def test_the_order_number_of_a_length_is_one_of_the_part() -> None:
    for part in (*CATALOG.copper.values(), *CATALOG.fibres.values()):
        for length, number in part.lengths_m.items():
            legacy = f"{part.model.upper()}-N{int(length):03d}" if length == int(length) else f"{part.model.upper()}-N{int(length):02d}A"
            assert number in (None, legacy, *part.part_numbers), part.model


def test_every_price_names_a_part_and_keeps_source_and_date() -> None:
    rooms = (CATALOG.switches, CATALOG.nodes, CATALOG.modules, CATALOG.copper, CATALOG.fibres, CATALOG.racks)
    known = {name for room in rooms for part in room.values() for name in (part.model, *part.part_numbers)}
    assert CATALOG.prices
    for price in CATALOG.prices:
        assert price.part in known
        assert price.basis
        assert price.date.year >= 2026
        assert price.source in CATALOG.sources
