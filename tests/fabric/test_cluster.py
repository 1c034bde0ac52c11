"""The whole cluster: other fabrics, their servers and PDUs; counts reached from the catalog, and checks that find what is broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import networkx as nx
import polars as pl
import pytest

from railplan import parse_design
from railplan.fabric.bisection import check_bisection, prove
from railplan.fabric.build import build_topology
from railplan.fabric.check_access import (
    clients_outlive_a_leaf,
    every_client_port_is_linked,
    leaves_are_not_overloaded,
    leaves_reach_each_other,
)
from railplan.fabric.checks import check_fabric
from railplan.fabric.graph import to_graph
from railplan.fabric.topology import Topology
from railplan.problems import DesignError, Problem
from railplan.vendors.catalog import load_catalog

CATALOG = load_catalog()
FRONT = "front: {serves: [inband, storage, frontend], family: spectrum-x}"
OOB = "oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}"


def text(
    nodes: int = 64, servers: str = "[{name: cpu, model: cpu-node, count: 24}]", others: str = f"{FRONT}\n  {OOB}", more: str = "", model: str = "hgx-b300", of_nodes: str = ""
) -> str:
    family = "quantum-ndr" if model == "hgx-h100" else "spectrum-x"
    return f"nodes: {{model: {model}, count: {nodes}{of_nodes}}}\nservers: {servers}\nfabrics:\n  compute: {{family: {family}}}\n  {others}\n{more}"


def cluster(racks: int = 0, **kind: object) -> Topology:
    return build_topology(parse_design(text(**kind)), CATALOG, racks)  # type: ignore[arg-type]


def refused(**kind: object) -> list[Problem]:
    with pytest.raises(DesignError) as caught:
        cluster(**kind)
    return caught.value.problems


def links(topology: Topology, fabric: str, tier: str = "node-leaf") -> pl.DataFrame:
    return topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == tier))


@pytest.mark.parametrize("nodes", [1, 2, 7, 31, 64, 129, 300])
@pytest.mark.parametrize("spec", [FRONT, FRONT.replace("}", ", oversubscription: 3}"), FRONT.replace("}", ", redundancy: 1, by_su: true}")])
def test_clusters_of_any_size_pass_every_check(nodes: int, spec: str) -> None:
    topology = cluster(nodes=nodes, others=f"{spec}\n  {OOB}", racks=5, more="pdus: {}")
    assert [p for p in check_fabric(topology) if p.level == "error"] == []
    for name, facts in topology.fabrics.items():
        if facts.tiers > 1:
            found = prove(topology if name != "compute" else topology.compute, name)
            assert check_bisection(found) == []


def test_every_port_that_the_catalog_gives_to_a_fabric_is_cabled() -> None:
    topology = cluster(racks=10, more="pdus: {}")
    for fabric, uses in (("front", {"inband", "storage", "frontend"}), ("oob", {"bmc", "management"})):
        want: Counter[str] = Counter()
        for device, model, role in topology.devices.select("device", "model", "role").iter_rows():
            if role in ("node", "server", "pdu"):
                want[device] = sum(p.use in uses for p in CATALOG.nodes[model].ports)
            elif fabric == "oob" and not device.startswith("oob"):
                want[device] = CATALOG.switches[model].management_ports
        names = topology.devices["device"]
        have = Counter(names[d] for d in links(topology, fabric)["a_dev"].to_list())
        assert have == +want


def test_a_device_keeps_its_number_among_the_compute_fabric_alone() -> None:
    topology = cluster()
    rails = topology.compute
    assert rails.devices.equals(topology.devices.head(rails.devices.height))
    assert rails.links.equals(topology.links.head(rails.links.height))
    alone = build_topology(parse_design(text(servers="[]", others="")), CATALOG)
    assert alone.links.equals(rails.links)
    assert alone.rails is None
    assert alone.compute is alone


def test_clients_hang_on_both_leaves_of_a_pair() -> None:
    topology = cluster()
    per_client = links(topology, "front").group_by("a_dev").agg(pl.col("b_dev").n_unique().alias("leaves"), pl.len())
    assert per_client["leaves"].unique().to_list() == [2]
    assert per_client["len"].unique().to_list() == [2]
    names = topology.devices["device"]
    pair = {names[d] for d in links(topology, "front")["b_dev"].unique().to_list()}
    assert pair == {"front-leaf-01a", "front-leaf-01b"}


def test_leaves_share_the_fewest_spines_evenly() -> None:
    topology = cluster(nodes=300)
    front = topology.devices.filter((pl.col("fabric") == "front") & (pl.col("role") == "leaf")).height
    spines = topology.devices.filter((pl.col("fabric") == "front") & (pl.col("role") == "spine")).height
    ups = links(topology, "front", "leaf-spine")
    each = ups.group_by("a_dev", "b_dev").len()
    assert each["len"].n_unique() == 1
    assert each.height == front * spines
    per_leaf, radix = ups.height // front, 128
    assert spines == next(d for d in range(1, per_leaf + 1) if per_leaf % d == 0 and d * radix >= front * per_leaf)


def test_leaves_of_one_fabric_hang_on_another() -> None:
    oob = OOB.replace("spine_switch: nvidia-sn4600c", "uplinks: {fabric: mgmt, links: 2}")
    topology = cluster(others=f"mgmt: {{serves: [inband, storage, frontend], switch: nvidia-sn4600c, gbps: 100}}\n  {oob}")
    assert check_fabric(topology) == []
    leaves = topology.devices.filter(pl.col("fabric") == "oob")
    assert set(leaves["role"]) == {"leaf"}
    up = links(topology, "mgmt").filter(pl.col("a_dev").is_in(leaves["dev"].implode()))
    assert up.height == 2 * leaves.height
    assert up["gbps"].unique().to_list() == [100]
    managed = {topology.devices["fabric"][d] for d in links(topology, "oob")["a_dev"].to_list()}
    assert managed == {"", "compute", "mgmt"}


def test_growth_keeps_every_cable_id_and_name() -> None:
    small, large = (cluster(nodes=n, of_nodes=", grow_to: 96") for n in (64, 96))
    names = small.devices["device"].to_list()
    assert names == large.devices["device"].to_list()
    key = ["fabric", "series", "serial", "a_dev", "a_cage", "a_child", "b_dev", "b_cage", "b_child"]
    assert small.links.select(key).join(large.links.select(key), on=key, how="anti").height == 0
    assert small.links.height + small.future.height == large.links.height
    assert large.future.height == 0
    assert (small.links["link"] == pl.int_range(small.links.height, dtype=pl.UInt32, eager=True)).all()


def test_the_graph_of_another_fabric_joins_all_its_clients() -> None:
    topology = cluster()
    graph = to_graph(topology, "oob")
    assert graph.number_of_edges() == topology.links.filter(pl.col("fabric") == "oob").height
    assert nx.is_connected(nx.Graph(graph))


def test_ports_are_given_away_by_name() -> None:
    topology = cluster(servers="[{name: cpu, model: cpu-node, count: 2, ports: {BMC: none}}]")
    names = topology.devices["device"]
    managed = {names[d] for d in links(topology, "oob")["a_dev"].to_list()}
    ports = [p for p in CATALOG.nodes["cpu-node"].ports if p.use == "management"]
    assert ("cpu-01" in managed) == bool(ports)
    both = "front: {serves: [inband, frontend], family: spectrum-x}\n  store: {serves: [storage], family: spectrum-x}"
    plain, moved = cluster(others=both), cluster(others=both, of_nodes=', ports: {"BF3 P1": store}')
    assert links(moved, "store").height == links(plain, "store").height + 64
    assert links(moved, "front").height == links(plain, "front").height - 64
    assert {p.rule for p in refused(others=both, of_nodes=', ports: {"BF3 P1": store}', servers="[]")} == {"fabric-unused"}


@pytest.mark.parametrize(
    ("kind", "rule", "says"),
    [
        ({"others": f"{FRONT}\n  store: {{serves: [storage], family: spectrum-x}}"}, "port-claimed-twice", "front and store"),
        ({"of_nodes": ", ports: {OSFP1: front}"}, "port-claimed-twice", "compute and front"),
        ({"of_nodes": ", ports: {OSFP9: front}"}, "unknown-port", "OSFP9"),
        ({"of_nodes": ", ports: {BF3 P1: frnt}"}, "unknown-fabric", "frnt"),
        ({"others": "store: {serves: [frontend], family: spectrum-x}"}, "fabric-unused", "nobody uses store"),
        ({"others": f"{FRONT}\n  {OOB[:-1]}, leaves_max: 1}}"}, "leaves-max", "1 are allowed"),
        ({"servers": "[{name: pdu, model: pdu-rack, count: 2, networks: [front]}]"}, "no-free-port", "pdu"),
        ({"servers": "[{name: cpu, model: cpu-nod, count: 2}]"}, "unknown-model", "cpu-nod"),
        ({"others": "front: {serves: [inband], switch: sn5600}"}, "unknown-model", "sn5600"),
        ({"others": f"{FRONT}\n  oob: {{serves: [bmc], switch: nvidia-sn2201, uplinks: {{fabric: frnt}}}}"}, "unknown-fabric", "frnt"),
        ({"others": f"{FRONT}\n  oob: {{serves: [bmc], switch: nvidia-sn2201, uplinks: {{fabric: compute}}}}"}, "unknown-fabric", "compute fabric"),
        ({"others": f"{FRONT[:-1]}, uplinks: {{fabric: oob}}}}\n  oob: {{serves: [bmc], switch: nvidia-sn2201, uplinks: {{fabric: front}}}}"}, "uplink-circle", "circle"),
        ({"others": f"{FRONT}\n  frost: {{serves: [bmc], switch: nvidia-sn2201}}"}, "cable-prefix", "FRO"),
        ({"others": "front: {serves: [inband, storage], family: spectrum-x, gbps: 50}"}, "lane-rate", "share no speed"),
        ({"others": "front: {serves: [inband, storage, switch-management], family: spectrum-x}"}, "lane-rate", "management"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_both_sides_named(kind: dict[str, str], rule: str, says: str) -> None:
    found = refused(**kind)
    assert rule in {p.rule for p in found}
    assert any(says in f"{p.where} {p.what} {p.fix}" for p in found if p.rule == rule)
    assert all(p.fix for p in found)


def test_all_problems_are_told_at_once() -> None:
    found = refused(servers="[{name: cpu, model: cpu-nod, count: 2}]", of_nodes=", ports: {OSFP9: front}", others=f"{FRONT}\n  store: {{serves: [storage], family: spectrum-x}}")
    assert {"unknown-model", "unknown-port", "port-claimed-twice"} <= {p.rule for p in found}


def with_links(topology: Topology, changed: pl.DataFrame) -> Topology:
    return replace(topology, links=changed.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link")))


def test_a_lost_link_of_a_client_is_found() -> None:
    topology = cluster()
    lost = int(links(topology, "oob")["link"][5])
    assert [p.rule for p in every_client_port_is_linked(with_links(topology, topology.links.filter(pl.col("link") != lost)))] == ["client-links"]


def test_a_client_on_one_leaf_alone_is_found() -> None:
    topology = cluster()
    first = links(topology, "front")["a_dev"][0]
    leaf = links(topology, "front")["b_dev"][0]
    moved = pl.when((pl.col("fabric") == "front") & (pl.col("a_dev") == first)).then(pl.lit(leaf, pl.UInt32)).otherwise(pl.col("b_dev")).alias("b_dev")
    assert [p.rule for p in clients_outlive_a_leaf(with_links(topology, topology.links.with_columns(moved)))] == ["one-leaf"]


def test_lost_uplinks_are_found() -> None:
    topology = cluster(nodes=300)
    ups = links(topology, "front", "leaf-spine")
    leaf = ups["a_dev"][0]
    half = ups.filter(pl.col("a_dev") == leaf)["link"].to_list()
    thinned = with_links(topology, topology.links.filter(~pl.col("link").is_in(half[: len(half) // 2])))
    assert [p.rule for p in leaves_are_not_overloaded(thinned)] == ["oversubscription"]
    cut = with_links(topology, topology.links.filter(~pl.col("link").is_in(half)))
    assert "unreachable" in {p.rule for p in leaves_reach_each_other(cut)}


def test_clients_with_one_port_take_turns_on_the_leaves_of_a_pair() -> None:
    """Else one leaf fills up while its twin stays empty; the links between them carry half of the traffic."""
    front = "front: {serves: [inband], family: spectrum-x, redundancy: 2}"
    topology = cluster(nodes=13, servers="[{name: ctl, model: control-node, count: 3}]", others=front)
    hangs = links(topology, "front").join(topology.devices.select("dev", "role"), left_on="a_dev", right_on="dev")
    per_leaf = hangs.filter(pl.col("role") == "node").group_by("b_dev").len().sort("b_dev")["len"].to_list()
    assert per_leaf == [7, 6]
    assert hangs.filter(pl.col("role") == "server").group_by("a_dev").agg(pl.col("b_dev").n_unique())["b_dev"].to_list() == [2, 2, 2]
    single_gbps = 13 * 400
    assert links(topology, "front", "inter-switch")["gbps"].sum() >= single_gbps / 2
    assert [p for p in check_fabric(topology) if p.level == "error"] == []


def test_more_leaves_than_a_spine_has_ports_are_refused_with_the_number() -> None:
    """64 leaves of 48 ports end at 3,072; a spine has 64 ports."""
    nodes = 3080
    (found,) = refused(nodes=nodes, servers="[]", others=OOB.replace("bmc, management, switch-management", "bmc"))
    assert found.rule == "access-size"
    assert f"{nodes:,} ports" in found.what
    assert "two tiers end at 64 leaves" in found.why
    assert "uplinks" in found.fix
    fits = cluster(nodes=3072, servers="[]", others=OOB.replace("bmc, management, switch-management", "bmc"))
    assert fits.devices.filter((pl.col("fabric") == "oob") & (pl.col("role") == "leaf")).height == 64


def test_links_between_a_pair_fill_whole_cages() -> None:
    """Nodes with one 200G port each: half of five is three links, which a cage of four ports would carry on modules used by half."""
    front = "front: {serves: [inband], family: spectrum-x, gbps: 200, redundancy: 2}"
    topology = cluster(nodes=5, servers="[]", others=front)
    between = links(topology, "front", "inter-switch")
    assert (between.height, between["gbps"].unique().to_list()) == (4, [200])
    assert between.group_by("a_cage").len()["len"].to_list() == [4]


def test_no_fabric_is_called_none_and_no_server_is_a_pdu() -> None:
    with pytest.raises(DesignError, match="cannot be called none"):
        parse_design(text(others="none: {serves: [inband], family: spectrum-x}"))
    assert [p.rule for p in refused(more="pdus: {model: cpu-node}")] == ["no-pdu"]


def test_peer_links_beside_spines_are_said_to_be_unused() -> None:
    topology = cluster(nodes=300, others=f"{FRONT[:-1]}, peer_links: 4}}\n  {OOB}")
    assert [p.where for p in topology.findings if p.rule == "unused-field"] == ["fabrics.front.peer_links"]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (FRONT.replace("}", ", clients_per_leaf: 1}"), "raise clients_per_leaf"),
        (FRONT.replace("}", ", reserved_ports: 127}"), "lower reserved_ports"),
        ("front: {serves: [inband, storage, bmc], switch: nvidia-sn2201}", "set spine_switch"),
    ],
)
def test_a_fabric_too_small_names_the_field_at_fault(spec: str, says: str) -> None:
    (problem,) = [p for p in refused(nodes=300, others=spec) if p.rule == "access-size"]
    assert says in problem.fix


def test_ports_of_ufm_servers_are_given_away_too() -> None:
    design = "nodes: {model: dgx-h100, count: 16}\nfabrics:\n  compute: {family: quantum-ndr, ufm_links: 2%s}\n  inb: {serves: [inband], switch: nvidia-sn4600c}\n"
    labels = [p.label for p in CATALOG.nodes["ufm-server"].ports if p.use == "inband"]
    off = ", ufm_ports: {" + ", ".join(f"{label}: none" for label in labels) + "}"
    plain, given = (build_topology(parse_design(design % more), CATALOG) for more in ("", off))
    ufm = {name for name in plain.devices["device"] if name.startswith("ufm")}

    def hangs(topology: Topology) -> set[str]:
        return {topology.devices["device"][d] for d in links(topology, "inb")["a_dev"].to_list()} & ufm

    assert hangs(plain) == ufm
    assert hangs(given) == set()


@pytest.mark.parametrize(
    ("compute", "others"),
    [
        ("", "a: {serves: [storage], SW, uplinks: {fabric: c, links: 2}}\n  b: {serves: [inband], SW, uplinks: {fabric: c, links: 4}}\n  c: {serves: [frontend], SW}"),
        (", ufm_links: 4, ufm_ports: {PORT: b}", "a: {serves: [storage, inband], SW}\n  b: {serves: [frontend], SW}"),
        ("", "a: {serves: [storage, inband], SW, uplinks: {fabric: b}}\n  b: {serves: [frontend], SW, uplinks: {fabric: c}}\n  c: {serves: [management], SW}"),
    ],
    ids=["two fabrics with unlike uplinks on a third", "a port of the UFM servers given away", "a chain whose upper fabrics have switches alone below them"],
)
def test_fabrics_that_hang_on_each_other_are_proved(compute: str, others: str) -> None:
    catalog = load_catalog()
    port = next(p.label for p in catalog.node("ufm-server").ports if p.use == "inband")
    text = f"nodes: {{model: hgx-h100, count: 16}}\nfabrics:\n  compute: {{family: quantum-ndr{compute}}}\n  {others}\n"
    topology = build_topology(parse_design(text.replace("SW", "switch: nvidia-sn5600").replace("PORT", port)), catalog)
    assert [p for p in check_fabric(topology) if p.level == "error"] == []
