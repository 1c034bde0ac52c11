"""summary.json: the promised keys, and numbers that the tables agree with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from railplan import Plan, __version__
from railplan.outputs import tables
from railplan.outputs.summary import cost, cost_line, files, summary

PROMISED: dict[str, Any] = {
    "design": str,
    "railplan": str,
    "nodes": int,
    "gpus": int,
    "cables": {"total": int, "by_kind": {"dac": int}},
    "modules": dict,
    "fibres": dict,
    "racks": {"used": int, "power_kw": float},
    "cost": {"currency": str, "total": float, "unpriced_rows": int},
    "placement": {"objective": float, "bound": float, "gap_percent": float, "baseline": float, "status": str, "seconds": float},
    "findings": {"errors": int, "warnings": int},
}
FABRIC: dict[str, Any] = {
    **dict.fromkeys(("family", "switch", "style"), str),
    **dict.fromkeys(("tiers", "planes", "rails", "pods", "leaves", "spines", "cores", "links_per_leaf_spine_pair"), int),
    "links": {"node-leaf": int, "leaf-spine": int, "spine-core": int},
    "oversubscription": {"designed": float, "worst_leaf": float, "worst_tier": float},
    "bisection": {"required_gbps": int, "by_count_gbps": int, "by_flow_gbps": int, "non_blocking": bool},
}


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "quantum-ndr")


def has(promised: dict[str, Any], found: dict[str, Any]) -> None:
    for key, kind in promised.items():
        if isinstance(kind, dict):
            has(kind, found[key])
        else:
            assert isinstance(found[key], kind), key


def test_it_has_every_promised_key(plan: Plan) -> None:
    found = json.loads(files(plan)["summary.json"])
    has(PROMISED, found)
    has(FABRIC, found["fabrics"]["compute"])
    assert found["railplan"] == __version__


def test_counts_are_those_of_the_tables(plan: Plan) -> None:
    found, devices, ports, cables = summary(plan), tables.devices(plan), tables.ports(plan), tables.cables(plan)
    compute = found["fabrics"]["compute"]
    assert (found["nodes"], found["gpus"]) == (40, 320)
    for role, key in (("leaf", "leaves"), ("spine", "spines"), ("core", "cores")):
        assert compute[key] == devices.filter(pl.col("role") == role).height
    assert {tier: 2 * count for tier, count in compute["links"].items() if count} == dict(ports.group_by("tier").len().iter_rows())
    assert found["cables"]["total"] == cables.height == sum(found["cables"]["by_kind"].values())
    assert sum(found["modules"].values()) == plan.bom.filter(pl.col("category") == "module")["quantity"].sum()
    assert sum(n for lengths in found["fibres"].values() for n in lengths.values()) == plan.bom.filter(pl.col("category") == "fibre")["quantity"].sum()
    assert (compute["tiers"], compute["planes"], compute["rails"], compute["pods"], compute["links_per_leaf_spine_pair"]) == (2, 1, 8, 2, 4)


def test_it_counts_ufm_links_among_the_links_of_leaves(plan_of: Callable[..., Plan]) -> None:
    compute = summary(plan_of("dgx-h100", 31, "quantum-ndr", ufm_links=4))["fabrics"]["compute"]
    assert (compute["links"]["node-leaf"], compute["ufm_links"]) == (31 * 8 + 4, 4)


def test_the_total_adds_only_the_designs_currency_and_says_what_it_misses(plan: Plan) -> None:
    bom = plan.bom.head(3).with_columns(total=pl.Series([100.0, 50.0, None]), currency=pl.Series(["USD", "EUR", ""]))
    found = cost(replace(plan, bom=bom))
    assert found == {"currency": "USD", "total": 100.0, "unpriced_rows": 1, "other_currency_rows": 1, "rows": 3}
    assert cost_line(found) == "100 USD, not complete: 1 of 3 rows have no price, 1 rows are in another currency"


def test_infinite_oversubscription_is_null(plan: Plan) -> None:
    proof = replace(plan.proofs["compute"], worst_leaf_oversubscription=float("inf"))
    found = json.loads(files(replace(plan, proofs={"compute": proof}))["summary.json"])
    assert found["fabrics"]["compute"]["oversubscription"]["worst_leaf"] is None


def test_one_node_is_summed_up_too(plan_of: Callable[..., Plan]) -> None:
    found = json.loads(files(plan_of("hgx-b300", 1, "spectrum-x"))["summary.json"])
    assert (found["gpus"], found["racks"]["used"], found["fabrics"]["compute"]["spines"]) == (8, 1, 0)


@pytest.mark.parametrize("name", ["ethernet", "infiniband", "mixed"])
def test_fabrics_of_a_cluster_add_up_to_the_whole(name: str, cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of(name)
    found = summary(plan)
    fabrics = found["fabrics"].values()
    assert list(found["fabrics"]) == list(plan.topology.fabrics)
    assert sum(f["cables"]["total"] for f in fabrics) == found["cables"]["total"]
    for kind, count in found["cables"]["by_kind"].items():
        assert sum(f["cables"]["by_kind"].get(kind, 0) for f in fabrics) == count
    assert sum(f["modules"] for f in fabrics) == sum(found["modules"].values())
    nodes = plan.bom.filter(pl.col("fabric") == "")
    assert sum(f["cost"]["rows"] for f in fabrics) + nodes.height == found["cost"]["rows"]
    assert sum(f["cost"]["total"] for f in fabrics) + nodes["total"].sum() == pytest.approx(found["cost"]["total"])
    for fabric in fabrics:
        assert sum(fabric["switches"].values()) == fabric["leaves"] + fabric["spines"] + fabric["cores"]


def test_rows_of_the_hall_add_up_to_all_racks(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("ethernet")
    found, racks = summary(plan)["racks"], plan.placement.racks
    assert list(found["rows"]) == racks["row"].unique(maintain_order=True).to_list()
    assert sum(row["racks"] for row in found["rows"].values()) == racks.height
    assert sum(row["power_kw"] for row in found["rows"].values()) == pytest.approx(found["power_kw"])
    assert sum(row["weight_kg"] for row in found["rows"].values()) == pytest.approx(racks["weight_kg"].sum())
