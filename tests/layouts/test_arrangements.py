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
    assert "2 short" in str(caught.value)
    assert place_best(topology_of(catalog, 64, hall.replace("mid-row", "switch-per-rack")), catalog).solution is not None
