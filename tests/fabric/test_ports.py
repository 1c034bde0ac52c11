"""Ports are handed out in faceplate order, within the rules of the box, so that links share cages."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from railplan.fabric.ports import Port, PortKind, Want, assign, kinds, port_count, spread, switch_port_name
from railplan.vendors.catalog import load_catalog

CATALOG = load_catalog()
SN5600, QM9700 = CATALOG.switches["nvidia-sn5600"], CATALOG.switches["nvidia-qm9700"]
G400, G800, G100 = PortKind(400, 4, 100), PortKind(800, 8, 100), PortKind(100, 1, 100)


def test_ports_are_handed_out_in_faceplate_order():
    assignment = assign(SN5600, [Want(G400, 5)])
    assert assignment is not None
    assert assignment.ports[0] == (Port(1, 0), Port(1, 1), Port(2, 0), Port(2, 1), Port(3, 0))


def test_each_want_begins_in_a_fresh_cage():
    assignment = assign(SN5600, [Want(G400, 3), Want(G400, 2), Want(G800, 1)])
    assert assignment is not None
    assert [p[0].cage for p in assignment.ports] == [1, 3, 4]
    assert assignment.cages[4].mode.gbps == 800


def test_more_ports_than_the_switch_has_are_refused():
    assert assign(SN5600, [Want(G400, 128)]) is not None
    assert assign(SN5600, [Want(G400, 129)]) is None
    assert assign(SN5600, [Want(G400, 127), Want(G800, 1)]) is None


def test_an_eight_way_split_takes_the_odd_cages_and_leaves_the_even_ones_dead():
    assignment = assign(SN5600, [Want(G100, 16), Want(G400, 4)])
    assert assignment is not None
    assert sorted(assignment.cages) == [1, 3, 5, 6]


@pytest.mark.parametrize(
    ("switch", "kind", "ports"), [(SN5600, G400, 128), (SN5600, G800, 64), (SN5600, G100, 256), (QM9700, G400, 64), (CATALOG.switches["dell-z9864f-on"], G100, 320)]
)
def test_port_count_is_that_of_the_data_sheet(switch, kind, ports):
    assert port_count(switch, kind) == ports


@pytest.mark.parametrize("model", sorted(CATALOG.switches))
def test_port_count_is_the_largest_that_can_be_assigned(model):
    switch = CATALOG.switches[model]
    for kind in kinds(switch):
        most = port_count(switch, kind)
        assert assign(switch, [Want(kind, most)]) is not None
        assert assign(switch, [Want(kind, most + 1)]) is None


def twin_cages(cages: int) -> list[Port]:
    return [Port(cage, child) for cage in range(cages) for child in (0, 1)]


@pytest.mark.parametrize("parallel", [[2] * 8, [4, 4, 4], [3, 3, 3, 3], [1] * 12, [5, 5], [16], [2, 2, 1, 1], [7, 1, 3]])
def test_spread_deals_every_port_once_and_each_peer_its_links(parallel):
    dealt = spread(twin_cages(20), parallel)
    assert [len(ports) for ports in dealt] == parallel
    every = [p for ports in dealt for p in ports]
    assert len(set(every)) == sum(parallel)
    assert max(p.cage for p in every) == -(-sum(parallel) // 2) - 1


@pytest.mark.parametrize("links", [2, 3, 4, 5, 8])
def test_parallel_links_share_cages(links):
    for ports in spread(twin_cages(60), [links] * 10):
        per_cage = Counter(p.cage for p in ports)
        assert sum(n == 2 for n in per_cage.values()) >= links // 2


def cage_pairs(topology) -> Counter:
    """How many links run between each leaf cage and each spine cage."""
    up = topology.links.filter(pl.col("tier") == "leaf-spine")
    return Counter(up.select("a_dev", "a_cage", "b_dev", "b_cage").iter_rows())


@pytest.mark.parametrize("count", [64, 127, 128])
def test_an_even_number_of_parallel_links_fills_whole_cages_at_both_ends(built, count):
    assert set(cage_pairs(built("hgx-h100", count, "quantum-ndr")).values()) == {2}


def test_single_links_form_blocks_of_two_cages_by_two(built):
    topology = built("hgx-h100", 256, "quantum-ndr")
    up = topology.links.filter(pl.col("tier") == "leaf-spine")
    spine_cages: dict[tuple[int, int], set[tuple[int, int]]] = {}
    leaf_cages: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for leaf, leaf_cage, spine, spine_cage in up.select("a_dev", "a_cage", "b_dev", "b_cage").iter_rows():
        spine_cages.setdefault((leaf, leaf_cage), set()).add((spine, spine_cage))
        leaf_cages.setdefault((spine, spine_cage), set()).add((leaf, leaf_cage))
    for cage, far in spine_cages.items():
        assert len(far) == 2
        backs = [leaf_cages[f] for f in far]
        assert backs[0] == backs[1]
        assert cage in backs[0]
        assert len(backs[0]) == 2


def test_switches_name_their_ports_as_their_system_prints_them():
    names = {n.os: n for n in SN5600.port_names}
    split = next(m for m in SN5600.cages[0].modes if m.gbps == 400)
    whole = next(m for m in SN5600.cages[0].modes if m.gbps == 800)
    assert switch_port_name(names["Cumulus Linux"], 33, 1, split) == "swp33s1"
    assert switch_port_name(names["Cumulus Linux"], 33, 0, whole) == "swp33"
    assert switch_port_name(names["SONiC"], 2, 1, split) == "Ethernet12"
    assert switch_port_name(names["SONiC alias"], 2, 1, split) == "etp2b"
