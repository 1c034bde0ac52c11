"""The reference arrangement of a hall whose racks differ: node racks in order where they fit, switches as near to their pod as racks have room."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from .arrangement import blocks_of_nodes, servers_in_order, switches_in_order
from .hall import Floats, Hall, Ints, Mask
from .racks import limits_of
from .sizes import NodeRack, Size, device_sizes, misfits

BESIDE_NODES_M = 1e6
"""Distance added to racks with nodes, so that switches stand above nodes only where no other rack has room."""


class Shelves:
    """What every free position still has room for, while an arrangement is made."""

    def __init__(self, hall: Hall, cap: int) -> None:
        here = hall.positions[hall.free]
        self.limits = limits_of(here)
        self.top_ru, self.wet = here["height_ru"].to_numpy().astype(np.int64), here["liquid"].to_numpy()
        self.power_w, self.air_w = here["power_w"].to_numpy() + 1e-6, here["air_w"].to_numpy() + 1e-6
        self.weight_kg = here.select("weight_kg", "floor_kg").min_horizontal().to_numpy() + 1e-6
        self.floor_ru = np.zeros(len(here), np.int64)
        self.left = np.full(len(here), cap, np.int64)
        self.row = np.unique(here["row_no"].to_numpy(), return_inverse=True)[1].ravel()
        self.row_air_w = np.zeros(int(self.row.max(initial=-1)) + 1)
        self.row_air_w[self.row] = here["row_air_w"].to_numpy() + 1e-6

    def open_to(self, size: Size) -> Mask:
        """Positions where a switch of a size can hang from what hangs there already."""
        fits = (self.top_ru - size.height_ru >= self.floor_ru) & (self.power_w >= size.power_w) & (self.weight_kg >= size.weight_kg) & (self.air_w >= size.air_w)
        return np.asarray(fits & (self.left > 0) & (self.row_air_w[self.row] >= size.air_w) & (self.wet | (not size.liquid)))

    def load(self, at: int, size: Size) -> None:
        """Take power, weight and cooling."""
        self.power_w[at] -= size.power_w
        self.weight_kg[at] -= size.weight_kg
        self.air_w[at] -= size.air_w
        self.row_air_w[self.row[at]] -= size.air_w


def stand_mixed(topology: Topology, hall: Hall, racks: Mapping[str, NodeRack], cap: int) -> tuple[Ints, Ints] | None:
    """Hall position (row number in `hall.positions`) and lowest unit of every device; None when something finds no room."""
    shelves = Shelves(hall, cap)
    position, ru = (np.zeros(topology.devices.height, np.int64) for _ in range(2))
    at = np.stack([hall.positions[c].to_numpy()[hall.free] for c in ("x_m", "y_m")], axis=1)
    stood = _stand_blocks(topology, hall, racks, shelves, position, ru)
    if stood is None:
        return None
    middle = at[[p for own in stood.values() for p in own]].mean(axis=0) if stood else at.mean(axis=0)
    away_m = {pod: _away_m(at, at[own].mean(axis=0)) + BESIDE_NODES_M * (shelves.floor_ru > 0) for pod, own in stood.items()}
    of_no_pod_m = _away_m(at, middle) + BESIDE_NODES_M * (shelves.floor_ru > 0)
    home = topology.devices["home"].to_list()
    sizes = [Size(*row) for row in device_sizes(topology).select(Size._fields).iter_rows()]
    turn = _turns(topology)
    dealt = {profile: np.full(len(at), -1) for profile, _ in turn.values()}
    for dev in [*switches_in_order(topology).tolist(), *servers_in_order(topology).tolist()]:
        size = sizes[dev]
        may = shelves.open_to(size)
        if dev in turn:  # a rack takes servers of one turn, so that their kind stands in as many racks as it has turns
            profile, number = turn[dev]
            may &= (dealt[profile] < 0) | (dealt[profile] == number)
        spot = int(np.argmin(np.where(may, away_m.get(home[dev], of_no_pod_m), np.inf)))
        if not may[spot]:
            return None
        if dev in turn:
            dealt[profile][spot] = number
        shelves.load(spot, size)
        shelves.top_ru[spot] -= size.height_ru
        shelves.left[spot] -= 1
        position[dev], ru[dev] = hall.free[spot], shelves.top_ru[spot] + 1
    return position, ru


def _turns(topology: Topology) -> dict[int, tuple[str, int]]:
    """Server -> its profile and which of the racks that its kind asks for at least it is dealt to."""
    spread = {f"server-{i}": server.racks_at_least for i, server in enumerate(topology.design.servers)}
    servers = topology.devices.filter(pl.col("role") == "server").select("dev", "profile", "index")
    return {dev: (profile, index % spread[profile]) for dev, profile, index in servers.iter_rows()}


def _away_m(at: Floats, point: Floats) -> Floats:
    return np.asarray(np.abs(at - point).sum(axis=1))


def _stand_blocks(topology: Topology, hall: Hall, racks: Mapping[str, NodeRack], shelves: Shelves, position: Ints, ru: Ints) -> dict[int, list[int]] | None:
    """Stand the node racks, pod by pod, each on the first free position that takes it: pod -> positions, numbered in `hall.free`."""
    profile = topology.devices["profile"].to_list()
    fitting = {name: np.array([not misfits(limits, kind.whole) for limits in shelves.limits], bool) for name, kind in racks.items()}
    empty = np.ones(len(shelves.limits), bool)
    stood: dict[int, list[int]] = {}
    for devs, pod in zip(*blocks_of_nodes(topology, racks), strict=True):
        kind = racks[profile[devs[0]]]
        load = NodeRack(kind.size, len(devs)).whole
        may = np.flatnonzero(fitting[profile[devs[0]]] & empty & (shelves.row_air_w[shelves.row] >= load.air_w))
        if not len(may):
            return None
        spot = int(may[0])
        empty[spot] = False
        shelves.load(spot, load)
        shelves.floor_ru[spot] = load.height_ru
        stood.setdefault(pod, []).append(spot)
        position[devs], ru[devs] = hall.free[spot], 1 + np.arange(len(devs)) * kind.size.height_ru
    return stood
