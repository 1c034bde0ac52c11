"""The fixed arrangements: each fits, keeps every rule, and stands where its name says."""

from __future__ import annotations

import numpy as np
import pytest

from railplan import Catalog, DesignError, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts.arrangements import PRESETS
from railplan.layouts.optimise import place_best
from railplan.layouts.placement import Placement, assemble, survey
from railplan.layouts.rules import check_placement

ROWS = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 12}, {name: B, racks: 12}]}\n"


def topology_of(catalog: Catalog, count: int = 64, more: str = ROWS, family: str = "quantum-ndr") -> Topology:
    return build_topology(parse_design(f"nodes: {{model: hgx-h100, count: {count}}}\nfabrics: {{compute: {{family: {family}}}}}\n{more}"), catalog)


def arranged(topology: Topology, catalog: Catalog, name: str) -> Placement:
    ground = survey(topology, catalog)
    found = PRESETS[name](topology, ground.hall, ground.racks, ground.cap)
    assert found is not None
    return assemble(topology, ground.hall, *found)


def racks_with(topology: Topology, placement: Placement, role: str) -> set[str]:
    return set(placement.places.filter(topology.devices["role"] == role)["rack"])


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("count", [20, 64])
def test_every_arrangement_keeps_every_rule(catalog: Catalog, name: str, count: int) -> None:
    topology = topology_of(catalog, count)
    assert check_placement(topology, arranged(topology, catalog, name)) == []


def test_end_of_row_puts_all_switches_at_the_last_positions(catalog: Catalog) -> None:
    topology = topology_of(catalog)
    placement = arranged(topology, catalog, "end-of-row")
    network = racks_with(topology, placement, "leaf") | racks_with(topology, placement, "spine")
    assert network
    assert not network & racks_with(topology, placement, "node")
    assert all(int(rack[1:]) == 12 for rack in network)


def test_mid_row_puts_all_switches_in_the_middle(catalog: Catalog) -> None:
    topology = topology_of(catalog)
    placement = arranged(topology, catalog, "mid-row")
    assert all(5 <= int(rack[1:]) <= 8 for rack in racks_with(topology, placement, "leaf") | racks_with(topology, placement, "spine"))


def test_switch_per_rack_uses_node_racks_alone(catalog: Catalog) -> None:
    topology = topology_of(catalog)
    placement = arranged(topology, catalog, "switch-per-rack")
    assert racks_with(topology, placement, "leaf") <= racks_with(topology, placement, "node")
    assert len(racks_with(topology, placement, "leaf")) == 16


def test_tor_mid_rack_has_nodes_below_and_above_the_leaves(catalog: Catalog) -> None:
    topology = topology_of(catalog)
    places = arranged(topology, catalog, "tor-mid-rack").places.with_columns(topology.devices["role"])
    for rack in set(places.filter(places["role"] == "leaf")["rack"]):
        here = places.filter(places["rack"] == rack)
        leaves, nodes = (here.filter(here["role"] == role)["ru"].to_numpy() for role in ("leaf", "node"))
        assert (nodes < leaves.min()).sum() == (nodes > leaves.max()).sum() == 2


def test_virtual_modular_switch_stands_its_spines_amid_its_leaves(catalog: Catalog) -> None:
    topology = topology_of(catalog, 256, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, switches_per_rack: 16, rows: [{name: A, racks: 80}]}\n")
    placement = arranged(topology, catalog, "virtual-modular-switch")
    leaves, spines = (np.array(sorted(int(r[1:]) for r in racks_with(topology, placement, role))) for role in ("leaf", "spine"))
    assert leaves.min() < spines.min()
    assert spines.max() < leaves.max()


@pytest.mark.parametrize("name", PRESETS)
def test_a_design_can_force_an_arrangement(catalog: Catalog, name: str) -> None:
    placement = place_best(topology_of(catalog, 64, f"{ROWS}placement: {{arrangement: {name}}}\n"), catalog)
    assert placement.solution is not None
    assert (placement.solution.arrangement, placement.solution.status) == (name, "fixed")


def test_a_forced_arrangement_that_does_not_fit_says_so(catalog: Catalog) -> None:
    hall = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 16}]}\nplacement: {arrangement: mid-row}\n"
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, 64, hall), catalog)
    assert "17 racks needed for mid-row, the hall has 16 positions: 1 short, which is 48 U and" in str(caught.value)
    assert place_best(topology_of(catalog, 64, hall.replace("mid-row", "switch-per-rack")), catalog).solution is not None


MANAGEMENT = "existing: [" + ", ".join(f"{{rack: {row}{n:02d}, ru: 48, height_ru: 1, power_w: 150, weight_kg: 8}}" for row in "AB" for n in range(1, 13)) + "]"
"""A management switch at the top of every rack of `ROWS`."""

NOT_EMPTY = {
    "forbidden racks": "forbidden: [A01, A06, B06, B12]",
    "storage in two racks": "existing: [{rack: A05, ru: 9, height_ru: 30, power_w: 5000}, {rack: B06, ru: 1, height_ru: 4}]",
    "a management switch in every rack": MANAGEMENT,
    "a shelf at the bottom and a forbidden rack": "forbidden: [A07], existing: ["
    + ", ".join(f"{{rack: {row}{n:02d}, ru: 1, height_ru: 6}}" for row in "AB" for n in range(1, 12))
    + "]",
    "a rack whose power is drawn already": "existing: [{rack: B07, ru: 48, height_ru: 1, power_w: 40000}]",
}


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("placement", NOT_EMPTY.values(), ids=list(NOT_EMPTY))
def test_an_arrangement_stands_around_what_it_may_not_use(catalog: Catalog, name: str, placement: str) -> None:
    topology = topology_of(catalog, 64, f"{ROWS}placement: {{arrangement: {name}, {placement}}}\n")
    forced = place_best(topology, catalog)
    assert check_placement(topology, forced) == []
    assert forced.solution is not None
    assert forced.solution.arrangement == name
    assert None not in forced.solution.baselines.values()


PINNED = {
    "switches in row B": ("{role: leaf, rows: [B]}, {role: spine, rows: [B]}", ("end-of-row", "mid-row", "virtual-modular-switch")),
    "nodes in neither of two racks": ("{role: node, rows: [A], racks: [B03, B04, B05, B06, B07, B08, B09]}", ("end-of-row", "mid-row", "switch-per-rack", "tor-mid-rack")),
    "a pod in each row": ("{role: node, pod: 0, rows: [B]}, {role: node, pod: 1, rows: [A]}", ("end-of-row", "mid-row", "switch-per-rack", "tor-mid-rack")),
    "one spine apart": ("{device: spine-01, racks: [B12]}", ("switch-per-rack", "tor-mid-rack")),
}


@pytest.mark.parametrize(("pins", "names"), PINNED.values(), ids=list(PINNED))
def test_an_arrangement_keeps_pins_of_roles(catalog: Catalog, pins: str, names: tuple[str, ...]) -> None:
    for name in names:
        topology = topology_of(catalog, 64, f"{ROWS}placement: {{arrangement: {name}, pins: [{pins}]}}\n")
        assert check_placement(topology, place_best(topology, catalog)) == [], name


def test_without_a_search_the_reference_arrangement_stands_around_forbidden_racks(catalog: Catalog) -> None:
    placement = place_best(topology_of(catalog, 64, f"{ROWS}placement: {{forbidden: [A01, A06]}}\n"), catalog)
    assert placement.solution is not None
    assert placement.solution.arrangement == "amid-su"
    assert not {"A01", "A06"} & set(placement.racks["rack"])


def test_an_arrangement_takes_no_more_of_a_feed_than_it_carries(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, f"{ROWS}placement: {{arrangement: end-of-row, power_groups: [{{rows: [A], power_kw: 145}}]}}\n")
    forced = place_best(topology, catalog)
    assert sum(forced.racks.filter(forced.racks["row"] == "A")["power_w"]) <= 145_000
