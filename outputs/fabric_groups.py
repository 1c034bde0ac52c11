"""What the fabric picture shows: boxes and bundles of links, as coarse as the cluster's size asks for.

Small clusters show every device and pair of devices. Middling ones show every device, the nodes of an SU as one grid.
Large ones show one box for each SU's nodes and leaves and each plane's spines, and SUs that are alike as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE
from .svg import plural, spans

if TYPE_CHECKING:
    from ..plan import Plan

DEVICES_MAX = 150
"""More devices than this are drawn in groups."""
PAIRS_MAX, NODES_MAX = 100, 24
"""More pairs of joined devices, or nodes, than this: nodes of an SU stand in one grid."""
COLUMNS_MAX = 8
"""More SUs than this side by side are too small to read: alike ones are drawn as one."""
ROLES = ("node", "ufm", "leaf", "spine", "core")
"""From the bottom of the picture to its top."""


@dataclass(frozen=True)
class Box:
    """One device, or several alike. `name` is unique; group names hold a blank, so no host is called like one."""

    name: str
    role: str
    frame: str
    """Caption of the frame around it."""
    lines: tuple[str, ...]
    plane: int
    rails: tuple[int, ...]
    cells: tuple[str, ...] = ()
    """Names of the nodes it draws as a grid."""


@dataclass(frozen=True)
class Wire:
    """Links of one speed between two boxes; `a` is the lower one."""

    a: str
    b: str
    tier: str
    links: int
    gbps: int
    plane: int
    rails: tuple[int, ...]
    """Rails it serves; none above the leaf or when it serves all."""

    @property
    def label(self) -> str:
        """Number and speed: 8 x 400G."""
        return f"{self.links:,} x {self.gbps}G"


@dataclass(frozen=True)
class Sketch:
    """Boxes from left to right, wires, one note for each tier, and the words above the picture."""

    title: str
    facts: tuple[str, ...]
    boxes: tuple[Box, ...]
    wires: tuple[Wire, ...]
    tiers: Mapping[str, tuple[str, ...]]
    later: str
    """What growth will add; empty when nothing."""


def sketch(plan: Plan, fabric: str) -> Sketch:
    """Group present devices and their links, as finely as stays readable."""
    topology = plan.topology
    devices = topology.devices.filter(pl.col("fabric").is_in(["", fabric]))
    links = topology.links.filter(pl.col("fabric") == fabric)
    present = devices.filter("present")
    if present.height > DEVICES_MAX:
        held = _grouped(present, _folds(present, links))
    elif (present["role"] == "node").sum() <= NODES_MAX and links.select("a_dev", "b_dev").unique().height <= PAIRS_MAX:
        held = present.with_columns(box=pl.col("device"), su=_su_names(pl.col("pod")))
    else:
        grid = pl.col("role") == "node"
        held = present.with_columns(su=_su_names(pl.col("pod"))).with_columns(box=pl.when(grid).then(pl.col("su") + " nodes").otherwise("device"))
    gpus = {name: getattr(profile.part, "gpus", 0) for name, profile in topology.profiles.items()}
    boxes = _boxes(held, gpus)
    wires = _wires(held, links, topology.fabrics[fabric].rails)
    later = devices.filter(~pl.col("present"))
    tiers = {tier: _note(tier, [w for w in wires if w.tier == tier]) for tier in dict.fromkeys(w.tier for w in wires)}
    return Sketch(f"{plan.design.name}: {fabric} fabric", _facts(plan, fabric, present, links, gpus), boxes, wires, tiers, _counts(later))


def _su_names(pod: pl.Expr) -> pl.Expr:
    return pl.when(pod == NONE).then(pl.lit("")).otherwise(pl.format("SU {}", pod))


def _folds(devices: pl.DataFrame, links: pl.DataFrame) -> dict[int, str]:
    """SU number -> name of the column it is drawn in: its own, or one shared by SUs of the same devices and links."""
    pods = sorted(set(devices["pod"].to_list()) - {NONE})
    if len(pods) <= COLUMNS_MAX:
        return {pod: f"SU {pod}" for pod in pods}
    marks: dict[int, list[object]] = {pod: [] for pod in pods}
    for pod, *mark in devices.filter(pl.col("pod") != NONE).group_by("pod", "role", "plane").len().sort("pod", "role", "plane").iter_rows():
        marks[pod].append(tuple(mark))
    ends = devices.select("dev", "pod")
    for end in ("a_dev", "b_dev"):
        joined = links.join(ends, left_on=end, right_on="dev").filter(pl.col("pod") != NONE)
        for pod, *mark in joined.group_by("pod", "tier", "gbps").len().sort("pod", "tier", "gbps").iter_rows():
            marks[pod].append((end, *mark))
    alike: dict[tuple[object, ...], list[int]] = {}
    for pod in pods:
        alike.setdefault(tuple(marks[pod]), []).append(pod)
    columns = [[pods[0]], *([p for p in members if p != pods[0]] for members in alike.values())]
    columns = [c for c in columns if c]
    rest = sorted(p for c in columns[COLUMNS_MAX - 1 :] for p in c)
    named = {pod: f"{len(c):,} SUs alike: SU {spans(c)}" if len(c) > 1 else f"SU {c[0]}" for c in columns[: COLUMNS_MAX - 1] for pod in c}
    return named | {pod: f"{plural(len(rest), 'further SU')}, not alike: SU {spans(rest)}" if len(rest) > 1 else f"SU {pod}" for pod in rest}


def _grouped(devices: pl.DataFrame, folds: Mapping[int, str]) -> pl.DataFrame:
    """Add the box of each device: its SU's nodes, its SU's leaves of a plane, its plane's spines."""
    su = pl.col("pod").replace_strict({NONE: "", **folds}, return_dtype=pl.String)
    plane = pl.when(pl.col("plane") == NONE).then(pl.lit("")).otherwise(pl.format("plane {}", "plane"))
    if devices["plane"].max() == 0:
        plane = pl.lit("")
    return devices.with_columns(su=su).with_columns(box=pl.concat_str("su", pl.lit("all"), "role", plane, separator=" ").str.strip_chars())


def _boxes(held: pl.DataFrame, gpus: Mapping[str, int]) -> tuple[Box, ...]:
    """One box for each value of `box`, tier by tier from the bottom, in the order of SU, plane and index."""
    order = pl.col("role").replace_strict({role: n for n, role in enumerate(ROLES)}, return_dtype=pl.Int32)
    first_pod = pl.col("pod").min().over("box")
    several = bool((held["plane"] > 0).any())
    boxes = []
    for (name,), members in held.sort(order, first_pod, "plane", "dev").group_by("box", maintain_order=True):
        role, su, plane = members["role"][0], members["su"][0], members["plane"][0]
        names = members["device"].to_list()
        served = tuple(sorted({int(r) for rail in members["rail"] for r in rail.split("+") if r}))
        where = f"plane {plane}" if plane != NONE and several else ""
        count = sum(gpus.get(profile, 0) for profile in members["profile"])
        if str(name) == names[0]:
            note = plural(count, "GPU") if role == "node" else f"rail{'s' if len(served) > 1 else ''} {spans(served)}" if served else role
            lines = [names[0], note]
        else:
            note = plural(count, "GPU") if role == "node" else where
            lines = [plural(len(names), role), names[0], f".. {names[-1]}" if len(names) > 1 else "", note]
        frame = su or f"{'UFM servers' if role == 'ufm' else role + 's'}{', ' + where if where else ''}"
        cells = tuple(names) if role == "node" and str(name) == f"{su} nodes" else ()
        boxes.append(Box(str(name), role, frame, tuple(filter(None, lines)), plane, served, cells))
    return tuple(boxes)


def _wires(held: pl.DataFrame, links: pl.DataFrame, all_rails: int) -> tuple[Wire, ...]:
    ends = held.select("dev", "box")
    joined = links.join(ends.rename({"box": "a"}), left_on="a_dev", right_on="dev").join(ends.rename({"box": "b"}), left_on="b_dev", right_on="dev")
    counted = joined.group_by("a", "b", "tier", "gbps").agg(pl.len().alias("links"), pl.col("plane").min(), pl.col("rail").unique().sort(), pl.col("link").min()).sort("link")
    return tuple(
        Wire(a, b, tier, count, gbps, plane, tuple(r for r in rails if r != NONE and len(rails) < all_rails)) for a, b, tier, gbps, count, plane, rails, _ in counted.iter_rows()
    )


def _note(tier: str, wires: Sequence[Wire]) -> tuple[str, ...]:
    """Tier, total links by speed, and how many links one line of the picture stands for."""
    totals: dict[int, int] = {}
    for wire in wires:
        totals[wire.gbps] = totals.get(wire.gbps, 0) + wire.links
    low, high = min(w.links for w in wires), max(w.links for w in wires)
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (tier, *(f"{count:,} links x {gbps}G" for gbps, count in totals.items()), f"a line: {each} link{'s' if high > 1 else ''}")


def _counts(devices: pl.DataFrame) -> str:
    return ", ".join(plural(count, role) for role in ROLES if (count := int((devices["role"] == role).sum())))


def _facts(plan: Plan, fabric: str, present: pl.DataFrame, links: pl.DataFrame, gpus: Mapping[str, int]) -> tuple[str, ...]:
    facts = plan.topology.fabrics[fabric]
    total = sum(gpus.get(profile, 0) * count for profile, count in present.filter(pl.col("role") == "node").group_by("profile").len().iter_rows())
    tiers = ", ".join(f"{count:,} {tier} links of {gbps}G" for tier, gbps, count in links.group_by("tier", "gbps", maintain_order=True).len().iter_rows())
    models = " and ".join(dict.fromkeys((facts.leaf_model, facts.spine_model)))
    shape = f"{plural(facts.tiers, 'tier')}, {plural(facts.planes, 'plane')}, {plural(facts.rails, 'rail')}"
    ratio = f"oversubscription {float(facts.oversubscription):g}:1" + (" (non-blocking)" if facts.oversubscription == 1 else "")
    proof = plan.proofs.get(fabric)
    proved = ""
    if proof is not None and proof.by_flow_gbps:
        proved = f"; bisection {proof.by_flow_gbps / 1000:,.1f} Tb/s by maximum flow, {proof.by_count_gbps / 1000:,.1f} by count, {proof.required_gbps / 1000:,.1f} required"
    return (f"{_counts(present)}, {plural(total, 'GPU')}; {tiers}.", f"{facts.family}, {models}, style {facts.style}: {shape}, {ratio}{proved}.")
