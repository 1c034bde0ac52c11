"""The spine rule against a brute-force reference, and the choices sizing makes for small and odd clusters."""

from __future__ import annotations

import random
from collections import Counter

import polars as pl
import pytest

from railplan.fabric.sizing import Block
from railplan.fabric.tiers import spine_counts
from railplan.problems import DesignError


def chosen(least: int, most: int, last_least: int, sus: int, rows: int, radix: int) -> tuple[int, int, int] | None:
    """(spines, uplinks, uplinks of the last SU) that sizing takes for `sus` SUs of `rows` leaves."""
    block = Block(sus, 1, rows, 1, 1, 1, 1, least, most, last_least)
    size = next(spine_counts((block,), radix, "rail", by_rail=False), None)
    return None if size is None else (size.spines, *size.uplinks, *size.last_uplinks)


def fewest_spines(leaves: int, uplinks: int, ports: int) -> int | None:
    """The rule as written: the smallest d with U mod d = 0 and d x R >= L x U, found by trying."""
    for spines in range(1, uplinks + 1):
        if uplinks % spines == 0 and spines * ports >= leaves * uplinks:
            return spines
    return None


def test_the_spine_rule_is_that_of_the_reference_for_many_leaves_uplinks_and_ports():
    tried = Counter()
    choose = random.Random(1)
    for _ in range(4000):
        leaves, up, ports = choose.randint(1, 200), choose.randint(1, 144), choose.choice([16, 32, 64, 72, 128, 144, 256])
        found = chosen(up, up, up, leaves, 1, ports)
        expected = fewest_spines(leaves, up, ports)
        assert (found[0] if found else None) == expected, (leaves, up, ports)
        tried[expected is not None] += 1
    assert min(tried.values()) > 200


@pytest.mark.parametrize(("leaves", "up", "ports", "spines"), [(24, 32, 64, 16), (8, 32, 64, 4), (64, 32, 64, 32), (144, 72, 144, 72), (16, 72, 144, 8)])
def test_published_spine_counts_follow_from_the_rule(leaves, up, ports, spines):
    assert fewest_spines(leaves, up, ports) == spines
    assert chosen(up, up, up, leaves // 8, 8, ports) == (spines, up, up)


def test_uplinks_may_be_added_where_that_saves_spines():
    assert chosen(7, 7, 7, 1, 8, 32) == (7, 7, 7)
    assert chosen(7, 8, 7, 1, 8, 32) == (2, 8, 8)


def test_a_trimmed_last_su_keeps_the_spread_even():
    assert chosen(32, 32, 13, 2, 8, 64) == (8, 32, 16)


def roles(topology) -> Counter:
    return Counter(topology.devices.filter(pl.col("present"))["role"].to_list())


def test_sixty_four_endpoints_fit_one_switch_without_a_spine(built):
    assert roles(built("hgx-h100", 8, "quantum-ndr")) == {"node": 8, "leaf": 1}


def test_sixteen_nodes_of_400g_fit_one_switch_of_128_ports(built):
    assert roles(built("hgx-h100", 16, "spectrum-x")) == {"node": 16, "leaf": 1}


def test_one_node_more_than_a_switch_holds_gets_spines_and_shared_leaves(built):
    topology = built("hgx-h100", 9, "quantum-ndr")
    assert roles(topology) == {"node": 9, "leaf": 4, "spine": 2}
    assert topology.devices.filter(pl.col("role") == "leaf")["rail"].to_list() == ["0+1", "2+3", "4+5", "6+7"]


def test_a_partial_last_su_gets_all_its_leaves_and_uplinks(built):
    topology = built("hgx-h100", 33, "quantum-ndr")
    assert roles(topology) == {"node": 33, "leaf": 16, "spine": 8}
    assert topology.links.filter(pl.col("tier") == "leaf-spine").height == 16 * 32


def test_a_trimmed_last_su_gets_fewer_uplinks(built):
    topology = built("hgx-h100", 33, "quantum-ndr", partial_su="trimmed")
    up = topology.links.filter(pl.col("tier") == "leaf-spine").group_by("a_dev").len().sort("a_dev")["len"].to_list()
    assert len(set(up[:8])) == len(set(up[8:])) == 1
    assert up[0] >= 32 > up[8] >= 1


@pytest.mark.parametrize("spines", [3, 7, 64])
def test_a_spine_count_that_cannot_spread_evenly_is_refused_with_near_ones(built, spines):
    with pytest.raises(DesignError) as refused:
        built("hgx-h100", 64, "quantum-ndr", spines_per_plane=spines)
    (error,) = [p for p in refused.value.problems if p.level == "error"]
    assert error.rule == "spine-count"
    assert error.why
    assert "use 8, 16" in error.fix


def test_a_spine_count_above_the_least_is_kept(built):
    assert roles(built("hgx-h100", 64, "quantum-ndr", spines_per_plane=16))["spine"] == 16


def test_reserved_ports_stay_free_on_every_leaf_and_spine(built):
    topology = built("hgx-h100", 64, "spectrum-x", reserved_ports={"leaf": 4, "spine": 8})
    for side, role in (("a", "leaf"), ("b", "spine")):
        used = topology.links.filter(pl.col("tier") == "leaf-spine").group_by(f"{side}_dev").len()["len"].max()
        down = topology.links.filter(pl.col("tier") == "node-leaf").group_by("b_dev").len()["len"].max() if role == "leaf" else 0
        assert used + down <= 128 - {"leaf": 4, "spine": 8}[role]
