"""Servers of a complete cluster: the published numbers, and what the rules give between and beyond them."""

from __future__ import annotations

import math

import pytest

from railplan.fabric.sizing_rules import appliances, appliances_for_bandwidth, cpu_nodes, power_kw, storage_gbps, storage_gbps_of, storage_nodes
from railplan.vendors.catalog import load_catalog
from railplan.vendors.references import load_references

RULES = load_references().rules
NODE, APPLIANCE = (load_catalog().node(model) for model in ("storage-node", "storage-appliance"))


@pytest.mark.parametrize(("nodes", "cpus", "storage", "usable_tb"), [(64, 24, 9, 512), (128, 48, 17, 1024), (288, 108, 38, 2304)])
def test_the_reference_clusters_have_their_published_servers(nodes: int, cpus: int, storage: int, usable_tb: int) -> None:
    gpus = 8 * nodes
    assert cpu_nodes(nodes, RULES) == cpus
    assert storage_nodes(gpus, NODE, RULES) == storage
    assert appliances(gpus, APPLIANCE, RULES) * (APPLIANCE.storage_usable_tb or 0) == usable_tb
    assert power_kw(nodes, RULES) == 14 * nodes


@pytest.mark.parametrize("gpus", [1, 8, 504, 512, 513, 1536, 10_000, 100_000])
def test_storage_is_the_fewest_boxes_that_suffice(gpus: int) -> None:
    count, most = storage_nodes(gpus, NODE, RULES), 24 * 7.68
    assert count >= 9
    assert count * most >= 3 * gpus - 1e-6
    assert count * 800 >= 12.5 * gpus
    assert count == 9 or (count - 1) * most < 3 * gpus or (count - 1) * 800 < 12.5 * gpus
    assert (appliances(gpus, APPLIANCE, RULES) - 1) * 256 < gpus <= appliances(gpus, APPLIANCE, RULES) * 256


def test_bandwidth_is_counted_from_the_ports() -> None:
    assert (storage_gbps_of(NODE), storage_gbps_of(APPLIANCE)) == (2 * 400, 8 * 200)
    assert [storage_gbps(gpus, RULES) for gpus in (96, 160)] == [12 * 100, 20 * 100]
    assert appliances_for_bandwidth(512, APPLIANCE, RULES) == math.ceil(512 * 12.5 / 1600)


def test_a_node_without_capacity_is_no_storage() -> None:
    with pytest.raises(ValueError, match="cpu-node"):
        appliances(512, load_catalog().node("cpu-node"), RULES)


@pytest.mark.parametrize(("nodes", "cpus"), [(1, 1), (8, 3), (9, 4), (63, 24)])
def test_cpu_nodes_are_rounded_up(nodes: int, cpus: int) -> None:
    assert cpu_nodes(nodes, RULES) == cpus
