"""The table of devices: names, roles, and which SU, rail, plane and group each belongs to."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from .tables import DEVICES, NONE, frame
from .wiring import NodeBlock, Wiring, rail_names

UFM_SERVER = "ufm-server"
"""Catalog model of the server that takes UFM links."""

Add = Callable[..., None]


def device_table(wiring: Wiring) -> pl.DataFrame:
    """Table DEVICES: nodes, leaves, spines, cores, UFM servers, in the order of their numbers."""
    columns: dict[str, list[object]] = {name: [] for name in DEVICES}
    blank = {"fabric": wiring.name, "pod": NONE, "rail": "", "plane": NONE, "group": NONE, "home": NONE, "present": True}

    def add(**values: object) -> None:
        row = {**blank, **values, "dev": len(columns["dev"])}
        for key, column in columns.items():
            column.append(row[key])

    for block in wiring.blocks:
        _nodes(wiring, block, add)
    for block in wiring.blocks:
        _leaves(wiring, block, add)
    _spines(wiring, add)
    _cores(wiring, add)
    for j in range(wiring.ufm_servers):
        add(device=f"ufm-{j + 1:02d}", model=UFM_SERVER, role="ufm", profile="ufm", index=j)
    return frame(DEVICES, dict(columns))


def _over(wiring: Wiring, pod: int) -> int:
    """Group of SUs that an SU (within its block) belongs to; NONE where there are no such groups."""
    return pod // wiring.size.sus_per_group if wiring.size.sus_per_group else NONE


def _group_offsets(wiring: Wiring) -> list[int]:
    """Number of the first group of SUs of each block."""
    offsets, total = [], 0
    for block in wiring.blocks:
        offsets.append(total)
        total += -(-block.size.pods // wiring.size.sus_per_group) if wiring.size.sus_per_group else 0
    return offsets


def _plane_word(wiring: Wiring, plane: int) -> list[str]:
    return [f"p{plane}"] if wiring.planes > 1 else []


def _nodes(wiring: Wiring, block: NodeBlock, add: Add) -> None:
    spec, offset = block.spec, _group_offsets(wiring)[wiring.blocks.index(block)]
    for i, pod in enumerate((block.positions // block.size.per_su).tolist()):
        over = _over(wiring, pod)
        pod_no = block.first_pod + pod
        add(
            device=f"{spec.name}-{i + 1:0{spec.width}d}",
            model=block.parts.node.model,
            role="node",
            fabric="",
            profile=f"node{block.profile}",
            pod=pod_no,
            group=over + offset if over != NONE else NONE,
            home=pod_no,
            index=block.first_node + i,
            present=i < spec.count,
        )


def _leaves(wiring: Wiring, block: NodeBlock, add: Add) -> None:
    size, spec, style = block.size, wiring.spec, wiring.size.style
    width = len(str(sum(b.size.pods for b in wiring.blocks) - 1))
    offset = _group_offsets(wiring)[wiring.blocks.index(block)]
    first_index = sum(b.size.leaves for b in wiring.blocks[: wiring.blocks.index(block)])
    for pod in range(size.pods):
        for plane in range(wiring.planes):
            for row, rail in enumerate(rail_names(size)):
                for side in range(size.sides):
                    words = [spec.leaf_name, *_plane_word(wiring, plane)]
                    if wiring.size.tiers > 1 or size.leaves_per_pod > 1:
                        words.append(f"su{block.first_pod + pod:0{width}d}")
                    if style in ("rail", "rail-only", "pair") and (wiring.size.tiers > 1 or size.leaves_per_pod > 1):
                        words.append("r" + "-".join(dict.fromkeys((rail.split("+")[0], rail.split("+")[-1]))))
                    if size.sides > 1:
                        words.append("ab"[side])
                    over = _over(wiring, pod)
                    add(
                        device="-".join(words),
                        model=block.parts.leaf.model,
                        role="leaf",
                        profile=f"leaf{block.profile}",
                        pod=block.first_pod + pod,
                        rail=rail,
                        plane=plane,
                        group=over + offset if over != NONE else NONE,
                        home=block.first_pod + pod,
                        index=first_index + pod * size.leaves_per_pod + row * size.sides + side,
                        present=pod < block.built_pods,
                    )


def _spines(wiring: Wiring, add: Add) -> None:
    """Spines of a group of SUs stand in the racks of these SUs, shared out evenly; others amid all."""
    size, spines = wiring.size, wiring.size.spines
    offsets = _group_offsets(wiring)
    groups = wiring.groups.rows(named=True)
    width = max(2, len(str(spines)))
    last_group = max((offsets[g["block"]] + _over(wiring, g["pod"]) for g in groups), default=0)
    for plane in range(wiring.planes):
        for number, group in enumerate(groups):
            block = wiring.blocks[group["block"]]
            over = _over(wiring, group["pod"])
            rail = rail_names(block.size)[group["row"]] if size.by_rail else ""
            words = [wiring.spec.spine_name, *_plane_word(wiring, plane)]
            if over != NONE:
                words.append(f"g{over + offsets[group['block']]:0{len(str(last_group))}d}")
            if rail:
                words.append("r" + "-".join(dict.fromkeys((rail.split("+")[0], rail.split("+")[-1]))))
            for j in range(spines):
                home = NONE
                if over != NONE:
                    sus = group["last_pod"] - group["pod"] + 1
                    rows = block.size.rows if size.by_rail else 1
                    home = block.first_pod + group["pod"] + (group["row"] * spines + j) * sus // (rows * spines)
                add(
                    device="-".join([*words, f"{j + 1:0{width}d}"]),
                    model=wiring.parts.spine.model,
                    role="spine",
                    profile="spine",
                    rail=rail,
                    plane=plane,
                    group=over + offsets[group["block"]] if over != NONE else NONE,
                    home=home,
                    index=number * spines + j,
                    present=over == NONE or group["pod"] < block.built_pods,
                )


def _cores(wiring: Wiring, add: Add) -> None:
    """Core group g holds the cores that spine g of every group meets."""
    size = wiring.size
    widths = max(2, len(str(size.spines))), max(2, len(str(size.cores)))
    for plane in range(wiring.planes):
        for j in range(size.spines if size.cores else 0):
            for i in range(size.cores):
                words = [wiring.spec.core_name, *_plane_word(wiring, plane), f"g{j + 1:0{widths[0]}d}", f"{i + 1:0{widths[1]}d}"]
                add(device="-".join(words), model=wiring.parts.core.model, role="core", profile="core", plane=plane, group=j, index=j * size.cores + i)
