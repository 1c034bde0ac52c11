"""The whole way of the data: design and catalog in, a proved plan out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from .fabric.bisection import Proof, check_bisection, prove
from .fabric.build import build_topology
from .fabric.checks import check_fabric
from .fabric.damage import Damage
from .fabric.design import Design
from .fabric.failures import worst_single
from .fabric.failures_whole import lost_elsewhere, what_if_whole
from .fabric.locality import Hops, locality
from .fabric.net import net_of
from .fabric.tenants import Tenancy, plan_tenants
from .fabric.topology import Topology
from .fabric.traffic import Traffic, check_traffic, worst_traffic
from .layouts.bom import bill_of_materials
from .layouts.bundles import bundle
from .layouts.cables import Cabling, cable, carried_by
from .layouts.check_cables import check_cabling
from .layouts.optimise import place_best
from .layouts.placement import Placement, survey
from .layouts.reference_figures import Figure, reference_figures, reference_problems
from .layouts.rules import check_placement
from .layouts.tray_fill import fill_trays
from .layouts.ways import cable_ways
from .problems import DesignError, Problem, did_you_mean, raise_errors
from .vendors.catalog import Catalog

if TYPE_CHECKING:
    import networkx as nx


PDU_ROUNDS = 6
"""Rounds in which the number of racks and that of their PDUs must agree; the rules find what does not."""


@dataclass(frozen=True)
class Plan:
    """A plan that passed every check; `findings` holds its warnings and notes."""

    design: Design
    catalog: Catalog
    topology: Topology
    tenancy: Tenancy
    placement: Placement
    cabling: Cabling
    proofs: Mapping[str, Proof]
    """Fabric name -> its bandwidth, reached by count and by maximum flow; fabrics whose leaves share no spines have none."""
    traffic: Mapping[str, Traffic]
    """Name of the compute fabric -> the largest load that any permutation puts on any link."""
    hops: Mapping[str, tuple[Hops, ...]]
    """Name of the compute fabric -> switches between GPUs, near and far."""
    bom: pl.DataFrame
    trays: pl.DataFrame
    """Table TRAYS: what lies in every piece of tray."""
    bundles: pl.DataFrame
    """Table BUNDLES: cables that run the same way, for pre-made looms."""
    findings: tuple[Problem, ...]
    reference: tuple[Figure, ...] = ()
    """What was counted beside the reference cluster that the design names, and how far apart they are."""

    def graph(self, fabric: str = "compute") -> nx.MultiGraph[str]:
        """The fabric as a networkx MultiGraph: nodes are devices, edges are links with their cable id."""
        from .fabric.graph import to_graph

        if fabric not in self.topology.fabrics:
            raise DesignError([Problem("fabric", "", f"the plan has no fabric {fabric!r}", fix=did_you_mean(fabric, self.topology.fabrics))])
        racks = dict(zip(self.topology.devices["device"], self.placement.places["rack"], strict=True))
        return to_graph(self.topology, fabric, racks, self._cable_of_links())

    def what_if(self, *failures: str, fabric: str = "compute") -> Damage:
        """What is left when things fail, named as `spine:spine-03`, `cable:S17` or `rack:A07`; raises DesignError when one is not there.

        Bandwidth is that of a compute fabric; of the other fabrics it says who is cut off.
        """
        return what_if_whole(self.topology, failures, *self._racks_and_cables(), fabric)

    def worst_failure(self, kind: str, fabric: str = "compute") -> tuple[Damage, int, int]:
        """(damage of the worst single failure of a leaf, spine, core, cable or rack of a compute fabric, failures tried, things of that kind)."""
        rails, (racks, cables) = self.topology.compute, self._racks_and_cables()
        worst, tried, of = worst_single(rails, kind, racks[: rails.devices.height], cables[: rails.links.height], fabric)
        return replace(worst, others=lost_elsewhere(self.topology, worst.failures, racks, cables)), tried, of

    @property
    def rails(self) -> Plan:
        """The plan of the compute fabric alone, for readers that know no other: its devices, links, cables and modules."""
        rails = self.topology.compute
        if rails is self.topology:
            return self
        places = self.placement.places.head(rails.devices.height)
        return replace(self, topology=rails, placement=replace(self.placement, places=places), cabling=carried_by(self.cabling, rails.links))

    def _racks_and_cables(self) -> tuple[list[str], list[str]]:
        """Rack of every device and cable of every link."""
        return self.placement.places["rack"].to_list(), self._cable_of_links()

    def _cable_of_links(self) -> list[str]:
        return self.cabling.cables["cable"].gather(self.cabling.carried["cable_no"]).to_list()


def make_plan(
    design: Design,
    catalog: Catalog,
    tell: Callable[[str], None] = lambda stage: None,
    effort: str = "fixed",
    keep: Path | None = None,
    time_limit: float | None = None,
    jobs: int = 1,
) -> Plan:
    """Plan a design; raises DesignError with all problems of the first stage that fails.

    `tell` hears the name of each stage as it begins. `effort` of the placement search: fixed (none: the reference
    arrangement), quick, normal or thorough; `keep` is the folder of a plan whose devices stay where they are. With a
    `time_limit` in seconds the search ends by the clock, and the same design may give other bytes.
    """
    end = None if time_limit is None else time.monotonic() + time_limit
    tell("building the fabric")
    topology = with_pdus_for_racks(design, catalog)
    search = partial(place_best, catalog=catalog, effort=effort, keep=keep, tell=tell, stop=lambda: end is not None and time.monotonic() > end, jobs=jobs)
    placement = None
    if design.pdus is not None and effort != "fixed" and keep is None:
        topology, placement = _in_fewer_racks(topology, search(topology), search, catalog)
    findings = [*topology.findings, *raise_errors(check_fabric(topology))]
    tenancy = plan_tenants(topology.compute)
    findings += tenancy.findings
    tell("proving its bandwidth")
    rails = topology.compute
    nets = {name: net_of(rails, name) for name in rails.fabrics}
    proofs = {name: prove(rails, name, net) for name, net in nets.items()}
    proofs |= {name: prove(topology, name) for name, facts in topology.fabrics.items() if name not in nets and facts.tiers > 1}
    findings += raise_errors(p for proof in proofs.values() for p in check_bisection(proof))
    traffic = {name: worst_traffic(rails, name, net) for name, net in nets.items()}
    findings += raise_errors(p for found in traffic.values() for p in check_traffic(found))
    hops = {name: locality(rails, name, net) for name, net in nets.items()}
    if placement is None:
        tell("placing racks and switches")
        placement = search(topology)
    findings += [*placement.findings, *raise_errors(check_placement(topology, placement))]
    tell("choosing cables")
    cabling = cable(topology, placement, catalog)
    bom = bill_of_materials(topology, cabling, catalog)
    findings += [*cabling.findings, *raise_errors(check_cabling(topology, placement, cabling, bom, catalog))]
    figures = reference_figures(topology, placement)
    findings += reference_problems(figures)
    tell("filling trays")
    ways = cable_ways(topology, placement, cabling)
    trays, found = fill_trays(topology, placement, cabling, catalog, ways)
    cabling, bundles = bundle(topology, placement, cabling, catalog, ways)
    return Plan(design, catalog, topology, tenancy, placement, cabling, proofs, traffic, hops, bom, trays, bundles, _once([*findings, *found]), figures)


def with_pdus_for_racks(design: Design, catalog: Catalog) -> Topology:
    """The fabrics, with PDUs for as many racks as the reference arrangement takes (PDUs need ports, ports switches, switches racks).

    Where the design gives PDUs their places, there are these.
    """
    given = 0 if design.pdus is None else sum(device.startswith(f"{design.pdus.name}-") for devices in design.placement.places.values() for device in devices)
    racks = 0 if design.pdus is None else -(-given // design.pdus.per_rack)
    topology = build_topology(design, catalog, racks)
    for _ in range(PDU_ROUNDS if design.pdus is not None and not given else 0):
        needed = sum(block.racks for block in survey(topology, catalog).blocks)
        if needed == racks:
            break
        racks = needed
        topology = build_topology(design, catalog, racks)
    return topology


def _in_fewer_racks(topology: Topology, placement: Placement, search: Callable[[Topology], Placement], catalog: Catalog) -> tuple[Topology, Placement]:
    """The fabrics with PDUs for no more racks than a search needed, placed anew; those given where that is no cheaper."""
    used = placement.places.filter(topology.devices["role"] != "pdu")["rack"].n_unique()
    if used == placement.racks.height or placement.solution is None:
        return topology, placement
    fewer = build_topology(topology.design, catalog, used)
    try:
        again = search(fewer)
    except DesignError:
        return topology, placement
    better = again.solution is not None and again.solution.objective <= placement.solution.objective
    return (fewer, again) if better else (topology, placement)


def _once(findings: Sequence[Problem]) -> tuple[Problem, ...]:
    """Each finding once, warnings before notes, else in the order found."""
    unique = list(dict.fromkeys(findings))
    return tuple(sorted(unique, key=lambda p: p.level != "warning"))
