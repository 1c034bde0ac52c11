"""What is left of a fabric after something failed, as data and as lines to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class RailLeft:
    """A rail of one plane that suffers."""

    rail: int
    plane: int
    nodes_without: int
    """Working nodes that no longer meet most others on this rail."""
    uplinks_left: float
    """Worst leaf of the rail: part of its uplinks that is left."""
    core_links_left: float
    """Worst of the spines it has links to: part of their links to cores that is left; 1 without cores."""


@dataclass(frozen=True)
class FabricLost:
    """What a fabric other than compute loses."""

    fabric: str
    links_lost: int
    switches_down: tuple[str, ...]
    cut_off: tuple[str, ...]
    """Working devices that no link joins any more to where most others are."""
    thinner: int
    """Working devices with fewer links than before."""


@dataclass(frozen=True)
class Damage:
    """What is left of a fabric after some failures."""

    fabric: str
    failures: tuple[str, ...]
    links_lost: int
    left_percent: float
    """Bandwidth across the worst split, against the same split before."""
    worst_split: str
    nodes_down: tuple[str, ...]
    """Nodes that failed themselves, with their rack."""
    cut_off: tuple[str, ...]
    """Working nodes that reach no other part of the fabric."""
    rails: tuple[RailLeft, ...]
    """Rails that suffer, plane by plane."""
    worst_load: float
    """Largest load of any link under any permutation of the ports left."""
    worst_link: str
    worst_load_before: float
    others: tuple[FabricLost, ...] = ()
    """Fabrics other than compute that lose something."""


def damage_text(damage: Damage) -> Iterator[str]:
    """The damage as lines for a person."""
    of = f"{damage.fabric} has {damage.left_percent:.4g}% of its" if damage.others else f"{damage.left_percent:.4g}% of the"
    yield f"{', '.join(damage.failures)} down: {of} bandwidth left (worst split by {damage.worst_split}), {damage.links_lost:,} links lost"
    for what, names in (("down with their rack", damage.nodes_down), ("cut off", damage.cut_off)):
        if names:
            yield f"{what}: {len(names):,} nodes, {_listed(names)}"
    alike: dict[tuple[int, str], list[int]] = {}
    for rail in damage.rails:
        without = f"{rail.nodes_without:,} nodes without it, " if rail.nodes_without else ""
        cores = f", {rail.core_links_left:.4g} of a spine's core links" if rail.core_links_left < 1 else ""
        alike.setdefault((rail.plane, f"{without}{rail.uplinks_left:.4g} of the uplinks left at its worst leaf{cores}"), []).append(rail.rail)
    for (plane, text), rails in alike.items():
        whole = rails == list(range(rails[0], rails[-1] + 1)) and len(rails) > 2
        yield f"rail {f'{rails[0]} to {rails[-1]}' if whole else ', '.join(map(str, rails))} plane {plane}: {text}"
    yield f"worst link load {damage.worst_load:.4g} after ({damage.worst_link or 'no link left'}), {damage.worst_load_before:.4g} before"
    yield from map(_other_text, damage.others)


def _other_text(lost: FabricLost) -> str:
    """What another fabric loses, in one line."""
    words = [_count(lost.links_lost, "link") + " lost"]
    if lost.switches_down:
        words.append(f"down: {_listed(lost.switches_down)}")
    if lost.cut_off:
        words.append(f"cut off: {_count(len(lost.cut_off), 'device')}, {_listed(lost.cut_off)}")
    words.append(f"{_count(lost.thinner, 'device')} with fewer links" if lost.thinner else "nobody else has fewer links" if lost.cut_off else "nobody cut off")
    return f"{lost.fabric}: {'; '.join(words)}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
