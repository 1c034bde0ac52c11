"""What the checks share: the ends of all links as one table, names for a finding, and an honest cut of long lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from ..problems import Problem
from .topology import Topology

SHOWN = 3
"""Findings of one check that are spelled out; the last one names how many more there are."""

Row = dict[str, Any]


def findings(bad: pl.DataFrame, rule: str, where: Callable[[Row], str], what: Callable[[Row], str], why: str, fix: str) -> list[Problem]:
    """One problem for each of the first rows of `bad`; the last of them counts the rows left out."""
    problems = [Problem(rule, where(row), what(row), why, fix) for row in bad.head(SHOWN).iter_rows(named=True)]
    left = bad.height - len(problems)
    if left:
        last = problems[-1]
        problems[-1] = Problem(rule, last.where, f"{last.what}; and {left:,} more ({bad.height:,} in all)", why, fix)
    return problems


def ends(topology: Topology) -> pl.DataFrame:
    """Both ends of every link, one row each: link, dev, cage, child, profile (its code), gbps, lanes, lane_gbps, plane."""
    shared = ["link", "plane", "gbps", "lanes", "lane_gbps"]
    sides = [topology.links.select(*shared, dev=f"{side}_dev", cage=f"{side}_cage", child=f"{side}_child") for side in "ab"]
    both = pl.concat(sides)
    return both.with_columns(pl.Series("profile", profile_codes(topology)[both["dev"].to_numpy()]))


def profile_codes(topology: Topology) -> np.ndarray:
    """Number of the profile of every device, in the order of `Topology.profiles`; -1 when it has none."""
    codes = {name: code for code, name in enumerate(topology.profiles)}
    return np.array([codes.get(name, -1) for name in topology.devices["profile"].to_list()], dtype=np.int32)


def gpu_links(topology: Topology, fabric: str) -> pl.DataFrame:
    """Node-leaf links that serve a GPU; links of management servers are left out."""
    return topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("gpu") >= 0))


def end_links(topology: Topology, fabric: str) -> pl.DataFrame:
    """Node-leaf links of all nodes, those without GPUs too; links of management servers are left out."""
    return topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("series") != "U"))


def device_name(topology: Topology, dev: int) -> str:
    """Host name of a device."""
    return str(topology.devices["device"][dev])


def port_name(topology: Topology, dev: int, cage: int, child: int) -> str:
    """Device and port as a person reads them; cage and child where the port has no name."""
    profile = topology.devices["profile"][dev]
    found = topology.port_names.filter((pl.col("profile") == profile) & (pl.col("cage") == cage) & (pl.col("child") == child))["port"]
    return f"{device_name(topology, dev)} {found[0] if len(found) else f'cage {cage} port {child}'}"


def link_name(topology: Topology, row: Row) -> str:
    """Both ends of a link, for a row with all columns of the link table."""
    return f"{port_name(topology, row['a_dev'], row['a_cage'], row['a_child'])} to {port_name(topology, row['b_dev'], row['b_cage'], row['b_child'])}"
