"""Slurm's topology.yaml, read from 25.05 in place of topology.conf: the tree, and the blocks beside it for NVL72 racks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import __version__
from .hostlist import fold
from .slurm_tree import tree

if TYPE_CHECKING:
    from ..plan import Plan
    from .slurm_blocks import Blocks


def topology_yaml(plan: Plan, racks: Blocks | None, fabric: str = "compute") -> str:
    """Text of the file: a list of topologies, the tree as the cluster's default; text is quoted, sizes are integers."""
    lines = [
        f"# Slurm topologies of {plan.design.name}, {fabric} fabric. Written by railplan {__version__}.",
        "# Slurm 25.05 or later reads this file and then ignores topology.conf. A partition picks one with Topology=NAME.",
        f'- topology: "{fabric}"',
        "  cluster_default: true",
        "  tree:",
        "    switches:",
    ]
    for entry in tree(plan, fabric):
        inside = f'nodes: "{fold(entry.nodes)}"' if entry.nodes else f'children: "{fold(entry.children)}"'
        lines += [f'      - switch: "{entry.name}"', f"        {inside}"]
    if racks and racks.sizes:
        lines += ['- topology: "nvlink"', "  cluster_default: false", "  block:", f"    block_sizes: [{', '.join(map(str, racks.sizes))}]", "    blocks:"]
        for rack, names in racks.racks.items():
            lines += [f'      - block: "{rack}"', f'        nodes: "{fold(names)}"']
    return "\n".join(lines) + "\n"
