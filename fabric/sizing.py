"""Sizing: nodes per SU, uplinks, spines. The spine count is the smallest that spreads every leaf evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .design import FabricSpec
from .modes import Parts
from .ports import Want, assign, port_count


@dataclass(frozen=True)
class Size:
    """Numbers of one plane of one fabric, for the final cluster."""

    style: str
    tiers: int
    nodes_per_su: int
    pods: int
    rails_per_leaf: int
    leaves_per_pod: int
    down_ports: int
    """Ports of a leaf that face its SU's nodes (and the UFM position, if it is an extra one)."""
    uplinks: int
    """Uplinks of a leaf of a full SU; for a pair, links to the other switch."""
    last_uplinks: int
    """Uplinks of a leaf of the last SU (fewer when it is trimmed)."""
    spines: int
    ufm_gives_way: bool
    """True when a node position of the first SU is given to UFM links."""

    @property
    def leaves(self) -> int:
        """Leaves of one plane."""
        return self.pods * self.leaves_per_pod


def wants(spec: FabricSpec, parts: Parts, down: int, up: int) -> list[Want]:
    return [Want(parts.down, down), *([Want(parts.up, up)] if up else []), *([Want(parts.down, spec.reserved_ports.leaf)] if spec.reserved_ports.leaf else [])]


def leaf_wants(spec: FabricSpec, parts: Parts, size: Size) -> list[Want]:
    """What is asked of every leaf: node ports, uplinks, reserved ports."""
    return wants(spec, parts, size.down_ports, size.uplinks)


def fits(spec: FabricSpec, parts: Parts, down: int, up: int) -> bool:
    return assign(parts.leaf, wants(spec, parts, down, up)) is not None


def least_uplinks(parts: Parts, down_ports: int, oversubscription: Fraction) -> int:
    """Fewest uplinks that keep the oversubscription: bandwidth down over bandwidth up is at most the ratio."""
    return math.ceil(Fraction(down_ports * parts.down.gbps, parts.up.gbps) / oversubscription)


def largest_su(spec: FabricSpec, parts: Parts, ports_per_node: int, oversubscription: Fraction) -> int:
    low, high = 0, port_count(parts.leaf, parts.down) // ports_per_node
    while low < high:
        middle = (low + high + 1) // 2
        down = middle * ports_per_node
        if fits(spec, parts, down, least_uplinks(parts, down, oversubscription)):
            low = middle
        else:
            high = middle - 1
    return low


def spine_ports(spec: FabricSpec, parts: Parts) -> int:
    return port_count(parts.spine, parts.up) - spec.reserved_ports.spine


def largest_uplinks(spec: FabricSpec, parts: Parts, down: int) -> int:
    low, high = 0, port_count(parts.leaf, parts.up)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(spec, parts, down, middle):
            low = middle
        else:
            high = middle - 1
    return low


def multiple(least: int, of: int) -> int:
    return -(-least // of) * of
