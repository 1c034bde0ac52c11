"""The fabric as a networkx graph: how it is given to people and to proofs, derived from the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from .topology import Topology

if TYPE_CHECKING:
    import networkx as nx

TIER_OF_ROLE = {"node": 0, "ufm": 0, "server": 0, "pdu": 0, "leaf": 1, "spine": 2, "core": 3}
"""Role -> tier, counted from the nodes up."""


def to_graph(topology: Topology, fabric: str, rack_of: Mapping[str, str] | None = None, cable_of: Sequence[str] | None = None) -> nx.MultiGraph[str]:
    """One fabric as a MultiGraph of its present devices and links.

    A node is a device name with role, model, tier, rail, plane, pod, index and rack; an edge is a link, its key the link's
    number, with a_device, a_port, b_device, b_port (as `Link` ends: a is the lower tier), tier, gbps, rail, plane, gpu and
    cable. `rack_of` maps device names to racks, `cable_of` gives the cable id of every link by number; without them both are "".
    """
    import networkx as nx

    racks = rack_of or {}
    graph: nx.MultiGraph[str] = nx.MultiGraph(fabric=fabric)
    own = topology.links.filter(pl.col("fabric") == fabric)
    clients = pl.concat([own["a_dev"], own["b_dev"]]).unique()
    at_home = (pl.col("fabric") == fabric) | pl.col("dev").is_in(clients.implode()) | ((pl.col("role") == "node") & (fabric == "compute"))
    here = topology.devices.filter(pl.col("present") & at_home)
    wanted = ["device", "role", "model", "rail", "plane", "pod", "index"]
    for row in here.select(wanted).iter_rows(named=True):
        name = row.pop("device")
        graph.add_node(name, **row, tier=TIER_OF_ROLE[row["role"]], rack=racks.get(name, ""))
    ends = ["a_device", "a_port", "b_device", "b_port"]
    links = name_ends(topology).filter(pl.col("fabric") == fabric).select("link", *ends, "tier", "gbps", "rail", "plane", "gpu")
    for row in links.iter_rows(named=True):
        link = row.pop("link")
        graph.add_edge(row["a_device"], row["b_device"], link, **row, cable=cable_of[link] if cable_of is not None else "")
    return graph


def name_ends(topology: Topology) -> pl.DataFrame:
    """The link table with a_device, a_port, b_device and b_port added, in the order of the links."""
    links = topology.links
    devices = topology.devices.select("dev", "device", "profile")
    ports = topology.port_names.select("profile", "cage", "child", "port")
    for side in "ab":
        links = links.join(devices.rename({"device": f"{side}_device"}), left_on=f"{side}_dev", right_on="dev", how="left", maintain_order="left")
        links = links.join(
            ports.rename({"port": f"{side}_port"}),
            left_on=["profile", f"{side}_cage", f"{side}_child"],
            right_on=["profile", "cage", "child"],
            how="left",
            maintain_order="left",
        ).drop("profile")
    return links
