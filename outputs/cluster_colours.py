"""Fills of devices where several fabrics are drawn: switches by fabric, paler leaves and full upper tiers, servers by kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import SWITCHES
from .svg import FABRIC_COLOURS, ROLE_COLOURS, SERVER_COLOURS, tint

if TYPE_CHECKING:
    from ..plan import Plan

PALE = 0.35
"""Share of a fabric's colour in its leaves."""
UFM, PDU = "#ffffff", "#5a5a5a"

Kind = tuple[str, str, str]
"""Role, fabric, profile of a device."""


def fabric_colours(fabrics: Iterable[str]) -> dict[str, str]:
    """Colour of each fabric, the same in every picture."""
    return {name: FABRIC_COLOURS[i % len(FABRIC_COLOURS)] for i, name in enumerate(fabrics)}


def fill_of(kind: Kind, colours: dict[str, str]) -> str:
    """Fill of a device; with one fabric, role by role as ever."""
    role, fabric, profile = kind
    if len(colours) < 2:
        return ROLE_COLOURS[role]
    if role in SWITCHES:
        return tint(colours[fabric], PALE) if role == "leaf" else colours[fabric]
    if role == "server":
        return SERVER_COLOURS[int(profile.rsplit("-", 1)[1]) % len(SERVER_COLOURS)]
    return {"ufm": UFM, "pdu": PDU}.get(role, ROLE_COLOURS[role])


def server_racks(plan: Plan) -> set[str]:
    """Racks that hold servers and no node or switch."""
    held = plan.placement.places.select("rack").hstack(plan.topology.devices.select("role")).filter(pl.col("role") != "pdu")
    return set(held.group_by("rack").agg((pl.col("role") == "server").all()).filter("role")["rack"])


def words_of(kind: Kind, plan: Plan, role_words: dict[str, str]) -> str:
    """What the legend calls a kind of device."""
    role, fabric, profile = kind
    if len(plan.topology.fabrics) < 2:
        return role_words[role]
    if role in SWITCHES:
        return f"{fabric} {role}"
    return f"server {plan.design.servers[int(profile.rsplit('-', 1)[1])].name}" if role == "server" else role_words[role]
