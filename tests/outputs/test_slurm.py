"""topology.conf, parsed back as Slurm reads it."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from railplan import Plan
from railplan.outputs.hostlist import expand
from railplan.outputs.slurm import topology_conf

PLANS = [
    ("hgx-b300", 4, {}, "spectrum-x"),
    ("hgx-h100", 40, {}, "quantum-ndr"),
    ("dgx-h100", 63, {"ufm_links": 4}, "quantum-ndr"),
    ("hgx-h100", 12, {"style": "pair"}, "spectrum-x"),
]


def parsed(text: str) -> dict[str, tuple[str, list[str]]]:
    """SwitchName -> (Nodes or Switches, the names), in file order; strict about what stops Slurm."""
    switches: dict[str, tuple[str, list[str]]] = {}
    for line in text.splitlines():
        assert "\t" not in line
        content = line.partition("#")[0].strip()
        if not content:
            continue
        words = [word.partition("=") for word in content.split(" ")]
        assert [key for key, _, _ in words] in (["SwitchName", "Nodes"], ["SwitchName", "Switches"])
        name, (key, _, value) = words[0][2], words[1]
        assert name not in switches
        assert len(name) <= 64
        assert "[" not in name
        switches[name] = (key, expand(value))
    return switches


@pytest.fixture(scope="module", params=PLANS, ids=lambda p: f"{p[0]}-{p[1]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan]) -> Plan:
    node, count, more, family = request.param
    return plan_of(node, count, family, **more)


def test_every_compute_node_is_on_exactly_one_switch_and_nothing_else_is(plan: Plan) -> None:
    listed = [name for key, names in parsed(topology_conf(plan)).values() if key == "Nodes" for name in names]
    nodes = plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "node"))
    assert sorted(listed) == sorted(nodes["device"])


def test_nodes_of_one_switch_share_their_leaves_and_no_others_do(plan: Plan) -> None:
    pod = dict(plan.topology.devices.select("device", "pod").iter_rows())
    leaves = plan.graph("compute")
    for key, names in parsed(topology_conf(plan)).values():
        if key == "Nodes":
            assert len({pod[name] for name in names}) == 1
            reached = {frozenset(leaves.neighbors(name)) for name in names}
            assert len(reached) == 1


def test_children_stand_before_their_parent_and_there_is_one_root(plan: Plan) -> None:
    switches = parsed(topology_conf(plan))
    seen: set[str] = set()
    children: list[str] = []
    for name, (key, names) in switches.items():
        if key == "Switches":
            assert set(names) <= seen
            children += names
        seen.add(name)
    assert len(children) == len(set(children))
    assert len(set(switches) - set(children)) == 1


def test_comments_name_every_physical_leaf(plan: Plan) -> None:
    text = topology_conf(plan)
    assert all(len(line) <= 1000 for line in text.splitlines())
    words = {word.strip(",") for line in text.splitlines() if line.startswith("#") for word in line.split()}
    assert set(plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "leaf"))["device"]) <= words


def test_a_cluster_of_one_su_is_one_switch(plan_of: Callable[..., Plan]) -> None:
    assert list(parsed(topology_conf(plan_of("hgx-b300", 4, "spectrum-x")))) == ["compute"]


def test_two_sus_hang_below_the_fabric(plan_of: Callable[..., Plan]) -> None:
    text = topology_conf(plan_of("hgx-h100", 40, "quantum-ndr"))
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        "SwitchName=su0 Nodes=gpu-[001-032]",
        "SwitchName=su1 Nodes=gpu-[033-040]",
        "SwitchName=compute Switches=su[0-1]",
    ]
