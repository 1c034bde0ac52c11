"""The reference arrangement, as published designs build it: which devices share a rack, and which racks stand together.

one pod (SU) of 32 nodes, 4 in a rack, its leaf rack in the middle (published for DGX H100)

A01  A02  A03  A04  A05  A06  A07  A08  A09        in A05  U48  leaf, plane 0, rail 0
node node node node LEAF node node node node               U47  leaf, plane 0, rail 1
                                                           ...  in the middle pod: spines, then UFM servers
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ..fabric.tables import NONE
from ..fabric.topology import Topology
from .hall import Ints
from .racks import RackLimits
from .sizes import NodeRack, device_sizes

ROLE_ORDER = ("node", "leaf", "spine", "core", "ufm", "server")
"""Switches of a pod hang in this order, then by plane, rail and index."""


MID_RACK_STYLES = frozenset({"tor", "dual-tor"})
"""Styles whose leaves stand in the middle of a node rack where U, power and weight allow, so that copper reaches."""


@dataclass(frozen=True)
class Block:
    """Racks that stand side by side: for each device `dev` its rack in the block (`slot`, from 0) and its lowest unit."""

    pod: int
    racks: int
    dev: Ints
    slot: Ints
    ru: Ints


def arrange(topology: Topology, limits: RackLimits, racks: Mapping[str, NodeRack], cap: int) -> list[Block]:
    """Fill the racks of every pod, in pod order, without saying where in the hall they stand.

    `racks` says how each kind of node fills racks, `cap` the most devices of a network rack; every device fits a rack.
    Switches of no pod and management servers follow the switches of the middle pod; servers of other fabrics stand in racks
    after all pods. A cluster that fits one rack gets one. PDUs hang beside the units: `placement.assemble` gives every rack its own.
    """
    nodes, network = _in_order(topology)
    spread = max((server.racks_at_least for server in topology.design.servers), default=1)
    mid_rack = any(facts.style in MID_RACK_STYLES for facts in topology.fabrics.values())
    if nodes["profile"].n_unique() == 1 and len(network) <= cap and spread == 1:
        only = racks[nodes["profile"][0]]
        if len(nodes) <= only.per_rack and _fit_one_rack(nodes, network, limits, only.size.height_ru):
            return [_one_rack(nodes, network, limits, only.size.height_ru)]
    servers, network = network.filter(pl.col("role") == "server"), network.filter(pl.col("role") != "server")
    pods = sorted({*nodes["home"].to_list(), *network["home"].to_list()} - {NONE}) or [NONE]
    middle = pods[(len(pods) - 1) // 2]
    at_home = pl.col("home").replace(NONE, middle)
    nodes_of = nodes.with_columns(at_home).partition_by("home", as_dict=True, maintain_order=True)
    network_of = network.sort(pl.col("home") == NONE, maintain_order=True).with_columns(at_home).partition_by("home", as_dict=True, maintain_order=True)
    blocks = [_pod_block(pod, nodes_of.get((pod,), nodes.clear()), network_of.get((pod,), network.clear()), limits, racks, cap, mid_rack) for pod in pods]
    return [*blocks, _server_block(topology, servers, limits)] if len(servers) else blocks


def _in_order(topology: Topology) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Nodes and other devices in the order they fill racks, with sizes."""
    rail_no = pl.col("rail").str.extract(r"^(\d+)").cast(pl.Int32).fill_null(NONE)
    level = pl.col("role").replace_strict({role: i for i, role in enumerate(ROLE_ORDER)}, default=len(ROLE_ORDER), return_dtype=pl.Int32)
    devices = topology.devices.join(device_sizes(topology), on="dev", maintain_order="left").with_columns(rail_no=rail_no, level=level)
    nodes = devices.filter(pl.col("role") == "node").sort("home", "index", "dev")
    return nodes, devices.filter(~pl.col("role").is_in(["node", "pdu"])).sort("level", "plane", "rail_no", "index", "dev")


def _fit_one_rack(nodes: pl.DataFrame, network: pl.DataFrame, limits: RackLimits, pitch_ru: int) -> bool:
    both = pl.concat([nodes.select("power_w", "weight_kg"), network.select("power_w", "weight_kg")]).sum()
    height_ru = len(nodes) * pitch_ru + int(network["height_ru"].sum())
    return bool(height_ru <= limits.height_ru and both["power_w"].item() <= limits.power_w + 1e-6 and both["weight_kg"].item() <= limits.weight_kg + 1e-6)


def _one_rack(nodes: pl.DataFrame, network: pl.DataFrame, limits: RackLimits, pitch_ru: int) -> Block:
    dev = np.concatenate([nodes["dev"].to_numpy(), network["dev"].to_numpy()]).astype(np.int64)
    ru = np.concatenate([1 + np.arange(len(nodes)) * pitch_ru, 1 + limits.height_ru - np.cumsum(network["height_ru"].to_numpy())])
    return Block(NONE, 1, dev, np.zeros_like(dev), ru)


def _pod_block(pod: int, nodes: pl.DataFrame, network: pl.DataFrame, limits: RackLimits, racks: Mapping[str, NodeRack], cap: int, mid_rack: bool) -> Block:
    """Node racks filled from the bottom in node order, half of them left and half right of the network racks.

    With `mid_rack` the leaves stand amid the nodes of the middle rack where they fit.
    """
    number = np.arange(len(nodes))
    kind = racks[nodes["profile"][0]] if len(nodes) else None
    per_rack, pitch_ru = (kind.per_rack, kind.size.height_ru) if kind else (1, 1)
    node_racks = -(-len(nodes) // per_rack)
    left = -(-node_racks // 2)
    in_rack = network.filter(pl.col("role") == "leaf") if mid_rack else network.clear()
    shift = int(in_rack["height_ru"].sum()) if _fit_among(nodes, in_rack, limits, per_rack, left - 1, pitch_ru) else 0
    if not shift:
        in_rack = network.clear()
    others = network.join(in_rack, on="dev", how="anti", maintain_order="left")
    network_slot, network_ru, network_racks = hang(others.select("height_ru", "power_w", "weight_kg").iter_rows(), limits, cap)
    node_rack = number // per_rack
    below = min(per_rack, len(nodes)) // 2
    above_switch = (node_rack == left - 1) & (number % per_rack >= below)
    in_rack_ru = 1 + below * pitch_ru + shift - np.cumsum(in_rack["height_ru"].to_numpy())
    return Block(
        pod=pod,
        racks=node_racks + network_racks,
        dev=np.concatenate([nodes["dev"].to_numpy(), in_rack["dev"].to_numpy(), others["dev"].to_numpy()]).astype(np.int64),
        slot=np.concatenate([np.where(node_rack < left, node_rack, node_rack + network_racks), np.full(len(in_rack), left - 1), left + network_slot]),
        ru=np.concatenate([1 + number % per_rack * pitch_ru + np.where(above_switch, shift, 0), in_rack_ru, network_ru]),
    )


def _server_block(topology: Topology, servers: pl.DataFrame, limits: RackLimits) -> Block:
    """Racks of servers filled from the bottom, kind after kind as the design lists them, each kind dealt over as many racks as it asks for at least."""
    racks: list[tuple[int, float, float]] = []
    slot: list[int] = []
    ru: list[int] = []
    kinds = [(server.racks_at_least, servers.filter(pl.col("profile") == f"server-{i}")) for i, server in enumerate(topology.design.servers)]
    for spread, members in kinds:
        for number, (height_ru, power_w, weight_kg) in enumerate(members.select("height_ru", "power_w", "weight_kg").iter_rows()):
            rack = number % spread
            while True:
                while rack >= len(racks):
                    racks.append((0, 0.0, 0.0))
                used_ru, used_w, used_kg = racks[rack]
                if used_ru + height_ru <= limits.height_ru and used_w + power_w <= limits.power_w + 1e-6 and used_kg + weight_kg <= limits.weight_kg + 1e-6:
                    break
                rack += spread
            slot.append(rack)
            ru.append(used_ru + 1)
            racks[rack] = used_ru + height_ru, used_w + power_w, used_kg + weight_kg
    dev = pl.concat([members["dev"] for _, members in kinds]).to_numpy().astype(np.int64)
    used, dense = np.unique(np.array(slot, np.int64), return_inverse=True)  # dealing over several racks may pass one by
    return Block(NONE, len(used), dev, dense.astype(np.int64), np.array(ru, np.int64))


def _fit_among(nodes: pl.DataFrame, leaves: pl.DataFrame, limits: RackLimits, per_rack: int, rack: int, pitch_ru: int) -> bool:
    """True when the leaves of a pod fit in one of its node racks, amid the nodes."""
    beside = nodes.slice(rack * per_rack, per_rack) if rack >= 0 else nodes.clear()
    if not len(leaves) or not len(beside):
        return False
    height_ru = len(beside) * pitch_ru + int(leaves["height_ru"].sum())
    power_w = float(beside["power_w"].sum()) + float(leaves["power_w"].sum())
    weight_kg = float(beside["weight_kg"].sum()) + float(leaves["weight_kg"].sum())
    return height_ru <= limits.height_ru and power_w <= limits.power_w + 1e-6 and weight_kg <= limits.weight_kg + 1e-6


def hang(sizes: Iterable[tuple[int, float, float]], limits: RackLimits, cap: int) -> tuple[Ints, Ints, int]:
    """Fill racks from the top down in the given order of (height_ru, power_w, weight_kg): rack, lowest unit, number of racks."""
    slot: list[int] = []
    ru: list[int] = []
    rack, free_ru, free_w, free_kg, count = -1, 0, 0.0, 0.0, cap
    for height_ru, power_w, weight_kg in sizes:
        if count == cap or height_ru > free_ru or power_w > free_w or weight_kg > free_kg:
            rack, count = rack + 1, 0
            free_ru, free_w, free_kg = limits.height_ru, limits.power_w + 1e-6, limits.weight_kg + 1e-6
        free_ru, free_w, free_kg, count = free_ru - height_ru, free_w - power_w, free_kg - weight_kg, count + 1
        slot.append(rack)
        ru.append(free_ru + 1)
    return np.array(slot, np.int64), np.array(ru, np.int64), rack + 1


def blocks_of_nodes(topology: Topology, racks: Mapping[str, NodeRack], devices: Ints | None = None) -> tuple[list[Ints], list[int]]:
    """Nodes (of `devices`, where given) that share a rack, pod by pod in node order, each kind by itself, and the pod of each such block."""
    nodes, _ = _in_order(topology if devices is None else replace(topology, devices=topology.devices[devices]))
    blocks: list[Ints] = []
    pods: list[int] = []
    for (pod, profile), group in nodes.partition_by("home", "profile", as_dict=True, maintain_order=True).items():
        devs = group["dev"].to_numpy().astype(np.int64)
        per_rack = racks[str(profile)].per_rack
        cut = [devs[i : i + per_rack] for i in range(0, len(devs), per_rack)]
        blocks += cut
        pods += [int(pod)] * len(cut)
    return blocks, pods


def switches_in_order(topology: Topology) -> Ints:
    """Device numbers of everything but nodes, servers and PDUs, in the order it is hung: by role, plane, rail, index."""
    return _in_order(topology)[1].filter(pl.col("role") != "server")["dev"].to_numpy().astype(np.int64)


def servers_in_order(topology: Topology) -> Ints:
    """Device numbers of the servers, kind after kind as the design lists them."""
    return np.flatnonzero((topology.devices["role"] == "server").to_numpy())


def server_racks(topology: Topology, limits: RackLimits) -> Block | None:
    """Racks of servers as the reference arrangement fills them; None without servers."""
    servers = _in_order(topology)[1].filter(pl.col("role") == "server")
    return _server_block(topology, servers, limits) if len(servers) else None
