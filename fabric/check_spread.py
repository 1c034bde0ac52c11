"""Checks of the spread: leaves over the spines of their group, spines over their core group, all SUs built alike."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..problems import Problem
from .check_report import Row, device_name, findings, link_name
from .net import net_of
from .tables import NONE
from .topology import Topology

GROUP = ["plane", "group", "rail"]


def every_leaf_spreads_evenly(topology: Topology) -> list[Problem]:
    """Each leaf has the same number of links to every spine of its plane (three tiers: of its group), and no spine is dark."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        spines, leaves = _present(topology, fabric, "spine"), _leaves_by_group(topology, fabric)
        if spines.is_empty():
            continue
        pairs = _pairs(topology, fabric, "leaf-spine").join(leaves.rename({"dev": "a_dev"}), on="a_dev")
        pairs = pairs.join(spines.select(b_dev="dev", spine_group="key"), on="b_dev").filter(pl.col("key") == pl.col("spine_group"))
        of_spines = spines.group_by("key").agg(peers=pl.col("dev").sort())
        problems += _uneven(topology, leaves.filter(pl.col("key") != NONE), pairs, of_spines, "spine", "its group" if spines["group"][0] != NONE else "its plane")
        below = leaves.group_by("key").agg(leaves=pl.len())
        dark = spines.join(below, on="key", how="left").join(_pairs(topology, fabric, "leaf-spine"), left_on="dev", right_on="b_dev", how="anti").sort("dev")
        problems += findings(
            dark,
            "dark-spine",
            lambda r: device_name(topology, r["dev"]),
            lambda r: f"has 0 links, though its {'plane' if r['group'] == NONE else 'group'} has {r['leaves'] or 0} leaves",
            "a spine without links is bought for nothing",
            "spread the uplinks over all spines, or leave the spine out",
        )
    return problems


def leaves_stay_in_their_spine_group(topology: Topology) -> list[Problem]:
    """A leaf has links to spines of its own group of SUs only, and of its own rail where spines have one."""
    problems: list[Problem] = []
    here = topology.devices.select("dev", "group", "rail")
    for fabric in topology.fabrics:
        links = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "leaf-spine"))
        pairs = links.select("a_dev", "b_dev").unique().join(here.rename({"dev": "a_dev", "group": "own", "rail": "own_rail"}), on="a_dev")
        pairs = pairs.join(here.rename({"dev": "b_dev", "group": "other", "rail": "other_rail"}), on="b_dev")
        crossed = pairs.filter((pl.col("own") != pl.col("other")) | ((pl.col("other_rail") != "") & (pl.col("other_rail") != pl.col("own_rail"))))
        bad = links.join(crossed, on=["a_dev", "b_dev"]).sort("link") if crossed.height else links.head(0)
        problems += findings(
            bad,
            "group-crossed",
            lambda r: link_name(topology, r),
            lambda r: f"the leaf is of {_group_name(r['own'], r['own_rail'])}, the spine of {_group_name(r['other'], r['other_rail'])}",
            "spines are shared within their group only; groups meet on the cores",
            "cable the leaf to the spines of its own group",
        )
    return problems


def spines_spread_evenly_over_their_core_group(topology: Topology) -> list[Problem]:
    """Spine j of every group meets core group j, with as many links to each of its cores; no core is dark; spines of a group are alike."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        cores = _present(topology, fabric, "core").select("dev", "plane", place="group")
        if cores.is_empty():
            continue
        numbered = cores.select("plane", "place").unique().sort("plane", "place").with_row_index("key")
        cores = cores.join(numbered, on=["plane", "place"])
        spines = _present(topology, fabric, "spine").with_columns(place=pl.col("dev").rank("ordinal").over("key").cast(pl.Int32) - 1, spine_group=pl.col("key"))
        spines = spines.drop("key").join(numbered, on=["plane", "place"], how="left").sort("dev")
        every = _pairs(topology, fabric, "spine-core").join(spines.select("key", a_dev="dev", own="place"), on="a_dev")
        every = every.join(cores.select(b_dev="dev", core_key="key", core_group="place"), on="b_dev")
        problems += findings(
            every.filter(pl.col("key").ne_missing(pl.col("core_key"))).sort("a_dev", "b_dev"),
            "core-group",
            lambda r: device_name(topology, r["a_dev"]),
            lambda r: f"is spine {r['own'] + 1} of its group, but has links to {device_name(topology, r['b_dev'])} of core group {r['core_group'] + 1}",
            "spine j of every group meets core group j, so that each core reaches every group once",
            "cable the spine to the cores of its own core group",
        )
        of_cores = cores.group_by("key").agg(peers=pl.col("dev").sort())
        problems += _uneven(topology, spines, every.filter(pl.col("key") == pl.col("core_key")), of_cores, "core", "its core group")
        dark = cores.join(every, left_on="dev", right_on="b_dev", how="anti").sort("dev")
        problems += findings(
            dark,
            "dark-core",
            lambda r: device_name(topology, r["dev"]),
            lambda r: "has 0 links",
            "a core without links is bought for nothing",
            "spread the uplinks of the spines over all cores of their group, or leave the core out",
        )
        up = spines.join(every.group_by("a_dev").agg(up=pl.col("links").sum()), left_on="dev", right_on="a_dev", how="left").with_columns(pl.col("up").fill_null(0))
        usual = up.with_columns(usual=pl.col("up").max().over("spine_group")).filter(pl.col("up") != pl.col("usual")).sort("dev")
        problems += findings(
            usual,
            "spines-unlike",
            lambda r: device_name(topology, r["dev"]),
            lambda r: f"has {r['up']} links to cores, another spine of its group has {r['usual']}",
            "leaves spread their traffic over all spines of the group in equal parts",
            "give every spine of a group the same number of uplinks",
        )
    return problems


def full_sus_are_alike(topology: Topology) -> list[Problem]:
    """Leaves of all SUs of a kind of node have equal uplinks; only a trimmed last SU may have fewer, alike on its leaves."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.rails.items():
        net = net_of(topology, fabric)
        dev, up_gbps, pods = net.dev[: net.leaves], net.up()[: net.leaves], net.pod[: net.leaves]
        kind = topology.devices["profile"].gather(dev).to_numpy()
        every = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric)).group_by("profile").agg(pl.col("pod").max())
        expected = np.zeros_like(up_gbps)
        for profile, last in every.iter_rows():
            own = kind == profile
            full, tail = own & (pods < last), own & (pods == last)
            usual = int(up_gbps[full].max(initial=0)) or int(up_gbps[own].max(initial=0))
            expected[full] = usual
            expected[tail] = min(usual, int(up_gbps[tail].max(initial=0))) if spec.partial_su == "trimmed" else usual
        rows = np.flatnonzero(up_gbps != expected)
        problems += findings(
            pl.DataFrame({"dev": dev[rows], "up": up_gbps[rows], "expected": expected[rows]}),
            "su-unlike",
            lambda r: device_name(topology, r["dev"]),
            lambda r: f"has {r['up']:,}G of uplinks, the other leaves have {r['expected']:,}G",
            "all SUs are built alike, so that any of them carries any job",
            "give the leaf the uplinks of the others",
        )
    return problems


def _uneven(topology: Topology, low: pl.DataFrame, pairs: pl.DataFrame, groups: pl.DataFrame, peer: str, whose: str) -> list[Problem]:
    """Switches (dev, key) whose links to the peers of their key are not the same number for each; `pairs` holds a_dev, b_dev, links."""
    seen = pairs.group_by("a_dev").agg(
        met=pl.len(), least=pl.col("links").min(), most=pl.col("links").max(), thin=pl.col("b_dev").sort_by("links", "b_dev").first(), meets=pl.col("b_dev")
    )
    table = low.join(groups, on="key").join(seen, left_on="dev", right_on="a_dev", how="left").with_columns(pl.col("met", "most").fill_null(0))
    bad = table.filter((pl.col("met") < pl.col("peers").list.len()) | (pl.col("least") != pl.col("most"))).sort("dev")

    def what(row: Row) -> str:
        missing = sorted(set(row["peers"]) - set(row["meets"] or ()))
        thin, least = (missing[0], 0) if missing else (row["thin"], row["least"])
        return f"has {least} links to {device_name(topology, thin)} and {row['most']} to another {peer}"

    return findings(
        bad,
        "uneven-spread",
        lambda r: device_name(topology, r["dev"]),
        what,
        f"traffic is spread over the {peer}s in equal parts; the thinnest pair sets the pace",
        f"give it the same number of links to every {peer} of {whose}",
    )


def _present(topology: Topology, fabric: str, role: str) -> pl.DataFrame:
    """dev, plane, group, rail of the present switches of a role; `key` numbers those that share all three."""
    here = topology.devices.filter((pl.col("fabric") == fabric) & (pl.col("role") == role) & pl.col("present")).select("dev", *GROUP)
    return here.join(here.select(GROUP).unique().sort(GROUP).with_row_index("key").cast({"key": pl.Int64}), on=GROUP, maintain_order="left")


def _leaves_by_group(topology: Topology, fabric: str) -> pl.DataFrame:
    """dev and the spine group (`key` of the spines) of every present leaf; NONE where no spine is meant for it."""
    spines = _present(topology, fabric, "spine").select(*GROUP, "key").unique()
    leaves = _present(topology, fabric, "leaf").drop("key").join(spines, on=GROUP, how="left")
    shared = spines.filter(pl.col("rail") == "").select("plane", "group", shared="key")
    return leaves.join(shared, on=["plane", "group"], how="left").select("dev", key=pl.coalesce("key", "shared", pl.lit(NONE, dtype=pl.Int64))).sort("dev")


def _pairs(topology: Topology, fabric: str, tier: str) -> pl.DataFrame:
    """a_dev, b_dev and links of every joined pair of a tier."""
    return topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == tier)).group_by("a_dev", "b_dev").agg(links=pl.len().cast(pl.Int64))


def _group_name(group: int, rail: str) -> str:
    return " ".join(word for word in (f"group {group}" if group != NONE else "", f"rail {rail}" if rail else "") if word) or "all groups"
