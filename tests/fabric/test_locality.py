"""Switches between GPUs, counted along shortest paths, against networkx."""

from __future__ import annotations

from itertools import product
from typing import Any

import networkx as nx
import pytest

from railplan.fabric.graph import to_graph
from railplan.fabric.locality import locality

DESIGNS: list[tuple[str, int, str, dict[str, Any]]] = [
    ("hgx-h100", 20, "quantum-ndr", {"tiers": 3, "nodes_per_su": 4, "sus_per_group": 2}),
    ("hgx-h100", 20, "quantum-ndr", {"tiers": 3, "nodes_per_su": 4, "sus_per_group": 2, "spine_groups": "shared"}),
    ("hgx-h100", 20, "quantum-ndr", {"nodes_per_su": 4}),
    ("hgx-h100", 9, "quantum-ndr", {}),
    ("hgx-b300", 20, "spectrum-x", {"style": "tor", "planes": 2}),
    ("hgx-b300", 20, "spectrum-x", {"style": "dual-tor", "planes": 1}),
    ("hgx-h100", 10, "spectrum-x", {"style": "rail-only"}),
    ("hgx-h100", 20, "spectrum-x", {"style": "rail-only", "nodes_per_su": 5}),
    ("hgx-h100", 12, "spectrum-x", {"style": "pair"}),
    ("hgx-b300", 8, "spectrum-x", {}),
]


def by_networkx(topology) -> dict[tuple[str, bool], tuple[int | None, int | None]]:
    """Switches between all pairs of GPUs of different nodes; a node passes nothing on."""
    graph = to_graph(topology, "compute")
    switches = graph.subgraph(d for d, data in graph.nodes(data=True) if data["role"] != "node")
    length = dict(nx.all_pairs_shortest_path_length(switches))
    leaves: dict[tuple[str, int], set[str]] = {}
    for _, _, link in graph.edges(data=True):
        if link["gpu"] >= 0:
            leaves.setdefault((link["a_device"], link["gpu"]), set()).add(link["b_device"])
    group = {row["device"]: row["group"] for row in topology.devices.iter_rows(named=True)}
    found: dict[tuple[str, bool], set[float]] = {}
    nodes = sorted({node for node, _ in leaves})
    for (one, i), (other, j) in product(leaves, leaves):
        if one == other or one != nodes[nodes.index(one) // 3 * 3]:
            continue
        pod = graph.nodes[one]["pod"] == graph.nodes[other]["pod"]
        where = "same SU" if pod else "other SU" if group[one] == group[other] else "other group"
        ways = [length[a][b] + 1 for a, b in product(leaves[one, i], leaves[other, j]) if b in length[a]]
        found.setdefault((where, i == j), set()).add(min(ways, default=float("inf")))
    return {key: tuple(None if h == float("inf") else int(h) for h in (min(hops), max(hops))) for key, hops in found.items()}


@pytest.mark.parametrize(("model", "count", "family", "more"), DESIGNS)
def test_hops_are_those_of_all_pairs_by_networkx(built, model, count, family, more):
    topology = built(model, count, family, **more)
    assert {(h.where, h.equal): (h.least, h.most) for h in locality(topology, "compute")} == by_networkx(topology)


def test_rails_of_512_nodes_meet_on_leaf_spine_and_core(built):
    hops = {(h.where, h.equal): h.most for h in locality(built("hgx-h100", 512, "quantum-ndr"), "compute")}
    assert [hops[place, True] for place in ("same SU", "other SU", "other group")] == [1, 3, 5]
    assert [hops[place, False] for place in ("same SU", "other SU", "other group")] == [5, 5, 5]
