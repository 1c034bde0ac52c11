"""Checks of three tiers, of every style and of several kinds of node: none fires on what is built, each on its fault."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from railplan.fabric.build import build_topology
from railplan.fabric.checks import check_fabric
from railplan.fabric.design import Design
from railplan.fabric.topology import Topology
from railplan.vendors.catalog import load_catalog

CATALOG = load_catalog()
SPINE_CORE = pl.col("tier") == "spine-core"
LEAF_SPINE = pl.col("tier") == "leaf-spine"


def rules(topology: Topology) -> set[str]:
    return {p.rule for p in check_fabric(topology)}


def number(topology: Topology, name: str) -> int:
    return int(topology.devices.filter(pl.col("device") == name)["dev"][0])


def first(topology: Topology, **equal: object) -> int:
    """Number of the first link with these values; device names stand for numbers."""
    values = {k: number(topology, v) if isinstance(v, str) and k.endswith("_dev") else v for k, v in equal.items()}
    return int(topology.links.filter(pl.all_horizontal(pl.col(k) == v for k, v in values.items()))["link"][0])


def swap(topology: Topology, one: int, other: int, *columns: str) -> Topology:
    """Exchange some columns of two links."""
    a, b = topology.links.row(one, named=True), topology.links.row(other, named=True)
    sets = [pl.when(pl.col("link") == one).then(b[c]).when(pl.col("link") == other).then(a[c]).otherwise(pl.col(c)).cast(topology.links.schema[c]).alias(c) for c in columns]
    return replace(topology, links=topology.links.with_columns(sets))


def without(topology: Topology, where: pl.Expr) -> Topology:
    return replace(topology, links=topology.links.filter(~where).with_columns(link=pl.int_range(pl.len(), dtype=pl.UInt32)))


def set_device(topology: Topology, name: str, **values: object) -> Topology:
    columns = [pl.when(pl.col("device") == name).then(pl.lit(v)).otherwise(pl.col(c)).cast(topology.devices.schema[c]).alias(c) for c, v in values.items()]
    return replace(topology, devices=topology.devices.with_columns(columns))


@pytest.fixture(scope="module")
def tree(built) -> Topology:
    """512 nodes in three tiers: 32 groups of 4 leaves and 4 spines, 4 core groups of 16."""
    return built("hgx-h100", 512, "quantum-ndr")


@pytest.fixture(scope="module")
def shared(built) -> Topology:
    """90 nodes, a partial last group, spines shared by all rails, 2:1 below the cores."""
    return built("hgx-h100", 90, "quantum-ndr", tiers=3, nodes_per_su=16, sus_per_group=2, spine_groups="shared", core_oversubscription=2, partial_su="trimmed")


@pytest.fixture(scope="module")
def mixed() -> Topology:
    """B300 nodes, H100 nodes and storage nodes without GPUs on one fabric."""
    store = CATALOG.nodes["hgx-h100"].model_copy(update={"model": "store", "gpus": 0, "ports": tuple(p.model_copy(update={"gpu": None}) for p in CATALOG.nodes["hgx-h100"].ports)})
    catalog = replace(CATALOG, nodes={**CATALOG.nodes, "store": store})
    more = [{"model": "hgx-h100", "count": 40, "name": "old"}, {"model": "store", "count": 9, "name": "store"}]
    design = {"nodes": {"model": "hgx-b300", "count": 64}, "more_nodes": more, "fabrics": {"compute": {"family": "spectrum-x", "planes": 1}}}
    return build_topology(Design.model_validate(json.loads(json.dumps(design))), catalog)


BUILT = [
    ("hgx-h100", 512, "quantum-ndr", {}),
    ("hgx-h100", 500, "quantum-ndr", {"core_oversubscription": 7, "partial_su": "trimmed"}),
    ("hgx-h100", 90, "quantum-ndr", {"tiers": 3, "nodes_per_su": 16, "sus_per_group": 2, "spine_groups": "shared", "grow_to": 200}),
    ("hgx-b300", 80, "spectrum-x", {"tiers": 3, "nodes_per_su": 8, "sus_per_group": 3}),
    ("hgx-b300", 33, "spectrum-x", {"style": "tor"}),
    ("hgx-b300", 33, "spectrum-x", {"style": "tor", "tiers": 3, "oversubscription": 2}),
    ("hgx-b300", 33, "spectrum-x", {"style": "dual-tor", "planes": 1}),
    ("hgx-b300", 70, "spectrum-x", {"style": "dual-tor", "planes": 1, "tiers": 3, "sus_per_group": 2}),
    ("hgx-h100", 100, "spectrum-x", {"style": "rail-only"}),
    ("hgx-h100", 200, "spectrum-x", {"style": "rail-only"}),
    ("hgx-b300", 200, "spectrum-x", {"style": "rail-only"}),
    ("hgx-h100", 64, "quantum-ndr", {"style": "chassis", "switch": "nvidia-cs9500"}),
    ("gb300-nvl72-tray", 144, "quantum-xdr", {"tiers": 3, "sus_per_group": 1}),
]


@pytest.mark.parametrize(("model", "count", "family", "more"), BUILT)
def test_nothing_fires_on_a_built_fabric(built, model, count, family, more):
    assert [str(p) for p in check_fabric(built(model, count, family, **more))] == []


def test_nothing_fires_on_several_kinds_of_node(mixed):
    assert [str(p) for p in check_fabric(mixed)] == []
    assert mixed.links.filter((pl.col("tier") == "node-leaf") & (pl.col("gpu") < 0)).height == 9 * 8


def test_an_uplink_into_another_rails_spines_crosses_groups(tree):
    one, other = first(tree, a_dev="leaf-su00-r0", b_dev="spine-g0-r0-01"), first(tree, a_dev="leaf-su00-r1", b_dev="spine-g0-r1-01")
    bad = swap(tree, one, other, "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"group-crossed", "uneven-spread"}
    problem = next(p for p in check_fabric(bad) if p.rule == "group-crossed")
    assert "the leaf is of group 0 rail 0, the spine of group 0 rail 1" in problem.what


def test_an_uplink_into_another_groups_spines_crosses_groups(shared):
    one, other = first(shared, a_dev="leaf-su0-r0", b_dev="spine-g0-01"), first(shared, a_dev="leaf-su2-r0", b_dev="spine-g1-01")
    assert "group-crossed" in rules(swap(shared, one, other, "b_dev", "b_cage", "b_child"))


def test_an_uneven_spread_within_a_group_is_refused(tree):
    one, other = first(tree, a_dev="leaf-su00-r0", b_dev="spine-g0-r0-01"), first(tree, a_dev="leaf-su01-r0", b_dev="spine-g0-r0-02")
    bad = swap(tree, one, other, "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"uneven-spread"}
    assert "has 7 links to spine-g0-r0-01 and 9 to another spine" in check_fabric(bad)[0].what


def test_a_spine_that_meets_another_core_group_is_refused(tree):
    one, other = first(tree, a_dev="spine-g0-r0-01", b_dev="core-g01-01"), first(tree, a_dev="spine-g0-r0-02", b_dev="core-g02-01")
    bad = swap(tree, one, other, "b_dev", "b_cage", "b_child")
    assert {"core-group", "uneven-spread"} <= rules(bad)
    assert "is spine 1 of its group, but has links to core-g02-01 of core group 2" in next(p for p in check_fabric(bad) if p.rule == "core-group").what


def test_an_uneven_spread_over_the_cores_is_refused(tree):
    one, other = first(tree, a_dev="spine-g0-r0-01", b_dev="core-g01-01"), first(tree, a_dev="spine-g0-r1-01", b_dev="core-g01-02")
    bad = swap(tree, one, other, "b_dev", "b_cage", "b_child")
    assert rules(bad) == {"uneven-spread"}
    assert "to another core" in check_fabric(bad)[0].what


def test_a_dark_core_is_refused(tree):
    row = tree.devices.row(number(tree, "core-g04-16"), named=True) | {"dev": tree.devices.height, "device": "core-g04-17"}
    bad = replace(tree, devices=pl.concat([tree.devices, pl.DataFrame([row], schema=tree.devices.schema)]))
    assert rules(bad) == {"dark-core", "uneven-spread"}


def test_a_dark_spine_of_a_group_is_refused(shared):
    row = shared.devices.row(number(shared, "spine-g0-01"), named=True) | {"dev": shared.devices.height, "device": "spine-g0-99"}
    bad = replace(shared, devices=pl.concat([shared.devices, pl.DataFrame([row], schema=shared.devices.schema)]))
    assert {"dark-spine", "uneven-spread"} <= rules(bad)
    assert "though its group has 16 leaves" in next(p for p in check_fabric(bad) if p.rule == "dark-spine").what


def test_a_spine_with_fewer_core_links_than_its_group_is_refused(shared):
    spine = number(shared, "spine-g0-01")
    first_of_each = pl.col("link") == pl.col("link").min().over("a_dev", "b_dev")
    bad = without(shared, SPINE_CORE & (pl.col("a_dev") == spine) & first_of_each)
    assert {"spines-unlike", "oversubscription"} <= rules(bad)


def test_too_few_core_links_are_more_oversubscription_than_designed(tree):
    every_other = pl.col("link") % 2 == 0
    bad = without(tree, SPINE_CORE & every_other)
    found = [p for p in check_fabric(bad) if p.rule == "oversubscription"]
    assert found
    assert "the design allows 1:1" in found[0].why
    assert found[0].where.startswith("spine-")


def test_a_group_without_core_links_is_unreachable(tree):
    group = tree.devices.filter((pl.col("role") == "spine") & (pl.col("group") == 0) & (pl.col("rail") == "0"))["dev"].implode()
    bad = without(tree, SPINE_CORE & pl.col("a_dev").is_in(group))
    assert "unreachable" in rules(bad)
    assert "the 128 leaves of plane 0 fall into 2 pieces" in next(p for p in check_fabric(bad) if p.rule == "unreachable").what


def test_rails_that_should_be_apart_may_not_meet(built):
    topology = built("hgx-h100", 200, "spectrum-x", style="rail-only")
    one, other = first(topology, a_dev="leaf-su0-r0", b_dev="spine-r0-01"), first(topology, a_dev="leaf-su0-r1", b_dev="spine-r1-01")
    bad = swap(topology, one, other, "b_dev", "b_cage", "b_child")
    assert {"rails-joined", "group-crossed"} <= rules(bad)


def test_a_leaf_of_a_rail_alone_is_cut_off_from_its_rail(built):
    topology = built("hgx-h100", 200, "spectrum-x", style="rail-only")
    bad = without(topology, LEAF_SPINE & (pl.col("a_dev") == number(topology, "leaf-su1-r3")))
    assert "the 4 leaves of plane 0 and rail 3 fall into 2 pieces" in next(p for p in check_fabric(bad) if p.rule == "unreachable").what


def test_both_ports_of_a_nic_on_one_side_of_the_pair_are_refused(built):
    topology = built("hgx-b300", 33, "spectrum-x", style="dual-tor", planes=1)
    a, b = number(topology, "leaf-su0-a"), number(topology, "leaf-su0-b")
    one, other = first(topology, a_dev="gpu-001", b_dev=a, gpu=0), first(topology, a_dev="gpu-001", b_dev=b, gpu=1)
    bad = swap(topology, one, other, "b_dev", "b_cage", "b_child")
    assert "dual-tor" in rules(bad)
    assert "gpu-001 rail 0" in {p.where for p in check_fabric(bad) if p.rule == "dual-tor"}


def test_a_rail_of_a_node_on_the_leaf_of_another_rack_is_refused(built):
    topology = built("hgx-h100", 33, "spectrum-x", style="tor")
    one, other = first(topology, a_dev="gpu-001", gpu=0), first(topology, a_dev="gpu-033", gpu=0)
    assert {"tor-split", "su", "rail-split"} <= rules(swap(topology, one, other, "b_dev", "b_cage", "b_child"))


def test_a_link_of_another_kind_of_node_is_counted(mixed):
    store = first(mixed, a_dev="store-001")
    bad = without(mixed, pl.col("link") == store)
    assert rules(bad) == {"count", "gpu-links"}
    assert "links of nodes" in next(p for p in check_fabric(bad) if p.rule == "count").what
    assert "store-001" in {p.where for p in check_fabric(bad) if p.rule == "gpu-links"}


def test_a_node_of_another_kind_that_is_missing_is_counted(mixed):
    problems = [p for p in check_fabric(set_device(mixed, "old-007", present=False)) if p.rule == "count"]
    assert ("more_nodes.0", "39 present nodes of old, the design asks for 40") in {(p.where, p.what) for p in problems}


def test_a_storage_link_that_claims_a_gpu_is_refused(mixed):
    link = first(mixed, a_dev="store-001")
    changed = mixed.links.with_columns(gpu=pl.when(pl.col("link") == link).then(pl.lit(3, dtype=pl.Int32)).otherwise("gpu"))
    assert "gpu-port" in rules(replace(mixed, links=changed))
