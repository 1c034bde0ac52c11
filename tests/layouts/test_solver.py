"""The search: as good as trying everything where that is possible, never worse than a fixed arrangement, bounds that hold, the same bytes twice."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, DesignError, make_plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts import solver, solver_bound
from railplan.layouts.hall_bound import hall_bound
from railplan.layouts.optimise import place_best
from railplan.layouts.pins import wishes
from railplan.layouts.placement import Ground, Placement, assemble, survey
from railplan.layouts.pricing import Cost, Tariff, make_tariff, price
from railplan.layouts.rules import check_placement
from railplan.layouts.sites import State, is_sound, make_sites, positions_of
from railplan.layouts.solver_polish import polish
from railplan.layouts.solver_search import scratch, search
from railplan.layouts.solver_walk import Board, make_board, total_cost

ROW = "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 3}]}\n"
SHORT_RACKS = "placement: {existing: [" + ", ".join(f"{{rack: A0{i}, ru: 17, height_ru: 29}}" for i in (1, 2, 3)) + "]}\n"
"""Equipment that leaves each rack sixteen units at the bottom and three at the top."""


@pytest.fixture(autouse=True)
def _little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.WORK, "quick", 1_500_000)
    monkeypatch.setitem(solver_bound.WORK, "quick", 300_000)


def topology_of(catalog: Catalog, count: int, more: str = "", node: str = "hgx-h100", family: str = "quantum-ndr", fabric: str = "") -> Topology:
    return build_topology(parse_design(f"nodes: {{model: {node}, count: {count}}}\nfabrics: {{compute: {{family: {family}{fabric}}}}}\n{more}"), catalog)


def problem(topology: Topology, catalog: Catalog) -> tuple[Ground, Tariff, Board]:
    ground = survey(topology, catalog)
    tariff = make_tariff(topology, catalog, 60.0)
    return ground, tariff, make_board(make_sites(topology, ground.hall, tariff, ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks)))


def everything(topology: Topology, ground: Ground, tariff: Tariff, board: Board) -> tuple[float, Cost]:
    """Least cost of all placements that keep the rules, as the search counts it and by exact price."""
    s = board.sites
    open_slots = np.flatnonzero(s.free_slot.ravel()).tolist()
    least, cheapest = np.inf, None
    for spots in permutations(range(len(s.spots)), len(s.block_devs)):
        for slots in permutations(open_slots, len(s.switch_dev)):
            state = State(np.array(spots, np.int64), np.array(slots, np.int64))
            if is_sound(s, state):
                least = min(least, total_cost(board, state))
                cost = price(topology, assemble(topology, ground.hall, *positions_of(s, state, topology.devices.height)), tariff)
                cheapest = cost if cheapest is None else min(cheapest, cost, key=lambda c: c.rank)
    assert cheapest is not None
    return float(least), cheapest


@pytest.mark.parametrize(("count", "more", "fabric"), [(4, ROW, ""), (4, ROW + SHORT_RACKS, ", style: pair")])
def test_a_tiny_hall_is_placed_as_well_as_by_trying_everything(catalog: Catalog, count: int, more: str, fabric: str) -> None:
    topology = topology_of(catalog, count, more, fabric=fabric)
    ground, tariff, board = problem(topology, catalog)
    least, cheapest = everything(topology, ground, tariff, board)
    start = scratch(board)
    assert start is not None
    found = search(board, [start], seed=1, work=2_000_000)
    assert found is not None
    assert found[1] == pytest.approx(least)
    assert hall_bound(topology, ground, tariff) <= least + 1e-6
    solution = place_best(topology, catalog, "quick").solution
    assert solution is not None
    assert solution.objective == cheapest.objective
    assert solution.bound <= cheapest.objective


SIZES = [
    (12, "hgx-h100", "quantum-ndr", ""),
    (64, "hgx-h100", "quantum-ndr", ""),
    (40, "dgx-h100", "quantum-ndr", ""),
    (72, "hgx-b300", "quantum-xdr", ""),
    (70, "hgx-b300", "spectrum-x", ", planes: 2"),
    (31, "dgx-h100", "quantum-ndr", ", ufm_links: 4"),
]


@pytest.mark.parametrize(("count", "node", "family", "fabric"), SIZES)
def test_the_search_is_never_worse_than_a_fixed_arrangement_and_keeps_the_rules(catalog: Catalog, count: int, node: str, family: str, fabric: str) -> None:
    topology = topology_of(catalog, count, node=node, family=family, fabric=fabric)
    placement = place_best(topology, catalog, "quick")
    solution = placement.solution
    assert check_placement(topology, placement) == []
    assert solution is not None
    assert solution.baseline is not None
    assert solution.bound <= solution.objective <= solution.baseline
    assert sum(n for kinds in solution.links.values() for n in kinds.values()) == topology.links.height


def test_the_search_prices_a_regular_fabric_exactly(catalog: Catalog) -> None:
    topology = topology_of(catalog, 64, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000}\n")
    ground, tariff, board = problem(topology, catalog)
    state = scratch(board)
    assert state is not None
    cost = price(topology, assemble(topology, ground.hall, *positions_of(board.sites, state, topology.devices.height)), tariff)
    assert total_cost(board, state) == pytest.approx(cost.modules * 1e7 + cost.metres)


def test_the_same_seed_gives_the_same_places(catalog: Catalog) -> None:
    topology = topology_of(catalog, 32, "seed: 7\n")
    one, two = (place_best(topology, catalog, "quick") for _ in range(2))
    assert one.places.equals(two.places)
    assert one.solution == two.solution


def test_the_exact_polish_never_harms_and_its_bound_holds(catalog: Catalog) -> None:
    topology = topology_of(catalog, 64, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 9}, {name: B, racks: 9}]}\n")
    _, _, board = problem(topology, catalog)
    start = scratch(board)
    assert start is not None
    found = search(board, [start], seed=0, work=1_000_000)
    assert found is not None
    bound, slots = solver_bound.conditional_bound(board, *found)
    polished = polish(board, found[0], limit=1.0, slots_open=slots)
    assert polished is not None
    assert is_sound(board.sites, polished.state)
    assert polished.cost <= found[1] + 1e-3
    assert polished.bound <= polished.cost + 1e-3
    assert bound <= polished.cost + 1e-3


def test_the_bound_lies_below_every_placement_that_was_ever_found(catalog: Catalog) -> None:
    topology = topology_of(catalog, 64, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 10}, {name: B, racks: 10}]}\n")
    _, _, board = problem(topology, catalog)
    costs, state = [], None
    for seed in range(3):
        start = scratch(board)
        assert start is not None
        found = search(board, [start], seed, 1_500_000)
        assert found is not None
        costs.append(found[1])
        state = found[0]
    assert state is not None
    assert solver_bound.lower_bound(board, state, max(costs), 0.0, "quick") <= min(costs)


def test_a_stopped_search_still_gives_the_best_fixed_arrangement(catalog: Catalog) -> None:
    placement = place_best(topology_of(catalog, 64), catalog, "thorough", stop=lambda: True)
    solution = placement.solution
    assert solution is not None
    assert solution.status == "interrupted"
    assert solution.baseline is not None
    assert solution.objective <= solution.baseline


def test_ctrl_c_keeps_the_best_found(catalog: Catalog) -> None:
    told = 0

    def interrupt(text: str) -> None:
        nonlocal told
        told += 1
        if told == 2:
            raise KeyboardInterrupt

    solution = place_best(topology_of(catalog, 64), catalog, "quick", tell=interrupt).solution
    assert solution is not None
    assert solution.status == "interrupted"


def test_a_large_hall_is_searched_pod_by_pod(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.SPOTS_MAX, "quick", 10)
    topology = topology_of(catalog, 128, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 20}, {name: B, racks: 20}]}\n")
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    assert placement.solution is not None
    assert placement.solution.baseline is not None
    assert placement.solution.objective < placement.solution.baseline


def kept_plan(tmp_path: Path, topology: Topology, placement: Placement) -> Path:
    placement.places.with_columns(topology.devices["device"]).select("device", "rack", "ru").write_csv(tmp_path / "devices.csv")
    return tmp_path


def test_a_replan_moves_nothing_that_stands(catalog: Catalog, tmp_path: Path) -> None:
    hall = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 12}, {name: B, racks: 12}]}\n"
    before = topology_of(catalog, 32, hall)
    earlier = place_best(before, catalog, "quick")
    after = topology_of(catalog, 64, hall)
    now = place_best(after, catalog, "quick", keep=kept_plan(tmp_path, before, earlier))
    assert check_placement(after, now) == []
    names = earlier.places.with_columns(before.devices["device"]).select("device", "rack", "ru")
    joined = names.join(now.places.with_columns(after.devices["device"]).select("device", rack_now="rack", ru_now="ru"), on="device")
    assert joined.filter((pl.col("rack") != pl.col("rack_now")) | (pl.col("ru") != pl.col("ru_now"))).is_empty()
    assert joined.height >= 32


def test_a_folder_without_devices_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=r"holds no devices\.csv"):
        place_best(topology_of(catalog, 4), catalog, "quick", keep=tmp_path)


def test_make_plan_searches_when_it_is_asked_to(catalog: Catalog) -> None:
    plan = make_plan(parse_design("nodes: {model: hgx-h100, count: 32}\nfabrics: {compute: {family: quantum-ndr}}\n"), catalog, effort="quick")
    assert plan.placement.solution is not None
    assert plan.placement.solution.objective == plan.cabling.modules.height


def test_the_bound_by_spine_places_is_asked_only_where_the_most_switches_of_a_rack_are_a_rule(catalog: Catalog) -> None:
    assert solver.counts_hold(topology_of(catalog, 64))
    assert not solver.counts_hold(topology_of(catalog, 64, "placement: {power_groups: [{rows: [A], power_kw: 400}]}\nhall: {rows: [{name: A, racks: 40}]}\n"))
