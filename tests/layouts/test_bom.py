"""The bill lists one licence for each NIC on an InfiniBand fabric."""

from __future__ import annotations

import polars as pl
import pytest

from railplan import load_catalog, make_plan
from railplan.fabric.design import Design


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
