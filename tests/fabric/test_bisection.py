"""The bisection is proved by count and by flow, agrees with networkx, and catches what is uneven or cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import networkx as nx
import polars as pl
import pytest

from railplan import parse_design
from railplan.fabric.bisection import Proof, check_bisection, prove
from railplan.fabric.build import build_topology
from railplan.fabric.graph import to_graph
from railplan.fabric.net import net_of
from railplan.fabric.splits import splits
from railplan.fabric.topology import Topology

SMALL: list[tuple[str, int, str, dict[str, Any]]] = [
    ("hgx-h100", 64, "quantum-ndr", {}),
    ("dgx-h100", 31, "quantum-ndr", {"ufm_links": 4}),
    ("hgx-h100", 45, "quantum-ndr", {"partial_su": "trimmed"}),
    ("hgx-h100", 64, "quantum-ndr", {"oversubscription": 2}),
    ("hgx-h100", 50, "quantum-ndr", {"oversubscription": 3, "partial_su": "trimmed", "nodes_per_su": "max"}),
    ("hgx-b300", 40, "spectrum-x", {}),
    ("hgx-h100", 12, "spectrum-x", {"style": "pair"}),
    ("hgx-h100", 13, "spectrum-x", {"style": "pair", "oversubscription": 2}),
    ("hgx-b300", 8, "spectrum-x", {}),
]


def flow_of(graph: nx.MultiGraph, in_a: Callable[[dict[str, Any]], bool]) -> tuple[int, int]:
    """(maximum flow, smaller half) by networkx, from the NIC ports that `in_a` chooses by their edge and node to the others."""
    net: nx.DiGraph = nx.DiGraph()
    halves = {True: 0, False: 0}

    def add(tail: str, head: str, gbps: float) -> None:
        net.add_edge(tail, head, capacity=(net.edges[tail, head]["capacity"] if net.has_edge(tail, head) else 0) + gbps)

    for _, _, link in graph.edges(data=True):
        low, high = link["a_device"], link["b_device"]
        if link["tier"] == "node-leaf":
            if link["gpu"] < 0:
                continue
            chosen = in_a({**link, "leaf": graph.nodes[high], "node": graph.nodes[low]})
            halves[chosen] += link["gbps"]
            if chosen:
                add("source", f"{high} up", link["gbps"])
            else:
                add(f"{high} down", "sink", link["gbps"])
            net.add_edge(f"{high} up", f"{high} down", capacity=10**9)
        elif link["tier"] == "leaf-spine":
            add(f"{low} up", high, link["gbps"])
            add(high, f"{low} down", link["gbps"])
        else:
            add(f"{low} up", f"{high} down", link["gbps"])
            add(f"{high} up", f"{low} down", link["gbps"])
    return int(nx.maximum_flow_value(net, "source", "sink")), min(halves.values())


def split(proof: Proof, name: str) -> tuple[int, int]:
    found = next(s for s in proof.splits if s.name == name)
    return found.by_flow_gbps, found.half_gbps


@pytest.mark.parametrize(("model", "count", "family", "more"), SMALL)
def test_the_flow_is_that_of_networkx_on_the_graph(built, model, count, family, more):
    topology = built(model, count, family, **more)
    graph, proof = to_graph(topology, "compute"), prove(topology, "compute")
    assert split(proof, "even and odd nodes") == flow_of(graph, lambda e: e["node"]["index"] % 2 == 0)
    assert split(proof, "node halves") == flow_of(graph, lambda e: e["node"]["index"] < count // 2)
    if "rail" in {s.name for s in proof.splits}:
        assert split(proof, "rail") == flow_of(graph, lambda e: e["rail"] < 4)


@pytest.mark.parametrize(("model", "count", "family", "more"), SMALL)
def test_count_and_flow_agree_and_meet_the_design(built, model, count, family, more):
    topology = built(model, count, family, **more)
    proof = prove(topology, "compute")
    assert check_bisection(proof) == []
    assert all(s.by_count_gbps == s.by_flow_gbps >= s.required_gbps for s in proof.splits)
    assert proof.non_blocking == ("oversubscription" not in more)


def test_two_to_one_gives_half(built):
    proof = prove(built("hgx-h100", 64, "quantum-ndr", oversubscription=2), "compute")
    assert not proof.non_blocking
    assert proof.by_flow_gbps == proof.by_count_gbps == proof.required_gbps == 64 * 8 * 400 // 2 // 2
    assert (proof.designed_oversubscription, proof.worst_leaf_oversubscription, proof.worst_tier_oversubscription) == (2.0, 2.0, 2.0)


def test_the_halves_of_a_pair_are_its_two_switches(built):
    proof = prove(built("hgx-h100", 12, "spectrum-x", style="pair"), "compute")
    assert split(proof, "rail") == (48 * 400, 48 * 400)
    assert proof.non_blocking
    assert (proof.worst_leaf_oversubscription, proof.worst_tier_oversubscription) == (1.0, 1.0)


def test_planes_are_summed(built):
    proof = prove(built("hgx-b300", 64, "spectrum-x"), "compute")
    assert split(proof, "rail") == (64 * 8 * 800 // 2, 64 * 8 * 800 // 2)


def test_one_switch_is_split_by_nodes_only(built):
    proof = prove(built("hgx-b300", 8, "spectrum-x"), "compute")
    assert {s.name for s in proof.splits} == {"node halves", "even and odd nodes"}
    assert proof.non_blocking
    assert proof.worst_leaf_oversubscription == 1.0


def test_one_node_on_one_switch_leaves_nothing_to_split(built):
    proof = prove(built("hgx-b300", 1, "spectrum-x"), "compute")
    assert (proof.splits, proof.worst_split, proof.by_flow_gbps, proof.non_blocking) == ((), "none", 0, True)
    assert check_bisection(proof) == []


@pytest.mark.parametrize("count", [31, 33, 63, 64, 65, 100])
@pytest.mark.parametrize("partial", ["full", "trimmed"])
def test_a_partly_filled_su_is_non_blocking(built, count, partial):
    proof = prove(built("hgx-h100", count, "quantum-ndr", partial_su=partial), "compute")
    assert proof.non_blocking
    assert check_bisection(proof) == []


def without(topology: Topology, where: pl.Expr) -> Topology:
    return replace(topology, links=topology.links.filter(~where))


def test_a_fabric_with_a_missing_spine_does_not_carry_its_halves(built):
    topology = built("hgx-h100", 64, "quantum-ndr")
    gone = topology.devices.filter(pl.col("device") == "spine-03")["dev"][0]
    proof = prove(without(topology, pl.col("b_dev") == gone), "compute")
    assert not proof.non_blocking
    assert {p.rule for p in check_bisection(proof)} == {"bisection"}
    assert proof.worst_leaf_oversubscription == pytest.approx(8 / 7)


def test_a_cut_between_two_sus_is_found(built):
    topology = built("hgx-h100", 64, "quantum-ndr")
    pod = topology.devices["pod"]
    low = pl.col("b_dev").is_in(topology.devices.filter(pl.col("role") == "spine")["dev"][:4].implode())
    uplink, first = pl.col("tier") == "leaf-spine", pl.Series(pod.gather(topology.links["a_dev"]) == 0)
    proof = prove(without(topology, uplink & ((first & ~low) | (~first & low))), "compute")
    by_su = next(s for s in proof.splits if s.name == "SU")
    assert by_su.by_flow_gbps == by_su.by_count_gbps == 0
    assert proof.worst_split == "SU"
    assert "0G cross between the halves, the design requires 102,400G" in check_bisection(proof)[0].what


def test_uneven_uplinks_make_count_and_flow_differ_or_fall_short(built):
    topology = built("hgx-h100", 64, "quantum-ndr", oversubscription=2)
    spines = topology.devices.filter(pl.col("role") == "spine")["dev"]
    uplink, pod = pl.col("tier") == "leaf-spine", pl.Series(topology.devices["pod"].gather(topology.links["a_dev"]))
    one_spine = topology.links.with_columns(b_dev=pl.when(uplink & (pod == 0)).then(pl.lit(spines[0], dtype=pl.UInt32)).otherwise("b_dev"))
    assert check_bisection(prove(replace(topology, links=one_spine), "compute"))


def test_no_uplinks_at_all_is_an_infinite_oversubscription(built):
    topology = built("hgx-h100", 64, "quantum-ndr")
    proof = prove(without(topology, pl.col("tier") == "leaf-spine"), "compute")
    assert math.isinf(proof.worst_leaf_oversubscription)
    assert not proof.non_blocking


def test_the_seed_chooses_the_random_halves(built):
    topology = built("hgx-h100", 45, "quantum-ndr")
    other = replace(topology, design=topology.design.model_copy(update={"seed": 7}))
    assert prove(topology, "compute") == prove(topology, "compute")
    assert [s.name for s in prove(other, "compute").splits] == [s.name for s in prove(topology, "compute").splits]


TALL: list[tuple[str, int, str, dict[str, Any]]] = [
    ("hgx-h100", 40, "quantum-ndr", {"tiers": 3, "nodes_per_su": 8, "sus_per_group": 2}),
    ("hgx-h100", 37, "quantum-ndr", {"tiers": 3, "nodes_per_su": 8, "sus_per_group": 2, "core_oversubscription": 7, "partial_su": "trimmed"}),
    ("hgx-h100", 37, "quantum-ndr", {"tiers": 3, "nodes_per_su": 8, "sus_per_group": 2, "spine_groups": "shared", "oversubscription": 2, "core_oversubscription": 3}),
    ("hgx-b300", 20, "spectrum-x", {"tiers": 3, "nodes_per_su": 4, "sus_per_group": 2}),
    ("hgx-h100", 40, "spectrum-x", {"tiers": 3, "nodes_per_su": 4, "sus_per_group": 3, "style": "tor", "core_oversubscription": 2}),
    ("hgx-b300", 30, "spectrum-x", {"tiers": 3, "nodes_per_su": 4, "sus_per_group": 3, "style": "dual-tor", "planes": 1}),
]


@pytest.mark.parametrize(("model", "count", "family", "more"), TALL)
def test_in_three_tiers_count_and_flow_agree_and_the_flow_is_that_of_networkx(built, model, count, family, more):
    topology = built(model, count, family, **more)
    proof = prove(topology, "compute")
    assert check_bisection(proof) == []
    assert {s.name for s in proof.splits} >= {"SU", "group", "alternating leaves", "node halves"}
    net = net_of(topology, "compute")
    for name, mask in splits(net, 0):
        found = {(s.by_flow_gbps, s.by_count_gbps) for s in proof.splits if s.name == name}
        expected = flow_of_leaves(topology, dict(zip(zip(net.node.tolist(), net.dev[net.leaf].tolist(), strict=True), mask.tolist(), strict=True)))
        assert found == {(expected, expected)}, name
    assert proof.non_blocking == (not {"oversubscription", "core_oversubscription"} & set(more))


def flow_of_leaves(topology: Topology, in_a: dict[tuple[int, int], bool]) -> int:
    """Maximum flow by networkx between endpoint bundles (node, leaf) in A and the others; each switch has a way up and a way down."""
    net: nx.DiGraph = nx.DiGraph()

    def add(tail: Any, head: Any, gbps: float) -> None:
        net.add_edge(tail, head, capacity=(net.edges[tail, head]["capacity"] if net.has_edge(tail, head) else 0) + gbps)

    for tier, low, high, gbps in topology.links.select("tier", "a_dev", "b_dev", "gbps").iter_rows():
        if tier != "node-leaf":
            add(("up", low), ("up", high), gbps)
            add(("down", high), ("down", low), gbps)
            net.add_edge(("up", high), ("down", high), capacity=10**9)
        elif in_a[low, high]:
            add("source", ("up", high), gbps)
            net.add_edge(("up", high), ("down", high), capacity=10**9)
        else:
            add(("down", high), "sink", gbps)
    return int(nx.maximum_flow_value(net, "source", "sink"))


def test_seven_to_one_above_the_groups_leaves_a_seventh(built):
    """4 groups of 112 nodes: each spine has 56 links down and 8 up."""
    proof = prove(built("hgx-h100", 448, "quantum-ndr", tiers=3, nodes_per_su=16, sus_per_group=7, core_oversubscription=7), "compute")
    by_group = next(s for s in proof.splits if s.name == "group")
    assert by_group.half_gbps == 224 * 8 * 400
    assert by_group.by_flow_gbps == by_group.by_count_gbps == by_group.required_gbps == by_group.half_gbps // 7
    assert (proof.designed_core_oversubscription, proof.worst_spine_oversubscription, proof.worst_leaf_oversubscription) == (7.0, 7.0, 1.0)
    assert not proof.non_blocking


def test_a_group_with_half_of_its_core_links_falls_short(built):
    topology = built("hgx-h100", 40, "quantum-ndr", tiers=3, nodes_per_su=8, sus_per_group=2)
    group = topology.devices.filter((pl.col("role") == "spine") & (pl.col("group") == 0))["dev"]
    proof = prove(without(topology, (pl.col("tier") == "spine-core") & pl.col("a_dev").is_in(group.implode()) & (pl.col("link") % 2 == 0)), "compute")
    assert "bisection" in {p.rule for p in check_bisection(proof)}
    assert proof.worst_spine_oversubscription > 1


def test_rails_apart_are_split_by_themselves_and_need_nvlink(built):
    for count in (100, 200):
        proof = prove(built("hgx-h100", count, "spectrum-x", style="rail-only"), "compute")
        assert proof.non_blocking
        assert proof.apart == tuple((k,) for k in range(8))
        assert check_bisection(proof) == []
        assert split(proof, "node halves") == (count // 2 * 8 * 400,) * 2
    assert prove(built("hgx-h100", 64, "quantum-ndr"), "compute").apart == ()


def test_two_rails_that_share_a_leaf_reach_each_other(built):
    topology = built("hgx-h100", 12, "quantum-ndr", rails_per_leaf=2)
    uplinks = pl.col("tier") == "leaf-spine"
    assert prove(without(topology, uplinks), "compute").apart == ((0, 1), (2, 3), (4, 5), (6, 7))


def test_halves_of_the_most_oversubscribed_leaves_are_the_worst(built):
    """Two leaves of each SU lose half of their uplinks: the worst halves have them on one side."""
    topology = built("hgx-h100", 64, "quantum-ndr")
    poor = topology.devices.filter((pl.col("role") == "leaf") & pl.col("rail").is_in(["2", "5"]))["dev"]
    proof = prove(without(topology, (pl.col("tier") == "leaf-spine") & pl.col("a_dev").is_in(poor.implode()) & (pl.col("link") % 2 == 0)), "compute")
    assert proof.worst_split == "most oversubscribed leaves"
    others = [s.by_flow_gbps / s.half_gbps for s in proof.splits if s.name != proof.worst_split]
    assert proof.by_flow_gbps / next(s.half_gbps for s in proof.splits if s.name == proof.worst_split) <= min(others)


def test_the_worst_split_does_not_depend_on_the_seed(catalog):
    """96 nodes at 2:1 in SUs of 64 and 32: the six scarcest leaves of the first SU carry 76.8 of 153.6 Tb/s, by hand and by flow."""
    for seed in (0, 5, 8):
        design = parse_design(f"nodes: {{model: amd-mi300x-8, count: 96}}\nfabrics: {{compute: {{family: tomahawk-5, oversubscription: 2}}}}\nseed: {seed}\n")
        proof = prove(build_topology(design, catalog), "compute")
        assert (proof.required_gbps, proof.by_count_gbps, proof.by_flow_gbps) == (76_800, 76_800, 76_800)
