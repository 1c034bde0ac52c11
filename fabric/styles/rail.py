r"""Rail: GPU k of every node of an SU on one leaf, spines above; planes are separate copies.

    spine-01          spine-02          every leaf to every spine, the same number of links
      | \______________ / |
      |  ____________/\   |
    leaf-su0-r0       leaf-su0-r1       one leaf for each rail and SU
      |    \___________/  |
      |  ____/    \____   |
    gpu-001           gpu-002           rail 0 to leaf r0, rail 1 to leaf r1

In three tiers the leaves of a rail have spines of their own in each group of SUs (published for 512 DGX H100).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..sizing import Group, Shape, Sized
from . import single
from .clos import fewest_tiers


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """One switch where it holds everything, else leaves and the fewest tiers above them."""
    first = groups[0].parts
    free = spec.rails_per_leaf in ("auto", first.rails) and spec.nodes_per_su in ("auto", "max") and not spec.spines_per_plane
    if len(groups) == 1 and spec.tiers in ("auto", 1) and free:
        one = single.size(spec, groups, at)
        if one[0] or spec.tiers == 1:
            return one
    if spec.tiers == 1:
        return None, [
            Problem(
                "tiers",
                f"{at}.tiers",
                "tiers 1, but the design asks for leaves or nodes that take more",
                fix="remove tiers, or what makes SUs: nodes_per_su, spines_per_plane, rails_per_leaf, more_nodes",
            )
        ]
    shapes = [Shape(shares(group)) for group in groups]
    return fewest_tiers(spec, groups, shapes, "rail", at, by_rail=spec.spine_groups != "shared")


def shares(group: Group) -> tuple[int, ...]:
    """Rails on a leaf, most first, one last; nodes without GPUs have all their ports on one leaf."""
    rails = group.parts.rails
    if not group.parts.node.gpus:
        return (rails,)
    if group.spec.rails_per_leaf != "auto":
        return (group.spec.rails_per_leaf,)
    return tuple(r for r in range(rails // 2 or 1, 0, -1) if rails % r == 0)
