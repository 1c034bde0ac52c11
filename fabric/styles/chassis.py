r"""Chassis: one modular switch in each plane carries every GPU port on its line cards.

chassis of plane 0   card 1: 1/1/1, 1/1/2, ...    card 2: 2/1/1, ...
                        |   \____________________   |
gpu-001  gpu-002  ...   both rails of a plane on the same chassis, card after card
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..sizing import Group, Sized
from . import single


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """All ports of a plane on one modular switch."""
    leaf = groups[0].parts.leaf
    if not leaf.cages_per_card:
        fix = "choose a switch with line cards, such as nvidia-cs9500, or use style single"
        return None, [Problem("chassis", f"{at}.switch", f"{leaf.model} is no modular switch", fix=fix)]
    return single.size(spec, groups, at)
