"""The worst traffic is that of trying every permutation, and its witness really loads the link so."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations

import networkx as nx
import numpy as np
import polars as pl
import pytest

from railplan.fabric.check_report import end_links
from railplan.fabric.traffic import check_traffic, witness_text, worst_traffic

from .tiny import Judge, tiny


@pytest.fixture(scope="module")
def base(built):
    return built("hgx-h100", 64, "quantum-ndr")


def witness_ports(topology, traffic) -> pl.DataFrame:
    """The witness port by port: number of the sending and of the receiving node-leaf link, and Gb/s."""
    ends = end_links(topology, traffic.fabric).select("link", "gbps", leaf=topology.devices["device"].gather(end_links(topology, traffic.fabric)["b_dev"]))
    ports = {leaf: list(zip(link, gbps, strict=True)) for leaf, link, gbps in ends.group_by("leaf", maintain_order=True).agg("link", "gbps").iter_rows()}
    sending, receiving = ({leaf: iter(p) for leaf, p in ports.items()} for _ in range(2))
    rest: dict[tuple[str, str], tuple[int, int]] = {}
    rows = []
    for stream in traffic.witness:
        left = stream.gbps
        while left:
            a, room_a = rest.pop(("a", stream.source), None) or next(sending[stream.source])
            b, room_b = rest.pop(("b", stream.target), None) or next(receiving[stream.target])
            part = min(left, room_a, room_b)
            rows.append((a, b, part))
            left -= part
            if room_a > part:
                rest["a", stream.source] = a, room_a - part
            if room_b > part:
                rest["b", stream.target] = b, room_b - part
    return pl.DataFrame(rows, schema={"source_link": pl.UInt32, "target_link": pl.UInt32, "gbps": pl.Int32}, orient="row")


def by_trying_all(topology) -> float:
    """Largest load over all permutations of the ports."""
    judge = Judge(topology)
    ends = topology.links.filter(pl.col("tier") == "node-leaf")["link"].to_list()
    ways = [(link, way) for link in range(topology.links.height) for way in ("up", "down")]
    table = np.zeros((len(ends), len(ends), len(ways)))
    for i, a in enumerate(ends):
        for j, b in enumerate(ends):
            shares = judge.shares(judge.leaf[a], judge.leaf[b])
            table[i, j] = [shares.get(way, 0.0) for way in ways]
    orders = np.array(list(permutations(range(len(ends)))))
    return max(float(sum(table[i, orders[:, i], w] for i in range(len(ends))).max()) for w in range(len(ways)))


def by_matching(topology) -> float:
    """The same by one assignment problem for each link, for fabrics with too many permutations to try."""
    judge = Judge(topology)
    ends = topology.links.filter(pl.col("tier") == "node-leaf")["link"].to_list()
    graphs: dict[tuple[int, str], nx.Graph] = {}
    for a in ends:
        for b in ends:
            for way, share in judge.shares(judge.leaf[a], judge.leaf[b]).items():
                graphs.setdefault(way, nx.Graph()).add_edge(("from", a), ("to", b), weight=share)
    return max((sum(g.edges[e]["weight"] for e in nx.max_weight_matching(g)) for g in graphs.values()), default=0.0)


def random_two_tiers(choose: random.Random):
    leaves, spines = choose.randint(2, 4), choose.randint(1, 3)
    ends = {f"leaf-{i}": choose.randint(0, 3) for i in range(leaves)}
    while sum(ends.values()) > 7:
        ends[max(ends, key=lambda leaf: ends[leaf])] -= 1
    return ends, [(leaf, f"spine-{s}", n) for leaf in ends for s in range(spines) if (n := choose.choice([0, 1, 1, 2]))]


def random_three_tiers(choose: random.Random):
    ends = {f"leaf-{i}": choose.choice([1, 1, 2]) for i in range(4)}
    bundles = [(f"leaf-{i}", f"spine-{i // 2}{s}", n) for i in range(4) for s in range(2) if (n := choose.choice([0, 1, 1, 2]))]
    bundles += [(f"spine-{g}{s}", f"core-{c}", n) for g in range(2) for s in range(2) for c in range(2) if (n := choose.choice([0, 1, 1]))]
    return ends, bundles


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("shape", [random_two_tiers, random_three_tiers])
def test_no_permutation_of_a_tiny_fabric_loads_a_link_more_and_one_loads_it_so(base, shape, seed):
    topology = tiny(base, *shape(random.Random(seed)))
    found = worst_traffic(topology, "compute")
    assert found.worst_load == pytest.approx(by_trying_all(topology))
    pairs = witness_ports(topology, found)
    assert max(Judge(topology).loads(pairs.iter_rows()).values(), default=0.0) == pytest.approx(found.worst_load)
    for side in ("source_link", "target_link"):
        assert max(Counter(pairs[side].to_list()).values(), default=1) == 1


@pytest.mark.parametrize("links", [1, 2, 3])
def test_two_leaves_joined_to_each_other(base, links):
    topology = tiny(base, {"leaf-0": 3, "leaf-1": 3}, [("leaf-0", "leaf-1", links)])
    found = worst_traffic(topology, "compute")
    assert found.worst_load == pytest.approx(by_trying_all(topology)) == pytest.approx(3 / links)
    assert set(found.by_tier) == {"leaf to leaf"}
    assert found.worst_link in ("leaf-0 to leaf-1", "leaf-1 to leaf-0")


DESIGNS = [
    ("hgx-h100", 8, "quantum-ndr", {"nodes_per_su": 2}, 1.0),
    ("hgx-h100", 8, "quantum-ndr", {"nodes_per_su": 2, "oversubscription": 2}, 2.0),
    ("hgx-h100", 8, "quantum-ndr", {"nodes_per_su": 2, "tiers": 3, "sus_per_group": 2, "rails_per_leaf": 2}, 1.0),
    ("hgx-h100", 9, "quantum-ndr", {"nodes_per_su": 2, "tiers": 3, "sus_per_group": 2, "core_oversubscription": 2, "spine_groups": "shared"}, 2.0),
    ("hgx-h100", 9, "quantum-ndr", {"nodes_per_su": 2, "style": "tor", "tiers": 3, "sus_per_group": 2, "core_oversubscription": 4}, 4.0),
    ("hgx-b300", 4, "spectrum-x", {"nodes_per_su": 1, "style": "dual-tor", "planes": 1}, 1.0),
    ("hgx-h100", 8, "spectrum-x", {"nodes_per_su": 2, "style": "rail-only"}, 1.0),
    ("hgx-h100", 6, "spectrum-x", {"style": "pair"}, 1.0),
]


@pytest.mark.parametrize(("model", "count", "family", "more", "load"), DESIGNS)
def test_the_worst_load_of_a_planned_fabric_is_that_of_matching_port_by_port(built, model, count, family, more, load):
    topology = built(model, count, family, **more)
    found = worst_traffic(topology, "compute")
    assert found.worst_load == pytest.approx(by_matching(topology))
    assert found.worst_load <= load
    assert check_traffic(found) == []
    pairs = witness_ports(topology, found)
    assert max(Judge(topology).loads(pairs.iter_rows()).values()) == pytest.approx(found.worst_load)


def test_a_fabric_of_one_tier_has_no_link_to_load(built):
    found = worst_traffic(built("hgx-b300", 8, "spectrum-x"), "compute")
    assert (found.worst_load, found.worst_link, found.witness, dict(found.by_tier)) == (0.0, "", (), {})


def test_more_load_than_designed_is_an_error_with_its_witness(built):
    topology = built("hgx-h100", 64, "quantum-ndr", oversubscription=2)
    assert check_traffic(worst_traffic(topology, "compute")) == []
    spine = topology.devices.filter(pl.col("role") == "spine")["dev"][0]
    links = topology.links.filter(pl.col("b_dev") != spine).with_columns(link=pl.int_range(pl.len(), dtype=pl.UInt32))
    found = worst_traffic(type(topology)(**{**vars(topology), "links": links}), "compute")
    (up, down) = check_traffic(found)
    assert {up.where, down.where} == {"compute, leaf to spine", "compute, spine to leaf"}
    assert "leaf-su0-r0 sends 12,800G to leaf-su0-r1" in up.what
    assert "the design allows 2" in up.why
    assert witness_text(found) in up.what
