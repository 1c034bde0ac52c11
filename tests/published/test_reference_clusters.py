"""The reference clusters, complete: every count of the published table from the plan's tables, and how far the power is from it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

import railplan
from railplan import Plan, load_catalog, make_plan, parse_design
from railplan.cli import main
from railplan.outputs import tables
from railplan.outputs.summary import summary
from railplan.outputs.terminal import print_summary

TABLE = {
    64: {"gpus": 512, "cpu": 24, "control": 6, "storage": 9, "usable_tb": 512, "mw": 0.98},
    128: {"gpus": 1024, "cpu": 48, "control": 6, "storage": 17, "usable_tb": 1024, "mw": 1.95},
    288: {"gpus": 2304, "cpu": 108, "control": 6, "storage": 38, "usable_tb": 2304, "mw": 4.39},
}
"""The published table, written down a second time."""


def new(*flags: str) -> str:
    done = CliRunner().invoke(main, ["new", *flags])
    assert done.exit_code == 0, done.output
    return done.output


@cache
def planned(*flags: str) -> Plan:
    return make_plan(parse_design(new(*flags)), load_catalog())


def count(plan: Plan, prefix: str) -> int:
    return tables.devices(plan).filter(pl.col("device").str.contains(rf"^{prefix}-\d+$")).height


def tb(plan: Plan, datum: str) -> float:
    return round(sum(getattr(plan.catalog.nodes[model], datum) or 0 for model in tables.devices(plan)["model"] if model in plan.catalog.nodes), 3)


@pytest.mark.parametrize("nodes", TABLE)
def test_the_published_table_is_reproduced(nodes: int) -> None:
    plan, row = planned("--reference", str(nodes)), TABLE[nodes]
    assert count(plan, "gpu") == nodes
    assert tables.ports(plan).filter((pl.col("fabric") == "compute") & pl.col("device").str.starts_with("gpu-")).select("device", "gpu").n_unique() == row["gpus"]
    assert [count(plan, kind) for kind in ("cpu", "control", "storage")] == [row["cpu"], row["control"], row["storage"]]
    control = tables.devices(plan).filter(pl.col("device").str.starts_with("control-"))
    assert control.group_by("rack").len()["len"].to_list() == [3, 3]
    assert tb(plan, "storage_raw_tb") >= 3 * row["gpus"] > tb(plan, "storage_raw_tb") - 2 * 184.32
    kw = float(tables.racks(plan)["power_w"].sum()) / 1000
    told = summary(plan)["reference"]["figures"]
    power = [f for f in told if f["holds"] == "about"]
    assert power[0]["counted"] == pytest.approx(kw)
    assert all(f["published"] == pytest.approx(1000 * row["mw"]) for f in power)
    assert 0 < power[0]["difference_percent"] < 11  # highest draw of everything, assumed where unknown
    assert abs(power[1]["difference_percent"]) < 2  # as power is planned
    assert all(f["agrees"] for f in told)
    assert not [p for p in plan.findings if p.rule == "reference"]


@pytest.mark.parametrize("nodes", TABLE)
def test_power_as_planned_is_reached_a_second_way(nodes: int) -> None:
    plan = planned("--reference", str(nodes))
    kw = 0.0
    for model in tables.devices(plan)["model"]:
        part = plan.catalog.nodes.get(model) or plan.catalog.switches[model]
        kw += 14 if model == "hgx-b300" else ((part.power_typical_w if model in plan.catalog.switches else part.power_max_w) or 0) / 1000
    assert [f for f in plan.reference if f.holds == "about"][1].counted == pytest.approx(kw, abs=0.001)


def test_an_appliance_brings_the_published_capacity_and_half_of_the_planned_bandwidth() -> None:
    plan = planned("--reference", "64", "--storage", "appliance")
    assert tb(plan, "storage_usable_tb") == TABLE[64]["usable_tb"]
    (warning,) = [p for p in plan.findings if p.rule == "reference"]
    assert warning.level == "warning"
    assert "3,200 Gb/s of storage bandwidth, the reference cluster has 6,400 or more" in warning.what
    assert "take 4 for all of it" in new("--reference", "64", "--storage", "appliance")


@pytest.mark.parametrize("nodes", TABLE)
def test_fabrics_are_as_the_reference_asks(nodes: int) -> None:
    plan, facts = planned("--reference", str(nodes)), summary(planned("--reference", str(nodes)))["fabrics"]
    assert facts["compute"]["bisection"]["non_blocking"]
    assert facts["compute"]["planes"] == 2
    ports = tables.ports(plan)
    north_south = ports.filter((pl.col("fabric") == "north-south") & pl.col("device").str.starts_with("gpu-"))
    each = north_south.group_by("device").agg(pl.col("gbps").sum(), leaves=pl.col("peer_device").n_unique())
    assert (each.height, each["gbps"].min(), each["leaves"].min()) == (nodes, 800, 2)
    ratio = facts["north-south"]["oversubscription"]
    assert (ratio is None) == (facts["north-south"]["spines"] == 0)
    assert ratio is None or ratio["worst_leaf"] <= 1
    managed = set(ports.filter(pl.col("fabric") == "oob")["device"])
    devices = tables.devices(plan)
    assert managed >= set(devices.filter(pl.col("fabric") != "oob")["device"])
    assert set(ports.filter((pl.col("fabric") == "oob") & (pl.col("tier") == "node-leaf"))["gbps"]) == {1}


def test_the_published_north_south_switches_of_64_and_128_nodes() -> None:
    """NVIDIA/enterprise-ras has 2 north-south leaves for 64 nodes, 8 and 4 spines for 128; its systems have two ports of 200G there, ours two of 400G."""
    assert [summary(planned("--reference", n))["fabrics"]["north-south"]["leaves"] for n in ("64", "128")] == [2, 8]
    assert [summary(planned("--reference", n))["fabrics"]["north-south"]["spines"] for n in ("64", "128")] == [0, 4]


@pytest.mark.parametrize("family", ["tomahawk-6", "tomahawk-5", "quantum-ndr", "quantum-xdr"])
def test_other_families_carry_the_same_cluster(family: str) -> None:
    plan = planned("--reference", "64", "--family", family)
    assert summary(plan)["fabrics"]["compute"]["bisection"]["non_blocking"]
    assert not [p for p in plan.findings if p.rule == "reference"]
    assert all(plan.catalog.switches[facts.leaf_model].protocol == "ethernet" for name, facts in plan.topology.fabrics.items() if name != "compute")


def test_what_is_counted_and_how_far_it_is_stands_in_the_summary() -> None:
    out = io.StringIO()
    print_summary(planned("--reference", "64"), Console(file=out, width=300, highlight=False))
    text = out.getvalue()
    assert "as the 64-node reference cluster: 64 GPU nodes, 512 GPUs, 24 CPU nodes, 6 control-plane nodes, 2 racks with control-plane nodes, 9 storage nodes" in text
    assert "kW that the racks draw at most, the reference about 980: " in text
    assert "% more" in text


def test_a_cluster_that_differs_is_told(plan_of: Callable[..., Plan]) -> None:
    text = new("--reference", "64").replace("count: 24}", "count: 20}").replace("racks_at_least: 2", "racks_at_least: 3")
    plan = make_plan(parse_design(text), load_catalog())
    assert {p.what for p in plan.findings if p.rule == "reference"} == {
        "20 CPU nodes, the reference cluster has 24",
        "3 racks with control-plane nodes, the reference cluster has 2",
    }
    out = io.StringIO()
    print_summary(plan, Console(file=out, width=300, highlight=False))
    assert "20 CPU nodes, the reference has 24" in out.getvalue()
    assert summary(plan_of("hgx-b300", 4, "spectrum-x"))["reference"] is None


def test_another_number_of_nodes_follows_the_same_rules_and_is_compared_with_nothing() -> None:
    text = new("--reference", "64", "--nodes", "96", "--name", "mine", "--grow-to", "128")
    design = parse_design(text)
    assert (design.reference, design.name, design.nodes.count, design.nodes.grow_to) == (None, "mine", 96, 128)
    assert {s.name: s.count for s in design.servers} == {"cpu": 36, "control": 6, "storage": 13}


@pytest.mark.parametrize("nodes", TABLE)
def test_the_example_is_what_the_tool_writes(nodes: int) -> None:
    example = Path(railplan.__file__).parent / "examples" / f"cluster-{nodes}.yaml"
    assert example.read_text(encoding="utf-8") == new("--reference", str(nodes))


def test_storage_without_a_cluster_and_unknown_parts_are_refused() -> None:
    done = CliRunner().invoke(main, ["new", "--storage", "nodes"])
    assert done.exit_code == 2
    assert "add --reference" in done.output
    done = CliRunner().invoke(main, ["new", "--reference", "64", "--node", "hgx-b301"])
    assert done.exit_code == 1
    assert "hgx-b300" in done.output
    assert CliRunner().invoke(main, ["new", "--reference", "65"]).exit_code == 2


def test_summary_json_is_plain_data() -> None:
    assert json.loads(json.dumps(summary(planned("--reference", "64"))))["reference"]["nodes"] == 64
