r"""Single: one switch in each plane carries every GPU port; small clusters only.

leaf-p0           leaf-p1           one switch for each plane, no spines
  |    \___________/  |
  |  ____/    \____   |
gpu-001           gpu-002           both rails of a plane on the same switch
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..ports import port_count
from ..sizing import Block, Group, Size, Sized, fits


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """All ports of a plane on one switch."""
    group = groups[0]
    parts, nodes = group.parts, group.nodes
    each = parts.rails * parts.ports_per_gpu
    down = nodes * each
    with_ufm = down + (each if spec.ufm_links else 0)
    if len(groups) > 1:
        return None, [Problem("style", "more_nodes", f"style {spec.style} joins one kind of node", fix="remove more_nodes, or use style rail")]
    if not fits(spec, parts, with_ufm, 0):
        free = port_count(parts.leaf, parts.down) - spec.reserved_ports.leaf - (with_ufm - down)
        what = f"{down:,} GPU ports in a plane, but one {parts.leaf.model} has {free:,} for them"
        where = f"{at}.style" if spec.style in ("single", "chassis") else f"{at}.tiers"
        return None, [Problem("single", where, what, fix=f"use at most {free // each} nodes, style rail, or a switch with more ports")]
    if spec.ufm_links > each:
        return None, [Problem("ufm", f"{at}.ufm_links", f"{spec.ufm_links} UFM links, but a node position has {each} ports", fix=f"use at most {each}")]
    block = Block(nodes, nodes, parts.rails, parts.rails, 1, each, with_ufm, 0, 0, 0)
    return Size(spec.style, 1, (block,), (0,), (0,)), []
