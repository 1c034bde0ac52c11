"""The whole way of the data: design and catalog in, a proved plan out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from .fabric.bisection import Proof, check_bisection, prove
from .fabric.build import build_topology
from .fabric.checks import check_fabric
from .fabric.design import Design
from .fabric.topology import Topology
from .layouts.bom import bill_of_materials
from .layouts.cables import Cabling, cable
from .layouts.check_cables import check_cabling
from .layouts.placement import Placement, place
from .layouts.rules import check_placement
from .problems import Problem, raise_errors
from .vendors.catalog import Catalog

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True)
class Plan:
    """A plan that passed every check; `findings` holds its warnings and notes."""

    design: Design
    catalog: Catalog
    topology: Topology
    placement: Placement
    cabling: Cabling
    proofs: Mapping[str, Proof]
    """Fabric name -> its bandwidth, reached by count and by maximum flow."""
    bom: pl.DataFrame
    findings: tuple[Problem, ...]

    def graph(self, fabric: str = "compute") -> nx.MultiGraph[str]:
        """The fabric as a networkx MultiGraph: nodes are devices, edges are links with their cable id."""
        from .fabric.graph import to_graph

        racks = dict(zip(self.topology.devices["device"], self.placement.places["rack"], strict=True))
        cables = self.cabling.cables["cable"].gather(self.cabling.carried["cable_no"]).to_list()
        return to_graph(self.topology, fabric, racks, cables)


def make_plan(design: Design, catalog: Catalog, tell: Callable[[str], None] = lambda stage: None) -> Plan:
    """Plan a design; raises DesignError with all problems of the first stage that fails.

    `tell` hears the name of each stage as it begins.
    """
    tell("building the fabric")
    topology = build_topology(design, catalog)
    findings = [*topology.findings, *raise_errors(check_fabric(topology))]
    tell("proving its bandwidth")
    proofs = {name: prove(topology, name) for name in topology.fabrics}
    findings += raise_errors(p for proof in proofs.values() for p in check_bisection(proof))
    tell("placing racks and switches")
    placement = place(topology, catalog)
    findings += [*placement.findings, *raise_errors(check_placement(topology, placement))]
    tell("choosing cables")
    cabling = cable(topology, placement, catalog)
    bom = bill_of_materials(topology, cabling, catalog)
    findings += [*cabling.findings, *raise_errors(check_cabling(topology, placement, cabling, bom, catalog))]
    return Plan(design, catalog, topology, placement, cabling, proofs, bom, _once(findings))


def _once(findings: Sequence[Problem]) -> tuple[Problem, ...]:
    """Each finding once, warnings before notes, else in the order found."""
    unique = list(dict.fromkeys(findings))
    return tuple(sorted(unique, key=lambda p: p.level != "warning"))
