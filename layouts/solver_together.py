"""A search in which the racks of every pod stand together: pods in some order along a path through the hall, gaps between them.

Paths go along the rows, to and fro, or down two facing rows at once; what is searched is the path, the order of pods, and
the spots left without nodes. Switches are placed at their best for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .hall import Ints
from .sites import Sites, State, is_sound
from .solver_search import Better, blocks_at, move_role, with_blocks
from .solver_walk import CALL, Board, descend
from .together import torn_pods


class Line(NamedTuple):
    """Pods in order along a path, and the spots without nodes."""

    path: int
    pods: Ints
    empty: Ints


def search_together(board: Board, starts: Sequence[State], seed: int, work: int, heard: Better = lambda state, cost: None, stop: Callable[[], bool] = lambda: False) -> None:
    """Tell `heard` of ever better states with all pods together, from what the given states suggest, with so much work."""
    s, rng = board.sites, np.random.default_rng(seed)
    if (s.fixed_block >= 0).any() or len(np.unique(s.block_pod)) < 2:
        return
    paths, limit = paths_of(s), board.work + work
    pool: list[tuple[float, int, Line, State]] = []
    for start in starts:
        for path in range(len(paths)):
            line = _line_of(s, start, path, paths[path])
            found = _placed(board, paths, line, start)
            if found is not None:
                pool.append((found[1], len(pool), line, found[0]))
    if not pool:
        return
    cost, _, line, state = min(pool)
    best = (cost, line, state)
    heard(state, cost)
    begin = board.work
    while board.work < limit and not stop():
        progress = (board.work - begin) / max(1, limit - begin)
        board.work += CALL
        tried = line
        if rng.random() < 0.3:
            shaken = move_role(board, state, rng)
            found = None if shaken is None else _settled(board, shaken)
        else:
            tried = _changed(s, line, len(paths), rng)
            found = _placed(board, paths, tried, state)
        if found is None:
            continue
        if found[1] < cost * (1 + 0.01 * (1 - progress) ** 2 * rng.random()):
            line, (state, cost) = tried, found
        if cost < best[0] - 1e-6:
            best = (cost, line, state)
            heard(state, cost)
        elif rng.random() < 0.02:
            cost, line, state = best


def paths_of(sites: Sites) -> list[Ints]:
    """Ways through all spots: along the rows, to and fro, and column by column through pairs of neighbouring rows."""
    row = sites.hall.positions["row_no"].to_numpy()[sites.spots]
    x_m = sites.hall.positions["x_m"].to_numpy()[sites.spots]
    spots = np.arange(len(row))
    paths = [spots, np.lexsort((np.where(row % 2 == 0, x_m, -x_m), row))]
    for first in (0, 1):
        pair = (row + first) // 2
        paths += [np.lexsort((row, x_m, pair)), np.lexsort((row, np.where(pair % 2 == 0, x_m, -x_m), pair))]
    return list({path.tobytes(): path for path in paths}.values())


def _line_of(sites: Sites, state: State, path: int, spots: Ints) -> Line:
    """The line nearest to a state: pods by their mean place along the path."""
    along = np.empty(len(spots))
    along[spots] = np.arange(len(spots))
    pods = np.unique(sites.block_pod)
    means = [along[state.spot_of_block[sites.block_pod == pod]].mean() for pod in pods.tolist()]
    return Line(path, pods[np.argsort(means, kind="stable")], np.setdiff1d(np.arange(len(spots)), state.spot_of_block))


def _changed(sites: Sites, line: Line, paths: int, rng: np.random.Generator) -> Line:
    """Swap two pods, move a few empty spots, or take another path."""
    turn = rng.random()
    if turn < 0.1:
        return line._replace(path=int(rng.integers(paths)))
    if turn < 0.4 or not len(line.empty):
        pods = line.pods.copy()
        a, b = rng.choice(len(pods), 2, replace=False).tolist()
        pods[[a, b]] = pods[[b, a]]
        return line._replace(pods=pods)
    empty = line.empty.copy()
    for _ in range(int(rng.integers(1, 4))):
        free = np.setdiff1d(np.arange(len(sites.spots)), empty)
        moved = int(rng.integers(len(empty)))
        near = free[np.argsort(sites.base_m[empty[moved]][free], kind="stable")]
        empty[moved] = int(rng.choice(near[:6])) if rng.random() < 0.6 else int(rng.choice(free))
    return line._replace(empty=np.sort(empty))


def _placed(board: Board, paths: Sequence[Ints], line: Line, state: State) -> tuple[State, float] | None:
    """Blocks along the line, switches from where they are to their best; None where that breaks a rule."""
    s = board.sites
    path = paths[line.path]
    open_ = path[~np.isin(path, line.empty)]
    order = np.concatenate([np.flatnonzero(s.block_pod == pod) for pod in line.pods.tolist()])
    spot_of = np.empty(len(order), np.int64)
    spot_of[order] = open_[: len(order)]
    if len(torn_pods(s.hall, s.block_pod, s.spots[spot_of])):
        return None
    placed = with_blocks(board, state, blocks_at(s, State(spot_of, state.slot_of_switch)))
    return None if placed is None else _settled(board, placed)


def _settled(board: Board, state: State) -> tuple[State, float] | None:
    """Switches at their best around the blocks as they stand."""
    found, cost = descend(board, state, range(len(board.groups)), 4)
    return (found, cost) if is_sound(board.sites, found) else None
