"""The compute fabric as Slurm's tree: a switch for each SU, one for each group of SUs, one root for each connected fabric.

In a rail-optimised fabric a node touches a leaf on every rail. With one entry for each physical leaf Slurm starts, and then
jobs that ask for one switch wait forever; the SU is what "one switch" means here, so the SU is the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ..fabric.tables import TIERS
from ..vendors.models import Node

if TYPE_CHECKING:
    from ..plan import Plan

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class TreeSwitch:
    """One entry of the tree: its nodes or its child switches in order, and what stands for it in the fabric."""

    name: str
    nodes: tuple[str, ...]
    children: tuple[str, ...]
    remark: str


def gpu_nodes(plan: Plan) -> pl.DataFrame:
    """Present nodes with GPUs, SU by SU, with the column `gpus`; others on the fabric are storage or service, not for jobs."""
    gpus = {name: profile.part.gpus for name, profile in plan.topology.profiles.items() if isinstance(profile.part, Node)}
    nodes = plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "node"))
    count = pl.col("profile").replace_strict(gpus, default=0, return_dtype=pl.Int32)
    return nodes.with_columns(count.alias("gpus")).filter(pl.col("gpus") > 0).sort("pod", "index", "dev")


def tree(plan: Plan, fabric: str = "compute") -> list[TreeSwitch]:
    """Entries of the tree, children before their parents."""
    members: dict[int, tuple[str, ...]] = {}
    first: dict[int, int] = {}
    for (pod,), group in gpu_nodes(plan).group_by("pod", maintain_order=True):
        members[pod], first[pod] = tuple(group["device"]), group["dev"][0]
    switches = plan.topology.devices.filter(pl.col("present") & (pl.col("fabric") == fabric))
    near, whole = _pieces(plan, fabric, [tier for tier in TIERS if tier != "spine-core"]), _pieces(plan, fabric, TIERS)
    groups, roots = _alike(first, near), _alike(first, whole)
    su_name = _names("su", range(int(plan.topology.devices["pod"].max()) + 1))  # type: ignore[arg-type]
    group_name = dict(zip(groups, _names("group", range(len(groups))).values(), strict=True))
    root_name = dict(zip(roots, _names(fabric, range(len(roots))).values() if len(roots) > 1 else [fabric], strict=True))
    entries: list[TreeSwitch] = []
    for piece, pods in roots.items():
        root = root_name[piece]
        names = {pod: su_name[pod] for pod in pods} if len(pods) > 1 else {pods[0]: root}
        entries += [TreeSwitch(name, members[pod], (), _leaves(switches, pod)) for pod, name in names.items()]
        inside = {g: own for g, own in groups.items() if own[0] in names}
        below = list(names.values())
        if len(inside) > 1 and max(map(len, inside.values())) > 1:
            entries += [TreeSwitch(group_name[g], (), tuple(names[pod] for pod in own), _count(switches, "spine", near == g, "its SUs")) for g, own in inside.items()]
            below = [group_name[g] for g in inside]
        if len(pods) > 1:
            top = "core" if (switches.filter(pl.Series(whole[switches["dev"].to_numpy()] == piece))["role"] == "core").any() else "spine"
            entries.append(TreeSwitch(root, (), tuple(below), _count(switches, top, whole == piece, "all groups" if len(below) < len(pods) else "all SUs")))
    return entries


def _pieces(plan: Plan, fabric: str, tiers: Sequence[str]) -> Ints:
    """For each device the number of the piece it is in, when only links of these tiers join devices."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = plan.topology.devices.height
    present = plan.topology.devices["present"].to_numpy()
    links = plan.topology.links.filter((pl.col("fabric") == fabric) & pl.col("tier").is_in(tiers)).select("a_dev", "b_dev").to_numpy().astype(np.int64)
    a, b = links[present[links].all(axis=1)].T
    return np.asarray(connected_components(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(count, count)), directed=False)[1], np.int64)


def _alike(first: Mapping[int, int], pieces: Ints) -> dict[int, list[int]]:
    """Piece -> its pods, in pod order; `first` gives a node of each pod."""
    found: dict[int, list[int]] = {}
    for pod, dev in first.items():
        found.setdefault(int(pieces[dev]), []).append(pod)
    return found


def _names(word: str, numbers: range) -> dict[int, str]:
    """Number -> name, of equal width so that they fold."""
    return {n: f"{word}{n:0{len(str(numbers[-1]))}d}" for n in numbers}


def _leaves(switches: pl.DataFrame, pod: int) -> str:
    own = switches.filter((pl.col("role") == "leaf") & (pl.col("pod") == pod)).sort("plane", "index")
    return f"physical leaves {', '.join(own['device'])}"


def _count(switches: pl.DataFrame, role: str, inside: Bools, joined: str) -> str:
    count = switches.filter(pl.Series(inside[switches["dev"].to_numpy()]) & (pl.col("role") == role)).height
    return f"{count} {role}s join {joined}" if count else f"joins {joined}"
