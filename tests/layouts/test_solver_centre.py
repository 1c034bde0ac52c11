"""The bound by the spines' centre: below every distribution of spines, its corners hold every distribution of their box, mirrors are symmetries."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from railplan import Catalog, parse_design
from railplan.fabric.build import build_topology
from railplan.layouts.pins import wishes
from railplan.layouts.placement import survey
from railplan.layouts.pricing import make_tariff
from railplan.layouts.sites import State, is_sound, make_sites
from railplan.layouts.solver_bound import branch_and_bound, lower_bound
from railplan.layouts.solver_centre import Box, Prices, centre_bound, corners_in, mirror_of, mirrors
from railplan.layouts.solver_corners import corners_of
from railplan.layouts.solver_relax import Relaxed, ascend, relax
from railplan.layouts.solver_search import scratch, search
from railplan.layouts.solver_walk import Board, make_board, total_cost

TWO_ROWS = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 10}, {name: B, racks: 10}]}\n"


def board_of(catalog: Catalog, count: int, hall: str, family: str = "quantum-ndr", fabric: str = "", node: str = "hgx-h100") -> Board:
    text = f"nodes: {{model: {node}, count: {count}}}\nfabrics: {{compute: {{family: {family}{fabric}}}}}\n{hall}"
    topology = build_topology(parse_design(text), catalog)
    ground = survey(topology, catalog)
    tariff = make_tariff(topology, catalog, 60.0)
    return make_board(make_sites(topology, ground.hall, tariff, ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks)))


def at_of(board: Board) -> np.ndarray:
    return np.stack([board.sites.hall.positions[c].to_numpy()[board.sites.spots] for c in ("x_m", "y_m")], axis=1)


def small(rng: np.random.Generator, spots: int) -> Relaxed:
    """A relaxed problem of random costs: two zones to a rack, the lower one only without nodes."""
    zones = 2 * spots
    deep = np.tile([False, True], spots)
    own = np.repeat(np.arange(spots), 2)
    to_rack = rng.integers(1, 40, (zones, spots)).astype(float)
    to_rack[np.flatnonzero(deep), own[deep]] = 1e12
    to_spines = np.zeros((spots, 5, zones))
    to_spines[:, 1:] = np.cumsum(np.repeat(rng.integers(1, 40, (spots, 1, zones)), 4, axis=1), axis=1)
    room = np.tile([2, 1], spots)
    return Relaxed(1, to_rack, to_spines, room, 2, 3, 4, 2, 3, own, deep, np.full(spots, 3), np.full(spots, 2))


def cheapest(q: Relaxed) -> float:
    """Least cost of leaves, racks and spines by trying everything, with room kept and leaves that serve any racks, each as often as it must."""
    from scipy.optimize import linprog

    spots, best = q.to_rack.shape[1], np.inf
    units = np.repeat(np.arange(len(q.room)), q.room)
    for stands in {tuple(sorted(p[: q.blocks])) for p in permutations(range(spots))}:
        cap = np.where(np.isin(np.arange(spots), stands), q.cap_full, q.cap_empty)
        for leaves in {tuple(sorted(c)) for c in combinations_with_replacement(sorted(set(units.tolist())), q.leaves)}:
            used = np.bincount(q.spot_of_zone[list(leaves)], minlength=spots)
            if (np.bincount(list(leaves), minlength=len(q.room)) > q.room).any() or (used > cap).any() or any(q.deep[z] and q.spot_of_zone[z] in stands for z in leaves):
                continue
            links = q.to_rack[np.ix_(list(leaves), list(stands))].ravel()
            once = np.kron(np.eye(q.leaves), np.ones((1, len(stands))))
            each = np.kron(np.ones((1, q.leaves)), np.eye(len(stands)))
            served = linprog(links, A_eq=np.vstack([once, each]), b_eq=np.r_[np.full(q.leaves, q.racks), np.full(len(stands), q.leaves_of_rack)], bounds=(0, 1))
            if served.status != 0:
                continue
            each_spine = q.to_spines[:, 1][:, list(leaves)].sum(axis=1)
            seats = np.sort(np.repeat(each_spine, np.maximum(cap - used, 0)))
            if len(seats) >= q.spines:
                best = min(best, float(served.fun) + float(seats[: q.spines].sum()))
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_below_what_trying_everything_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spots = 4
    q = small(rng, spots)
    at_m = np.stack([rng.permutation(spots) * 0.7, rng.integers(0, 2, spots) * 2.4], axis=1)
    least = cheapest(q)
    assert np.isfinite(least)
    found = centre_bound(q, at_m, least * 1.1, least * 1.1, 3_000_000)
    assert 0 < found <= least + 1e-6


def test_the_bound_of_a_real_hall_is_below_the_best_plan_and_above_the_root(catalog: Catalog) -> None:
    board = board_of(catalog, 64, TWO_ROWS)
    start = scratch(board)
    assert start is not None
    found = search(board, [start], 0, 2_000_000)
    assert found is not None
    q = relax(board)
    assert q is not None
    nothing = np.zeros(q.to_rack.shape[1])
    root, _, _ = ascend(q, (), q.spines, nothing, found[1], found[1], 60)
    centre = centre_bound(q, at_of(board), found[1], found[1], 10_000_000)
    assert root * (1 - 1e-6) < centre <= found[1]
    assert lower_bound(board, found[0], found[1], 0.0, "quick") <= found[1]


@pytest.mark.parametrize(("node", "family", "fabric"), [("hgx-h100", "quantum-ndr", ""), ("hgx-h100", "quantum-ndr", ", style: pair"), ("hgx-b300", "spectrum-x", ", planes: 2")])
def test_a_tiny_hall_costs_no_less_than_the_bound(catalog: Catalog, node: str, family: str, fabric: str) -> None:
    board = board_of(catalog, 4, "hall: {nodes_per_rack: 2, rows: [{name: A, racks: 2}, {name: B, racks: 1}]}\n", family, fabric, node)
    s = board.sites
    open_slots = np.flatnonzero(s.free_slot.ravel()).tolist()
    least = np.inf
    rng = np.random.default_rng(0)
    for spots in permutations(range(len(s.spots)), len(s.block_devs)):
        for _ in range(400):
            state = State(np.array(spots, np.int64), rng.choice(open_slots, len(s.switch_dev), replace=False))
            if is_sound(s, state):
                least = min(least, total_cost(board, state))
    start = scratch(board)
    assert start is not None
    found = search(board, [start], 0, 500_000)
    assert found is not None
    least = min(least, found[1])
    assert lower_bound(board, found[0], found[1], 0.0, "quick") <= least + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_every_distribution_of_a_box_lies_among_its_corners(seed: int) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    spots, spines = 6, 4
    at_m = np.stack([rng.permutation(spots) * 0.7, rng.integers(0, 2, spots) * 2.4], axis=1)
    counts = np.bincount(rng.integers(0, spots, spines), minlength=spots)
    centre = counts @ at_m / spines
    sides = (centre[0] - rng.random(), centre[0] + rng.random(), centre[1] - rng.random(), centre[1] + rng.random())
    most = int(counts.argmax())
    nothing = Prices(np.zeros(spots), np.zeros(spots))
    for share in (None, (most, int(counts[most]), spines), (most, 0, int(counts[most])), (most, 1, int(counts[most]))):
        if share is not None and share[1] > share[2]:
            continue
        corners = corners_in(at_m, Box(sides, np.full(spots, -1), nothing, share), spines)
        table = np.zeros((spots, len(corners.spot)))
        for i in range(corners.spot.shape[1]):
            np.add.at(table, (corners.spot[:, i], np.arange(len(corners.spot))), corners.share[:, i])
        assert np.allclose(table.sum(axis=0), 1)
        mixed = linprog(np.zeros(table.shape[1]), A_eq=table, b_eq=counts / spines)
        assert mixed.status == 0, (share, counts)


def test_corners_lie_in_their_box() -> None:
    at_m = np.array([[x * 0.7, y * 2.4] for y in range(3) for x in range(4)])
    corners = corners_of(at_m, (0.5, 1.2, 1.0, 3.0))
    centre = (at_m[corners.spot] * corners.share[:, :, None]).sum(axis=1)
    assert np.allclose(corners.share.sum(axis=1), 1)
    assert (centre >= np.array([0.5, 1.0]) - 1e-6).all()
    assert (centre <= np.array([1.2, 3.0]) + 1e-6).all()


def test_a_hall_of_even_rows_has_both_mirrors_and_a_pillar_takes_one(catalog: Catalog) -> None:
    board = board_of(catalog, 64, TWO_ROWS)
    q = relax(board)
    assert q is not None
    assert len(mirrors(q, at_of(board))) == 3
    uneven = board_of(catalog, 64, TWO_ROWS + "placement: {existing: [{rack: A10, ru: 40, height_ru: 9}]}\n")
    q = relax(uneven)
    assert q is not None
    assert mirror_of(q, at_of(uneven), 0) is None
    assert mirrors(q, at_of(uneven)) == []


def test_mirror_images_leave_the_bound_by_counts_as_it_is(catalog: Catalog) -> None:
    board = board_of(catalog, 32, "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 6}, {name: B, racks: 6}]}\n")
    start = scratch(board)
    q = relax(board)
    assert start is not None
    assert q is not None
    cost = total_cost(board, start)
    images = mirrors(q, at_of(board))
    assert len(images) == 3
    without, whole = branch_and_bound(q, cost, cost, 4_000, [], lambda: False)
    with_, fewer = branch_and_bound(q, cost, cost, 4_000, images, lambda: False)
    assert len(fewer) < len(whole)
    assert with_ >= without
    assert min([without, *(b for b, _ in whole)]) == pytest.approx(min([with_, *(b for b, _ in fewer)]), rel=0.02)
