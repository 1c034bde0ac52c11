"""The shipped halls: sound, planned with a cluster that fits, searched and bounded over their trays, pictured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

import railplan
from railplan import Plan, make_plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.design import read_design
from railplan.fabric.hall_file import read_hall
from railplan.fabric.hall_spec import HallSpec
from railplan.fabric.topology import Topology
from railplan.layouts import solver
from railplan.layouts.hall_bound import hall_bound
from railplan.layouts.hall_checks import checked_hall
from railplan.layouts.optimise import _reach_m, place_best
from railplan.layouts.placement import survey
from railplan.layouts.pricing import make_tariff, price
from railplan.layouts.routes import TERMS, link_ends, route_lengths, route_terms_m, straight_line_m
from railplan.layouts.rules import check_placement
from railplan.layouts.shipped_halls import FOLDER, hall_path, shipped_halls
from railplan.layouts.site_tables import floor_routes
from railplan.layouts.tray_segments import segments, segments_of_pairs
from railplan.outputs import render
from railplan.vendors.catalog import Catalog

FITTING = {"one-room": [64], "two-rooms": [128, 288], "large-hall": [512, 768]}
CASES = [(name, count) for name, counts in FITTING.items() for count in counts]


def topology_in(hall: str, count: int, catalog: Catalog, folder: Path, more: str = "") -> Topology:
    (folder / "d.yaml").write_text(f"nodes: {{model: hgx-b300, count: {count}}}\nfabrics: {{compute: {{family: spectrum-x{more}}}}}\n")
    return build_topology(read_design(folder / "d.yaml", hall_path(Path(hall)))[0], catalog)


@pytest.fixture(scope="module")
def plans(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Plan]:
    folder = tmp_path_factory.mktemp("designs")
    return {case: make_plan(topology_in(*case, catalog, folder).design, catalog) for case in CASES}


def test_every_shipped_hall_has_a_fitting_cluster() -> None:
    assert set(shipped_halls()) == set(FITTING)


@pytest.mark.parametrize("name", FITTING)
def test_a_shipped_hall_says_what_it_is_and_is_sound(catalog: Catalog, name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert f"railplan hall {name} -o hall.svg" in text
    hall, findings = checked_hall(read_hall(FOLDER / f"{name}.yaml")[0], catalog)
    assert findings == []
    assert hall.listed
    assert hall.rooms


def test_the_hall_of_the_readme_is_sound(catalog: Catalog) -> None:
    section = (Path(railplan.__file__).parent / "README.md").read_text(encoding="utf-8").partition("## Your hall")[2]
    hall, findings = checked_hall(HallSpec.model_validate(yaml.safe_load(section.split("```yaml")[1].split("```")[0])), catalog)
    assert findings == []
    assert hall.positions.filter("blocked")["rack"].to_list() == ["B06"]


def test_a_file_of_ones_own_wins_over_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hall_path(Path("two-rooms")) == FOLDER / "two-rooms.yaml"
    assert hall_path(Path("two-roms")) == Path("two-roms")
    (tmp_path / "two-rooms").write_text("rows: []\n")
    assert hall_path(Path("two-rooms")) == Path("two-rooms")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_routes_in_a_shipped_hall_are_lawful(plans: dict[tuple[str, int], Plan], case: tuple[str, int]) -> None:
    plan = plans[case]
    routes = route_lengths(plan.topology, plan.placement)
    assert routes.select(pl.min_horizontal(TERMS)).to_series().min() >= 0  # type: ignore[operator]
    assert np.isfinite(routes["route_m"].to_numpy()).all()
    assert (routes["route_m"] - straight_line_m(plan.topology, plan.placement)).min() >= -1e-6  # type: ignore[operator]


def test_cables_from_room_to_room_climb_to_the_tray_through_the_wall(plans: dict[tuple[str, int], Plan]) -> None:
    plan = plans["two-rooms", 288]
    hall, ends, routes = plan.placement.hall, link_ends(plan.topology, plan.placement), route_lengths(plan.topology, plan.placement)
    west = hall.positions["x_m"].to_numpy() < 18
    far = west[ends.a_position] != west[ends.b_position]
    apart = ends.a_position != ends.b_position
    assert 0 < far.sum() < apart.sum()
    for heights, term in ((ends.a_height_m, "up_m"), (ends.b_height_m, "down_m")):
        assert (routes[term].to_numpy() + heights)[apart] == pytest.approx(np.where(far, 3.0, 2.6)[apart])
    pair, segment = segments_of_pairs(hall, ends.a_position, ends.b_position)
    bridge = (segments(hall)["tray"] == "bridge").to_numpy()
    assert set(pair[bridge[segment]].tolist()) == set(np.flatnonzero(far).tolist())


@pytest.mark.parametrize("name", FITTING)
def test_the_resolved_design_gives_the_same_plan(catalog: Catalog, plans: dict[tuple[str, int], Plan], name: str) -> None:
    plan = plans[name, FITTING[name][0]]
    first = render(plan, ["csv", "hall"])
    second = render(make_plan(parse_design(first["design.yaml"].decode()), catalog), ["csv", "hall"])
    assert [file for file in first if first[file] != second[file]] == []


@pytest.mark.parametrize("name", ["one-room", "two-rooms"])
def test_what_a_search_sees_of_a_hall_is_what_its_routes_are(catalog: Catalog, tmp_path: Path, name: str) -> None:
    topology = topology_in(name, 64, catalog, tmp_path)
    hall = survey(topology, catalog).hall
    base, fall = floor_routes(topology, hall, hall.free)
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(len(hall.free)), np.arange(len(hall.free))))
    heights = np.full(len(a), 0.7), np.full(len(a), 1.4)
    routes = np.sum(list(route_terms_m(hall, hall.free[a], hall.free[b], *heights).values()), axis=0)
    seen = np.where(a == b, base[a, b] + 0.7, base[a, b] - fall[a, b] * 2.1)
    assert seen == pytest.approx(routes, abs=5e-6)


@pytest.mark.parametrize("name", ["one-room", "two-rooms"])
def test_the_longest_route_there_can_be_is_the_longest_of_all(catalog: Catalog, tmp_path: Path, name: str) -> None:
    ground = survey(topology_in(name, 64, catalog, tmp_path), catalog)
    a, b = (grid.ravel() for grid in np.meshgrid(ground.hall.free, ground.hall.free))
    floor = np.zeros(len(a))
    assert _reach_m(ground) == pytest.approx(float(np.max(np.sum(list(route_terms_m(ground.hall, a, b, floor, floor).values()), axis=0))), abs=1e-9)


@pytest.mark.parametrize(("name", "count"), [("one-room", 64), ("two-rooms", 96)])
def test_the_search_works_over_listed_trays_and_stays_above_the_bound(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    monkeypatch.setitem(solver.WORK, "quick", 1_500_000)
    topology = topology_in(name, count, catalog, tmp_path, ", planes: 2")
    ground = survey(topology, catalog)
    tariff = make_tariff(topology, catalog, _reach_m(ground))
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    assert placement.solution is not None
    assert placement.solution.baseline is not None
    assert placement.solution.bound <= placement.solution.objective <= placement.solution.baseline
    cost = price(topology, placement, tariff)
    assert hall_bound(topology, ground, tariff) <= (cost.modules * 1e7 + cost.metres if cost.money is None else cost.money) + 1e-6
