"""Pictures of halls with rooms, trays and obstacles: to scale, everything named, no words over words."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from railplan import DesignError, make_plan, parse_design
from railplan.cli import main
from railplan.fabric.hall_file import read_hall
from railplan.fabric.hall_spec import HallSpec
from railplan.layouts.boxes import Box, overlap, tray_box
from railplan.layouts.hall import Hall
from railplan.layouts.hall_checks import checked_hall
from railplan.layouts.shipped_halls import FOLDER, shipped_halls
from railplan.outputs import hall_picture, svg
from railplan.outputs.hall_floor import floor_of, scale_of
from railplan.outputs.hall_labels import labels
from railplan.outputs.hall_page import empty_hall
from railplan.outputs.hall_trays import marks, tray_facts
from railplan.vendors.catalog import Catalog

SVG = "{http://www.w3.org/2000/svg}"
CROSSING: dict[str, Any] = {
    "rows": [{"name": "A", "racks": 12, "x_m": 2, "y_m": 2}, {"name": "B", "racks": 12, "x_m": 2, "y_m": 5}],
    "trays": [
        {"name": "row-a", "x_m": 1, "y_m": 2, "to_x_m": 12},
        {"name": "row-b", "x_m": 1, "y_m": 5, "to_x_m": 12},
        {"name": "west", "x_m": 1, "y_m": 1, "to_y_m": 6, "height_m": 2.9},
        {"name": "past", "x_m": 11.5, "y_m": 1, "to_y_m": 6, "no_joint": ["row-a"]},
    ],
}


def hall_named(name: str, catalog: Catalog) -> Hall:
    return checked_hall(read_hall(FOLDER / f"{name}.yaml")[0] if name != "crossing" else HallSpec.model_validate(CROSSING), catalog)[0]


NAMES = [*shipped_halls(), "crossing"]


def words_of(picture: bytes) -> list[str]:
    return [e.text or "" for e in ET.fromstring(picture).iter() if e.tag in (f"{SVG}text", f"{SVG}title")]


@pytest.mark.parametrize("name", NAMES)
def test_a_hall_by_itself_shows_rooms_rows_racks_trays_and_obstacles(catalog: Catalog, name: str) -> None:
    hall = hall_named(name, catalog)
    picture = empty_hall(hall, name)
    words = words_of(picture)
    assert picture == empty_hall(hall, name)
    assert b"nan" not in picture
    assert f"{name}: hall" in words
    free = hall.positions.filter(~hall.positions["blocked"])
    assert set(free["rack"]) | set(hall.positions["row"]) <= set(words)
    for rack in hall.positions.filter("blocked")["rack"]:
        assert f"{rack}: blocked position" in words
    for tray in hall.trays:
        hover = f"tray {tray.name}: {tray.height_m:.2f} m above the floor, {tray.width_mm:g} mm wide, {tray.depth_mm:g} mm deep, filled to {tray.fill_percent:g}%"
        assert hover in words
        assert any(w.partition(" ")[0] == tray.name for w in words), tray.name
    for room in hall.rooms:
        assert f"room {room.name}, {room.width_m:g} m x {room.depth_m:g} m" in words
    for one in hall.obstacles:
        assert any(w.startswith(f"obstacle {one.name}: ") for w in words)


@pytest.mark.parametrize("name", NAMES)
def test_trays_rooms_and_obstacles_are_drawn_to_scale(catalog: Catalog, name: str) -> None:
    hall = hall_named(name, catalog)
    root = ET.fromstring(empty_hall(hall, name))
    rack = next(r for r in root.iter(f"{SVG}rect") if (r.findtext(f"{SVG}title") or "").startswith(f"{hall.positions['rack'][0]}: "))
    scale = float(rack.attrib["width"]) / hall.rack_width_m
    left, top = (float(rack.attrib[k]) / scale - (hall.positions[c][0] - size / 2) for k, c, size in (("x", "x_m", hall.rack_width_m), ("y", "y_m", hall.rack_depth_m)))
    for tray in hall.trays:
        band = next(g for g in root.iter(f"{SVG}g") if (g.findtext(f"{SVG}title") or "").startswith(f"tray {tray.name}: ")).find(f"{SVG}line")
        assert band is not None
        ends = [float(band.attrib[k]) / scale - offset for k, offset in (("x1", left), ("y1", top), ("x2", left), ("y2", top))]
        assert ends == pytest.approx([tray.x_m, tray.y_m, tray.to_x_m, tray.to_y_m], abs=0.01)
        assert float(band.attrib["stroke-width"]) == pytest.approx(tray.width_mm / 1000 * scale, abs=0.01)
    for one in hall.obstacles:
        box = next(r for r in root.iter(f"{SVG}rect") if (r.findtext(f"{SVG}title") or "").startswith(f"obstacle {one.name}: "))
        drawn = [float(box.attrib["x"]) / scale - left, float(box.attrib["y"]) / scale - top, float(box.attrib["width"]) / scale, float(box.attrib["height"]) / scale]
        assert drawn == pytest.approx([one.x_m, one.y_m, one.width_m, one.depth_m], abs=0.01)


def written(picture: bytes) -> list[tuple[str, Box]]:
    """Every line of words with the ground it covers, on the safe side; turned ones included."""
    found = []

    def box(element: ET.Element, x: float, y: float) -> tuple[str, Box]:
        words, size = element.text or "", float(element.attrib["font-size"])
        wide = svg.text_width(words, size) * 0.9
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[element.attrib.get("text-anchor", "start")]
        return words, (left, y - size * 0.72, left + wide, y)

    root = ET.fromstring(picture)
    for element in root:
        if element.tag == f"{SVG}text":
            found.append(box(element, float(element.attrib["x"]), float(element.attrib["y"])))
        turn = re.match(r"translate\(([\d.]+) ([\d.]+)\) rotate\(-90\)", element.attrib.get("transform", ""))
        if turn:
            x, y = float(turn[1]), float(turn[2])
            words, (left, top, right, _) = box(element[0], 0, 0)
            found.append((words, (x + top, y - right, x, y - left)))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_no_words_cover_words_and_none_leave_the_page(catalog: Catalog, name: str) -> None:
    picture = empty_hall(hall_named(name, catalog), name)
    root = ET.fromstring(picture)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    places = written(picture)
    for (one, a), (two, b) in combinations(places, 2):
        assert not overlap(a, b), (one, two)
    for words, (left, top, right, bottom) in places:
        assert left >= 0, words
        assert top >= 0, words
        assert right <= width + 1, words
        assert bottom <= height, words


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_trays_lie_on_their_tray_or_just_beyond_it(catalog: Catalog, name: str) -> None:
    hall = hall_named(name, catalog)
    floor = floor_of(hall, scale_of(hall), (0, 0))
    drawn = ET.fromstring(f"<svg>{''.join(labels(hall, floor))}</svg>")
    named = {(t.text or "").partition(" ")[0]: t for t in drawn.iter("text")}
    level = [tray for tray in hall.trays if tray.along_x]
    assert any(tray.name in named for tray in level)
    for tray in level:
        if tray.name in named:
            box = floor.box(tray_box(tray))
            assert box[1] - 12 <= float(named[tray.name].attrib["y"]) <= box[3] + 12


def test_joints_with_a_step_and_crossings_without_a_joint_are_marked(catalog: Catalog) -> None:
    hall = hall_named("crossing", catalog)
    words = [w for _, w, _ in marks(hall, floor_of(hall, 50, (0, 0)))]
    assert words == ["joint of trays row-a and west: 0.30 m up or down", "joint of trays row-b and west: 0.30 m up or down", "trays row-a and past cross without a joint"]
    shown = words_of(empty_hall(hall, "crossing"))
    assert {"joint where cables climb or drop", "crossing without a joint"} <= set(shown)


def test_trays_are_listed_by_height_and_size_below_the_picture(catalog: Catalog) -> None:
    assert tray_facts(hall_named("two-rooms", catalog)) == [
        "10 trays 2.60 m above the floor, 600 mm wide, 100 mm deep, filled to 40%, 99.7 m in all: row-a, row-b, west-1, west-2, row-c, row-d, row-e, row-f, east-1, east-2.",
        "1 tray 3.00 m above the floor, 900 mm wide, 150 mm deep, filled to 40%, 3.6 m in all: bridge.",
    ]


def test_a_plans_hall_shows_the_same_ground_with_its_racks(catalog: Catalog) -> None:
    hall = (FOLDER / "one-room.yaml").read_text(encoding="utf-8")
    inside = "".join(f"  {line}\n" for line in hall.splitlines() if not line.startswith("#"))
    plan = make_plan(parse_design(f"nodes: {{model: hgx-b300, count: 64}}\nfabrics: {{compute: {{family: spectrum-x}}}}\nhall:\n{inside}"), catalog)
    words = words_of(hall_picture.files(plan)["hall.svg"])
    alone = words_of(empty_hall(plan.placement.hall, "x"))
    of_the_ground = [w for w in alone if w.startswith(("tray ", "room ", "obstacle ", "joint "))]
    assert of_the_ground == [w for w in words if w.startswith(("tray ", "room ", "obstacle ", "joint "))]
    assert "front of a rack" in words
    assert "front of a rack" not in alone


def run(*args: str) -> Any:
    return CliRunner().invoke(main, list(args))


def test_the_command_draws_a_shipped_hall_and_a_file(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("hall", "two-rooms", "-o", "two.svg")
    assert done.exit_code == 0, done.output
    assert "2 rooms, 6 rows, 104 positions: 103 for racks, 1 blocked; 3 obstacles." in done.stderr
    assert not done.stdout
    assert (tmp_path / "two.svg").read_bytes() == empty_hall(hall_named("two-rooms", catalog), "two-rooms")
    (tmp_path / "own.yaml").write_text("rows: [{name: A, racks: 4}]\nmeasured: [{rack_a: A01, rack_b: A04, length_m: 1}]\n")
    done = run("hall", "own.yaml", "-o", "own.svg")
    assert done.exit_code == 0
    assert "warning  own.yaml:2" in done.stderr
    assert (tmp_path / "own.svg").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rows: [{name: A, racks: 4}]\ntrays:\n  - {name: a, x_m: 0, y_m: 9, to_x_m: 3}\n", "own.yaml:2  hall.trays: 4 positions have no tray above"),
        ("rows: [{name: A, racks: 4}]\ntrays:\n  - {name: a, x_m: 0, y_m: 9}\n", "own.yaml:3  trays.0: tray a has no length"),
        ("rows: []\n", "the hall lists no rows"),
        ("rows: [{name: A, racks: 4}]\nrack: none\n", "own.yaml:2  hall.rack: "),
        ("nodes: 4\n", "unknown field 'nodes'"),
        ("rows: [\n", "is not valid YAML"),
    ],
)
def test_a_wrong_hall_gets_file_and_line_and_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(text)
    done = run("hall", "own.yaml", "-o", "own.svg")
    assert done.exit_code == 1
    assert told in done.stderr
    assert "fix  " in done.stderr
    assert not (tmp_path / "own.svg").exists()


def test_a_picture_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    done = run("hall", "one-room", "-o", str(tmp_path / "no" / "hall.svg"))
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr
    assert run("hall", "one-room").exit_code == 2
    assert run("hall", str(tmp_path), "-o", str(tmp_path / "hall.svg")).exit_code == 1


def test_problems_of_a_hall_are_those_of_its_plan(catalog: Catalog) -> None:
    with pytest.raises(DesignError):
        checked_hall(HallSpec.model_validate({"rows": CROSSING["rows"], "trays": CROSSING["trays"][:1]}), catalog)
