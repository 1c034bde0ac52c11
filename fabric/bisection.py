"""Proof of the bisection bandwidth, reached two independent ways: by counting links and by maximum flow.

A split cuts the endpoints (the NIC ports that are cabled) into halves A and B. Traffic goes from A to B along
node, leaf, spine, leaf, node: up once and down once, never through a node, staying on a leaf where it can.
Dark ports carry no endpoint, so a partly filled SU asks for no more than its nodes can send.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from ..problems import Problem
from .check_report import gpu_links
from .check_spread import leaf_load
from .topology import Topology

RANDOM_SPLITS = 4
LOCAL = 2**40
"""Capacity, in Gb/s, of the way across one leaf: more than any leaf has ports for."""


@dataclass(frozen=True)
class SplitProof:
    """Bandwidth between two halves of the endpoints, in Gb/s, all planes together."""

    name: str
    half_gbps: int
    """Endpoint bandwidth of the smaller half: what a non-blocking fabric carries."""
    required_gbps: int
    """The smaller half over the designed oversubscription, rounded up."""
    by_count_gbps: int
    by_flow_gbps: int


@dataclass(frozen=True)
class Proof:
    """The bisection of one fabric; the figures are those of its worst split (zeros when one node leaves nothing to split)."""

    fabric: str
    required_gbps: int
    by_count_gbps: int
    by_flow_gbps: int
    non_blocking: bool
    """True only if every split carries all of its smaller half."""
    worst_split: str
    splits: tuple[SplitProof, ...]
    designed_oversubscription: float
    worst_leaf_oversubscription: float
    """Highest bandwidth down over up of any leaf that has other leaves in its plane; infinite without uplinks, 1 when there is one leaf."""
    worst_tier_oversubscription: float
    """The same over all leaves of a plane together."""


@dataclass(frozen=True)
class Ground:
    """What is split: present leaves, numbered from 0 in their order, and endpoint bandwidth of each node on each leaf."""

    plane: np.ndarray
    pod: np.ndarray
    rail: np.ndarray
    """First rail of each leaf."""
    node_index: np.ndarray
    """Node of each bundle of endpoints, by its index in the cluster."""
    leaf: np.ndarray
    """Leaf of each bundle of endpoints."""
    gbps: np.ndarray
    """Bandwidth of each bundle of endpoints."""


def prove(topology: Topology, fabric: str) -> Proof:
    """Try every split of a fabric by count and by flow; the worst is the one that carries the smallest part of its half."""
    designed = {str(name): spec.oversubscription for name, spec in topology.design.fabrics.items()}[fabric]
    ground, wires, arcs = _ground(topology, fabric), _wires(topology, fabric), _arcs(topology, fabric)
    leaves = len(ground.plane)
    splits = []
    for name, in_a in _splits(ground, topology.design.seed):
        a, b = (np.bincount(ground.leaf[half], weights=ground.gbps[half], minlength=leaves).astype(np.int64) for half in (in_a, ~in_a))
        half = sum(min(int(a[ground.plane == p].sum()), int(b[ground.plane == p].sum())) for p in np.unique(ground.plane))
        if half:
            required = math.ceil(half / designed)
            splits.append(SplitProof(name, half, required, _by_count(wires, a, b), _by_flow(arcs, a, b)))
    worst = min(splits, key=lambda s: Fraction(s.by_flow_gbps, s.half_gbps), default=SplitProof("none", 0, 0, 0, 0))
    leaf, tier = _worst_oversubscription(topology, fabric)
    return Proof(
        fabric=fabric,
        required_gbps=worst.required_gbps,
        by_count_gbps=worst.by_count_gbps,
        by_flow_gbps=worst.by_flow_gbps,
        non_blocking=all(s.by_flow_gbps == s.half_gbps for s in splits),
        worst_split=worst.name,
        splits=tuple(splits),
        designed_oversubscription=float(designed),
        worst_leaf_oversubscription=leaf,
        worst_tier_oversubscription=tier,
    )


def check_bisection(proof: Proof) -> list[Problem]:
    """An error for each split that carries less than the design requires, or whose two figures differ."""
    problems = []
    for split in proof.splits:
        where = f"{proof.fabric}, split by {split.name}"
        least = min(split.by_count_gbps, split.by_flow_gbps)
        if least < split.required_gbps:
            what = f"{least:,}G cross between the halves, the design requires {split.required_gbps:,}G"
            why = f"the smaller half has {split.half_gbps:,}G of endpoints, oversubscribed {proof.designed_oversubscription:g}:1 at most"
            problems.append(Problem("bisection", where, what, why, "add uplinks or spines, or allow a higher oversubscription"))
        if split.by_count_gbps != split.by_flow_gbps:
            what = f"the link count gives {split.by_count_gbps:,}G, the maximum flow {split.by_flow_gbps:,}G"
            problems.append(
                Problem("bisection-proof", where, what, "links are spread unevenly, so that some of them can't be used", "spread the uplinks of every leaf evenly over the spines")
            )
    return problems


def _ground(topology: Topology, fabric: str) -> Ground:
    leaves = _leaves(topology, fabric)
    bundles = gpu_links(topology, fabric).group_by("a_dev", "b_dev").agg(pl.col("gbps").cast(pl.Int64).sum()).sort("a_dev", "b_dev")
    row = np.full(topology.devices.height, -1)
    row[leaves["dev"].to_numpy()] = np.arange(leaves.height)
    return Ground(
        plane=leaves["plane"].to_numpy(),
        pod=leaves["pod"].to_numpy(),
        rail=leaves["rail"].str.split("+").list.first().cast(pl.Int64, strict=False).fill_null(0).to_numpy(),
        node_index=topology.devices["index"].to_numpy()[bundles["a_dev"].to_numpy()],
        leaf=row[bundles["b_dev"].to_numpy()],
        gbps=bundles["gbps"].to_numpy(),
    )


def _leaves(topology: Topology, fabric: str) -> pl.DataFrame:
    return topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric) & pl.col("present")).sort("dev")


def _splits(ground: Ground, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """(name, endpoints of half A as a mask) of every split that applies; planes are split alike."""
    of_leaf = np.bincount(ground.leaf, weights=ground.gbps, minlength=len(ground.plane))
    twins = np.unique(np.stack([ground.pod, ground.rail], axis=1), axis=0, return_inverse=True)[1].ravel()
    count = int(twins.max(initial=-1)) + 1
    if count > 1:
        pod_of, rail_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        pod_of[twins], rail_of[twins] = ground.pod, ground.rail
        weight = np.bincount(twins, weights=of_leaf, minlength=count)
        random = np.random.Generator(np.random.PCG64(seed))
        orders = [("SU", pod_of), ("rail", rail_of)]
        orders += [(f"random leaves {i + 1}", random.permutation(count)) for i in range(RANDOM_SPLITS)]
        for name, order in orders:
            half = _lower_half(order, weight)
            if half is not None:
                yield name, half[twins][ground.leaf]
        yield "alternating leaves", (np.arange(count) % 2 == 0)[twins][ground.leaf]
    half = _lower_half(ground.node_index, ground.gbps)
    if half is not None:
        yield "node halves", half
        yield "even and odd nodes", ground.node_index % 2 == 0


def _lower_half(key: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Mask of the things with low keys, cut between two keys so that both sides weigh as nearly alike as can be; None with one key."""
    keys, row = np.unique(key, return_inverse=True)
    if len(keys) < 2:
        return None
    below = np.cumsum(np.bincount(row.ravel(), weights=weight))
    cut = int(np.abs(2 * below[:-1] - below[-1]).argmin())
    return np.asarray(row.ravel() <= cut)


@dataclass(frozen=True)
class _Wires:
    """Bandwidth of each leaf-spine pair and of each pair of leaves joined directly, as matrices."""

    plane: np.ndarray
    pairs: np.ndarray
    across: np.ndarray


def _wires(topology: Topology, fabric: str) -> _Wires:
    leaves = _leaves(topology, fabric)
    row = np.full(topology.devices.height, -1)
    row[leaves["dev"].to_numpy()] = np.arange(leaves.height)
    links = topology.links.filter(pl.col("fabric") == fabric)
    up, beside = links.filter(pl.col("tier") == "leaf-spine"), links.filter(pl.col("tier") == "inter-switch")
    spines, column = np.unique(up["b_dev"].to_numpy(), return_inverse=True)
    pairs = np.zeros((leaves.height, len(spines)), dtype=np.int64)
    np.add.at(pairs, (row[up["a_dev"].to_numpy()], column.ravel()), up["gbps"].to_numpy())
    across = np.zeros((leaves.height, leaves.height), dtype=np.int64)
    for one, other in (("a_dev", "b_dev"), ("b_dev", "a_dev")):
        np.add.at(across, (row[beside[one].to_numpy()], row[beside[other].to_numpy()]), beside["gbps"].to_numpy())
    return _Wires(leaves["plane"].to_numpy(), pairs, across)


def _by_count(wires: _Wires, a: np.ndarray, b: np.ndarray) -> int:
    """Gb/s from half A to half B: what stays on leaves, then the least of uplinks of A, of B, and of the links between.

    `a` and `b` are the halves' endpoint bandwidths on each leaf.
    """
    stays = np.minimum(a, b)
    a, b = a - stays, b - stays
    up = wires.pairs.sum(axis=1) + wires.across.sum(axis=1)
    total = int(stays.sum())
    for plane in np.unique(wires.plane):
        from_a, to_b = (a > 0) & (wires.plane == plane), (b > 0) & (wires.plane == plane)
        spines = np.minimum(wires.pairs[from_a].sum(axis=0), wires.pairs[to_b].sum(axis=0)).sum()
        between = spines + wires.across[np.ix_(from_a, to_b)].sum()
        total += int(min(np.minimum(a, up)[from_a].sum(), np.minimum(b, up)[to_b].sum(), between))
    return total


@dataclass(frozen=True)
class _Arcs:
    """Arcs of the flow network. Vertex d is device d; a leaf's way down is a vertex of its own, shifted by `devices`."""

    devices: int
    leaves: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    gbps: np.ndarray


def _arcs(topology: Topology, fabric: str) -> _Arcs:
    """Planned links as arcs, parallel ones summed: leaf up to spine, spine down to leaf, leaf up to leaf down.

    With two vertices for each leaf nothing that came down can go up again, as no fabric routes that way.
    """
    devices, leaves = topology.devices.height, _leaves(topology, fabric)["dev"].to_numpy().astype(np.int64)
    between = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") != "node-leaf"))
    bundles = between.group_by("tier", "a_dev", "b_dev").agg(pl.col("gbps").cast(pl.Int64).sum()).sort("a_dev", "b_dev")
    low, high, gbps = (bundles[c].to_numpy().astype(np.int64) for c in ("a_dev", "b_dev", "gbps"))
    beside = (bundles["tier"] == "inter-switch").to_numpy()
    return _Arcs(
        devices=devices,
        leaves=leaves,
        tail=np.concatenate([low, high, leaves]),
        head=np.concatenate([np.where(beside, high + devices, high), low + devices, leaves + devices]),
        gbps=np.concatenate([gbps, gbps, np.full(len(leaves), LOCAL)]),
    )


def _by_flow(arcs: _Arcs, a: np.ndarray, b: np.ndarray) -> int:
    """Gb/s from half A to half B as a maximum flow; `a` and `b` are their endpoint bandwidths on each leaf."""
    from ortools.graph.python import max_flow  # type: ignore[import-untyped]

    source, sink, downs = 2 * arcs.devices, 2 * arcs.devices + 1, arcs.leaves + arcs.devices
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.concatenate([arcs.tail, np.full(len(downs), source), downs]),
        np.concatenate([arcs.head, arcs.leaves, np.full(len(downs), sink)]),
        np.concatenate([arcs.gbps, a, b]),
    )
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise RuntimeError(f"the maximum flow was not found: {status}")
    return int(solver.optimal_flow())


def _worst_oversubscription(topology: Topology, fabric: str) -> tuple[float, float]:
    """(worst leaf, worst plane): bandwidth down over up."""
    load = leaf_load(topology, fabric)
    leaf, tier = [], []
    for plane in np.unique(load.plane):
        down, up = load.down_gbps[load.plane == plane], load.up_gbps[load.plane == plane]
        if len(down) > 1:
            leaf += [_over(int(d), int(u)) for d, u in zip(down, up, strict=True)]
            tier.append(_over(int(down.sum()), int(up.sum())))
    return max(leaf, default=1.0), max(tier, default=1.0)


def _over(down: int, up: int) -> float:
    return down / up if up else (math.inf if down else 0.0)
