"""Published clusters with all their fabrics, counted from the tables; and a published wire map that contradicts itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from railplan.fabric.check_ports import no_port_is_used_twice
from railplan.fabric.checks import check_fabric
from railplan.fabric.design import Design
from railplan.fabric.topology import Topology
from railplan.layouts.placement import place
from railplan.layouts.rules import check_placement
from railplan.plan import with_pdus_for_racks
from railplan.vendors.catalog import load_catalog

CATALOG = load_catalog()
CASES = {case["id"]: case for case in yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text()) if "expected_by_fabric" in case}
IDS = list(CASES)


@cache
def built(case: str) -> Topology:
    return with_pdus_for_racks(Design.model_validate(CASES[case]["design"]), CATALOG)


def switches(topology: Topology, fabric: str, role: str) -> int:
    return topology.devices.filter(pl.col("present") & (pl.col("fabric") == fabric) & (pl.col("role") == role)).height


def ports(topology: Topology, fabric: str, *roles: str) -> dict[int, int]:
    """Client ports of a fabric by their speed; those of devices of some roles alone where any are named."""
    ends = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf")).join(topology.devices.select("dev", "role"), left_on="a_dev", right_on="dev")
    asked = ends.filter(pl.col("role").is_in(roles)) if roles else ends
    return dict(asked.group_by("gbps").len().iter_rows())


def gpus(topology: Topology) -> int:
    return topology.links.filter(pl.col("gpu") >= 0).select("a_dev", "gpu").n_unique()


COUNTS: dict[str, Callable[[Topology, str], Any]] = {
    "leaves": lambda t, f: switches(t, f, "leaf"),
    "spines": lambda t, f: switches(t, f, "spine"),
    "ports": ports,
    "gpu_ports": lambda t, f: ports(t, f, "node"),
    "server_ports": lambda t, f: ports(t, f, "server"),
    "switch_ports": lambda t, f: ports(t, f, "leaf", "spine"),
    "peer_gbps": lambda t, f: t.links.filter((pl.col("fabric") == f) & (pl.col("tier") == "inter-switch"))["gbps"].sum(),
    "gbps_per_gpu": lambda t, f: sum(gbps * count for gbps, count in ports(t, f, "server").items()) / gpus(t),
}


@pytest.mark.parametrize("case", IDS)
def test_the_published_figures_of_every_fabric_are_reproduced(case: str) -> None:
    topology, expected = built(case), CASES[case]["expected_by_fabric"]
    counted = {fabric: {key: COUNTS[key](topology, fabric) for key in figures} for fabric, figures in expected.items()}
    assert counted == expected


@pytest.mark.parametrize("case", IDS)
def test_the_published_cluster_passes_every_check_of_its_fabrics(case: str) -> None:
    assert [p for p in check_fabric(built(case)) if p.level == "error"] == []


@pytest.mark.parametrize("case", [name for name in IDS if "racks" in CASES[name]])
def test_the_published_cluster_stands_in_the_published_racks(case: str) -> None:
    topology = built(case)
    placement = place(topology, CATALOG)
    assert [p for p in check_placement(topology, placement) if p.level == "error"] == []
    assert placement.racks.filter(~pl.col("reserved")).height == CASES[case]["racks"]


def test_every_management_port_of_the_superpod_is_counted() -> None:
    """329 ports: 127 BMCs, 2 UFM and 5 management servers with two each, 71 switches, 3 PDUs in each of 38 racks, less the switches that serve."""
    topology = built("h100-superpod-127-nodes-complete")
    managed = topology.devices.filter(pl.col("role").is_in(["leaf", "spine"]) & (pl.col("fabric") != "oob"))
    want = 127 + 2 * 2 + 5 * 2 + sum(CATALOG.switches[model].management_ports for model in managed["model"]) + 3 * CASES["h100-superpod-127-nodes-complete"]["racks"]
    assert sum(ports(topology, "oob").values()) == want


def test_links_between_the_pair_are_half_of_the_links_of_its_gpus() -> None:
    """48 of 96 in the sheet, which is non-blocking for any two halves."""
    topology = built("enterprise-12-nodes-with-servers")
    between = topology.links.filter((pl.col("fabric") == "compute") & (pl.col("tier") == "inter-switch"))
    assert between["gbps"].sum() * 2 == sum(gbps * count for gbps, count in ports(topology, "compute").items())


def test_the_published_wire_map_books_out_of_band_ports_twice_and_would_be_refused() -> None:
    """Of its 80 links of 1G, 64 have a port of their own; links of ours on the sheet's ports are found to collide."""
    case = "enterprise-12-nodes-with-servers"
    topology, booked = built(case), CASES[case]["booked_twice"]
    assert 80 - sum(times - 1 for _, _, times in booked) == 64
    assert no_port_is_used_twice(topology) == []
    leaves = topology.devices.filter((pl.col("fabric") == "oob") & (pl.col("role") == "leaf"))["dev"].to_list()
    wanted = [(leaves[switch - 1], port) for switch, port, times in booked for _ in range(times)]
    spare = topology.links.filter((pl.col("fabric") == "oob") & (pl.col("tier") == "node-leaf")).tail(len(wanted))["link"]
    moved = pl.DataFrame({"link": spare, "to_dev": [dev for dev, _ in wanted], "to_cage": [port for _, port in wanted]})
    others = (pl.col("fabric") != "oob") | pl.col("to_dev").is_not_null()
    links = topology.links.join(moved, on="link", how="left", maintain_order="left").filter(others)
    links = links.with_columns(b_dev=pl.coalesce("to_dev", "b_dev").cast(links.schema["b_dev"]), b_cage=pl.coalesce("to_cage", "b_cage").cast(links.schema["b_cage"]))
    found = no_port_is_used_twice(replace(topology, links=links.drop("to_dev", "to_cage")))
    assert "2 links end on this port" in found[0].what
    assert found[0].where == "oob-leaf-01 swp7"
    assert f"({len(booked)} in all)" in found[-1].what
