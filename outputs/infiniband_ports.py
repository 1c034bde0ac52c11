"""Every end of every link as InfiniBand numbers and names it: GUIDs, port numbers, descriptions.

GUIDs are synthetic, since the ones of hardware are known when it is delivered: `02` (the bit of an address that is given
out locally), in ASCII the letter of a switch's role (L, S, C) or of a host link's series (N, U), the plane, and the number
that growth never changes (index of the switch, serial of the link). The last digit is for ports: nodes lie 16 apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..fabric.topology import CageUse, Profile
from ..vendors.models import Node, Switch

if TYPE_CHECKING:
    from ..plan import Plan

VENDOR_ID = 0x2C9
"""Mellanox: what NVIDIA's InfiniBand hardware reports."""

DEVICE_IDS = {"Quantum-2": 54002, "Quantum-3": 54004, "ConnectX-7": 4129, "ConnectX-8": 4131, "ConnectX-9": 4133}
"""ASIC or NIC -> device id (device table of NVIDIA's mstflint); 0 for any other."""

RATES = {25: "EDR", 50: "HDR", 100: "NDR", 200: "XDR"}
"""Lane rate in Gb/s -> what InfiniBand's tools print behind the number of lanes."""

ENDS = (
    *("dev", "device", "profile", "switch"),
    *("guid", "port_guid"),  # 16 hexadecimal digits; a switch has one for all ports, a channel adapter another for its port
    *("port", "ports"),  # number from 1 within the switch or adapter, and how many it has
    "device_id",
    "adapter",  # RDMA device or port label of a host; "" for switches
    "name",  # "leaf-su0-r0", or host and adapter: "gpu-001 mlx5_0"
    "description",  # what the device answers: "MF0;leaf-su0-r0:MQM9700/U1", "gpu-001 mlx5_0"
)
"""Columns of `link_ends` that the far end has as well, as `peer_...`."""


def link_ends(plan: Plan, fabric: str) -> pl.DataFrame:
    """Both ends of every link, by device, GUID and port: link, tier, end, plane, lanes, rate, compute, subnet, ENDS, peer's ENDS.

    `compute` is true for links of GPUs; subnets are the parts of the fabric that no link joins, numbered from 0.
    """
    links = plan.topology.links.filter(pl.col("fabric") == fabric)
    rate = pl.format("{}x{}", "lanes", pl.col("lane_gbps").replace_strict(RATES, default="", return_dtype=pl.String))
    shared = links.select("link", "tier", "plane", "lanes", rate.alias("rate"), (pl.col("gpu") >= 0).alias("compute"))
    sides = {side: _ends(plan, links, side) for side in "ab"}
    subnet = _subnets(sides["a"]["guid"], sides["b"]["guid"])
    halves = [
        pl.concat([shared.with_columns(pl.lit(side).alias("end"), subnet), sides[side], sides[peer].select(pl.all().name.prefix("peer_"))], how="horizontal")
        for side, peer in ("ab", "ba")
    ]
    return pl.concat(halves).sort("dev", "guid", "port")


def nodes(ends: pl.DataFrame) -> pl.DataFrame:
    """One row for each switch and channel adapter."""
    return ends.unique("guid", keep="first", maintain_order=True)


def guid(letter: str, plane: int, number: int) -> int:
    """GUID of a switch or channel adapter."""
    return 0x02 << 56 | ord(letter) << 48 | plane << 44 | number << 4


def _ends(plan: Plan, links: pl.DataFrame, side: str) -> pl.DataFrame:
    """One end of every link, in link order."""
    devices = plan.topology.devices.select("dev", "device", "role", "profile", "index")
    places = links.select("plane", "series", "serial", *(pl.col(f"{side}_{part}").alias(part) for part in ("dev", "cage", "child")))
    ends = places.join(devices, on="dev", how="left", maintain_order="left").join(_ports(plan), on=["profile", "cage", "child"], how="left", maintain_order="left")
    letter = pl.when("switch").then(pl.col("role").str.head(1).str.to_uppercase()).otherwise("series")
    number = pl.when("switch").then("index").otherwise("serial").cast(pl.Int64)
    guids = [guid(*row) for row in ends.select(letter, "plane", number).iter_rows()]
    own, next_to_it = (pl.Series([f"{g + step:016x}" for g in guids], dtype=pl.String) for step in (0, 1))
    name = pl.when("switch").then("device").otherwise(pl.format("{} {}", "device", "adapter"))
    return ends.with_columns(
        own.alias("guid"),
        pl.when("switch").then(own).otherwise(next_to_it).alias("port_guid"),
        name.alias("name"),
        pl.when("switch").then(pl.format("MF0;{}:{}/U1", "device", "hardware")).otherwise(name).alias("description"),
    ).select(ENDS)


def _subnets(a_guid: pl.Series, b_guid: pl.Series) -> pl.Series:
    """Number of the subnet of each link."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = pl.concat([a_guid, b_guid]).rank("dense").to_numpy().astype(np.int64) - 1
    a, b = number[: len(a_guid)], number[len(a_guid) :]
    size = int(number.max(initial=-1)) + 1
    return pl.Series("subnet", connected_components(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(size, size)), directed=False)[1][a], dtype=pl.Int32)


def _ports(plan: Plan) -> pl.DataFrame:
    """Every port of every profile: InfiniBand's number, the adapter it belongs to, and what the hardware calls itself."""
    labels = {(profile, cage, child): port for profile, cage, child, port in plan.topology.port_names.select("profile", "cage", "child", "port").iter_rows()}
    rows = []
    for name, profile in plan.topology.profiles.items():
        for use in profile.cages.values():
            for child in range(use.ports):
                if isinstance(profile.part, Switch):
                    what = (switch_port(profile, use, child), switch_ports(profile), DEVICE_IDS.get(profile.part.asic, 0), "")
                else:
                    what = (1, 1, DEVICE_IDS.get(profile.part.nic, 0), _adapter(profile.part, use, child, labels[name, use.cage, child]))
                rows.append((name, use.cage, child, isinstance(profile.part, Switch), *what, hardware(profile.part)))
    columns = {"profile": pl.String, "cage": pl.Int32, "child": pl.Int32, "switch": pl.Boolean, "port": pl.Int32, "ports": pl.Int32, "device_id": pl.Int32}
    return pl.DataFrame(rows, schema=columns | {"adapter": pl.String, "hardware": pl.String}, orient="row")


def _adapter(node: Node, use: CageUse, child: int, label: str) -> str:
    """RDMA device of a host's port where it is known and has this one port, else the label on the chassis."""
    connectors = sorted((p for p in node.ports if p.cage == use.label), key=lambda p: p.connector)
    rdma = connectors[child].rdma if use.mode.ports == 1 else None
    return rdma or word_of(label)


def switch_port(profile: Profile, use: CageUse, child: int) -> int:
    """Number of a switch port, from 1: cage by cage, each with room for as many ports as the most split cage has."""
    widest = _widest(profile.cages.values())
    return (use.cage - 1) * widest + child * (widest // use.ports) + 1


def switch_ports(profile: Profile) -> int:
    """Ports that a switch has when its cages are run as in the profile."""
    assert isinstance(profile.part, Switch)
    return _widest(profile.cages.values()) * max(g.first + g.count - 1 for g in profile.part.cages if g.use == "data")


def _widest(cages: Iterable[CageUse]) -> int:
    return max(use.ports for use in cages)


def hardware(part: Switch | Node) -> str:
    """Model as the device spells it: MQM9700, Q3400_RA."""
    word = re.sub(r"\W", "_", part.model.removeprefix(f"{part.vendor.lower()}-").upper())
    return f"M{word}" if word.startswith("QM") else word


def word_of(text: str) -> str:
    """The text as one word that IBDM reads as a name: it begins with a letter."""
    word = re.sub(r"[^\w./:-]+", "_", text)
    return word if re.match(r"[A-Za-z].", word) else f"P{word}"
