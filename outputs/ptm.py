"""topology.dot: the cabling as Cumulus' Prescriptive Topology Manager checks it and NVIDIA Air builds it.

The same file lies on every switch, as /etc/ptm.d/topology.dot; ptmd compares each of its ports with what LLDP hears there.
All Ethernet fabrics stand in it. A host names a port by its MAC address in LLDP, so links to hosts are matched by port
description; BMCs and PDUs, which announce nothing, are left out.
NVIDIA's Cable Validation Tool reads it as well. Parallel links are separate edges: the graph is never `strict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .. import __version__
from . import DEFAULTS, Options
from .air import machines
from .links import ethernet_links

if TYPE_CHECKING:
    from ..plan import Plan

FUNCTIONS = {"node": "server"}
"""Role -> `function` of a node, where the words differ."""

BY_DESCRIPTION = ' [LLDP="match_type=portdescr"]'


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render topology.dot of the Ethernet fabrics."""
    return {"topology.dot": topology_dot(plan).encode()}


def topology_dot(plan: Plan) -> str:
    """Text of the file; raises DesignError when no fabric is Ethernet."""
    links = ethernet_links(plan, "ptm").filter(~pl.col("a_mute") & ~pl.col("b_mute"))
    nodes = []
    for device, role, machine in machines(plan, links):
        facts = {"function": FUNCTIONS.get(role, role), **machine}
        nodes.append(f"  {quoted(device)} [{' '.join(f'{key}={quoted(str(value))}' for key, value in facts.items())}]")
    host = pl.col("a_host") | pl.col("b_host")
    ends = [pl.concat_str(_quoted(f"{side}_device"), pl.lit(":"), _quoted(f"{side}_interface")) for side in "ba"]
    edges = links.select(pl.concat_str(pl.lit("  "), ends[0], pl.lit(" -- "), ends[1], pl.when(host).then(pl.lit(BY_DESCRIPTION)).otherwise(pl.lit(""))).alias("edge"))["edge"]
    head = [
        f"# Cabling of {plan.design.name} for ptmd (/etc/ptm.d/topology.dot on every switch) and NVIDIA Air.",
        f"# Written by railplan {__version__}: {links.height} links.",
    ]
    return "\n".join([*head, f"graph {quoted(plan.design.name)} {{", *nodes, *edges, "}"]) + "\n"


def quoted(text: str) -> str:
    """A DOT string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _quoted(column: str) -> pl.Expr:
    plain = pl.col(column).str.replace_all("\\", "\\\\", literal=True).str.replace_all('"', '\\"', literal=True)
    return pl.concat_str(pl.lit('"'), plain, pl.lit('"'))
