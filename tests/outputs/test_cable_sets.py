"""Every format that lists cables, parsed back by its own syntax, holds the links and cables of the plan and no others."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
import pygraphviz
import pytest
import yaml
from openpyxl import load_workbook

from railplan import Plan
from railplan.outputs import render
from railplan.outputs.links import links, protocols
from railplan.outputs.sonic import sonic_names

PLANS = [
    ("hgx-b300", 4, "spectrum-x", {}),
    ("hgx-h100", 40, "spectrum-x", {"tiers": 3}),
    ("hgx-h100", 40, "spectrum-x", {"style": "tor"}),
    ("hgx-b300", 8, "tomahawk-5", {"style": "pair", "planes": 1}),
    ("hgx-b300", 6, "tomahawk-6", {"planes": 4}),
    ("gb300-nvl72-tray", 36, "spectrum-x", {}),
    ("dgx-h100", 31, "quantum-ndr", {"ufm_links": 4}),
    ("hgx-b300", 20, "quantum-xdr", {}),
]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

End = tuple[str, str]
Cables = Counter[tuple[frozenset[End], str]]
"""The two ends of a link, device and port, with the cable; "" where the format has no place for it."""


@pytest.fixture(scope="module", params=[*PLANS, "ethernet", "infiniband", "mixed"], ids=lambda p: p if isinstance(p, str) else f"{p[0]}-{p[1]}-{p[2]}-{p[3]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan], cluster_of: Callable[..., Plan]) -> Plan:
    if isinstance(request.param, str):
        return cluster_of(request.param)
    node, count, family, more = request.param
    return plan_of(node, count, family, **more)


def expected(plan: Plan, name: str, cable: bool = True) -> Cables:
    """The links of the plan with ports called after the column `name` of links."""
    columns = ("a_device", f"a_{name}", "b_device", f"b_{name}", "cable")
    return Counter((frozenset({(a, x), (b, y)}), c if cable else "") for a, x, b, y, c in links(plan).select(columns).iter_rows())


def test_the_link_table_carries_every_cable_of_the_plan(plan: Plan) -> None:
    table = links(plan)
    assert table.height == plan.topology.links.height
    assert set(table["cable"]) == set(plan.cabling.cables["cable"])
    assert dict(Counter(table["cable"])) == dict(plan.cabling.cables.select("cable", "links").iter_rows())
    assert table.select("a_device", "a_port").vstack(table.select("b_device", "b_port").rename({"b_device": "a_device", "b_port": "a_port"})).is_unique().all()
    assert table.select("a_device", "a_interface").vstack(table.select("b_device", "b_interface").rename({"b_device": "a_device", "b_interface": "a_interface"})).is_unique().all()


def test_netbox_has_a_cable_for_every_link(plan: Plan) -> None:
    assert Counter((frozenset({(r["side_a_device"], r["side_a_name"]), (r["side_b_device"], r["side_b_name"])}), r["label"]) for r in netbox_rows(plan, "07-cables")) == expected(
        plan, "port"
    )


def netbox_rows(plan: Plan, prefix: str) -> list[dict[str, str]]:
    with zipfile.ZipFile(io.BytesIO(render(plan, ["netbox"])["netbox.zip"])) as archive:
        return [row for name in archive.namelist() if name.startswith(prefix) for row in csv.DictReader(io.StringIO(archive.read(name).decode()))]


def test_ansible_has_both_ends_of_every_link(plan: Plan) -> None:
    hosts = yaml.load(render(plan, ["ansible"])["ansible-inventory.yaml"], LOADER)["all"]["hosts"]
    found = Counter((frozenset({(device, p["interface"]), (p["peer"], p["peer_port"])}), p["cable"]) for device, facts in hosts.items() for p in facts["ports"])
    assert found == Counter(dict.fromkeys(expected(plan, "interface"), 2))


def test_the_point_to_point_sheet_has_every_link(plan: Plan) -> None:
    book = load_workbook(io.BytesIO(render(plan, ["p2p"])["point-to-point.xlsx"]), read_only=True)
    found: Cables = Counter()
    names: Counter[tuple[Any, ...]] = Counter()
    for page in book:
        head, *rows = page.iter_rows(values_only=True)
        for values in rows:
            row = dict(zip(head, values, strict=True))
            found[frozenset({(row["A-Node Name"], row["A-Faceplate"]), (row["Z-Node Name"], row["Z-Faceplate"])}), row["Cable"]] += 1
            names[row["A-Node Name"], row["A-Port"]] += 1
            names[row["Z-Node Name"], row["Z-Port"]] += 1
            assert row["Z-Type"] == "Switch"
    assert found == expected(plan, "port")
    assert set(names.values()) == {1}


ETHERNET: dict[str, Callable[[Plan, bytes], tuple[Cables, Cables]]] = {}
"""Format -> (what its file holds, what the plan has)."""


def ethernet(name: str) -> Callable[[Callable[[Plan, bytes], tuple[Cables, Cables]]], None]:
    def add(reader: Callable[[Plan, bytes], tuple[Cables, Cables]]) -> None:
        ETHERNET[name] = reader

    return add


@ethernet("ptm")
def _(plan: Plan, data: bytes) -> tuple[Cables, Cables]:
    graph = pygraphviz.AGraph(string=data.decode())
    assert graph.is_undirected()
    assert not graph.is_strict()
    found: Cables = Counter((frozenset({(e[0], e.attr["tailport"]), (e[1], e.attr["headport"])}), "") for e in graph.edges())
    heard = links(plan).filter(pl.col("fabric").is_in([f for f, p in protocols(plan).items() if p == "ethernet"]), ~pl.col("a_mute"), ~pl.col("b_mute"))
    want = Counter((frozenset({(a, x), (b, y)}), "") for a, x, b, y in heard.select("a_device", "a_interface", "b_device", "b_interface").iter_rows())
    assert want == expected(plan, "interface", cable=False) or len(plan.topology.fabrics) > 1
    return found, want


@ethernet("air")
def _(plan: Plan, data: bytes) -> tuple[Cables, Cables]:
    document = json.loads(data)
    assert set(document) == {"oob", "nodes", "links"}
    ends = [[(end["node"], end["interface"]) for end in link] for link in document["links"]]
    assert {device for link in ends for device, _ in link} == set(document["nodes"])
    return Counter((frozenset(link), "") for link in ends), expected(plan, "interface", cable=False)


@ethernet("apstra")
def _(plan: Plan, data: bytes) -> tuple[Cables, Cables]:
    rows = csv.DictReader(io.StringIO(data.decode()))
    found = Counter((frozenset({(r["endpoint_1_name"], r["endpoint_1_interface"]), (r["endpoint_2_name"], r["endpoint_2_interface"])}), r["label"]) for r in rows)
    return found, expected(plan, "interface")


@ethernet("containerlab")
def _(plan: Plan, data: bytes) -> tuple[Cables, Cables]:
    topology = yaml.load(data, LOADER)["topology"]
    devices = {name: node["labels"]["device"] for name, node in topology["nodes"].items()}
    found: Cables = Counter()
    for link in topology["links"]:
        (a, _), (b, _) = (end.split(":") for end in link["endpoints"])
        found[frozenset({(devices[a], link["vars"]["a_port"]), (devices[b], link["vars"]["b_port"])}), link["vars"]["cable"]] += 1
    assert len({end for link in topology["links"] for end in link["endpoints"]}) == 2 * len(topology["links"])
    return found, expected(plan, "port")


@ethernet("sonic")
def _(plan: Plan, data: bytes) -> tuple[Cables, Cables]:
    switches = json.loads(data)
    names = {(p, cage, child): name for p, cage, child, name in sonic_names(plan).iter_rows()}
    profiles = dict(plan.topology.devices.select("device", "profile").iter_rows())
    found: Cables = Counter()
    for switch, tables in switches.items():
        assert set(tables) == {"DEVICE_NEIGHBOR", "PORT"}
        assert list(tables["DEVICE_NEIGHBOR"]) == list(tables["PORT"])
        for port, peer in tables["DEVICE_NEIGHBOR"].items():
            assert set(tables["PORT"][port]) == {"description"}
            found[frozenset({(switch, port), (peer["name"], peer["port"])}), tables["PORT"][port]["description"].split()[-1]] += 1
    want: Cables = Counter()
    for row in links(plan).iter_rows(named=True):
        ends = [(row[f"{s}_device"], row[f"{s}_interface"] if row[f"{s}_host"] else names[profiles[row[f"{s}_device"]], row[f"{s}_cage_no"], row[f"{s}_child"]]) for s in "ab"]
        want[frozenset(ends), row["cable"]] += 2 - row["a_host"]
    return found, want


@pytest.mark.parametrize("name", ["ptm", "air", "apstra", "containerlab", "sonic"])
def test_an_ethernet_format_has_every_link(plan: Plan, name: str) -> None:
    if "ethernet" not in protocols(plan if name == "ptm" else plan.rails).values():
        pytest.skip("the fabric is InfiniBand")
    family = plan.design.fabrics.compute.family
    if (name, family) in (("air", "tomahawk-5"), ("air", "tomahawk-6"), ("sonic", "tomahawk-6")):
        pytest.skip(f"{name} does not know the switches of {family}")
    files = render(plan, [name])
    (data,) = (files[file] for file in files if file not in ("design.yaml", "summary.json"))
    found, want = ETHERNET[name](plan if name == "ptm" else plan.rails, data)
    assert found == want
