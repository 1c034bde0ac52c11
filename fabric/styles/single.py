r"""Single: one switch in each plane carries every GPU port; small clusters only.

leaf-p0           leaf-p1           one switch for each plane, no spines
  |    \___________/  |
  |  ____/    \____   |
gpu-001           gpu-002           both rails of a plane on the same switch
"""

from __future__ import annotations

from ...problems import Problem
from ..design import FabricSpec
from ..modes import Parts
from ..ports import port_count
from ..sizing import Size, fits


def size(spec: FabricSpec, parts: Parts, nodes: int, at: str) -> tuple[Size | None, list[Problem]]:
    rails, per_gpu = parts.node.gpus, parts.ports_per_gpu
    down = nodes * rails * per_gpu
    with_ufm = down + (rails * per_gpu if spec.ufm_links else 0)
    have = port_count(parts.leaf, parts.down)
    if not fits(spec, parts, with_ufm, 0):
        free = have - spec.reserved_ports.leaf - (with_ufm - down)
        what = f"{down:,} GPU ports in a plane, but one {parts.leaf.model} has {free} for them"
        return None, [
            Problem(
                "single",
                f"{at}.style" if spec.style == "single" else f"{at}.tiers",
                what,
                fix=f"use at most {free // (rails * per_gpu)} nodes, style rail, or a switch with more ports",
            )
        ]
    if spec.ufm_links > rails * per_gpu:
        return None, [Problem("ufm", f"{at}.ufm_links", f"{spec.ufm_links} UFM links, but a node position has {rails * per_gpu} ports", fix=f"use at most {rails * per_gpu}")]
    return Size(spec.style, 1, nodes, 1, rails, 1, with_ufm, 0, 0, 0, False), []
