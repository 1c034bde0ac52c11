"""A bound for halls of any size: every switch by itself at the best place the hall has, its racks and peers as near as can be.

A link never gets cheaper with its route, so a switch does best with its racks on the nearest positions and its peers in
the nearest slots. Positions that have the same distances around them are looked at once. Links between switches count
half at either end.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..fabric.topology import Topology
from .arrangement import blocks_of_nodes
from .hall import RACK_UNIT_M, Floats, Hall, Ints
from .placement import Ground
from .pricing import Tariff, link_price
from .routes import route_terms_m
from .sizes import Size, device_sizes

NEAR = 48
"""Nearest positions that are told apart; whatever lies beyond counts as the last of them."""

BESIDE = 400
"""Positions nearest through the air among which the nearest by route are looked for."""

Served = tuple[tuple[int, int, Size, float, int], ...]
"""(kind, nodes of a rack, size, links to each node, racks)."""

Peers = tuple[tuple[int, int, float, int], ...]
"""(kind, height of the peer, links, peers)."""


def hall_bound(topology: Topology, ground: Ground, tariff: Tariff) -> float:
    """Return a cost that no placement in the hall goes below; 0 where measured routes upset the order of distances."""
    if topology.design.hall.measured or not len(ground.hall.free):
        return 0.0
    around, own_m, fall = _distances(ground.hall)
    height = device_sizes(topology)["height_ru"].to_numpy().astype(np.int64)
    prices = [link_price(kind, tariff.priced) for kind in tariff.kinds]
    total = 0.0
    for (height_ru, served, peers), count in _signatures(topology, ground, tariff, height).items():
        ports = _port_heights_m(ground.hall, height_ru)
        cost = np.zeros((len(around), len(ports)))
        for kind, nodes, size, links, racks in served:
            cost += links * _to_racks(prices[kind], around, own_m, fall, ports, np.asarray((np.arange(nodes) + 0.5) * size.height_ru * RACK_UNIT_M, np.float64), racks)
        for kind, other_ru, links, many in peers:
            cost += 0.5 * links * _to_peers(prices[kind], around, own_m, fall, ports, _port_heights_m(ground.hall, other_ru), many)
        total += count * float(cost.min())
    return total


def _port_heights_m(hall: Hall, height_ru: int) -> Floats:
    """Heights of the ports of a device of a height, in every unit it may begin at."""
    return np.asarray((np.arange(hall.highest_ru - height_ru + 1) + height_ru / 2) * RACK_UNIT_M, np.float64)


def _distances(hall: Hall) -> tuple[Floats, float, float]:
    """Routes between feet from each kind of position to the nearest others (ascending), within a rack at one height, and what a metre of height saves."""
    spots, zero = hall.free, np.zeros(1)
    near = min(NEAR, len(spots) - 1)
    own_m = float(np.sum([t[0] for t in route_terms_m(hall, spots[:1], spots[:1], zero, zero).values()]))
    beside, beyond_m = _beside(hall)
    a = np.repeat(spots, beside.shape[1])
    floor = np.zeros(len(a))
    route = np.round(np.sum(list(route_terms_m(hall, a, spots[beside.ravel()], floor, floor).values()), axis=0), 6).reshape(beside.shape)
    route[beside == np.arange(len(spots))[:, None]] = -1.0
    rows = np.sort(np.partition(route, near, axis=1)[:, : near + 1], axis=1)[:, 1:]
    fall = 1 + hall.routing.slack_percent / 100
    return np.unique(np.minimum(rows, beyond_m[:, None]), axis=0), own_m, fall


def _beside(hall: Hall) -> tuple[Ints, Floats]:
    """For each free position the ones beside it, itself included, and how far through the air all others are at least (no route is shorter)."""
    n = len(hall.free)
    if n <= BESIDE:
        return np.tile(np.arange(n), (n, 1)), np.full(n, np.inf)
    from scipy.spatial import cKDTree

    at = np.stack([hall.positions[c].to_numpy()[hall.free] for c in ("x_m", "y_m")], axis=1)
    away_m, beside = (np.asarray(found) for found in cKDTree(at).query(at, k=BESIDE))
    return beside.astype(np.int64), away_m[:, -1].astype(np.float64)


def _signatures(topology: Topology, ground: Ground, tariff: Tariff, height: Ints) -> Counter[tuple[int, Served, Peers]]:
    """What a switch is joined to, and how many switches are joined like that."""
    blocks, _ = blocks_of_nodes(topology, ground.racks)
    profile = topology.devices["profile"].to_list()
    block_of = np.full(topology.devices.height, -1, np.int64)
    load: list[tuple[int, Size]] = []
    for number, devs in enumerate(blocks):
        block_of[devs] = number
        load.append((len(devs), ground.racks[profile[int(devs[0])]].size))
    a, b = (topology.links[c].to_numpy().astype(np.int64) for c in ("a_dev", "b_dev"))
    kind = tariff.kind_of_link
    low = block_of[a] >= 0
    to_block, counts = np.unique(np.stack([b[low], kind[low], block_of[a[low]]]), axis=1, return_counts=True)
    served: dict[int, Counter[tuple[int, int, Size, float]]] = {}
    for (switch, k, block), links in zip(to_block.T.tolist(), counts.tolist(), strict=True):
        nodes, size = load[block]
        served.setdefault(switch, Counter())[k, nodes, size, links / nodes] += 1
    high = ~low & (topology.devices["role"] != "pdu").to_numpy()[a]  # PDUs stand in every rack: their links may cost nothing
    ends = np.concatenate([np.stack([a[high], b[high], kind[high]]), np.stack([b[high], a[high], kind[high]])], axis=1)
    pairs, counts = np.unique(ends, axis=1, return_counts=True)
    peers: dict[int, Counter[tuple[int, int, float]]] = {}
    for (switch, other, k), links in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        peers.setdefault(switch, Counter())[k, int(height[other]), float(links)] += 1
    found: Counter[tuple[int, Served, Peers]] = Counter()
    for switch in sorted({*served, *peers}):
        racks = tuple(sorted((*key, n) for key, n in served.get(switch, Counter()).items()))
        found[int(height[switch]), racks, tuple(sorted((*key, n) for key, n in peers.get(switch, Counter()).items()))] += 1
    return found


def _to_racks(price: tuple[Floats, Floats], around: Floats, own_m: float, fall: float, ports: Floats, nodes: Floats, racks: int) -> Floats:
    """[position, unit]: least cost of a link to each node of so many racks: the switch's own rack and the nearest ones."""
    lengths, table = price
    diagonal = table.diagonal()
    within = own_m + np.abs(ports[:, None] - nodes[None, :])
    own = diagonal[np.searchsorted(lengths, np.round(within, 6))].sum(axis=1)
    others = around[:, None, :racks, None] - fall * (ports[None, :, None, None] + nodes[None, None, None, :])
    costs = diagonal[np.searchsorted(lengths, np.round(others, 6))].sum(axis=3)
    last = costs[:, :, -1] if costs.shape[2] else np.zeros(costs.shape[:2])
    beside = costs[:, :, : racks - 1].sum(axis=2) + max(0, racks - 1 - costs.shape[2]) * last
    apart = costs.sum(axis=2) + max(0, racks - costs.shape[2]) * last if costs.shape[2] else np.full(costs.shape[:2], np.inf)
    return np.asarray(np.minimum(own[None, :] + beside, apart), np.float64)


def _to_peers(price: tuple[Floats, Floats], around: Floats, own_m: float, fall: float, ports: Floats, others: Floats, many: int) -> Floats:
    """[position, unit]: least cost of a link to each of so many switches, in the units of the own rack and of the nearest ones."""
    lengths, table = price
    diagonal = table.diagonal()
    height_ru = max(1, round(2 * float(others[0]) / RACK_UNIT_M))
    room = max(1, -(-len(others) // height_ru))
    within = np.sort(diagonal[np.searchsorted(lengths, np.round(own_m + np.abs(ports[:, None] - others[None, :]), 6))], axis=1)
    own = np.cumsum(within[:, : min(room, many)], axis=1)
    best = np.full((len(around), len(ports)), np.inf)
    racks = min(around.shape[1], max(1, -(-many // room)))
    top = others[-1]
    near = (
        diagonal[np.searchsorted(lengths, np.round(around[:, None, :racks] - fall * (ports[None, :, None] + top), 6))]
        if around.shape[1]
        else np.zeros((len(around), len(ports), 0))
    )
    for here in range(min(room, many) + 1):
        left = many - here
        full, part = divmod(left, room)
        if left and not near.shape[2]:
            continue
        cost = own[None, :, here - 1] if here else np.zeros((1, len(ports)))
        whole = near[:, :, :full].sum(axis=2) * room + max(0, full - near.shape[2]) * room * (near[:, :, -1] if near.shape[2] else 0.0)
        rest = part * near[:, :, min(full, near.shape[2] - 1)] if part else 0.0
        best = np.minimum(best, cost + whole + rest)
    return best
