"""Checks of counts and names: what the design asks for is what the tables hold, each thing once and well named."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..problems import Problem
from ..vendors.models import Node
from .check_rails import gpu_of_port, switch_planes
from .check_report import device_name, findings, gpu_links, link_name
from .topology import Topology

HOST_NAME_MAX = 63
"""Longest label of a host name, RFC 1035 section 2.3.4."""

ENDS = {
    "node-leaf": (("node", "leaf"), ("ufm", "leaf")),
    "leaf-spine": (("leaf", "spine"),),
    "spine-core": (("spine", "core"),),
    "inter-switch": (("leaf", "leaf"),),
}
"""Roles that the two ends of a link of each tier may have."""


def rows_are_numbered(topology: Topology) -> list[Problem]:
    """Devices and links carry the number of their row, links end on listed devices, devices have their profile's model."""
    problems: list[Problem] = []
    for table, number, what in ((topology.devices, "dev", "device"), (topology.links, "link", "link")):
        bad = table.select(pl.lit(what).alias("what"), pl.col(number).alias("number")).with_row_index("row").filter(pl.col("number") != pl.col("row"))
        problems += findings(
            bad, "row-number", lambda r: f"{r['what']} row {r['row']}", lambda r: f"is numbered {r['number']}", "tables refer to rows by number", "number rows from 0"
        )
    lost = topology.links.filter((pl.col("a_dev") >= topology.devices.height) | (pl.col("b_dev") >= topology.devices.height))
    problems += findings(
        lost,
        "no-such-device",
        lambda r: f"link {r['link']}",
        lambda r: f"ends on devices {r['a_dev']} and {r['b_dev']}, there are {topology.devices.height:,} counted from 0",
        "a link joins two devices",
        "drop the link, or list the device",
    )
    models = {name: profile.part.model for name, profile in topology.profiles.items()}
    wrong = topology.devices.with_columns(planned=pl.col("profile").replace_strict(models, default=None, return_dtype=pl.String)).filter(
        pl.col("planned").ne_missing(pl.col("model")) & pl.col("present")
    )
    return problems + findings(
        wrong,
        "profile",
        lambda r: str(r["device"]),
        lambda r: f"is a {r['model']}, its profile {r['profile']!r} runs a {r['planned']}",
        "ports are named and checked by the profile",
        "give the device the profile of its model",
    )


def names_are_unique_and_host_safe(topology: Topology) -> list[Problem]:
    """Every device name is unique and fit for DNS, Slurm and a label."""
    names = topology.devices.group_by("device").agg(pl.len(), pl.col("dev").min()).sort("dev")
    problems = findings(
        names.filter(pl.col("len") > 1),
        "name-twice",
        lambda r: str(r["device"]),
        lambda r: f"{r['len']} devices have this name, it is for 1",
        "labels, host files and cables tell devices apart by name",
        "set nodes.name, leaf_name and spine_name so that they differ",
    )
    fits = pl.col("device").str.contains(r"^[a-z]([a-z0-9-]*[a-z0-9])?$") & (pl.col("device").str.len_bytes() <= HOST_NAME_MAX)
    return problems + findings(
        names.filter(~fits),
        "host-name",
        lambda r: repr(r["device"]),
        lambda r: f"is no host name of 1 to {HOST_NAME_MAX} characters from a-z, 0-9 and - (it has {len(r['device'])})",
        "DNS and Slurm refuse it",
        "choose shorter or plainer names in the design",
    )


def serials_are_unique(topology: Topology) -> list[Problem]:
    """No serial stands twice within its series: cable ids are made of them."""
    key = ["fabric", "series", "serial"]
    bad = topology.links.group_by(key).len().filter(pl.col("len") > 1).sort(key)
    return findings(
        bad,
        "serial-twice",
        lambda r: f"{r['fabric']} {r['series']}{r['serial']}",
        lambda r: f"{r['len']} links have this serial, it is for 1",
        "the cable id is made of it",
        "number the links of a series without repetition",
    )


def links_join_the_right_roles(topology: Topology) -> list[Problem]:
    """Ends of a link have the roles of its tier, both devices are present and of the link's fabric."""
    devices = topology.devices.select("dev", "role", "present", fabric_of="fabric")
    links = topology.links
    for side in "ab":
        links = links.join(devices.rename({c: f"{side}_{c}" for c in devices.columns}), on=f"{side}_dev", how="left", maintain_order="left")
    legal = pl.any_horizontal((pl.col("tier") == tier) & (pl.col("a_role") == low) & (pl.col("b_role") == high) for tier, roles in ENDS.items() for low, high in roles) & (
        pl.col("a_dev") != pl.col("b_dev")
    )
    problems = findings(
        links.filter(~legal),
        "roles",
        lambda r: link_name(topology, r),
        lambda r: f"a {r['tier']} link joins a {r['a_role']} and a {r['b_role']}",
        "end a is the lower tier, end b the one above",
        "join the devices that the tier names",
    )
    problems += findings(
        links.filter(~(pl.col("a_present") & pl.col("b_present"))),
        "not-present",
        lambda r: link_name(topology, r),
        lambda r: f"link {r['link']} ends on a device that is not built yet",
        "room kept for growth has no cables",
        "leave the link out until the cluster grows",
    )
    strange = [pl.col(f"{s}_fabric_of").is_in([""]).not_() & (pl.col(f"{s}_fabric_of") != pl.col("fabric")) for s in "ab"]
    return problems + findings(
        links.filter(strange[0] | strange[1]),
        "fabric-crossed",
        lambda r: link_name(topology, r),
        lambda r: f"the link is of fabric {r['fabric']}, its switches of {r['a_fabric_of'] or 'a node'} and {r['b_fabric_of']}",
        "fabrics share no switch",
        "cable the link within its fabric",
    )


def counts_in_are_counts_out(topology: Topology) -> list[Problem]:
    """Nodes, node links and UFM links in the tables are those the design asks for."""
    design, found = topology.design, []
    nodes = topology.devices.filter(pl.col("role") == "node")
    found.append(("nodes", "present nodes", nodes["present"].sum(), design.nodes.count, f"nodes.count is {design.nodes.count:,}"))
    found.append(("nodes", "nodes with those kept for growth", nodes.height, design.nodes.final_count, f"the cluster ends at {design.nodes.final_count:,}"))
    for fabric, spec in design.fabrics.items():
        per_node, why = _ports_of_a_node(topology)
        found.append((fabric, "links of GPUs", gpu_links(topology, fabric).height, design.nodes.count * per_node, f"{design.nodes.count:,} nodes with {why}"))
        ufm = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("gpu") < 0)).height
        asked, planes = spec.ufm_links, switch_planes(topology, fabric)
        found.append((fabric, "UFM links", ufm, asked * planes, f"{asked} in each of {planes} planes"))
    return [
        Problem("count", where, f"{have:,} {what}, the design asks for {asked:,}", why, "this is a fault of the planner: report it with the design file")
        for where, what, have, asked, why in found
        if have != asked
    ]


def every_gpu_has_all_its_links(topology: Topology) -> list[Problem]:
    """Each GPU of each present node has as many links as its NIC has ports."""
    problems: list[Problem] = []
    profile = topology.profiles["node"]
    if not isinstance(profile.part, Node):
        return [Problem("profile", "profile node", f"runs a {profile.part.model}, which is no node", fix="give nodes a node model")]
    gpus = profile.part.gpus
    owners = [gpu_of_port(profile, cage, child) for cage, use in profile.cages.items() for child in range(use.ports)]
    ports = np.bincount([gpu for gpu in owners if gpu >= 0], minlength=gpus)
    for fabric in topology.fabrics:
        links = gpu_links(topology, fabric).filter(pl.col("gpu") < gpus)
        counts = np.bincount(links["a_dev"].to_numpy().astype(np.int64) * gpus + links["gpu"].to_numpy(), minlength=topology.devices.height * gpus).reshape(-1, gpus)
        nodes = topology.devices.filter((pl.col("role") == "node") & pl.col("present"))["dev"].to_numpy()
        where, gpu = np.nonzero(counts[nodes] != ports)
        bad = pl.DataFrame({"dev": nodes[where], "gpu": gpu, "have": counts[nodes[where], gpu], "ports": ports[gpu]})
        problems += findings(
            bad,
            "gpu-links",
            lambda r: f"{device_name(topology, r['dev'])} GPU {r['gpu']}",
            lambda r: f"has {r['have']} links, its NIC has {r['ports']} ports",
            "every NIC port is cabled",
            "plan a link for every port of the NIC",
        )
    return problems


def _ports_of_a_node(topology: Topology) -> tuple[int, str]:
    """Ports of the compute NICs of a node as it is run, and how they come about."""
    profile = topology.profiles["node"]
    ports = sum(use.ports for use in profile.cages.values())
    gpus = profile.part.gpus if isinstance(profile.part, Node) else 0
    return ports, f"{ports} NIC ports for {gpus} GPUs each"
