"""Sizing above the leaves: spines, spine groups and cores, always with an even spread.

Two tiers: the fewest spines d that divide the uplinks of every leaf and have ports for all of them.
Three tiers: spines come in groups (of some SUs, for each rail or shared); spine j of every group meets core group j,
and spreads its uplinks evenly over it.

                 core-g1-01 ... core-g1-16        core-g4-01 ... core-g4-16
                     |  every spine 1 of all groups       |  every spine 4
    spine-g0-r0-01 ... spine-g0-r0-04             spine-g1-r0-01 ... spine-g1-r0-04
          |      \\ /      |                             group 1: SUs 4 to 7, rail 0
    leaf-su0-r0 ... leaf-su3-r0                   group 0: SUs 0 to 3, rail 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..problems import Problem
from .design import FabricSpec
from .modes import Parts
from .ports import Want, assign, port_count
from .sizing import Block, Size, Sized, multiple


def spine_radix(spec: FabricSpec, parts: Parts) -> int:
    """Ports of a spine that may be used."""
    return port_count(parts.spine, parts.up) - spec.reserved_ports.spine


def core_radix(spec: FabricSpec, parts: Parts) -> int:
    """Ports of a core that may be used."""
    return port_count(parts.core, parts.up) - spec.reserved_ports.core


def uplinks_for(blocks: Sequence[Block], spines: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(uplinks, uplinks of the last SU) of every block that share `spines` evenly; None if a leaf has too few ports."""
    ups = tuple(multiple(b.least_uplinks, spines) for b in blocks)
    if any(up > b.most_uplinks for up, b in zip(ups, blocks, strict=True)):
        return None
    return ups, tuple(min(up, multiple(b.last_least_uplinks, spines)) for up, b in zip(ups, blocks, strict=True))


def with_spines(blocks: tuple[Block, ...], spines: int, radix: int, style: str, by_rail: bool) -> Size | None:
    """Two tiers with that many spines (by_rail: in each of the rows) of `radix` ports; None when they cannot be shared evenly."""
    found = uplinks_for(blocks, spines)
    if found is None or most_load(blocks, *found, by_rail) > spines * radix:
        return None
    return Size(style, 2, blocks, *found, by_rail=by_rail, spines=spines, spine_down=max(most_load(blocks, *found, by_rail) // spines, 1))


def spine_counts(blocks: tuple[Block, ...], radix: int, style: str, by_rail: bool) -> Iterator[Size]:
    """Every two-tier size, the fewest spines first."""
    top = min(b.most_uplinks for b in blocks)
    return (size for d in range(1, top + 1) if (size := with_spines(blocks, d, radix, style, by_rail)))


def two_tiers(spec: FabricSpec, parts: Parts, blocks: tuple[Block, ...], at: str, style: str, by_rail: bool = False) -> Sized:
    """Spines over all leaves (by_rail: over those of each row apart); (None, []) when there are too many leaves."""
    radix = spine_radix(spec, parts)
    if not spec.spines_per_plane:
        return next(spine_counts(blocks, radix, style, by_rail), None), []
    asked, groups = spec.spines_per_plane, blocks[0].rows if by_rail else 1
    size = with_spines(blocks, asked // groups, radix, style, by_rail) if asked >= groups and asked % groups == 0 else None
    possible = [other.spines * groups for other in spine_counts(blocks, radix, style, by_rail)] if size is None else []
    return size, [_uneven(blocks, asked, groups, radix, possible, by_rail, f"{at}.spines_per_plane")] if possible else []


def most_load(blocks: Sequence[Block], ups: Sequence[int], lasts: Sequence[int], by_rail: bool) -> int:
    """Spine ports that the leaves of the fullest spine group ask for."""
    loads = [((b.pods - 1) * up + last) * b.sides * (1 if by_rail else b.rows) for b, up, last in zip(blocks, ups, lasts, strict=True)]
    return max(loads) if by_rail else sum(loads)


def _uneven(blocks: Sequence[Block], asked: int, groups: int, radix: int, possible: Sequence[int], by_rail: bool, where: str) -> Problem:
    near = sorted(sorted(possible, key=lambda d: abs(d - asked))[:4])
    each = asked // groups
    found = uplinks_for(blocks, each) if asked % groups == 0 and each else None
    if asked % groups:
        why = f"{groups} rails have spines of their own, and {asked} is no multiple of {groups}"
    elif found is None:
        tight = next(b for b in blocks if multiple(b.least_uplinks, each) > b.most_uplinks)
        upto = f" and up to {tight.most_uplinks}" if tight.most_uplinks > tight.least_uplinks else ""
        why = f"a leaf has {tight.least_uplinks} uplinks{upto}, which is no multiple of {each}"
    else:
        load = most_load(blocks, *found, by_rail)
        why = f"{sum(b.leaves for b in blocks) // groups} leaves need {load:,} spine ports, {each} spines have {each * radix:,}"
    return Problem("spine-count", where, f"{asked} spines per plane cannot spread the uplinks evenly", why, f"use {', '.join(map(str, near))}, or leave spines_per_plane out")


@dataclass(frozen=True)
class Group3:
    """One kind of spine group: how many there are, and the ports its leaves ask of each spine."""

    count: int
    down: int


def spine_groups(size: Size) -> Iterator[Group3]:
    """Spine groups of a three-tier size, full ones and the last of each block."""
    for block, up, last in zip(size.blocks, size.uplinks, size.last_uplinks, strict=True):
        rows = block.rows if size.by_rail else 1
        width = block.sides * (1 if size.by_rail else block.rows)
        per_group = size.sus_per_group
        whole, rest = divmod(block.pods - 1, per_group)
        yield Group3(whole * rows, per_group * width * up // size.spines)
        yield Group3(rows, width * (rest * up + last) // size.spines)


def three_tiers(spec: FabricSpec, parts: Parts, blocks: tuple[Block, ...], at: str, style: str, by_rail: bool) -> Sized:
    """Spine groups and core groups with the fewest switches; (None, []) when three tiers are too small or too small a group is asked."""
    longest = max(b.pods for b in blocks)
    asked = spec.sus_per_group
    candidates = [int(asked)] if asked != "auto" else range(1, min(longest, spine_radix(spec, parts)) + 1)
    best: tuple[tuple[float, ...], Size] | None = None
    for per_group in candidates:
        size = _with_group(spec, parts, blocks, style, by_rail, per_group)
        if size is not None:
            groups = sum(g.count for g in spine_groups(size))
            rank = (groups * size.spines + size.spines * size.cores, abs(math.log(per_group / math.sqrt(longest))), per_group)
            if best is None or rank < best[0]:
                best = rank, size
    if best is None and asked != "auto":
        return None, [_bad_group(spec, parts, blocks, at, style, by_rail)]
    if best is not None and spec.spines_per_plane:
        built = sum(g.count for g in spine_groups(best[1])) * best[1].spines
        if built != spec.spines_per_plane:
            what = f"{spec.spines_per_plane} spines per plane, but three tiers with an even spread take {built}"
            return None, [Problem("spine-count", f"{at}.spines_per_plane", what, "spines come in equal groups there", f"set it to {built}, or leave it out")]
    return (best[1] if best else None), []


def any_group(spec: FabricSpec, parts: Parts, blocks: tuple[Block, ...], style: str, by_rail: bool) -> Size | None:
    """Any three-tier size at all, the largest groups first."""
    top = min(max(b.pods for b in blocks), spine_radix(spec, parts))
    return next((size for q in range(top, 0, -1) if (size := _with_group(spec, parts, blocks, style, by_rail, q))), None)


def _with_group(spec: FabricSpec, parts: Parts, blocks: tuple[Block, ...], style: str, by_rail: bool, per_group: int) -> Size | None:
    """The fewest spines for groups of that many SUs, then the fewest cores."""
    radix = spine_radix(spec, parts)
    if sum(-(-b.pods // per_group) * (b.rows if by_rail else 1) for b in blocks) > core_radix(spec, parts):
        return None  # a core meets a spine of every group
    width = max(min(per_group, b.pods) * b.sides * (1 if by_rail else b.rows) * b.least_uplinks for b in blocks)
    fewest = math.ceil(width * (1 + 1 / spec.core_oversubscription) / radix) if radix else 1
    for spines in range(max(fewest, 1), min(b.most_uplinks for b in blocks) + 1):
        found = uplinks_for(blocks, spines)
        if found is None:
            continue
        size = Size(style, 3, blocks, *found, by_rail=by_rail, sus_per_group=per_group, spines=spines)
        groups = [g for g in spine_groups(size) if g.count]
        down = max(g.down for g in groups)
        least = math.ceil(Fraction(down) / spec.core_oversubscription)
        if down + least > radix:
            continue
        cores = _fewest_cores(spec, parts, groups, down, least)
        if cores is not None:
            return Size(style, 3, blocks, *found, by_rail, per_group, spines, down, *cores)
    return None


def spine_uplinks(down: int, cores: int, oversubscription: Fraction) -> int:
    """Uplinks of a spine with that many ports down: enough for the oversubscription, evenly over its cores."""
    return multiple(math.ceil(Fraction(down) / oversubscription), cores)


def _fewest_cores(spec: FabricSpec, parts: Parts, groups: Sequence[Group3], down: int, least: int) -> tuple[int, int] | None:
    """(uplinks of a full spine, cores of a core group), or None."""
    room = spine_radix(spec, parts) - down
    radix = core_radix(spec, parts)
    total = sum(g.count * math.ceil(Fraction(g.down) / spec.core_oversubscription) for g in groups)
    for cores in range(max(-(-total // radix) if radix else 1, 1), room + 1):
        up = multiple(least, cores)
        if up > room or assign(parts.spine, spine_wants(spec, parts, down, up)) is None:
            continue
        if sum(g.count * spine_uplinks(g.down, cores, spec.core_oversubscription) for g in groups) <= cores * radix:
            return up, cores
    return None


def spine_wants(spec: FabricSpec, parts: Parts, down: int, up: int) -> list[Want]:
    """What is asked of a spine: leaf ports, uplinks, reserved ports."""
    return [Want(parts.up, down), *([Want(parts.up, up)] if up else []), *([Want(parts.up, spec.reserved_ports.spine)] if spec.reserved_ports.spine else [])]


def _bad_group(spec: FabricSpec, parts: Parts, blocks: tuple[Block, ...], at: str, style: str, by_rail: bool) -> Problem:
    longest = max(b.pods for b in blocks)
    good = [q for q in range(1, min(longest, spine_radix(spec, parts)) + 1) if _with_group(spec, parts, blocks, style, by_rail, q)]
    what = f"{spec.sus_per_group} SUs per group, but no even spread over {spine_radix(spec, parts)}-port spines and {core_radix(spec, parts)}-port cores carries {longest} SUs so"
    fix = f"use {', '.join(map(str, sorted(good, key=lambda q: abs(q - int(spec.sus_per_group)))[:4]))}, or auto" if good else "choose switches with more ports"
    return Problem("group-size", f"{at}.sus_per_group", what, "every spine spreads its uplinks evenly over its core group", fix)
