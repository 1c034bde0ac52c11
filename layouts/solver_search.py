"""Tear out and put back: restarts of the local search from changed placements, with a fixed amount of work and a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .hall import Ints
from .sites import Sites, State, is_sound
from .solver_walk import CALL, Board, descend, open_mask, place_blocks, place_switches

Better = Callable[[State, float], None]


def state_of(sites: Sites, position: Ints, ru: Ints) -> State | None:
    """The state nearest to an arrangement given as hall position and lowest unit; None when blocks do not share racks as the sites ask."""
    spot_at = {p: i for i, p in enumerate(sites.spots.tolist())}
    spots = []
    for devs in sites.block_devs:
        racks = set(position[devs].tolist())
        if len(racks) != 1:
            return None
        spots.append(spot_at[racks.pop()])
    taken: set[int] = set()
    slots = []
    for dev, fixed in zip(sites.switch_dev.tolist(), sites.fixed_switch.tolist(), strict=True):
        if fixed >= 0:
            slots.append(fixed)
            continue
        spot = spot_at[int(position[dev])]
        near = np.argsort(np.abs(sites.slot_ru + sites.shift_ru[spot] - int(ru[dev])), kind="stable")
        slot = next((spot * sites.slots + int(k) for k in near if spot * sites.slots + int(k) not in taken), None)
        if slot is None:
            return None
        taken.add(slot)
        slots.append(slot)
    state = State(np.array(spots, np.int64), np.array(slots, np.int64))
    return state if is_sound(sites, state) else None


def scratch(board: Board) -> State | None:
    """A state made from nothing: kept devices, then blocks from the begin of the hall, then each role at its best."""
    s = board.sites
    state = State(s.fixed_block.copy(), s.fixed_switch.copy())
    along = place_blocks(board, state, board.blocks, np.arange(len(s.spots), dtype=float)) if len(board.blocks) else state
    return None if along is None else _refill(board, along, [])


def search(
    board: Board, starts: Sequence[State], seed: int, work: int, heard: Better = lambda state, cost: None, stop: Callable[[], bool] = lambda: False, enough: float = 0.0
) -> tuple[State, float] | None:
    """The best state found from the given ones with so much work (cells of cost tables) or at a cost of `enough`; None without a start.

    `heard` is told of every better one. Raises nothing: KeyboardInterrupt passes to the caller, who has heard the best.
    """
    rng = np.random.default_rng(seed)
    limit = board.work + work
    pool: list[tuple[float, State]] = []
    best: tuple[float, State] | None = None
    for start in starts:
        state, cost = descend(board, start)
        pool.append((cost, state))
        if best is None or cost < best[0]:
            best = (cost, state)
            heard(state, cost)
    if best is None:
        return None
    pool.sort(key=lambda pair: pair[0])
    current = best
    begin = board.work
    while board.work < limit and best[0] > enough + 1e-6 and not stop():
        progress = (board.work - begin) / max(1, limit - begin)
        board.work += CALL
        tried = shaken(board, current[1], rng)
        if tried is None:
            continue
        state, cost = descend(board, tried)
        if not is_sound(board.sites, state):
            continue
        if cost < current[0] - 1e-6 or cost < current[0] * (1 + 0.01 * (1 - progress) ** 2 * rng.random()):
            current = (cost, state)
        if cost < best[0] - 1e-6:
            best = (cost, state)
            heard(state, cost)
        elif rng.random() < 0.02:
            current = best
    return best[1], best[0]


def shaken(board: Board, state: State, rng: np.random.Generator) -> State | None:
    """A changed state, everything placed, not yet descended; None when the change left no room."""
    if not len(board.groups) and not len(board.blocks):
        return None
    moves = (move_role, move_role, _swap_spots, _swap_spots, _empty_rack, _regrow_pod)
    return moves[int(rng.integers(len(moves)))](board, state, rng)


def _near(sites: Sites, spot: int, rng: np.random.Generator) -> Ints:
    """Spots by distance from one, a little shuffled."""
    return np.argsort(sites.base_m[spot] + (np.arange(len(sites.spots)) != spot) + rng.random(len(sites.spots)) * 0.5, kind="stable")


def _refill(board: Board, state: State, first: Sequence[int]) -> State | None:
    """Place what is not placed: the roles in `first` in order, then the others."""
    for turn in [*first, *[g for g in range(len(board.groups)) if g not in first]]:
        group = board.groups[turn]
        missing = group[state.slot_of_switch[group] < 0]
        if len(missing):
            found = place_switches(board, state, missing)
            if found is None:
                return None
            state = found
    missing = np.flatnonzero(state.spot_of_block < 0)
    return place_blocks(board, state, missing) if len(missing) else state


def move_role(board: Board, state: State, rng: np.random.Generator) -> State | None:
    """Put all or some switches of a role around one to three racks, whatever stands there moves on."""
    s = board.sites
    if not board.groups:
        return None
    turn = int(rng.integers(len(board.groups)))
    devices = board.groups[turn]
    if rng.random() < 0.4 and len(devices) > 1:
        part = int(rng.integers(1, len(devices) + 1))
        begin = int(rng.integers(len(devices)))
        devices = devices[(begin + np.arange(part)) % len(devices)]
    slot_of = state.slot_of_switch.copy()
    slot_of[devices] = -1
    centre = _near(s, int(rng.integers(len(s.spots))), rng)
    racks = centre[: int(rng.integers(1, 4))]
    others = np.setdiff1d(np.arange(len(slot_of)), devices)
    pushed = others[np.isin(slot_of[others] // s.slots, racks) & (s.fixed_switch[others] < 0)]
    slot_of[pushed] = -1
    bias = np.full((len(s.spots), s.slots), 1e9)
    bias[centre] += (np.arange(len(centre)) * 1e9 / len(centre))[:, None]
    bias[racks] = 0.0
    found = place_switches(board, State(state.spot_of_block, slot_of), devices, bias.ravel())
    return None if found is None else _refill(board, found, [])


def blocks_at(sites: Sites, state: State) -> Ints:
    """Block on each spot, -1 for none."""
    block_at = np.full(len(sites.spots), -1, np.int64)
    block_at[state.spot_of_block] = np.arange(len(state.spot_of_block))
    return block_at


def _swap_spots(board: Board, state: State, rng: np.random.Generator) -> State | None:
    """Swap what blocks stand on a few pairs of near spots (one of them may be empty); switches in the way move on."""
    s = board.sites
    block_at = blocks_at(s, state)
    for _ in range(int(rng.integers(1, 5))):
        a = int(rng.integers(len(s.spots)))
        b = int(_near(s, a, rng)[int(rng.integers(1, min(len(s.spots), 12)))]) if len(s.spots) > 1 else a
        block_at[[a, b]] = block_at[[b, a]]
    return with_blocks(board, state, block_at)


def _empty_rack(board: Board, state: State, rng: np.random.Generator) -> State | None:
    """Take a spot without nodes for a block from elsewhere, so that another spot gets free."""
    s = board.sites
    block_at = blocks_at(s, state)
    empty, full = np.flatnonzero(block_at < 0), np.flatnonzero(block_at >= 0)
    if not len(empty) or not len(full):
        return None
    a, b = int(rng.choice(empty)), int(rng.choice(full))
    block_at[[a, b]] = block_at[[b, a]]
    return with_blocks(board, state, block_at)


def _regrow_pod(board: Board, state: State, rng: np.random.Generator) -> State | None:
    """Let two pods share out their spots anew: one takes those nearest to a spot of theirs, the other the rest; their leaves follow."""
    s = board.sites
    pods = np.unique(s.block_pod)
    if len(pods) < 2:
        return _swap_spots(board, state, rng)
    one, two = rng.choice(pods, 2, replace=False).tolist()
    mine, other = np.flatnonzero(s.block_pod == one), np.flatnonzero(s.block_pod == two)
    spots = state.spot_of_block[np.concatenate([mine, other])]
    empty = np.setdiff1d(np.arange(len(s.spots)), state.spot_of_block)
    if len(empty) and rng.random() < 0.5:
        spots = np.concatenate([spots, empty])
    centre = int(rng.choice(spots))
    order = spots[np.argsort(s.base_m[centre][spots] + (spots != centre), kind="stable")]
    far = order[: len(mine)] if rng.random() < 0.5 else order[-len(mine) :]
    rest = np.setdiff1d(order, far)[: len(other)]
    spot_of = state.spot_of_block.copy()
    spot_of[mine], spot_of[other] = far, rest
    block_at = blocks_at(s, State(spot_of, state.slot_of_switch))
    slot_of = state.slot_of_switch.copy()
    linked = np.flatnonzero(sum(w[:, np.concatenate([mine, other])].any(axis=1) for w in s.to_blocks))
    slot_of[linked] = -1
    return with_blocks(board, State(state.spot_of_block, slot_of), block_at)


def with_blocks(board: Board, state: State, block_at: Ints) -> State | None:
    """The state with blocks as they stand on spots; switches in the way, or not placed, find a place."""
    s = board.sites
    spot_of = np.zeros(len(s.block_devs), np.int64)
    here = np.flatnonzero(block_at >= 0)
    spot_of[block_at[here]] = here
    fixed = s.fixed_block >= 0
    if (spot_of[fixed] != s.fixed_block[fixed]).any() or not s.block_may[np.arange(len(spot_of)), spot_of][~fixed].all():
        return None
    mask = open_mask(board, State(spot_of, np.full_like(state.slot_of_switch, -1)))
    stays = (state.slot_of_switch >= 0) & mask[state.slot_of_switch]
    slot_of = np.where(s.fixed_switch >= 0, s.fixed_switch, np.where(stays, state.slot_of_switch, -1))
    return _refill(board, State(spot_of, slot_of), [])
