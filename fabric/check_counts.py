"""Checks of counts and names: what the design asks for is what the tables hold, each thing once and well named."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..problems import Problem
from ..vendors.models import Node
from .check_rails import gpu_of_port, switch_planes
from .check_report import device_name, end_links, findings, gpu_links, link_name
from .topology import Profile, Topology

HOST_NAME_MAX = 63
"""Longest label of a host name, RFC 1035 section 2.3.4."""

ENDS = {
    "node-leaf": (("node", "leaf"), ("ufm", "leaf")),
    "leaf-spine": (("leaf", "spine"),),
    "spine-core": (("spine", "core"),),
    "inter-switch": (("leaf", "leaf"),),
}
"""Roles that the two ends of a link of each tier may have."""

CLIENTS = ("node", "ufm", "server", "pdu", "leaf", "spine", "core")
"""Roles of what hangs on the leaves of another fabric than compute: switches by their management ports and uplinks too."""


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
    client = (pl.col("fabric") != "compute") & (pl.col("tier") == "node-leaf") & pl.col("a_role").is_in(CLIENTS) & (pl.col("b_role") == "leaf")
    named = pl.any_horizontal((pl.col("tier") == tier) & (pl.col("a_role") == low) & (pl.col("b_role") == high) for tier, roles in ENDS.items() for low, high in roles)
    legal = (client | named) & (pl.col("a_dev") != pl.col("b_dev"))
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
        links.filter((strange[0] & ~client) | strange[1]),
        "fabric-crossed",
        lambda r: link_name(topology, r),
        lambda r: f"the link is of fabric {r['fabric']}, its switches of {r['a_fabric_of'] or 'a node'} and {r['b_fabric_of']}",
        "fabrics share no switch",
        "cable the link within its fabric",
    )


def counts_in_are_counts_out(topology: Topology) -> list[Problem]:
    """Nodes of each kind, node links and UFM links in the tables are those the design asks for."""
    design, found = topology.design, []
    for i, group in enumerate(design.node_groups):
        nodes = topology.devices.filter((pl.col("role") == "node") & (pl.col("profile") == _profile(i)))
        field, of_kind = f"more_nodes.{i - 1}" if i else "nodes", f" of {group.name}" if design.more_nodes else ""
        found.append((field, f"present nodes{of_kind}", nodes["present"].sum(), group.count, f"{field}.count is {group.count:,}"))
        found.append((field, f"nodes{of_kind} with those kept for growth", nodes.height, group.final_count, f"the cluster ends at {group.final_count:,}"))
    for fabric, spec in design.rails.items():
        ports = [_ports_of_a_node(topology, _profile(i)) for i in range(len(design.node_groups))]
        asked = sum(group.count * of_a_node for group, (of_a_node, _) in zip(design.node_groups, ports, strict=True))
        why = ", ".join(f"{group.count:,} nodes with {text}" for group, (_, text) in zip(design.node_groups, ports, strict=True))
        has_gpus = not design.more_nodes or gpu_links(topology, fabric).height == end_links(topology, fabric).height
        found.append((fabric, "links of GPUs" if has_gpus else "links of nodes", end_links(topology, fabric).height, asked, why))
        ufm = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("series") != "N")).height
        planes = switch_planes(topology, fabric)
        found.append((fabric, "UFM links", ufm, spec.ufm_links * planes, f"{spec.ufm_links} in each of {planes} planes"))
    return [
        Problem("count", where, f"{have:,} {what}, the design asks for {asked:,}", why, "this is a fault of the planner: report it with the design file")
        for where, what, have, asked, why in found
        if have != asked
    ]


def every_gpu_has_all_its_links(topology: Topology) -> list[Problem]:
    """Each GPU of each present node has as many links as its NIC has ports; so has a node without GPUs as a whole."""
    problems: list[Problem] = []
    for i in range(len(topology.design.node_groups)):
        profile = topology.profiles[_profile(i)]
        if not isinstance(profile.part, Node):
            problems.append(Problem("profile", f"profile {profile.name}", f"runs a {profile.part.model}, which is no node", fix="give nodes a node model"))
            continue
        for fabric in topology.fabrics:
            problems += _links_of_each_gpu(topology, fabric, profile)
    return problems


def _links_of_each_gpu(topology: Topology, fabric: str, profile: Profile) -> list[Problem]:
    """Owner -1 stands for the ports of no GPU."""
    gpus = profile.part.gpus if isinstance(profile.part, Node) else 0
    owners = np.array([gpu_of_port(profile, cage, child) for cage, use in profile.cages.items() for child in range(use.ports)], dtype=np.int64)
    ports = np.bincount(owners + 1, minlength=gpus + 1)
    links = end_links(topology, fabric).filter(pl.col("gpu") < gpus)
    slot = links["a_dev"].to_numpy().astype(np.int64) * (gpus + 1) + links["gpu"].to_numpy() + 1
    counts = np.bincount(slot, minlength=topology.devices.height * (gpus + 1)).reshape(-1, gpus + 1)
    nodes = topology.devices.filter((pl.col("role") == "node") & pl.col("present") & (pl.col("profile") == profile.name))["dev"].to_numpy()
    where, owner = np.nonzero(counts[nodes] != ports)
    bad = pl.DataFrame({"dev": nodes[where], "gpu": owner - 1, "have": counts[nodes[where], owner], "ports": ports[owner]})
    return findings(
        bad,
        "gpu-links",
        lambda r: device_name(topology, r["dev"]) + (f" GPU {r['gpu']}" if r["gpu"] >= 0 else ""),
        lambda r: f"has {r['have']} links, its NIC has {r['ports']} ports" if r["gpu"] >= 0 else f"has {r['have']} links that serve no GPU, its NICs have {r['ports']} such ports",
        "every NIC port is cabled",
        "plan a link for every port of the NIC",
    )


def _profile(group: int) -> str:
    """Profile of the nodes of a kind, counted from 0."""
    return f"node-{group}" if group else "node"


def _ports_of_a_node(topology: Topology, profile: str) -> tuple[int, str]:
    """Ports of the compute NICs of a node as it is run, and how they come about."""
    how = topology.profiles[profile]
    ports = sum(use.ports for use in how.cages.values())
    gpus = how.part.gpus if isinstance(how.part, Node) else 0
    return ports, f"{ports} NIC ports for {gpus} GPUs each" if gpus else f"{ports} NIC ports each"
