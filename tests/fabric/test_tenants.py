"""Tenants: shared out as brute force would, nobody moved by one added at the end, on the switches that the links say."""

from __future__ import annotations

import itertools
import random
from functools import cache

import networkx as nx
import pytest

from railplan import Catalog, DesignError, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.graph import to_graph
from railplan.fabric.tenant_sharing import crossing, share_out
from railplan.fabric.tenants import Tenancy, plan_tenants
from railplan.fabric.topology import Topology

NDR = ("dgx-h100", 128, "family: quantum-ndr")
BASE = "nodes: {{model: {}, count: {}}}\nfabrics: {{compute: {{{}}}}}\ntenants: [{}]\n"


def topology_of(catalog: Catalog, tenants: str, model: str = "dgx-h100", count: int | str = 128, fabric: str = "family: quantum-ndr") -> Topology:
    return build_topology(parse_design(BASE.format(model, count, fabric, tenants)), catalog)


def tenancy_of(catalog: Catalog, tenants: str, model: str = "dgx-h100", count: int | str = 128, fabric: str = "family: quantum-ndr") -> Tenancy:
    return plan_tenants(topology_of(catalog, tenants, model, count, fabric))


def refused(catalog: Catalog, tenants: str, **more: str | int) -> list[str]:
    with pytest.raises(DesignError) as caught:
        tenancy_of(catalog, tenants, **more)
    assert all(p.fix and p.where.startswith("tenants") for p in caught.value.problems)
    return [f"{p.where}: {p.what}" for p in caught.value.problems]


def fewest_crossing(sizes: tuple[int, ...], sus: int, room: int) -> int:
    """By trying everything: tenants kept whole take one SU each, all others fit in what is left."""

    @cache
    def most_whole(i: int, free: tuple[int, ...]) -> int:
        if i == len(sizes):
            return 0
        options = [most_whole(i + 1, free)]
        for k, left in enumerate(free):
            if left >= sizes[i]:
                options.append(1 + most_whole(i + 1, tuple(sorted((*free[:k], left - sizes[i], *free[k + 1 :])))))
        return max(options)

    return len(sizes) - most_whole(0, (room,) * sus)


def lists_of_sizes(sus: int, room: int) -> list[tuple[int, ...]]:
    return [sizes for k in range(1, 6) for sizes in itertools.combinations_with_replacement(range(1, 2 * room + 1), k) if sum(sizes) <= sus * room]


@pytest.mark.parametrize(("sus", "room", "lists", "missed"), [(2, 4, 59, 0), (3, 4, 182, 2), (4, 3, 152, 7), (2, 6, 196, 0), (3, 5, 381, 11)])
def test_the_better_of_two_orders_is_what_brute_force_finds(sus: int, room: int, lists: int, missed: int) -> None:
    sizes = lists_of_sizes(sus, room)
    best = {s: fewest_crossing(s, sus, room) for s in sizes}
    largest_first = {s: crossing(s[::-1], [room] * sus) for s in sizes}
    assert len(sizes) == lists
    assert sum(largest_first[s] != best[s] for s in sizes) == missed
    assert all(min(largest_first[s], crossing(s, [room] * sus)) == best[s] for s in sizes)


@pytest.mark.parametrize("groups", [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 1, 2)])
def test_each_tenant_touches_the_fewest_groups_then_the_fewest_sus(groups: tuple[int, ...]) -> None:
    for free in itertools.product(range(1, 5), repeat=4):
        for count in range(1, sum(free) + 1):
            (pieces,) = share_out([count], free, groups)
            assert sum(p.nodes for p in pieces) == count
            assert all(0 < p.nodes <= free[p.su] and p.first == 0 for p in pieces)
            enough = [s for k in range(1, 5) for s in itertools.combinations(range(4), k) if sum(free[i] for i in s) >= count]
            fewest = min(len({groups[i] for i in s}) for s in enough)
            touched = {groups[p.su] for p in pieces}
            assert len(touched) == fewest
            if fewest == 1:
                assert len(pieces) == min(len(s) for s in enough if len({groups[i] for i in s}) == 1)
            if len(pieces) == 1:
                assert free[pieces[0].su] == min(f for f in free if f >= count)


def test_a_tenant_added_at_the_end_moves_nobody() -> None:
    source = random.Random(7)
    for _ in range(200):
        sus = source.randint(1, 9)
        room, group = [source.randint(1, 8) for _ in range(sus)], sorted(source.randint(0, 2) for _ in range(sus))
        group = [sorted(set(group)).index(g) for g in group]
        wanted: list[int] = []
        while sum(room) > sum(wanted):
            wanted.append(source.randint(1, sum(room) - sum(wanted)))
        every = share_out(wanted, room, group)
        assert share_out(wanted[:-1], room, group) == every[:-1]
        taken = [(p.su, p.first + i) for pieces in every for p in pieces for i in range(p.nodes)]
        assert sorted(taken) == [(su, i) for su, size in enumerate(room) for i in range(size)]


def test_powers_of_two_served_largest_first_cross_only_when_larger_than_an_su() -> None:
    source = random.Random(3)
    for _ in range(200):
        sizes = sorted((2 ** source.randint(0, 4) for _ in range(12)), reverse=True)
        while sum(sizes) > 64:
            sizes.pop()
        assert crossing(sizes, [8] * 8) == sum(size > 8 for size in sizes)


def test_more_nodes_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="5 nodes wanted, 4 are free"):
        share_out([5], [2, 2], [0, 0])


def test_whole_sus_first_and_the_rest_where_it_fits_best(catalog: Catalog) -> None:
    tenancy = tenancy_of(catalog, "{name: a, nodes: 40}, {name: b, nodes: 24}, {name: c, nodes: 33}, {name: d, nodes: 8}")
    assert [dict(t.per_su) for t in tenancy.tenants] == [{0: 32, 1: 8}, {1: 24}, {2: 32, 3: 1}, {3: 8}]
    assert tenancy.unused == 128 - 105
    assert tenancy.nodes["dev"].n_unique() == 105


def test_only_nodes_that_are_built_are_given_out(catalog: Catalog) -> None:
    assert refused(catalog, "{name: a, nodes: 60}", count="40, grow_to: 128") == ["tenants: tenants get 60 nodes 'gpu', 40 are built: 20 too many"]
    assert dict(tenancy_of(catalog, "{name: a, nodes: 40}", count="40, grow_to: 128").tenants[0].per_su) == {0: 32, 1: 8}


def test_kinds_of_node_are_shared_out_apart(catalog: Catalog) -> None:
    text = "nodes: {model: hgx-h100, count: 40}\nmore_nodes: [{model: hgx-b300, count: 6, name: big}]\nfabrics: {compute: {family: spectrum-x, planes: 1, nic_mode: 1x400G}}\n"
    design = text.replace(", nic_mode: 1x400G", "") + "tenants: [{name: a, nodes: 4, nodes_kind: big}, {name: b, nodes: 40}, {name: c, nodes: 2, nodes_kind: big}]\n"
    topology = build_topology(parse_design(design), catalog)
    tenancy = plan_tenants(topology)
    names = topology.devices["device"]
    given = {t.name: [names[dev] for n, dev in tenancy.nodes.iter_rows() if n == i] for i, t in enumerate(tenancy.tenants)}
    assert given["a"] == ["big-001", "big-002", "big-003", "big-004"]
    assert given["c"] == ["big-005", "big-006"]
    assert given["b"] == [f"gpu-{i:03d}" for i in range(1, 41)]
    with pytest.raises(DesignError, match="tenants get 7 nodes 'big', 6 are built: 1 too many"):
        plan_tenants(build_topology(parse_design(design.replace("nodes: 2", "nodes: 3")), catalog))


SHAPES = [
    ("dgx-h100", 64, "family: quantum-ndr"),
    ("hgx-b300", 24, "family: spectrum-x, planes: 2, nodes_per_su: 8"),
    ("dgx-h100", 128, "family: quantum-ndr, tiers: 3"),
    ("dgx-h100", 128, "family: quantum-ndr, tiers: 3, spine_groups: shared"),
    ("dgx-h100", 64, "family: quantum-ndr, style: rail-only"),
    ("hgx-h100", 16, "family: spectrum-x, style: tor"),
    ("hgx-b300", 16, "family: spectrum-x, style: dual-tor, planes: 1"),
    ("hgx-h100", 8, "family: quantum-ndr, style: pair"),
    ("hgx-h100", 8, "family: quantum-ndr, style: single"),
]


@pytest.mark.parametrize(("model", "count", "fabric"), SHAPES, ids=lambda v: str(v))
def test_switches_are_those_on_shortest_paths_between_the_tenants_own_nodes(model: str, count: int, fabric: str, catalog: Catalog) -> None:
    """Leaves, spines and cores against all shortest paths that networkx finds in each plane of the fabric."""
    half, eighth = count // 2 + 1, count // 8
    topology = topology_of(catalog, f"{{name: one, nodes: 1}}, {{name: few, nodes: {eighth}}}, {{name: many, nodes: {half}}}", model, count, fabric)
    tenancy, names = plan_tenants(topology), topology.devices["device"]
    graph = to_graph(topology, "compute", {}, [""] * topology.links.height)
    switches = {n for n, role in graph.nodes(data="role") if role in ("leaf", "spine", "core")}
    for number in range(3):
        nodes = {names[dev] for tenant, dev in tenancy.nodes.iter_rows() if tenant == number}
        leaves = {leaf for node in nodes for leaf in graph.neighbors(node) if leaf in switches}
        passed = set(leaves)
        core = nx.Graph(graph.subgraph(switches))
        for a, b in itertools.combinations(sorted(leaves), 2):
            if nx.has_path(core, a, b):
                passed |= {switch for path in nx.all_shortest_paths(core, a, b) for switch in path}
        assert {names[dev] for tenant, _, dev in tenancy.switches.iter_rows() if tenant == number} == passed


def test_a_tenant_that_crosses_sus_is_warned_of_with_the_way_out(catalog: Catalog) -> None:
    tenants = "{name: a, nodes: 20}, {name: b, nodes: 20}, {name: c, nodes: 20}, {name: d, nodes: 20}, {name: e, nodes: 24}"
    found = [p for p in tenancy_of(catalog, tenants).findings if p.level == "warning"]
    assert [(p.rule, p.where, p.what) for p in found] == [("tenant-crosses", "tenants.4", "e crosses SU borders: 24 nodes, 12 in SU 0 and 12 in SU 1")]
    assert found[0].why.startswith("no SU has 24 nodes left")
    assert found[0].fix == "name it earlier in the list, or choose sizes of which some add up to the 32 nodes of an SU"


def test_an_order_in_which_fewer_cross_is_named(catalog: Catalog) -> None:
    tenants = "{name: a, nodes: 20}, {name: b, nodes: 10}, {name: c, nodes: 22}, {name: d, nodes: 12}"
    (warning,) = [p for p in tenancy_of(catalog, tenants, count=64).findings if p.level == "warning"]
    assert warning.fix == "list the largest tenants first: then none of them cross SU borders, not 1"
    assert crossing([22, 20, 12, 10], [32, 32]) == 0


def test_a_tenant_of_whole_sus_hears_that_it_has_them_alone(catalog: Catalog) -> None:
    whole, cut = (next(p for p in tenancy_of(catalog, f"{{name: a, nodes: {n}}}, {{name: b, nodes: 9}}").findings if p.level == "warning") for n in (64, 70))
    assert whole.why.startswith("an SU holds 32 nodes, the tenant has 64; it has its SUs alone")
    assert cut.fix.startswith("make it 64 or 96 nodes, whole SUs")


def test_tenants_that_meet_on_leaves_are_noted_once(catalog: Catalog) -> None:
    notes = [p.what for p in tenancy_of(catalog, "{name: a, nodes: 32}, {name: b, nodes: 10}, {name: c, nodes: 10}, {name: d, nodes: 20}").findings if p.level == "note"]
    assert notes == ["b and c share 8 leaves, leaf-su1-r0 the first"]


def test_numbers_follow_the_list_and_stay_when_it_grows(catalog: Catalog) -> None:
    tenants = "{name: a, nodes: 1}, {name: b, nodes: 1, pkey: 0x0003}, {name: c, nodes: 1}, {name: d, nodes: 1}"
    first = [t.numbers for t in tenancy_of(catalog, tenants).tenants]
    assert first == [{"pkey": 1}, {"pkey": 3}, {"pkey": 2}, {"pkey": 4}]
    assert [t.numbers for t in tenancy_of(catalog, tenants + ", {name: e, nodes: 1, pkey: 0x7ffe}").tenants][:4] == first
    assert refused(catalog, tenants + ", {name: e, nodes: 1, pkey: 2}") == ["tenants.4.pkey: PKey 0x0002 is that of tenant c already"]
    ethernet = tenancy_of(catalog, "{name: a, nodes: 1}, {name: b, nodes: 1, vlan: 7, vni: 70}", "hgx-h100", 16, "family: spectrum-x")
    assert [t.numbers for t in ethernet.tenants] == [{"vlan": 101, "vni": 10101}, {"vlan": 7, "vni": 70}]


def test_a_vlan_that_cumulus_keeps_is_warned_of_only_there(catalog: Catalog) -> None:
    tenants = "{name: a, nodes: 1, vlan: 3725}, {name: b, nodes: 1, vlan: 3999}, {name: c, nodes: 1, vlan: 4000}"
    cumulus = tenancy_of(catalog, tenants, "hgx-h100", 16, "family: spectrum-x").findings
    assert [p.where for p in cumulus if p.level == "warning"] == ["tenants.0.vlan", "tenants.1.vlan"]
    assert not [p for p in tenancy_of(catalog, tenants, "hgx-h100", 16, "family: spectrum-x, switch_os: SONiC").findings if p.level == "warning"]


def test_vlans_that_run_out_are_said(catalog: Catalog) -> None:
    tenants = ", ".join(f"{{name: t{i}, nodes: 1}}" for i in range(3500))
    assert refused(catalog, tenants, model="hgx-h100", count=3500, fabric="family: spectrum-x") == ["tenants.3499: no VLAN is left for 't3499': 101 to 3599 are taken"]


NO_PKEYS = ("0", "0x7fff", "0x8000", "0x8001", "0xffff", "70000", "-1", "1.5", "32767.0", "true", "'0x1g'", "'257'", '"0x1\\n"')


@pytest.mark.parametrize("given", [*(f"pkey: {number}" for number in NO_PKEYS), "vlan: 1"])
def test_reserved_and_strange_numbers_are_refused(given: str) -> None:
    with pytest.raises(DesignError):
        parse_design(BASE.format(*NDR, f"{{name: a, nodes: 1, {given}}}"))


@pytest.mark.parametrize("given", ["vlan: 0", "vlan: 4095", "vlan: 5000", "vni: 0", "vni: 16777216", "nodes_kind: '$(id)'", "vlan: '1'", "vlan: 1.0", "vni: 0.0"])
def test_ethernet_numbers_are_in_range(given: str) -> None:
    with pytest.raises(DesignError):
        parse_design(BASE.format("hgx-h100", 16, "family: spectrum-x", f"{{name: a, nodes: 1, {given}}}"))


@pytest.mark.parametrize("name", ["'=1+1'", "'a,b'", "'a;b'", "'a b'", '"a\\nb"', '"a\\n"', "'a=full'", "'../a'", "'<b>'", "Default", "''", "true", "1"])
def test_hostile_names_are_refused(name: str) -> None:
    with pytest.raises(DesignError):
        parse_design(BASE.format(*NDR, f"{{name: {name}, nodes: 1}}"))
