r"""Pair: two switches in each plane, half of the rails on each, joined by inter-switch links.

    leaf-su0-r0 ===== leaf-su0-r1       inter-switch links: half of the GPU links
      |    \___________/  |
      |  ____/    \____   |
    gpu-001           gpu-002           rail 0 to the left switch, rail 1 to the right

The NVIDIA enterprise reference wiring of 12 nodes (96 GPU links, 48 inter-switch links) is this style.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..ports import port_count
from ..sizing import Block, Group, Size, Sized, fits, largest_su, least_uplinks


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """Half of the rails on either switch, and as many links between them as one switch has GPU links."""
    parts, nodes = groups[0].parts, groups[0].nodes
    rails, per_gpu = parts.rails, parts.ports_per_gpu
    if len(groups) > 1:
        return None, [Problem("style", "more_nodes", "style pair joins one kind of node", fix="remove more_nodes, or use style rail")]
    if rails % 2:
        return None, [Problem("pair", f"{at}.style", f"{rails} rails cannot be halved over two switches", fix="use style single or rail")]
    if spec.ufm_links:
        return None, [Problem("ufm", f"{at}.ufm_links", "style pair plans no UFM links", fix="use style rail or single, or remove ufm_links")]
    if spec.rails_per_leaf not in ("auto", rails // 2):
        return None, [Problem("rails-per-leaf", f"{at}.rails_per_leaf", f"a pair puts {rails // 2} rails on each switch, not {spec.rails_per_leaf}", fix="remove rails_per_leaf")]
    each = rails // 2 * per_gpu
    down = nodes * each
    between = least_uplinks(parts, down, spec.oversubscription)
    if not fits(spec, parts, down, between):
        most = largest_su(spec, parts, each, spec.oversubscription)
        what = f"{down:,} GPU ports and {between:,} inter-switch links on each switch of a pair, but {parts.leaf.model} has {port_count(parts.leaf, parts.down)} ports"
        return None, [Problem("pair", f"{at}.style", what, "inter-switch links are half of the GPU links", f"use at most {most} nodes, style rail, or a switch with more ports")]
    block = Block(nodes, nodes, rails, rails // 2, 1, each, down, between, between, between)
    return Size("pair", 1, (block,), (between,), (between,)), []
