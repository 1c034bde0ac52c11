"""Files of tenants, read back with the standard library and compared with the links and with each other."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping

import polars as pl
import pytest
from openpyxl import load_workbook
from rich.console import Console

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.outputs import render, tables
from railplan.outputs.hostlist import expand
from railplan.outputs.terminal import print_summary

ETHERNET = """
name: many
nodes: {model: hgx-b300, count: 24, grow_to: 32}
fabrics: {compute: {family: spectrum-x, planes: 2, nodes_per_su: 8}}
tenants:
  - {name: acme, nodes: 10}
  - {name: blue, nodes: 4, vlan: 300, vni: 70000}
  - {name: cyan, nodes: 6}
"""
INFINIBAND = """
nodes: {model: dgx-h100, count: 31}
fabrics: {compute: {family: quantum-ndr, ufm_links: 4}}
tenants: [{name: acme, nodes: 8}, {name: blue, nodes: 16, pkey: 0x0101}]
"""
PLANES = """
nodes: {model: hgx-b300, count: 16}
fabrics: {compute: {family: quantum-ndr, planes: 2}}
tenants: [{name: acme, nodes: 8}]
"""

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def planned(catalog: Catalog) -> Callable[[str], Plan]:
    made: dict[str, Plan] = {}

    def plan(text: str) -> Plan:
        if text not in made:
            made[text] = make_plan(parse_design(text), catalog)
        return made[text]

    return plan


def read(files: Mapping[str, bytes], name: str) -> Rows:
    return list(csv.DictReader(io.StringIO(files[name].decode(), newline="")))


@pytest.mark.parametrize("text", [ETHERNET, INFINIBAND, PLANES])
def test_both_tables_agree_with_each_other_and_with_the_cables(text: str, planned: Callable[[str], Plan]) -> None:
    plan = planned(text)
    files = render(plan, ["tenants"])
    assert render(plan, ["tenants"]) == files
    rows, nodes = read(files, "tenants.csv"), read(files, "tenant-nodes.csv")
    assert [row["device"] for row in nodes] == tables.devices(plan).filter(pl.col("role") == "node")["device"].to_list()
    ports = tables.ports(plan).select("device", "peer_device").unique().rows()
    for row in rows:
        own = expand(row["node_list"])
        assert own == [node["device"] for node in nodes if node["tenant"] == row["tenant"]]
        assert len(own) == int(row["nodes"])
        assert row["sus"].split("+") == sorted({node["pod"] for node in nodes if node["tenant"] == row["tenant"]})
        assert (row["crosses_sus"] == "true") == ("+" in row["sus"])
        leaves = {peer for device, peer in ports if device in own}
        assert set(expand(row["leaves"])) == leaves
        assert int(row["leaf_count"]) == len(leaves)
        assert int(row["spine_count"]) == len(expand(row["spines"]))
        others = {other["tenant"] for other in rows if other is not row and leaves & set(expand(other["leaves"]))}
        assert set(row["shares_leaves_with"].split("+")) - {""} == others
        assert {(node["vlan"], node["vni"], node["pkey"]) for node in nodes if node["tenant"] == row["tenant"]} == {(row["vlan"], row["vni"], row["pkey"])}
    assert all(not node["vlan"] + node["vni"] + node["pkey"] for node in nodes if not node["tenant"])


def test_the_tables_of_a_small_plan(planned: Callable[[str], Plan]) -> None:
    rows = read(render(planned(ETHERNET), ["tenants"]), "tenants.csv")
    shown = [(r["tenant"], r["node_list"], r["sus"], r["crosses_sus"], r["shares_leaves_with"], r["vlan"], r["vni"], r["pkey"]) for r in rows]
    assert shown == [
        ("acme", "gpu-[001-010]", "0+1", "true", "blue", "101", "10101", ""),
        ("blue", "gpu-[011-014]", "1", "false", "acme", "300", "70000", ""),
        ("cyan", "gpu-[017-022]", "2", "false", "", "102", "10102", ""),
    ]


def test_a_design_without_tenants_has_no_such_files(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    assert not {"tenants.csv", "tenant-nodes.csv"} & set(render(plan))
    with pytest.raises(DesignError, match="has no tenants"):
        render(plan, ["tenants"])
    summary = json.loads(render(plan, [])["summary.json"])
    assert (summary["tenants"], summary["nodes_without_tenant"]) == ([], 4)


def test_the_resolved_design_gives_the_same_tenants(planned: Callable[[str], Plan], catalog: Catalog) -> None:
    for text in (ETHERNET, INFINIBAND):
        first = render(planned(text), ["tenants", "csv"])
        assert render(make_plan(parse_design(first["design.yaml"].decode()), catalog), ["tenants", "csv"]) == first


def test_summary_and_terminal_say_who_has_what(planned: Callable[[str], Plan]) -> None:
    plan = planned(ETHERNET)
    facts = json.loads(render(plan, [])["summary.json"])
    assert facts["nodes_without_tenant"] == 4
    assert [(t["tenant"], t["nodes"], t["sus"], t["numbers"]) for t in facts["tenants"]] == [
        ("acme", 10, [0, 1], {"vlan": 101, "vni": 10101}),
        ("blue", 4, [1], {"vlan": 300, "vni": 70000}),
        ("cyan", 6, [2], {"vlan": 102, "vni": 10102}),
    ]
    text = printed(plan)
    assert "tenants   acme: 10 nodes, SUs 0, 1, crosses SU borders, 16 leaves, VLAN 101, VNI 10101\n          blue: 4 nodes, SU 1, 8 leaves, VLAN 300" in text
    assert "          and 4 nodes without tenant\n" in text


def test_the_terminal_cuts_long_lists(planned: Callable[[str], Plan]) -> None:
    names = ", ".join(f"{{name: t{i}, nodes: 1}}" for i in range(11))
    text = printed(planned(f"nodes: {{model: hgx-h100, count: 12}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\ntenants: [{names}]\n"))
    assert "t7: 1 node, SU 0, " in text
    assert "t8: " not in text
    assert "and 3 more in tenants.csv, 1 node without tenant\n" in text


def printed(plan: Plan) -> str:
    out = io.StringIO()
    print_summary(plan, Console(file=out, width=200, highlight=False), listed=True)
    return out.getvalue()


def test_the_workbook_has_a_sheet_of_tenants(planned: Callable[[str], Plan], plan_of: Callable[..., Plan]) -> None:
    for text, heads in ((ETHERNET, {"VLAN", "VNI"}), (INFINIBAND, {"PKey"})):
        plan = planned(text)
        page = load_workbook(io.BytesIO(render(plan, ["xlsx"])["plan.xlsx"]))["Tenants"]
        rows = [[cell.value for cell in row] for row in page.iter_rows()]
        assert rows[1][0] == f"{plan.tenancy.unused} nodes without tenant."
        assert {"VLAN", "VNI", "PKey"} & set(rows[3]) == heads
        assert [row[0] for row in rows[4:]] == [tenant.name for tenant in plan.tenancy.tenants]
        assert [row[1] for row in rows[4:]] == [tenant.nodes for tenant in plan.tenancy.tenants]
    assert "Tenants" not in load_workbook(io.BytesIO(render(plan_of("hgx-b300", 4, "spectrum-x"), ["xlsx"])["plan.xlsx"])).sheetnames


def partitions_of(text: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> (head after it, members) of a partitions.conf, comments left out."""
    plain = re.sub("#.*", "", text)
    found = {}
    for definition in plain.split(";")[:-1]:
        head, members = definition.split(":")
        name, _, rest = head.strip().partition("=")
        found[name] = rest.strip(), [member.strip() for member in members.split(",")]
    assert not plain.split(";")[-1].strip()
    return found


@pytest.mark.parametrize(("text", "names"), [(INFINIBAND, ["partitions.conf"]), (PLANES, ["partitions-p0.conf", "partitions-p1.conf"])])
def test_each_tenant_has_a_partition_with_the_ports_of_its_nodes(text: str, names: list[str], planned: Callable[[str], Plan]) -> None:
    plan = planned(text)
    files = render(plan, ["infiniband", "tenants"])
    assert sorted(name for name in files if name.startswith("partitions")) == names
    rows = read(files, "tenants.csv")
    for name in names:
        guids = dict(re.findall("^0x(.*) # (.*)$", files[name.replace("partitions", "cn_guids")].decode(), re.MULTILINE))
        found = partitions_of(files[name].decode())
        assert list(found) == ["Default", *(row["tenant"] for row in rows)]
        for row in rows:
            head, members = found[row["tenant"]]
            assert head == f"{row['pkey']}, indx0, defmember=full"
            assert members == [f"0x{guid}" for guid, who in guids.items() if who.split()[0] in expand(row["node_list"])]
        assert found["Default"][1][:3] == ["ALL=limited", "ALL_SWITCHES=full", "SELF=full"]
        assert len(found["Default"][1]) == 3 + plan.topology.links.filter(pl.col("series") == "U").height
        assert max(map(len, files[name].decode().splitlines())) < 200


def test_ethernet_fabrics_and_designs_without_tenants_have_no_partitions(planned: Callable[[str], Plan], plan_of: Callable[..., Plan]) -> None:
    assert not [name for name in render(planned(ETHERNET)) if "partitions" in name]
    assert not [name for name in render(plan_of("hgx-h100", 8, "quantum-ndr")) if "partitions" in name]
