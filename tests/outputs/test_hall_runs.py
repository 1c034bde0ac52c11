"""What lies in the trays, as hall.svg shows it: two lines as thick as the cables are many, and a mark where a tray is too full."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache

import polars as pl
import pytest

from railplan import Plan, load_catalog, make_plan, parse_design
from railplan.layouts.hall import Hall
from railplan.layouts.shipped_halls import FOLDER
from railplan.outputs import hall_picture
from railplan.outputs.hall_floor import Floor, floor_of, scale_of
from railplan.outputs.hall_runs import COPPER, OPTICAL, THICK, THIN, run_legend, runs, thickness

SVG = "{http://www.w3.org/2000/svg}"
ROOM = "hall:\n" + "".join(f"  {line}\n" for line in (FOLDER / "one-room.yaml").read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
OTHERS = "\n  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201}"
DESIGNS = {
    "one row": "nodes: {model: hgx-b300, count: 64}\nfabrics:\n  compute: {family: spectrum-x}" + OTHERS,
    "copper": "nodes: {model: dgx-h100, count: 31}\nhall: {row_racks: 6}\nfabrics:\n  compute: {family: quantum-ndr}",
    "too full": f"nodes: {{model: hgx-b300, count: 48}}\n{ROOM}  nodes_per_rack: 2\n  tray_width_mm: 20\nfabrics:\n  compute: {{family: spectrum-x}}",
    "one rack": "nodes: {model: hgx-b300, count: 2}\nhall: {rack_power_kw: 100}\nfabrics: {compute: {family: spectrum-x, style: single}}",
}


@cache
def plan_of(name: str) -> Plan:
    return make_plan(parse_design(DESIGNS[name]), load_catalog())


def drawn(hall: Hall) -> Floor:
    return floor_of(hall, scale_of(hall), (0.0, 0.0))


def lines_of(parts: list[str], colour: str) -> Iterator[tuple[float, float, float]]:
    """(length in pixels, thickness, hover's number of cables) of the lines of one colour."""
    word = "copper" if colour == COPPER else "optical"
    for group in (ET.fromstring(part) for part in parts if part.startswith("<g><title>")):
        hover = group.findtext("title") or ""
        for one in group.iter("line"):
            if one.get("stroke") == colour:
                x1, y1, x2, y2 = (float(one.get(key, "")) for key in ("x1", "y1", "x2", "y2"))
                found = re.search(rf"([\d,]+) {word}", hover)
                assert found
                yield abs(x2 - x1) + abs(y2 - y1), float(one.get("stroke-width", "")), int(found[1].replace(",", ""))


@pytest.mark.parametrize("name", DESIGNS)
def test_lines_are_as_long_as_the_filled_trays_and_as_thick_as_the_cables_are_many(name: str) -> None:
    plan = plan_of(name)
    floor = drawn(plan.placement.hall)
    parts = runs(plan.trays, floor)
    most = max(plan.trays["copper"].max(), plan.trays["optical"].max())
    for colour, column in ((COPPER, "copper"), (OPTICAL, "optical")):
        found = list(lines_of(parts, colour))
        filled = plan.trays.filter(pl.col(column) > 0)
        assert sum(length for length, _, _ in found) == pytest.approx(filled["length_m"].sum() * floor.scale, abs=0.05 * (len(found) + 1))
        assert {count for _, _, count in found} == set(filled[column])
        for _, thick, count in found:
            assert thick == pytest.approx(thickness(count, most), abs=0.006)


def test_thickness_grows_with_the_square_root_and_nothing_is_no_line() -> None:
    assert thickness(0, 100) == 0
    assert thickness(1, 1) == thickness(1, 5_000) == THIN
    assert thickness(5_000, 5_000) == THICK
    grown = [thickness(n, 401) - THIN for n in (101, 401)]
    assert grown[1] == pytest.approx(2 * grown[0])


def test_a_tray_that_is_too_full_is_marked_and_no_other() -> None:
    plan = plan_of("too full")
    over = plan.trays.filter(pl.col("of_limit_percent") > 100)
    assert 0 < over.height < plan.trays.height
    floor = drawn(plan.placement.hall)
    bands = [ET.fromstring(part) for part in runs(plan.trays, floor) if part.startswith("<rect")]
    long = [max(float(b.get("width", "")), float(b.get("height", ""))) for b in bands]
    assert sum(long) == pytest.approx(over["length_m"].sum() * floor.scale, abs=0.05 * len(bands))
    assert f"fuller than allowed: {over['length_m'].sum():,.1f} m of {over['tray'].n_unique()} tray" in "".join(words for _, words in run_legend(plan.trays))
    assert not [part for part in runs(plan_of("one row").trays, drawn(plan_of("one row").placement.hall)) if part.startswith("<rect")]


@pytest.mark.parametrize("name", DESIGNS)
def test_the_picture_has_the_lines_their_legend_and_the_number_of_the_thickest(name: str) -> None:
    plan = plan_of(name)
    picture = hall_picture.files(plan)["hall.svg"]
    words = [e.text or "" for e in ET.fromstring(picture).iter() if e.tag == f"{SVG}text"]
    assert ("1 cable" in words) == bool(plan.trays["cables"].sum() > 2)
    for column, said in (("copper", "copper cables"), ("optical", "fibres and active optical cables")):
        most = plan.trays[column].max()
        assert bool(most) == any(word == f"{said}, at most {most:,} in a tray" for word in words)
    if plan.trays["optical"].max() > plan.trays["copper"].max():
        assert f"{plan.trays['optical'].max():,}" in words
