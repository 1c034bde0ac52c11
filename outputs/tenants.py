"""tenants.csv and tenant-nodes.csv: who has which nodes, on which switches, and the numbers that keep tenants apart.

One VRF for each tenant, with one VLAN and one VNI on all its leaves, whatever rail or plane; on InfiniBand one partition,
with the same PKey in the subnet of every plane.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tenant_numbers import WORDS, shown
from ..fabric.tenant_switches import shared_leaves
from ..problems import DesignError, Problem
from . import DEFAULTS, Options
from .csv_files import csv_bytes
from .hostlist import fold

if TYPE_CHECKING:
    from ..plan import Plan

COLUMNS: dict[str, pl.DataType] = {
    "tenant": pl.String(),
    "kind": pl.String(),  # name of its kind of node
    "nodes": pl.UInt32(),
    "node_list": pl.String(),  # folded, as every list of names here
    "sus": pl.String(),  # 0+2: SUs of its nodes
    "crosses_sus": pl.Boolean(),
    "leaf_count": pl.UInt32(),
    "leaves": pl.String(),
    "spine_count": pl.UInt32(),
    "spines": pl.String(),  # that its traffic between leaves may pass
    "core_count": pl.UInt32(),
    "cores": pl.String(),
    "shares_leaves_with": pl.String(),  # other tenants, joined by +
    "vlan": pl.UInt32(),
    "vni": pl.UInt32(),
    "pkey": pl.String(),  # 0x0001, without the membership bit
}
"""Columns of tenants.csv."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render both tables; raises DesignError, as a note, when the design names no tenants."""
    if not plan.tenancy.tenants:
        raise DesignError([Problem("tenants", "--only", f"{plan.design.name} has no tenants", fix="name some under tenants, or leave tenants out of --only", level="note")])
    return {"tenants.csv": csv_bytes(tenants(plan)), "tenant-nodes.csv": csv_bytes(tenant_nodes(plan))}


def tenants(plan: Plan) -> pl.DataFrame:
    """One row for each tenant, in the order of the design: COLUMNS."""
    tenancy = plan.tenancy
    names = plan.topology.devices["device"]
    of_role = {role: dict(own.group_by("tenant").agg("dev").iter_rows()) for (role,), own in tenancy.switches.group_by("role")}
    nodes = dict(tenancy.nodes.group_by("tenant").agg("dev").iter_rows())
    beside = sharers(plan)
    folded = cache(lambda devs: fold(names.gather(devs)))
    rows = []
    for i, tenant in enumerate(tenancy.tenants):
        row: dict[str, object] = {"tenant": tenant.name, "kind": tenant.kind, "nodes": tenant.nodes, "crosses_sus": tenant.crosses}
        row |= {"node_list": folded(tuple(nodes[i])), "sus": "+".join(map(str, tenant.per_su)), "shares_leaves_with": "+".join(beside[i])}
        for role, many in (("leaf", "leaves"), ("spine", "spines"), ("core", "cores")):
            devs = of_role.get(role, {}).get(i, [])
            row |= {f"{role}_count": len(devs), many: folded(tuple(devs))}
        rows.append(row | {kind: shown(kind, number) if kind == "pkey" else number for kind, number in tenant.numbers.items()})
    return pl.DataFrame(rows, schema=COLUMNS)


def sharers(plan: Plan) -> list[list[str]]:
    """For each tenant the other ones that it meets on leaves, in the order of the design."""
    met: list[set[int]] = [set() for _ in plan.tenancy.tenants]
    for together in shared_leaves(plan.tenancy.switches)["tenants"]:
        for i in together:
            met[i] |= set(together) - {i}
    return [[plan.tenancy.tenants[i].name for i in sorted(others)] for others in met]


def tenant_nodes(plan: Plan) -> pl.DataFrame:
    """One row for each node that is built now: device, pod, tenant and its numbers, empty for nodes that nobody has."""
    of_tenant = pl.DataFrame(
        [{"tenant": i, "name": t.name, **{kind: shown(kind, number) for kind, number in t.numbers.items()}} for i, t in enumerate(plan.tenancy.tenants)],
        schema={"tenant": pl.UInt32, "name": pl.String, **dict.fromkeys(WORDS, pl.String)},
    )
    nodes = plan.topology.devices.filter((pl.col("role") == "node") & pl.col("present"))
    joined = nodes.join(plan.tenancy.nodes, on="dev", how="left", maintain_order="left").join(of_tenant, on="tenant", how="left", maintain_order="left")
    return joined.select("device", "pod", pl.col("name").alias("tenant"), *WORDS)


def numbers_text(numbers: Mapping[str, int]) -> str:
    """VLAN 101, VNI 10101 or PKey 0x0001."""
    return ", ".join(f"{WORDS[kind]} {shown(kind, number)}" for kind, number in numbers.items())
