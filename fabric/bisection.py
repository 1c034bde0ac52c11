"""Proof of the bisection bandwidth, reached two independent ways: by counting links and by maximum flow.

A split cuts the endpoints (the NIC ports that are cabled) into halves A and B. Traffic goes from A to B up the tiers,
turns once and comes down, never through a node, staying on a leaf where it can. Dark ports carry no endpoint, so a
partly filled SU asks for no more than its nodes can send. Where rails are apart, each rail is split by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import Problem
from .check_load import worst_oversubscription
from .flows import maximum_flow
from .net import Ints, Mask, Net, net_of
from .sameness import classes, number
from .splits import splits, worse_split
from .topology import Topology

LOCAL = 2**40
"""Capacity, in Gb/s, of the way across one switch: more than any switch has ports for."""


@dataclass(frozen=True)
class SplitProof:
    """Bandwidth between two halves of the endpoints, in Gb/s, all planes together."""

    name: str
    half_gbps: int
    """Endpoint bandwidth of the smaller half: what a non-blocking fabric carries."""
    required_gbps: int
    """What the designed oversubscription of each tier leaves of the smaller half, rounded up."""
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
    """Of a leaf; in three tiers `designed_core_oversubscription` comes on top."""
    worst_leaf_oversubscription: float
    """Highest bandwidth down over up of any leaf that has other leaves in its plane; infinite without uplinks, 1 when there is one leaf."""
    worst_tier_oversubscription: float
    """The same over all leaves of a plane together."""
    designed_core_oversubscription: float = 1.0
    worst_spine_oversubscription: float = 1.0
    """Three tiers: highest bandwidth down over up of any spine; 1 otherwise."""
    apart: tuple[tuple[int, ...], ...] = ()
    """Sets of GPU indices that no path of the fabric joins, so that NVLink forwards between them; empty when all are joined."""


def prove(topology: Topology, fabric: str, net: Net | None = None) -> Proof:
    """Try every split of a fabric by count and by flow; the worst is the one that carries the smallest part of its half."""
    spec = topology.design.spec_of(fabric)
    net = net or net_of(topology, fabric)
    steps, parts = climb(net), _parts(net)
    allowed = spec.oversubscription, spec.core_oversubscription
    found: list[tuple[SplitProof, Mask]] = []
    for name, in_a in splits(net, topology.design.seed):
        found += [(s, in_a) for s in [_tried(net, steps, parts, name, in_a, allowed)] if s.half_gbps]
    worst, mask = min(found, key=lambda f: Fraction(f[0].by_flow_gbps, f[0].half_gbps), default=(SplitProof("none", 0, 0, 0, 0), None))
    if mask is not None:
        worse = worse_split(net, topology.design.seed, mask, lambda m: _carried(net, steps, m))
        if worse is not None:
            found.append((_tried(net, steps, parts, "worst found", worse, allowed), worse))
            worst = min((s for s, _ in found), key=lambda s: Fraction(s.by_flow_gbps, s.half_gbps))
    leaf, tier, spine = worst_oversubscription(net)
    return Proof(
        fabric=fabric,
        required_gbps=worst.required_gbps,
        by_count_gbps=worst.by_count_gbps,
        by_flow_gbps=worst.by_flow_gbps,
        non_blocking=all(s.by_flow_gbps == s.half_gbps for s, _ in found),
        worst_split=worst.name,
        splits=tuple(s for s, _ in found),
        designed_oversubscription=float(spec.oversubscription),
        worst_leaf_oversubscription=leaf,
        worst_tier_oversubscription=tier,
        designed_core_oversubscription=float(spec.core_oversubscription),
        worst_spine_oversubscription=spine,
        apart=gpus_apart(topology, net),
    )


def check_bisection(proof: Proof) -> list[Problem]:
    """An error for each split that carries less than the design requires, or whose two figures differ."""
    problems = []
    core = f", and {proof.designed_core_oversubscription:g}:1 above the spines" if proof.designed_core_oversubscription > 1 else ""
    for split in proof.splits:
        where = f"{proof.fabric}, split by {split.name}"
        least = min(split.by_count_gbps, split.by_flow_gbps)
        if least < split.required_gbps:
            what = f"{least:,}G cross between the halves, the design requires {split.required_gbps:,}G"
            why = f"the smaller half has {split.half_gbps:,}G of endpoints, oversubscribed {proof.designed_oversubscription:g}:1 at most{core}"
            problems.append(Problem("bisection", where, what, why, "add uplinks or spines, or allow a higher oversubscription"))
        if split.by_count_gbps != split.by_flow_gbps:
            what = f"the link count gives {split.by_count_gbps:,}G, the maximum flow {split.by_flow_gbps:,}G"
            problems.append(
                Problem("bisection-proof", where, what, "links are spread unevenly, so that some of them can't be used", "spread the uplinks of every leaf evenly over the spines")
            )
    return problems


@dataclass(frozen=True)
class Step:
    """One tier of the way up: units (leaves, then whole spine groups) and the switches that join them."""

    unit: Ints
    """Unit at the lower end of each bundle."""
    joint: Ints
    gbps: Ints
    part: Ints
    """Part (units joined with each other) of each unit."""
    joint_part: Ints


def climb(net: Net) -> list[Step]:
    """The tiers above the leaves; the parts of one tier are the units of the next."""
    unit, units = np.arange(net.size), net.leaves
    found = []
    for level in range(2, int(net.level.max(initial=1)) + 1):
        own = net.level[net.high] == level
        joints = np.flatnonzero(net.level == level)
        joint = np.searchsorted(joints, net.high[own])
        low, size = unit[net.low[own]], units + len(joints)
        part = connected_components(coo_array((np.ones(len(low)), (low, units + joint)), shape=(size, size)), directed=False)[1].astype(np.int64)
        found.append(Step(low, joint, net.gbps[own], part[:units], part[units:]))
        unit = unit.copy()
        unit[joints], units = part[units:], int(part.max(initial=-1)) + 1
    return found


def by_count(steps: Sequence[Step], a: Ints, b: Ints) -> int:
    """Gb/s from half A to half B: what stays on leaves, then what turns in each part of each tier, the lowest first.

    In a part that is the least of what its units send from A, receive for B, and of the links that meet on its joints;
    the rest climbs on as one. `a` and `b` are the halves' endpoint bandwidths on each leaf.
    """
    stays = np.minimum(a, b)
    send, receive, total = a - stays, b - stays, int(stays.sum())
    for step in steps:
        up = np.bincount(step.unit, weights=step.gbps, minlength=len(step.part)).astype(np.int64)
        send, receive = np.minimum(send, up), np.minimum(receive, up)
        joints, parts = len(step.joint_part), int(max(step.part.max(initial=-1), step.joint_part.max(initial=-1))) + 1
        sent, got = (np.bincount(step.joint, weights=step.gbps * (side[step.unit] > 0), minlength=joints) for side in (send, receive))
        meets = np.bincount(step.joint_part, weights=np.minimum(sent, got), minlength=parts)
        out, into = (np.bincount(step.part, weights=side, minlength=parts) for side in (send, receive))
        turns = np.minimum(np.minimum(out, into), meets).astype(np.int64)
        total += int(turns.sum())
        send, receive = out.astype(np.int64) - turns, into.astype(np.int64) - turns
    return total


def by_flow(net: Net, a: Ints, b: Ints) -> int:
    """Gb/s from half A to half B as a maximum flow over classes of switches that are the same to this split.

    Each class has a vertex for the way up and one for the way down, so that nothing that came down can go up again.
    """
    above = np.zeros(net.size - net.leaves, dtype=np.int64)
    own = classes(net, (np.concatenate([a, above]), np.concatenate([b, above])))
    count, first = int(own.max(initial=-1)) + 1, np.unique(own, return_index=True)[1]
    pairs, row = np.unique(own[net.low] * count + own[net.high], return_inverse=True)
    gbps = np.bincount(row.ravel(), weights=net.gbps, minlength=len(pairs)).astype(np.int64)
    low, high, every = pairs // count, pairs % count, np.arange(count)
    leaf = every[net.level[first] == 1]
    of_class = [np.bincount(own[: net.leaves], weights=side, minlength=count).astype(np.int64)[leaf] for side in (a, b)]
    source, sink = 2 * count, 2 * count + 1
    return maximum_flow(
        np.concatenate([low, high + count, every, np.full(len(leaf), source), leaf + count]),
        np.concatenate([high, low + count, every + count, leaf, np.full(len(leaf), sink)]),
        np.concatenate([gbps, gbps, np.full(count, LOCAL), *of_class]),
        source,
        sink,
    )


def halves(net: Net, in_a: Mask) -> tuple[Ints, Ints, int]:
    """(endpoint bandwidth of A, of B on each leaf, that of the smaller half), each domain by itself."""
    a = net.of_leaves(in_a)
    b = net.of_leaves() - a
    return a, b, _smaller(a, b, net.domain)


def _smaller(a: Ints, b: Ints, part: Ints) -> int:
    return int(np.minimum(np.bincount(part, weights=a), np.bincount(part, weights=b)).sum()) if len(part) else 0


def _tried(net: Net, steps: Sequence[Step], parts: Ints, name: str, in_a: Mask, allowed: tuple[Fraction, Fraction]) -> SplitProof:
    a, b, half = halves(net, in_a)
    near = min(_smaller(a, b, parts), half)
    required = math.ceil(near / allowed[0] + (half - near) / (allowed[0] * allowed[1]))
    return SplitProof(name, half, required, by_count(steps, a, b), by_flow(net, a, b)) if half else SplitProof(name, 0, 0, 0, 0)


def _carried(net: Net, steps: Sequence[Step], in_a: Mask) -> float:
    a, b, half = halves(net, in_a)
    return by_count(steps, a, b) / half if half else 1.0


def _parts(net: Net) -> Ints:
    """Of each leaf, the leaves that the design joins without a core: its group (and rail, where rails have spines of their own)."""
    core = bool((net.level == 3).any())
    if not core:
        return net.domain
    below = climb(net)[0]
    return number(net.domain, below.part)


def gpus_apart(topology: Topology, net: Net) -> tuple[tuple[int, ...], ...]:
    """Sets of GPU indices between which no plane has a path; empty when there is one set."""
    joined = connected_components(coo_array((np.ones(len(net.low)), (net.low, net.high)), shape=(net.size, net.size)), directed=False)[1]
    links = topology.links.filter((topology.links["fabric"] == net.fabric) & (topology.links["gpu"] >= 0)).select("b_dev", "gpu").unique()
    row = np.full(topology.devices.height, -1)
    row[net.dev[: net.leaves]] = np.arange(net.leaves)
    leaf, gpu = row[links["b_dev"].to_numpy()], links["gpu"].to_numpy().astype(np.int64)
    gpus, pieces = int(gpu.max(initial=-1)) + 1, int(joined.max(initial=-1)) + 1
    meets = connected_components(coo_array((np.ones(len(gpu)), (gpu, gpus + joined[leaf])), shape=(gpus + pieces, gpus + pieces)), directed=False)[1][:gpus]
    sets = tuple(tuple(int(g) for g in np.flatnonzero(meets == piece)) for piece in dict.fromkeys(meets.tolist()))
    return sets if len(sets) > 1 else ()
