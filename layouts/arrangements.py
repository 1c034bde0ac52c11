"""The fixed arrangements that every search is measured against, and presets that a design can force.

end-of-row               N N N N N N S S     all network racks at the ends of the rows
mid-row                  N N N S S N N N     all network racks in the middle of the rows
switch-per-rack          n n n n n n n n     switches spread over the node racks, above the nodes
amid-su                  N N S N N N S N     leaves amid the racks of their SU, the rest in the middle pod
virtual-modular-switch   N L L S S L L N     spine racks amid all leaf racks, so that copper joins them
tor-mid-rack             m m m m m m m m     leaves in node racks, half of the nodes below and half above

Pins are kept as far as they speak of where nodes or switches may stand at all; `rules.check_placement` judges the rest.
`around.py` makes them stand around forbidden racks and equipment.
Servers stand in racks of their own behind the node racks, filled as in the reference arrangement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..fabric.topology import Topology
from .arrangement import Block, arrange, blocks_of_nodes, server_racks, switches_in_order
from .hall import Hall, Ints, stand_blocks
from .mixed import stand_mixed
from .pins import Wishes
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


def end_of_row(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
    """All network racks at the ends of the rows, the same number in each."""
    return _network_apart(topology, hall, racks, cap, asked, at=1.0)


def mid_row(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
    """All network racks in the middle of the rows, the same number in each."""
    return _network_apart(topology, hall, racks, cap, asked, at=0.5)


def virtual_modular_switch(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
    """Network racks in the middle of one row (or of few), spines and cores in the middle of those."""
    return _network_apart(topology, hall, racks, cap, asked, at=0.5, one_row=True)


def amid_su(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
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


def switch_per_rack(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
    """Leaves spread over the node racks of their pod and other switches over all, hung from the top; what finds no room stands in racks of its own."""
    return _spread(topology, hall, racks, cap, asked, middle=False)


def tor_mid_rack(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None = None) -> Arranged | None:
    """As switch-per-rack, but leaves stand in the middle of the rack, nodes below and above."""
    return _spread(topology, hall, racks, cap, asked, middle=True)


Maker = Callable[[Topology, Hall, Racks, int, Wishes | None], Arranged | None]

FIXED: dict[str, Maker] = {"end-of-row": end_of_row, "mid-row": mid_row, "switch-per-rack": switch_per_rack, "amid-su": amid_su}
"""The four arrangements that results are compared with."""

PRESETS: dict[str, Maker] = {**FIXED, "virtual-modular-switch": virtual_modular_switch, "tor-mid-rack": tor_mid_rack}
"""Everything that a design can force."""


def _sizes(topology: Topology) -> list[tuple[int, float, float]]:
    return list(device_sizes(topology).select("height_ru", "power_w", "weight_kg").iter_rows())


def _network_apart(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None, at: float, one_row: bool = False) -> Arranged | None:
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
    open_to_all = np.ones(len(hall.free), bool) if asked is None else asked.may[switches_in_order(topology)].all(axis=0)
    if len(shelves) > int(open_to_all.sum()):
        return None
    network = _row_shares(hall, np.flatnonzero(open_to_all), len(shelves), at, one_row)
    if one_row:
        first = {rack: roles[dev] for dev, rack, _ in reversed(hung)}
        network = _spines_inside(network, [first[rack] == "leaf" for rack in range(len(shelves))])
    rest = np.setdiff1d(np.arange(len(hall.free)), network)
    numbers = _numbers_of_blocks(blocks, rest, asked)
    if numbers is None:
        return None
    position, ru = _stand_nodes(topology, hall, blocks, numbers, racks)
    if _stand_servers(hall, servers, np.setdiff1d(rest, numbers), position, ru) is None:
        return None
    for dev, rack, unit in hung:
        position[dev], ru[dev] = hall.free[network[rack]], unit
    return Arranged(position, ru)


def _numbers_of_blocks(blocks: Sequence[Ints], numbers: Ints, asked: Wishes | None) -> Ints | None:
    """The free position of every block, among `numbers`: in order, blocks that pins leave the least choice first; None when one finds none."""
    if asked is None:
        return numbers[: len(blocks)] if len(blocks) <= len(numbers) else None
    may = np.array([asked.may[b].all(axis=0) for b in blocks]).reshape(len(blocks), -1)[:, numbers] & asked.block_here[numbers]
    found = np.full(len(blocks), -1, np.int64)
    for block in np.argsort(may.sum(axis=1), kind="stable").tolist():
        if not may[block].any():
            return None
        at = int(np.argmax(may[block]))
        found[block] = numbers[at]
        may[:, at] = False
    return found


def _row_shares(hall: Hall, numbers: Ints, racks: int, at: float, one_row: bool) -> Ints:
    """Those of the free positions `numbers`, in row order, that network racks take: even shares of all rows, or the fewest neighbouring rows around the middle one."""
    rows_of = hall.positions["row_no"].to_numpy().astype(np.int64)
    room = np.bincount(rows_of[hall.free[numbers]], minlength=int(rows_of.max(initial=-1)) + 1)
    first = np.cumsum(room) - room
    shares = np.zeros(len(room), np.int64)
    rows = sorted(range(len(room)), key=lambda r: (abs(r - (len(room) - 1) / 2), r))
    while shares.sum() < racks:
        for row in rows:
            want = racks if one_row else 1
            shares[row] += min(want, int(room[row] - shares[row]), int(racks - shares.sum()))
    begin = np.floor((room - shares) * at).astype(np.int64)
    return np.asarray(numbers[np.concatenate([first[r] + begin[r] + np.arange(shares[r]) for r in range(len(room))])], np.int64)


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
    """Blocks of nodes on the free positions `numbers`, one for each, nodes from the bottom."""
    position, ru = (np.zeros(topology.devices.height, np.int64) for _ in range(2))
    profile = topology.devices["profile"].to_list()
    for devs, number in zip(blocks, numbers, strict=True):
        position[devs], ru[devs] = hall.free[number], 1 + np.arange(len(devs)) * racks[profile[devs[0]]].size.height_ru
    return position, ru


def _stand_servers(hall: Hall, servers: Block | None, numbers: Ints, position: Ints, ru: Ints) -> set[int] | None:
    """Stand the racks of servers on the first of the free positions `numbers` and return these; None when there are too few."""
    if servers is None:
        return set()
    if servers.racks > len(numbers):
        return None
    position[servers.dev], ru[servers.dev] = hall.free[numbers[servers.slot]], servers.ru
    return set(numbers[: servers.racks].tolist())


def _spread(topology: Topology, hall: Hall, racks: Racks, cap: int, asked: Wishes | None, middle: bool) -> Arranged | None:
    """Hang switches above the nodes of racks, those of a pod in its own first; with `middle` leaves go amid the nodes."""
    blocks, pods = blocks_of_nodes(topology, racks)
    free = len(hall.free)
    numbers = _numbers_of_blocks(blocks, np.arange(free), asked)
    if numbers is None:
        return None
    sizes, profile = _sizes(topology), topology.devices["profile"].to_list()
    servers = server_racks(topology, arranging_limits(topology, hall.least))
    block_at = dict(zip(numbers.tolist(), blocks, strict=True))
    pitch_at = {rack: racks[profile[b[0]]].size.height_ru for rack, b in block_at.items()}
    shelves = [Rack(arranging_limits(topology, limits), cap) for limits in limits_of(hall.positions[hall.free])]
    floor = [0] * free
    for rack, block in block_at.items():
        floor[rack] = len(block) * pitch_at[rack]
        for dev in block.tolist():
            shelves[rack].load(sizes[dev])
    position, ru = _stand_nodes(topology, hall, blocks, numbers, racks)
    served = _stand_servers(hall, servers, np.setdiff1d(np.arange(free), numbers), position, ru)
    if served is None:
        return None
    empty = [rack for rack in range(free) if rack not in block_at and rack not in served]
    roles, home = (topology.devices[c].to_list() for c in ("role", "home"))
    racks_of: dict[int, list[int]] = {-1: list(block_at)}
    for rack, pod in zip(block_at, pods, strict=True):
        racks_of.setdefault(pod, []).append(rack)
    hung = switches_in_order(topology).tolist()
    of_no_pod = sum(home[dev] < 0 or home[dev] not in racks_of for dev in hung)
    turn: dict[int, int] = {}
    in_middle: dict[int, list[int]] = {}
    above: dict[int, list[int]] = {}
    for dev in hung:
        pod = home[dev] if home[dev] in racks_of else -1
        own, begin = racks_of[pod], turn.get(pod, 0)
        step = 1 if pod >= 0 else max(1, len(own) // max(1, of_no_pod))
        tries = chain((own[(begin + i) % len(own)] for i in range(len(own))), empty, block_at)
        found = next((i for i in tries if (asked is None or asked.may[dev, i]) and shelves[i].takes(sizes[dev], floor[i])), None)
        if found is None:
            return None
        turn[pod] = begin + step
        position[dev], ru[dev] = hall.free[found], shelves[found].hang(sizes[dev])
        if middle and found in block_at:
            (in_middle if roles[dev] == "leaf" else above).setdefault(found, []).append(dev)
    for rack, leaves in in_middle.items():
        ru[above.get(rack, [])] += sum(sizes[dev][0] for dev in leaves)  # they hung below the leaves
        _leaves_amid_nodes(leaves, block_at[rack], ru, sizes, pitch_at[rack])
    return Arranged(position, ru)


def _leaves_amid_nodes(leaves: Sequence[int], nodes: Ints, ru: Ints, sizes: Sequence[tuple[int, float, float]], pitch: int) -> None:
    """Let the leaves of a rack follow half of its nodes, and raise the other half."""
    below = len(nodes) // 2
    unit = 1 + below * pitch
    for dev in leaves:
        ru[dev] = unit
        unit += sizes[dev][0]
    ru[nodes[below:]] = unit + np.arange(len(nodes) - below) * pitch
