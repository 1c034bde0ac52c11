"""Places that are given: by the design, by an earlier plan, by existing devices; what is given stays, what is new finds a place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.design import locate
from railplan.fabric.topology import Topology
from railplan.layouts import solver, solver_bound
from railplan.layouts.optimise import place_best
from railplan.layouts.placement import Placement
from railplan.layouts.rules import check_placement
from railplan.outputs import render
from railplan.problems import Problem
from railplan.vendors.yaml_source import parse_yaml

ROWS = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 12}, {name: B, racks: 12}]}\n"
SAME = ("devices.csv", "racks.csv", "cables.csv", "ports.csv", "labels.csv", "bom.csv", "design.yaml", "topology.conf")
"""What does not depend on how a placement was found."""


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.WORK, "quick", 800_000)
    monkeypatch.setitem(solver.WORK, "fixed", 300_000)
    monkeypatch.setitem(solver_bound.WORK, "quick", 100_000)


def text_of(count: int | str, more: str = "", switch: str = "") -> str:
    return f"nodes: {{model: hgx-h100, count: {count}}}\nfabrics: {{compute: {{family: quantum-ndr{switch}}}}}\n{ROWS}{more}"


def topology_of(catalog: Catalog, count: int | str = 32, placement: str = "{}") -> Topology:
    return build_topology(parse_design(text_of(count, f"placement: {placement}\n")), catalog)


def where(topology: Topology, placement: Placement) -> dict[str, tuple[str, int]]:
    named = placement.places.with_columns(topology.devices["device"])
    return {device: (rack, ru) for device, rack, ru in named.select("device", "rack", "ru").iter_rows()}


def files_of(plan: Plan) -> dict[str, bytes]:
    return render(plan, ["csv", "slurm"])


def saved(plan: Plan, folder: Path) -> Path:
    folder.mkdir()
    for name, data in files_of(plan).items():
        (folder / name).write_bytes(data)
    return folder


def again(plan: Plan, catalog: Catalog) -> Plan:
    return make_plan(parse_design(files_of(plan)["design.yaml"].decode()), catalog)


def assert_same_plan(plan: Plan, catalog: Catalog) -> Plan:
    other = again(plan, catalog)
    one, two = files_of(plan), files_of(other)
    for file in SAME:
        assert two[file] == one[file], file
    return other


@pytest.mark.parametrize("count", [32, "24, grow_to: 48"])
def test_the_resolved_design_of_a_searched_plan_gives_the_same_plan(catalog: Catalog, count: int | str) -> None:
    plan = make_plan(parse_design(text_of(count)), catalog, effort="quick")
    other = assert_same_plan(plan, catalog)
    assert plan.placement.solution is not None
    assert other.placement.solution is not None
    assert other.placement.solution.arrangement == "given"
    for figure in ("objective", "today", "baselines", "links", "unit"):
        assert getattr(other.placement.solution, figure) == getattr(plan.placement.solution, figure)
    assert files_of(other)["findings.csv"] == files_of(plan)["findings.csv"]


@pytest.mark.parametrize("placement", ["{arrangement: mid-row}", "{arrangement: switch-per-rack, forbidden: [A03]}", "{pins: [{role: spine, racks: [B12]}]}"])
def test_the_resolved_design_without_a_search_gives_the_same_bytes(catalog: Catalog, placement: str) -> None:
    plan = make_plan(parse_design(text_of(32, f"placement: {placement}\n")), catalog)
    assert files_of(again(plan, catalog)) == files_of(plan)


def test_the_resolved_design_of_a_kept_plan_gives_the_same_plan_without_keep(catalog: Catalog, tmp_path: Path) -> None:
    first = make_plan(parse_design(text_of(24)), catalog, effort="quick")
    grown = make_plan(parse_design(text_of(48)), catalog, keep=saved(first, tmp_path / "first"))
    before, now = where(first.topology, first.placement), where(grown.topology, grown.placement)
    assert {device: now[device] for device in before} == before
    assert grown.placement.solution is not None
    assert grown.placement.solution.kept == len(before)
    other = assert_same_plan(grown, catalog)
    third = make_plan(other.design, catalog, keep=saved(grown, tmp_path / "grown"))
    assert where(third.topology, third.placement) == now


def test_given_places_are_kept_and_the_others_placed_around_them(catalog: Catalog) -> None:
    places = "{A03: {gpu-001: 20, leaf-su0-r0: 1}, B07: {gpu-002: 1, gpu-009: 9, spine-01: 48}, B08: {gpu-010: 41}}"
    topology = topology_of(catalog, 32, f"{{places: {places}}}")
    placement = place_best(topology, catalog)
    assert check_placement(topology, placement) == []
    found = where(topology, placement)
    assert found["gpu-001"] == ("A03", 20)
    assert found["leaf-su0-r0"] == ("A03", 1)
    assert (found["gpu-002"], found["gpu-009"], found["spine-01"], found["gpu-010"]) == (("B07", 1), ("B07", 9), ("B07", 48), ("B08", 41))
    assert placement.solution is not None
    assert placement.solution.kept == 6


def test_a_large_hall_is_arranged_around_kept_devices_without_a_search(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_plan(parse_design(text_of(24)), catalog)
    monkeypatch.setitem(solver.SPOTS_MAX, "fixed", 10)
    monkeypatch.setattr(solver, "make_sites", lambda *a, **k: pytest.fail("the hall was searched as a whole"))
    topology = topology_of(catalog, 64)
    placement = place_best(topology, catalog, keep=saved(first, tmp_path / "first"))
    assert check_placement(topology, placement) == []
    before, now = where(first.topology, first.placement), where(topology, placement)
    assert {device: now[device] for device in before} == before
    assert placement.solution is not None
    assert placement.solution.arrangement == "arranged"


def test_ctrl_c_around_kept_devices_gives_an_arrangement_around_them(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solver, "make_sites", interrupt)
    topology = topology_of(catalog, 32, "{places: {A03: {gpu-001: 1}}}")
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    assert placement.solution is not None
    assert (placement.solution.arrangement, placement.solution.status) == ("arranged", "interrupted")


def test_a_search_around_kept_devices_is_never_worse_than_an_arrangement_around_them(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = topology_of(catalog, 64, "{places: {A03: {gpu-001: 1}, B09: {spine-01: 48}}}")
    searched = place_best(topology, catalog, "quick").solution
    monkeypatch.setattr("railplan.layouts.optimise.solve", lambda *a: None)
    arranged = place_best(topology, catalog, "quick").solution
    assert searched is not None
    assert arranged is not None
    assert searched.objective <= arranged.objective


def test_nodes_join_the_kept_ones_of_their_rack(catalog: Catalog) -> None:
    topology = topology_of(catalog, 8, "{places: {B05: {gpu-001: 1, gpu-002: 9}}}")
    placement = place_best(topology, catalog)
    found = where(topology, placement)
    assert {found[f"gpu-00{i}"] for i in range(1, 5)} == {("B05", 1), ("B05", 9), ("B05", 17), ("B05", 25)}


def test_two_kept_switches_may_share_what_a_search_takes_for_one_slot(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, "{places: {A05: {spine-01: 47, spine-02: 46, leaf-su0-r0: 45}}}")
    assert check_placement(topology, place_best(topology, catalog, "quick")) == []


WRONG = [
    ("{places: {A01: {gpu-999: 1}}}", "placement.places.A01.gpu-999", "the plan has no device 'gpu-999'"),
    ("{places: {Z09: {gpu-001: 1, gpu-002: 9}}}", "placement.places.Z09.gpu-001", "gpu-001 and 1 more should stand in Z09, which the hall does not have"),
    ("{places: {A01: {gpu-001: 1}, A02: {gpu-001: 1}}}", "placement.places.A02.gpu-001", "gpu-001 is given two places: U1 of A01 and U1 of A02"),
    ("{places: {A01: {gpu-001: 1, leaf-su0-r0: 8}}}", "placement.places.A01.leaf-su0-r0", "leaf-su0-r0 begins at U8 of A01, which is taken up to U8 (below it: gpu-001)"),
    ("{places: {A01: {gpu-001: 42}}}", "placement.places.A01.gpu-001", "U42 to U49"),
    ("{places: {A01: {gpu-001: 1}}, forbidden: [A01]}", "placement.places.A01.gpu-001", "gpu-001 stands in A01, where a pin or a forbidden rack keeps it out"),
    ("{places: {A01: {gpu-001: 1}}, existing: [{rack: A01, ru: 4, height_ru: 1}]}", "placement.places", "A01 U4 to U4 are taken by existing equipment"),
    ("{existing: [{rack: A01, ru: 4, device: gpu-99}]}", "placement.existing.0", "the plan has no device 'gpu-99'"),
    ("{existing: [{rack: A01, ru: 4, device: gpu-001}], places: {A01: {gpu-001: 5}}}", "placement.existing.0", "gpu-001 is given two places"),
]


@pytest.mark.parametrize(("placement", "at", "message"), WRONG)
def test_places_that_cannot_be_are_refused_where_they_stand(catalog: Catalog, placement: str, at: str, message: str) -> None:
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, 32, placement), catalog)
    assert [p.where for p in caught.value.problems] == [at]
    assert message in caught.value.problems[0].what


def test_all_wrong_places_are_named_at_once(catalog: Catalog) -> None:
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, 32, "{places: {Z01: {gpu-001: 1}, A01: {gpu-002: 1, gpu-998: 9, gpu-999: 17}, A02: {gpu-002: 1}}}"), catalog)
    assert [p.rule for p in caught.value.problems] == ["place-device", "place-device", "place-rack", "place-twice"]


def test_racks_called_by_numbers_are_found_in_the_file() -> None:
    source = parse_yaml("placement:\n  places:\n    '701':\n      gpu-001: 1\n    '702':\n      gpu-999: 1\n", "design.yaml")
    assert [p.where for p in locate([Problem("x", "placement.places.702.gpu-999", "what")], source)] == ["design.yaml:6"]


def test_a_thousand_unknown_devices_are_counted(catalog: Catalog) -> None:
    names = ", ".join(f"gone-{i}: 1" for i in range(1000))
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog, 32, f"{{places: {{A01: {{{names}}}}}}}"), catalog)
    assert len(caught.value.problems) == 9
    assert "and 992 more devices" in caught.value.problems[-1].what


def earlier_plan(folder: Path, rows: list[tuple[str, str, int]]) -> Path:
    pl.DataFrame(rows, schema=["device", "rack", "ru"], orient="row").write_csv(folder / "devices.csv")
    return folder


def test_devices_that_are_gone_are_noted(catalog: Catalog, tmp_path: Path) -> None:
    topology = topology_of(catalog)
    placement = place_best(topology, catalog, keep=earlier_plan(tmp_path, [("gpu-001", "B03", 1), ("gpu-777", "B04", 1)]))
    assert where(topology, placement)["gpu-001"] == ("B03", 1)
    assert [p.what for p in placement.findings if p.rule == "kept-gone"] == ["1 devices of the earlier plan are not in this one, such as gpu-777"]


def test_a_kept_device_that_got_taller_is_reported_and_moves_nothing(catalog: Catalog, tmp_path: Path) -> None:
    folder = earlier_plan(tmp_path, [("gpu-001", "B03", 1), ("gpu-002", "B03", 5), ("gpu-003", "B03", 44)])
    with pytest.raises(DesignError) as caught:
        place_best(topology_of(catalog), catalog, keep=folder)
    assert {(p.rule, p.where) for p in caught.value.problems} == {("units-outside", f"{folder}/devices.csv:4"), ("units-overlap", f"{folder}/devices.csv:3")}


def test_the_design_and_an_earlier_plan_must_agree(catalog: Catalog, tmp_path: Path) -> None:
    folder = earlier_plan(tmp_path, [("gpu-001", "B03", 1)])
    with pytest.raises(DesignError, match="gpu-001 is given two places"):
        place_best(topology_of(catalog, 32, "{places: {A01: {gpu-001: 1}}}"), catalog, keep=folder)


@pytest.mark.parametrize("content", ["device,rack,ru\ngpu-001,A01,\n", "device,rack,ru\ngpu-001,A01,top\n", "a,b\n1,2\n", ""])
def test_a_table_that_is_no_plan_is_refused(catalog: Catalog, tmp_path: Path, content: str) -> None:
    (tmp_path / "devices.csv").write_text(content)
    with pytest.raises(DesignError, match="name the folder of a plan"):
        place_best(topology_of(catalog), catalog, keep=tmp_path)


def test_given_places_win_over_a_forced_arrangement(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, "{arrangement: mid-row, places: {B03: {gpu-001: 1}}}")
    placement = place_best(topology, catalog)
    assert where(topology, placement)["gpu-001"] == ("B03", 1)
    assert [p.rule for p in placement.findings if p.rule == "arrangement-unused"] == ["arrangement-unused"]


def test_existing_equipment_takes_its_size_from_the_catalog(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, "{existing: [{rack: A01, ru: 1, model: dgx-h100}, {rack: A01, ru: 40, model: dgx-h100, height_ru: 2, power_w: 7}]}")
    part = catalog.node("dgx-h100")
    one, two = topology.design.placement.existing
    assert (one.height_ru, one.power_w, one.weight_kg) == (part.height_ru, part.power_max_w, part.weight_kg)
    assert (two.height_ru, two.power_w, two.weight_kg) == (2, 7, part.weight_kg)
    assert check_placement(topology, place_best(topology, catalog)) == []


def test_existing_equipment_of_an_unknown_model_or_size_is_refused(catalog: Catalog) -> None:
    nameless = next(s for s in catalog.switches.values() if s.weight_kg is None and s.power_max_w)
    with pytest.raises(DesignError) as caught:
        topology_of(catalog, 32, f"{{existing: [{{rack: A01, ru: 1, model: dgx-h10}}, {{rack: A02, ru: 1, model: {nameless.model}}}]}}")
    first, second = (p for p in caught.value.problems if p.level == "error")
    assert (first.where, first.what) == ("placement.existing.0.model", "unknown switch or node 'dgx-h10'")
    assert "dgx-h100" in first.fix
    assert (second.where, second.fix) == ("placement.existing.1", "give weight_kg here")


def test_an_existing_device_of_the_plan_stays_where_it_is(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, "{existing: [{rack: B11, ru: 9, device: leaf-su0-r3}]}")
    placement = place_best(topology, catalog)
    assert where(topology, placement)["leaf-su0-r3"] == ("B11", 9)
    assert check_placement(topology, placement) == []


@pytest.mark.parametrize("thing", ["{rack: A01, ru: 1}", "{rack: A01, ru: 1, device: gpu-001, model: dgx-h100}", "{rack: A01, ru: 1, device: gpu-001, height_ru: 8}"])
def test_existing_equipment_says_what_it_is_once(catalog: Catalog, thing: str) -> None:
    with pytest.raises(DesignError):
        topology_of(catalog, 32, f"{{existing: [{thing}]}}")


@pytest.mark.parametrize(("before", "after"), [(7, 8), (11, 12), (4, 5), (31, 33)])
def test_a_node_more_moves_nothing(catalog: Catalog, tmp_path: Path, before: int, after: int) -> None:
    small, large = (f"nodes: {{model: hgx-b300, count: {n}}}\nfabrics: {{compute: {{family: spectrum-x}}}}\n" for n in (before, after))
    earlier = make_plan(parse_design(small), catalog)
    later = make_plan(parse_design(large), catalog, keep=saved(earlier, tmp_path / "earlier"))
    old, new = where(earlier.topology, earlier.placement), where(later.topology, later.placement)
    assert {name: new[name] for name in old if name in new} == {name: place for name, place in old.items() if name in new}
    assert len(new) == later.topology.devices.height


@pytest.mark.parametrize("name", ["ethernet", "mixed", "infiniband"])
def test_a_whole_cluster_planned_again_moves_nothing(catalog: Catalog, tmp_path: Path, cluster_of: Callable[..., Plan], name: str) -> None:
    earlier = cluster_of(name)
    later = make_plan(earlier.design, catalog, keep=saved(earlier, tmp_path / "earlier"))
    old, new = where(earlier.topology, earlier.placement), where(later.topology, later.placement)
    built = set(earlier.topology.devices.filter("present")["device"])
    assert {n: new[n] for n in built} == {n: old[n] for n in built}
    assert check_placement(later.topology, later.placement) == []


def test_what_the_design_asks_against_given_places_is_named(catalog: Catalog) -> None:
    with pytest.raises(DesignError) as refused:
        make_plan(parse_design(text_of(32, "placement: {places: {A01: {gpu-001: 1}}, pins: [{device: gpu-001, racks: [B08]}]}\n")), catalog)
    (problem,) = refused.value.problems
    assert problem.where == "placement.places.A01.gpu-001"
    assert "loosen placement.pins" in problem.fix


def test_what_the_design_asks_against_an_earlier_plan_is_told_where_the_design_asks_it(catalog: Catalog, tmp_path: Path) -> None:
    earlier = saved(make_plan(parse_design(text_of(32)), catalog), tmp_path / "earlier")
    asks = "placement: {pins: [{device: gpu-001, racks: [B08]}], power_groups: [{rows: [A], power_kw: 20}]}\n"
    with pytest.raises(DesignError) as refused:
        make_plan(parse_design(text_of(32, asks)), catalog, keep=earlier)
    assert {p.where for p in refused.value.problems} == {"placement.pins", "placement.power_groups"}
    assert all("devices.csv" in p.why and "--keep" in p.fix for p in refused.value.problems)
