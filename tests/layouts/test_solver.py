"""The search: as good as trying everything where that is possible, never worse than a fixed arrangement, bounds that hold, the same bytes twice."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts import solver, solver_bound, solver_pods, solver_polish
from railplan.layouts.arrangements import PRESETS
from railplan.layouts.cables import cable
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
from railplan.outputs import csv_files

ROW = "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 3}]}\n"
SHORT_RACKS = "placement: {existing: [" + ", ".join(f"{{rack: A0{i}, ru: 17, height_ru: 29}}" for i in (1, 2, 3)) + "]}\n"
"""Equipment that leaves each rack sixteen units at the bottom and three at the top."""


LOWER = "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 3, other_racks: [{positions: [2], rack: rack-42u}]}]}\n"
COOLER = "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 2, rack_cooling_kw: 21}, {name: N, racks: 1, rack: rack-42u, rack_power_kw: 9, cooling_kw: 4}]}\n"
WEAK = "hall: {nodes_per_rack: 2, floor_kg_per_m2: 610, rows: [{name: A, racks: 2}, {name: N, racks: 1, rack: rack-52u, rack_weight_kg: 30}]}\n"
"""Halls of three racks that differ: by height, by power and cooling (beside two nodes a rack of row A has no cooling left, row N cools two switches), by load."""


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
    """Least cost of all placements that the sites allow, as the search counts it and by exact price; the rules agree with a sample."""
    s = board.sites
    open_slots = np.flatnonzero(s.free_slot.ravel()).tolist()
    least, cheapest, seen = np.inf, None, 0
    for spots in permutations(range(len(s.spots)), len(s.block_devs)):
        for slots in permutations(open_slots, len(s.switch_dev)):
            state = State(np.array(spots, np.int64), np.array(slots, np.int64))
            if is_sound(s, state):
                least = min(least, total_cost(board, state))
                placement = assemble(topology, ground.hall, *positions_of(s, state, topology.devices.height))
                if (seen := seen + 1) % 40 == 1:
                    assert check_placement(topology, placement) == []
                cost = price(topology, placement, tariff)
                cheapest = cost if cheapest is None else min(cheapest, cost, key=lambda c: c.rank)
    assert cheapest is not None
    return float(least), cheapest


TINY = [
    (4, ROW, ""),
    (4, ROW + SHORT_RACKS, ", style: pair"),
    (4, LOWER, ""),
    (4, LOWER + SHORT_RACKS.replace("A02, ru: 17, height_ru: 29", "A02, ru: 17, height_ru: 25"), ", style: pair"),
    (4, COOLER, ", style: pair"),
    (4, WEAK, ""),
]


@pytest.mark.parametrize(("count", "more", "fabric"), TINY)
def test_a_tiny_hall_is_placed_as_well_as_by_trying_everything(catalog: Catalog, count: int, more: str, fabric: str) -> None:
    as_good_as_everything(catalog, topology_of(catalog, count, more, fabric=fabric))


def test_so_is_one_of_high_switches_in_racks_of_several_heights(catalog: Catalog) -> None:
    hall = "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 1, rack: rack-42u}, {name: B, racks: 1}]}\n"
    as_good_as_everything(catalog, topology_of(catalog, 4, hall, node="hgx-b300", family="quantum-xdr", fabric=", style: pair"))


def as_good_as_everything(catalog: Catalog, topology: Topology) -> None:
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


def test_racks_kept_for_growth_stand_where_the_grown_cluster_wants_them(catalog: Catalog) -> None:
    far = ", ".join(f"{{name: {row}, racks: 12, x_m: 90}}" for row in "CD")
    hall = f"hall: {{nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{far}, {{name: A, racks: 10}}, {{name: B, racks: 10}}]}}\n"
    fields = "model: hgx-h100, count: "
    growing, whole = (
        build_topology(parse_design(f"nodes: {{{fields}{count}}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{hall}"), catalog) for count in ("32, grow_to: 64", "64")
    )
    placement, final = (place_best(topology, catalog, "quick") for topology in (growing, whole))
    assert placement.places.equals(final.places)
    assert placement.solution is not None
    assert final.solution is not None
    assert (placement.solution.objective, placement.solution.bound, placement.solution.baselines) == (final.solution.objective, final.solution.bound, final.solution.baselines)
    assert placement.solution.today == cable(growing, placement, catalog).modules.height < placement.solution.objective
    assert final.solution.today == final.solution.objective


def test_a_search_tells_the_best_so_far_the_bound_and_the_gap(catalog: Catalog) -> None:
    told: list[str] = []
    topology = topology_of(catalog, 64, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000}\n")
    solution = place_best(topology, catalog, "quick", tell=told.append).solution
    assert solution is not None
    figures = [re.fullmatch(r"placing racks and switches: about ([\d,]+) modules, bound ([\d,]+), gap ([\d.]+)%(; raising the bound)?", text) for text in told]
    assert len(figures) > 2
    best, bound, gap = ([float(found[i].replace(",", "")) for found in figures if found] for i in (1, 2, 3))
    assert len(best) == len(told)
    assert best == sorted(best, reverse=True)
    assert best[-1] == solution.objective
    assert bound == sorted(bound)
    assert gap[-1] == pytest.approx(solution.gap_percent, abs=0.2)


@pytest.mark.parametrize("where", ["make_sites", "hall_bound", "lower_bound"])
def test_ctrl_c_anywhere_in_the_search_still_gives_a_plan(catalog: Catalog, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solver, where, interrupt)
    topology = topology_of(catalog, 64)
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    assert placement.solution is not None
    assert placement.solution.status == "interrupted"
    assert placement.solution.baseline is not None
    assert placement.solution.objective <= placement.solution.baseline


def test_ctrl_c_stops_the_exact_polish(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Thread):
        """Its first join is where Ctrl-C falls."""

        interrupted = False

        def join(self, timeout: float | None = None) -> None:
            if not Interrupted.interrupted:
                Interrupted.interrupted = True
                raise KeyboardInterrupt
            super().join()

        def is_alive(self) -> bool:
            return True

    monkeypatch.setattr(solver_polish, "Thread", Interrupted)
    monkeypatch.setitem(solver.WORK, "normal", 600_000)
    topology = topology_of(catalog, 64, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000}\n")
    solution = place_best(topology, catalog, "normal").solution
    assert Interrupted.interrupted
    assert solution is not None
    assert (solution.arrangement, solution.status) == ("search", "interrupted")


def test_ctrl_c_in_a_large_hall_keeps_the_pods_that_are_done(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(solver.SPOTS_MAX, "quick", 10)
    topology = topology_of(catalog, 128, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 20}, {name: B, racks: 20}]}\n")
    real, done = solver_pods._one_pod, []

    def second_is_interrupted(*args: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        done.append(True)
        return real(*args)

    monkeypatch.setattr(solver_pods, "_one_pod", second_is_interrupted)
    placement = place_best(topology, catalog, "quick")
    assert check_placement(topology, placement) == []
    solution = placement.solution
    assert solution is not None
    assert solution.status == "interrupted"
    assert solution.baseline is not None
    assert solution.objective < solution.baseline


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
    assert not solver.counts_hold(topology_of(catalog, 64, "hall: {rows: [{name: A, racks: 40, cooling_kw: 900}]}\n"))


def test_servers_stand_still_while_switches_of_all_fabrics_and_node_racks_are_searched(cluster_of: Callable[..., Plan]) -> None:
    plan = cluster_of("infiniband", "quick")
    found = plan.placement.solution
    assert found is not None
    assert check_placement(plan.topology, plan.placement) == []
    assert found.arrangement == "search"
    assert found.bound <= found.objective < min(v for v in found.baselines.values() if v is not None)
    assert found.objective == plan.cabling.modules.height
    before = cluster_of("infiniband")
    is_server = plan.topology.devices["role"] == "server"
    apart = {name: p.placement.places.filter(is_server).select("rack", "ru").rows() for name, p in (("fixed", before), ("search", plan))}
    racks = [len({rack for rack, _ in places}) for places in apart.values()]
    assert racks[0] == racks[1]
    moved = plan.placement.places.select("rack", "ru").rows() != before.placement.places.select("rack", "ru").rows()
    assert moved


@pytest.mark.parametrize("name", PRESETS)
def test_every_fixed_arrangement_spreads_servers_over_as_many_racks_as_asked(catalog: Catalog, cluster_of: Callable[..., Plan], name: str) -> None:
    topology = cluster_of("infiniband").topology
    ground = survey(topology, catalog)
    arranged = PRESETS[name](topology, ground.hall, ground.racks, ground.cap)
    assert arranged is not None
    assert check_placement(topology, assemble(topology, ground.hall, *arranged)) == []


def test_racks_that_differ_spread_servers_too(catalog: Catalog) -> None:
    hall = "hall: {rows: [{name: A, racks: 20}, {name: B, racks: 6, rack: rack-42u}]}\n"
    servers = "servers: [{name: store, model: storage-appliance, count: 5, racks_at_least: 4}]\n"
    others = "fabrics: {compute: {family: quantum-ndr}, oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}}\n"
    topology = build_topology(parse_design("nodes: {model: dgx-h100, count: 24}\n" + others + hall + servers), catalog)
    ground = survey(topology, catalog)
    assert not ground.hall.plain
    arranged = PRESETS["amid-su"](topology, ground.hall, ground.racks, ground.cap)
    assert arranged is not None
    assert check_placement(topology, assemble(topology, ground.hall, *arranged)) == []


def test_pods_of_a_large_hall_are_searched_with_every_fabric(catalog: Catalog, monkeypatch: pytest.MonkeyPatch, cluster_of: Callable[..., Plan]) -> None:
    monkeypatch.setitem(solver.SPOTS_MAX, "quick", 4)
    topology = cluster_of("infiniband").topology
    placement = place_best(topology, catalog, "quick")
    assert placement.solution is not None
    assert check_placement(topology, placement) == []
    assert placement.solution.objective <= min(v for v in placement.solution.baselines.values() if v is not None)


@pytest.mark.parametrize("name", ["ethernet", "mixed"])
def test_a_cluster_with_pdus_is_searched_and_every_rack_has_them(name: str, catalog: Catalog, cluster_of: Callable[..., Plan]) -> None:
    before, plan = cluster_of(name), cluster_of(name, "quick")
    assert plan.placement.solution is not None
    assert check_placement(plan.topology, plan.placement) == []
    assert plan.design.pdus is not None
    held = plan.placement.places.filter(plan.topology.devices["role"] == "pdu").group_by("rack").len()
    assert set(held["len"]) == {plan.design.pdus.per_rack}
    assert held.height == plan.placement.racks.height <= before.placement.racks.height
    assert plan.placement.solution.objective <= min(v for v in plan.placement.solution.baselines.values() if v is not None)
    others = plan.placement.places.filter(plan.topology.devices["role"] != "pdu")
    assert plan.placement.solution.today == plan.cabling.modules.height
    assert set(others["rack"]) <= set(held["rack"])


def test_pdus_for_more_racks_than_are_used_stand_in_free_positions(catalog: Catalog, cluster_of: Callable[..., Plan]) -> None:
    row = parse_design("nodes: {model: hgx-b300, count: 16}\nfabrics: {compute: {family: spectrum-x}}\nhall: {rows: [{name: A, racks: 12}]}\n").hall
    topology = build_topology(cluster_of("ethernet").design.model_copy(update={"hall": row}), catalog, 9)
    ground = survey(topology, catalog)
    arranged = PRESETS["amid-su"](topology, ground.hall, ground.racks, ground.cap)
    assert arranged is not None
    placement = assemble(topology, ground.hall, *arranged)
    assert check_placement(topology, placement) == []
    assert placement.places.filter(topology.devices["role"] != "pdu")["rack"].n_unique() < placement.racks.height == 9


def test_a_replan_of_a_cluster_moves_no_server_no_switch_and_no_pdu(catalog: Catalog, cluster_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = cluster_of("ethernet")
    (tmp_path / "devices.csv").write_bytes(csv_files.files(plan)["devices.csv"])
    again = place_best(plan.topology, catalog, "fixed", tmp_path)
    assert again.places.select("rack", "ru").rows() == plan.placement.places.select("rack", "ru").rows()
