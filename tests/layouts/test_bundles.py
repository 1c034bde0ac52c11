"""Bundles: every cable between racks is in one with those that run the same way, none is larger than allowed."""

from __future__ import annotations

from collections import defaultdict
from math import ceil

import polars as pl
import pytest

from railplan import load_catalog, make_plan, parse_design
from railplan.layouts.tables import BUNDLES
from railplan.layouts.ways import cable_ways

from .test_tray_fill import DESIGNS, plan_of

OPTICAL = {"mmf", "smf", "aoc"}


@pytest.mark.parametrize("name", DESIGNS)
def test_cables_of_one_way_and_medium_are_split_evenly_and_no_further(name: str) -> None:
    plan = plan_of(name)
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    groups: dict[tuple[int, bool], list[str]] = defaultdict(list)
    for way, kind, bundle in zip(ways.way.tolist(), plan.cabling.cables["kind"].to_list(), plan.cabling.cables["bundle"].to_list(), strict=True):
        if way < 0:
            assert bundle == ""
        else:
            groups[way, kind in OPTICAL].append(bundle)
    seen: list[str] = []
    for (_, optical), bundles in sorted(groups.items()):
        most = 48 if optical else 24
        names = list(dict.fromkeys(bundles))
        if len(bundles) == 1:
            assert names == [""]
            continue
        sizes = [bundles.count(bundle) for bundle in names]
        assert len(names) == ceil(len(bundles) / most)
        assert max(sizes) - min(sizes) <= 1
        seen += names
    assert seen == plan.bundles["bundle"].to_list() == [f"B{i:04d}" for i in range(1, len(seen) + 1)]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_table_says_what_is_in_each_bundle(name: str) -> None:
    plan = plan_of(name)
    assert dict(plan.bundles.schema) == BUNDLES
    parts = {**plan.catalog.copper, **plan.catalog.fibres}
    for row in plan.bundles.to_dicts():
        own = plan.cabling.cables.filter(pl.col("bundle") == row["bundle"])
        assert own.height == row["cables"]
        assert row["kinds"] == "+".join(sorted(set(own["kind"])))
        assert row["parts"] == "+".join(f"{n} x {part}" for part, n in own["part"].value_counts().sort("part").iter_rows())
        assert (row["shortest_m"], row["longest_m"]) == (own["length_m"].min(), own["length_m"].max())
        assert row["weight_kg"] == pytest.approx(sum(parts[part].weight_kg_per_m * length for part, length in own.select("part", "length_m").iter_rows()))
        racks = {tuple(sorted({*a.split("+"), *b.split("+")})) for a, b in own.select("a_rack", "b_rack").iter_rows()}
        assert {tuple(sorted({*row["a_rack"].split("+"), *row["b_rack"].split("+")}))} == racks
        first = own.row(0, named=True)
        assert set(row["a_rack"].split("+")) == set(first["a_rack"].split("+"))
        assert set(row["b_rack"].split("+")) == set(first["b_rack"].split("+"))


@pytest.mark.parametrize("name", ["rows", "listed"])
def test_trays_are_named_in_the_order_from_a_to_b(name: str) -> None:
    plan = plan_of(name)
    over = {rack: plan.placement.hall.trays[tray].name for rack, tray in zip(plan.placement.hall.positions["rack"], plan.placement.hall.tray_net.tray.tolist(), strict=True)}
    ahead = 0
    for row in plan.bundles.to_dicts():
        trays = row["trays"].split(" > ")
        assert (trays[0], trays[-1]) == (over[row["a_rack"]], over[row["b_rack"]])
        assert len(set(trays)) == len(trays)
        ahead += len(trays) > 1
    assert ahead


def test_the_largest_bundle_is_the_designs_and_what_is_left_alone_is_no_bundle() -> None:
    text = DESIGNS["copper and splitters"] + "\ncables: {bundle_max: {copper: 2, fibre: 2}}"
    plan = make_plan(parse_design(text), load_catalog())
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    table = plan.cabling.cables.select("bundle", pl.col("kind").is_in(OPTICAL).alias("optical")).with_columns(pl.Series("way", ways.way)).filter(pl.col("way") >= 0)
    odd = table.group_by("way", "optical").len().filter(pl.col("len") % 2 == 1).height
    assert odd
    assert set(plan.bundles["cables"]) == {2}
    assert table.filter(pl.col("bundle") == "").height == odd
    assert plan.trays.equals(plan_of("copper and splitters").trays)
    assert plan.cabling.cables.drop("bundle").equals(plan_of("copper and splitters").cabling.cables.drop("bundle"))


def test_a_plan_within_one_rack_has_neither_bundles_nor_filled_trays() -> None:
    plan = make_plan(parse_design("nodes: {model: hgx-b300, count: 2}\nhall: {rack_power_kw: 100}\nfabrics: {compute: {family: spectrum-x, style: single}}"), load_catalog())
    assert plan.placement.racks.height == 1
    assert plan.bundles.is_empty()
    assert plan.trays["cables"].sum() == 0
    assert set(plan.cabling.cables["bundle"]) == {""}
