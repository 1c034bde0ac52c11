"""Exact polish: with the upper switches where they are, leaves and node racks are placed at their very best by CP-SAT.

Counts, not names: equal leaves of a pod share one count for each kind of slot (slots that cost the same against
everything are one kind), and a rack of a pod is a yes or no for each spot. With c leaves in a kind of slot and a rack on
spot p, `w` counts the leaf-to-rack bundles between them: sum over spots = racks x c, sum over slots = leaves x rack.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .hall import Floats, Ints, Mask
from .sites import State, is_sound
from .solver_walk import Board, node_cost, open_mask, slot_costs, total_cost

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

CELLS_MAX = 100_000
"""Parts x slots x spots up to which all leaves are polished at once."""

PAIRS_MAX = 6
"""Pairs of pods polished in a larger hall."""


class Part(NamedTuple):
    """Leaves that are alike, and the racks they serve."""

    leaves: Ints
    blocks: Ints
    kind: int
    weight: float


class Polished(NamedTuple):
    """What CP-SAT found: a state, its cost, the bound for these upper switches, and whether it is proved."""

    state: State
    cost: float
    bound: float
    proved: bool


def parts_of(board: Board) -> list[Part] | None:
    """Groups of leaves that serve the same whole blocks over one kind of link; None where the fabric is not that regular."""
    s = board.sites
    parts: list[Part] = []
    served = np.flatnonzero(sum(w.any(axis=1) for w in s.to_blocks))
    rows = np.concatenate([w[served] for w in s.to_blocks] + [v[served] for v in s.to_switches], axis=1)
    _, of = np.unique(rows, axis=0, return_inverse=True)
    of = np.asarray(of).ravel()
    for number in range(int(of.max(initial=-1)) + 1):
        leaves = served[of == number]
        kinds = [k for k, w in enumerate(s.to_blocks) if w[leaves[0]].any()]
        if len(kinds) != 1:
            return None
        weights = s.to_blocks[kinds[0]][leaves[0]]
        blocks = np.flatnonzero(weights > 0)
        if len(np.unique(weights[blocks])) != 1 or len(np.unique(s.block_load[blocks])) != 1 or len(np.unique(board.height_of[leaves])) != 1:
            return None
        if any(v[np.ix_(served, served)].any() for v in s.to_switches):
            return None
        parts.append(Part(leaves, blocks, kinds[0], float(weights[blocks[0]])))
    owner: dict[int, tuple[int, ...]] = {}
    for part in parts:  # parts either serve the same blocks or none in common
        for block in part.blocks.tolist():
            if owner.setdefault(block, tuple(part.blocks.tolist())) != tuple(part.blocks.tolist()):
                return None
    return parts or None


def polish_all(board: Board, state: State, limit: float, jobs: int, slots_open: Mask | None, heard: Callable[[State, float], None], stop: Callable[[], bool]) -> float:
    """Polish all leaves at once where the model stays small, else pods by twos, each with its share of the time; `heard` is told of better states.

    Returns a bound for these upper switches, 0 where none was proved.
    """
    parts = parts_of(board)
    if parts is None:
        return 0.0
    slots = board.sites.slot_count
    if slots_open is not None:
        slots = int(slots_open.sum())
    whole = len(parts) * slots * len(board.sites.spots) <= CELLS_MAX
    sets = [set(range(len(parts)))] if whole else [{i, j} for i in range(len(parts)) for j in range(i + 1, len(parts))][:PAIRS_MAX]
    cost, bound = total_cost(board, state), 0.0
    for some in sets:
        if stop():
            break
        found = polish(board, state, limit / len(sets), jobs, some, slots_open if whole else None)
        bound = found.bound if whole and found is not None else bound
        if found is not None and found.cost < cost - 1e-6 and is_sound(board.sites, found.state):
            state, cost = found.state, found.cost
            heard(state, cost)
    return bound


def polish(board: Board, state: State, limit: float, jobs: int = 1, free: set[int] | None = None, slots_open: Mask | None = None, upper: Floats | None = None) -> Polished | None:
    """Place leaves and racks of the parts `free` (all by default) anew, everything else where it is; `limit` is CP-SAT's deterministic time.

    `slots_open` leaves out slots that no better placement uses. With `upper`, a cost of leaves by slot, upper switches
    are nowhere and cost that instead: then only the bound counts.
    """
    from ortools.sat.python import cp_model

    parts = parts_of(board)
    s = board.sites
    if parts is None or s.apart or (s.fixed_block >= 0).any() or (s.fixed_switch >= 0).any():
        return None
    chosen = [p for i, p in enumerate(parts) if free is None or i in free]
    leaves = np.concatenate([p.leaves for p in chosen])
    blocks = np.unique(np.concatenate([p.blocks for p in chosen]))
    spot_of, slot_of = state.spot_of_block.copy(), state.slot_of_switch.copy()
    spot_of[blocks], slot_of[leaves] = -1, -1
    if upper is not None:
        slot_of[:] = -1
    bare = State(spot_of, slot_of)
    taken = np.zeros(len(s.spots), bool)
    taken[spot_of[spot_of >= 0]] = True
    spots = np.flatnonzero(~taken)
    others = np.flatnonzero(slot_of >= 0)
    deepest = np.full(len(s.spots), -1, np.int64)
    np.maximum.at(deepest, slot_of[others] // s.slots, slot_of[others] % s.slots)
    model = cp_model.CpModel()
    nodes = int(s.block_load[blocks[0]])
    pods = list(dict.fromkeys(tuple(p.blocks.tolist()) for p in chosen))
    y = {(g, p): model.new_bool_var("") for g, own in enumerate(pods) for p in spots.tolist() if s.block_may[list(own)][:, p].all() and deepest[p] < s.open_slots[p, nodes]}
    for g, own in enumerate(pods):
        model.add(sum(v for (h, _), v in y.items() if h == g) == len(own))
    rack = {p: [v for (_, q), v in y.items() if q == p] for p in spots.tolist()}
    for p in spots.tolist():
        model.add_at_most_one(rack[p])
    classes = _slot_classes(board, bare, chosen, spots, state.slot_of_switch[leaves], slots_open, upper)
    terms: list[cp_model.LinearExprT] = []
    hint: list[tuple[cp_model.IntVar, int]] = []
    top = max(float(np.max(c[2])) for c in classes)
    unit = max(top / 1e7, 1e-9)
    z_of: dict[tuple[int, int], cp_model.IntVar] = {}
    for i, (part, members, _, above) in enumerate(classes):
        g = pods.index(tuple(part.blocks.tolist()))
        mine = node_cost(board, part.kind, int(board.height_of[part.leaves[0]]), nodes) * part.weight
        cover: dict[int, list[cp_model.IntVar]] = {p: [] for p in spots.tolist()}
        counts = []
        for c, slots in enumerate(members):
            cap = min(len(slots), len(part.leaves))
            z = model.new_int_var(0, cap, "")
            counts.append(z)
            z_of[i, c] = z
            spot = int(slots[0]) // s.slots
            now = int(np.isin(state.slot_of_switch[part.leaves], slots).sum())
            hint.append((z, now))
            terms.append(int(above[c] / unit) * z)
            row = []
            for p in spots.tolist():
                if (g, p) in y:
                    w = model.new_int_var(0, cap, "")
                    model.add(w <= z)
                    model.add(w <= cap * y[g, p])
                    row.append(w)
                    cover[p].append(w)
                    hint.append((w, now * int(p in state.spot_of_block[list(pods[g])])))
                    terms.append(int(mine[slots[0], p] / unit) * w)
            model.add(sum(row) == len(part.blocks) * z)
            if slots[0] % s.slots >= s.open_slots[spot, nodes]:
                for other in rack.get(spot, []):
                    model.add(z <= cap * (1 - other))
        model.add(sum(counts) == len(part.leaves))
        for p in spots.tolist():
            if (g, p) in y:
                model.add(sum(cover[p]) == len(part.leaves) * y[g, p])
    for (g, p), v in y.items():
        hint.append((v, int(p in state.spot_of_block[list(pods[g])])))
    by_slots: dict[tuple[int, ...], list[cp_model.IntVar]] = {}
    for i, (_, members, _, _) in enumerate(classes):
        for c, slots in enumerate(members):
            by_slots.setdefault(tuple(slots.tolist()), []).append(z_of[i, c])
    for group, several in by_slots.items():
        model.add(sum(several) <= len(group))
    for variable, value in hint:
        model.add_hint(variable, value)
    model.minimize(sum(terms))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = limit
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.linearization_level = 2
    if jobs > 1:
        solver.parameters.num_workers = jobs
        solver.parameters.interleave_search = True
    status = _solved(solver, model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    if upper is not None:
        return Polished(state, solver.objective_value * unit, solver.best_objective_bound * unit, status == cp_model.OPTIMAL)
    for g, own in enumerate(pods):
        spot_of[list(own)] = [p for (h, p), v in y.items() if h == g and solver.value(v)]
    free_slots: set[int] = set()
    for i, (part, members, _, _) in enumerate(classes):
        picked: list[int] = []
        for c, slots in enumerate(members):
            left = [x for x in slots.tolist() if x not in free_slots]
            take = left[: solver.value(z_of[i, c])]
            free_slots.update(take)
            picked += take
        slot_of[part.leaves] = picked
    found = State(spot_of, slot_of)
    rest = total_cost(board, found) - solver.objective_value * unit
    return Polished(found, total_cost(board, found), solver.best_objective_bound * unit + rest, status == cp_model.OPTIMAL)


def _solved(solver: cp_model.CpSolver, model: cp_model.CpModel) -> cp_model.CpSolverStatus:
    """Solve in a thread of its own, so that an interrupt reaches the caller at once and not when the solver is done."""
    solver.parameters.catch_sigint_signal = False
    found: list[cp_model.CpSolverStatus] = []
    thread = Thread(target=lambda: found.append(solver.solve(model)), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except KeyboardInterrupt:
        solver.stop_search()
        thread.join()
        raise
    return found[0]


def _slot_classes(
    board: Board, bare: State, chosen: list[Part], spots: Ints, slots_now: Ints, slots_open: Mask | None, given: Floats | None
) -> list[tuple[Part, list[Ints], Floats, Floats]]:
    """For each part: free slots on the given spots and where leaves stand, grouped by spot and equal cost; their costs to racks and to upper switches."""
    s = board.sites
    near = np.zeros(len(s.spots), bool)
    near[spots] = True
    near[slots_now // s.slots] = True
    free = np.flatnonzero(open_mask(board, bare) & np.repeat(near, s.slots))
    if slots_open is not None:
        free = np.union1d(free[slots_open[free]], slots_now)
    found = []
    for part in chosen:
        mine = node_cost(board, part.kind, int(board.height_of[part.leaves[0]]), int(s.block_load[part.blocks[0]])) * part.weight
        costs, of = slot_costs(board, bare, part.leaves[:1])
        upper = costs[of[0]] if given is None else given
        inside = free[s.switch_may[part.leaves][:, free // s.slots].all(axis=0)]
        deep = (inside % s.slots >= s.open_slots[inside // s.slots, int(s.block_load[part.blocks[0]])]).astype(float)
        keys = np.concatenate([(inside // s.slots)[:, None].astype(float), deep[:, None], upper[inside][:, None], mine[inside]], axis=1)
        _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        members = [inside[np.asarray(group).ravel() == g] for g in range(len(first))]
        found.append((part, members, mine, np.array([upper[m[0]] for m in members])))
    return found
