"""Schemas of the fabric's tables: column, Polars type, and what it means.

Devices and links are numbered by their row; every later table refers to those numbers.
A link's end `a` is the lower tier (node below leaf below spine); between equals it is the lower number.
"""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

Tier = Literal["node-leaf", "leaf-spine", "spine-core", "inter-switch"]

NONE = -1
"""Stands for "not applicable" in pod, rail, plane and gpu columns."""

DEVICES: dict[str, pl.DataType] = {
    "dev": pl.UInt32(),  # number of the device: its row
    "device": pl.String(),  # host name, unique
    "model": pl.String(),  # catalog model
    "role": pl.String(),  # node, leaf, spine, core, ufm, server, pdu
    "fabric": pl.String(),  # the fabric a switch belongs to; "" for a node
    "profile": pl.String(),  # key of Topology.profiles: how its cages are run
    "pod": pl.Int32(),  # SU from 0; NONE for spines
    "rail": pl.String(),  # "3", or "0+1+2+3" for a leaf that serves several; "" when none
    "plane": pl.Int32(),  # from 0; NONE for nodes
    "group": pl.Int32(),  # three tiers: group of SUs that share spines (a core: the spines it meets); NONE otherwise
    "home": pl.Int32(),  # SU in whose racks it stands by default; NONE: amid all
    "index": pl.Int32(),  # from 0 within its role (nodes: over the cluster; leaves and spines: in their plane)
    "present": pl.Boolean(),  # False: room kept for growth, not built yet
}

LINKS: dict[str, pl.DataType] = {
    "link": pl.UInt32(),  # number of the link: its row
    "fabric": pl.String(),
    "tier": pl.String(),  # node-leaf, leaf-spine, spine-core, inter-switch
    "series": pl.String(),  # N node, U UFM, S leaf-spine, C spine-core, X inter-switch: first letter of the cable id
    "serial": pl.UInt32(),  # number within the series that growth never changes; cable ids are made of it
    "rail": pl.Int32(),  # rail of a node-leaf link; NONE above
    "plane": pl.Int32(),
    "gpu": pl.Int32(),  # GPU index served; NONE above the leaf and for management servers
    "gbps": pl.Int32(),
    "lanes": pl.Int32(),
    "lane_gbps": pl.Int32(),
    "a_dev": pl.UInt32(),
    "a_cage": pl.Int32(),  # faceplate number of the cage (switch) or row of the node's cage list
    "a_child": pl.Int32(),  # port within the cage, from 0
    "b_dev": pl.UInt32(),
    "b_cage": pl.Int32(),
    "b_child": pl.Int32(),
}

PORT_NAMES: dict[str, pl.DataType] = {
    "profile": pl.String(),
    "cage": pl.Int32(),
    "child": pl.Int32(),
    "port": pl.String(),  # name in our tables: the switch OS's own, or the node's chassis label
    "cage_label": pl.String(),  # as printed on the faceplate
    "os_name": pl.String(),  # switch: same as port; node: RDMA and network device
}

SWITCHES = ("leaf", "spine", "core")
"""Roles of switches; nodes and UFM servers are on the compute fabric, servers and PDUs on others."""
TENANT_NODES: dict[str, pl.DataType] = {
    "tenant": pl.UInt32(),  # number of the tenant: its place in the design, from 0
    "dev": pl.UInt32(),  # a node that is the tenant's alone
}

TENANT_SWITCHES: dict[str, pl.DataType] = {
    "tenant": pl.UInt32(),
    "role": pl.String(),  # leaf, spine, core
    "dev": pl.UInt32(),  # a switch that the tenant's traffic may pass
}

TIERS: tuple[Tier, ...] = ("node-leaf", "leaf-spine", "spine-core", "inter-switch")


def frame(schema: dict[str, pl.DataType], columns: dict[str, Any]) -> pl.DataFrame:
    """Build a table of exactly the schema's columns, in its order and types; scalars are repeated.

    Raises ValueError when columns are missing or unknown.
    """
    if set(columns) != set(schema):
        raise ValueError(f"columns differ from the schema: {sorted(set(columns) ^ set(schema))}")
    height = next((len(c) for c in columns.values() if hasattr(c, "__len__") and not isinstance(c, str)), 1)
    series = []
    for name, dtype in schema.items():
        value = columns[name]
        if isinstance(value, str) or not hasattr(value, "__len__"):
            series.append(pl.repeat(value, height, dtype=dtype, eager=True).alias(name))
        else:
            series.append(pl.Series(name, value, dtype=dtype))
    return pl.DataFrame(series)
