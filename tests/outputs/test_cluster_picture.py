"""fabrics.svg, racks.svg and hall.svg of a whole cluster: everything is there, in the same colours, and no words lie on others."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import combinations

import polars as pl
import pytest

from railplan import Plan
from railplan.outputs import cluster_picture, hall_picture, rack_picture
from railplan.outputs.cluster_colours import fabric_colours, fill_of
from railplan.outputs.cluster_rows import client_rows, fabric_columns
from railplan.outputs.svg import MARGIN, text_width, tint

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["ethernet", "infiniband", "mixed"]


@pytest.fixture(scope="module", params=NAMES)
def plan(request: pytest.FixtureRequest, cluster_of: Callable[..., Plan]) -> Plan:
    return cluster_of(request.param)


def drawn(plan: Plan) -> ET.Element:
    return ET.fromstring(cluster_picture.files(plan)["fabrics.svg"])


def words(root: ET.Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


def boxes(root: ET.Element) -> list[tuple[str, float, float, float, float]]:
    """Ground of every line of words: left, top, right, bottom."""
    found = []
    for e in root.iter(f"{SVG}text"):
        text, size, x, y = e.text or "", float(e.attrib["font-size"]), float(e.attrib["x"]), float(e.attrib["y"])
        wide = text_width(text, size) * 0.85
        left = {"middle": x - wide / 2, "end": x - wide}.get(e.attrib.get("text-anchor", ""), x)
        found.append((text, left, y - size * 0.75, left + wide, y))
    return found


def test_every_fabric_and_every_kind_of_client_is_drawn_with_its_count(plan: Plan) -> None:
    said = "\n".join(words(drawn(plan)))
    present = plan.topology.devices.filter("present")
    for column in fabric_columns(plan):
        assert column.name in said
        assert sum(count for _, count, _ in column.switches) == present.filter((pl.col("fabric") == column.name) & pl.col("role").is_in(("leaf", "spine", "core"))).height
    for row in client_rows(plan):
        assert f"{row.name}: {row.count:,}" in said
        assert all(line in said for lines in row.links.values() for line in lines)


def test_counted_links_are_those_of_the_plan(plan: Plan) -> None:
    count = 0
    for row in client_rows(plan):
        count += sum(int(line.split(" x ")[0].replace(",", "")) for lines in row.links.values() for line in lines)
    for column in fabric_columns(plan):
        count += sum(int(part.split(" x ")[0].replace(",", "")) for line in column.between for part in line.split(", "))
    assert count == plan.topology.links.height


def test_a_dot_has_the_colour_of_its_fabric_and_stands_below_it(plan: Plan) -> None:
    colours = fabric_colours(plan.topology.fabrics)
    dots = [e.attrib["fill"] for e in drawn(plan).iter(f"{SVG}circle")]
    for name, colour in colours.items():
        assert dots.count(colour) == sum(name in row.links for row in client_rows(plan))


def test_uplinks_and_management_ports_are_told_apart(cluster_of: Callable[..., Plan]) -> None:
    rows = {row.name: row.links for row in client_rows(cluster_of("infiniband"))}
    (uplinks,) = rows["oob switches"]["inb"]
    assert uplinks.endswith(" x 100G uplinks")
    assert set(rows["oob switches"]) == {"inb"}
    assert rows["compute switches"]["oob"][0].endswith(" x 1G management")


def test_no_words_lie_on_others_and_all_stand_on_the_page(plan: Plan) -> None:
    root = drawn(plan)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    found = boxes(root)
    assert not [(a[0], b[0]) for a, b in combinations(found, 2) if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]]
    assert all(left >= 0 and top >= 0 and right <= width - MARGIN / 2 and bottom <= height for _, left, top, right, bottom in found)


def test_racks_show_switches_by_fabric_servers_by_kind_and_pdus_beside_the_units(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("ethernet")
    root = ET.fromstring(rack_picture.files(plan)["racks.svg"])
    colours = fabric_colours(plan.topology.fabrics)
    fills = {}
    for e in root.iter(f"{SVG}rect"):
        title = e.find(f"{SVG}title")
        if title is not None and title.text:
            fills[title.text.split(",")[0]] = e.attrib["fill"], float(e.attrib["width"])
    for device, role, fabric, profile in plan.topology.devices.filter("present").select("device", "role", "fabric", "profile").iter_rows():
        assert fills[device][0] == fill_of((role, fabric, profile), colours)
        assert (fills[device][1] < 5) == (role == "pdu")
    legend = words(root)
    assert {"compute leaf", "front leaf", "oob leaf", "server cpu", "PDU"} <= set(legend)


def test_the_hall_marks_the_fabrics_of_a_rack_and_names_racks_of_servers(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("infiniband")
    root = ET.fromstring(hall_picture.files(plan)["hall.svg"])
    said = words(root)
    assert "server rack" in said
    assert {f"switches of {fabric}" for fabric in plan.topology.fabrics} <= set(said)
    assert any("with servers only" in line for line in said)
    titles = [e.text or "" for e in root.iter(f"{SVG}title")]
    assert any("fabrics compute, stor, inb, oob" in title or "fabrics stor, inb, oob" in title for title in titles)


def test_racks_kept_for_growth_stay_reserved_though_their_pdus_hang_there(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("mixed")
    held = plan.placement.places.select("rack").hstack(plan.topology.devices.select("role", "present")).filter(pl.col("role") != "pdu")
    empty = set(held.group_by("rack").agg(pl.col("present").any()).filter(~pl.col("present"))["rack"])
    assert empty
    assert set(plan.placement.racks.filter("reserved")["rack"]) == empty


def test_leaves_are_paler_than_spines_of_the_same_fabric() -> None:
    colours = fabric_colours(["compute", "front"])
    assert fill_of(("spine", "front", "x"), colours) == colours["front"]
    assert fill_of(("leaf", "front", "x"), colours) == tint(colours["front"], 0.35)
    assert len(set(colours.values())) == 2


def test_ties_are_drawn_in_one_order(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("ethernet")
    first = cluster_picture.files(plan)
    assert all(cluster_picture.files(plan) == first for _ in range(6))
