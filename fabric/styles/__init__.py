"""Topology styles, one file each, and the explicit list of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...problems import Problem
from ..design import FabricSpec
from ..sizing import Group, Sized
from . import chassis, dual_tor, pair, rail, rail_only, single, tor

STYLES: dict[str, Callable[[FabricSpec, Sequence[Group], str], Sized]] = {
    "rail": rail.size,
    "rail-only": rail_only.size,
    "tor": tor.size,
    "dual-tor": dual_tor.size,
    "pair": pair.size,
    "single": single.size,
    "chassis": chassis.size,
}
"""Style -> the function that sizes it."""

ONE_TIER = ("pair", "single", "chassis")
"""Styles without SUs and spines."""


def size_fabric(spec: FabricSpec, groups: Sequence[Group], at: str) -> Sized:
    """Size one fabric for its final cluster; None with errors when it can't be built."""
    parts = groups[0].parts
    if spec.ufm_links and parts.leaf.protocol != "infiniband":
        return None, [Problem("ufm", f"{at}.ufm_links", "UFM manages InfiniBand, this fabric is Ethernet", fix="remove ufm_links")]
    if spec.ufm_links and parts.leaf.dedicated_ufm_port:
        return None, [Problem("ufm", f"{at}.ufm_links", f"{parts.leaf.model} has a port of its own for UFM; no leaf port is given up", fix="remove ufm_links")]
    if spec.style != "pair" and spec.rails_per_leaf != "auto" and parts.rails % spec.rails_per_leaf:
        fits = [str(r) for r in range(1, parts.rails + 1) if parts.rails % r == 0]
        what = f"{spec.rails_per_leaf} rails per leaf do not divide the {parts.rails} rails of {parts.node.model}"
        return None, [Problem("rails-per-leaf", f"{at}.rails_per_leaf", what, fix=f"use {', '.join(fits)} or auto")]
    if spec.style in ONE_TIER:
        for field, value in (("spines_per_plane", spec.spines_per_plane), ("nodes_per_su", spec.nodes_per_su if spec.nodes_per_su not in ("auto", "max") else None)):
            if value is not None:
                return None, [Problem("style", f"{at}.{field}", f"style {spec.style} has no SUs and no spines", fix=f"remove {field}, or use style rail")]
        if spec.tiers not in ("auto", 1):
            return None, [Problem("tiers", f"{at}.tiers", f"tiers {spec.tiers}, but style {spec.style} is one tier of switches", fix="remove tiers, or use style rail")]
    size, problems = STYLES[spec.style](spec, groups, at)
    return size, problems + (_unused(spec, size.tiers, at) if size else [])


def _unused(spec: FabricSpec, tiers: int, at: str) -> list[Problem]:
    """Warnings for fields of the design that say something of a tier that the fabric does not have."""
    plain = FabricSpec(family=spec.family)
    of_cores = ("core_switch", "core_oversubscription", "spine_groups", "sus_per_group") if tiers < 3 else ()
    of_spines = ("spine_switch",) if tiers < 2 else ()
    given = [name for name in (*of_spines, *of_cores) if getattr(spec, name) != getattr(plain, name)]
    words = "one tier" if tiers == 1 else "two tiers"
    return [
        Problem("unused-field", f"{at}.{name}", f"{name} says nothing of a fabric of {words}", "it is ignored", f"remove {name}, or ask for more tiers", "warning")
        for name in given
    ]
