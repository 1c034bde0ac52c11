"""What is left when things fail: bandwidth, nodes, rails, load; and the worst single failure is found among few."""

from __future__ import annotations

import polars as pl
import pytest

from railplan.fabric.damage import RailLeft, damage_text
from railplan.fabric.failures import KINDS, what_if, worst_single
from railplan.problems import DesignError


@pytest.fixture(scope="module")
def four_sus(built):
    """128 nodes, 32 leaves, 16 spines."""
    return built("hgx-h100", 128, "quantum-ndr")


@pytest.fixture(scope="module")
def tree(built):
    return built("hgx-h100", 512, "quantum-ndr")


def racks(topology, per_rack: int = 4) -> list[str]:
    """A rack for every four nodes, one for each leaf, one for all spines."""
    rows = topology.devices.select("role", "index").iter_rows()
    return [{"node": f"N{index // per_rack:02d}", "leaf": f"L{index:02d}"}.get(role, "S") for role, index in rows]


def cables(topology) -> list[str]:
    """Two neighbouring links to a cable."""
    return [f"{series}{serial // 2:04d}" for series, serial in topology.links.select("series", "serial").iter_rows()]


def test_one_of_sixteen_spines_down_leaves_fifteen_sixteenths(four_sus):
    damage = what_if(four_sus, ["spine:spine-05"])
    assert damage.left_percent == 100 * 15 / 16
    assert damage.links_lost == 64
    assert (damage.cut_off, damage.nodes_down) == ((), ())
    assert damage.rails == tuple(RailLeft(k, 0, 0, 15 / 16, 1.0) for k in range(8))
    assert damage.worst_load == pytest.approx(16 / 15)
    assert damage.worst_load_before == 1.0


def test_a_leaf_down_cuts_one_rail_of_its_su(four_sus):
    damage = what_if(four_sus, ["leaf:leaf-su2-r3"])
    assert damage.rails == (RailLeft(3, 0, 32, 0.0, 1.0),)
    assert damage.cut_off == ()
    assert damage.left_percent == 100 * 15 / 16, "one leaf of the 16 of the smaller half"
    assert damage.worst_load == 1.0


def test_a_core_down_leaves_every_spine_of_its_group_fifteen_sixteenths_of_its_links(tree):
    damage = what_if(tree, ["core:core-g02-07"])
    assert damage.links_lost == 64
    assert {r.core_links_left for r in damage.rails} == {15 / 16}
    assert {r.uplinks_left for r in damage.rails} == {1.0}
    assert damage.left_percent == 100 * 63 / 64
    assert damage.worst_load == pytest.approx(16 / 15)


def test_a_spine_of_a_group_hurts_the_rail_of_its_group_only(tree):
    damage = what_if(tree, ["spine:spine-g1-r5-02"])
    assert [(r.rail, r.uplinks_left, r.core_links_left) for r in damage.rails] == [(5, 0.75, 1.0)]


def test_several_failures_are_named_apart_or_with_commas(four_sus):
    together = what_if(four_sus, ["spine:spine-01,leaf:leaf-su0-r0"])
    assert together == what_if(four_sus, ["spine:spine-01", "leaf:leaf-su0-r0"])
    assert together.failures == ("spine:spine-01", "leaf:leaf-su0-r0")
    assert together.links_lost == 64 + 64 - 2


def test_a_cable_takes_all_its_links(four_sus):
    damage = what_if(four_sus, ["cable:S0000"], cable_of=cables(four_sus))
    assert damage.links_lost == 2
    assert [(r.rail, r.uplinks_left) for r in damage.rails] == [(0, 30 / 32)]
    node = what_if(four_sus, ["cable:N0000"], cable_of=cables(four_sus))
    assert [(r.rail, r.nodes_without) for r in node.rails] == [(0, 1), (1, 1)]


def test_a_rack_takes_its_nodes_with_it(four_sus):
    damage = what_if(four_sus, ["rack:N00"], rack_of=racks(four_sus))
    assert damage.nodes_down == ("gpu-001", "gpu-002", "gpu-003", "gpu-004")
    assert damage.cut_off == ()
    assert damage.left_percent == 100 * 60 / 64


def test_all_spines_down_cut_the_sus_from_each_other(four_sus):
    damage = what_if(four_sus, ["rack:S"], rack_of=racks(four_sus))
    assert damage.left_percent == 0
    assert len(damage.cut_off) == 96


def test_all_leaves_of_an_su_down_cut_off_its_nodes(four_sus):
    damage = what_if(four_sus, [f"leaf:leaf-su1-r{k}" for k in range(8)])
    assert damage.cut_off == tuple(f"gpu-{n:03d}" for n in range(33, 65))
    assert "cut off: 32 nodes, gpu-033" in "\n".join(damage_text(damage))


def test_one_side_of_a_dual_tor_pair_down_leaves_every_node_all_its_rails(built):
    topology = built("hgx-b300", 32, "spectrum-x", style="dual-tor", planes=1)
    damage = what_if(topology, ["leaf:leaf-su0-a"])
    assert damage.cut_off == ()
    assert all(r.nodes_without == 0 for r in damage.rails)


def test_one_switch_of_a_single_down_cuts_off_everyone(built):
    topology = built("hgx-h100", 8, "quantum-ndr")
    damage = what_if(topology, [f"leaf:{topology.devices.filter(pl.col('role') == 'leaf')['device'][0]}"])
    assert (damage.left_percent, len(damage.cut_off)) == (0, 8)


def test_one_plane_of_two_down_leaves_half(built):
    topology = built("hgx-b300", 64, "spectrum-x")
    plane = topology.devices.filter((pl.col("role") == "spine") & (pl.col("plane") == 1))["device"].to_list()
    damage = what_if(topology, [f"spine:{name}" for name in plane])
    assert damage.left_percent <= 50
    assert {r.plane for r in damage.rails} == {1}
    assert damage.cut_off == ()


@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_single_failure_is_the_worst_of_all(built, kind):
    """Within half a percent: identical things may fall on different sides of a split."""
    topology = built("hgx-h100", 37, "quantum-ndr", tiers=3, nodes_per_su=8, sus_per_group=2, spine_groups="shared", partial_su="trimmed", core_oversubscription=2)
    rack_of, cable_of = racks(topology), cables(topology)
    worst, tried, of = worst_single(topology, kind, rack_of, cable_of)
    assert tried < of
    names = {"rack": sorted(set(rack_of)), "cable": sorted(set(cable_of))[::29]}.get(kind) or topology.devices.filter(pl.col("role") == kind)["device"].to_list()
    assert worst.left_percent - 0.5 <= min(what_if(topology, [f"{kind}:{name}"], rack_of, cable_of).left_percent for name in names[:40])
    assert worst == what_if(topology, list(worst.failures), rack_of, cable_of)


def test_one_of_each_class_is_tried(tree):
    assert worst_single(tree, "spine")[1:] == (1, 128)
    assert worst_single(tree, "core")[1:] == (1, 64)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("spine:spine-1", "the plan has no spine 'spine-1'"),
        ("leaf:spine-01", "spine-01 is a spine, not a leaf"),
        ("core:core-g01-01", "the plan has no core"),
        ("cable:S9999", "the plan has no cable 'S9999'"),
        ("rack:Z99", "the plan has no rack 'Z99'"),
        ("switch:spine-01", "'switch:spine-01' is no KIND:NAME"),
        ("spine-01", "'spine-01' is no KIND:NAME"),
        ("spine:", "'spine:' is no KIND:NAME"),
        ("leaf:gpu-001", "gpu-001 is a node, not a leaf"),
        (" , ", "names nothing"),
    ],
)
def test_what_is_not_there_gets_a_problem_and_the_nearest_name(four_sus, asked, says):
    with pytest.raises(DesignError) as refused:
        what_if(four_sus, [asked], racks(four_sus), cables(four_sus))
    (problem,) = refused.value.problems
    assert says in problem.what
    assert problem.fix


def test_the_nearest_name_is_offered(four_sus):
    with pytest.raises(DesignError, match="did you mean spine-1"):
        what_if(four_sus, ["spine:spine1"])


def test_a_kind_that_the_plan_does_not_have_is_a_problem(four_sus):
    with pytest.raises(DesignError, match="the plan has no core"):
        worst_single(four_sus, "core")
