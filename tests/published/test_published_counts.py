"""Published designs are reproduced: every figure is counted from the tables, none is taken from sizing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pytest
import yaml

from railplan.fabric.bisection import check_bisection, prove
from railplan.fabric.build import build_topology
from railplan.fabric.checks import check_fabric
from railplan.fabric.design import Design
from railplan.fabric.graph import name_ends
from railplan.fabric.topology import Topology
from railplan.fabric.traffic import check_traffic, worst_traffic
from railplan.problems import DesignError
from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import Node

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
BUILT = [case for case in CASES if "expected" in case and "refused" not in case["expected"]]
REFUSED = [case for case in CASES if "expected" in case and "refused" in case["expected"]]


def devices(topology: Topology, role: str) -> pl.DataFrame:
    return topology.devices.filter((pl.col("role") == role) & pl.col("present"))


def links(topology: Topology, tier: str) -> pl.DataFrame:
    return topology.links.filter(pl.col("tier") == tier)


def gpus(topology: Topology) -> int:
    part = topology.profiles["node"].part
    assert isinstance(part, Node)
    assert links(topology, "node-leaf").filter(pl.col("gpu") >= 0).select("a_dev", "gpu").n_unique() == devices(topology, "node").height * part.gpus
    return devices(topology, "node").height * part.gpus


def the_only(values: pl.Series) -> int:
    """The value that all of them share."""
    assert values.n_unique() == 1, sorted(values.unique().to_list())
    return int(values[0])


def links_per_pair(topology: Topology) -> int:
    pairs = links(topology, "leaf-spine").group_by("a_dev", "b_dev").len()
    meant = devices(topology, "leaf").join(devices(topology, "spine"), on=["plane", "group"]).filter(pl.col("rail_right").is_in([""]) | (pl.col("rail_right") == pl.col("rail")))
    assert pairs.height == meant.height, "every leaf meets every spine of its plane, or of its group"
    return the_only(pairs["len"])


def spine_groups(topology: Topology) -> pl.DataFrame:
    """Sets of leaves and spines that are joined with each other, found along the links: number of each in every set."""
    graph: nx.Graph = nx.Graph(links(topology, "leaf-spine").select("a_dev", "b_dev").iter_rows())
    roles, groups = topology.devices["role"], topology.devices["group"]
    sets = list(nx.connected_components(graph))
    return pl.DataFrame(
        {"group": [groups[min(s)] for s in sets], "leaves": [sum(roles[d] == "leaf" for d in s) for s in sets], "spines": [sum(roles[d] == "spine" for d in s) for s in sets]}
    )


def groups_of_sus(topology: Topology) -> int:
    return devices(topology, "leaf")["group"].n_unique()


def switches(topology: Topology) -> int:
    return sum(devices(topology, role).height for role in ("leaf", "spine", "core"))


def leaf_ports(topology: Topology, tier: str, side: str) -> dict[str, Any]:
    """First and last port, and number of ports, that every leaf uses for a tier; all leaves must be alike."""
    named = name_ends(topology).filter(pl.col("tier") == tier).sort(f"{side}_dev", f"{side}_cage", f"{side}_child")
    used = named.group_by(f"{side}_dev", maintain_order=True).agg(pl.col(f"{side}_port"))[f"{side}_port"].to_list()
    assert all(ports == used[0] for ports in used)
    return {"from": used[0][0], "to": used[0][-1], "ports": len(used[0])}


def cages(topology: Topology, *roles: str) -> int:
    dev = pl.concat([devices(topology, role) for role in roles])["dev"].implode()
    ends = pl.concat([topology.links.select(dev=f"{s}_dev", cage=f"{s}_cage") for s in "ab"])
    return ends.filter(pl.col("dev").is_in(dev)).n_unique()


COUNTS: dict[str, Callable[[Topology], Any]] = {
    "gpus": gpus,
    "pods": lambda t: devices(t, "leaf")["pod"].n_unique(),
    "planes": lambda t: devices(t, "leaf")["plane"].n_unique(),
    "leaves": lambda t: devices(t, "leaf").height,
    "spines": lambda t: devices(t, "spine").height,
    "cores": lambda t: devices(t, "core").height,
    "switches": switches,
    "tiers": lambda t: sum(devices(t, role).height > 0 for role in ("leaf", "spine", "core")),
    "groups_of_sus": groups_of_sus,
    "sus_per_group": lambda t: the_only(devices(t, "leaf").group_by("group").agg(pl.col("pod").n_unique())["pod"]),
    "spine_groups_per_group": lambda t: the_only(spine_groups(t).group_by("group").len()["len"]),
    "leaves_per_spine_group": lambda t: the_only(spine_groups(t)["leaves"]),
    "spines_per_spine_group": lambda t: the_only(spine_groups(t)["spines"]),
    "cores_per_group": lambda t: devices(t, "core").height // groups_of_sus(t),
    "switches_per_group": lambda t: switches(t) // groups_of_sus(t),
    "nodes_per_leaf": lambda t: the_only(links(t, "node-leaf").group_by("b_dev").agg(pl.col("a_dev").n_unique())["a_dev"]),
    "node_and_ufm_links": lambda t: links(t, "node-leaf").height,
    "ufm_links": lambda t: links(t, "node-leaf").filter(pl.col("series") == "U").height,
    "leaf_spine_links": lambda t: links(t, "leaf-spine").height,
    "spine_core_links": lambda t: links(t, "spine-core").height,
    "uplink_gbps": lambda t: the_only(links(t, "leaf-spine")["gbps"]),
    "leaf_cages_down": lambda t: links(t, "node-leaf").select("b_dev", "b_cage").n_unique(),
    "inter_switch_links": lambda t: links(t, "inter-switch").height,
    "links_per_pair": links_per_pair,
    "spine_ports_used": lambda t: the_only(links(t, "leaf-spine").group_by("b_dev").len()["len"]),
    "leaf_down": lambda t: the_only(links(t, "node-leaf").group_by("b_dev").len()["len"]),
    "leaf_up": lambda t: the_only(links(t, "leaf-spine").group_by("a_dev").len()["len"]),
    "gpu_cages": lambda t: leaf_ports(t, "node-leaf", "b"),
    "uplink_cages": lambda t: leaf_ports(t, "leaf-spine", "a"),
    "switch_cages_used": lambda t: cages(t, "leaf", "spine"),
    "node_cages_used": lambda t: cages(t, "node"),
}


@pytest.mark.parametrize("case", BUILT, ids=[case["id"] for case in BUILT])
def test_the_published_figures_are_reproduced(case):
    topology = build_topology(Design.model_validate(case["design"]), load_catalog())
    assert {key: COUNTS[key](topology) for key in case["expected"]} == case["expected"]


@pytest.mark.parametrize("case", BUILT, ids=[case["id"] for case in BUILT])
def test_the_published_design_passes_every_check_and_its_bisection(case):
    topology = build_topology(Design.model_validate(case["design"]), load_catalog())
    proof = prove(topology, "compute")
    assert check_fabric(topology) + check_bisection(proof) + check_traffic(worst_traffic(topology, "compute")) == []
    spec = topology.design.fabrics.compute
    assert proof.non_blocking == (spec.oversubscription == 1 and spec.core_oversubscription == 1)


@pytest.mark.parametrize("case", REFUSED, ids=[case["id"] for case in REFUSED])
def test_what_two_tiers_cannot_carry_is_refused_as_two_tiers(case):
    with pytest.raises(DesignError) as refused:
        build_topology(Design.model_validate(case["design"]), load_catalog())
    errors = [p for p in refused.value.problems if p.level == "error"]
    assert [p.rule for p in errors] == ["two-tiers-end"]
    assert case["expected"]["refused"] in errors[0].what
    assert "set tiers: 3" in errors[0].fix


def test_every_case_names_its_document_and_where_to_find_it():
    assert len({case["id"] for case in CASES}) == len(CASES)
    for case in CASES:
        assert case["source"]["document"]
        assert case["source"]["url"].startswith("https://")
