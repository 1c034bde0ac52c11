"""Arrays that `sites.make_sites` lays out: routes between racks, room beside nodes, cage mates, bundles of links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..fabric.topology import Topology
from .hall import Floats, Hall, Ints, Mask
from .kept import STANDING
from .pins import Wishes
from .pricing import Tariff
from .routes import route_terms_m
from .sizes import MANY, Size, device_sizes


def floor_routes(topology: Topology, hall: Hall, spots: Ints) -> tuple[Floats, Floats]:
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


def slots_of_racks(hall: Hall, spots: Ints, pitch: int) -> tuple[int, Ints, Ints]:
    """Slots of a rack, lowest unit of each in the highest rack (below 1: not there), and by how many units they lie higher on each spot."""
    height_ru = hall.positions["height_ru"].to_numpy()[spots].astype(np.int64)
    above = -(-(hall.highest_ru - height_ru) // pitch)
    slots = int((above + height_ru // pitch).max(initial=hall.highest_ru // pitch))
    return slots, hall.highest_ru - pitch * (np.arange(slots) + 1) + 1, above * pitch - (hall.highest_ru - height_ru)


def slots_open(topology: Topology, hall: Hall, spots: Ints, wishes: Wishes, lowest: Ints, loads: Sequence[tuple[int, Size]], cap: int) -> Ints:
    """Slots from the top that switches may take beside no load and each load: by height, power, weight, cooling and the hall's own cap; -1 where it may not stand.

    `lowest` is the lowest unit of every slot, [spot, k]. Slots above a lower rack count, though nothing stands there.
    """
    sizes = device_sizes(topology)
    is_switch = topology.devices["role"].is_in(("node", *STANDING)).not_().to_numpy()
    each_w, each_kg, each_air_w = (max(float(sizes[c].to_numpy()[is_switch].max(initial=0.0)), 1e-9) for c in ("power_w", "weight_kg", "air_w"))
    here = hall.positions[spots]
    limit_ru, limit_w, limit_kg, floor_kg, limit_air_w = (here[c].to_numpy() for c in ("height_ru", "power_w", "weight_kg", "floor_kg", "air_w"))
    above = (lowest > limit_ru[:, None]).sum(axis=1)
    found = np.zeros((len(spots), len(loads) + 1), np.int64)
    for number, (nodes, size) in enumerate([(0, Size(0, 0.0, 0.0)), *loads]):
        most = np.minimum(wishes.switches_here, cap)
        for left, each in (
            (limit_w - wishes.power_w - nodes * size.power_w, each_w),
            (np.minimum(limit_kg, floor_kg) - wishes.weight_kg - nodes * size.weight_kg, each_kg),
            (limit_air_w - wishes.power_w - nodes * size.air_w, each_air_w),
        ):
            most = np.minimum(most, np.floor(np.minimum((left + 1e-6) / each, MANY)).astype(np.int64))
        found[:, number] = np.where(most < 0, -1, np.minimum((lowest > nodes * size.height_ru).sum(axis=1), above + most))
    return found


def slots_beside(
    topology: Topology, hall: Hall, spots: Ints, wishes: Wishes, lowest: Ints, loads: Sequence[tuple[int, Size]], cap: int, free_slot: Mask, kept: Ints, stand: Ints
) -> Ints:
    """Slots from the top that switches may take beside kept switches as well, which stand on spots `stand`; slots that are not free are passed over."""
    sizes = device_sizes(topology)
    power_w, weight_kg, count = wishes.power_w.copy(), wishes.weight_kg.copy(), np.zeros(len(wishes.power_w), np.int64)
    np.add.at(power_w, stand, sizes["power_w"].to_numpy()[kept])
    np.add.at(weight_kg, stand, sizes["weight_kg"].to_numpy()[kept])
    np.add.at(count, stand, 1)
    there = replace(wishes, power_w=power_w, weight_kg=weight_kg, switches_here=np.maximum(np.minimum(wishes.switches_here, cap) - count, 0))
    more = slots_open(topology, hall, spots, there, lowest, loads, cap)
    above = (lowest > hall.positions["height_ru"].to_numpy()[spots][:, None]).sum(axis=1)
    reach = (np.cumsum(free_slot, axis=1)[:, None, :] <= (more - above[:, None])[:, :, None]).sum(axis=2)
    return np.where(more < 0, more, reach)


def apart_sets(topology: Topology, switch_dev: Ints) -> tuple[Ints, ...]:
    role, plane = topology.devices["role"].gather(switch_dev).to_list(), topology.devices["plane"].gather(switch_dev).to_list()
    sets: dict[tuple[str, int], list[int]] = {}
    for number, key in enumerate(zip(role, plane, strict=True)):
        if key[0] in topology.design.placement.apart:
            sets.setdefault(key, []).append(number)
    return tuple(np.array(members, np.int64) for members in sets.values() if len(members) > 1)


def cage_mates(topology: Topology, tariff: Tariff, blocks: Sequence[Ints], links: Ints) -> tuple[tuple[tuple[int, ...], ...], ...]:
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


def bundles(topology: Topology, tariff: Tariff, blocks: Sequence[Ints], switch_dev: Ints, links: Ints) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Links of each kind between switches and blocks, and between switches; those of PDUs, which stand everywhere, are left out."""
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
        high = mine & (block_of[a] < 0) & (switch_of[a] >= 0)
        two = np.zeros((len(switch_dev), len(switch_dev)))
        np.add.at(two, (switch_of[a[high]], switch_of[b[high]]), 1.0)
        to_blocks.append(one / np.maximum(nodes, 1.0))
        to_switches.append(two + two.T)
    return tuple(to_blocks), tuple(to_switches)
