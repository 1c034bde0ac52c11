"""PTM, NVIDIA Air, SONiC and Apstra: their syntax, names of host ports, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pygraphviz
import pytest

from railplan import Catalog, DesignError, Plan
from railplan.outputs import FORMATS, render
from railplan.outputs.air import air_json
from railplan.outputs.links import device_word, links
from railplan.outputs.ptm import quoted, topology_dot
from railplan.outputs.sonic import device_neighbors

ETHERNET_ONLY = ["ptm", "air", "sonic", "apstra", "containerlab"]


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "spectrum-x")


@pytest.fixture(scope="module")
def infiniband(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 8, "quantum-ndr")


@pytest.mark.parametrize("name", ETHERNET_ONLY)
def test_an_ethernet_format_asked_for_an_infiniband_plan_is_an_error(name: str, infiniband: Plan) -> None:
    with pytest.raises(DesignError) as caught:
        render(infiniband, [name])
    (problem,) = caught.value.problems
    assert problem.level == "error"
    assert problem.what == f"{name} is for Ethernet fabrics"
    assert problem.fix


def test_an_infiniband_plan_says_nothing_about_ethernet_formats(infiniband: Plan) -> None:
    said: list[object] = []
    files = render(infiniband, left_out=said.append)
    assert not said
    assert "topology.dot" not in files
    assert "kueue-topology.yaml" in files


def test_what_few_sites_need_is_written_only_when_asked_for(plan: Plan) -> None:
    rare = {name for name, entry in FORMATS.items() if not entry.by_default}
    assert rare == {"air", "sonic", "apstra", "containerlab", "ansible", "netbox", "p2p"}
    assert not set(render(plan)) & {file for name in rare for file in FORMATS[name].names}


def test_edges_to_hosts_are_matched_by_port_description_and_no_others(plan: Plan) -> None:
    graph = pygraphviz.AGraph(string=topology_dot(plan))
    hosts = set(plan.topology.devices.filter(pl.col("role") == "node")["device"])
    for edge in graph.edges():
        assert (edge.attr["LLDP"] == "match_type=portdescr") == bool(hosts & set(edge))


def test_topology_dot_keeps_what_ptmd_asks_for(plan: Plan) -> None:
    text = topology_dot(plan)
    assert text.splitlines()[2] == 'graph "cluster" {'
    assert max(map(len, text.splitlines())) < 1024
    assert "headport" not in text
    assert '  "leaf-su0-r0":"swp1s0" -- "gpu-001":"eth_r0" [LLDP="match_type=portdescr"]' in text.splitlines()


def test_dot_strings_are_escaped() -> None:
    text = 'say "x"'
    graph = pygraphviz.AGraph(string=f"graph {{ {quoted('a')} [function={quoted(text)}] }}")
    assert graph.get_node("a").attr["function"] == text
    assert quoted("a\\b") == '"a\\\\b"'


def test_hosts_are_named_after_rail_and_plane_where_nobody_knows_their_devices(plan_of: Callable[..., Plan]) -> None:
    two = links(plan_of("hgx-b300", 4, "spectrum-x")).filter(pl.col("a_device") == "gpu-002")
    assert two.sort("a_cage_no", "a_child")["a_interface"].to_list() == [f"eth_r{rail}p{port}" for rail in range(8) for port in range(2)]
    assert links(plan_of("hgx-h100", 40, "spectrum-x"))["a_interface"][0] == "eth_r0"
    assert max(links(plan_of("hgx-b300", 4, "spectrum-x"))["a_interface"].str.len_chars()) <= 15


def test_hosts_are_named_as_their_chassis_names_them_where_that_is_known(plan_of: Callable[..., Plan]) -> None:
    table = links(plan_of("dgx-h100", 8, "spectrum-x")).filter((pl.col("a_device") == "gpu-001") & (pl.col("gpu") == 7))
    assert table["a_interface"].to_list() == ["enp220s0np0"]
    assert links(plan_of("dgx-h100", 8, "quantum-ndr")).filter((pl.col("a_device") == "gpu-001") & (pl.col("gpu") == 7))["a_interface"].to_list() == ["ibp220s0"]


def test_air_refuses_switches_that_it_has_no_image_of(plan_of: Callable[..., Plan]) -> None:
    with pytest.raises(DesignError, match="do not run Cumulus Linux") as caught:
        air_json(plan_of("hgx-b300", 6, "tomahawk-5"))
    assert "switch_os" in caught.value.problems[0].fix
    assert air_json(plan_of("hgx-b300", 4, "spectrum-x")).count("generic/ubuntu2404") == 4


def test_sonic_names_its_ports_whatever_the_plan_prints(plan: Plan, plan_of: Callable[..., Plan]) -> None:
    asked = plan_of("hgx-h100", 40, "spectrum-x", switch_os="SONiC")
    assert device_neighbors(plan) == device_neighbors(asked)
    assert all(port.startswith("Ethernet") for tables in device_neighbors(plan).values() for port in tables["PORT"])


def test_sonic_refuses_switches_whose_names_nobody_knows(plan_of: Callable[..., Plan]) -> None:
    with pytest.raises(DesignError, match="SONiC port names of micas-m2-w6950-128oc are not known"):
        device_neighbors(plan_of("hgx-b300", 6, "tomahawk-6"))


def test_names_are_escaped_in_json(plan: Plan) -> None:
    strange = 'gpü "x"\\'
    renamed = replace(plan, topology=replace(plan.topology, devices=plan.topology.devices.with_columns(pl.col("device").str.replace("gpu", strange, literal=True))))
    assert f"{strange}-001" in json.loads(air_json(renamed))["nodes"]


def test_hosts_of_other_fabrics_are_named_after_their_port_and_what_is_mute_keeps_its_own(cluster_of: Callable[..., Plan]) -> None:
    table = links(cluster_of("ethernet")).filter((pl.col("fabric") != "compute") & pl.col("a_host"))
    names = dict(table.select("a_port", "a_interface").unique().iter_rows())
    assert names == {"BF3 P1": "eth_bf3_p1", "BF3 P2": "eth_bf3_p2", "LAN1": "eth_lan1", "BMC": "BMC", "NET": "NET"}
    assert set(table.filter("a_mute")["a_port"]) == {"BMC", "NET"}


def test_no_port_of_the_catalog_gets_a_name_too_long_for_linux(catalog: Catalog) -> None:
    for node in catalog.nodes.values():
        names = ["eth_" + device_word(port.label) for port in node.ports if port.use not in ("compute", "bmc")]
        assert len(set(names)) == len(names)
        assert max(map(len, names), default=0) <= 15


def test_every_ethernet_fabric_stands_in_topology_dot_beside_an_infiniband_one(cluster_of: Callable[..., Plan]) -> None:
    graph = pygraphviz.AGraph(string=topology_dot(cluster_of("infiniband")))
    joined = {end for edge in graph.edges() for end in edge}
    assert {"inb-leaf-01a", "oob-leaf-01a", "leaf-su0-r0"} <= joined  # the last by its management port
    assert not [edge for edge in graph.edges() if "BMC" in edge.attr["headport"]]
