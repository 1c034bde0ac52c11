"""Checks of bandwidth and reach: oversubscription as designed on every tier, every node reaches every node."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import Problem
from .check_report import device_name, findings
from .net import Ints, Net, net_of
from .topology import Topology

FIX = "add uplinks, put fewer nodes into an SU, or allow a higher oversubscription"


def oversubscription_is_as_designed(topology: Topology) -> list[Problem]:
    """Bandwidth down over up is at most the design's ratio, on every leaf, over each plane, and on every spine below cores."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.rails.items():
        net, designed = net_of(topology, fabric), spec.oversubscription
        down, up = net.of_leaves(), net.up()[: net.leaves]
        apart = spec.style == "rail-only"
        tried = joined_leaves(net)
        bad = too_much(net.dev[: net.leaves], down, up, designed, tried)
        problems += overloaded(topology, bad, designed)
        for domain in np.unique(net.domain[tried]) if bad.is_empty() else ():  # leaf by leaf it has been said already
            here = net.domain == domain
            all_down, all_up = int(down[here].sum()), int(up[here].sum())
            if all_down * designed.denominator > all_up * designed.numerator:
                first = int(np.flatnonzero(here)[0])
                where = f"{fabric} plane {net.plane[first]}" + (f" rail {net.rail[first]}" if apart else "")
                what = f"its leaves carry {all_down:,}G down and {all_up:,}G up, that is {_ratio(all_down, all_up)}"
                problems.append(Problem("oversubscription", where, what, f"the design allows {float(designed):g}:1", FIX))
        spines = _spines_below_cores(net)
        below, above = spine_load(net)
        problems += overloaded(topology, too_much(net.dev[spines], below[spines], above[spines], spec.core_oversubscription), spec.core_oversubscription)
    return problems


def too_much(dev: Ints, down: Ints, up: Ints, designed: Fraction, tried: np.ndarray | None = None) -> pl.DataFrame:
    """Switches (of `tried`) whose bandwidth down over up is above the ratio: dev, down, up."""
    over = down * designed.denominator > up * designed.numerator
    rows = np.flatnonzero(over if tried is None else over & tried)
    return pl.DataFrame({"dev": dev[rows], "down": down[rows], "up": up[rows]})


def overloaded(topology: Topology, bad: pl.DataFrame, designed: Fraction) -> list[Problem]:
    """Problems for rows of `too_much`."""
    return findings(
        bad,
        "oversubscription",
        lambda r: device_name(topology, r["dev"]),
        lambda r: f"carries {r['down']:,}G down and {r['up']:,}G up, that is {_ratio(r['down'], r['up'])}",
        f"the design allows {float(designed):g}:1",
        FIX,
    )


def joined_leaves(net: Net) -> np.ndarray:
    """Mask of the leaves that are meant to reach other leaves."""
    counts = np.bincount(net.domain, minlength=1)
    return np.asarray(counts[net.domain] > 1)


def spine_load(net: Net) -> tuple[Ints, Ints]:
    """(bandwidth to the tier below, to the tier above) of each switch."""
    return np.bincount(net.high, weights=net.gbps, minlength=net.size).astype(np.int64), net.up()


def _spines_below_cores(net: Net) -> Ints:
    return np.flatnonzero((net.level == 2) & (net.dev >= 0)) if (net.level == 3).any() else np.zeros(0, dtype=np.int64)


def worst_oversubscription(net: Net) -> tuple[float, float, float]:
    """(worst leaf, worst domain, worst spine): bandwidth down over up; 1 where nothing stands above or beside."""
    down, up, tried = net.of_leaves(), net.up()[: net.leaves], joined_leaves(net)
    leaf = [over(int(d), int(u)) for d, u in np.unique(np.stack([down[tried], up[tried]], axis=1), axis=0)]
    tier = [over(int(down[net.domain == d].sum()), int(up[net.domain == d].sum())) for d in np.unique(net.domain[tried])]
    below, above = spine_load(net)
    rows = _spines_below_cores(net)
    spine = [over(int(d), int(u)) for d, u in np.unique(np.stack([below[rows], above[rows]], axis=1), axis=0)]
    return max(leaf, default=1.0), max(tier, default=1.0), max(spine, default=1.0)


def over(down: int, up: int) -> float:
    """Bandwidth down over up; infinite without uplinks, 0 when nothing is below."""
    return down / up if up else (math.inf if down else 0.0)


def _ratio(down: int, up: int) -> str:
    return f"{math.ceil(100 * down / up) / 100:g}:1" if up else "no uplink at all"


def every_node_reaches_every_node(topology: Topology) -> list[Problem]:
    """In each plane (where rails are apart: on each rail of it) the switches that carry nodes are one piece; nodes pass nothing on."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.rails.items():
        net = net_of(topology, fabric)
        piece = connected_components(coo_array((np.ones(len(net.low)), (net.low, net.high)), shape=(net.size, net.size)), directed=False)[1]
        used = np.unique(net.leaf)
        for domain in np.unique(net.domain[used]):
            leaves = used[net.domain[used] == domain]
            pieces, counts = np.unique(piece[leaves], return_counts=True)
            if len(pieces) < 2:
                continue
            of_rail = f" and rail {net.rail[leaves[0]]}" if spec.style == "rail-only" else ""
            whole = f"the {len(leaves)} leaves of plane {net.plane[leaves[0]]}{of_rail} fall into {len(pieces)} pieces, 1 is wanted"
            problems += findings(
                pl.DataFrame({"dev": net.dev[leaves[piece[leaves] != pieces[counts.argmax()]]]}),
                "unreachable",
                lambda r: device_name(topology, r["dev"]),
                lambda r, whole=whole: f"has no path to the other leaves: {whole}",  # type: ignore[misc]
                "a job may be placed on any nodes, and nodes pass no traffic on",
                "link the leaf to the spines of its plane",
            )
        problems += _rails_joined(topology, net, piece) if spec.style == "rail-only" else []
    return problems


def _rails_joined(topology: Topology, net: Net, piece: np.ndarray) -> list[Problem]:
    """Rails that are meant to be apart, but meet on a switch."""
    first = np.full(int(piece.max(initial=0)) + 1, -1)
    own = piece[: net.leaves]
    first[own[::-1]] = np.arange(net.leaves)[::-1]
    rows = np.flatnonzero(net.rail[first[own]] != net.rail[: net.leaves])
    return findings(
        pl.DataFrame({"dev": net.dev[rows], "other": net.dev[first[own[rows]]], "rail": net.rail[rows], "meets": net.rail[first[own[rows]]]}),
        "rails-joined",
        lambda r: device_name(topology, r["dev"]),
        lambda r: f"is of rail {r['rail']} and has a path to {device_name(topology, r['other'])} of rail {r['meets']}",
        "in style rail-only every rail is a fabric of its own",
        "link the leaf to the spines of its own rail",
    )
