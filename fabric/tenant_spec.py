"""What a design says about tenants: who gets how many nodes, and the numbers that keep their traffic apart."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator

from ..vendors.models import Frozen
from .words import HostWord

VLANS = range(2, 4095)
"""IEEE 802.1Q: 0 means no VLAN, 1 is the default one, 4095 is reserved."""

VNIS = range(1, 2**24)
"""RFC 7348: a VNI has 24 bits; switches take 1 and more."""

PKEYS = range(0x0001, 0x7FFF)
"""InfiniBand architecture, volume 1: 15 bits below the membership bit; 0 is invalid, 0x7FFF the default partition."""

FULL_MEMBER = 0x8000
"""Membership bit of a PKey."""


def vlan_number(value: int) -> int:
    """Refuse VLAN numbers that mean something else."""
    if value not in VLANS:
        why = {0: "0 means no VLAN", 1: "1 is the default VLAN of every port", 4095: "4095 is reserved"}.get(value, "a VLAN number has 12 bits")
        raise ValueError(f"VLAN {value} cannot be a tenant's: {why} | use {VLANS[0]} to {VLANS[-1]}")
    return value


def vni_number(value: int) -> int:
    """Refuse VNIs that no switch takes."""
    if value not in VNIS:
        raise ValueError(f"VNI {value} is out of range: a VNI has 24 bits and is not 0 | use {VNIS[0]} to {VNIS[-1]}")
    return value


def pkey_text(value: Any) -> Any:
    """Read a PKey as people write it, "0x0101"."""
    if isinstance(value, str):
        if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,4}", value):
            raise ValueError(f"{value[:24]!r} is not a PKey | use 0x0001 to 0x7ffe")
        return int(value, 16)
    return value


def pkey_number(value: int) -> int:
    """Refuse PKeys that mean something else, and the membership bit."""
    if value in PKEYS:
        return value
    if value - FULL_MEMBER in PKEYS:
        raise ValueError(f"PKey {value:#06x} has the membership bit set, which tells full members from limited ones | write {value - FULL_MEMBER:#06x}; tenants are full members")
    known = {0: "0x0000 is invalid", 0x7FFF: "0x7fff is the default partition", FULL_MEMBER: "0x8000 is invalid", 0xFFFF: "0xffff is the default partition"}
    raise ValueError(f"PKey {value} cannot be a tenant's: {known.get(value, 'a PKey has 15 bits and the membership bit')} | use 0x0001 to 0x7ffe")


def _whole(numbers: range) -> WithJsonSchema:
    return WithJsonSchema({"type": "integer", "minimum": numbers[0], "maximum": numbers[-1]})


Vlan = Annotated[int, AfterValidator(vlan_number), _whole(VLANS)]
Vni = Annotated[int, AfterValidator(vni_number), _whole(VNIS)]
PKey = Annotated[
    int,
    BeforeValidator(pkey_text),
    AfterValidator(pkey_number),
    PlainSerializer(lambda number: f"{number:#06x}", return_type=str),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": PKEYS[0], "maximum": PKEYS[-1]}, {"type": "string", "pattern": "^0[xX][0-9a-fA-F]{1,4}$"}]}),
]


class TenantSpec(Frozen):
    """Somebody who gets nodes of the compute fabric alone."""

    name: HostWord = Field(description="Name of the tenant; its VRF or InfiniBand partition is called so.")
    nodes: int = Field(description="Number of nodes.", json_schema_extra={"minimum": 1})
    nodes_kind: HostWord | None = Field(None, description="Name of the kind of node (`name` in nodes or more_nodes); by default that of nodes.")
    vlan: Vlan | None = Field(None, description="Ethernet: its VLAN; by default numbered from 101 in the order of the tenants.")
    vni: Vni | None = Field(None, description="Ethernet: VXLAN number of its VRF; by default numbered from 10101.")
    pkey: PKey | None = Field(None, description="InfiniBand: its partition key without the membership bit, for example 0x0101; by default numbered from 0x0001.")

    @field_validator("nodes")
    @classmethod
    def _some_nodes(cls, value: int) -> int:
        if value < 1:
            raise ValueError(f"{value:,} nodes | give a tenant 1 node or more, or remove it")
        return value
