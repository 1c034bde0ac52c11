"""Local search by assignment: all leaves at once, all spines at once, all node racks at once, each time at their very best.

Leaves do not talk to leaves, nor spines to spines: with everything else fixed, the best slots for one role are a linear
assignment problem. Taking the roles in turns never gets worse; where it halts, a part is torn out and put back elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .hall import RACK_UNIT_M, Floats, Ints, Mask
from .sites import Sites, State

CALL = 7_000
"""Work of one assignment besides its cells."""

FORBIDDEN = 1e15
"""Cost of what must not be."""


@dataclass
class Board:
    """Cost tables of a problem, filled as they are asked for, and the work done so far (cells of cost tables)."""

    sites: Sites
    groups: tuple[Ints, ...]
    """Movable switches that do not talk to each other, role by role."""
    blocks: Ints
    """Movable blocks."""
    heights: Floats
    """[height class, k]."""
    height_of: Ints
    work: int = 0
    node_costs: dict[tuple[int, int, int], Floats] = field(default_factory=dict)
    pair_costs: dict[tuple[int, int, int], tuple[Floats, Mask]] = field(default_factory=dict)


def make_board(sites: Sites) -> Board:
    """Prepare the tables of a problem."""
    joined = np.sum(sites.to_switches, axis=0) > 0 if sites.to_switches else np.zeros((0, 0), bool)
    groups: list[list[int]] = []
    for one in np.flatnonzero(sites.fixed_switch < 0).tolist():
        fitting = (g for g in groups if sites.switch_role[g[0]] == sites.switch_role[one] and not joined[one, g].any())
        group = next(fitting, None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    heights, height_of = np.unique(sites.switch_height_m, axis=0, return_inverse=True)
    return Board(sites, tuple(np.array(g, np.int64) for g in groups), np.flatnonzero(sites.fixed_block < 0), heights, np.asarray(height_of).ravel())


def node_cost(board: Board, kind: int, height_class: int, nodes: int) -> Floats:
    """[slot, spot]: cost of one link to every node of a block of so many nodes."""
    key = (kind, height_class, nodes)
    if key not in board.node_costs:
        s = board.sites
        slot_spot, heights = _slots(board, height_class)
        spots = np.arange(len(s.spots))[None, :]
        routes = [s.route_m(spots, np.full((1, 1), node_m), slot_spot[:, None], heights[:, None]) for node_m in s.node_heights_m(nodes).tolist()]
        board.node_costs[key] = s.block_cost(kind, routes)
    return board.node_costs[key]


def pair_cost(board: Board, kind: int, height_class: int, other_class: int, others: Ints) -> Floats:
    """[slot, other]: cost of one link from every slot to the slots `others`."""
    s = board.sites
    key = (kind, height_class, other_class)
    if key not in board.pair_costs:
        board.pair_costs[key] = (np.zeros((s.slot_count, s.slot_count), np.float32), np.zeros(s.slot_count, bool))
    table, known = board.pair_costs[key]
    missing = np.unique(others[~known[others]])
    if len(missing):
        slot_spot, heights = _slots(board, height_class)
        other_heights = _heights_m(board, other_class, missing)
        table[missing] = s.cost(kind, s.route_m(slot_spot[None, :], heights[None, :], (missing // s.slots)[:, None], other_heights[:, None]))
        known[missing] = True
        board.work += len(missing) * s.slot_count * 4
    return table[others].T


def _slots(board: Board, height_class: int) -> tuple[Ints, Floats]:
    slot = np.arange(board.sites.slot_count)
    return slot // board.sites.slots, _heights_m(board, height_class, slot)


def _heights_m(board: Board, height_class: int, slot: Ints) -> Floats:
    """Heights of the ports of a switch in slots."""
    s = board.sites
    return np.asarray(board.heights[height_class][slot % s.slots] + s.shift_ru[slot // s.slots] * RACK_UNIT_M, np.float64)


def slot_costs(board: Board, state: State, devices: Ints) -> tuple[Floats, Ints]:
    """Cost of each slot for each class of the given switches, against all that is placed: ([class, slot], class of each device)."""
    s = board.sites
    placed_blocks = np.flatnonzero(state.spot_of_block >= 0)
    placed = np.flatnonzero(state.slot_of_switch >= 0)
    rows = [board.height_of[devices, None].astype(float)]
    rows += [w[devices][:, placed_blocks] for w in s.to_blocks] + [v[devices][:, placed] for v in s.to_switches]
    _, first, class_of = np.unique(np.concatenate(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    costs = np.zeros((len(first), s.slot_count))
    for row, device in enumerate(devices[first].tolist()):
        mine = int(board.height_of[device])
        for kind in range(len(s.steps)):
            weights = s.to_blocks[kind][device]
            near = placed_blocks[weights[placed_blocks] > 0]
            for nodes in np.unique(s.block_load[near]).tolist():
                these = near[s.block_load[near] == nodes]
                costs[row] += node_cost(board, kind, mine, nodes)[:, state.spot_of_block[these]] @ weights[these]
            links = s.to_switches[kind][device]
            peers = placed[links[placed] > 0]
            for other in np.unique(board.height_of[peers]).tolist():
                these = peers[board.height_of[peers] == other]
                costs[row] += pair_cost(board, kind, mine, other, state.slot_of_switch[these]) @ links[these]
            board.work += s.slot_count * (len(near) + len(peers))
    return costs, np.asarray(class_of).ravel()


def open_mask(board: Board, state: State) -> Mask:
    """[slot]: open to switches beside the blocks as they stand, and taken by none."""
    s = board.sites
    nodes = np.zeros(len(s.spots), np.int64)
    here = state.spot_of_block >= 0
    nodes[state.spot_of_block[here]] = s.block_load[here]
    mask = (np.arange(s.slots)[None, :] < s.open_slots[np.arange(len(s.spots)), nodes][:, None]) & s.free_slot
    flat = mask.ravel()
    flat[state.slot_of_switch[state.slot_of_switch >= 0]] = False
    return flat


def place_switches(board: Board, state: State, devices: Ints, bias: Floats | None = None) -> State | None:
    """Put the given switches on their best free slots, all together; None when there is no room. `bias` is added to the slots' costs."""
    from scipy.optimize import linear_sum_assignment

    s = board.sites
    board.work += CALL
    slot_of = state.slot_of_switch.copy()
    slot_of[devices] = -1
    state = State(state.spot_of_block, slot_of)
    slots = np.flatnonzero(open_mask(board, state))
    if len(slots) < len(devices):
        return None
    costs, class_of = slot_costs(board, state, devices)
    if bias is not None:
        costs = costs + bias[None, :]
    if len(slots) > 4 * len(devices):  # the best few of every class are enough, unless pins narrow them
        may = s.switch_may[devices][:, slots // s.slots]
        if may.all() and not s.apart:
            keep = np.unique(np.argpartition(costs[:, slots], len(devices) - 1, axis=1)[:, : len(devices)])
            slots = slots[keep]
    table = costs[:, slots][class_of]
    table[~s.switch_may[devices][:, slots // s.slots]] = FORBIDDEN
    for _ in range(1 + len(s.apart)):
        rows, columns = linear_sum_assignment(table)
        board.work += table.size * 4
        if table[rows, columns].max(initial=0.0) >= FORBIDDEN:
            return None
        slot_of[devices[rows]] = slots[columns]
        crowded = [members for members in s.apart if len(np.unique(slot_of[members] // s.slots)) == 1 and slot_of[members[0]] >= 0]
        if not crowded:
            break
        for members in crowded:
            first = np.flatnonzero(np.isin(devices, members))[:1]
            table[np.ix_(first, np.flatnonzero(slots // s.slots == slot_of[members[0]] // s.slots))] = FORBIDDEN
    return State(state.spot_of_block, slot_of)


def place_blocks(board: Board, state: State, blocks: Ints, bias: Floats | None = None) -> State | None:
    """Put the given blocks on their best spots, all together; None when there is no room."""
    from scipy.optimize import linear_sum_assignment

    s = board.sites
    board.work += CALL
    spot_of = state.spot_of_block.copy()
    spot_of[blocks] = -1
    free = np.ones(len(s.spots), bool)
    free[spot_of[spot_of >= 0]] = False
    spots = np.flatnonzero(free)
    if len(spots) < len(blocks):
        return None
    deepest = np.full(len(s.spots), -1, np.int64)
    placed = np.flatnonzero(state.slot_of_switch >= 0)
    np.maximum.at(deepest, state.slot_of_switch[placed] // s.slots, state.slot_of_switch[placed] % s.slots)
    table = np.zeros((len(blocks), len(spots)))
    for kind in range(len(s.steps)):
        for mine in np.unique(board.height_of[placed]).tolist():
            here = placed[board.height_of[placed] == mine]
            for nodes in np.unique(s.block_load[blocks]).tolist():
                rows = np.flatnonzero(s.block_load[blocks] == nodes)
                weights = s.to_blocks[kind][np.ix_(here, blocks[rows])]
                use = weights.any(axis=1)
                table[rows] += weights[use].T @ node_cost(board, kind, mine, nodes)[state.slot_of_switch[here[use]]][:, spots]
                board.work += int(use.sum()) * len(rows) * len(spots) // 8
    if bias is not None:
        table += bias[spots][None, :]
    for nodes in np.unique(s.block_load[blocks]).tolist():
        rows = np.flatnonzero(s.block_load[blocks] == nodes)
        table[np.ix_(rows, np.flatnonzero(deepest[spots] >= s.open_slots[spots, nodes]))] = FORBIDDEN
    table[~s.block_may[blocks][:, spots]] = FORBIDDEN
    rows, columns = linear_sum_assignment(table)
    board.work += table.size * 4
    if table[rows, columns].max(initial=0.0) >= FORBIDDEN:
        return None
    spot_of[blocks[rows]] = spots[columns]
    return State(spot_of, state.slot_of_switch)


def total_cost(board: Board, state: State) -> float:
    """Cost of all links of a state."""
    s = board.sites
    total = 0.0
    everything = np.arange(len(s.switch_dev))
    for kind in range(len(s.steps)):
        for mine in np.unique(board.height_of).tolist():
            devices = everything[board.height_of == mine]
            for nodes in np.unique(s.block_load).tolist():
                blocks = np.flatnonzero(s.block_load == nodes)
                weights = s.to_blocks[kind][np.ix_(devices, blocks)]
                if weights.any():
                    total += float((weights * node_cost(board, kind, mine, nodes)[np.ix_(state.slot_of_switch[devices], state.spot_of_block[blocks])]).sum())
            for other in np.unique(board.height_of).tolist():
                peers = everything[board.height_of == other]
                links = s.to_switches[kind][np.ix_(devices, peers)]
                if links.any():
                    total += 0.5 * float((links * pair_cost(board, kind, mine, other, state.slot_of_switch[peers])[state.slot_of_switch[devices]]).sum())
    return total


def descend(board: Board, state: State, order: Sequence[int] | None = None, rounds: int = 12) -> tuple[State, float]:
    """Take the roles (and the blocks, number -1) in turns, each at its best, until nothing gets better."""
    turns = list(order) if order is not None else [*range(len(board.groups)), -1]
    cost = total_cost(board, state)
    for _ in range(rounds):
        before = cost
        for turn in turns:
            found = place_blocks(board, state, board.blocks) if turn < 0 else place_switches(board, state, board.groups[turn])
            if found is not None:
                state = found
        cost = total_cost(board, state)
        if cost >= before - 1e-6 * max(1.0, abs(before)):
            break
    return state, cost
