"""The bill lists one licence for each NIC on an InfiniBand fabric, and says which fabric everything belongs to."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from railplan import Plan, load_catalog, make_plan
from railplan.fabric.design import Design
from railplan.layouts.check_cables import check_cabling


@pytest.mark.parametrize(
    ("node", "family", "fabric", "licences"),
    [
        ("dgx-h100", "quantum-ndr", {}, 16 * 8),
        ("dgx-b300", "quantum-xdr", {}, 16 * 8),
        ("dgx-b300", "quantum-ndr", {"planes": 2}, 16 * 8),
        ("dgx-h100", "quantum-ndr", {"ufm_links": 4}, 16 * 8),
    ],
)
def test_a_licence_for_each_nic_of_a_node(node: str, family: str, fabric: dict[str, object], licences: int) -> None:
    plan = make_plan(Design.model_validate({"nodes": {"model": node, "count": 16}, "fabrics": {"compute": {"family": family, **fabric}}}), load_catalog())
    row = plan.bom.filter(pl.col("category") == "licence").row(0, named=True)
    assert (row["part"], row["unit"], row["quantity"], row["spares"]) == ("ufm-endpoint", "licence", licences, 0)


def test_nodes_without_gpus_are_counted_by_their_nics_too() -> None:
    store = {"name": "store", "model": "storage-server", "count": 4}
    design = {"nodes": {"model": "dgx-h100", "count": 8}, "more_nodes": [store], "fabrics": {"compute": {"family": "quantum-ndr"}}}
    plan = make_plan(Design.model_validate(design), load_catalog())
    assert plan.bom.filter(pl.col("category") == "licence")["quantity"].to_list() == [8 * 8 + 4 * 2]


def test_ethernet_needs_no_licence() -> None:
    plan = make_plan(Design.model_validate({"nodes": {"model": "hgx-b300", "count": 8}, "fabrics": {"compute": {"family": "spectrum-x"}}}), load_catalog())
    assert plan.bom.filter(pl.col("category") == "licence").is_empty()


def test_licences_are_counted_for_each_infiniband_fabric(cluster_of: Callable[..., Plan]) -> None:
    compute_and_storage = cluster_of("infiniband").bom.filter(pl.col("category") == "licence").select("fabric", "quantity").rows()
    assert compute_and_storage == [("compute", 40 * 8), ("stor", 40 * 2 + 6 + 4 * 8)]  # storage ports: two of a DGX H100, one of a server, eight of an appliance
    assert cluster_of("mixed").bom.filter(pl.col("category") == "licence").select("fabric", "quantity").rows() == [("stor", 12 * 2 + 4 * 8)]


@pytest.mark.parametrize("name", ["ethernet", "infiniband", "mixed"])
def test_rows_of_a_fabric_add_up_to_its_tables(name: str, cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of(name)
    present = plan.topology.devices.filter("present")
    hosts = present.filter(pl.col("role").is_in(("node", "ufm", "server", "pdu")))
    quantity = plan.bom.group_by("category", "fabric").agg(pl.col("quantity").sum())
    found = {(category, fabric): count for category, fabric, count in quantity.iter_rows()}
    assert found["node", ""] == hosts.height
    for fabric in plan.topology.fabrics:
        assert found["switch", fabric] == present.filter((pl.col("fabric") == fabric) & pl.col("role").is_in(("leaf", "spine", "core"))).height
        cables = plan.cabling.cables.filter(pl.col("fabric") == fabric)
        assert found.get(("copper", fabric), 0) + found.get(("fibre", fabric), 0) == cables.height
        ends = cables.filter(pl.col("a_module") != "")
        assert (found.get(("module", fabric), 0) > 0) == (ends.height > 0)
    assert sum(count for (category, _), count in found.items() if category == "module") == plan.cabling.modules.height
    assert {fabric for (category, fabric) in found if category != "node"} == set(plan.topology.fabrics)


def test_a_bill_that_gives_a_cable_to_another_fabric_is_caught(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("ethernet")
    moved = plan.bom.with_columns(fabric=pl.when(pl.col("part") == "cat6a").then(pl.lit("front")).otherwise(pl.col("fabric")))
    found = check_cabling(plan.topology, plan.placement, plan.cabling, moved, plan.catalog)
    assert {p.rule for p in found} == {"bill"}
    assert [p.what.rsplit(" ", 1)[1] for p in found] == ["front", "oob"]
    assert not check_cabling(plan.topology, plan.placement, plan.cabling, plan.bom, plan.catalog)
