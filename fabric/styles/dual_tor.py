r"""Dual-tor: the two ports of every NIC on two leaves of the same plane, a pair in the rack that shares its spines.

spine-01          spine-02          every leaf to every spine
  | \______________ / |
  |  ____________/\   |
leaf-su0-a        leaf-su0-b        a pair of leaves for a few nodes, in their rack
  ||  \____________ / ||
  ||  ____________/\  ||
gpu-001           gpu-002           port 1 of every NIC to a, port 2 to b
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..sizing import Group, Shape, Sized
from .clos import fewest_tiers
from .tor import all_rails


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """All rails of a node on a pair of leaves, one port of each NIC on either."""
    problems = all_rails(spec, groups, at)
    for group in groups:
        parts = group.parts
        if parts.ports_per_gpu % 2:
            planes = f"{parts.planes} plane{'s' if parts.planes > 1 else ''}"
            what = f"{parts.nic.name} NICs of {parts.node.model} have {parts.ports_per_gpu} port in each of {planes}, dual-tor needs two"
            first = "set planes: 1 for NICs that run two ports" if parts.planes > 1 else "choose a node whose NICs run two ports"
            problems.append(Problem("dual-tor", f"{at}.style", what, fix=f"{first}, or use style tor"))
    if problems:
        return None, problems
    return fewest_tiers(spec, groups, [Shape((g.parts.rails,), sides=2) for g in groups], "dual-tor", at, by_rail=False)
