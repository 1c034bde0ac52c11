"""Which cables go the same way: the pairs of racks that each cable joins, as positions of the hall.

A cable that carries several links to several racks (a splitter or a shuffle) has several pairs. Cables with the same
pairs go the same way. What joins two devices of one rack goes no way: it never leaves the rack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from .cables import Cabling
from .hall import Ints, Mask
from .placement import Placement
from .routes import link_ends


@dataclass(frozen=True)
class CableWays:
    """The way of every cable, in the order of CABLES, and the pairs of positions that cables join, sorted by cable."""

    way: Ints
    """Number of each cable's way, -1 for one that stays within a rack. Ways are numbered by their pairs, in hall order."""
    cable: Ints
    """Row in CABLES of each pair."""
    low: Ints
    """Position of the pair, the lower number."""
    high: Ints
    forward: Mask
    """End `a` of the cable is at `low`."""

    @property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """(way, low, high): the pairs of every way, once each, sorted by way."""
        own = self.rows_of(first_of(self.way))
        return self.way[self.cable[own]], self.low[own], self.high[own]

    def rows_of(self, cables: Ints) -> Ints:
        """Rows of the pairs of these cables, cable by cable in the order given."""
        begin, end = np.searchsorted(self.cable, cables), np.searchsorted(self.cable, cables, side="right")
        count = end - begin
        return np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def first_of(number: Ints) -> Ints:
    """Where each number from 0 on stands first; all of them do, and what is below 0 is left out."""
    real = np.flatnonzero(number >= 0)[::-1]
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number[real]] = real
    return first


def cable_ways(topology: Topology, placement: Placement, cabling: Cabling) -> CableWays:
    """Find the pairs of racks that each cable joins, and which cables join the same ones."""
    ends = link_ends(topology, placement)
    positions, cables = placement.hall.positions.height, cabling.cables.height
    number = cabling.carried["cable_no"].to_numpy().astype(np.int64)
    low, high = np.minimum(ends.a_position, ends.b_position), np.maximum(ends.a_position, ends.b_position)
    out = np.flatnonzero(low != high)
    every, first = np.unique((number[out] * positions + low[out]) * positions + high[out], return_index=True)
    cable, pair = every // positions**2, every % positions**2
    return CableWays(_numbered(cable, pair, cables), cable, pair // positions, pair % positions, (ends.a_position == low)[out][first])


def _numbered(cable: Ints, pair: Ints, cables: int) -> Ints:
    """Number the sets of pairs; `cable` is sorted, and so are the pairs of each."""
    count = np.bincount(cable, minlength=cables)
    most = int(count.max(initial=0))
    place = np.arange(len(cable)) - (np.cumsum(count) - count)[cable]
    grid = np.full((cables, most), -1)
    grid[cable, place] = pair
    names = [f"pair_{i}" for i in range(most)]
    moving = np.flatnonzero(count)
    table = pl.DataFrame(grid[moving], schema=names, orient="row") if len(moving) else pl.DataFrame(schema=["pair_0"])
    kinds = table.unique().sort(table.columns).with_row_index("way")
    way = np.full(cables, -1)
    way[moving] = table.join(kinds, on=table.columns, how="left", maintain_order="left")["way"].to_numpy()
    return way
