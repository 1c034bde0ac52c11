"""Sizing of the leaves: how many nodes share them, how many ports face down and up.

All numbers are of one plane and of the final cluster. What stands above the leaves is sized in `tiers.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..problems import Problem
from .design import FabricSpec
from .modes import Parts
from .ports import Want, assign, port_count


@dataclass(frozen=True)
class Group:
    """One kind of node to be connected: its parts, its final number, and the design path for messages."""

    spec: FabricSpec
    """The fabric as it holds for this kind (what names SUs or UFM speaks of the first kind only)."""
    parts: Parts
    nodes: int
    at: str


@dataclass(frozen=True)
class Block:
    """One kind of node and its leaves."""

    nodes: int
    per_su: int
    rails: int
    rails_per_leaf: int
    sides: int
    """Leaves that the ports of one NIC are split over within a plane: 2 for dual-tor, else 1."""
    ports_per_node: int
    """Ports of one node on one leaf."""
    down_ports: int
    """Ports of a leaf that face nodes (and the UFM position, if it is an extra one)."""
    least_uplinks: int
    """Fewest uplinks of a leaf of a full SU that keep the oversubscription."""
    most_uplinks: int
    last_least_uplinks: int
    """Fewest uplinks of a leaf of the last SU (fewer when it is trimmed)."""
    ufm_gives_way: bool = False
    """True when a node position of the first SU is given to UFM links."""

    @property
    def pods(self) -> int:
        """SUs; the last may be partly filled."""
        return -(-(self.nodes + self.ufm_gives_way) // self.per_su)

    @property
    def rows(self) -> int:
        """Groups of rails, each with a leaf (or a pair) of its own in every SU."""
        return self.rails // self.rails_per_leaf

    @property
    def leaves_per_pod(self) -> int:
        """Leaves of one SU."""
        return self.rows * self.sides

    @property
    def leaves(self) -> int:
        """Leaves of all SUs."""
        return self.pods * self.leaves_per_pod


@dataclass(frozen=True)
class Size:
    """The whole fabric in one plane: its blocks, and what joins their leaves."""

    style: str
    tiers: int
    blocks: tuple[Block, ...]
    uplinks: tuple[int, ...] = ()
    """Uplinks of a leaf of a full SU, for each block; for a pair, links to the other switch."""
    last_uplinks: tuple[int, ...] = ()
    """Uplinks of a leaf of the last SU."""
    by_rail: bool = False
    """True when every row of rails has spines of its own; otherwise all leaves of a group share them."""
    sus_per_group: int = 0
    """SUs that share spine groups; 0: all do."""
    spines: int = 0
    """Spines of each spine group."""
    spine_down: int = 0
    """Ports of a spine of a full group that face leaves."""
    spine_up: int = 0
    """Uplinks of a spine of a full group."""
    cores: int = 0
    """Cores of each core group; there is a core group for each spine of a spine group."""


Sized = tuple[Size | None, list[Problem]]


def leaf_wants(spec: FabricSpec, parts: Parts, down: int, up: int) -> list[Want]:
    """What is asked of a leaf: node ports, uplinks, reserved ports, each from a fresh cage."""
    return [Want(parts.down, down), *([Want(parts.up, up)] if up else []), *([Want(parts.down, spec.reserved_ports.leaf)] if spec.reserved_ports.leaf else [])]


def fits(spec: FabricSpec, parts: Parts, down: int, up: int) -> bool:
    """True when a leaf has that many ports down and up."""
    return assign(parts.leaf, leaf_wants(spec, parts, down, up)) is not None


def least_uplinks(parts: Parts, down_ports: int, oversubscription: Fraction) -> int:
    """Fewest uplinks that keep the oversubscription: bandwidth down over bandwidth up is at most the ratio."""
    return math.ceil(Fraction(down_ports * parts.down.gbps, parts.up.gbps) / oversubscription)


def largest_su(spec: FabricSpec, parts: Parts, ports_per_node: int, oversubscription: Fraction) -> int:
    """Most nodes that a leaf carries together with their uplinks."""
    return _largest(
        port_count(parts.leaf, parts.down) // ports_per_node, lambda n: fits(spec, parts, n * ports_per_node, least_uplinks(parts, n * ports_per_node, oversubscription))
    )


def largest_without_uplinks(spec: FabricSpec, parts: Parts, ports_per_node: int) -> int:
    """Most nodes that a leaf carries when nothing stands above it."""
    return _largest(port_count(parts.leaf, parts.down) // ports_per_node, lambda n: fits(spec, parts, n * ports_per_node, 0))


def _largest(most: int, good: Callable[[int], bool]) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if good(middle):
            low = middle
        else:
            high = middle - 1
    return low


def multiple(least: int, of: int) -> int:
    """Smallest multiple of `of` that is at least `least`."""
    return -(-least // of) * of


@dataclass(frozen=True)
class Shape:
    """How a style puts nodes on leaves."""

    shares: tuple[int, ...]
    """Rails on a leaf, in the order to try; the last is taken for clusters of more than one SU."""
    sides: int = 1


def block_choices(group: Group, shape: Shape) -> Iterator[tuple[Block | None, list[Problem]]]:
    """Ways to put the nodes on leaves, best first: several rails on a leaf while the cluster is one SU, else the last share.

    An SU has the size of a non-blocking leaf (so that spines can be added later), then the largest that ports allow.
    """
    spec, parts = group.spec, group.parts
    for share in shape.shares:
        ports_per_node = share * parts.ports_per_gpu // shape.sides
        plain = whole_racks(parts, largest_su(spec, parts, ports_per_node, Fraction(1)))
        widest = largest_su(spec, parts, ports_per_node, spec.oversubscription)
        if share != shape.shares[-1] and group.nodes + (1 if spec.ufm_links else 0) > plain:
            continue
        asked = spec.nodes_per_su
        if asked not in ("auto", "max") and int(asked) > widest:
            yield None, [_su_too_large(group, ports_per_node, widest)]
            return
        sizes = {"auto": [plain, whole_racks(parts, widest)], "max": [widest]}.get(str(asked), [asked])
        for per_su in dict.fromkeys(int(s) for s in sizes):
            if per_su:
                yield _block(group, share, shape.sides, per_su)


def whole_racks(parts: Parts, nodes: int) -> int:
    """Round an SU down to whole racks where nodes come as whole racks."""
    per_rack = parts.node.per_rack[-1] if parts.node.rack_scale and parts.node.per_rack else 1
    return nodes // per_rack * per_rack or nodes


def _block(group: Group, share: int, sides: int, per_su: int) -> tuple[Block | None, list[Problem]]:
    spec, parts, nodes, ufm = group.spec, group.parts, group.nodes, f"{group.at}.ufm_links"
    ports_per_node = share * parts.ports_per_gpu // sides
    leaves_per_pod = parts.rails // share * sides
    down, gives_way = per_su * ports_per_node, False
    problems: list[Problem] = []
    if spec.ufm_links:
        if spec.ufm_links > leaves_per_pod * ports_per_node:
            what = f"{spec.ufm_links} UFM links, but one node position has {leaves_per_pod * ports_per_node} leaf ports"
            return None, [Problem("ufm", ufm, what, fix=f"use at most {leaves_per_pod * ports_per_node}")]
        extra = down + ports_per_node
        gives_way = not fits(spec, parts, extra, least_uplinks(parts, down, spec.oversubscription))
        down = down if gives_way else extra
        if gives_way and per_su == 1:
            return None, [Problem("ufm", ufm, "an SU of one node has no position to give to UFM links", fix="remove ufm_links or use a larger switch")]
    filled = nodes + gives_way
    pods = -(-filled // per_su)
    if gives_way and -(-nodes // per_su) < pods:
        what = f"{nodes} nodes and the UFM position fill {pods} SUs of {per_su}; {pods * per_su - per_su - 1} nodes would need one SU less"
        problems.append(Problem("ufm-su", ufm, what, "one node position gives way to the UFM links", "plan one node less, or move UFM elsewhere", "warning"))
    least = least_uplinks(parts, per_su * ports_per_node, spec.oversubscription)
    last = least if spec.partial_su == "full" else least_uplinks(parts, (filled - (pods - 1) * per_su) * ports_per_node, spec.oversubscription)
    most = _largest(port_count(parts.leaf, parts.up), lambda up: fits(spec, parts, down, up))
    return Block(nodes, per_su, parts.rails, share, sides, ports_per_node, down, least, most, last, gives_way), problems


def _su_too_large(group: Group, ports_per_node: int, widest: int) -> Problem:
    parts = group.parts
    ports = port_count(parts.leaf, parts.down)
    what = f"{group.spec.nodes_per_su} nodes per SU, but a leaf of {ports} ports carries {widest} with {ports_per_node} ports each and its uplinks"
    return Problem("su-size", f"{group.at}.nodes_per_su", what, fix=f"use 1 to {widest}, auto, or a higher oversubscription" if widest else "choose a switch with more ports")
