"""Topology styles, one file each, and the explicit list of them."""

from __future__ import annotations

from collections.abc import Callable

from ...problems import Problem
from ..design import FabricSpec
from ..modes import Parts
from ..sizing import Size
from . import pair, rail, single

STYLES: dict[str, Callable[[FabricSpec, Parts, int, str], tuple[Size | None, list[Problem]]]] = {
    "rail": rail.size,
    "pair": pair.size,
    "single": single.size,
}
"""Style -> the function that sizes it."""


def size_fabric(spec: FabricSpec, parts: Parts, nodes: int, at: str) -> tuple[Size | None, list[Problem]]:
    """Size one fabric for `nodes` nodes (the final count); None with errors when it can't be built."""
    if spec.ufm_links and parts.leaf.protocol != "infiniband":
        return None, [Problem("ufm", f"{at}.ufm_links", "UFM manages InfiniBand, this fabric is Ethernet", fix="remove ufm_links")]
    if spec.ufm_links and parts.leaf.dedicated_ufm_port:
        return None, [Problem("ufm", f"{at}.ufm_links", f"{parts.leaf.model} has a port of its own for UFM; no leaf port is given up", fix="remove ufm_links")]
    if spec.rails_per_leaf != "auto" and parts.node.gpus % spec.rails_per_leaf:
        fits = [str(r) for r in range(1, parts.node.gpus + 1) if parts.node.gpus % r == 0]
        what = f"{spec.rails_per_leaf} rails per leaf do not divide the {parts.node.gpus} rails of {parts.node.model}"
        return None, [Problem("rails-per-leaf", f"{at}.rails_per_leaf", what, fix=f"use {', '.join(fits)} or auto")]
    if spec.style == "rail":
        return rail.size(spec, parts, nodes, at)
    for field, value in (("spines_per_plane", spec.spines_per_plane), ("nodes_per_su", spec.nodes_per_su if spec.nodes_per_su not in ("auto", "max") else None)):
        if value is not None:
            return None, [Problem("style", f"{at}.{field}", f"style {spec.style} has no SUs and no spines", fix=f"remove {field}, or use style rail")]
    if spec.tiers not in ("auto", 1):
        return None, [Problem("tiers", f"{at}.tiers", f"tiers {spec.tiers}, but style {spec.style} is one tier of switches", fix="remove tiers, or use style rail")]
    return STYLES[spec.style](spec, parts, nodes, at)
