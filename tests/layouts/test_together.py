"""Racks of a pod together: what counts as together, the rule, and what the search does about it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, DesignError, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts import solver, solver_bound
from railplan.layouts.optimise import place_best
from railplan.layouts.pins import wishes
from railplan.layouts.placement import assemble, place, survey
from railplan.layouts.pricing import make_tariff
from railplan.layouts.rules import check_placement
from railplan.layouts.sites import is_sound, make_sites, positions_of
from railplan.layouts.solver_search import scratch
from railplan.layouts.solver_together import paths_of, search_together
from railplan.layouts.solver_walk import make_board, total_cost
from railplan.layouts.together import torn_in, torn_pods

HALL = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 10}, {name: B, racks: 10}]}\n"


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.WORK, "quick", 3_000_000)
    monkeypatch.setitem(solver_bound.WORK, "quick", 300_000)
    monkeypatch.setitem(solver_bound.CENTRE_WORK, "quick", 300_000)


def topology_of(catalog: Catalog, contiguous: str, count: int = 64, hall: str = HALL, more: str = "") -> Topology:
    text = f"nodes: {{model: hgx-h100, count: {count}}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{hall}placement: {{contiguous: {contiguous}{more}}}\n"
    return build_topology(parse_design(text), catalog)


STANDS = [
    ("0000111122", "2222......", []),
    ("00.0.11112", "2222......", []),
    ("0010111122", "2222......", [0, 1]),
    ("00001111..", "00002222..", []),
    ("0000111100", "..........", [0]),
    ("0011......", "1100......", []),
]
"""Pods along two rows, and those that are torn."""


@pytest.mark.parametrize(("first", "second", "torn"), STANDS)
def test_a_pod_is_together_in_one_run_a_row(catalog: Catalog, first: str, second: str, torn: list[int]) -> None:
    hall = survey(topology_of(catalog, "auto"), catalog).hall
    seats = [(int(mark), i) for i, mark in enumerate(first + second) if mark != "."]
    pod, position = np.array(seats, np.int64).T
    assert torn_pods(hall, pod, position).tolist() == torn


def test_rows_of_a_pod_are_neighbours_and_few(catalog: Catalog) -> None:
    rows = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [" + ", ".join(f"{{name: {r}, racks: 10}}" for r in "ABCD") + "]}\n"
    hall = survey(topology_of(catalog, "auto", hall=rows), catalog).hall
    assert torn_pods(hall, np.zeros(8, np.int64), np.array([0, 1, 2, 3, 20, 21, 22, 23])).tolist() == [0]
    assert torn_pods(hall, np.zeros(6, np.int64), np.array([0, 1, 10, 11, 20, 21])).tolist() == [0]
    assert torn_pods(hall, np.zeros(12, np.int64), np.array([*range(4), *range(10, 14), *range(20, 24)])).tolist() == []


def swapped(topology: Topology, catalog: Catalog) -> pl.Series:
    """Hall positions of the reference arrangement, with the first racks of two pods swapped."""
    placement = place(topology, catalog)
    number = {rack: i for i, rack in enumerate(placement.hall.positions["rack"].to_list())}
    position = pl.Series([number[rack] for rack in placement.places["rack"].to_list()])
    node = (topology.devices["role"] == "node").to_numpy()
    home = topology.devices["home"].to_numpy()
    one, two = position.to_numpy()[node & (home == 0)][8], position.to_numpy()[node & (home == 1)][8]
    return position.replace({int(one): int(two), int(two): int(one)})


@pytest.mark.parametrize(("contiguous", "rules"), [("always", {"pod-apart"}), ("auto", set()), ("never", set())])
def test_the_rule_holds_where_it_is_asked_for(catalog: Catalog, contiguous: str, rules: set[str]) -> None:
    topology = topology_of(catalog, contiguous)
    placement = place(topology, catalog)
    assert check_placement(topology, placement) == []
    torn = assemble(topology, placement.hall, swapped(topology, catalog).to_numpy(), placement.places["ru"].to_numpy())
    assert len(torn_in(topology, torn)) == 2
    assert {p.rule for p in check_placement(topology, torn)} == rules


@pytest.mark.parametrize("contiguous", ["always", "auto"])
def test_the_search_keeps_pods_together_where_that_is_asked_or_costs_little(catalog: Catalog, contiguous: str) -> None:
    topology = topology_of(catalog, contiguous)
    placement = place_best(topology, catalog, "quick")
    solution = placement.solution
    assert check_placement(topology, placement) == []
    assert solution is not None
    assert solution.baseline is not None
    assert solution.together is not None
    assert solution.scattered is not None
    assert solution.bound <= solution.objective <= solution.baseline
    assert solution.scattered <= solution.together
    if contiguous == "always" or solution.together <= solution.scattered * 1.01:
        assert len(torn_in(topology, placement)) == 0
        assert solution.objective == solution.together
    else:
        assert solution.objective == solution.scattered


def test_pods_may_scatter_where_the_design_says_so(catalog: Catalog) -> None:
    solution = place_best(topology_of(catalog, "never"), catalog, "quick").solution
    assert solution is not None
    assert solution.together is None
    assert solution.objective == solution.scattered


def test_states_of_the_search_are_sound_together_and_get_better(catalog: Catalog) -> None:
    topology = topology_of(catalog, "always", 100, HALL.replace("racks: 10", "racks: 16"))
    ground = survey(topology, catalog)
    board = make_board(make_sites(topology, ground.hall, make_tariff(topology, catalog, 60.0), ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks)))
    start = scratch(board)
    assert start is not None
    told: list[float] = []

    def heard(state: object, cost: float) -> None:
        assert is_sound(board.sites, state)
        assert total_cost(board, state) == pytest.approx(cost)
        placement = assemble(topology, ground.hall, *positions_of(board.sites, state, topology.devices.height))
        assert len(torn_in(topology, placement)) == 0
        assert check_placement(topology, placement) == []
        told.append(cost)

    search_together(board, [start], 0, 1_500_000, heard)
    assert len(told) >= 1
    assert told == sorted(told, reverse=True)
    for path in paths_of(board.sites):
        assert sorted(path.tolist()) == list(range(len(board.sites.spots)))


def test_pins_that_tear_a_pod_leave_nothing_where_pods_must_stand_together(catalog: Catalog) -> None:
    rows = HALL.replace("{name: B, racks: 10}", "{name: B, racks: 10}, {name: C, racks: 10}")
    more = ", pins: [{device: gpu-su0-000, racks: [A01]}, {device: gpu-su0-004, racks: [C10]}]"
    names = build_topology(parse_design("nodes: {model: hgx-h100, count: 64}\nfabrics: {compute: {family: quantum-ndr}}\n"), catalog).devices["device"].to_list()
    more = more.replace("gpu-su0-000", names[0]).replace("gpu-su0-004", names[4])
    with pytest.raises(DesignError, match="no placement was found"):
        place_best(topology_of(catalog, "always", hall=rows, more=more), catalog, "quick")
    free = topology_of(catalog, "auto", hall=rows, more=more)
    assert check_placement(free, place_best(free, catalog, "quick")) == []


def test_a_replan_does_not_ask_for_pods_together(catalog: Catalog, tmp_path: Path) -> None:
    topology = topology_of(catalog, "auto", 32)
    earlier = place_best(topology, catalog, "quick")
    earlier.places.with_columns(topology.devices["device"]).select("device", "rack", "ru").write_csv(tmp_path / "devices.csv")
    later = topology_of(catalog, "auto")
    assert check_placement(later, place_best(later, catalog, "quick", keep=tmp_path)) == []
