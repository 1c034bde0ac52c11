"""Switches that cannot be told apart: what holds for one of a class holds for all of it.

Classes are refined until every switch of a class has the same bandwidth and the same number of links to each other class.
A maximum flow over the classes, with capacities summed, then equals that over the switches: the flow of a class can be
shared out in proportion to the capacities (Grohe and others, "Dimension Reduction via Colour Refinement", 2014).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .net import Ints, Net


def number(*columns: Ints) -> Ints:
    """Number the distinct rows of some columns from 0, in their order."""
    key, distinct = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        values, row = np.unique(column, return_inverse=True)
        if len(values) * distinct > 2**62:
            key = np.unique(key, return_inverse=True)[1].ravel()
            distinct = int(key.max(initial=0)) + 1
        key, distinct = key * len(values) + row.ravel(), distinct * max(len(values), 1)
    return np.asarray(np.unique(key, return_inverse=True)[1].ravel(), dtype=np.int64)


def classes(net: Net, colours: Sequence[Ints]) -> Ints:
    """Coarsest classes of switches that keep the colours apart and are joined alike; each switch its own when in doubt."""
    colour = number(net.level, *colours)
    joined = (net.joined(net.gbps) + net.joined(net.links) * 1_000_003).astype(np.uint64)
    count = int(colour.max(initial=-1)) + 1
    while True:
        mixed = (joined @ _scatter(colour)).view(np.int64)
        colour = number(colour, mixed)
        found = int(colour.max(initial=-1)) + 1
        if found == count:
            return colour if _joined_alike(net, colour) else np.arange(net.size, dtype=np.int64)
        count = found


def part_sizes(net: Net) -> Ints:
    """For each switch, how many leaves are in its part of the two lower tiers: parts of other size are not the same."""
    below = net.level[net.high] == 2
    joined = csr_array((np.ones(int(below.sum())), (net.low[below], net.high[below])), shape=(net.size, net.size))
    part = connected_components(joined, directed=False)[1]
    return np.asarray(np.bincount(part[: net.leaves], minlength=int(part.max(initial=0)) + 1)[part], dtype=np.int64)


def _scatter(colour: Ints) -> np.ndarray:
    """A 64-bit number for each colour that looks random (the mixing steps of splitmix64)."""
    x = (colour.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _joined_alike(net: Net, colour: Ints) -> bool:
    """True when all switches of a class have the same bandwidth and links to every class, counted without hashing."""
    first = np.unique(colour, return_index=True)[1]
    belongs = csr_array((np.ones(net.size, dtype=np.int64), (np.arange(net.size), colour)), shape=(net.size, len(first)))
    one_rate = len(np.unique(net.gbps // net.links)) < 2
    for weight in (net.gbps,) if one_rate else (net.gbps, net.links):
        sums = net.joined(weight) @ belongs
        if abs(sums - sums[first[colour]]).sum():
            return False
    return True
