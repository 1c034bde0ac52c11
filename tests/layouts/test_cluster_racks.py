"""Racks of a whole cluster: servers spread as asked, PDUs in every rack, also in a cluster of one rack."""

from __future__ import annotations

import polars as pl
import pytest

from railplan import Catalog, Plan, make_plan, parse_design

OTHERS = """
  front: {serves: [inband, storage, frontend], family: spectrum-x}
  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}
"""


def planned(catalog: Catalog, nodes: int, servers: str, more: str = "") -> Plan:
    compute = "style: single" if nodes < 3 else ""
    return make_plan(
        parse_design(
            f"nodes: {{model: hgx-b300, count: {nodes}}}\nservers: {servers}\npdus: {{per_rack: 2}}\nfabrics:\n  compute: {{family: spectrum-x, {compute}}}{OTHERS}{more}"
        ),
        catalog,
    )


@pytest.mark.parametrize(("nodes", "hall"), [(1, ""), (1, "hall: {rack_power_kw: 60}\n"), (2, ""), (33, ""), (64, "hall: {rack_power_kw: 16}\n")])
def test_every_rack_has_two_pdus_and_each_of_them_a_management_port(catalog: Catalog, nodes: int, hall: str) -> None:
    plan = planned(catalog, nodes, "[{name: cpu, model: cpu-node, count: 3}]", hall)
    pdus = plan.topology.devices.filter(pl.col("role") == "pdu")["dev"]
    assert plan.placement.places.filter(pl.col("dev").is_in(pdus.implode())).group_by("rack").len()["len"].to_list() == [2] * plan.placement.racks.height
    ends = plan.topology.links.filter(pl.col("fabric") == "oob")["a_dev"]
    assert set(pdus) <= set(ends)


def test_control_nodes_split_over_two_racks_leave_neither_with_more_than_half(catalog: Catalog) -> None:
    plan = planned(catalog, 8, "[{name: ctl, model: control-node, count: 6, racks_at_least: 2}]")
    control = plan.topology.devices.filter(pl.col("device").str.starts_with("ctl"))["dev"]
    racks = plan.placement.places.filter(pl.col("dev").is_in(control.implode())).group_by("rack").len()
    assert racks["len"].to_list() == [3, 3]


def test_an_out_of_band_leaf_hangs_on_a_pair_by_split_copper_run_below_its_highest_speed(catalog: Catalog) -> None:
    """MCP7Y60 is sold for 2 x 200G and for 2 x 100G: what chooses it and what checks it agree."""
    others = OTHERS.replace("spine_switch: nvidia-sn4600c", "uplinks: {fabric: front}")
    plan = make_plan(parse_design(f"nodes: {{model: hgx-b300, count: 4}}\nfabrics:\n  compute: {{family: spectrum-x}}{others}"), catalog)
    up = plan.cabling.cables.filter((pl.col("fabric") == "front") & (pl.col("gbps") == 100))
    assert set(up["part"]) == {"mcp7y60"}
    assert up["links"].sum() == 2


def test_pdus_that_take_units_and_weight_leave_less_of_a_rack_to_nodes(catalog: Catalog) -> None:
    """Three PDUs of 2 U at the top: 42 U hold four nodes of 8 U and them, and in a rack that bears little the PDUs count too."""
    oob = "{serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}"
    fabrics = f"fabrics: {{compute: {{family: spectrum-x}}, oob: {oob}}}"

    def plan_with(pdu: str, hall: str) -> Plan:
        return make_plan(parse_design(f"nodes: {{model: hgx-b300, count: 8}}\npdus: {{model: {pdu}, per_rack: 3}}\nhall: {{rack: rack-42u{hall}}}\n{fabrics}\n"), catalog)

    plan = plan_with("pdu-2u", "")
    standing = plan.topology.devices.filter(pl.col("role") == "pdu").join(plan.placement.places, on="dev")
    assert sorted(standing["ru"].unique().to_list()) == [37, 39, 41]
    assert plan.placement.places.filter(pl.col("height_ru") == 8).group_by("rack").len()["len"].max() == 4
    light = plan_with("pdu-rack", ", rack_weight_kg: 620")
    assert light.placement.places.filter(pl.col("height_ru") == 8).group_by("rack").len()["len"].max() == 3


def test_no_rack_stands_empty_between_servers_that_are_spread(catalog: Catalog) -> None:
    """A unit of 900 kg that finds no room in the rack of its turn goes four racks on; those passed by do not count."""
    plan = planned(catalog, 8, "[{name: app, model: storage-appliance, count: 32, racks_at_least: 2}, {name: cdu, model: cdu-row, count: 6, racks_at_least: 4}]")
    assert plan.placement.racks.height == plan.topology.devices.filter(pl.col("role") == "pdu").height / 2
