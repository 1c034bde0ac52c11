"""Which cages of a switch can be run how, and handing out their ports in faceplate order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ..vendors.models import MANAGEMENT_CAGE, Breakout, CageGroup, Node, NodeCage, PortNames, Switch
from .topology import CageUse


class PortKind(NamedTuple):
    """What both ends of a link must share: speed, lanes and lane rate in Gb/s."""

    gbps: int
    lanes: int
    lane_gbps: int

    @classmethod
    def of(cls, mode: Breakout) -> PortKind:
        """Kind of one port of a breakout mode."""
        return cls(mode.gbps, mode.lanes, mode.lane_gbps)

    def __str__(self) -> str:
        return f"{self.gbps}G on {self.lanes} x {self.lane_gbps}G"


class Port(NamedTuple):
    """One port of a device: cage number and position in the cage from 0."""

    cage: int
    child: int


@dataclass(frozen=True)
class Want:
    """Ports asked of a switch, all of one kind; they begin in a fresh cage."""

    kind: PortKind
    ports: int


@dataclass(frozen=True)
class Assignment:
    """Ports handed out: one list per want, and how every touched cage is run."""

    ports: tuple[tuple[Port, ...], ...]
    cages: dict[int, CageUse]


@lru_cache(maxsize=256)
def kinds(switch: Switch) -> frozenset[PortKind]:
    """Every kind of data port the switch offers, disputed modes left out."""
    return frozenset(PortKind.of(m) for g in switch.cages if g.use == "data" for m in g.modes if not m.disputed)


@lru_cache(maxsize=1024)
def _cages_for(switch: Switch, kind: PortKind) -> tuple[tuple[int, CageGroup, Breakout], ...]:
    """Cages that can be run with ports of this kind, in faceplate order, each with its fullest such mode."""
    found = []
    for group in switch.cages:
        modes = [m for m in group.modes if PortKind.of(m) == kind and not m.disputed]
        if group.use != "data" or not modes:
            continue
        mode = max(modes, key=lambda m: m.ports)
        for cage in range(group.first, group.first + group.count):
            if mode.cages == "all" or (mode.cages == "odd") == (cage % 2 == 1):
                found.append((cage, group, mode))
    return tuple(sorted(found, key=lambda f: f[0]))


def module_limit_w(group: CageGroup | NodeCage, cage: int) -> float | None:
    """Highest module power the cage feeds and cools, in W; None when not documented."""
    for power_class in getattr(group, "power_classes", ()):
        if cage in power_class.cages:
            return float(power_class.max_module_w)
    return group.max_module_w


def assign(switch: Switch, wants: Iterable[Want]) -> Assignment | None:
    """Hand out ports as `_assign` does; equal questions are answered once."""
    return _assign(switch, tuple(wants))


@lru_cache(maxsize=65536)
def _assign(switch: Switch, wants: tuple[Want, ...]) -> Assignment | None:
    """Hand out ports cage by cage in faceplate order; None when the switch has too few.

    Obeys odd/even cages, cages that a neighbour's split kills, and the ASIC's cap on logical ports
    (every port of a configured cage counts against the cap, used or not).
    """
    taken: dict[int, CageUse] = {}
    dead: set[int] = set()
    logical = 0
    lists: list[tuple[Port, ...]] = []
    for want in wants:
        ports: list[Port] = []
        for cage, group, mode in _cages_for(switch, want.kind):
            if len(ports) >= want.ports:
                break
            if cage in taken or cage in dead or (mode.blocks_next and cage + 1 in taken):
                continue
            if switch.ports_max is not None and logical + mode.ports > switch.ports_max:
                break
            logical += mode.ports
            taken[cage] = CageUse(cage, str(cage), group, mode, mode.ports, module_limit_w(group, cage))
            if mode.blocks_next:
                dead.add(cage + 1)
            ports += [Port(cage, child) for child in range(mode.ports)]
        if len(ports) < want.ports:
            return None
        lists.append(tuple(ports[: want.ports]))
    return Assignment(tuple(lists), taken)


@lru_cache(maxsize=1024)
def ports_of_a_cage(switch: Switch, kind: PortKind) -> int:
    """Most ports of one kind in a cage; 0 when the switch has none."""
    return max((mode.ports for _, _, mode in _cages_for(switch, kind)), default=0)


def port_count(switch: Switch, kind: PortKind) -> int:
    """Ports of one kind when the whole switch is run with them."""
    top = sum(mode.ports for _, _, mode in _cages_for(switch, kind))
    low, high = 0, top
    while low < high:
        middle = (low + high + 1) // 2
        if assign(switch, [Want(kind, middle)]) is None:
            high = middle - 1
        else:
            low = middle
    return low


def switch_port_name(names: PortNames, cage: int, child: int, mode: Breakout, cages_per_card: int | None = None) -> str:
    """Name of a port as the switch's operating system prints it."""
    if cage >= MANAGEMENT_CAGE:
        number = cage - MANAGEMENT_CAGE
        return names.management.format(child=number, child1=number + 1)
    lane = child * mode.lanes
    pattern = names.whole if mode.ports == 1 else names.split
    return pattern.format(
        cage=cage,
        card=(cage - 1) // (cages_per_card or 1) + 1,
        slot=(cage - 1) % (cages_per_card or 1) + 1,
        cage0=cage - 1,
        child=child,
        child1=child + 1,
        letter="abcdefghijklmnop"[child],
        lane=lane,
        lane1=lane + 1,
        base=8 * (cage - 1),
        eth=8 * (cage - 1) + lane,
    )


def node_port_names(node: Node, cage_label: str, ports: int, ethernet: bool) -> list[tuple[str, str]]:
    """(name, OS name) of every port of one node cage, by position in the cage.

    A connector that is split into several ports gets P1, P2, ... behind its label.
    """
    connectors = sorted((p for p in node.ports if p.cage == cage_label), key=lambda p: p.connector)
    names = []
    for connector in connectors:
        net = connector.netdev_eth if ethernet else connector.netdev_ib
        os_name = "/".join(word for word in (connector.rdma, net) if word)
        for child in range(ports):
            names.append((connector.label if ports == 1 else f"{connector.label}P{child + 1}", os_name))
    return names


def spread(full: Sequence[Port], parallel: Sequence[int]) -> list[list[Port]]:
    """Deal the ports of one switch to its peers so that parallel links share cages.

    `parallel[i]` links go to peer i. Whole cages come first, peer by peer; what is left over of each peer
    follows, neighbours sharing a cage. With one link for each peer, two neighbours share a cage at both ends.
    """
    sizes: dict[int, int] = {}
    for port in full:
        sizes[port.cage] = sizes.get(port.cage, 0) + 1
    per_cage = max(sizes.values(), default=1)
    by_peer: list[list[Port]] = [[] for _ in parallel]
    position = 0
    if len(set(list(sizes.values())[:-1])) <= 1:
        for peer, links in enumerate(parallel):
            whole = links // per_cage * per_cage
            by_peer[peer] += full[position : position + whole]
            position += whole
    for peer, links in enumerate(parallel):
        rest = links - len(by_peer[peer])
        by_peer[peer] += full[position : position + rest]
        position += rest
    return by_peer
