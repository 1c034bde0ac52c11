"""A cluster that grows keeps every name, port and serial it has; links are only added."""

from __future__ import annotations

import polars as pl
import pytest

from railplan.fabric.bisection import check_bisection, prove
from railplan.fabric.checks import check_fabric
from railplan.fabric.graph import name_ends

FAMILIES = [("hgx-b300", "spectrum-x", {}), ("dgx-h100", "quantum-ndr", {"ufm_links": 4}), ("hgx-h100", "quantum-ndr", {"partial_su": "trimmed"}), ("dgx-b300", "quantum-xdr", {})]


def links_of(topology) -> set[tuple]:
    """Every link as people know it: its serial, and both ends by device and port."""
    return set(name_ends(topology).select("series", "serial", "a_device", "a_port", "b_device", "b_port", "rail", "plane", "gbps").iter_rows())


@pytest.mark.parametrize(("model", "family", "more"), FAMILIES)
@pytest.mark.parametrize("now", [1, 20, 64, 100])
def test_every_link_of_today_is_a_link_of_the_grown_cluster(built, model, family, more, now):
    small, large = built(model, now, family, grow_to=128, **more), built(model, 128, family, grow_to=128, **more)
    assert links_of(small) < links_of(large)
    assert check_fabric(small) + check_bisection(prove(small, "compute")) == []


def test_a_cluster_grown_to_its_end_is_the_one_planned_at_once(built):
    assert links_of(built("hgx-b300", 128, "spectrum-x", grow_to=128)) == links_of(built("hgx-b300", 128, "spectrum-x"))


def test_names_are_as_wide_as_the_final_cluster_needs(built):
    devices = built("hgx-b300", 64, "spectrum-x", grow_to=1024).devices
    assert devices["device"][0] == "gpu-0001"


def test_room_for_growth_is_listed_but_carries_no_link(built):
    topology = built("hgx-b300", 64, "spectrum-x", grow_to=128)
    later = topology.devices.filter(~pl.col("present"))
    assert later.filter(pl.col("role") == "node").height == 64
    assert later.filter(pl.col("role") == "leaf").height == 16
    assert topology.links.filter(pl.col("a_dev").is_in(later["dev"].implode()) | pl.col("b_dev").is_in(later["dev"].implode())).is_empty()


def test_the_plan_says_what_growth_will_add(built):
    (note,) = [p for p in built("hgx-b300", 64, "spectrum-x", grow_to=128).findings if "will add" in p.what]
    assert "will add 2,048 links to the 2,048 planned; none moves" in note.what
