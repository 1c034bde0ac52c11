"""containerlab.yaml: its schema, as far as containerlab documents it, the slice, and names that Linux can carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml

from railplan import DesignError, Plan
from railplan.outputs import Options, render
from railplan.outputs.containerlab import NAME_MAX, containerlab_yaml, short_names
from railplan.outputs.links import links
from railplan.outputs.slice import cut, parse_slice

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name", "topology"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "topology": {
            "type": "object",
            "required": ["nodes", "links"],
            "additionalProperties": False,
            "properties": {
                "kinds": {"type": "object", "additionalProperties": {"type": "object", "required": ["image"], "properties": {"image": {"type": "string"}}}},
                "nodes": {
                    "type": "object",
                    "propertyNames": {"pattern": r"^[a-z0-9][a-z0-9._-]*$", "maxLength": 15},
                    "additionalProperties": {
                        "type": "object",
                        "required": ["kind"],
                        "additionalProperties": False,
                        "properties": {
                            "kind": {"enum": ["linux", "sonic-vs"]},
                            "group": {"type": "string"},
                            "labels": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
                        },
                    },
                },
                "links": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["endpoints"],
                        "additionalProperties": False,
                        "properties": {
                            "endpoints": {
                                "type": "array",
                                "minItems": 2,
                                "maxItems": 2,
                                "uniqueItems": True,
                                "items": {"type": "string", "pattern": r"^\S+:eth[1-9][0-9]*$"},
                            },
                            "vars": {"type": "object"},
                        },
                    },
                },
            },
        },
    },
}
"""Facts of containerlab's documentation of the topology file, not its schema file."""


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "spectrum-x", nodes_per_su=32)


def devices(plan: Plan, text: str) -> dict[str, list[str]]:
    """Role -> devices of a slice."""
    found = cut(plan, links(plan), text)
    names = pl.concat([found["a_device"], found["b_device"]]).unique().implode()
    return dict(plan.topology.devices.filter(pl.col("device").is_in(names)).group_by("role").agg("device").iter_rows())


@pytest.mark.parametrize("text", ["", "pods=1,nodes=4", "pods=1,nodes=2,rails=1,spines=1"])
def test_the_file_keeps_the_schema(plan: Plan, text: str) -> None:
    lab = yaml.safe_load(containerlab_yaml(plan, text))
    jsonschema.validate(lab, SCHEMA)
    ends = [end for link in lab["topology"]["links"] for end in link["endpoints"]]
    assert len(set(ends)) == len(ends)
    assert {end.split(":")[0] for end in ends} == set(lab["topology"]["nodes"])
    assert {node["kind"] for node in lab["topology"]["nodes"].values()} == set(lab["topology"]["kinds"])


def test_a_slice_holds_the_first_nodes_of_the_first_sus_and_what_serves_them(plan: Plan) -> None:
    found = devices(plan, "pods=1,nodes=4")
    assert found["node"] == ["gpu-001", "gpu-002", "gpu-003", "gpu-004"]
    assert found["leaf"] == [f"leaf-su0-r{rail}" for rail in range(8)]
    assert found["spine"] == plan.topology.devices.filter(pl.col("role") == "spine")["device"].to_list()


def test_a_slice_of_nodes_takes_as_many_of_every_su(plan: Plan) -> None:
    assert devices(plan, "nodes=2")["node"] == ["gpu-001", "gpu-002", "gpu-033", "gpu-034"]


def test_rails_and_spines_make_a_slice_thin(plan: Plan) -> None:
    found = devices(plan, "pods=1,nodes=2,rails=1,spines=1")
    assert found["leaf"] == ["leaf-su0-r0"]
    assert len(found["spine"]) == 1


def test_planes_are_cut_too(plan_of: Callable[..., Plan]) -> None:
    found = cut(plan_of("gb300-nvl72-tray", 36, "spectrum-x"), links(plan_of("gb300-nvl72-tray", 36, "spectrum-x")), "nodes=1,planes=1")
    assert set(found["plane"]) == {0}


def test_three_tiers_keep_their_cores(plan_of: Callable[..., Plan]) -> None:
    assert devices(plan_of("hgx-h100", 40, "spectrum-x", tiers=3), "pods=1,nodes=1,spines=1")["core"]


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("pod=1", "unknown key 'pod'", "did you mean pods?"),
        ("pods=0", "'pods=0': '0' is not a number from 1", "write pods=1 or more"),
        ("pods", "'pods': '' is not a number from 1", "write pods=1 or more"),
        ("nodes=-4", "'nodes=-4': '-4' is not a number from 1", "write nodes=1 or more"),
        ("nodes=4,nodes=5", "nodes stands twice", "name it once"),
    ],
)
def test_a_slice_that_is_none_is_refused(text: str, what: str, fix: str) -> None:
    with pytest.raises(DesignError) as caught:
        parse_slice(text)
    assert [(p.where, p.what, p.fix) for p in caught.value.problems] == [("--slice", what, fix)]


@pytest.mark.parametrize("only", [None, ["csv"]])
def test_a_slice_that_no_file_takes_is_refused(plan: Plan, only: list[str] | None) -> None:
    with pytest.raises(DesignError, match="no file asked for takes a slice"):
        render(plan, only, Options(slice="nodes=1"))


def test_all_mistakes_of_a_slice_are_named_at_once() -> None:
    with pytest.raises(DesignError) as caught:
        parse_slice("pod=1,nodes=x")
    assert len(caught.value.problems) == 2


def test_spaces_in_a_slice_are_fine() -> None:
    assert parse_slice(" pods = 1, nodes=4 ,") == {"pods": 1, "nodes": 4}


def test_long_names_become_role_and_number_and_the_label_keeps_them(plan: Plan) -> None:
    long = plan.topology.devices.with_columns(pl.when(pl.col("role") == "leaf").then(pl.format("a-very-long-name-{}", "device")).otherwise("device").alias("device"))
    nodes = yaml.safe_load(containerlab_yaml(replace(plan, topology=replace(plan.topology, devices=long)), "pods=1,nodes=1"))["topology"]["nodes"]
    assert nodes["leaf1"]["labels"]["device"] == "a-very-long-name-leaf-su0-r0"
    assert nodes["gpu-001"]["labels"]["device"] == "gpu-001"
    assert max(map(len, nodes)) <= NAME_MAX


def test_a_short_name_never_is_one_that_exists() -> None:
    taken = {"a-name-longer-than-it-may-be", "leaf1", "leaf2"}
    names = short_names([(name, "leaf") for name in sorted(taken)], taken)
    assert names == {"a-name-longer-than-it-may-be": "leaf3", "leaf1": "leaf1", "leaf2": "leaf2"}


def test_options_carry_the_slice(plan: Plan) -> None:
    whole, part = (render(plan, ["containerlab"], Options(slice=text))["containerlab.yaml"] for text in ("", "pods=1,nodes=1,rails=1,spines=1"))
    assert len(part) < len(whole)
    assert b"pods=1,nodes=1,rails=1,spines=1" in part.splitlines()[0]
