r"""Rail-only: every rail is a fabric of its own; GPUs of different rails meet over NVLink inside a node.

    leaf-su0-r0       leaf-su0-r1       no spines while a leaf holds every node
      |    \___________/  |
      |  ____/    \____   |
    gpu-001           gpu-002           GPU 0 of gpu-001 reaches GPU 1 of gpu-002 through GPU 1 (or 0) of its own node

With more nodes than a leaf has ports, each rail gets leaves and spines of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..ports import port_count
from ..sizing import Block, Group, Shape, Size, Sized, block_choices, largest_without_uplinks
from ..tiers import spine_radix, two_tiers


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """One leaf for each rail while it holds all nodes; else a two-tier tree for each rail."""
    group = groups[0]
    parts, per_gpu = group.parts, group.parts.ports_per_gpu
    if len(groups) > 1 or spec.ufm_links or spec.rails_per_leaf not in ("auto", 1):
        what = "style rail-only joins one kind of GPU node, one rail to a leaf, without UFM links"
        return None, [Problem("rail-only", f"{at}.style", what, fix="remove more_nodes, ufm_links and rails_per_leaf, or use style rail")]
    most = largest_without_uplinks(spec, parts, per_gpu)
    if group.nodes <= most and spec.tiers in ("auto", 1) and spec.nodes_per_su in ("auto", "max") and not spec.spines_per_plane:
        down = group.nodes * per_gpu
        return Size("rail-only", 1, (Block(group.nodes, group.nodes, parts.rails, 1, 1, per_gpu, down, 0, 0, 0),), (0,), (0,), by_rail=True), []
    if spec.tiers in (1, 3):
        what = f"{group.nodes:,} nodes in {spec.tiers} tiers, but a leaf of {port_count(parts.leaf, parts.down)} ports holds {most} and more take two"
        return None, [Problem("rail-only", f"{at}.tiers", what, fix="remove tiers")]
    for block, problems in block_choices(group, Shape((1,))):
        if block is None:
            return None, problems
        found, more = two_tiers(spec, parts, (block,), at, "rail-only", by_rail=True)
        if found or more:
            return found, problems + more
    ports, radix = port_count(parts.leaf, parts.down), spine_radix(spec, parts)
    what = f"{group.nodes * per_gpu:,} ports on each rail, but two tiers of a {ports}-port switch carry {ports * radix // 2:,}"
    return None, [Problem("two-tiers-end", at, what, f"two non-blocking tiers end at {ports} x {radix} / 2", "use style rail, more planes, or a switch with more ports")]
