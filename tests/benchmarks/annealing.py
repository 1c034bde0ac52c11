"""A plain annealing, as one would write it first: move or swap one device or one node rack at a time, accept by temperature."""

from __future__ import annotations

import math
import random
import time

import numpy as np

from railplan.layouts.sites import State, is_sound
from railplan.layouts.solver_walk import Board, total_cost


def anneal(board: Board, state: State, seconds: float, seed: int = 0) -> tuple[State, float]:
    """Anneal for so many seconds from a state; costs are looked up, deltas are exact."""
    s, rng = board.sites, random.Random(seed)
    cost = total_cost(board, state)
    best, best_cost = state, cost
    hot, cold = cost / 100, cost / 100_000
    begin = time.perf_counter()
    while (spent := time.perf_counter() - begin) < seconds:
        heat = hot * (cold / hot) ** (spent / seconds)
        spot_of, slot_of = state.spot_of_block.copy(), state.slot_of_switch.copy()
        if rng.random() < 0.3:
            block, spot = rng.randrange(len(spot_of)), rng.randrange(len(s.spots))
            other = np.flatnonzero(spot_of == spot)
            spot_of[other], spot_of[block] = spot_of[block], spot
        else:
            switch, slot = rng.randrange(len(slot_of)), rng.randrange(s.slot_count)
            other = np.flatnonzero(slot_of == slot)
            slot_of[other], slot_of[switch] = slot_of[switch], slot
        tried = State(spot_of, slot_of)
        if not is_sound(s, tried):
            continue
        new = total_cost(board, tried)
        if new <= cost or rng.random() < math.exp((cost - new) / heat):
            state, cost = tried, new
            if cost < best_cost:
                best, best_cost = state, cost
    return best, best_cost
