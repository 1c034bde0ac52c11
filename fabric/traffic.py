"""Worst-case traffic, exactly: the largest load that any permutation puts on any link under equal-cost routes.

Any permutation: every endpoint port sends and receives at most its rate (the hose model). For one link the load is a sum
over pairs of leaves, each with the share of its traffic that takes the link; the worst permutation for it is therefore a
matching of greatest weight between sources and targets. One link of each class of identical ones is tried, both ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..problems import Problem
from .flows import best_transport
from .net import Ints, Net, net_of
from .routes import Floats, Routes, representatives, routes_of
from .sameness import classes, part_sizes
from .topology import Topology

TIER_NAMES = {(1, "up"): "leaf to spine", (1, "down"): "spine to leaf", (2, "up"): "spine to core", (2, "down"): "core to spine"}
HAIR = 1e-9
"""Loads that differ by less are equal: shares are floating-point fractions."""


@dataclass(frozen=True)
class Stream:
    """Traffic of the worst permutation between two leaves."""

    source: str
    target: str
    gbps: int


@dataclass(frozen=True)
class Traffic:
    """The worst load of any link under any permutation, as a fraction of the link's rate."""

    fabric: str
    worst_load: float
    worst_link: str
    """Ends of such a link in the direction of its traffic; "" when no link joins switches."""
    witness: tuple[Stream, ...]
    """A permutation that loads it so, leaf by leaf; ports that are not named may stay silent."""
    by_tier: Mapping[str, float]
    """`leaf to spine`, `spine to core`, `core to spine`, `spine to leaf`, `leaf to leaf` -> worst load."""
    allowed: Mapping[str, float]
    """The same keys -> load that the designed oversubscription allows."""


@dataclass(frozen=True)
class _Load:
    tier: str
    load: float
    bundle: int
    down: bool
    sources: Ints
    targets: Ints
    amounts: Ints
    """Gb/s from each source leaf to each target leaf or pattern."""


def worst_traffic(topology: Topology, fabric: str, net: Net | None = None) -> Traffic:
    """Find the worst load of every class of links and a permutation for the worst of all."""
    net = net or net_of(topology, fabric)
    spec = topology.design.spec_of(fabric)
    routes, rate = routes_of(net), net.of_leaves()
    above = np.zeros(net.size - net.leaves, dtype=np.int64)
    colour = classes(net, (np.concatenate([rate, above]), part_sizes(net)))
    found = [load for bundle in representatives(net, colour) for load in _loads(routes, rate, bundle)]
    by_tier: dict[str, float] = {}
    for load in found:
        by_tier[load.tier] = max(by_tier.get(load.tier, 0.0), load.load)
    leaf, core = float(spec.oversubscription), float(spec.oversubscription * spec.core_oversubscription)
    allowed = {tier: core if "core" in tier else leaf for tier in by_tier}
    worst = max(found, key=lambda w: w.load, default=None)
    if worst is None:
        return Traffic(fabric, 0.0, "", (), {}, {})
    low, high = (_switch(topology, net, end[worst.bundle]) for end in (net.low, net.high))
    if net.dev[net.high[worst.bundle]] < 0:
        ends = [_switch(topology, net, int(i)) for i in net.low[net.high == net.high[worst.bundle]]]
        high = next(name for name in ends if name != low)
    link = f"{high} to {low}" if worst.down else f"{low} to {high}"
    streams = tuple(Stream(_switch(topology, net, a), _switch(topology, net, b), gbps) for a, b, gbps in _leaf_pairs(routes, rate, worst))
    return Traffic(fabric, worst.load, link, streams, by_tier, allowed)


def check_traffic(traffic: Traffic) -> list[Problem]:
    """An error for each tier on which some permutation loads a link more than the designed oversubscription allows."""
    problems = []
    for tier, load in traffic.by_tier.items():
        if load > traffic.allowed[tier] + HAIR:
            what = f"a permutation loads {traffic.worst_link} {traffic.worst_load:.3g} times its rate: {witness_text(traffic)}"
            why = f"links {tier} reach {load:.3g}, the design allows {traffic.allowed[tier]:g}"
            problems.append(Problem("worst-traffic", f"{traffic.fabric}, {tier}", what, why, "spread links evenly, add uplinks, or allow a higher oversubscription"))
    return problems


def witness_text(traffic: Traffic, shown: int = 4) -> str:
    """The worst permutation as a sentence: who sends to whom at full rate."""
    parts = [f"{s.source} sends {s.gbps:,}G to {s.target}" for s in traffic.witness[:shown]]
    rest = len(traffic.witness) - len(parts)
    return ", ".join(parts) + (f", and {rest:,} more pairs of leaves" if rest else "")


def _switch(topology: Topology, net: Net, row: int) -> str:
    return str(topology.devices["device"][int(net.dev[row])]) if net.dev[row] >= 0 else ""


def _loads(routes: Routes, rate: Ints, bundle: int) -> Iterator[_Load]:
    """Worst load of one link of a bundle on the way up, then on the way down."""
    net = routes.net
    low, high = int(net.low[bundle]), int(net.high[bundle])
    level, beside = int(net.level[low]), net.dev[high] < 0
    of_link = net.gbps[bundle] / net.links[bundle]
    ways = ("up",) if beside else ("up", "down")
    for way in ways:
        sources, targets, weight = _shares(routes, bundle, way)
        if way == "up":
            supply, demand = rate[sources], _pattern_rates(routes, rate)[targets]
            if level == 1:  # a leaf sends nothing to itself
                demand[targets == routes.pattern[low]] -= rate[low]
        else:
            supply, demand = rate[sources], rate[targets] if level == 1 else _pattern_rates(routes, rate)[targets]
        amounts = best_transport(weight, supply, demand)
        load = round(float((amounts * weight).sum() / of_link), 12)
        tier = "leaf to leaf" if beside else TIER_NAMES[level, way]
        yield _Load(tier, load, bundle, way == "down", sources, targets, amounts)


def _pattern_rates(routes: Routes, rate: Ints) -> Ints:
    known = routes.pattern >= 0
    return np.bincount(routes.pattern[known], weights=rate[known], minlength=routes.leads.shape[0]).astype(np.int64)


def _shares(routes: Routes, bundle: int, way: str) -> tuple[Ints, Ints, Floats]:
    """(source leaves, targets, share of each pair's traffic that one link of the bundle carries).

    Targets are patterns of leaves, but for links from a spine to a leaf, which have that leaf as their only target.
    """
    net = routes.net
    low, high, links = int(net.low[bundle]), int(net.high[bundle]), float(net.links[bundle])
    patterns = np.arange(routes.leads.shape[0])
    if net.level[low] == 1:
        spine = int(np.searchsorted(routes.spine, high))
        if way == "up":
            near, far = routes.near[low], routes.far[low]
            uses = np.where(near > 0, routes.leads[:, [spine]].toarray().ravel(), routes.spine_leads[:, spine])
            whole = np.where(near > 0, near, far)
            return np.array([low]), patterns, np.divide(uses, whole, out=np.zeros(len(whole)), where=whole > 0)[None, :]
        pattern = int(routes.pattern[low])
        share = routes.straight(pattern, spine)
        if len(routes.core):
            down = routes.core_down[:, pattern]
            to_spine = np.divide(routes.above[[spine], :].toarray().ravel(), down, out=np.zeros(len(down)), where=down > 0)
            share = share + routes.arriving(pattern, to_spine)
        share[low] = 0.0
        sources = np.flatnonzero(share > 0)
        return sources, np.array([low]), share[sources, None] / links
    spine, core = int(np.searchsorted(routes.spine, low)), int(np.searchsorted(routes.core, high))
    if way == "up":
        sources = np.flatnonzero(routes.below[:, [spine]].toarray().ravel() > 0)
        share = routes.below[:, [spine]].toarray().ravel()[sources, None] * routes.spine_leads[None, :, spine]
        share = np.divide(share, routes.far[sources], out=np.zeros_like(share), where=routes.far[sources] > 0)
        return sources, patterns, share * np.divide(routes.core_leads[:, core], routes.spine_up[spine], out=np.zeros(len(patterns)), where=routes.spine_up[spine] > 0)
    targets = np.flatnonzero(routes.leads[:, [spine]].toarray().ravel() > 0)
    at_core = np.zeros(len(routes.core))
    columns = []
    for target in targets.tolist():
        at_core[core] = 1.0 / routes.core_down[core, target]
        columns.append(routes.arriving(target, at_core))
    weight = np.stack(columns, axis=1) if columns else np.zeros((net.leaves, 0))
    sources = np.flatnonzero(weight.any(axis=1))
    return sources, targets, weight[sources]


def _leaf_pairs(routes: Routes, rate: Ints, worst: _Load) -> Iterator[tuple[int, int, int]]:
    """(source leaf, target leaf, Gb/s) of a worst permutation: what goes to a pattern is given to its leaves in order."""
    net = routes.net
    one_leaf = worst.down and net.level[net.low[worst.bundle]] == 1
    room = rate.copy()
    for column, target in enumerate(worst.targets.tolist()):
        members = [target] if one_leaf else np.flatnonzero(routes.pattern == target).tolist()
        for row, source in enumerate(worst.sources.tolist()):
            left = int(worst.amounts[row, column])
            for member in members:
                part = min(left, int(room[member])) if member != source else 0
                if part:
                    room[member] -= part
                    left -= part
                    yield source, member, part
                if not left:
                    break
