"""IBDM's view of a subnet: a .topo file with the cables of every switch, and an IBNL file for each type of system in it.

Systems are switches (`MQM9700`, ports P1, P2, ...) and hosts (`HCA_DGX_H100`, ports mlx5_0/P1, ...), as ibdiagnet and
NVIDIA's Cable Validation Tool write them. IBNL has no comments, and IBDM takes one type from each file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from ..fabric.topology import Profile
from ..vendors.models import Node
from .infiniband_ports import hardware, switch_ports, word_of

WIDTHS = (4, 8, 12)
"""Lanes of a link that IBDM has a name for; what has another number is written without."""


def topo(ends: pl.DataFrame, types: Mapping[str, str]) -> str:
    """One section for each switch: its ports, and the system and port at the other end of each cable."""
    width = pl.when(pl.col("lanes").is_in(WIDTHS)).then(pl.format("-{}x->", "lanes")).otherwise(pl.lit("->"))
    lines = ends.filter("switch").select(
        pl.format("\n{} {}\n", _type("profile", types), "device").alias("head"),
        pl.format("\t{} {} {} {} {}\n", _port(""), width, _type("peer_profile", types), "peer_device", _port("peer_")).alias("line"),
    )
    return "".join(lines.group_by("head", maintain_order=True).agg(pl.col("line").str.join()).select(pl.col("head") + pl.col("line")).to_series())


def _type(profile: str, types: Mapping[str, str]) -> pl.Expr:
    return pl.col(profile).replace_strict(types, return_dtype=pl.String)


def _port(side: str) -> pl.Expr:
    return pl.when(f"{side}switch").then(pl.format("P{}", f"{side}port")).otherwise(pl.format("{}/P{}", f"{side}adapter", f"{side}port"))


@dataclass(frozen=True)
class SystemType:
    """A type of system, named as .topo names it, and the text of its IBNL file."""

    name: str
    switch: bool
    ibnl: str


def system_types(ends: pl.DataFrame, profiles: Mapping[str, Profile], tail: str) -> dict[str, SystemType]:
    """Type of each profile; `tail` tells the hosts of one plane from those of another.

    Profiles with the same ports share a type; where a model is run in several ways, all but the first way get a number.
    """
    found: dict[str, SystemType] = {}
    ways: dict[str, list[str]] = {}
    for profile in ends["profile"].unique(maintain_order=True):
        part = profiles[profile].part
        if isinstance(part, Node):
            word, body = f"HCA_{hardware(part)}{tail}", _adapters(ends.filter(pl.col("profile") == profile)["adapter"], word_of(part.nic))
        else:
            word, body = hardware(part), _switch(switch_ports(profiles[profile]), word_of(part.asic))
        known = ways.setdefault(word, [])
        if body not in known:
            known.append(body)
        name = word if known[0] == body else f"{word}_{known.index(body) + 1}"
        found[profile] = SystemType(name, not isinstance(part, Node), f"TOPSYSTEM {name}\n\n{body}")
    return found


def _switch(ports: int, device: str) -> str:
    return "".join([f"NODE SW {ports} {device} U1\n", *(f"{port} -> P{port}\n" for port in range(1, ports + 1))])


def _adapters(names: pl.Series, device: str) -> str:
    """Every adapter that any host of the profile has in the plane."""
    return "\n".join(f"NODE CA 1 {device} {name}\n1 -> {name}/P1\n" for name in names.unique(maintain_order=True))
