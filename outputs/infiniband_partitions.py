"""partitions.conf: a partition for each tenant, as OpenSM reads it (opensm(8), PARTITION CONFIGURATION).

Ports of tenants are full members of their own partition and limited ones of the default partition, in which limited
members do not hear each other: management goes on, traffic between tenants does not. `indx0` puts a tenant's key first
in the tables of its ports, where NCCL and UCX look for it unless they are told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..fabric.tenant_numbers import shown
from ..fabric.tenants import Tenancy

DEFAULT = 0x7FFF


def partitions(ends: pl.DataFrame, tenancy: Tenancy) -> str:
    """The default partition, then one for each tenant with the ports of its nodes in one plane."""
    managers = ends.filter(pl.col("profile") == "ufm")
    default = _partition("Default", DEFAULT, "", ["ALL=limited", "ALL_SWITCHES=full", "SELF=full"], managers)
    ports = ends.filter(~pl.col("switch")).join(tenancy.nodes, on="dev", maintain_order="left").partition_by("tenant", as_dict=True)
    return default + "".join(_partition(t.name, t.numbers["pkey"], ", indx0", [], ports[(i,)]) for i, t in enumerate(tenancy.tenants))


def _partition(name: str, pkey: int, flags: str, words: Sequence[str], ports: pl.DataFrame) -> str:
    """One definition: a member on each line, for OpenSM reads 4,096 characters of a line; the last one ends it, a line with `;` alone would not."""
    members = [(word, "") for word in words] + [(f"0x{guid}", f" # {who}") for guid, who in ports.select("port_guid", "name").iter_rows()]
    lines = [f"\t{member}{',' if i < len(members) else ' ;'}{remark}\n" for i, (member, remark) in enumerate(members, 1)]
    return f"\n{name}={shown('pkey', pkey)}{flags}, defmember=full :\n{''.join(lines)}"
