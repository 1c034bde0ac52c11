"""The built fabric: tables of devices and links, how each kind of device is run, and facts of each fabric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import polars as pl

from ..problems import Problem
from ..vendors.models import Breakout, CageGroup, NicMode, Node, NodeCage, Protocol, Switch
from .design import Design
from .tables import LINKS, frame


@dataclass(frozen=True)
class CageUse:
    """One cage of a profile as it is run: its hardware and its breakout mode."""

    cage: int
    label: str
    hardware: CageGroup | NodeCage
    mode: Breakout
    ports: int
    """Logical ports of the cage in this mode."""
    max_module_w: float | None


@dataclass(frozen=True)
class Profile:
    """How one kind of device (node, leaf, spine, ...) is run: its part and every configured cage by number."""

    name: str
    part: Switch | Node
    cages: Mapping[int, CageUse]

    def protocol_of(self, cage: int) -> Protocol:
        """What a cage speaks: a NIC as its mode says, a switch's management socket Ethernet, its other cages what the switch speaks."""
        use = self.cages[cage]
        if isinstance(use.mode, NicMode):
            return use.mode.protocol
        management = isinstance(use.hardware, CageGroup) and use.hardware.use == "management"
        return "ethernet" if management or isinstance(self.part, Node) else self.part.protocol


@dataclass(frozen=True)
class FabricFacts:
    """What sizing decided for one fabric. Counts of things are never taken from here but from the tables."""

    family: str
    leaf_model: str
    spine_model: str
    core_model: str
    style: str
    tiers: int
    planes: int
    rails: int
    rails_per_leaf: int
    nodes_per_su: int
    by_rail: bool
    """True when every row of rails has spines of its own."""
    sus_per_group: int
    """Three tiers: SUs that share spine groups; 0 otherwise."""
    spines_per_plane: int
    uplink_gbps: int
    oversubscription: Fraction
    core_oversubscription: Fraction


@dataclass(frozen=True)
class Topology:
    """Everything about what connects to what. Tables follow `tables.DEVICES`, `LINKS` and `PORT_NAMES`."""

    design: Design
    devices: pl.DataFrame
    links: pl.DataFrame
    port_names: pl.DataFrame
    profiles: Mapping[str, Profile]
    fabrics: Mapping[str, FabricFacts]
    findings: tuple[Problem, ...]
    future: pl.DataFrame = field(default_factory=lambda: frame(LINKS, {name: [] for name in LINKS}))
    """Links that growth will add, numbered on after `links`: cables and cages are decided with them in mind."""
    rails: Topology | None = None
    """The compute fabric alone where there are others: its devices are the first rows of this one's, its links the first rows too."""

    @property
    def compute(self) -> Topology:
        """The compute fabric alone, with the nodes, switches and links that are its own."""
        return self.rails or self


def grown(topology: Topology) -> Topology:
    """The fabric when it has grown: its links are those of today, then those that growth adds."""
    if topology.future.is_empty():
        return topology
    return replace(topology, links=pl.concat([topology.links, topology.future]), future=topology.future.clear())
