"""How many switches lie between two GPUs: counted on shortest paths from one leaf of each class, never assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from .net import Ints, Net, net_of
from .sameness import classes, number, part_sizes
from .topology import Topology

PLACES = ("same SU", "other SU", "other group")


@dataclass(frozen=True)
class Hops:
    """Switches on the shortest path between GPUs of different nodes, from the luckiest to the unluckiest pair."""

    where: str
    """`same SU`, `other SU` (three tiers: of the same group) or `other group`."""
    equal: bool
    """True between GPUs of equal index, False between others."""
    least: int | None
    """None: no path, NVLink forwards inside a node."""
    most: int | None


def locality(topology: Topology, fabric: str, net: Net | None = None) -> tuple[Hops, ...]:
    """Hops of every kind of pair that the fabric has, the nearest kinds first."""
    net = net or net_of(topology, fabric)
    serves = _gpus(topology, net)
    unit = number(net.plane[: net.leaves], net.pod[: net.leaves], net.rail[: net.leaves])
    colour = classes(net, (np.concatenate([net.of_leaves(), np.zeros(net.size - net.leaves, dtype=np.int64)]), part_sizes(net)))
    sources = np.unique(colour[: net.leaves], return_index=True)[1]
    found: dict[tuple[str, bool], list[float]] = {}
    nodes = np.bincount(np.unique(np.stack([net.leaf, net.node]), axis=1)[0], minlength=net.leaves)
    for source, hops in zip(sources.tolist(), _switches_from(net, sources), strict=True):
        nearest = np.full(int(unit.max(initial=0)) + 1, np.inf)
        np.minimum.at(nearest, unit, hops)
        others = (net.plane[: net.leaves] == net.plane[source]) & ((unit != unit[source]) | (np.arange(net.leaves) == source)) & serves.any(axis=1)
        for place, mask in zip(PLACES, _places(net, source), strict=True):
            for equal in (True, False):
                some = others & mask & _meets(serves, source, equal)
                some[source] &= nodes[source] > 1
                found.setdefault((place, equal), []).extend(np.unique(nearest[unit[some]]).tolist())
    return tuple(Hops(place, equal, _whole(min(f)), _whole(max(f))) for (place, equal), f in sorted(found.items(), key=lambda i: (PLACES.index(i[0][0]), not i[0][1])) if f)


def _whole(hops: float) -> int | None:
    return int(hops) if np.isfinite(hops) else None


def _gpus(topology: Topology, net: Net) -> np.ndarray:
    """Leaf x GPU index: True where the leaf serves it."""
    links = topology.links.filter((pl.col("fabric") == net.fabric) & (pl.col("gpu") >= 0)).select("b_dev", "gpu").unique()
    row = np.full(topology.devices.height, -1)
    row[net.dev[: net.leaves]] = np.arange(net.leaves)
    serves = np.zeros((net.leaves, int(links["gpu"].to_numpy().max(initial=-1)) + 1), dtype=bool)
    serves[row[links["b_dev"].to_numpy()], links["gpu"].to_numpy()] = True
    return serves


def _meets(serves: np.ndarray, source: int, equal: bool) -> np.ndarray:
    """Leaves that serve a GPU index of the source, or one that differs from one of its own."""
    shared = (serves & serves[source]).sum(axis=1)
    return np.asarray(shared > 0 if equal else serves.sum(axis=1) * serves[source].sum() > shared)


def _places(net: Net, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pod, group = net.pod[: net.leaves], net.group[: net.leaves]
    same, far = pod == pod[source], group != group[source]
    return same, ~same & ~far, far


def _switches_from(net: Net, sources: Ints) -> np.ndarray:
    """Switches on the shortest way up and down from each source leaf to every leaf; a spine that is not there counts none."""
    size, every = net.size, np.arange(net.size)
    there = (net.dev >= 0).astype(np.float64)
    enter, leave = np.concatenate([net.low, net.high + size, every]), np.concatenate([net.high, net.low + size, every + size])
    steps = np.concatenate([there[net.high], there[net.low], np.zeros(size)])
    ways = csr_array((steps + 1e-6, (enter, leave)), shape=(2 * size, 2 * size))
    return np.asarray(np.round(dijkstra(ways, indices=sources)[:, size : size + net.leaves] + 1, 2))
