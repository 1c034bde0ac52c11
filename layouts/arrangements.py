"""The fixed arrangements that every search is measured against, and presets that a design can force.

end-of-row               N N N N N N S S     all network racks at the ends of the rows
mid-row                  N N N S S N N N     all network racks in the middle of the rows
switch-per-rack          n n n n n n n n     switches spread over the node racks, above the nodes
amid-su                  N N S N N N S N     leaves amid the racks of their SU, the rest in the middle pod
virtual-modular-switch   N L L S S L L N     spine racks amid all leaf racks, so that copper joins them
tor-mid-rack             m m m m m m m m     leaves in node racks, half of the nodes below and half above

Servers stand in racks of their own behind the node racks, filled as in the reference arrangement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..fabric.topology import Topology
from .arrangement import arrange, blocks_of_nodes, server_racks, switches_in_order
from .hall import Hall, Ints, stand_blocks
from .mixed import stand_mixed
from .racks import RackLimits, limits_of
from .sizes import NodeRack, arranging_limits, device_sizes


class Arranged(NamedTuple):
    """Hall position (row number in `hall.positions`) and lowest unit of every device."""

    position: Ints
    ru: Ints


class Rack:
    """What one rack still has room for, while an arrangement is made."""

    def __init__(self, limits: RackLimits, cap: int) -> None:
        self.top_ru, self.power_w, self.weight_kg, self.left = limits.height_ru, limits.power_w + 1e-6, limits.weight_kg + 1e-6, cap

    def takes(self, size: tuple[int, float, float], above_ru: int = 0, switch: bool = True) -> bool:
        """True when a device of (height_ru, power_w, weight_kg) still fits below the last one and above a unit."""
        fits = self.top_ru - size[0] >= above_ru and size[1] <= self.power_w and size[2] <= self.weight_kg
        return fits and (not switch or self.left > 0)

    def hang(self, size: tuple[int, float, float]) -> int:
        """Take the next units from the top; returns the lowest."""
        self.top_ru, self.left = self.top_ru - size[0], self.left - 1
        self.load(size)
        return self.top_ru + 1

    def load(self, size: tuple[int, float, float]) -> None:
        """Take power and weight alone."""
        self.power_w, self.weight_kg = self.power_w - size[1], self.weight_kg - size[2]


Racks = Mapping[str, NodeRack]
Maker = Callable[[Topology, Hall, Racks, int], Arranged | None]


def end_of_row(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """All network racks at the ends of the rows, the same number in each."""
    return _network_apart(topology, hall, racks, cap, at=1.0)


def mid_row(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """All network racks in the middle of the rows, the same number in each."""
    return _network_apart(topology, hall, racks, cap, at=0.5)


def virtual_modular_switch(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """Network racks in the middle of one row (or of few), spines and cores in the middle of those."""
    return _network_apart(topology, hall, racks, cap, at=0.5, one_row=True)


def amid_su(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """The reference arrangement: leaves amid the racks of their SU, everything else in the middle pod; where racks differ, that of `mixed`."""
    if not hall.plain:
        stood = stand_mixed(topology, hall, racks, cap)
        return None if stood is None else Arranged(*stood)
    blocks = arrange(topology, arranging_limits(topology, hall.least), racks, cap)
    try:
        stands = stand_blocks(hall.room(), [b.racks for b in blocks])
    except ValueError:
        return None
    position, ru = (np.zeros(topology.devices.height, np.int64) for _ in range(2))
    for block, stand in zip(blocks, stands, strict=True):
        position[block.dev], ru[block.dev] = hall.free[stand[block.slot]], block.ru
    return Arranged(position, ru)


def switch_per_rack(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """Leaves spread over the node racks of their pod and other switches over all, hung from the top; what finds no room stands in racks of its own."""
    return _spread(topology, hall, racks, cap, middle=False)


def tor_mid_rack(topology: Topology, hall: Hall, racks: Racks, cap: int) -> Arranged | None:
    """As switch-per-rack, but leaves stand in the middle of the rack, nodes below and above."""
    return _spread(topology, hall, racks, cap, middle=True)


FIXED: dict[str, Maker] = {"end-of-row": end_of_row, "mid-row": mid_row, "switch-per-rack": switch_per_rack, "amid-su": amid_su}
"""The four arrangements that results are compared with."""

PRESETS: dict[str, Maker] = {**FIXED, "virtual-modular-switch": virtual_modular_switch, "tor-mid-rack": tor_mid_rack}
"""Everything that a design can force."""


def _sizes(topology: Topology) -> list[tuple[int, float, float]]:
    return list(device_sizes(topology).select("height_ru", "power_w", "weight_kg").iter_rows())


def _network_apart(topology: Topology, hall: Hall, racks: Racks, cap: int, at: float, one_row: bool = False) -> Arranged | None:
    """Hang all switches in racks of their own; `at` says where in its row the share of a row stands (0.5 middle, 1 end)."""
    blocks, _ = blocks_of_nodes(topology, racks)
    sizes = _sizes(topology)
    limits = arranging_limits(topology, hall.least)
    shelves: list[Rack] = []
    hung: list[tuple[int, int, int]] = []
    roles = topology.devices["role"].to_list()
    role = ""
    for dev in switches_in_order(topology).tolist():
        apart = one_row and (roles[dev] == "leaf") != (role == "leaf") and bool(role)  # spines begin a rack of their own
        if not shelves or apart or not shelves[-1].takes(sizes[dev]):
            shelves.append(Rack(limits, cap))
        role = roles[dev]
        hung.append((dev, len(shelves) - 1, shelves[-1].hang(sizes[dev])))
    servers = server_racks(topology, limits)
    if len(blocks) + len(shelves) + (servers.racks if servers else 0) > len(hall.free):
        return None
    network = _row_shares(hall, len(shelves), at, one_row)
    if one_row:
        first = {rack: roles[dev] for dev, rack, _ in reversed(hung)}
        network = _spines_inside(network, [first[rack] == "leaf" for rack in range(len(shelves))])
    rest = np.setdiff1d(np.arange(len(hall.free)), network)
    position, ru = _stand_nodes(topology, hall, blocks, rest, racks)
    if servers:
        position[servers.dev], ru[servers.dev] = hall.free[rest[len(blocks) + servers.slot]], servers.ru
    for dev, rack, unit in hung:
        position[dev], ru[dev] = hall.free[network[rack]], unit
    return Arranged(position, ru)


def _row_shares(hall: Hall, racks: int, at: float, one_row: bool) -> Ints:
    """Free positions, numbered in row order, for network racks: even shares of all rows, or the fewest neighbouring rows around the middle one."""
    room = hall.room()
    first = np.cumsum(room) - room
    shares = np.zeros(len(room), np.int64)
    rows = sorted(range(len(room)), key=lambda r: (abs(r - (len(room) - 1) / 2), r))
    while shares.sum() < racks:
        for row in rows:
            want = racks if one_row else 1
            shares[row] += min(want, int(room[row] - shares[row]), int(racks - shares.sum()))
    begin = np.floor((room - shares) * at).astype(np.int64)
    return np.concatenate([first[r] + begin[r] + np.arange(shares[r]) for r in range(len(room))])


def _spines_inside(network: Ints, leaf_rack: Sequence[bool]) -> Ints:
    """Positions for racks in hanging order so that racks of leaves stand left and right of the others."""
    leaves = [i for i, leaf in enumerate(leaf_rack) if leaf]
    others = [i for i, leaf in enumerate(leaf_rack) if not leaf]
    half = (len(leaves) + 1) // 2
    order = [*leaves[:half], *others, *leaves[half:]]
    result = np.zeros_like(network)
    result[np.array(order, np.int64)] = network
    return result


def _stand_nodes(topology: Topology, hall: Hall, blocks: Sequence[Ints], numbers: Ints, racks: Racks) -> tuple[Ints, Ints]:
    """Blocks of nodes on the free positions `numbers`, in order, nodes from the bottom."""
    position, ru = (np.zeros(topology.devices.height, np.int64) for _ in range(2))
    profile = topology.devices["profile"].to_list()
    for devs, number in zip(blocks, numbers, strict=False):
        position[devs], ru[devs] = hall.free[number], 1 + np.arange(len(devs)) * racks[profile[devs[0]]].size.height_ru
    return position, ru


def _spread(topology: Topology, hall: Hall, racks: Racks, cap: int, middle: bool) -> Arranged | None:
    blocks, pods = blocks_of_nodes(topology, racks)
    free = len(hall.free)
    servers = server_racks(topology, arranging_limits(topology, hall.least))
    filled = len(blocks) + (servers.racks if servers else 0)
    if filled > free:
        return None
    sizes, profile = _sizes(topology), topology.devices["profile"].to_list()
    pitches = [racks[profile[b[0]]].size.height_ru for b in blocks]
    shelves = [Rack(arranging_limits(topology, limits), cap) for limits in limits_of(hall.positions[hall.free])]
    for block, shelf in zip(blocks, shelves, strict=False):
        for dev in block.tolist():
            shelf.load(sizes[dev])
    position, ru = _stand_nodes(topology, hall, blocks, np.arange(free), racks)
    if servers:
        position[servers.dev], ru[servers.dev] = hall.free[len(blocks) + servers.slot], servers.ru
    floor = [len(b) * pitch for b, pitch in zip(blocks, pitches, strict=True)] + [0] * (free - len(blocks))
    roles, home = (topology.devices[c].to_list() for c in ("role", "home"))
    racks_of: dict[int, list[int]] = {-1: list(range(len(blocks)))}
    for number, pod in enumerate(pods):
        racks_of.setdefault(pod, []).append(number)
    hung = switches_in_order(topology).tolist()
    of_no_pod = sum(home[dev] < 0 or home[dev] not in racks_of for dev in hung)
    turn: dict[int, int] = {}
    in_middle: dict[int, list[int]] = {}
    above: dict[int, list[int]] = {}
    for dev in hung:
        pod = home[dev] if home[dev] in racks_of else -1
        own, begin = racks_of[pod], turn.get(pod, 0)
        step = 1 if pod >= 0 else max(1, len(own) // max(1, of_no_pod))
        tries = chain((own[(begin + i) % len(own)] for i in range(len(own))), range(filled, free), range(len(blocks)))
        rack = next((i for i in tries if shelves[i].takes(sizes[dev], floor[i])), None)
        if rack is None:
            return None
        turn[pod] = begin + step
        position[dev], ru[dev] = hall.free[rack], shelves[rack].hang(sizes[dev])
        if middle and rack < len(blocks):
            (in_middle if roles[dev] == "leaf" else above).setdefault(rack, []).append(dev)
    for rack, leaves in in_middle.items():
        ru[above.get(rack, [])] += sum(sizes[dev][0] for dev in leaves)  # they hung below the leaves
        _leaves_amid_nodes(leaves, blocks[rack], ru, sizes, pitches[rack])
    return Arranged(position, ru)


def _leaves_amid_nodes(leaves: Sequence[int], nodes: Ints, ru: Ints, sizes: Sequence[tuple[int, float, float]], pitch: int) -> None:
    """Let the leaves of a rack follow half of its nodes, and raise the other half."""
    below = len(nodes) // 2
    unit = 1 + below * pitch
    for dev in leaves:
        ru[dev] = unit
        unit += sizes[dev][0]
    ru[nodes[below:]] = unit + np.arange(len(nodes) - below) * pitch
