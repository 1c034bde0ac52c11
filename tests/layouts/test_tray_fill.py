"""Tray fill: what lies in the segments is what the cables take along their ways, and what is too full is told once for each tray."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import pi

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, Plan, load_catalog, make_plan, parse_design
from railplan.layouts.hall import Hall
from railplan.layouts.routes import tray_way_m
from railplan.layouts.shipped_halls import FOLDER
from railplan.layouts.tables import TRAYS
from railplan.layouts.thickness import bundle_mm, thickness_assumptions, thicknesses
from railplan.layouts.tray_fill import fill_trays
from railplan.layouts.tray_segments import loads, segments, segments_of_pairs, way_points
from railplan.layouts.ways import cable_ways

OTHERS = """
  frontend: {serves: [storage, inband, frontend], family: spectrum-x, gbps: 200}
  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201}"""
LISTED = "hall:\n" + "".join(f"  {line}\n" for line in (FOLDER / "one-room.yaml").read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
NARROW = LISTED.replace("width_mm: 400", "width_mm: 1")
DESIGNS = {
    "one row": "nodes: {model: hgx-b300, count: 9}\nhall: {nodes_per_rack: 1}\nfabrics:\n  compute: {family: spectrum-x}" + OTHERS,
    "copper and splitters": "nodes: {model: amd-mi300x-8, count: 9}\nhall: {nodes_per_rack: 1}\nfabrics:\n  compute: {family: tomahawk-5}" + OTHERS,
    "rows": "nodes: {model: dgx-h100, count: 31}\nhall: {row_racks: 6}\nfabrics:\n  compute: {family: quantum-ndr, ufm_links: 4}",
    "listed": f"nodes: {{model: hgx-b300, count: 48}}\n{LISTED}  nodes_per_rack: 2\nfabrics:\n  compute: {{family: spectrum-x}}",
    "listed, splitters": f"nodes: {{model: hgx-b300, count: 9}}\n{LISTED}  nodes_per_rack: 1\nfabrics:\n  compute: {{family: spectrum-x}}" + OTHERS,
    "listed, narrow": f"nodes: {{model: hgx-h100, count: 48}}\n{NARROW}  tray_width_mm: 12\n  nodes_per_rack: 2\nfabrics:\n  compute: {{family: spectrum-x}}",
}


@cache
def plan_of(name: str) -> Plan:
    return make_plan(parse_design(DESIGNS[name]), load_catalog())


def tray_m(hall: Hall, low: int, high: int) -> float:
    """Metres of tray between two positions, by the closed form or the shortest way: what hangs beside the racks is no tray."""
    one, other = np.array([low]), np.array([high])
    along, across = tray_way_m(hall, one, other)[:2]
    beside = sum(int(side[end]) for side in (hall.tray_net.side_x, hall.tray_net.side_y) for end in (low, high)) / 1e6 if hall.listed else 0.0
    return float(along[0] + across[0]) - beside


def millimetres(hall: Hall, low: int, high: int) -> Iterator[tuple[int, int, int, bool]]:
    """Every millimetre of tray of a way, walked along its corners: the place where it begins, its height, and whether it runs along x."""
    corners = way_points(hall, low, high)
    ends = {(round(x * 1e6), round(y * 1e6)) for n in (low, high) for x, y in hall.positions.select("x_m", "y_m").rows()[n : n + 1]}
    for (x, y, z), (u, v, _) in pairwise(corners.tolist()):
        steps = round(max(abs(x - u), abs(y - v)) * 1000)
        beside = hall.listed and bool({(round(x * 1e6), round(y * 1e6)), (round(u * 1e6), round(v * 1e6))} & ends) and not on_a_tray(hall, (x + u) / 2, (y + v) / 2, z, x != u)
        for step in range(0 if beside else steps):
            yield round(min(x, u) * 1000 if x != u else x * 1000) + (step if x != u else 0), round(min(y, v) * 1000) + (step if y != v else 0), round(z * 1000), x != u


def on_a_tray(hall: Hall, x: float, y: float, z: float, along_x: bool) -> bool:
    return any(
        tray.along_x == along_x and abs(tray.height_m - z) < 1e-6 and tray.x_m - 1e-6 <= x <= tray.to_x_m + 1e-6 and tray.y_m - 1e-6 <= y <= tray.to_y_m + 1e-6
        for tray in hall.trays
    )


@pytest.mark.parametrize("name", DESIGNS)
def test_segments_hold_what_the_cables_take_along_their_ways(name: str) -> None:
    plan = plan_of(name)
    hall, catalog = plan.placement.hall, plan.catalog
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    joined: dict[int, list[tuple[int, int]]] = {}
    for cable, low, high in zip(ways.cable.tolist(), ways.low.tolist(), ways.high.tolist(), strict=True):
        joined.setdefault(cable, []).append((low, high))
    metres: dict[tuple[tuple[int, int], ...], float] = {}
    area, weight, count = 0.0, 0.0, 0.0
    for cable, part in enumerate(plan.cabling.cables["part"].to_list()):
        pairs = tuple(joined.get(cable, []))
        if pairs and pairs not in metres:
            metres[pairs] = tray_m(hall, *pairs[0]) if len(pairs) == 1 else len({mm for pair in pairs for mm in millimetres(hall, *pair)}) / 1000
        figures = (catalog.copper.get(part) or catalog.fibres[part]).model_dump()
        area += pi / 4 * figures["diameter_mm"] ** 2 * metres.get(pairs, 0.0)
        weight += figures["weight_kg_per_m"] * metres.get(pairs, 0.0)
        count += metres.get(pairs, 0.0)
    table = plan.trays
    assert (table["area_mm2"] * table["length_m"]).sum() == pytest.approx(area, abs=1e-3)
    assert (table["weight_kg_per_m"] * table["length_m"]).sum() == pytest.approx(weight, abs=1e-3)
    assert (table["cables"] * table["length_m"]).sum() == pytest.approx(count, abs=1e-3)
    assert (table["copper"] + table["optical"]).equals(table["cables"])
    assert table["copper_area_mm2"].le(table["area_mm2"]).all()


def test_a_cable_to_several_racks_lies_once_where_its_ways_run_together() -> None:
    plan = plan_of("copper and splitters")
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    branching = np.flatnonzero(np.bincount(ways.cable, minlength=plan.cabling.cables.height) > 1)
    assert len(branching)
    racks = plan.placement.hall.positions["rack"]
    for cable in branching.tolist():
        row = plan.cabling.cables.row(cable, named=True)
        ends = {racks[int(p)] for p in (*ways.low[ways.cable == cable], *ways.high[ways.cable == cable])}
        assert ends == {*row["a_rack"].split("+"), *row["b_rack"].split("+")}
        assert ways.way[cable] >= 0
    twice = fill_of_pairs(plan)
    assert plan.trays["cables"].le(twice).all()
    assert not plan.trays["cables"].equals(twice)


def fill_of_pairs(plan: Plan) -> pl.Series:
    """Cables of each segment if every cable lay once for each rack it goes to."""
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    return pl.Series(loads(plan.placement.hall, ways.low, ways.high, np.ones((len(ways.low), 1), np.int64))[:, 0])


@pytest.mark.parametrize("name", ["rows", "listed"])
def test_loads_are_the_segments_of_every_pair_counted(name: str) -> None:
    hall = plan_of(name).placement.hall
    a, b = (grid.ravel() for grid in np.meshgrid(hall.free, hall.free, indexing="ij"))
    carried = np.stack([np.arange(len(a)) % 7, np.arange(len(a)) % 3], axis=1)
    pair, segment = segments_of_pairs(hall, a, b)
    counted = np.stack([np.bincount(segment, carried[pair, i], segments(hall).height) for i in (0, 1)], axis=1)
    assert np.array_equal(loads(hall, a, b, carried), counted)


def test_the_table_says_what_is_at_both_ends_and_how_full_it_is() -> None:
    table = plan_of("rows").trays
    assert dict(table.schema) == TRAYS
    assert table["segment"].to_list() == list(range(table.height))
    row = table.filter(pl.col("tray") == "row-A").row(0, named=True)
    assert row["from"] == "cross-1"
    assert row["to"] == "A01"
    assert row["capacity_mm2"] == pytest.approx(600 * 100 * 0.4)
    for row in table.to_dicts():
        assert row["fill_percent"] == pytest.approx(100 * row["area_mm2"] / (row["width_mm"] * row["depth_mm"]))
        assert row["of_limit_percent"] == pytest.approx(100 * row["fill_percent"] / row["limit_percent"])
    names = set(table["from"]) | set(table["to"])
    assert {f"A0{i}" for i in range(1, 7)} <= {word for name in names for word in name.split("+")}


def test_every_tray_that_is_too_full_is_told_once_at_its_worst_segment() -> None:
    plan = plan_of("listed, narrow")
    found = [p for p in plan.findings if p.rule == "tray-full"]
    over = plan.trays.filter(pl.col("of_limit_percent") > 100)
    assert {p.what.split()[1] for p in found} == set(over["tray"])
    assert len(found) == over["tray"].n_unique() > 1
    worst = over.sort("of_limit_percent", descending=True).row(0, named=True)
    first = found[0]
    names = [tray.name for tray in plan.placement.hall.trays]
    assert first.where == f"hall.trays.{names.index(worst['tray'])}"
    assert first.level == "warning"
    assert f"filled to {worst['fill_percent']:.1f}% between {worst['from']} and {worst['to']}, its limit is 40%: {worst['cables']:,} cables" in first.what
    wide = int(first.fix.split("make it ")[1].split(" mm")[0].replace(",", ""))
    assert 0 <= wide * worst["depth_mm"] * 0.4 - worst["area_mm2"] < 10 * worst["depth_mm"] * 0.4
    many = int(first.fix.split("lay ")[1].split(" ")[0])
    assert (many - 1) * worst["capacity_mm2"] < worst["area_mm2"] <= many * worst["capacity_mm2"]


def test_trays_wide_enough_are_no_finding() -> None:
    assert not [p for p in plan_of("listed").findings if p.rule == "tray-full"]


def test_a_missing_diameter_is_assumed_and_told_and_a_missing_weight_is_null() -> None:
    plan = plan_of("copper and splitters")
    thin = {name: part.model_copy(update={"diameter_mm": None, "weight_kg_per_m": None}) for name, part in plan.catalog.copper.items()}
    catalog = Catalog(**{**vars(plan.catalog), "copper": thin})
    ways = cable_ways(plan.topology, plan.placement, plan.cabling)
    table, found = fill_trays(plan.topology, plan.placement, plan.cabling, catalog, ways)
    used = sorted(set(plan.cabling.cables["part"]) & set(thin))
    assert [p.where for p in found if p.rule == "diameter-assumed"] == used
    assert {p.what for p in found if p.rule == "diameter-assumed"} == {"diameter not known: 9.4 mm each taken"}
    assert table.filter(pl.col("copper") > 0)["weight_kg_per_m"].null_count() == table.filter(pl.col("copper") > 0).height > 0
    assert table.filter(pl.col("copper") == 0)["weight_kg_per_m"].null_count() == 0
    spec = plan.design.hall
    assert thicknesses(used, catalog, spec)[used[0]].area_mm2 == pytest.approx(pi / 4 * 9.4**2)
    assert not thickness_assumptions(used, plan.catalog, spec)


@pytest.mark.parametrize(("cables", "thick"), [({3.0: 1}, 3.0), ({3.0: 2}, 6.0), ({9.0: 1, 3.0: 1}, 12.0), ({3.0: 25}, 18.0), ({10.0: 9, 5.0: 16}, 1.2 * 1300**0.5)])
def test_a_bundle_is_as_thick_as_the_planning_formula_says(cables: dict[float, int], thick: float) -> None:
    assert bundle_mm(cables) == pytest.approx(thick)
