"""The graph says what the tables say."""

from __future__ import annotations

import networkx as nx
import pytest

from railplan.fabric.graph import name_ends, to_graph


@pytest.fixture(scope="module")
def topology(built):
    return built("dgx-h100", 31, "quantum-ndr", ufm_links=4)


def test_every_device_and_link_is_in_the_graph_once(topology):
    graph = to_graph(topology, "compute")
    assert graph.number_of_nodes() == topology.devices.height == 31 + 8 + 4 + 2
    assert graph.number_of_edges() == topology.links.height == 252 + 256
    assert {key for _, _, key in graph.edges(keys=True)} == set(range(topology.links.height))


def test_parallel_links_are_parallel_edges(topology):
    assert to_graph(topology, "compute").number_of_edges("leaf-su0-r0", "spine-01") == 8


def test_a_node_of_the_graph_knows_its_place(topology):
    graph = to_graph(topology, "compute", rack_of={"gpu-001": "A01"})
    assert graph.nodes["gpu-001"] == {"role": "node", "model": "dgx-h100", "tier": 0, "rail": "", "plane": -1, "pod": 0, "index": 0, "rack": "A01"}
    assert graph.nodes["leaf-su0-r5"] == {"role": "leaf", "model": "nvidia-qm9700", "tier": 1, "rail": "5", "plane": 0, "pod": 0, "index": 5, "rack": ""}
    assert graph.nodes["spine-04"]["tier"] == 2


def test_an_edge_names_both_ports_speed_and_cable(topology):
    cables = [f"N{i}" for i in range(topology.links.height)]
    edge = to_graph(topology, "compute", cable_of=cables).edges["leaf-su0-r0", "gpu-001", 0]
    assert (edge["a_device"], edge["a_port"], edge["b_device"], edge["b_port"]) == ("gpu-001", "OSFP4P2", "leaf-su0-r0", "1/1/1")
    assert (edge["gbps"], edge["rail"], edge["plane"], edge["cable"], edge["tier"]) == (400, 0, 0, "N0", "node-leaf")


def test_without_its_nodes_a_rail_fabric_is_connected_in_each_plane(built):
    graph = to_graph(built("hgx-b300", 64, "spectrum-x"), "compute")
    switches = graph.subgraph(d for d, data in graph.nodes(data=True) if data["role"] != "node")
    assert nx.number_connected_components(switches) == 2
    assert nx.is_connected(graph)


def test_devices_kept_for_growth_are_left_out(built):
    graph = to_graph(built("hgx-b300", 64, "spectrum-x", grow_to=128), "compute")
    assert sum(data["role"] == "node" for _, data in graph.nodes(data=True)) == 64


def test_named_ends_keep_the_order_of_the_links(topology):
    named = name_ends(topology)
    assert named["link"].to_list() == list(range(topology.links.height))
    assert named.null_count().sum_horizontal()[0] == 0
