"""Tenants of the compute fabric: which nodes each one gets, on which switches it is, by which numbers it is kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from ..problems import Problem, raise_errors
from ..vendors.models import Switch
from .design import Design
from .tables import TENANT_NODES, frame
from .tenant_numbers import Numbers, cumulus_warnings, number_tenants
from .tenant_remarks import crossing_warnings, sharing_notes, wrong_counts, wrong_words
from .tenant_sharing import share_out
from .tenant_switches import switches_of
from .topology import Topology

FABRIC: Literal["compute"] = "compute"


@dataclass(frozen=True)
class Tenant:
    """One tenant as it is planned."""

    name: str
    kind: str
    """Name of its kind of node."""
    per_su: Mapping[int, int]
    """SU -> its nodes there."""
    numbers: Numbers
    """vlan and vni, or pkey without the membership bit."""

    @property
    def nodes(self) -> int:
        """Number of its nodes."""
        return sum(self.per_su.values())

    @property
    def crosses(self) -> bool:
        """True when its nodes are in several SUs."""
        return len(self.per_su) > 1


@dataclass(frozen=True)
class Tenancy:
    """All tenants, in the order of the design; tables follow `tables.TENANT_NODES` and `TENANT_SWITCHES`."""

    tenants: tuple[Tenant, ...]
    nodes: pl.DataFrame
    switches: pl.DataFrame
    unused: int
    """Present nodes that no tenant has."""
    findings: tuple[Problem, ...]


def plan_tenants(topology: Topology) -> Tenancy:
    """Give nodes and numbers to the tenants of a design; raises DesignError with everything that is wrong about them."""
    design, present = topology.design, present_nodes(topology)
    switch, switch_os = _leaf_switch(topology)
    numbers, problems = number_tenants(design.tenants, switch.protocol)
    room = present.group_by("kind", "pod", "group", maintain_order=True).agg(pl.len().alias("room"), pl.col("dev"))
    per_kind = dict(present.group_by("kind").len().iter_rows())
    raise_errors([*problems, *wrong_words(design), *wrong_counts(design, per_kind)])
    nodes = _share_out(design, room)
    per_su: list[dict[int, int]] = [{} for _ in design.tenants]
    for i, pod, count in nodes.join(present, on="dev").group_by("tenant", "pod").len().sort("tenant", "pod").iter_rows():
        per_su[i][pod] = count
    tenants = tuple(Tenant(spec.name, kind_of(design, i), per_su[i], numbers[i]) for i, spec in enumerate(design.tenants))
    switches = switches_of(topology, nodes, FABRIC)
    findings = [
        *(cumulus_warnings(numbers, design.tenants) if switch_os.startswith("Cumulus") else []),
        *crossing_warnings(tenants, room),
        *sharing_notes(tenants, switches, topology.devices),
    ]
    return Tenancy(tenants, nodes, switches, present.height - nodes.height, tuple(findings))


def kind_of(design: Design, number: int) -> str:
    """Name of the kind of node that a tenant gets."""
    return design.tenants[number].nodes_kind or design.nodes.name


def present_nodes(topology: Topology) -> pl.DataFrame:
    """Nodes that are built now, SU by SU: dev, kind (its name), pod, group."""
    groups = topology.design.node_groups
    nodes = topology.devices.filter((pl.col("role") == "node") & pl.col("present"))
    number = np.searchsorted(np.cumsum([group.final_count for group in groups]), nodes["index"].to_numpy(), side="right")
    kind = pl.Series("kind", [group.name for group in groups], dtype=pl.String).gather(number)
    return nodes.select("dev", kind, "pod", "group").sort("pod", "dev")


def _share_out(design: Design, room: pl.DataFrame) -> pl.DataFrame:
    """Table TENANT_NODES: kinds of node have SUs of their own and are shared out each by itself."""
    tenant: list[int] = []
    dev: list[int] = []
    for (kind,), own in room.group_by("kind", maintain_order=True):
        members = [i for i in range(len(design.tenants)) if kind_of(design, i) == kind]
        shares = share_out([design.tenants[i].nodes for i in members], own["room"].to_list(), (own["group"].rank("dense") - 1).to_list())
        devs = own["dev"].to_list()
        for i, pieces in zip(members, shares, strict=True):
            for piece in pieces:
                tenant += [i] * piece.nodes
                dev += devs[piece.su][piece.first : piece.first + piece.nodes]
    return frame(TENANT_NODES, {"tenant": tenant, "dev": dev}).sort("tenant", "dev")


def _leaf_switch(topology: Topology) -> tuple[Switch, str]:
    """The switch that the leaves are, and its operating system."""
    profile = topology.devices.filter((pl.col("fabric") == FABRIC) & (pl.col("role") == "leaf"))["profile"][0]
    part = topology.profiles[profile].part
    assert isinstance(part, Switch)
    return part, topology.design.fabrics.compute.switch_os or part.port_names[0].os
