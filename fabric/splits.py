"""The halves that the bisection is tried on: by SU, group, rail and node, at random, and the worst that a search finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .net import Ints, Mask, Net
from .sameness import number

RANDOM_SPLITS = 4
SCARCE = "most oversubscribed leaves"
SEARCH_LEAVES = 256
"""Fabrics with more leaves in a plane than this are not searched for a worse split."""
SEARCH_STEPS = 60


def splits(net: Net, seed: int) -> Iterator[tuple[str, Mask]]:
    """(name, endpoints of half A as a mask) of every split that applies; planes are split alike."""
    twins, count = leaf_twins(net)
    if count > 1:
        weight = np.bincount(twins, weights=net.of_leaves(), minlength=count)
        random = np.random.Generator(np.random.PCG64(seed))
        orders = [("SU", _of_twin(net.pod, twins, count)), ("group", _of_twin(net.group, twins, count)), ("rail", _of_twin(net.rail, twins, count))]
        orders.append((SCARCE, _by_share(net, twins, count, weight)))
        orders += [(f"random leaves {i + 1}", random.permutation(count)) for i in range(RANDOM_SPLITS)]
        for name, order in orders:
            half = lower_half(order, weight)
            if half is not None:
                yield name, half[twins][net.leaf]
        yield "alternating leaves", (np.arange(count) % 2 == 0)[twins][net.leaf]
    half = lower_half(net.node_index, net.end_gbps)
    if half is not None:
        yield "node halves", half
        yield "even and odd nodes", net.node_index % 2 == 0


def leaf_twins(net: Net) -> tuple[Ints, int]:
    """(number of each leaf's set of twins, number of sets): the leaves of one SU and rail in all planes and sides."""
    twins = number(net.pod[: net.leaves], net.rail[: net.leaves]) if net.leaves else np.zeros(0, dtype=np.int64)
    return twins, int(twins.max(initial=-1)) + 1


def worse_split(net: Net, seed: int, start: Mask, carried: Callable[[Mask], float]) -> Mask | None:
    """Change leaves between the halves, a pair at a time, while that lowers the part that is carried; None if nothing does.

    `carried` gives the part of the smaller half's bandwidth that gets across, for a mask over endpoints.
    """
    twins, count = leaf_twins(net)
    if not 3 < count <= SEARCH_LEAVES or not start.any() or start.all():
        return None
    half = np.bincount(twins[net.leaf], weights=start, minlength=count) * 2 > np.bincount(twins[net.leaf], minlength=count)
    random = np.random.Generator(np.random.PCG64(seed + 1))
    least, found = carried(start), None
    for _ in range(SEARCH_STEPS):
        if half.all() or not half.any():
            break
        tried = half.copy()
        tried[[random.choice(np.flatnonzero(half)), random.choice(np.flatnonzero(~half))]] ^= True
        mask = tried[twins][net.leaf]
        part = carried(mask)
        if part <= least:
            found = mask if part < least else found
            half, least = tried, part
    return found


def _by_share(net: Net, twins: Ints, count: int, weight: np.ndarray) -> Ints:
    """Order of the leaves by uplink bandwidth for each of endpoint bandwidth, the scarcest first: together they are the worst half to cut off."""
    up = np.bincount(twins, weights=net.up()[: net.leaves], minlength=count)
    share = np.round(up / np.maximum(weight, 1), 9)
    order = np.empty(count, dtype=np.int64)
    order[np.lexsort((np.arange(count), share))] = np.arange(count)
    return order


def _of_twin(values: Ints, twins: Ints, count: int) -> Ints:
    result = np.zeros(count, dtype=np.int64)
    result[twins] = values[: len(twins)]
    return result


def lower_half(key: Ints, weight: np.ndarray) -> Mask | None:
    """Mask of the things with low keys, cut between two keys so that both sides weigh as nearly alike as can be; None with one key."""
    keys, row = np.unique(key, return_inverse=True)
    if len(keys) < 2:
        return None
    below = np.cumsum(np.bincount(row.ravel(), weights=weight))
    cut = int(np.abs(2 * below[:-1] - below[-1]).argmin())
    return np.asarray(row.ravel() <= cut)
