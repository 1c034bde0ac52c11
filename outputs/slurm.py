"""Slurm's topology.conf (topology/tree): one switch for each SU, one root above them.

In a rail-optimised fabric a node touches a leaf on every rail. With one entry for each physical leaf Slurm starts, and then
jobs that ask for one switch wait forever; the SU is what "one switch" means here, so the SU is the entry.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import polars as pl

from .. import __version__
from .hostlist import fold

if TYPE_CHECKING:
    from ..plan import Plan

NODES_MAX = 65_536
"""Most nodes Slurm manages (MAX_SLURM_NODES)."""

COMMENT_WIDTH = 120


def files(plan: Plan) -> dict[str, bytes]:
    """Render topology.conf of the compute fabric."""
    return {"topology.conf": topology_conf(plan).encode()}


def topology_conf(plan: Plan, fabric: str = "compute") -> str:
    """Text of the file: SUs in order, each under a comment that names its physical leaves, then the root."""
    present = plan.topology.devices.filter("present")
    nodes = present.filter(pl.col("role") == "node").sort("pod", "index")
    leaves = present.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric))
    pods = nodes["pod"].unique().sort().to_list()
    width = len(str(plan.topology.fabrics[fabric].pods - 1))
    names = {pod: f"su{pod:0{width}d}" for pod in pods} if len(pods) > 1 else {pods[0]: fabric}
    lines = [
        f"# Slurm topology/tree of {plan.design.name}, {fabric} fabric: {nodes.height} nodes in {len(pods)} SU{'s' if len(pods) > 1 else ''}.",
        f"# Written by railplan {__version__}. One SwitchName is one SU: a node is on a leaf of every rail, so no single leaf holds its jobs.",
    ]
    if nodes.height > NODES_MAX:
        lines.append(f"# Slurm manages at most {NODES_MAX} nodes; split this cluster over several controllers.")
    for pod in pods:
        own = leaves.filter(pl.col("pod") == pod).sort("plane", "index")["device"].to_list()
        lines += ["", *_comment(f"{names[pod]}: physical leaves {', '.join(own)}")]
        lines.append(f"SwitchName={names[pod]} Nodes={fold(nodes.filter(pl.col('pod') == pod)['device'])}")
    if len(pods) > 1:
        count = present.filter((pl.col("role") == "spine") & (pl.col("fabric") == fabric)).height
        lines += ["", *_comment(f"{fabric}: {count} spines join all SUs"), f"SwitchName={fabric} Switches={fold(names.values())}"]
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, COMMENT_WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False)
