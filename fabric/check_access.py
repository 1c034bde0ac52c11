"""Checks of the fabrics other than compute: every port of every client linked, redundancy, oversubscription, reach."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import Problem
from ..vendors.models import Node, Switch
from .access import MANAGEMENT_GBPS
from .check_load import overloaded, too_much
from .check_report import device_name, findings
from .clients import serving
from .net import net_of
from .topology import Profile, Topology


def every_client_port_is_linked(topology: Topology) -> list[Problem]:
    """Links of every device on every fabric are as many as its catalog entry has ports for it, counted anew from the catalog."""
    problems: list[Problem] = []
    overrides = _overrides(topology)
    present = topology.devices.filter("present").select("dev", "profile", "fabric", "role")
    for fabric in _others(topology):
        asked = {key: _ports(topology, profile, fabric, overrides.get(key, {})) for key, profile in topology.profiles.items()}
        own = present.filter(pl.col("fabric") != fabric).with_columns(asked=pl.col("profile").replace_strict(asked, default=0, return_dtype=pl.Int64))
        hanging = pl.col("fabric").replace_strict(_uplinks(topology, fabric), default=0, return_dtype=pl.Int64)
        own = own.with_columns(asked=pl.col("asked") + pl.when(pl.col("role") == "leaf").then(hanging).otherwise(0))
        have = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf")).group_by(dev="a_dev").agg(have=pl.len())
        bad = own.join(have, on="dev", how="left").with_columns(pl.col("have").fill_null(0)).filter(pl.col("have") != pl.col("asked")).sort("dev")
        problems += findings(
            bad,
            "client-links",
            lambda r: device_name(topology, r["dev"]),
            lambda r, fabric=fabric: f"has {r['have']} links on {fabric}, its ports for it are {r['asked']}",  # type: ignore[misc]
            "every port that is given to a fabric is cabled",
            "this is a fault of the planner: report it with the design file",
        )
    return problems


def clients_outlive_a_leaf(topology: Topology) -> list[Problem]:
    """On a fabric whose leaves stand in pairs, a client with several ports hangs on both."""
    problems: list[Problem] = []
    for fabric in _others(topology):
        spec = topology.design.fabrics.others[fabric]
        if spec.redundancy == 1:
            continue
        fast = (pl.col("gbps") > MANAGEMENT_GBPS) | (spec.redundancy == 2)
        ends = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & fast).group_by("a_dev").agg(ports=pl.len(), leaves=pl.col("b_dev").n_unique())
        problems += findings(
            ends.filter((pl.col("ports") > 1) & (pl.col("leaves") < 2)).sort("a_dev"),
            "one-leaf",
            lambda r: device_name(topology, r["a_dev"]),
            lambda r, fabric=fabric: f"has {r['ports']} links on {fabric}, all to one leaf",  # type: ignore[misc]
            "with its ports on two leaves it outlives either",
            "spread its ports over the pair",
        )
    return problems


def leaves_are_not_overloaded(topology: Topology) -> list[Problem]:
    """Bandwidth down over up of every leaf with spines above it is at most the design's ratio."""
    problems: list[Problem] = []
    for fabric in _others(topology):
        net = net_of(topology, fabric)
        if not (net.level == 2).any() or not (net.dev[net.level == 2] >= 0).any():
            continue
        designed = topology.design.fabrics.others[fabric].oversubscription
        problems += overloaded(topology, too_much(net.dev[: net.leaves], net.of_leaves(), net.up()[: net.leaves], designed), designed)
    return problems


def leaves_reach_each_other(topology: Topology) -> list[Problem]:
    """All leaves of a fabric are one piece, over its spines, its peer links, or the fabric that takes its uplinks."""
    switch = topology.devices["role"].is_in(["leaf", "spine"]) & (topology.devices["fabric"] != "compute")
    links = topology.links.filter((pl.col("fabric") != "compute") & (pl.col("gbps") > MANAGEMENT_GBPS))
    between = links.filter(switch.gather(links["a_dev"]) & switch.gather(links["b_dev"]))
    size = topology.devices.height
    ends = between["a_dev"].to_numpy(), between["b_dev"].to_numpy()
    piece = connected_components(coo_array((np.ones(between.height), ends), shape=(size, size)), directed=False)[1]
    problems: list[Problem] = []
    for fabric in _others(topology):
        leaves = topology.devices.filter((pl.col("fabric") == fabric) & (pl.col("role") == "leaf") & pl.col("present"))["dev"].to_numpy()
        pieces, counts = np.unique(piece[leaves], return_counts=True)
        apart = leaves[piece[leaves] != pieces[counts.argmax()]] if len(pieces) else leaves
        whole = f"has no path to the other leaves of {fabric}: the {len(leaves)} leaves fall into {len(pieces)} pieces"
        problems += findings(
            pl.DataFrame({"dev": apart.astype(np.int64)}),
            "unreachable",
            lambda r: device_name(topology, r["dev"]),
            lambda r, whole=whole: whole,  # type: ignore[misc]
            "its clients must reach all others",
            "give the fabric spines, peer links, or uplinks to another fabric",
        )
    return problems


ACCESS_CHECKS = (every_client_port_is_linked, clients_outlive_a_leaf, leaves_are_not_overloaded, leaves_reach_each_other)


def _others(topology: Topology) -> Iterator[str]:
    return (name for name in topology.fabrics if name != "compute")


def _overrides(topology: Topology) -> dict[str, dict[str, str]]:
    """Profile -> ports that the design gives away by name."""
    design = topology.design
    found = {f"node-{i}" if i else "node": dict(group.ports) for i, group in enumerate(design.node_groups)}
    found["ufm"] = dict(design.fabrics.compute.ufm_ports)
    return found | {f"server-{i}": dict(server.ports) for i, server in enumerate(design.servers)}


def _ports(topology: Topology, profile: Profile, fabric: str, given: dict[str, str]) -> int:
    """Ports of one device that go to a fabric: by the design's word, else by use; as many as the mode of their cage makes."""
    part = profile.part
    if isinstance(part, Switch):
        return part.management_ports if serving(topology.design, "switch-management") == fabric else 0
    modes = {use.label: use.mode.ports for use in profile.cages.values()}
    mine = [p for p in part.ports if p.use != "compute" and given.get(p.label, serving(topology.design, p.use)) == fabric]
    return sum(modes.get(p.cage, 0) for p in mine) if isinstance(part, Node) else 0


def _uplinks(topology: Topology, fabric: str) -> dict[str, int]:
    """Fabric that hangs on another -> links that each leaf of it has to that other."""
    return {name: spec.uplinks.links for name, spec in topology.design.fabrics.others.items() if spec.uplinks is not None and spec.uplinks.fabric == fabric}
