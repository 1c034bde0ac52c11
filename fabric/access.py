"""Sizing of the other fabrics: clients are packed on leaves (or pairs of leaves) in order, spines share all leaves evenly.

client 1, 2, ...  the ports of a client in turn on the two leaves of its pair; the next client goes on where it ended
leaf 01a  01b     a group: the leaves that the same clients hang on; the next clients take the next group
   \\  \\ /  /
  spine-01 ...    the fewest that divide the uplinks of a leaf and have ports for all; none where one group is enough
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..problems import Problem
from ..vendors.models import Switch
from .access_spec import AccessSpec
from .clients import Socket
from .ports import Assignment, PortKind, Want, assign, kinds, port_count, ports_of_a_cage
from .sizing import multiple
from .tables import NONE
from .wiring import Ints

FASTEST_OWN = 100
"""Gb/s from which uplinks take the clients' own speed where both switches run it."""


MANAGEMENT_GBPS = 1
"""Ports of this speed manage a device; two of them (host and BMC) are two things, not one thing twice."""


@dataclass(frozen=True)
class Client:
    """One device on a fabric: its number, the SU it stands in (NONE: none), its sockets there, and whether it is built now."""

    dev: int
    home: int
    sockets: tuple[Socket, ...]
    present: bool = True
    turn: int = 0
    """Leaf of its group that its first socket hangs on; the others follow in turn."""

    def side(self, socket: int, sides: int) -> int:
        """Leaf of its group, from 0, that a socket hangs on."""
        return (self.turn + socket) % sides


@dataclass(frozen=True)
class Access:
    """One fabric as sized: groups of clients (first, last + 1), leaves of a group, and what each leaf is asked for."""

    name: str
    spec: AccessSpec
    leaf: Switch
    spine: Switch
    up: PortKind
    clients: tuple[Client, ...]
    groups: tuple[tuple[int, int], ...]
    sides: int
    uplinks: int
    """Of each leaf: to spines, to its peer, or to another fabric."""
    spines: int
    leaf_ports: tuple[Assignment, ...]
    """Of every leaf, group by group, side by side."""
    spine_ports: Assignment | None

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.groups) * self.sides

    @property
    def is_pair(self) -> bool:
        """True when the uplinks join the two leaves of a pair."""
        return not self.spines and self.sides == 2 and self.spec.uplinks is None


class Packer:
    """Ports that ranges of clients ask of the leaves of a group, by kind."""

    def __init__(self, spec: AccessSpec, leaf: Switch, clients: Sequence[Client], sides: int) -> None:
        self.spec, self.leaf, self.clients, self.sides = spec, leaf, clients, sides
        self.kinds = sorted({s.kind for c in clients for s in c.sockets}, reverse=True)
        table = np.zeros((len(clients) + 1, sides, len(self.kinds)), np.int64)
        for row, client in enumerate(clients):
            for i, socket in enumerate(client.sockets):
                table[row + 1, client.side(i, sides), self.kinds.index(socket.kind)] += 1
        self.sums: Ints = np.cumsum(table, axis=0)
        self.home = [c.home for c in clients]

    def counts(self, begin: int, end: int) -> Ints:
        """[side, kind]: ports of the clients begin to end - 1."""
        return np.asarray(self.sums[end] - self.sums[begin])

    def down_gbps(self, begin: int, end: int) -> int:
        """Bandwidth of the fullest leaf of the group."""
        return int((self.counts(begin, end) * np.array([k.gbps for k in self.kinds])).sum(axis=1).max(initial=0))

    def total_gbps(self) -> Fraction:
        """Bandwidth of all sockets of all clients."""
        return Fraction(sum(int(count) * kind.gbps for count, kind in zip(self.sums[-1].sum(axis=0), self.kinds, strict=True)))

    def ports(self, begin: int, end: int, up: PortKind, uplinks: int) -> list[Assignment] | None:
        """Ports of each leaf of the group; None when one of them has too few."""
        found = []
        for side in self.counts(begin, end).tolist():
            wants = [Want(kind, count) for kind, count in zip(self.kinds, side, strict=True) if count]
            wants += [Want(up, uplinks)] if uplinks else []
            wants += [Want(self.kinds[0], self.spec.reserved_ports)] if self.spec.reserved_ports and self.kinds else []
            ports = assign(self.leaf, wants)
            if ports is None:
                return None
            found.append(ports)
        return found

    def pack(self, up: PortKind, uplinks_of: Callable[[int, int], int]) -> list[tuple[int, int]] | None:
        """Groups of clients in order, each as large as its leaves, the design's cap and (by_su) its SU allow; None when one client is too many."""
        groups, begin = [], 0
        while begin < len(self.clients):
            low, high = begin, self._last(begin)
            while low < high:
                middle = (low + high + 1) // 2
                if self.ports(begin, middle, up, uplinks_of(begin, middle)) is None:
                    high = middle - 1
                else:
                    low = middle
            if low == begin:
                return None
            groups.append((begin, low))
            begin = low
        return groups

    def _last(self, begin: int) -> int:
        cap = self.spec.clients_per_leaf
        last = len(self.clients) if cap == "auto" else min(len(self.clients), begin + int(cap))
        if self.spec.by_su:
            last = next((i for i in range(begin + 1, last) if self.home[i] != self.home[begin]), last)
        return last


def size_access(name: str, spec: AccessSpec, leaf: Switch, spine: Switch, above: Switch | None, clients: Sequence[Client]) -> tuple[Access | None, list[Problem]]:
    """Size one fabric; `above` is the leaf model of the fabric that takes its uplinks. None with errors when it can't be built."""
    at = f"fabrics.{name}"
    most = max(sum(s.kind.gbps > MANAGEMENT_GBPS for s in c.sockets) for c in clients)
    sides = (2 if most > 1 else 1) if spec.redundancy == "auto" else spec.redundancy
    clients = _in_turn(clients, sides)
    packer = Packer(spec, leaf, clients, sides)
    up, problems = _up_kind(spec, leaf, above or spine, packer.kinds, at)
    if up is None:
        return None, problems

    def access(groups: list[tuple[int, int]], uplinks: int, spines: int = 0) -> Access | None:
        ports = [packer.ports(*group, up, uplinks) for group in groups]
        down = assign(spine, [Want(up, len(groups) * sides * uplinks // spines)]) if spines else None
        if any(p is None for p in ports) or (spines and down is None):
            return None
        every = tuple(one for p in ports if p is not None for one in p)
        return Access(name, spec, leaf, spine, up, tuple(clients), tuple(groups), sides, uplinks, spines, every, down)

    if spec.uplinks is not None:
        links = spec.uplinks.links
        found = packer.pack(up, lambda begin, end: links)
        return _within(access(found, links) if found else None, spec, at, leaf, packer)
    peers = _peer_links(spec, packer, up) if sides == 2 else 0
    alone = packer.pack(up, lambda begin, end: peers)
    if alone and len(alone) == 1 and not spec.spines:
        return _within(access(alone, peers), spec, at, leaf, packer)
    return _within(_with_spines(packer, up, spine, access), spec, at, leaf, packer, f"; two tiers end at {port_count(spine, up)} leaves, each of which needs a port of every spine")


def _in_turn(clients: Sequence[Client], sides: int) -> list[Client]:
    """Clients whose first sockets take turns on the leaves of a group, so that those with one port do not all hang on one leaf."""
    turns = np.cumsum([0, *(len(c.sockets) for c in clients)]) % sides
    return [replace(client, turn=int(turn)) for client, turn in zip(clients, turns, strict=False)]


def _with_spines(packer: Packer, up: PortKind, spine: Switch, access: Callable[[list[tuple[int, int]], int, int], Access | None]) -> Access | None:
    """Two tiers with the fewest spines (or those asked for) that all leaves share evenly."""
    spec, radix = packer.spec, port_count(spine, up)

    def needed(begin: int, end: int) -> int:
        return math.ceil(Fraction(packer.down_gbps(begin, end), up.gbps) / spec.oversubscription)

    least = packer.pack(up, lambda begin, end: max(1, needed(begin, end)))
    if not least or len(least) * packer.sides > radix:
        return None
    fewest = max(1, math.ceil(packer.total_gbps() / spec.oversubscription / up.gbps / radix))
    for spines in [spec.spines] if spec.spines else range(fewest, port_count(packer.leaf, up) + 1):
        groups = packer.pack(up, lambda begin, end, d=spines: multiple(max(1, needed(begin, end)), d))  # type: ignore[misc]
        if not groups:
            continue
        uplinks = multiple(max(1, *(needed(*g) for g in groups)), spines)
        if len(groups) * packer.sides * uplinks <= spines * radix:
            found = access(groups, uplinks, spines)
            if found is not None:
                return found
    return None


def _within(found: Access | None, spec: AccessSpec, at: str, leaf: Switch, packer: Packer, end: str = "") -> tuple[Access | None, list[Problem]]:
    """The fabric, or the reason why there is none or why it is too large."""
    ports = sum(len(c.sockets) for c in packer.clients)
    if found is None:
        offers = ", ".join(f"{port_count(leaf, k)} of {k}" for k in packer.kinds)
        asked = f"with {spec.spines} spines " if spec.spines else ""
        what = f"{ports:,} ports of {len(packer.clients):,} clients cannot be carried {asked}by leaves of {leaf.model}"
        why = f"it has {offers}, uplinks included; spines must share the uplinks of every leaf evenly{end}"
        fix = f"{_ways_out(spec)}choose switches with more ports"
        return None, [Problem("access-size", at, what, why, fix)]
    if spec.leaves_max is not None and found.leaves > spec.leaves_max:
        sockets = sorted({(k.gbps, sum(s.kind == k for c in packer.clients for s in c.sockets)) for k in packer.kinds}, reverse=True)
        what = f"{ports:,} ports ({', '.join(f'{n:,} at {g}G' for g, n in sockets)}) need {found.leaves} leaves of {leaf.model}, {spec.leaves_max} are allowed"
        fix = f"set leaves_max to {found.leaves} or more, choose a switch with more ports, or give ports away by `ports` of the nodes"
        return None, [Problem("leaves-max", f"{at}.leaves_max", what, f"a leaf has {', '.join(f'{port_count(leaf, k)} ports of {k}' for k in packer.kinds)}", fix)]
    return found, []


def _ways_out(spec: AccessSpec) -> str:
    """What the design says that makes a fabric too small, as advice to change it."""
    advice = [
        (spec.clients_per_leaf != "auto", "raise clients_per_leaf"),
        (bool(spec.reserved_ports), "lower reserved_ports"),
        (spec.peer_links != "auto", "lower peer_links"),
        (spec.uplinks is not None, "lower uplinks.links"),
        (
            spec.uplinks is None and spec.spine_switch is None,
            "set spine_switch to one with more ports at the uplinks' speed (nvidia-sn4600c above nvidia-sn2201)",
        ),
        (spec.spines is not None, "change spines"),
        (spec.uplinks is None, "allow a higher oversubscription"),
        (spec.uplinks is None, "hang the leaves on another fabric by uplinks"),
    ]
    return "".join(f"{text}, " for holds, text in advice if holds) + "or "


def _peer_links(spec: AccessSpec, packer: Packer, up: PortKind) -> int:
    """Links between the leaves of a pair: half of what hangs on one leaf alone, at least 2, in whole cages."""
    if spec.peer_links != "auto":
        return int(spec.peer_links)
    single = sum(c.sockets[0].kind.gbps for c in packer.clients if len(c.sockets) == 1)
    return multiple(max(2, math.ceil(Fraction(single, 2 * up.gbps))), ports_of_a_cage(packer.leaf, up))


def _up_kind(spec: AccessSpec, leaf: Switch, other: Switch, clients: Sequence[PortKind], at: str) -> tuple[PortKind | None, list[Problem]]:
    """Kind of the uplinks: the speed asked for, else the clients' own from 100G on, else the highest that both switches run."""
    shared = kinds(leaf) & kinds(other)
    asked = spec.uplinks.gbps if spec.uplinks is not None else spec.uplink_gbps
    own = clients[0].gbps if clients and clients[0].gbps >= FASTEST_OWN else None
    good = [k for k in shared if k.gbps == asked] if asked else ([k for k in shared if k.gbps == own] or list(shared))
    if not good:
        speeds = ", ".join(f"{g}G" for g in sorted({k.gbps for k in shared}, reverse=True)) or "nothing"
        where = f"{at}.uplinks.gbps" if spec.uplinks is not None and asked else f"{at}.uplink_gbps" if asked else f"{at}.{'uplinks' if spec.uplinks else 'spine_switch'}"
        what = f"{leaf.model} and {other.model} share no {f'{asked}G port mode' if asked else 'port mode'}"
        return None, [Problem("uplink-speed", where, what, f"they share {speeds}", "choose one of these speeds, or another switch")]
    return max(good, key=lambda k: (k.gbps, min(port_count(leaf, k), port_count(other, k)), k)), []


def homes(access: Access) -> list[int]:
    """SU that most clients of each group stand in; NONE where they stand in none."""
    found = []
    for begin, end in access.groups:
        own = [c.home for c in access.clients[begin:end] if c.home != NONE]
        found.append(max(dict.fromkeys(own), key=own.count) if own else NONE)
    return found
