"""The pictures: well-formed, complete, escaped, the same every time, and small where the cluster is large."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from railplan.fabric.bisection import prove
from railplan.fabric.build import build_topology
from railplan.fabric.design import Design
from railplan.fabric.tables import DEVICES, LINKS, NONE, frame
from railplan.layouts.placement import place
from railplan.outputs import fabric_colours, fabric_labels, fabric_picture, hall_floor, hall_picture, rack_picture, svg
from railplan.vendors.catalog import load_catalog

PICTURES = {"fabric": fabric_picture, "rack": rack_picture, "hall": hall_picture}
SVG = "{http://www.w3.org/2000/svg}"

DESIGNS: dict[str, dict[str, Any]] = {
    "one switch": {"nodes": {"model": "hgx-h100", "count": 4}, "fabric": {"family": "quantum-ndr"}},
    "pair": {"nodes": {"model": "hgx-h100", "count": 12}, "fabric": {"family": "spectrum-x", "style": "pair"}},
    "one su": {"nodes": {"model": "hgx-b300", "count": 64}, "fabric": {"family": "spectrum-x"}},
    "growth": {"nodes": {"model": "hgx-b300", "count": 64, "grow_to": 128}, "fabric": {"family": "spectrum-x"}},
    "ufm": {"nodes": {"model": "dgx-h100", "count": 127}, "fabric": {"family": "quantum-ndr", "ufm_links": 4}},
    "five sus": {"nodes": {"model": "hgx-b300", "count": 288}, "fabric": {"family": "spectrum-x"}},
    "large": {"nodes": {"model": "dgx-b300", "count": 1024}, "fabric": {"family": "spectrum-x"}},
    "rows given": {
        "nodes": {"model": "hgx-b300", "count": 40},
        "fabric": {"family": "spectrum-x"},
        "hall": {"rows": [{"name": "A", "racks": 12, "blocked": [5, 6]}, {"name": "B", "racks": 14}, {"name": "C", "racks": 9, "x_m": 1.4}]},
    },
    "several rack types": {
        "nodes": {"model": "dgx-h100", "count": 64},
        "fabric": {"family": "quantum-ndr"},
        "hall": {
            "rows": [
                {"name": "A", "racks": 9, "other_racks": [{"positions": [4], "rack": "rack-42u", "rack_power_kw": 9}]},
                {"name": "B", "racks": 8},
                {"name": "N", "racks": 4, "rack": "rack-42u", "rack_power_kw": 20},
            ]
        },
    },
    "long rows": {"nodes": {"model": "hgx-b300", "count": 64}, "fabric": {"family": "spectrum-x"}, "hall": {"rows": [{"name": "A", "racks": 120}, {"name": "B", "racks": 120}]}},
}
SMALL = ("one switch", "pair", "one su", "growth", "rows given", "several rack types")


@cache
def plan_of(name: str) -> Any:
    spec = DESIGNS[name]
    design = Design.model_validate({"nodes": spec["nodes"], "fabrics": {"compute": spec["fabric"]}, "hall": spec.get("hall", {})})
    catalog = load_catalog()
    topology = build_topology(design, catalog)
    return SimpleNamespace(design=design, topology=topology, placement=place(topology, catalog), proofs={n: prove(topology, n) for n in topology.fabrics})


def renamed(plan: Any, name: Callable[[str], str]) -> Any:
    devices = plan.topology.devices.with_columns(pl.Series("device", [name(d) for d in plan.topology.devices["device"]]))
    design = SimpleNamespace(name=name(plan.design.name))
    return SimpleNamespace(design=design, topology=replace(plan.topology, devices=devices), placement=plan.placement, proofs=plan.proofs)


def many_pods(pods: int) -> Any:
    """Three tiers: in each SU four nodes, two leaves and two spines of its own; four cores over all; the last SU has three nodes."""
    plan = plan_of("one switch")
    devices: list[tuple[str, int, int]] = []
    wires: list[tuple[str, int, int]] = []
    cores = range(pods * 8 - 1, pods * 8 + 3)
    for pod in range(pods):
        first = len(devices)
        nodes = range(first, first + (4 if pod < pods - 1 else 3))
        leaves, spines = range(nodes.stop, nodes.stop + 2), range(nodes.stop + 2, nodes.stop + 4)
        devices += [("node", pod, NONE) for _ in nodes] + [("leaf", pod, 0) for _ in leaves] + [("spine", pod, 0) for _ in spines]
        wires += (
            [("node-leaf", a, b) for a in nodes for b in leaves] + [("leaf-spine", a, b) for a in leaves for b in spines] + [("spine-core", a, b) for a in spines for b in cores]
        )
    devices += [("core", NONE, 0) for _ in cores]
    blank: dict[str, Any] = {name: ["" if dtype == pl.String else 0] * len(devices) for name, dtype in DEVICES.items()}
    roles = [role for role, _, _ in devices]
    names = [f"{role}-{i:05d}" for i, role in enumerate(roles)]
    profiles = ["node" if role == "node" else "leaf" for role in roles]
    some = {"dev": range(len(devices)), "device": names, "role": roles, "pod": [d[1] for d in devices], "plane": [d[2] for d in devices], "profile": profiles}
    table = frame(DEVICES, {**blank, **some, "present": [True] * len(devices), "rail": ["0" if role == "leaf" else "" for role in roles]})
    blank = {name: ["" if dtype == pl.String else 0] * len(wires) for name, dtype in LINKS.items()}
    some = {"link": range(len(wires)), "tier": [w[0] for w in wires], "a_dev": [w[1] for w in wires], "b_dev": [w[2] for w in wires], "gbps": [400] * len(wires)}
    links = frame(LINKS, {**blank, **some, "fabric": ["compute"] * len(wires)})
    return SimpleNamespace(design=plan.design, topology=replace(plan.topology, devices=table, links=links), proofs={})


def words_of(picture: bytes) -> str:
    return "\n".join(e.text or "" for e in ET.fromstring(picture).iter() if e.tag in (f"{SVG}text", f"{SVG}title"))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_one_titled_page_on_white_and_the_same_every_time(design: str, picture: str) -> None:
    drawn = PICTURES[picture].files(plan_of(design))
    for name, data in drawn.items():
        if name.endswith(".svg"):
            root = ET.fromstring(data)
            width, height = float(root.attrib["width"]), float(root.attrib["height"])
            assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
            assert root.find(f"{SVG}title") is not None
            assert "sans-serif" in root.attrib["font-family"]
            ground = root.find(f"{SVG}rect")
            assert ground is not None
            assert ground.attrib["fill"] == "#ffffff"
            assert 0.2 < width / height < 6
            assert b"nan" not in data
    assert PICTURES[picture].files(plan_of(design)) == drawn


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("picture", PICTURES)
def test_no_text_leaves_the_page(design: str, picture: str) -> None:
    data = next(d for n, d in PICTURES[picture].files(plan_of(design)).items() if n.endswith(".svg"))
    root = ET.fromstring(data)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    turned = {id(t) for g in root.iter(f"{SVG}g") for t in g}
    for element in root.iter(f"{SVG}text"):
        if id(element) in turned:
            continue
        words = "".join(element.itertext()) if element.find(f"{SVG}title") is None else (element.find(f"{SVG}title").tail or "")  # type: ignore[union-attr]
        wide = svg.text_width(words, float(element.attrib["font-size"]))
        left = float(element.attrib["x"]) - {"start": 0, "middle": wide / 2, "end": wide}[element.attrib.get("text-anchor", "start")]
        assert left >= -1, words
        assert left + wide <= width + 1, words
        assert 0 < float(element.attrib["y"]) < height, words


@pytest.mark.parametrize("design", SMALL)
def test_racks_name_every_device_and_every_rack(design: str) -> None:
    plan = plan_of(design)
    words = set(words_of(rack_picture.files(plan)["racks.svg"]).splitlines())
    assert set(plan.topology.devices["device"]) <= words
    assert set(plan.placement.racks["rack"]) <= words


def test_racks_of_a_large_hall_are_all_accounted_for() -> None:
    plan = plan_of("large")
    picture = rack_picture.files(plan)["racks.svg"]
    kinds = rack_picture._kinds(plan)
    assert [r["rack"] for kind in kinds for r in kind.racks if r["role"] == "network"] == plan.placement.racks.filter(pl.col("role") == "network")["rack"].to_list()
    assert sorted(r["rack"] for kind in kinds for r in kind.racks) == sorted(plan.placement.racks["rack"])
    words = words_of(picture)
    assert f"{plan.placement.racks.height} racks: 256 with nodes, 21 with network only" in words
    assert "256 like A01:" in words
    assert "A01-A08, A10-A17" in words


@pytest.mark.parametrize("design", [*SMALL, "large"])
def test_the_hall_shows_every_position_with_its_name(design: str) -> None:
    plan = plan_of(design)
    words = words_of(hall_picture.files(plan)["hall.svg"])
    hovers = {line.partition(":")[0] for line in words.splitlines() if ":" in line}
    assert set(plan.placement.hall.positions["rack"]) <= hovers
    written = set(words.splitlines())
    blocked = plan.placement.hall.positions.filter("blocked")["rack"]
    assert set(plan.placement.hall.positions["rack"]) - set(blocked) <= written
    for rack in blocked:
        assert f"{rack}: blocked position" in words


def test_long_rows_name_every_fifth_rack_and_the_ends() -> None:
    written = set(words_of(hall_picture.files(plan_of("long rows"))["hall.svg"]).splitlines())
    assert {"A01", "A05", "A10", "A120"} <= written
    assert "A07" not in written


@pytest.mark.parametrize("design", ["rows given", "several rack types"])
def test_the_hall_is_drawn_to_scale(design: str) -> None:
    plan = plan_of(design)
    racks = [r for r in ET.fromstring(hall_picture.files(plan)["hall.svg"]).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    hall = plan.placement.hall
    scale = float(racks[0].attrib["width"]) / hall.rack_width_m
    assert len(racks) == hall.positions.height
    for drawn, x, y, wide in zip(racks, hall.positions["x_m"], hall.positions["y_m"], hall.positions["width_m"], strict=True):
        assert float(drawn.attrib["width"]) == pytest.approx(wide * scale, abs=0.1)
        middle = float(drawn.attrib["x"]) + float(drawn.attrib["width"]) / 2
        assert middle - float(racks[0].attrib["x"]) == pytest.approx((x - hall.positions["x_m"][0] + hall.rack_width_m / 2) * scale, abs=0.1)
        assert float(drawn.attrib["y"]) - float(racks[0].attrib["y"]) == pytest.approx((y - hall.positions["y_m"][0]) * scale, abs=0.1)


def test_a_lower_rack_is_drawn_lower_on_the_same_floor() -> None:
    plan = plan_of("several rack types")
    picture = ET.fromstring(rack_picture.files(plan)["racks.svg"])
    frames = [r for r in picture.iter(f"{SVG}rect") if r.attrib.get("stroke-width") == "2"]
    units = plan.placement.racks["height_ru"].to_list()
    assert sorted(set(units)) == [42, 48]
    assert [float(f.attrib["height"]) / rack_picture.UNIT for f in frames] == units
    same_row = [(float(f.attrib["y"]) + float(f.attrib["height"])) for f, row in zip(frames, plan.placement.racks["row"], strict=True) if row == "A"]
    assert max(same_row) - min(same_row) < 0.1
    assert "racks may hold rack-48u 48 U, 60 kW, 1,500 kg; rack-42u 42 U, 9 kW, 1,020 kg" in words_of(rack_picture.files(plan)["racks.svg"])


def test_the_hall_names_the_type_of_each_rack_where_they_differ() -> None:
    words = words_of(hall_picture.files(plan_of("several rack types"))["hall.svg"])
    assert "A04: network rack (leaf), SU 0, rack-42u, 42 U" in words
    assert "A03: node rack (node), SU 0, rack-48u, 48 U" in words
    assert "racks are rack-48u (48 U, 0.7 m wide, 1.2 m deep), rack-42u (42 U, 0.6 m wide, 1.2 m deep)" in words.replace("\n", " ")
    assert "rack-48u" not in words_of(hall_picture.files(plan_of("rows given"))["hall.svg"])


def test_aisles_are_cold_where_fronts_face_and_hot_behind() -> None:
    words = words_of(hall_picture.files(plan_of("rows given"))["hall.svg"])
    assert words.index("cold aisle, 1.20 m") < words.index("hot aisle, 0.90 m")


def test_hostile_text_is_escaped() -> None:
    nasty = "<&\"'>\x00\x1b]]>"
    assert svg.escape(nasty) == "&lt;&amp;&quot;&#39;&gt;??]]&gt;"
    page = svg.page(nasty, nasty, (10, 10), [svg.text((1, 1), nasty), svg.rect((0, 0), (1, 1), "#ffffff", hover=nasty)])
    assert {e.text for e in ET.fromstring(page).iter() if e.tag in (f"{SVG}text", f"{SVG}title")} == {"<&\"'>??]]>"}


@pytest.mark.parametrize("design", ["pair", "one su", "five sus"])
@pytest.mark.parametrize("picture", PICTURES)
def test_hostile_names_stay_text(design: str, picture: str) -> None:
    pygraphviz = pytest.importorskip("pygraphviz")
    plan = renamed(plan_of(design), lambda name: f"<b>&\"'\\{name}")
    for name, data in PICTURES[picture].files(plan).items():
        if name.endswith(".svg"):
            root = ET.fromstring(data)
            assert not list(root.iter(f"{SVG}b"))
            assert any("<b>&" in words for words in root.itertext())
        else:
            assert len(pygraphviz.AGraph(string=data.decode()).draw(format="svg", prog="dot")) > 1000


def test_text_that_does_not_fit_is_cut_and_told_on_hover() -> None:
    drawn = ET.fromstring(svg.text((0, 0), "a-very-long-name-of-a-device" * 3, 10, width=60))
    assert drawn[0].text == "a-very-long-name-of-a-device" * 3
    assert (drawn[0].tail or "").endswith("...")
    assert svg.fit("gpu-001", 10, 200) == ("gpu-001", 10)


def test_spans_and_counts_read_like_words() -> None:
    assert svg.spans([3, 1, 2, 7], "A{:02d}") == "A01-A03, A07"
    assert svg.plural(1, "leaf") == "1 leaf"
    assert svg.plural(2048, "leaf") == "2,048 leaves"


@pytest.mark.parametrize(("design", "nodes", "edges"), [("one switch", 4 + 1, 4), ("pair", 12 + 2, 24 + 1), ("one su", 1 + 16 + 8, 16 + 16 * 4), ("five sus", 5 * 3 + 2, 10 + 10)])
def test_dot_parses_back_with_every_box_and_bundle(design: str, nodes: int, edges: int) -> None:
    pygraphviz = pytest.importorskip("pygraphviz")
    plan = plan_of(design)
    graph = pygraphviz.AGraph(string=fabric_picture.files(plan)["fabric.dot"].decode())
    assert not graph.is_strict()
    assert not graph.is_directed()
    assert len(graph.nodes()) == nodes
    assert len(graph.edges()) == edges
    carried = sum(int(e.attr["label"].partition(" x ")[0].replace(",", "")) for e in graph.edges())
    assert carried == plan.topology.links.height


@pytest.mark.parametrize("design", DESIGNS)
def test_the_fabric_tells_its_totals(design: str) -> None:
    plan = plan_of(design)
    words = " ".join(words_of(fabric_picture.files(plan)["fabric.svg"]).split())
    for role in ("node", "leaf", "spine"):
        count = int(plan.topology.devices.filter("present", pl.col("role") == role).height)
        assert not count or svg.plural(count, role) in words
    for tier, gbps, count in plan.topology.links.group_by("tier", "gbps").len().iter_rows():
        assert f"{count:,} {tier} links of {gbps}G" in words
    assert "oversubscription 1:1 (non-blocking)" in words
    assert "by maximum flow" in words


@pytest.mark.parametrize("design", ["one su", "five sus", "large", "ufm"])
def test_boxes_of_the_fabric_do_not_overlap(design: str) -> None:
    drawing = fabric_picture.sketch(plan_of(design), "compute")
    placed = list(fabric_picture._place(drawing).values())
    for i, a in enumerate(placed):
        for b in placed[:i]:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2


def test_what_growth_adds_is_told_but_not_drawn_as_built() -> None:
    words = words_of(fabric_picture.files(plan_of("growth"))["fabric.svg"])
    assert "Room kept for growth, not built yet: 64 nodes, 16 leaves" in words
    assert "gpu-065" not in words


def test_alike_sus_of_a_large_fabric_are_drawn_as_one() -> None:
    drawing = fabric_picture.sketch(plan_of("large"), "compute")
    assert {box.frame for box in drawing.boxes} == {"SU 0", "15 SUs alike: SU 1-15", "spines, plane 0", "spines, plane 1"}
    assert sum(wire.links for wire in drawing.wires) == plan_of("large").topology.links.height
    assert len(list(ET.fromstring(fabric_picture.files(plan_of("large"))["fabric.svg"]).iter())) < 200


def test_three_tiers_of_many_sus_stay_a_few_boxes() -> None:
    plan = many_pods(157)
    drawing = fabric_picture.sketch(plan, "compute")
    assert {box.frame for box in drawing.boxes} == {"SU 0", "155 SUs alike: SU 1-155", "SU 156", "cores"}
    assert sum(wire.links for wire in drawing.wires) == plan.topology.links.height
    places = fabric_picture._place(drawing)
    heights = {role: {places[b.name].y for b in drawing.boxes if b.role == role} for role in ("node", "leaf", "spine", "core")}
    assert max(heights["core"]) < min(heights["spine"]) < min(heights["leaf"]) < min(heights["node"])
    assert len(list(ET.fromstring(fabric_picture.files(plan)["fabric.svg"]).iter())) < 200


def test_no_colour_means_a_rail_and_a_plane() -> None:
    assert not set(svg.PLANE_COLOURS) & {*svg.RAIL_COLOURS, *svg.ROLE_COLOURS.values()}
    assert len(set(svg.PLANE_DASHES)) == len(svg.PLANE_COLOURS)


@pytest.mark.parametrize("design", ["one su", "five sus", "large"])
def test_lines_of_a_plane_are_dashed_alike_on_every_tier(design: str) -> None:
    drawing = fabric_picture.sketch(plan_of(design), "compute")
    for plane in (0, 1):
        wires = [wire for wire in drawing.wires if wire.plane == plane]
        assert {wire.tier for wire in wires} == {"node-leaf", "leaf-spine"}
        assert {fabric_colours.wire_dash(wire) for wire in wires} == {svg.PLANE_DASHES[plane]}


@pytest.mark.parametrize("design", DESIGNS)
def test_the_legend_tells_every_fill_and_every_line(design: str) -> None:
    drawing = fabric_picture.sketch(plan_of(design), "compute")
    marks = "".join(shown if isinstance(shown, str) else "".join(shown.parts) for shown, _ in fabric_colours.legend_entries(drawing))
    for box in drawing.boxes:
        assert fabric_colours.fill_of(box) in marks
    for wire in drawing.wires:
        assert fabric_colours.wire_colour(wire).replace("#b3a500", svg.YELLOW) in marks


@pytest.mark.parametrize("design", ["one switch", "pair", "ufm"])
def test_a_fabric_of_one_plane_does_not_count_planes(design: str) -> None:
    for name, data in fabric_picture.files(plan_of(design)).items():
        assert b"plane 0" not in data, name


@pytest.mark.parametrize("design", ["one su", "five sus", "large", "ufm", "growth"])
def test_labels_stand_off_each_other_and_off_lines_of_others(design: str) -> None:
    drawing = fabric_picture.sketch(plan_of(design), "compute")
    placed = fabric_picture._place(drawing)
    runs = {w: ((placed[w.a].x, placed[w.a].y - placed[w.a].height / 2), (placed[w.b].x, placed[w.b].y + placed[w.b].height / 2)) for w in drawing.wires}
    alone = {w: sum(o.a == w.a for o in drawing.wires) == 1 for w in drawing.wires if drawing.wires.index(w) % 7 == 0}
    rooms = [(wire, fabric_labels._room(at, wire.label)) for wire, at in fabric_labels.place_labels(runs, alone).items()]
    assert rooms
    for i, (wire, room) in enumerate(rooms):
        assert not any(fabric_labels._overlap(room, other) for _, other in rooms[:i])
        assert sum(fabric_labels._crosses(run, room) for other, run in runs.items() if other is not wire) < 2


def test_the_hall_legend_shows_what_the_plan_shows() -> None:
    spots = hall_picture.spots_with_racks(plan_of("rows given"), hall_floor.floor_of(plan_of("rows given").placement.hall, 40, (0, 0)))
    entries = {words: shown for shown, words in hall_picture._entries(spots, {})}
    assert "stroke-dasharray" in "".join(entries["free position"].parts)  # type: ignore[union-attr]
    assert "<line" in "".join(entries["blocked position"].parts)  # type: ignore[union-attr]
    assert "network rack (leaf, spine)" in entries
    ufm = plan_of("ufm")
    assert "network rack (leaf, spine, ufm)" in words_of(hall_picture.files(ufm)["hall.svg"])
