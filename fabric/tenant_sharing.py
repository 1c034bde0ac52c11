"""Sharing out nodes to tenants: whole SUs first, the rest where it fits best, in the order of the list.

A tenant that some SU has room for stays inside one: the SU with the fewest free nodes that suffice. A larger one takes whole
free SUs, the largest first, and its rest goes where it fits best; where groups of SUs share spines, all of it into one
group if it fits there. So each tenant touches the fewest groups, then the fewest SUs, that those before it leave possible.
What a tenant gets depends on the tenants before it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Piece(NamedTuple):
    """Nodes of one SU that a tenant gets: SU, the first of its nodes (from 0 within the SU), how many."""

    su: int
    first: int
    nodes: int


def share_out(wanted: Iterable[int], room: Sequence[int], group: Sequence[int]) -> list[list[Piece]]:
    """Pieces of every tenant, by SU; `room` has the nodes of each SU, `group` its group from 0, none of them empty.

    Raises ValueError when more nodes are wanted than there are.
    """
    size, groups = np.asarray(room, dtype=np.int64), np.asarray(group, dtype=np.int64)
    free, members, shares = size.copy(), _members(groups), []
    for count in wanted:
        if count > free.sum():
            raise ValueError(f"{count} nodes wanted, {free.sum()} are free")
        taken = _choose(count, free, groups, members)
        shares.append([Piece(int(su), int(size[su] - free[su]), int(taken[su])) for su in np.flatnonzero(taken)])
        free -= taken
    return shares


def _members(group: Ints) -> Ints:
    """SUs of each group, a row for each; -1 fills the rows of smaller groups."""
    count = np.bincount(group)
    rows = np.full((len(count), count.max(initial=0)), -1, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    rows[group[order], np.arange(len(group)) - (np.cumsum(count) - count)[group[order]]] = order
    return rows


def crossing(wanted: Sequence[int], room: Sequence[int]) -> int:
    """Tenants that cross SU borders when they are served in this order and SUs are not grouped."""
    return sum(len(pieces) > 1 for pieces in share_out(wanted, room, [0] * len(room)))


def _choose(count: int, free: Ints, group: Ints, members: Ints) -> Ints:
    """Nodes to take of each SU."""
    taken, left = np.zeros_like(free), free.copy()
    while count > (within := _by_group(left, group)).max():
        whole = group == int(np.argmax(within))
        taken[whole], left[whole] = left[whole], 0
        count -= int(within.max())
    if count <= left.max():
        return taken + _best_fit(count, left, within[group])
    sums = np.cumsum(-np.sort(-np.where(members < 0, 0, left[members]), axis=1), axis=1)
    needed = (sums < count).sum(axis=1) + 1
    fits = np.flatnonzero(within >= count)
    best = fits[np.lexsort((fits, within[fits], needed[fits]))[0]]
    return taken + _fill(count, np.where(group == best, left, 0))


def _by_group(free: Ints, group: Ints) -> Ints:
    return np.bincount(group, weights=free).astype(np.int64)


def _fill(count: int, free: Ints) -> Ints:
    """Nodes to take of SUs that hold enough together: the fullest whole, then the best fit for the rest."""
    taken = np.zeros_like(free)
    while count > (free - taken).max():
        su = int(np.argmax(free - taken))
        taken[su] = free[su]
        count -= int(free[su])
    return taken + _best_fit(count, free - taken, free)


def _best_fit(count: int, free: Ints, then: Ints) -> Ints:
    """All nodes of the SU with the fewest free ones that suffice, then with the least of `then`, then the first."""
    fits = np.flatnonzero(free >= count)
    su = fits[np.lexsort((fits, then[fits], free[fits]))[0]]
    taken = np.zeros_like(free)
    taken[su] = count
    return taken
