"""Node labels, Kueue's Topology and Volcano's HyperNodes against the facts of their documentation, and against the fabric."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
import yaml

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.outputs import Options, render
from railplan.outputs.kubernetes import accelerator_label, check_prefix, files
from railplan.outputs.slurm_tree import tree

PLANS = [
    ("hgx-b300", 4, "spectrum-x", {}),
    ("hgx-h100", 40, "quantum-ndr", {}),
    ("hgx-h100", 40, "spectrum-x", {"style": "tor"}),
    ("hgx-h100", 80, "quantum-ndr", {"tiers": 3}),
    ("hgx-h100", 80, "quantum-ndr", {"style": "rail-only", "nodes_per_su": 32}),
    ("gb300-nvl72-tray", 36, "spectrum-x", {}),
    ("dgx-h100", 31, "quantum-ndr", {"ufm_links": 4}),
]
DNS = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"


@pytest.fixture(scope="module", params=PLANS, ids=lambda p: f"{p[0]}-{p[1]}-{p[3]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan]) -> Plan:
    node, count, family, more = request.param
    return plan_of(node, count, family, **more)


def documents(plan: Plan, file: str, prefix: str = "fabric.topograph.run") -> list[Any]:
    return list(yaml.safe_load_all(files(plan, Options(label_prefix=prefix))[file]))


def nodes(plan: Plan) -> set[str]:
    return set(plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "node"))["device"])


def test_every_node_is_labelled_once_with_what_kubernetes_takes(plan: Plan) -> None:
    labelled = documents(plan, "kubernetes-labels.yaml")
    assert {d["metadata"]["name"] for d in labelled} == nodes(plan)
    assert len(labelled) == len(nodes(plan))
    keys = {tuple(d["metadata"]["labels"]) for d in labelled}
    assert len(keys) == 1
    for document in labelled:
        assert (document["apiVersion"], document["kind"]) == ("v1", "Node")
        for key, value in document["metadata"]["labels"].items():
            prefix, _, name = key.partition("/")
            assert re.fullmatch(DNS, prefix)
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", name)
            assert isinstance(value, str)
            assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", value)


def test_tier_0_is_what_slurm_calls_a_switch(plan: Plan) -> None:
    groups: dict[str, set[str]] = {}
    for document in documents(plan, "kubernetes-labels.yaml"):
        groups.setdefault(document["metadata"]["labels"]["fabric.topograph.run/tier-0"], set()).add(document["metadata"]["name"])
    assert groups == {entry.name: set(entry.nodes) for entry in tree(plan) if entry.nodes}


def test_each_level_is_within_the_next(plan: Plan) -> None:
    (topology,) = documents(plan, "kueue-topology.yaml")
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]][:-1]
    labels = [d["metadata"]["labels"] for d in documents(plan, "kubernetes-labels.yaml")]
    for upper, lower in pairwise(levels):
        assert len({(label[upper], label[lower]) for label in labels}) == len({label[lower] for label in labels})


def test_a_kueue_topology_has_its_levels_top_first_and_the_host_last(plan: Plan) -> None:
    (topology,) = documents(plan, "kueue-topology.yaml")
    assert (topology["apiVersion"], topology["kind"]) == ("kueue.x-k8s.io/v1beta1", "Topology")
    assert re.fullmatch(DNS, topology["metadata"]["name"])
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    assert 1 <= len(levels) <= 16
    assert len(set(levels)) == len(levels)
    assert levels[-1] == "kubernetes.io/hostname"
    assert set(levels[:-1]) == set(documents(plan, "kubernetes-labels.yaml")[0]["metadata"]["labels"])
    tiers = [int(level.rpartition("-")[2]) for level in levels if "/tier-" in level]
    assert tiers == sorted(tiers, reverse=True)


def test_hyper_nodes_are_a_forest_over_all_nodes(plan: Plan) -> None:
    made = {d["metadata"]["name"]: d["spec"] for d in documents(plan, "volcano-hypernodes.yaml")}
    assert len(made) == len(documents(plan, "volcano-hypernodes.yaml"))
    parents: dict[tuple[str, str], str] = {}
    for name, spec in made.items():
        assert re.fullmatch(DNS, name)
        assert set(spec) == {"tier", "members"}
        assert spec["members"]
        for member in spec["members"]:
            assert set(member) == {"type", "selector"}
            assert list(member["selector"]) == ["exactMatch"]
            child = (member["type"], member["selector"]["exactMatch"]["name"])
            assert child not in parents
            parents[child] = name
            if member["type"] == "HyperNode":
                assert made[child[1]]["tier"] == spec["tier"] - 1
            else:
                assert (member["type"], spec["tier"]) == ("Node", 1)
    assert {name for kind, name in parents if kind == "Node"} == nodes(plan)
    top = max(spec["tier"] for spec in made.values())
    assert {name for name, spec in made.items() if spec["tier"] < top} == {name for kind, name in parents if kind == "HyperNode"}


def test_whole_racks_of_nvl72_are_a_level_below_the_su(catalog: Catalog) -> None:
    text = "nodes: {model: gb300-nvl72-tray, count: 36}\nfabrics: {compute: {family: spectrum-x}}\nhall: {rack_power_kw: 150}\n"
    plan = make_plan(parse_design(text), catalog)
    (topology,) = documents(plan, "kueue-topology.yaml")
    assert [level["nodeLabel"] for level in topology["spec"]["levels"]][-2:] == ["accelerator.topograph.run/domain", "kubernetes.io/hostname"]
    made = documents(plan, "volcano-hypernodes.yaml")
    assert [(d["metadata"]["name"], len(d["spec"]["members"])) for d in made] == [("cluster-t1-a01", 18), ("cluster-t1-a03", 18), ("cluster-t2-compute", 2)]


def test_the_prefix_is_the_users(plan: Plan) -> None:
    labels = documents(plan, "kubernetes-labels.yaml", "network.topology.nvidia.com")[0]["metadata"]["labels"]
    assert {key.partition("/")[0] for key in labels} == {"network.topology.nvidia.com"}
    assert accelerator_label("network.topology.nvidia.com") == "network.topology.nvidia.com/accelerator"


@pytest.mark.parametrize("prefix", ["", "Fabric.example.com", "a/b", "-a", "a..b", "x" * 254, "has space"])
def test_a_prefix_that_kubernetes_refuses_is_refused(prefix: str) -> None:
    with pytest.raises(DesignError) as caught:
        check_prefix(prefix)
    assert caught.value.problems[0].where == "--label-prefix"


def test_names_with_capitals_are_refused_for_kubernetes_alone(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    named = replace(plan, topology=replace(plan.topology, devices=plan.topology.devices.with_columns(pl.col("device").str.replace("gpu", "GPU"))))
    with pytest.raises(DesignError, match="'GPU-001', 'GPU-002', 'GPU-003' and 1 more cannot be names in Kubernetes"):
        render(named, ["kubernetes"])
    warnings: list[Any] = []
    written = render(named, left_out=warnings.append)
    assert [(p.level, p.rule) for p in warnings] == [("warning", "format")]
    assert "topology.conf" in written
    assert "kueue-topology.yaml" not in written


def test_a_plan_without_nodes_is_refused(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    empty = replace(plan, topology=replace(plan.topology, devices=plan.topology.devices.with_columns(present=pl.col("role") != "node")))
    with pytest.raises(DesignError, match="the plan has no GPU nodes"):
        files(empty)


def test_comments_name_the_plan(plan: Plan) -> None:
    assert all(f" of {plan.design.name}." in data.decode().splitlines()[0] for data in files(plan).values())
