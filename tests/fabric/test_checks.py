"""Every check fires when its table is corrupted on purpose, and none fires on what the planner builds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import polars as pl
import pytest

from railplan.fabric.check_counts import rows_are_numbered
from railplan.fabric.check_load import every_node_reaches_every_node
from railplan.fabric.check_ports import breakouts_are_legal
from railplan.fabric.checks import CHECKS, check_fabric
from railplan.fabric.design import Fabrics
from railplan.fabric.topology import CageUse, Topology
from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import Switch

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def two_sus(built) -> Topology:
    """64 nodes, 16 leaves, 8 spines, four links for each pair; InfiniBand."""
    return built("hgx-h100", 64, "quantum-ndr")


@pytest.fixture(scope="module")
def two_planes(built) -> Topology:
    """64 nodes on 16 leaves and 8 spines over two planes; Ethernet."""
    return built("hgx-b300", 64, "spectrum-x")


def rules(topology: Topology) -> set[str]:
    return {p.rule for p in check_fabric(topology)}


def set_link(topology: Topology, where: pl.Expr, **values: object) -> Topology:
    columns = [pl.when(where).then(pl.lit(value)).otherwise(pl.col(name)).cast(topology.links.schema[name]).alias(name) for name, value in values.items()]
    return replace(topology, links=topology.links.with_columns(columns))


def set_device(topology: Topology, where: pl.Expr, **values: object) -> Topology:
    columns = [pl.when(where).then(pl.lit(value)).otherwise(pl.col(name)).cast(topology.devices.schema[name]).alias(name) for name, value in values.items()]
    return replace(topology, devices=topology.devices.with_columns(columns))


def swap(topology: Topology, one: int, other: int, *columns: str) -> Topology:
    """Exchange some columns of two links."""
    first, second = topology.links.row(one, named=True), topology.links.row(other, named=True)
    changed = set_link(topology, pl.col("link") == one, **{c: second[c] for c in columns})
    return set_link(changed, pl.col("link") == other, **{c: first[c] for c in columns})


def without(topology: Topology, where: pl.Expr) -> Topology:
    links = topology.links.filter(~where).with_columns(link=pl.int_range(pl.len(), dtype=pl.UInt32))
    return replace(topology, links=links)


def number(topology: Topology, **equal: object) -> int:
    """Number of the first link with these values."""
    return int(topology.links.filter(pl.all_horizontal(pl.col(k) == v for k, v in equal.items()))["link"][0])


def dev(topology: Topology, name: str) -> int:
    return int(topology.devices.filter(pl.col("device") == name)["dev"][0])


def with_ratio(topology: Topology, ratio: int) -> Topology:
    fabrics = Fabrics(compute=topology.design.fabrics.compute.model_copy(update={"oversubscription": Fraction(ratio)}))
    return replace(topology, design=topology.design.model_copy(update={"fabrics": fabrics}))


UPLINK = pl.col("tier") == "leaf-spine"


@pytest.mark.parametrize(
    ("model", "count", "family", "more"),
    [
        ("dgx-h100", 31, "quantum-ndr", {"ufm_links": 4}),
        ("dgx-h100", 127, "quantum-ndr", {"ufm_links": 4}),
        ("hgx-h100", 100, "quantum-ndr", {"oversubscription": 2, "partial_su": "trimmed"}),
        ("hgx-h100", 12, "spectrum-x", {"style": "pair"}),
        ("hgx-b300", 8, "spectrum-x", {}),
        ("hgx-b300", 64, "spectrum-x", {"grow_to": 128}),
        ("gb300-nvl72-tray", 144, "quantum-xdr", {}),
        ("dgx-b300", 1, "quantum-xdr", {"style": "single"}),
    ],
)
def test_nothing_fires_on_a_built_fabric(built, model, count, family, more):
    assert check_fabric(built(model, count, family, **more)) == []


def test_every_check_stands_once_in_the_list():
    assert len(set(CHECKS)) == len(CHECKS)


def test_a_port_used_twice_is_named_with_its_device(two_sus):
    first, second = two_sus.links.filter(UPLINK)[:2].rows(named=True)
    bad = set_link(two_sus, pl.col("link") == second["link"], a_cage=first["a_cage"], a_child=first["a_child"])
    (problem,) = check_fabric(bad)
    assert problem.rule == "port-twice"
    assert problem.where == "leaf-su0-r0 1/17/1"
    assert "2 links" in problem.what
    assert "1" in problem.what
    assert problem.fix


def test_more_lanes_than_the_cage_has_are_refused(two_sus):
    bad = set_link(two_sus, UPLINK & (pl.col("a_dev") == dev(two_sus, "leaf-su0-r0")), lanes=8)
    assert rules(bad) == {"cage-lanes", "ends-disagree"}


def test_a_port_that_the_cage_does_not_split_into_is_refused(two_sus):
    assert rules(set_link(two_sus, pl.col("link") == number(two_sus, tier="leaf-spine"), a_child=7)) == {"no-such-port"}


def test_a_cage_that_the_profile_does_not_configure_is_refused(two_sus):
    bad = set_link(two_sus, pl.col("link") == number(two_sus, tier="leaf-spine"), b_cage=99)
    (problem,) = check_fabric(bad)
    assert problem.rule == "no-such-port"
    assert "cage 99" in problem.where


def test_two_ports_of_one_name_are_refused(two_sus):
    names = two_sus.port_names.with_columns(port=pl.when((pl.col("profile") == "leaf") & (pl.col("port") == "1/1/2")).then(pl.lit("1/1/1")).otherwise("port"))
    assert rules(replace(two_sus, port_names=names)) == {"port-name-twice"}


def test_a_port_without_a_name_is_refused(two_sus):
    names = two_sus.port_names.filter(~((pl.col("profile") == "spine") & (pl.col("port") == "1/3/1")))
    assert rules(replace(two_sus, port_names=names)) == {"no-such-port"}


def test_a_link_slower_than_its_cages_is_refused(two_sus):
    assert rules(set_link(two_sus, pl.col("link") == number(two_sus, tier="leaf-spine"), lane_gbps=50)) == {"ends-disagree"}


def test_infiniband_and_ethernet_are_not_joined(two_sus):
    leaf = two_sus.profiles["leaf"]
    part = leaf.part.model_copy(update={"protocol": "ethernet"})
    assert rules(replace(two_sus, profiles={**two_sus.profiles, "leaf": replace(leaf, part=part)})) == {"protocol"}


def test_two_gpus_that_change_leaves_break_the_rail(two_sus):
    one, other = number(two_sus, a_dev=5, gpu=0), number(two_sus, a_dev=5, gpu=1)
    bad = swap(two_sus, one, other, "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"rail-split", "rail-name"}
    split = next(p for p in check_fabric(bad) if p.rule == "rail-split")
    assert "2 leaves (leaf-su0-r0, leaf-su0-r1)" in split.what


def test_a_node_on_the_leaves_of_another_su_is_refused(two_sus):
    bad = two_sus
    for gpu in range(8):
        bad = swap(bad, number(bad, a_dev=0, gpu=gpu), number(bad, a_dev=32, gpu=gpu), "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"su", "rail-split"}


def test_a_leaf_that_lies_about_its_rail_is_refused(two_sus):
    bad = set_device(two_sus, pl.col("device") == "leaf-su1-r3", rail="4")
    (problem,) = check_fabric(bad)
    assert problem.rule == "rail-name"
    assert "says rail 4, its links serve rail 3" in problem.what


def test_a_link_listed_under_another_rail_is_refused(two_sus):
    assert rules(set_link(two_sus, pl.col("link") == 0, rail=3)) == {"rail-name"}


def test_gpu_k_on_the_port_of_another_gpu_is_refused(two_sus):
    bad = swap(two_sus, number(two_sus, a_dev=5, gpu=0), number(two_sus, a_dev=5, gpu=1), "a_cage", "a_child")
    assert rules(bad) == {"gpu-port", "nodes-alike"}


def test_a_node_that_uses_its_ports_unlike_the_others_is_refused(two_planes):
    one, other = (number(two_planes, a_dev=5, gpu=0, plane=p) for p in (0, 1))
    assert rules(swap(two_planes, one, other, "a_cage", "a_child")) == {"nodes-alike"}


def test_node_n_on_another_port_of_one_rail_is_refused(two_sus):
    bad = swap(two_sus, number(two_sus, a_dev=3, gpu=2), number(two_sus, a_dev=4, gpu=2), "b_cage", "b_child")
    assert {p.where for p in check_fabric(bad)} == {"gpu-004", "gpu-005"}
    assert rules(bad) == {"port-number"}


def test_a_link_of_another_plane_is_refused(two_planes):
    assert rules(set_link(two_planes, pl.col("link") == number(two_planes, tier="leaf-spine", plane=0), plane=1)) == {"plane-crossed"}


def test_an_uplink_that_crosses_planes_is_refused(two_planes):
    one, other = (number(two_planes, tier="leaf-spine", plane=p) for p in (0, 1))
    assert "plane-crossed" in rules(swap(two_planes, one, other, "b_dev", "b_cage", "b_child"))


def test_a_gpu_with_both_ports_in_one_plane_is_refused(two_planes):
    bad = set_link(two_planes, (pl.col("a_dev") == 5) & (pl.col("gpu") == 0), plane=0)
    assert {"plane-uneven", "plane-crossed"} <= rules(bad)


def test_an_uneven_spread_is_refused_though_every_port_is_used_once(two_sus):
    leaves = [dev(two_sus, "leaf-su0-r0"), dev(two_sus, "leaf-su0-r1")]
    spines = [dev(two_sus, "spine-01"), dev(two_sus, "spine-02")]
    bad = swap(two_sus, number(two_sus, a_dev=leaves[0], b_dev=spines[0]), number(two_sus, a_dev=leaves[1], b_dev=spines[1]), "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"uneven-spread"}
    assert "has 3 links to spine-01 and 5 to another spine" in str(check_fabric(bad)[0])


def test_a_dark_spine_is_refused(two_sus):
    row = two_sus.devices.row(dev(two_sus, "spine-08"), named=True) | {"dev": two_sus.devices.height, "device": "spine-09"}
    bad = replace(two_sus, devices=pl.concat([two_sus.devices, pl.DataFrame([row], schema=two_sus.devices.schema)]))
    assert rules(bad) == {"dark-spine", "uneven-spread"}


def test_a_leaf_with_fewer_uplinks_than_those_of_the_other_sus_is_refused(two_sus):
    first_of_each_pair = pl.col("link") == pl.col("link").min().over("a_dev", "b_dev")
    bad = without(two_sus, UPLINK & (pl.col("a_dev") == dev(two_sus, "leaf-su1-r5")) & first_of_each_pair)
    assert rules(bad) == {"su-unlike", "oversubscription"}
    assert rules(with_ratio(bad, 2)) == {"su-unlike"}


def test_more_oversubscription_than_designed_is_refused(built):
    bad = with_ratio(built("hgx-h100", 64, "quantum-ndr", oversubscription=2), 1)
    assert rules(bad) == {"oversubscription"}
    assert "12,800G down and 6,400G up, that is 2:1" in check_fabric(bad)[0].what


def test_a_leaf_that_is_cut_off_is_unreachable(two_sus):
    bad = without(two_sus, UPLINK & (pl.col("a_dev") == dev(two_sus, "leaf-su0-r7")))
    (problem,) = every_node_reaches_every_node(bad)
    assert problem.where == "leaf-su0-r7"
    assert "2 pieces" in problem.what


def test_nodes_do_not_join_leaves_that_have_no_switch_between(two_sus):
    problems = every_node_reaches_every_node(without(two_sus, UPLINK))
    assert "and 12 more (15 in all)" in problems[-1].what


def test_a_missing_node_link_is_counted(two_sus):
    bad = without(two_sus, pl.col("link") == 0)
    assert rules(bad) == {"count", "gpu-links"}
    assert "511 links of GPUs, the design asks for 512" in str(check_fabric(bad)[0])


def test_a_missing_ufm_link_is_counted(built):
    topology = built("dgx-h100", 31, "quantum-ndr", ufm_links=4)
    assert rules(without(topology, pl.col("link") == number(topology, series="U"))) == {"count"}


def test_a_node_that_is_missing_is_counted(two_sus):
    assert rules(set_device(two_sus, pl.col("dev") == 63, present=False)) >= {"count", "not-present"}


def test_a_serial_that_stands_twice_is_refused(two_sus):
    assert rules(set_link(two_sus, pl.col("link") == 1, serial=0)) == {"serial-twice"}


def test_a_device_name_that_stands_twice_is_refused(two_sus):
    assert rules(set_device(two_sus, pl.col("dev") == 1, device="gpu-001")) == {"name-twice"}


@pytest.mark.parametrize("name", ["gpu_002", "Gpu-002", "gpu-002-", "", "gpu 002", "g" * 64])
def test_a_name_that_dns_refuses_is_refused(two_sus, name):
    assert rules(set_device(two_sus, pl.col("dev") == 1, device=name)) == {"host-name"}


def test_a_link_of_the_wrong_tier_is_refused(two_sus):
    assert "roles" in rules(set_link(two_sus, pl.col("link") == 0, tier="spine-core"))


def test_a_spine_of_another_fabric_is_refused(two_sus):
    assert "fabric-crossed" in rules(set_device(two_sus, pl.col("device") == "spine-03", fabric="storage"))


def test_misnumbered_rows_are_reported_alone(two_sus):
    assert rules(replace(two_sus, links=two_sus.links.reverse())) == {"row-number"}
    assert rules(set_link(two_sus, pl.col("link") == 0, a_dev=4_000_000)) == {"no-such-device"}
    assert [p.rule for p in rows_are_numbered(set_device(two_sus, pl.col("dev") == 0, model="dgx-b300"))] == ["profile"]


def test_a_long_list_is_cut_but_counted(two_sus):
    problems = check_fabric(set_link(two_sus, pl.lit(True), lane_gbps=50))
    assert len(problems) == 3
    assert "and 2,045 more (2,048 in all)" in problems[-1].what


def run_cages(topology: Topology, gbps: int, cages: list[int], model: str = "nvidia-sn5600", profile: str = "leaf") -> list[str]:
    """What the breakout check says when some cages of a switch are run at one speed."""
    part = CATALOG.switches[model]
    assert isinstance(part, Switch)
    group = part.cages[0]
    mode = next(m for m in group.modes if m.gbps == gbps)
    uses = {c: CageUse(c, str(c), group, mode, mode.ports, None) for c in cages}
    bad = replace(topology, profiles={**topology.profiles, profile: replace(topology.profiles[profile], part=part, cages=uses)})
    return [p.what for p in breakouts_are_legal(bad)]


def test_an_eight_way_split_is_for_odd_cages_and_kills_the_next_one(two_planes):
    assert run_cages(two_planes, 100, [1, 3, 5]) == []
    assert "only odd-numbered cages" in run_cages(two_planes, 100, [2])[0]
    part = CATALOG.switches["nvidia-sn5600"]
    split, whole = (next(m for m in part.cages[0].modes if m.gbps == g) for g in (100, 800))
    leaf = two_planes.profiles["leaf"]
    uses = {c: CageUse(c, str(c), part.cages[0], m, m.ports, None) for c, m in ((7, split), (8, whole), (9, whole))}
    (problem,) = breakouts_are_legal(replace(two_planes, profiles={**two_planes.profiles, "leaf": replace(leaf, cages=uses)}))
    assert "cage 8 is in use next to cage 7" in problem.what


def test_the_asic_caps_the_logical_ports(two_planes):
    assert run_cages(two_planes, 100, list(range(1, 65)), "arista-7060xe7-64ps") == []
    (what,) = run_cages(two_planes, 100, list(range(1, 65)), "dell-z9864f-on")
    assert what == "its cages make 512 logical ports, the ASIC has 320"


def test_a_cage_beyond_the_faceplate_is_refused(two_planes):
    (what,) = run_cages(two_planes, 800, [1, 70])
    assert "cage 70 is not a data cage of nvidia-sn5600, which has 1 to 64" in what


def test_a_mode_of_another_box_is_refused(two_planes):
    leaf = two_planes.profiles["leaf"]
    strange = leaf.cages[1].mode.model_copy(update={"ports": 3})
    uses = {**leaf.cages, 1: replace(leaf.cages[1], mode=strange)}
    (problem,) = breakouts_are_legal(replace(two_planes, profiles={**two_planes.profiles, "leaf": replace(leaf, cages=uses)}))
    assert "is run as 3x400G" in problem.what
    assert "2x400G" in problem.what


def test_a_disputed_mode_needs_the_designs_word(built):
    topology = built("hgx-b300", 32, "spectrum-x", nic_mode="1x800G", planes=1)
    assert check_fabric(topology) == []
    assert "disputed-mode" in {p.rule for p in topology.findings}
    quiet = Fabrics(compute=topology.design.fabrics.compute.model_copy(update={"nic_mode": None}))
    bad = replace(topology, design=topology.design.model_copy(update={"fabrics": quiet}))
    assert rules(bad) == {"breakout"}
