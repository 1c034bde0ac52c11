"""What the picture of the whole cluster shows: every fabric, and who hangs on it with how many links of which speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.failures_whole import management_cages
from ..fabric.tables import SWITCHES
from .svg import plural

if TYPE_CHECKING:
    from ..plan import Plan

MANAGED, UPLINKS = "management", "uplinks"
"""What links of switches to a fabric other than their own are for."""


@dataclass(frozen=True)
class FabricColumn:
    """One fabric: its switches by role from the bottom up, and the links between them."""

    name: str
    serves: str
    switches: tuple[tuple[str, int, str], ...]
    """(role, count, model)."""
    between: tuple[str, ...]
    """Words for the links between one role and the next above, or between the leaves of a pair."""


@dataclass(frozen=True)
class ClientRow:
    """Devices of one kind, and their links: fabric -> words."""

    name: str
    count: int
    model: str
    role: str
    fabric: str
    """Of switches; "" for others."""
    profile: str
    links: dict[str, tuple[str, ...]]


def fabric_columns(plan: Plan) -> list[FabricColumn]:
    """One for each fabric, in the design's order."""
    devices, links = plan.topology.devices.filter("present"), plan.topology.links
    found = []
    for name in plan.topology.fabrics:
        own = devices.filter((pl.col("fabric") == name) & pl.col("role").is_in(SWITCHES))
        counted = {role: (count, " and ".join(models)) for role, count, models in own.group_by("role").agg(pl.len(), pl.col("model").unique().sort()).iter_rows()}
        inside = links.filter((pl.col("fabric") == name) & (pl.col("tier") != "node-leaf")).group_by("tier", "gbps").len().sort("tier", "gbps", descending=[False, True])
        words = {tier: [f"{count:,} x {gbps}G" for t, gbps, count in inside.iter_rows() if t == tier] for tier in ("inter-switch", "leaf-spine", "spine-core")}
        pair = [f"{text} between leaves" for text in words["inter-switch"]]
        between = [", ".join(part) for part in (words["leaf-spine"] or pair, words["spine-core"]) if part]
        serves = "GPUs" if name == "compute" else ", ".join(plan.design.fabrics.others[name].serves)
        found.append(FabricColumn(name, serves, tuple((role, *counted[role]) for role in SWITCHES if role in counted), tuple(between)))
    return found


def client_rows(plan: Plan) -> list[ClientRow]:
    """One for each kind of device that hangs on a fabric: nodes, UFM and other servers, PDUs, then the switches of each fabric."""
    devices = plan.topology.devices.filter("present").with_columns(_kind())
    counts = devices.group_by("kind", maintain_order=True).agg(pl.len(), pl.col("model").unique().sort(), pl.col("role", "fabric", "device", "profile").first())
    links = _client_links(plan, devices)
    names = _names(plan)
    rows = []
    for kind, count, models, role, fabric, device, profile in counts.iter_rows():
        if kind in links:
            switch = role in SWITCHES
            name = f"{fabric} switches" if switch else names.get(kind, device)
            rows.append(ClientRow(name, count, " and ".join(models), "switch" if switch else role, fabric if switch else "", profile, links[kind]))
    order = ("node", "ufm", "server", "pdu", "switch")
    return sorted(rows, key=lambda row: order.index(row.role))


def _kind() -> pl.Expr:
    """Devices of one kind share a row: switches by their fabric, others by profile."""
    return pl.when(pl.col("role").is_in(SWITCHES)).then(pl.format("switches {}", "fabric")).otherwise(pl.col("profile")).alias("kind")


def _names(plan: Plan) -> dict[str, str]:
    """Kind -> what the design calls it."""
    design = plan.design
    groups = [design.nodes, *design.more_nodes]
    names = {f"node-{i}" if i else "node": group.name for i, group in enumerate(groups)}
    names |= {f"server-{i}": server.name for i, server in enumerate(design.servers)}
    return names | {"ufm": "ufm"} | ({"pdu": design.pdus.name} if design.pdus is not None else {})


def _client_links(plan: Plan, devices: pl.DataFrame) -> dict[str, dict[str, tuple[str, ...]]]:
    """Kind -> fabric -> words for its links, fastest first."""
    cages = management_cages(plan.topology).rename({"cage": "a_cage"}).with_columns(managed=True)
    low = plan.topology.links.filter(pl.col("tier") == "node-leaf")
    low = low.select("fabric", "gbps", "a_dev", "a_cage").join(devices.select("dev", "kind", "profile", "role"), left_on="a_dev", right_on="dev", how="left")
    low = low.join(cages, on=["profile", "a_cage"], how="left")
    switch = pl.col("role").is_in(SWITCHES)
    why = pl.when(switch & pl.col("managed").is_not_null()).then(pl.lit(f" {MANAGED}")).when(switch).then(pl.lit(f" {UPLINKS}")).otherwise(pl.lit(""))
    counted = low.group_by("kind", "fabric", "gbps", why.alias("why")).len().sort("gbps", "why", "kind", "fabric", descending=[True, False, False, False])
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in plan.topology.fabrics:
        for kind, gbps, reason, count in counted.filter(pl.col("fabric") == name).select("kind", "gbps", "why", "len").iter_rows():
            here = found.setdefault(kind, {})
            here[name] = (*here.get(name, ()), f"{count:,} x {gbps}G{reason}")
    return found


def told(columns: Sequence[FabricColumn], rows: Sequence[ClientRow]) -> str:
    """The picture in sentences, for those who cannot see it."""
    said = []
    for column in columns:
        switches = ", ".join(f"{plural(count, role)} ({model})" for role, count, model in column.switches)
        clients = "; ".join(f"{row.name} with {', '.join(row.links[column.name])}" for row in rows if column.name in row.links)
        said.append(f"{column.name}: {switches}; on it {clients}.")
    return " ".join(said)
