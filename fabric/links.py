"""The table of links: each end gets its device, cage and port."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..vendors.models import Node
from .ports import Port, spread
from .tables import LINKS, NONE, frame
from .wiring import Ints, NodeBlock, Wiring, cages_and_children, grid


def link_table(wiring: Wiring) -> pl.DataFrame:
    """Table LINKS of the final cluster: nodes, UFM servers, then tier by tier."""
    tables = [_node_links(wiring, block) for block in wiring.blocks]
    tables += [_ufm_links(wiring), _spine_links(wiring), _core_links(wiring), _pair_links(wiring)]
    return pl.concat(tables).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link"))


def _empty() -> pl.DataFrame:
    return frame(LINKS, {name: [] for name in LINKS})


def _slots(block: NodeBlock) -> Ints:
    """Slot of each rail among the ports a node has on that leaf: rails of one NIC cage lie side by side."""
    node, share = block.parts.node, block.size.rails_per_leaf
    order = {label: i for i, label in enumerate(c.label for c in node.cages)}
    slots = np.zeros(block.size.rails, dtype=np.int64)
    for first in range(0, block.size.rails, share):
        group = sorted(range(first, first + share), key=lambda r: (order[node.compute_ports[r].cage], node.compute_ports[r].connector))
        slots[group] = np.arange(share)
    return slots


def _connector_row(node: Node, cage: str, connector: int) -> int:
    return sorted(p.connector for p in node.ports if p.cage == cage).index(connector)


def _node_links(wiring: Wiring, block: NodeBlock) -> pl.DataFrame:
    """One link for each node, rail, plane and port, in that order."""
    parts, size = block.parts, block.size
    node, per_gpu, per_side = parts.node, parts.ports_per_gpu, parts.ports_per_gpu // size.sides
    number, rail, plane, port = grid(size.nodes, size.rails, wiring.planes, per_gpu)
    position = block.positions[number]
    down = position % size.per_su * size.ports_per_node + _slots(block)[rail] * per_side + port % per_side
    leaf_cage, leaf_child = cages_and_children(block.leaf_ports.ports[0])
    cage_rows = {c.label: i for i, c in enumerate(node.cages)}
    nic_cage = np.array([cage_rows[p.cage] for p in node.compute_ports])
    nic_child = np.array([_connector_row(node, p.cage, p.connector) * parts.nic.ports for p in node.compute_ports])
    gpu = np.array([NONE if p.gpu is None else p.gpu for p in node.compute_ports])
    before = sum(b.size.nodes * b.size.rails * wiring.planes * b.parts.ports_per_gpu for b in wiring.blocks[: wiring.blocks.index(block)])
    return _link_frame(
        wiring,
        parts.down,
        tier="node-leaf",
        series="N",
        serial=before + np.arange(len(number)),
        rail=rail,
        plane=plane,
        gpu=gpu[rail],
        a_dev=block.first_node + number,
        a_cage=nic_cage[rail],
        a_child=nic_child[rail] + plane * per_gpu + port,
        b_dev=block.leaf_dev(position // size.per_su, plane, rail // size.rails_per_leaf * size.sides + port // per_side),
        b_cage=leaf_cage[down],
        b_child=leaf_child[down],
    )


def _ufm_links(wiring: Wiring) -> pl.DataFrame:
    """UFM links fill one node position of the first SU, leaf after leaf."""
    block, count = wiring.blocks[0], wiring.spec.ufm_links
    size = block.size
    plane, link = grid(wiring.planes, count)
    position = (size.per_su - 1 if size.ufm_gives_way else size.per_su) * size.ports_per_node
    cage, child = cages_and_children(block.leaf_ports.ports[0])
    down = position + link // size.leaves_per_pod
    return _link_frame(
        wiring,
        block.parts.down,
        tier="node-leaf",
        series="U",
        serial=np.arange(len(link)),
        rail=NONE,
        plane=plane,
        gpu=NONE,
        a_dev=wiring.first_ufm + plane * -(-count // 2) + link // 2,
        a_cage=link % 2,
        a_child=np.zeros_like(link),
        b_dev=block.leaf_dev(np.zeros_like(link), plane, link % size.leaves_per_pod),
        b_cage=cage[down],
        b_child=child[down],
    )


def _array(ports: list[Port]) -> Ints:
    return np.array(ports, dtype=np.int64).reshape(-1, 2)


def _spine_links(wiring: Wiring) -> pl.DataFrame:
    """Every leaf to every spine of its group, the same number of links to each, in leaf and spine order."""
    size, planes = wiring.size, wiring.planes
    if wiring.spine_ports is None:
        return _empty()
    leaves = wiring.leaves
    pairs = (leaves["up"] // size.spines).to_list()
    group, place, blocks = leaves["group"].to_list(), leaves["place"].to_list(), leaves["block"].to_list()
    dealt = _dealt(wiring.spine_ports.ports[0], leaves.with_columns(pl.Series("pair", pairs)))
    at_leaf = {(b, k): np.concatenate([_array(p) for p in spread(wiring.blocks[b].leaf_ports.ports[1], [k] * size.spines)]) for b, k in set(zip(blocks, pairs, strict=True))}
    leaf_end = np.concatenate([at_leaf[b, k] for b, k in zip(blocks, pairs, strict=True)])
    spine_end = np.concatenate([np.tile(dealt[g][at], (size.spines, 1)) for g, at in zip(group, place, strict=True)])
    ups = leaves["up"].to_numpy()
    row = np.repeat(np.arange(leaves.height), ups)
    within = np.concatenate([np.arange(u) for u in ups.tolist()])
    spine = np.repeat(np.array(group), ups) * size.spines + within // np.repeat(np.array(pairs), ups)
    devs = [_leaf_devs(wiring, plane) for plane in range(planes)]
    serials = _first_serials(wiring)
    tables = [
        _link_frame(
            wiring,
            wiring.parts.up,
            tier="leaf-spine",
            series="S",
            serial=serials[plane][row] + within,
            rail=NONE,
            plane=plane,
            gpu=NONE,
            a_dev=devs[plane][row],
            a_cage=leaf_end[:, 0],
            a_child=leaf_end[:, 1],
            b_dev=wiring.first_spine + plane * wiring.spines + spine,
            b_cage=spine_end[:, 0],
            b_child=spine_end[:, 1],
        )
        for plane in range(planes)
    ]
    return pl.concat(tables).sort("serial")


def _dealt(ports: tuple[Port, ...], leaves: pl.DataFrame) -> dict[int, list[Ints]]:
    """Ports that a spine of each group gives to every leaf of it, by the leaf's place."""
    cache: dict[tuple[int, ...], list[Ints]] = {}
    found = {}
    for group, pairs in leaves.group_by("group", maintain_order=True).agg(pl.col("pair").sort_by("place")).iter_rows():
        key = tuple(pairs)
        if key not in cache:
            cache[key] = [_array(p) for p in spread(ports, key)]
        found[group] = cache[key]
    return found


def _leaf_devs(wiring: Wiring, plane: int) -> Ints:
    """Device number of every row of `wiring.leaves` in a plane."""
    return np.concatenate(
        [
            block.leaf_dev(own["pod"].to_numpy(), np.full(own.height, plane), own["row"].to_numpy() * block.size.sides + own["side"].to_numpy())
            for i, block in enumerate(wiring.blocks)
            for own in [wiring.leaves.filter(pl.col("block") == i)]
        ]
    )


def _first_serials(wiring: Wiring) -> list[Ints]:
    """Serial of the first uplink of every row of `wiring.leaves`, for each plane: leaf after leaf, as leaves are numbered."""
    base, planes = 0, []
    for plane in range(wiring.planes):
        base, parts = 0, []
        for i, block in enumerate(wiring.blocks):
            devs = _leaf_devs(wiring, plane)[(wiring.leaves["block"] == i).to_numpy()]
            parts.append(base + (devs - block.first_leaf) * block.uplinks)
            base += wiring.planes * block.size.leaves * block.uplinks
        planes.append(np.concatenate(parts))
    return planes


def _core_links(wiring: Wiring) -> pl.DataFrame:
    """Spine j of every group to every core of core group j, the same number of links to each."""
    size, planes = wiring.size, wiring.planes
    if wiring.spine_ports is None or wiring.core_ports is None:
        return _empty()
    ups = wiring.groups["up"].to_numpy()
    pairs = ups // size.cores
    at_core = [_array(p) for p in spread(wiring.core_ports.ports[0], pairs.tolist())]
    at_spine = {k: np.concatenate([_array(p) for p in spread(wiring.spine_ports.ports[1], [k] * size.cores)]) for k in set(pairs.tolist())}
    one_spine = [(at_spine[k], np.tile(at_core[g], (size.cores, 1)), np.arange(up), np.arange(up) // k) for g, (k, up) in enumerate(zip(pairs.tolist(), ups.tolist(), strict=True))]
    spine_end = np.concatenate([np.tile(s, (size.spines, 1)) for s, _, _, _ in one_spine])
    core_end = np.concatenate([np.tile(c, (size.spines, 1)) for _, c, _, _ in one_spine])
    within = np.concatenate([np.tile(w, size.spines) for _, _, w, _ in one_spine])
    core = np.concatenate([np.tile(c, size.spines) for _, _, _, c in one_spine])
    group = np.repeat(np.arange(len(ups)), ups * size.spines)
    j = np.concatenate([np.repeat(np.arange(size.spines), up) for up in ups.tolist()])
    tables = []
    for plane in range(planes):
        spine = plane * wiring.spines + group * size.spines + j
        tables.append(
            _link_frame(
                wiring,
                wiring.parts.up,
                tier="spine-core",
                series="C",
                serial=spine * size.spine_up + within,
                rail=NONE,
                plane=plane,
                gpu=NONE,
                a_dev=wiring.first_spine + spine,
                a_cage=spine_end[:, 0],
                a_child=spine_end[:, 1],
                b_dev=wiring.first_core + plane * wiring.cores + j * size.cores + core,
                b_cage=core_end[:, 0],
                b_child=core_end[:, 1],
            )
        )
    return pl.concat(tables)


def _pair_links(wiring: Wiring) -> pl.DataFrame:
    """Inter-switch links of a pair: the same port on both switches."""
    block = wiring.blocks[0]
    if wiring.size.style != "pair":
        return _empty()
    cage, child = cages_and_children(block.leaf_ports.ports[1])
    plane, link = grid(wiring.planes, block.uplinks)
    zero = np.zeros_like(link)
    return _link_frame(
        wiring,
        block.parts.up,
        tier="inter-switch",
        series="X",
        serial=np.arange(len(link)),
        rail=NONE,
        plane=plane,
        gpu=NONE,
        a_dev=block.leaf_dev(zero, plane, zero),
        a_cage=cage[link],
        a_child=child[link],
        b_dev=block.leaf_dev(zero, plane, zero + 1),
        b_cage=cage[link],
        b_child=child[link],
    )


def _link_frame(wiring: Wiring, kind: tuple[int, int, int], **columns: object) -> pl.DataFrame:
    gbps, lanes, lane_gbps = kind
    links = np.arange(len(columns["serial"]))  # type: ignore[arg-type]
    return frame(LINKS, {"link": links, "fabric": wiring.name, "gbps": gbps, "lanes": lanes, "lane_gbps": lane_gbps, **columns})
