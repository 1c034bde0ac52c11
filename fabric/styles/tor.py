r"""Tor: a switch in the rack with all rails of its nodes on it, so that copper reaches; not rail-optimised.

spine-01          spine-02          every leaf to every spine
  | \______________ / |
  |  ____________/\   |
leaf-su0          leaf-su1          one leaf for a few nodes, in their rack
  ||                ||
gpu-001           gpu-002           both rails on the leaf of the rack
"""

from __future__ import annotations

from collections.abc import Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..sizing import Group, Shape, Sized
from .clos import fewest_tiers


def size(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """All rails of a node on one leaf."""
    problems = all_rails(spec, groups, at)
    return (None, problems) if problems else fewest_tiers(spec, groups, [Shape((g.parts.rails,)) for g in groups], "tor", at, by_rail=False)


def all_rails(spec: FabricSpec, groups: Sequence[Group], at: str) -> list[Problem]:
    """What a style with all rails of a node on a leaf cannot do; `dual-tor` shares it."""
    if spec.tiers == 1:
        return [Problem("tiers", f"{at}.tiers", f"tiers 1, but style {spec.style} joins its leaves by spines", fix="remove tiers, or use style single")]
    if spec.rails_per_leaf not in ("auto", groups[0].parts.rails):
        return [
            Problem(
                "rails-per-leaf",
                f"{at}.rails_per_leaf",
                f"style {spec.style} puts all {groups[0].parts.rails} rails on a leaf, not {spec.rails_per_leaf}",
                fix="remove rails_per_leaf",
            )
        ]
    if spec.spine_groups == "rail":
        return [Problem("spine-groups", f"{at}.spine_groups", f"style {spec.style} has no leaf for a rail, so no spines for one", fix="remove spine_groups, or use style rail")]
    return []
