"""Bills of material against published ones: counted from the cable and module lists.

Source of the 127-node figures: NVIDIA DGX SuperPOD reference architecture, DGX H100, RA-11333-001 V11, tables 4, 7 and 8.
"""

from __future__ import annotations

import polars as pl
import pytest

from railplan import Catalog, Plan, make_plan, parse_design

ALL_OPTICAL = "cables: {max_length_m: {dac: 0, acc: 0}, spares_percent: 0}"
"""The published bill orders fibre everywhere."""


@pytest.fixture(scope="module")
def superpod(catalog: Catalog) -> Plan:
    text = f"nodes: {{model: dgx-h100, count: 127}}\nfabrics: {{compute: {{family: quantum-ndr, ufm_links: 4}}}}\n{ALL_OPTICAL}\n"
    return make_plan(parse_design(text), catalog)


def test_127_nodes_take_2040_cables_and_4_for_ufm(superpod: Plan) -> None:
    ufm = pl.col("cable").str.starts_with("U")
    assert superpod.cabling.cables.filter(~ufm).height == 2040
    assert superpod.cabling.cables.filter(ufm).height == 4


def test_127_nodes_take_1536_switch_508_node_and_4_ufm_modules(superpod: Plan) -> None:
    roles = superpod.cabling.modules.join(superpod.topology.devices.select("dev", "role"), on="dev")
    switches = pl.col("role").is_in(["leaf", "spine"])
    assert roles.filter(switches).height == 1536
    assert roles.filter(pl.col("role") == "node").height == 508
    assert roles.filter(pl.col("role") == "ufm").height == 4
    parts = dict(superpod.bom.filter(pl.col("category") == "module").select("part_number", "quantity").iter_rows())
    assert parts == {"980-9I510-00NS00": 1536, "980-9I51A-00NS00": 508, "980-9I51S-00NS00": 4}


def test_every_node_module_feeds_two_fibres(superpod: Plan) -> None:
    nodes = superpod.cabling.modules.filter(pl.col("part") == "mma4z00-ns-flt")
    assert nodes["used_connectors"].to_list() == [2] * 508


def test_an_oem_node_has_a_single_module_for_each_nic(catalog: Catalog) -> None:
    """1,024 single-port node modules against 1,536 twin switch modules (48 switches with every cage in use)."""
    plan = make_plan(parse_design(f"nodes: {{model: hgx-h100, count: 128}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{ALL_OPTICAL}\n"), catalog)
    assert dict(plan.bom.filter(pl.col("category") == "module").select("part", "quantity").iter_rows()) == {"mma4z00-ns": 1536, "mma4z00-ns400": 1024}
    assert plan.cabling.cables.height == 2048


def test_the_enterprise_pair_of_12_nodes_joins_its_switches_by_48_links_in_24_copper_cables(catalog: Catalog) -> None:
    plan = make_plan(parse_design("nodes: {model: hgx-h100, count: 12}\nfabrics: {compute: {family: spectrum-x, style: pair}}\n"), catalog)
    between = plan.cabling.cables.filter(pl.col("tier") == "inter-switch")
    assert (between.height, between["links"].sum()) == (24, 48)
    assert set(between["kind"]) == {"dac"}


def test_a_split_copper_cable_serves_two_neighbouring_nodes(catalog: Catalog) -> None:
    plan = make_plan(parse_design("nodes: {model: hgx-h100, count: 4}\nfabrics: {compute: {family: quantum-ndr}}\n"), catalog)
    row = plan.cabling.cables.row(0, named=True)
    assert (row["kind"], row["part"], row["links"]) == ("dac", "mcp7y00", 2)
    assert row["a_port"].count("+") == row["b_port"].count("+") == 1


def test_dgx_h100_cannot_use_twin_copper_with_a_leaf_for_each_rail(superpod: Plan, catalog: Catalog) -> None:
    free = make_plan(parse_design("nodes: {model: dgx-h100, count: 31}\nfabrics: {compute: {family: quantum-ndr, ufm_links: 4}}\n"), catalog)
    node_leaf = free.cabling.cables.filter((pl.col("tier") == "node-leaf") & pl.col("cable").str.starts_with("N"))
    assert set(node_leaf["kind"]) == {"mmf"}
