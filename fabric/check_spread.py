"""Checks of bandwidth and reach: even spread over the spines, oversubscription as designed, every node reaches every node."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import Problem
from .check_report import device_name, findings, gpu_links
from .topology import Topology


@dataclass(frozen=True)
class LeafLoad:
    """Bandwidth of the leaves of a fabric, counted from the links; one entry for each present leaf."""

    dev: np.ndarray
    plane: np.ndarray
    down_gbps: np.ndarray
    """Links that serve GPUs."""
    up_gbps: np.ndarray
    """Links to spines or to the other leaf of a pair."""


def leaf_load(topology: Topology, fabric: str) -> LeafLoad:
    """Count the bandwidth below and above every present leaf of a fabric."""
    leaves = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric) & pl.col("present"))
    dev = leaves["dev"].to_numpy()
    links = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") != "node-leaf"))
    down = gpu_links(topology, fabric)

    def summed(table: pl.DataFrame, side: str) -> np.ndarray:
        total = np.bincount(table[side].to_numpy(), weights=table["gbps"].to_numpy(), minlength=topology.devices.height)
        return np.asarray(total[dev], dtype=np.int64)

    return LeafLoad(dev, leaves["plane"].to_numpy(), summed(down, "b_dev"), summed(links, "a_dev") + summed(links, "b_dev"))


def every_leaf_spreads_evenly(topology: Topology) -> list[Problem]:
    """Each leaf has the same number of links to every spine of its plane, and no spine is dark."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        for plane in topology.devices.filter(pl.col("fabric") == fabric)["plane"].unique().sort():
            leaves, spines, pairs = pair_links(topology, fabric, plane)
            if not len(spines):
                continue
            low, high = pairs.min(axis=1), pairs.max(axis=1)
            rows = np.flatnonzero(low != high)
            uneven = pl.DataFrame({"dev": leaves[rows], "least": low[rows], "most": high[rows], "spine": spines[pairs[rows].argmin(axis=1)]})
            problems += findings(
                uneven,
                "uneven-spread",
                lambda r: device_name(topology, r["dev"]),
                lambda r: f"has {r['least']} links to {device_name(topology, r['spine'])} and {r['most']} to another spine",
                "traffic is spread over the spines in equal parts; the thinnest pair sets the pace",
                "give the leaf the same number of links to every spine of its plane",
            )
            dark = pl.DataFrame({"dev": spines[pairs.sum(axis=0) == 0]}).with_columns(leaves=pl.lit(len(leaves)))
            problems += findings(
                dark,
                "dark-spine",
                lambda r: device_name(topology, r["dev"]),
                lambda r: f"has 0 links, though its plane has {r['leaves']} leaves",
                "a spine without links is bought for nothing",
                "spread the uplinks over all spines, or leave the spine out",
            )
    return problems


def full_sus_are_alike(topology: Topology) -> list[Problem]:
    """Leaves of all SUs have equal uplinks; only a trimmed last SU may have fewer, alike on its leaves."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.fabrics.items():
        load = leaf_load(topology, fabric)
        pod = topology.devices["pod"].to_numpy()[load.dev]
        last = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric))["pod"].to_numpy().max(initial=0)
        trimmed = spec.partial_su == "trimmed"
        usual = int(load.up_gbps[pod < last].max(initial=0)) or int(load.up_gbps.max(initial=0))
        last_usual = int(load.up_gbps[pod == last].max(initial=0)) if trimmed else usual
        expected = np.where(pod == last, min(usual, last_usual), usual)
        rows = np.flatnonzero(load.up_gbps != expected)
        bad = pl.DataFrame({"dev": load.dev[rows], "up": load.up_gbps[rows], "expected": expected[rows]})
        problems += findings(
            bad,
            "su-unlike",
            lambda r: device_name(topology, r["dev"]),
            lambda r: f"has {r['up']:,}G of uplinks, the other leaves have {r['expected']:,}G",
            "all SUs are built alike, so that any of them carries any job",
            "give the leaf the uplinks of the others",
        )
    return problems


def pair_links(topology: Topology, fabric: str, plane: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(leaf devices, spine devices, links of each pair as a matrix) of the present switches of one plane."""
    here = topology.devices.filter((pl.col("fabric") == fabric) & (pl.col("plane") == plane) & pl.col("present"))
    leaves, spines = (here.filter(pl.col("role") == role)["dev"].to_numpy() for role in ("leaf", "spine"))
    row = np.full(topology.devices.height, -1)
    row[leaves], row[spines] = np.arange(len(leaves)), np.arange(len(spines))
    links = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "leaf-spine"))
    known = np.isin(links["a_dev"].to_numpy(), leaves) & np.isin(links["b_dev"].to_numpy(), spines)
    index = row[links["a_dev"].to_numpy()[known]] * len(spines) + row[links["b_dev"].to_numpy()[known]]
    return leaves, spines, np.bincount(index, minlength=len(leaves) * len(spines)).reshape(len(leaves), len(spines))


def oversubscription_is_as_designed(topology: Topology) -> list[Problem]:
    """Bandwidth down over up is at most the design's ratio, on every leaf and over each plane."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.fabrics.items():
        load, designed = leaf_load(topology, fabric), spec.oversubscription
        alone = {int(p) for p in np.unique(load.plane) if (load.plane == p).sum() == 1}
        tried = np.array([int(p) not in alone for p in load.plane], dtype=bool)
        rows = np.flatnonzero(tried & (load.down_gbps * designed.denominator > load.up_gbps * designed.numerator))
        bad = pl.DataFrame({"dev": load.dev[rows], "down": load.down_gbps[rows], "up": load.up_gbps[rows]})
        why, fix = f"the design allows {float(designed):g}:1", "add uplinks, put fewer nodes into an SU, or allow a higher oversubscription"
        problems += findings(
            bad,
            "oversubscription",
            lambda r: device_name(topology, r["dev"]),
            lambda r: f"carries {r['down']:,}G down and {r['up']:,}G up, that is {_ratio(r['down'], r['up'])}",
            why,
            fix,
        )
        if rows.size:
            continue  # leaf by leaf it has been said already
        for plane in sorted({int(p) for p in load.plane} - alone):
            down, up = (int(a[load.plane == plane].sum()) for a in (load.down_gbps, load.up_gbps))
            if down * designed.denominator > up * designed.numerator:
                problems.append(Problem("oversubscription", f"{fabric} plane {plane}", f"its leaves carry {down:,}G down and {up:,}G up, that is {_ratio(down, up)}", why, fix))
    return problems


def _ratio(down: int, up: int) -> str:
    return f"{math.ceil(100 * down / up) / 100:g}:1" if up else "no uplink at all"


def every_node_reaches_every_node(topology: Topology) -> list[Problem]:
    """In each plane the switches that carry nodes are one connected piece; nodes pass nothing on."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        here = topology.links.filter(pl.col("fabric") == fabric)
        between, below = here.filter(pl.col("tier") != "node-leaf"), gpu_links(topology, fabric)
        for plane in below["plane"].unique().sort():
            pairs = between.filter(pl.col("plane") == plane).select("a_dev", "b_dev").unique().to_numpy().astype(np.int64)
            size = topology.devices.height
            _, piece = connected_components(coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size)), directed=False)
            leaves = np.unique(below.filter(pl.col("plane") == plane)["b_dev"].to_numpy())
            pieces, counts = np.unique(piece[leaves], return_counts=True)
            if len(pieces) < 2:
                continue
            cut_off = leaves[piece[leaves] != pieces[counts.argmax()]]
            problems += findings(
                pl.DataFrame({"dev": cut_off}).with_columns(plane=pl.lit(plane), pieces=pl.lit(len(pieces)), leaves=pl.lit(len(leaves))),
                "unreachable",
                lambda r: device_name(topology, r["dev"]),
                lambda r: f"has no path to the other leaves: the {r['leaves']} leaves of plane {r['plane']} fall into {r['pieces']} pieces, 1 is wanted",
                "a job may be placed on any nodes, and nodes pass no traffic on",
                "link the leaf to the spines of its plane",
            )
    return problems
