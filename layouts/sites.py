"""What a search of placements sees: spots, slots, blocks of nodes, switches, and what each pair of them costs.

    spot    a hall position where a rack can stand
    slot    a piece of a spot as high as the highest switch, counted from the top; slot number = spot x slots of a rack + k
    block   the nodes that share a rack, filled from the bottom; it takes a spot and leaves its upper slots to switches
    switch  every other device

Costs are those of `pricing.link_price`: links by their own route. The exact price comes from `pricing.price` afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..fabric.topology import Topology
from .arrangement import blocks_of_nodes
from .hall import RACK_UNIT_M, Floats, Hall, Ints, Mask
from .keep import Kept
from .pins import Wishes, narrowed
from .pricing import Tariff, link_price
from .routes import route_terms_m
from .sizes import NodeRack, Size, device_sizes


@dataclass(frozen=True)
class State:
    """A placement as the search knows it: spot of every block, slot of every switch."""

    spot_of_block: Ints
    slot_of_switch: Ints


@dataclass(frozen=True)
class Sites:
    """The problem of a search; arrays only."""

    hall: Hall
    spots: Ints
    """Row in `hall.positions` of each spot."""
    base_m: Floats
    """Route between the feet of two spots; in the diagonal the route between ports at one height."""
    fall: Floats
    """Metres of route saved by a metre of height, by pair of spots (0 where the route was measured)."""
    slots: int
    """Slots of a rack."""
    slot_ru: Ints
    block_devs: tuple[Ints, ...]
    block_pod: Ints
    block_load: Ints
    """Load of each block, from 1: row of `loads` plus 1."""
    loads: tuple[tuple[int, Size], ...]
    """(nodes, size of one) of every load there is."""
    switch_dev: Ints
    switch_role: tuple[str, ...]
    switch_height_m: Floats
    """[switch, k]: height of the ports of a switch in slot k."""
    open_slots: Ints
    """[spot, load of the rack]: how many slots, from the top, switches may take there; load 0 is none, then those of `loads`."""
    free_slot: Mask
    """[spot, k]: nothing stands there already."""
    fixed_block: Ints
    """Spot of each block that must not move, -1 for others."""
    fixed_switch: Ints
    """Slot (the nearest) of each switch that must not move, -1 for others."""
    apart: tuple[Ints, ...]
    """Sets of switches that must not all share a rack."""
    switch_may: Mask
    """[switch, spot]."""
    block_may: Mask
    """[block, spot]."""
    steps: tuple[tuple[Floats, Floats], ...]
    """Cost of a link by its group's and its own route, for each kind of cage group: see `pricing.link_price`."""
    mates: tuple[tuple[tuple[int, ...], ...], ...]
    """For each kind: nodes of a block, by rank from the bottom, that share a cage of the switch; their cable is chosen by the longest route."""
    to_blocks: tuple[Floats, ...]
    """For each kind: [switch, block] links to one node of the block."""
    to_switches: tuple[Floats, ...]
    """For each kind: [switch, switch] links, symmetric."""

    def route_m(self, spot_a: Ints, height_a_m: Floats, spot_b: Ints, height_b_m: Floats) -> Floats:
        """Route between ports; arguments broadcast."""
        apart = self.base_m[spot_a, spot_b] - self.fall[spot_a, spot_b] * (height_a_m + height_b_m)
        within = self.base_m[spot_a, spot_b] + np.where(self.fall[spot_a, spot_b] > 0, np.abs(height_a_m - height_b_m), 0.0)
        return np.asarray(np.round(np.where(spot_a == spot_b, within, apart), 6), np.float64)

    def cost(self, kind: int, route_m: Floats) -> Floats:
        """Cost of one link of a kind by its route, were its group's other links as long."""
        lengths, costs = self.steps[kind]
        at = np.searchsorted(lengths, route_m)
        return np.asarray(costs[at, at], np.float64)

    def block_cost(self, kind: int, routes_m: Sequence[Floats]) -> Floats:
        """Cost of one link to each node of a block, by the routes to its nodes from the bottom."""
        lengths, costs = self.steps[kind]
        bins = [np.searchsorted(lengths, route_m) for route_m in routes_m]
        total = np.zeros(bins[0].shape)
        alone = set(range(len(bins))) - {r for group in self.mates[kind] for r in group if r < len(bins)}
        for group in [*self.mates[kind], *((r,) for r in sorted(alone))]:
            own = [bins[r] for r in group if r < len(bins)]
            if own:
                longest = np.maximum.reduce(own)
                for one in own:
                    total += costs[longest, one]
        return np.asarray(total, np.float64)

    @property
    def slot_count(self) -> int:
        """Slots of the hall."""
        return len(self.spots) * self.slots

    def node_heights_m(self, load: int) -> Floats:
        """Heights of the ports of a load's nodes."""
        nodes, size = self.loads[load - 1]
        return np.asarray((np.arange(nodes) + 0.5) * size.height_ru * RACK_UNIT_M, np.float64)


@dataclass(frozen=True)
class Zone:
    """A part of the plan that is searched by itself: some devices on some free positions; `links` are rows of the link table."""

    devices: Ints
    free: Ints
    """Numbers of free positions of the hall."""
    links: Ints


def make_sites(
    topology: Topology, hall: Hall, tariff: Tariff, racks: Mapping[str, NodeRack], cap: int, wishes: Wishes, kept: Kept | None = None, zone: Zone | None = None
) -> Sites:
    """Lay out the problem for nodes as `racks` fills them and at most `cap` switches beside them."""
    devices = np.arange(topology.devices.height) if zone is None else zone.devices
    spots = hall.free if zone is None else hall.free[zone.free]
    links = np.arange(topology.links.height) if zone is None else zone.links
    if zone is not None:
        wishes = narrowed(wishes, zone.free)
    sizes = device_sizes(topology)
    height = sizes["height_ru"].to_numpy().astype(np.int64)
    blocks, pods = blocks_of_nodes(topology, racks, devices)
    role = topology.devices["role"].to_list()
    switch_dev = np.array([i for i in devices.tolist() if role[i] != "node"], np.int64)
    profile = topology.devices["profile"].to_list()
    of_block = [(len(b), racks[profile[b[0]]].size) for b in blocks]
    loads = tuple(dict.fromkeys(of_block))
    pitch = int(height[switch_dev].max(initial=1))
    slots = hall.limits.height_ru // pitch
    slot_ru = hall.limits.height_ru - pitch * (np.arange(slots) + 1) + 1
    base_m, fall = _routes(topology, hall, spots)
    units = wishes.taken.copy()
    spot_of = np.full(topology.devices.height, -1, np.int64)
    if kept is not None:
        number = np.full(hall.positions.height, -1, np.int64)
        number[spots] = np.arange(len(spots))
        spot_of[kept.mask] = number[kept.position[kept.mask]]
        for dev in np.flatnonzero(kept.mask).tolist():
            units[spot_of[dev], kept.ru[dev] - 1 : kept.ru[dev] - 1 + height[dev]] = True
    fixed_block = np.array([spot_of[b].max(initial=-1) for b in blocks], np.int64)
    nearest = np.array([int(np.argmin(np.abs(slot_ru - ru))) for ru in (kept.ru[switch_dev].tolist() if kept else ())], np.int64)
    fixed_switch = np.where(spot_of[switch_dev] >= 0, spot_of[switch_dev] * slots + nearest, -1) if kept else np.full(len(switch_dev), -1, np.int64)
    at = np.maximum(slot_ru[:, None] - 1 + np.arange(pitch)[None, :], 0)
    tops = [nodes * size.height_ru for nodes, size in of_block]
    block_load = np.array([loads.index(load) + 1 for load in of_block], np.int64)
    may_block = np.array([wishes.may[b].all(axis=0) & ~units[:, :top].any(axis=1) for b, top in zip(blocks, tops, strict=True)]).reshape(len(blocks), len(spots))
    open_slots = _open_slots(topology, hall, wishes, slot_ru, loads, cap)
    may_block &= wishes.block_here[None, :]
    may_block &= np.array([open_slots[:, load] >= 0 for load in block_load.tolist()]).reshape(may_block.shape)
    to_blocks, to_switches = _bundles(topology, tariff, blocks, switch_dev, links)
    return Sites(
        hall=hall,
        spots=spots,
        base_m=base_m,
        fall=fall,
        slots=slots,
        slot_ru=slot_ru,
        block_devs=tuple(blocks),
        block_pod=np.array(pods, np.int64),
        block_load=block_load,
        loads=loads,
        switch_dev=switch_dev,
        switch_role=tuple(role[d] for d in switch_dev.tolist()),
        switch_height_m=(slot_ru[None, :] - 1 + height[switch_dev][:, None] / 2) * RACK_UNIT_M,
        open_slots=np.maximum(open_slots, 0),
        free_slot=np.asarray(~units[:, at].any(axis=2)),
        fixed_block=fixed_block,
        fixed_switch=fixed_switch,
        apart=_apart(topology, switch_dev),
        switch_may=wishes.may[switch_dev],
        block_may=may_block,
        steps=tuple(link_price(kind, tariff.priced) for kind in tariff.kinds),
        mates=_mates(topology, tariff, blocks, links),
        to_blocks=to_blocks,
        to_switches=to_switches,
    )


def positions_of(sites: Sites, state: State, count: int) -> tuple[Ints, Ints]:
    """Hall position and lowest unit of all `count` devices, as `placement.assemble` wants them (those of other zones: 0 and 1)."""
    position, ru = np.zeros(count, np.int64), np.ones(count, np.int64)
    for devs, spot, load in zip(sites.block_devs, state.spot_of_block.tolist(), sites.block_load.tolist(), strict=True):
        position[devs] = sites.spots[spot]
        ru[devs] = 1 + np.arange(len(devs)) * sites.loads[load - 1][1].height_ru
    position[sites.switch_dev] = sites.spots[state.slot_of_switch // sites.slots]
    ru[sites.switch_dev] = sites.slot_ru[state.slot_of_switch % sites.slots]
    return position, ru


def is_sound(sites: Sites, state: State) -> bool:
    """True when no rack holds more than it may and every pin is kept (what must not move is not judged)."""
    if len(np.unique(state.spot_of_block)) < len(state.spot_of_block) or len(np.unique(state.slot_of_switch)) < len(state.slot_of_switch):
        return False
    nodes = np.zeros(len(sites.spots), np.int64)
    nodes[state.spot_of_block] = sites.block_load
    spot, k = state.slot_of_switch // sites.slots, state.slot_of_switch % sites.slots
    switches, blocks = sites.fixed_switch < 0, sites.fixed_block < 0
    good = (k < sites.open_slots[spot, nodes[spot]]) & sites.free_slot[spot, k] & sites.switch_may[np.arange(len(spot)), spot]
    stands = sites.block_may[np.arange(len(state.spot_of_block)), state.spot_of_block]
    apart = all(len(np.unique(spot[members])) > 1 for members in sites.apart)
    return bool(good[switches].all() and stands[blocks].all() and apart)


def _routes(topology: Topology, hall: Hall, spots: Ints) -> tuple[Floats, Floats]:
    """Routes between the feet of all pairs of spots, and what a metre of height saves."""
    n = len(spots)
    a, b = (grid.ravel() for grid in np.meshgrid(spots, spots, indexing="ij"))
    floor = np.zeros(n * n)
    base = np.asarray(sum(route_terms_m(hall, a, b, floor, floor).values())).reshape(n, n)
    raised = np.asarray(sum(route_terms_m(hall, a, b, floor + 1.0, floor).values())).reshape(n, n)
    fall = np.round(base - raised, 9)
    np.fill_diagonal(fall, 1.0)
    number = {name: i for i, name in enumerate(hall.positions["rack"].gather(spots).to_list())}
    for measured in topology.design.hall.measured:
        i, j = number.get(measured.rack_a), number.get(measured.rack_b)
        if i is not None and j is not None:
            base[[i, j], [j, i]], fall[[i, j], [j, i]] = measured.length_m, 0.0
    return base, fall


def _open_slots(topology: Topology, hall: Hall, wishes: Wishes, slot_ru: Ints, loads: Sequence[tuple[int, Size]], cap: int) -> Ints:
    """Slots from the top that switches may take beside no load and each load: by height, power, weight and the hall's own cap; -1 where it may not stand."""
    sizes = device_sizes(topology)
    is_switch = (topology.devices["role"] != "node").to_numpy()
    each_w, each_kg = (max(float(sizes[c].to_numpy()[is_switch].max(initial=0.0)), 1e-9) for c in ("power_w", "weight_kg"))
    found = np.zeros((len(wishes.power_w), len(loads) + 1), np.int64)
    for number, (nodes, size) in enumerate([(0, Size(0, 0.0, 0.0)), *loads]):
        found[:, number] = np.minimum(min(int((slot_ru > nodes * size.height_ru).sum()), cap), wishes.switches_here)
        for left, each in ((hall.limits.power_w - wishes.power_w - nodes * size.power_w, each_w), (hall.limits.weight_kg - wishes.weight_kg - nodes * size.weight_kg, each_kg)):
            found[:, number] = np.minimum(found[:, number], np.floor((left + 1e-6) / each).astype(np.int64))
    return np.maximum(found, -1)


def _apart(topology: Topology, switch_dev: Ints) -> tuple[Ints, ...]:
    role, plane = topology.devices["role"].gather(switch_dev).to_list(), topology.devices["plane"].gather(switch_dev).to_list()
    sets: dict[tuple[str, int], list[int]] = {}
    for number, key in enumerate(zip(role, plane, strict=True)):
        if key[0] in topology.design.placement.apart:
            sets.setdefault(key, []).append(number)
    return tuple(np.array(members, np.int64) for members in sets.values() if len(members) > 1)


def _mates(topology: Topology, tariff: Tariff, blocks: Sequence[Ints], links: Ints) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Ranks of nodes that share a switch cage, for each kind, where all groups of the kind agree; else none."""
    rank = np.full(topology.devices.height, -1, np.int64)
    block_of = np.full(topology.devices.height, -1, np.int64)
    for number, devs in enumerate(blocks):
        rank[devs], block_of[devs] = np.arange(len(devs)), number
    a = topology.links["a_dev"].to_numpy().astype(np.int64)
    low = links[rank[a[links]] >= 0]
    keys = np.unique(np.stack([tariff.kind_of_link[low], tariff.group_of_link[low], block_of[a[low]], rank[a[low]]], axis=1), axis=0)
    found: list[set[tuple[int, ...]]] = [set() for _ in tariff.kinds]
    if len(keys):
        begins = np.flatnonzero(np.r_[True, (np.diff(keys[:, :3], axis=0) != 0).any(axis=1)])
        for part in np.split(keys, begins[1:]):
            found[int(part[0, 0])].add(tuple(part[:, 3].tolist()))
    result = []
    for groups in found:
        ranks = [r for g in groups for r in g]
        result.append(tuple(sorted(groups)) if len(ranks) == len(set(ranks)) else ())
    return tuple(result)


def _bundles(topology: Topology, tariff: Tariff, blocks: Sequence[Ints], switch_dev: Ints, links: Ints) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Links of each kind between switches and blocks, and between switches."""
    block_of = np.full(topology.devices.height, -1, np.int64)
    for number, devs in enumerate(blocks):
        block_of[devs] = number
    switch_of = np.full(topology.devices.height, -1, np.int64)
    switch_of[switch_dev] = np.arange(len(switch_dev))
    a, b = (topology.links[c].to_numpy()[links].astype(np.int64) for c in ("a_dev", "b_dev"))
    kind = tariff.kind_of_link[links]
    nodes = np.array([len(d) for d in blocks], float)
    to_blocks, to_switches = [], []
    for number in range(len(tariff.kinds)):
        mine = kind == number
        low = mine & (block_of[a] >= 0)
        one = np.zeros((len(switch_dev), len(blocks)))
        np.add.at(one, (switch_of[b[low]], block_of[a[low]]), 1.0)
        high = mine & (block_of[a] < 0)
        two = np.zeros((len(switch_dev), len(switch_dev)))
        np.add.at(two, (switch_of[a[high]], switch_of[b[high]]), 1.0)
        to_blocks.append(one / np.maximum(nodes, 1.0))
        to_switches.append(two + two.T)
    return tuple(to_blocks), tuple(to_switches)
