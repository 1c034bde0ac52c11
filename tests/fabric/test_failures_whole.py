"""What fails in a cluster of several fabrics: compute as ever, and who is cut off on the others."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from railplan import DesignError, Plan
from railplan.fabric.damage import damage_text


@pytest.fixture(scope="module")
def plan(cluster_of: Callable[..., Plan]) -> Plan:
    return cluster_of("infiniband")


def clients(plan: Plan, *leaves: str) -> set[str]:
    """Devices whose every link of the leaves' fabric leads to these leaves."""
    names = plan.topology.devices["device"]
    (fabric,) = set(plan.topology.devices.filter(pl.col("device").is_in(leaves))["fabric"])
    links = plan.topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf"))
    ends = links.select(a=names.gather(links["a_dev"]), b=names.gather(links["b_dev"])).group_by("a").agg("b")
    return {client for client, met in ends.iter_rows() if set(met) <= set(leaves)}


def test_a_leaf_of_another_fabric_leaves_compute_whole_and_cuts_off_who_hangs_on_it_alone(plan: Plan) -> None:
    damage = plan.what_if("leaf:oob-leaf-01a")
    assert (damage.left_percent, damage.links_lost, damage.cut_off, damage.rails) == (100.0, 0, (), ())
    lost = {one.fabric: one for one in damage.others}
    assert set(lost) == {"inb", "oob"}  # its uplinks are links of inb
    assert lost["oob"].switches_down == ("oob-leaf-01a",)
    assert set(lost["oob"].cut_off) == clients(plan, "oob-leaf-01a")
    assert lost["oob"].cut_off
    assert (lost["inb"].links_lost, lost["inb"].cut_off) == (2, ())


def test_both_leaves_of_a_pair_take_all_their_clients_with_them(plan: Plan) -> None:
    (oob,) = (one for one in plan.what_if("leaf:oob-leaf-01a,leaf:oob-leaf-01b").others if one.fabric == "oob")
    assert set(oob.cut_off) == clients(plan, "oob-leaf-01a", "oob-leaf-01b")
    assert oob.thinner == 0


def test_a_leaf_without_its_uplinks_is_cut_off_with_who_hangs_on_it_alone(plan: Plan) -> None:
    links = plan.topology.links.with_columns(cable=plan.cabling.cables["cable"].gather(plan.cabling.carried["cable_no"]))
    names = plan.topology.devices["device"]
    up = links.filter((pl.col("fabric") == "inb") & (names.gather(links["a_dev"]) == "oob-leaf-01a"))["cable"].to_list()
    assert len(up) == 2
    lost = {one.fabric: one for one in plan.what_if(*[f"cable:{cable}" for cable in up]).others}
    assert (lost["inb"].links_lost, lost["oob"].links_lost) == (2, 0)
    assert set(lost["oob"].cut_off) == clients(plan, "oob-leaf-01a")


def test_a_cable_that_a_client_has_alone_cuts_it_off(plan: Plan) -> None:
    ports = plan.topology.links.filter((pl.col("fabric") == "oob") & (pl.col("tier") == "node-leaf"))
    one = ports.filter(pl.col("a_dev").is_unique()).row(0, named=True)
    cable = plan.cabling.cables["cable"][plan.cabling.carried["cable_no"][one["link"]]]
    (lost,) = plan.what_if(f"cable:{cable}").others
    assert (lost.fabric, lost.links_lost, lost.cut_off) == ("oob", 1, (plan.topology.devices["device"][one["a_dev"]],))


def test_a_compute_spine_also_loses_its_management_port(plan: Plan) -> None:
    damage = plan.what_if("spine:spine-01")
    assert damage.left_percent < 100
    assert [(one.fabric, one.links_lost, one.cut_off) for one in damage.others] == [("oob", 1, ())]


def test_a_rack_of_servers_is_found_though_compute_has_none_there(plan: Plan) -> None:
    rack = plan.placement.places.filter(plan.topology.devices["role"] == "server")["rack"][0]
    damage = plan.what_if(f"rack:{rack}")
    assert damage.left_percent == 100.0
    assert {one.fabric for one in damage.others} == {"stor", "inb", "oob"}
    assert not any(one.cut_off for one in damage.others)


def test_the_lines_name_every_fabric(plan: Plan) -> None:
    lines = list(damage_text(plan.what_if("leaf:stor-leaf-01a")))
    assert lines[0].startswith("leaf:stor-leaf-01a down: compute has 100% of its bandwidth left")
    assert any(line.startswith("stor: ") and "down: stor-leaf-01a" in line for line in lines)


def test_what_no_fabric_has_is_refused(plan: Plan) -> None:
    with pytest.raises(DesignError, match="the plan has no leaf 'nope'"):
        plan.what_if("leaf:oob-leaf-01a,leaf:nope")


@pytest.mark.parametrize("kind", ["leaf", "spine", "cable", "rack"])
def test_the_worst_single_failure_is_that_of_compute_and_tells_of_the_others(plan: Plan, kind: str) -> None:
    worst, tried, of = plan.worst_failure(kind)
    assert 0 < tried <= of
    (name,) = worst.failures
    assert worst == plan.what_if(name)
