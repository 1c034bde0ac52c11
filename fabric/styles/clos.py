"""Shared by the styles with leaves and tiers above them: the fewest tiers that fit, and the refusal where none does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ...problems import Problem
from ..design import FabricSpec
from ..ports import port_count
from ..sizing import Block, Group, Shape, Size, Sized, block_choices, largest_su, whole_racks
from ..tiers import any_group, core_radix, spine_radix, three_tiers, two_tiers


def fewest_tiers(spec: FabricSpec, groups: Sequence[Group], shapes: Sequence[Shape], style: str, at: str, by_rail: bool) -> Sized:
    """Size with two tiers, or with three where two are too small (or as the design asks)."""
    attempts, problems = _attempts(groups, shapes)
    if not attempts:
        return None, problems or [_no_leaf(groups[0], at)]
    parts = groups[0].parts
    if spec.tiers in ("auto", 2):
        for blocks, found in attempts:
            size, problems = two_tiers(spec, parts, blocks, at, style)
            if size or problems:
                return size, found + problems
    if spec.tiers == 2:
        return None, [_two_end(spec, groups, shapes, at)]
    for blocks, found in attempts:
        size, problems = three_tiers(spec, parts, blocks, at, style, by_rail)
        if size or problems:
            return size, found + problems
    return None, [_three_end(spec, groups, shapes, at, by_rail)]


def _attempts(groups: Sequence[Group], shapes: Sequence[Shape]) -> tuple[list[tuple[tuple[Block, ...], list[Problem]]], list[Problem]]:
    """Choices of blocks, one for each kind of node, best first; problems when a kind has none."""
    columns = []
    for group, shape in zip(groups, shapes, strict=True):
        choices = list(block_choices(group, shape))
        blocks = [(b, p) for b, p in choices if b is not None]
        if not blocks:
            return [], [p for _, problems in choices for p in problems]
        columns.append(blocks)
    rows = []
    for row in zip_longest(*columns):
        chosen = [pair or column[-1] for pair, column in zip(row, columns, strict=True)]
        rows.append((tuple(b for b, _ in chosen), [p for _, problems in chosen for p in problems]))
    return rows, []


def _no_leaf(group: Group, at: str) -> Problem:
    spec, parts = group.spec, group.parts
    ports = port_count(parts.leaf, parts.down)
    what = f"a leaf of {ports} ports of {parts.down} cannot carry one {parts.node.model} and its uplinks"
    return Problem("leaf-too-small", f"{at}.switch", what, "", f"choose a switch with more ports, fewer rails per leaf{_reserved(spec)}")


def _reserved(spec: FabricSpec) -> str:
    """Advice for designs that keep ports free."""
    kept = spec.reserved_ports
    return ", or reserve fewer ports" if kept.leaf or kept.spine or kept.core else ""


def _carried(spec: FabricSpec, group: Group, shape: Shape) -> tuple[int, int]:
    """(nodes of an SU, leaves of an SU) at the shape's last share and the largest SU."""
    share = shape.shares[-1]
    parts = group.parts
    asked = spec.nodes_per_su
    widest = largest_su(spec, parts, share * parts.ports_per_gpu // shape.sides, spec.oversubscription)
    per_su = int(asked) if asked not in ("auto", "max") else whole_racks(parts, widest)
    return per_su, parts.rails // share * shape.sides


def _gpu_ports(groups: Sequence[Group]) -> int:
    return sum(g.nodes * g.parts.rails * g.parts.ports_per_gpu for g in groups)


def _two_end(spec: FabricSpec, groups: Sequence[Group], shapes: Sequence[Shape], at: str) -> Problem:
    group, parts, radix = groups[0], groups[0].parts, spine_radix(spec, groups[0].parts)
    per_su, leaves_per_pod = _carried(spec, group, shapes[0])
    pods = radix // leaves_per_pod
    carried, ports = pods * per_su * parts.rails * parts.ports_per_gpu, port_count(parts.leaf, parts.down)
    what = f"{_gpu_ports(groups):,} GPU ports, but two tiers of a {ports}-port switch carry {carried:,}"
    plain = spec.oversubscription == 1 and spec.nodes_per_su in ("auto", "max") and carried * 2 == ports * radix
    why = f"two non-blocking tiers end at {ports} x {radix} / 2" if plain else f"a spine of {radix} ports joins at most {radix} leaves: {pods} SUs of {per_su} nodes"
    return Problem("two-tiers-end", at, what, why, "set tiers: 3, or choose a switch with more ports")


def _three_end(spec: FabricSpec, groups: Sequence[Group], shapes: Sequence[Shape], at: str, by_rail: bool) -> Problem:
    group, parts = groups[0], groups[0].parts
    per_su, _ = _carried(spec, group, shapes[0])
    most = _most_pods(group, shapes[0], by_rail)
    carried = most * per_su * parts.rails * parts.ports_per_gpu
    ports = port_count(parts.leaf, parts.down)
    what = f"{_gpu_ports(groups):,} GPU ports in a plane, but three tiers of a {ports}-port switch carry {carried:,}"
    why = f"{most:,} SUs of {per_su} nodes are the most that {spine_radix(spec, parts)}-port spines and {core_radix(spec, parts)}-port cores join evenly"
    if most:
        fix = f"use at most {most * per_su:,} nodes, more planes, a higher oversubscription, or a switch with more ports"
    else:
        usable = f"{spine_radix(spec, parts)} usable spine and {core_radix(spec, parts)} usable core ports"
        what = f"{_gpu_ports(groups):,} GPU ports in a plane, but no even spread over {usable} joins two SUs"
        fix = f"choose switches with more ports{_reserved(spec)}"
    return Problem("three-tiers-end", at, what, why, fix)


def _most_pods(group: Group, shape: Shape, by_rail: bool) -> int:
    """Most full SUs that three tiers join, by bisection."""
    per_su, _ = _carried(group.spec, group, shape)
    if not per_su:
        return 0
    plain = group.spec.model_copy(update={"nodes_per_su": per_su, "spines_per_plane": None, "ufm_links": 0, "partial_su": "full"})

    def good(pods: int) -> Size | None:
        for block, _ in block_choices(Group(plain, group.parts, pods * per_su, group.at), Shape(shape.shares[-1:], shape.sides)):
            if block is not None:
                return any_group(plain, group.parts, (block,), "rail", by_rail)
        return None

    low, high = 0, 1
    while high < 1_000_000 and good(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low
