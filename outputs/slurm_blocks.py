"""Slurm's topology/block for NVL72: the trays of one rack share NVLink, so a rack is a block.

The file has a name of its own, for Slurm loads one topology.conf, and the tree is the one that every release reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import __version__
from ..vendors.models import Node
from .hostlist import fold
from .slurm_tree import gpu_nodes

if TYPE_CHECKING:
    from ..plan import Plan

DOMAIN = "nvl72"
"""In the model name of trays that share NVLink with their whole rack."""


@dataclass(frozen=True)
class Blocks:
    """Racks of trays as blocks, in node order, and the block sizes to enforce; no sizes when racks are not whole domains."""

    per_rack: int
    racks: dict[str, tuple[str, ...]]
    """Rack -> its nodes; whole racks only."""
    short: dict[str, tuple[str, ...]]
    """Racks that hold fewer trays than a domain: no block may be smaller than the base size."""
    sizes: tuple[int, ...]


def blocks(plan: Plan) -> Blocks | None:
    """Blocks of the plan's NVL72 trays by the racks of its placement; None when it has none.

    One rack may be part filled, as the last of a cluster; with more of them the hall does not build NVL72 racks.
    """
    trays = {name: profile.part for name, profile in plan.topology.profiles.items() if isinstance(profile.part, Node) and DOMAIN in profile.part.model and profile.part.per_rack}
    if not trays:
        return None
    per_rack = max(max(tray.per_rack) for tray in trays.values())
    racks: dict[str, list[str]] = {}
    pods: dict[str, int] = {}
    places = plan.placement.places["rack"]
    for dev, name, profile, pod in gpu_nodes(plan).select("dev", "device", "profile", "pod").iter_rows():
        if profile in trays:
            racks.setdefault(places[dev], []).append(name)
            pods[places[dev]] = pod
    whole = {rack: tuple(names) for rack, names in racks.items() if len(names) >= per_rack}
    short = {rack: tuple(names) for rack, names in racks.items() if len(names) < per_rack}
    fits = bool(whole) and len(short) <= 1
    return Blocks(per_rack, whole, short, _sizes(per_rack, [pods[rack] for rack in whole]) if fits else ())


def _sizes(base: int, pods: list[int]) -> tuple[int, ...]:
    """The base size, and the SU where all of them hold the same power of two of racks (the last one may hold fewer)."""
    racks = [pods.count(pod) for pod in dict.fromkeys(pods)]
    alike = len(racks) > 1 and racks[0] > 1 and racks[0].bit_count() == 1 and set(racks[:-1]) == {racks[0]} and racks[-1] <= racks[0]
    return (base, base * racks[0]) if alike else (base,)


def topology_block_conf(plan: Plan, found: Blocks) -> str:
    """Text of the block form, for Slurm 24.05 and later."""
    lines = [
        f"# Slurm topology/block of {plan.design.name}: one block is one NVL72 rack, {found.per_rack} trays on one NVLink.",
        f"# Written by railplan {__version__}. To use it: Slurm 24.05 or later, TopologyPlugin=topology/block, this file as topology.conf in place of the tree.",
        f"# BlockSizes={found.per_rack} needs every tray of a block; where two trays of a rack are spares, begin with {found.per_rack - 2}.",
    ]
    for rack, names in found.short.items():
        lines.append(f"# Left out: rack {rack} has {len(names)} of {found.per_rack} trays, and no block may be smaller than the base size: {fold(names)}")
    lines += [f"BlockName={rack} Nodes={fold(names)}" for rack, names in found.racks.items()]
    lines.append(f"BlockSizes={','.join(map(str, found.sizes))}")
    return "\n".join(lines) + "\n"
