"""What a search of placements sees: spots, slots, blocks of nodes, switches, and what each pair of them costs.

    spot    a hall position where a rack can stand
    slot    a piece of a spot as high as the highest switch, counted from the top of the highest rack; slot number = spot x slots of
            a rack + k. A lower rack has its upper slots closed
    block   the nodes that share a rack, filled from the bottom; it takes a spot and leaves its upper slots to switches
    switch  every other device, but PDUs, which follow the racks; servers are switches that must not move

Costs are those of `pricing.link_price`: links by their own route. The exact price comes from `pricing.price` afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..fabric.topology import Topology
from .arrangement import blocks_of_nodes
from .cooling import liquid_here
from .hall import RACK_UNIT_M, Floats, Hall, Ints, Mask
from .keep import blocks_around
from .kept import STANDING, Kept
from .pins import Wishes, narrowed
from .pricing import Tariff, link_price
from .site_tables import apart_sets, bundles, cage_mates, floor_routes, slots_beside, slots_of_racks, slots_open
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
    """Lowest unit of slot k in the highest rack."""
    shift_ru: Ints
    """[spot]: how many units higher the slots of a lower rack lie, so that the uppermost open one ends at its top."""
    block_devs: tuple[Ints, ...]
    block_pod: Ints
    block_load: Ints
    """Load of each block, from 1: row of `loads` plus 1."""
    loads: tuple[tuple[int, Size], ...]
    """(nodes, size of one) of every load there is."""
    switch_dev: Ints
    switch_role: tuple[str, ...]
    switch_height_m: Floats
    """[switch, k]: height of the ports of a switch in slot k of the highest rack."""
    open_slots: Ints
    """[spot, load of the rack]: how many slots, from the top of the highest rack, switches may take there; load 0 is none, then those of `loads`."""
    free_slot: Mask
    """[spot, k]: the rack is as high, and nothing stands there already."""
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
    if kept is not None:
        blocks, pods = blocks_around(kept, blocks, pods)
    role = topology.devices["role"].to_list()
    switch_dev = np.array([i for i in devices.tolist() if role[i] not in ("node", "pdu")], np.int64)
    moving = switch_dev[[role[i] not in STANDING for i in switch_dev.tolist()]]
    profile = topology.devices["profile"].to_list()
    of_block = [(len(b), max(racks[profile[dev]].size for dev in b.tolist())) for b in blocks]
    loads = tuple(dict.fromkeys(of_block))
    pitch = int(height[moving].max(initial=1))
    slots, slot_ru, shift_ru = slots_of_racks(hall, spots, pitch)
    base_m, fall = floor_routes(topology, hall, spots)
    units = wishes.taken.copy()
    spot_of = np.full(topology.devices.height, -1, np.int64)
    if kept is not None:
        number = np.full(hall.positions.height, -1, np.int64)
        number[spots] = np.arange(len(spots))
        spot_of[kept.mask] = number[kept.position[kept.mask]]
        for dev in np.flatnonzero(kept.mask).tolist():
            units[spot_of[dev], kept.ru[dev] - 1 : kept.ru[dev] - 1 + height[dev]] = True
    fixed_block = np.array([spot_of[b].max(initial=-1) for b in blocks], np.int64)
    fixed_switch = np.full(len(switch_dev), -1, np.int64)
    if kept is not None:
        stands = spot_of[switch_dev]
        away_ru = np.abs(slot_ru[None, :] + shift_ru[stands][:, None] - kept.ru[switch_dev][:, None])
        fixed_switch = np.where(stands >= 0, stands * slots + np.argmin(away_ru, axis=1), -1)
    lowest = slot_ru[None, :] + shift_ru[:, None]
    at = np.clip(lowest[:, :, None] - 1 + np.arange(pitch), 0, hall.highest_ru - 1)
    tops = [nodes * size.height_ru for nodes, size in of_block]
    block_load = np.array([loads.index(load) + 1 for load in of_block], np.int64)
    may_block = np.array([wishes.may[b].all(axis=0) & ~units[:, :top].any(axis=1) for b, top in zip(blocks, tops, strict=True)]).reshape(len(blocks), len(spots))
    open_slots = slots_open(topology, hall, spots, wishes, lowest, loads, cap)
    firsts = np.array([b[0] for b in blocks], np.int64)
    may_block &= wishes.block_here[None, :] & liquid_here(topology, hall, firsts, spots)
    free_slot = np.asarray(~units[np.arange(len(spots))[:, None, None], at].any(axis=2) & (lowest >= 1))
    if kept is not None:  # standing servers are in the wishes already
        stand = np.array([d for d in moving.tolist() if kept.mask[d]], np.int64)
        open_slots = np.minimum(open_slots, slots_beside(topology, hall, spots, wishes, lowest, loads, cap, free_slot, stand, spot_of[stand]))
    may_block[:, fixed_block[fixed_block >= 0]] = False
    may_block &= np.array([open_slots[:, load] >= 0 for load in block_load.tolist()]).reshape(may_block.shape)
    to_blocks, to_switches = bundles(topology, tariff, blocks, switch_dev, links)
    return Sites(
        hall=hall,
        spots=spots,
        base_m=base_m,
        fall=fall,
        slots=slots,
        slot_ru=slot_ru,
        shift_ru=shift_ru,
        block_devs=tuple(blocks),
        block_pod=np.array(pods, np.int64),
        block_load=block_load,
        loads=loads,
        switch_dev=switch_dev,
        switch_role=tuple(role[d] for d in switch_dev.tolist()),
        switch_height_m=(slot_ru[None, :] - 1 + height[switch_dev][:, None] / 2) * RACK_UNIT_M,
        open_slots=np.maximum(open_slots, 0),
        free_slot=free_slot,
        fixed_block=fixed_block,
        fixed_switch=fixed_switch,
        apart=apart_sets(topology, switch_dev),
        switch_may=wishes.may[switch_dev] & liquid_here(topology, hall, switch_dev, spots),
        block_may=may_block,
        steps=tuple(link_price(kind, tariff.priced) for kind in tariff.kinds),
        mates=cage_mates(topology, tariff, blocks, links),
        to_blocks=to_blocks,
        to_switches=to_switches,
    )


def positions_of(sites: Sites, state: State, count: int) -> tuple[Ints, Ints]:
    """Hall position and lowest unit of all `count` devices, as `placement.assemble` wants them (those of other zones and PDUs: 0)."""
    position, ru = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for devs, spot, load in zip(sites.block_devs, state.spot_of_block.tolist(), sites.block_load.tolist(), strict=True):
        position[devs] = sites.spots[spot]
        ru[devs] = 1 + np.arange(len(devs)) * sites.loads[load - 1][1].height_ru
    position[sites.switch_dev] = sites.spots[state.slot_of_switch // sites.slots]
    ru[sites.switch_dev] = sites.slot_ru[state.slot_of_switch % sites.slots] + sites.shift_ru[state.slot_of_switch // sites.slots]
    return position, ru


def is_sound(sites: Sites, state: State) -> bool:
    """True when no rack holds more than it may and every pin is kept (what must not move is not judged)."""
    switches, blocks = sites.fixed_switch < 0, sites.fixed_block < 0
    moved = state.slot_of_switch[switches]
    if len(np.unique(state.spot_of_block)) < len(state.spot_of_block) or len(np.unique(moved)) < len(moved):
        return False
    nodes = np.zeros(len(sites.spots), np.int64)
    nodes[state.spot_of_block] = sites.block_load
    spot, k = state.slot_of_switch // sites.slots, state.slot_of_switch % sites.slots
    good = (k < sites.open_slots[spot, nodes[spot]]) & sites.free_slot[spot, k] & sites.switch_may[np.arange(len(spot)), spot]
    stands = sites.block_may[np.arange(len(state.spot_of_block)), state.spot_of_block]
    apart = all(len(np.unique(spot[members])) > 1 for members in sites.apart)
    return bool(good[switches].all() and stands[blocks].all() and apart)
