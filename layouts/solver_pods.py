"""Large halls: pods keep the racks that a fixed arrangement gives them, each pod is searched by itself, upper switches follow.

Pods that look alike in their part of the hall (same routes between their positions, same links) are searched once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..fabric.tables import SWITCHES
from ..fabric.topology import Topology
from .hall import RACK_UNIT_M, Floats, Ints
from .pins import Wishes
from .placement import Ground
from .pricing import Tariff, link_price
from .routes import route_terms_m
from .sites import State, Zone, make_sites, positions_of
from .sizes import device_sizes
from .solver_search import search, state_of
from .solver_walk import make_board

Places = tuple[Ints, Ints]


def solve_pods(
    topology: Topology, ground: Ground, tariff: Tariff, wishes: Wishes, places: Places, work: int, tell: Callable[[str], None], stop: Callable[[], bool]
) -> tuple[Places, bool]:
    """Better places for every pod and then for what serves all pods, from those of an arrangement, and whether that was interrupted; `work` is for each kind of pod."""
    at = np.stack(places)
    try:
        _each_pod(topology, ground, tariff, wishes, at, work, tell, stop)
    except KeyboardInterrupt:
        return (at[0], at[1]), True
    return (at[0], at[1]), False


def _each_pod(topology: Topology, ground: Ground, tariff: Tariff, wishes: Wishes, at: Ints, work: int, tell: Callable[[str], None], stop: Callable[[], bool]) -> None:
    """Better the places `at` ([position and unit, device]); after an interrupt they are as good as they got."""
    position, ru = at[0], at[1]
    pod = topology.devices["home"].to_numpy()
    pods = np.unique(pod[pod >= 0]).tolist()
    a, b = (topology.links[c].to_numpy().astype(np.int64) for c in ("a_dev", "b_dev"))
    inside = np.where(pod[a] == pod[b], pod[a], -1)
    order = np.argsort(inside, kind="stable")
    links_of = dict(zip(*_split(inside[order], order), strict=True))
    by_pod = np.argsort(pod, kind="stable")
    devices_of = dict(zip(*_split(pod[by_pod], by_pod), strict=True))
    devices_at = _devices_at(position)
    known: dict[bytes, State] = {}
    for number, one in enumerate(pods):
        if stop():
            break
        devices = devices_of[one]
        links = links_of.get(one, np.zeros(0, np.int64))
        if number % 16 == 0:
            tell(f"placing racks and switches: pod {number + 1} of {len(pods)}")
        found = _one_pod(topology, ground, tariff, wishes, (position, ru), devices, links, devices_at, known, work, stop)
        if found is not None:
            at[:, devices] = np.stack(found)[:, devices]  # in one go: an interrupt leaves no pod half moved
    for fabric in topology.fabrics:
        for role in ("spine", "core"):
            _permute(topology, ground, tariff, at, fabric, role)


def _split(keys: Ints, values: Ints) -> tuple[list[int], list[Ints]]:
    """Values by key; both are sorted by key."""
    begins = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    return keys[begins].tolist(), [np.sort(part) for part in np.split(values, begins[1:])] if len(keys) else []


def _devices_at(position: Ints) -> dict[int, Ints]:
    order = np.argsort(position, kind="stable")
    return dict(zip(*_split(position[order], order), strict=True))


def _one_pod(
    topology: Topology,
    ground: Ground,
    tariff: Tariff,
    wishes: Wishes,
    places: Places,
    devices: Ints,
    links: Ints,
    devices_at: dict[int, Ints],
    known: dict[bytes, State],
    work: int,
    stop: Callable[[], bool],
) -> Places | None:
    """Search one pod on the positions it has; devices of others that share them stay."""
    position, ru = places
    hall = ground.hall
    spots = np.unique(position[devices])
    free = np.searchsorted(hall.free, spots)
    taken, power_w, weight_kg = wishes.taken.copy(), wishes.power_w.copy(), wishes.weight_kg.copy()
    sizes = device_sizes(topology)
    height, watts, kilos = (sizes[c].to_numpy() for c in ("height_ru", "power_w", "weight_kg"))
    strangers = np.zeros(len(hall.free), np.int64)
    is_switch = topology.devices["role"].is_in(SWITCHES).to_numpy()
    for number, spot in zip(free.tolist(), spots.tolist(), strict=True):
        for other in np.setdiff1d(devices_at[spot], devices).tolist():
            taken[number, ru[other] - 1 : ru[other] - 1 + height[other]] = True
            power_w[number] += watts[other]
            weight_kg[number] += kilos[other]
            strangers[number] += is_switch[other]
    here = replace(wishes, taken=taken, power_w=power_w, weight_kg=weight_kg, switches_here=np.maximum(np.minimum(wishes.switches_here, ground.cap) - strangers, 0))
    sites = make_sites(topology, hall, tariff, ground.racks, ground.cap, here, None, Zone(devices, free, links))
    parts = (sites.base_m, sites.fall, sites.shift_ru, sites.free_slot, sites.open_slots, sites.block_load, sites.block_may, sites.switch_may, *sites.to_blocks, *sites.to_switches)
    key = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    if key not in known:
        start = state_of(sites, position, ru)
        found = None if start is None else search(make_board(sites), [start], topology.design.seed, work, stop=stop)
        if found is None:
            return None
        known[key] = found[0]
    return positions_of(sites, known[key], topology.devices.height)


def _permute(topology: Topology, ground: Ground, tariff: Tariff, at: Ints, fabric: str, role: str) -> None:
    """Let the switches of a fabric and role that serve all pods trade places among themselves, at their best with everything else fixed."""
    from scipy.optimize import linear_sum_assignment

    position, ru = at[0], at[1]
    own = (topology.devices["role"] == role) & (topology.devices["fabric"] == fabric)
    devices = np.flatnonzero((own & (topology.devices["home"] < 0)).to_numpy())
    sizes = device_sizes(topology)["height_ru"].to_numpy().astype(np.int64)
    if len(devices) < 2 or len(np.unique(sizes[devices])) > 1 or topology.design.placement.pins:
        return
    number = np.full(topology.devices.height, -1, np.int64)
    number[devices] = np.arange(len(devices))
    a, b = (topology.links[c].to_numpy().astype(np.int64) for c in ("a_dev", "b_dev"))
    mine = np.where(number[b] >= 0, number[b], number[a])
    peer = np.where(number[b] >= 0, a, b)
    rows = np.flatnonzero((mine >= 0) & (number[peer] < 0))
    keys, counts = np.unique(np.stack([mine[rows], peer[rows], tariff.kind_of_link[rows]]), axis=1, return_counts=True)
    table = np.zeros((len(devices), len(devices)))
    height_m = (ru - 1 + sizes / 2) * RACK_UNIT_M
    for slot, device in enumerate(devices.tolist()):
        table[:, slot] = _cost_there(ground, tariff, keys, counts, len(devices), position, height_m, device)
    rows_, columns = linear_sum_assignment(table)
    if table[rows_, columns].sum() < np.trace(table) - 1e-6:
        at[:, devices[rows_]] = at[:, devices[columns]]


def _cost_there(ground: Ground, tariff: Tariff, keys: Ints, counts: Ints, devices: int, position: Ints, height_m: Floats, there: int) -> Floats:
    """Cost of the links of every device, stood where device `there` stands."""
    mine, peer, kind = keys
    at = np.full(len(peer), position[there])
    route_m = sum(route_terms_m(ground.hall, at, position[peer], np.full(len(peer), height_m[there]), height_m[peer]).values())
    cost = np.zeros(len(peer))
    for k in np.unique(kind).tolist():
        lengths, table = link_price(tariff.kinds[k], tariff.priced)
        bins = np.searchsorted(lengths, np.round(np.asarray(route_m)[kind == k], 6))
        cost[kind == k] = table[bins, bins]
    return np.asarray(np.bincount(mine, weights=cost * counts, minlength=devices), np.float64)
