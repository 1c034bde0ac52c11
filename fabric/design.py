"""The design file: what a user asks for, as frozen pydantic models with units in the names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from ..problems import Problem
from ..vendors.models import Frozen
from ..vendors.yaml_source import Source, parse_yaml, read_yaml, validate
from .access_spec import NETWORKS_OF, PORTS_OF, AccessSpec, PduSpec, PortMap, ServerSpec
from .hall_spec import AtLeastOne, HallSpec
from .placement_spec import PlacementSpec
from .tables import TIERS, Tier
from .tenant_spec import TenantSpec
from .words import Family, HostWord, Ratio, host_word

NODES_MAX = 1_000_000
"""More nodes than this are a typing mistake, not a cluster."""

Style = Literal["rail", "rail-only", "tor", "dual-tor", "pair", "single", "chassis"]


class NodesSpec(Frozen):
    """Nodes of one kind that are on the compute fabric."""

    model: str = Field(description="Node model of the catalog, for example hgx-b300; `railplan catalog nodes` lists them.")
    count: int = Field(description="Number of nodes.", json_schema_extra={"minimum": 1, "maximum": NODES_MAX})
    name: HostWord = Field("gpu", description="Host name prefix; nodes are called NAME-001, NAME-002, ...")
    grow_to: int | None = Field(None, description="Final number of nodes: spines, racks, U, power and ports are sized for it, names and ports stay as they are.")
    name_width: int | None = Field(None, ge=1, le=7, description="Digits of the host number; by default as many as the final count needs, at least 3.")
    ports: PortMap = Field(default_factory=dict, description=PORTS_OF)
    networks: tuple[HostWord, ...] = Field((), description=NETWORKS_OF)

    @field_validator("count", "grow_to")
    @classmethod
    def _a_cluster_of_some_size(cls, value: int | None) -> int | None:
        if value is not None and not 1 <= value <= NODES_MAX:
            raise ValueError(f"{value:,} nodes | ask for 1 to {NODES_MAX:,}")
        return value

    @model_validator(mode="after")
    def _growth_is_upwards(self) -> NodesSpec:
        if self.grow_to is not None and self.grow_to < self.count:
            raise ValueError(f"grow_to {self.grow_to:,} is below count {self.count:,} | a cluster grows upwards; raise grow_to or remove it")
        if self.name_width is not None and self.name_width < len(str(self.final_count)):
            raise ValueError(f"name_width {self.name_width} cannot number {self.final_count:,} nodes | use {len(str(self.final_count))} or more")
        return self

    @property
    def final_count(self) -> int:
        """Nodes after growth."""
        return self.grow_to or self.count

    @property
    def width(self) -> int:
        """Digits of the host number."""
        return self.name_width or max(3, len(str(self.final_count)))


class ReservedPorts(Frozen):
    """Ports to leave free on every switch of a role, for later use."""

    leaf: int = Field(0, ge=0, description="Ports left free on every leaf, counted at node speed.")
    spine: int = Field(0, ge=0, description="Ports left free on every spine, counted at uplink speed.")
    core: int = Field(0, ge=0, description="Ports left free on every core, counted at uplink speed.")


class FabricSpec(Frozen):
    """One fabric: which switches, which shape, how much bandwidth."""

    family: Family = Field(description="Switch family; it names a default switch model.")
    switch: str | None = Field(None, description="Switch model for the leaves, and for the spines unless spine_switch is set; by default the family's.")
    spine_switch: str | None = Field(None, description="Switch model of the spines where it differs from the leaves.")
    core_switch: str | None = Field(None, description="Switch model of the cores where it differs from the spines.")
    style: Style = Field(
        "rail",
        description="rail: a leaf per GPU index and SU, spines above; rail-only: rails apart, joined by NVLink alone; tor: all rails of a node on one leaf, in its rack; "
        "dual-tor: the two ports of every NIC on the two leaves of a pair; pair: two switches joined to each other; "
        "single: one switch per plane; chassis: one modular switch per plane.",
    )
    tiers: Literal["auto", 1, 2, 3] = Field("auto", description="Switch tiers; auto takes the fewest that fit.")
    planes: Literal["auto", 1, 2, 4] = Field("auto", description="Disjoint networks that every NIC is split over; auto takes one per port of the NIC's preferred mode.")
    nic_mode: str | None = Field(
        None, pattern=r"^\d+x\d+G$", description="How every NIC is run, for example 2x400G; by default the node's preferred mode that the switch can serve."
    )
    oversubscription: Ratio = Field(Fraction(1), description="Leaf bandwidth down over up: 1 is non-blocking, 2 or 2:1 half of it.")
    core_oversubscription: Ratio = Field(Fraction(1), description="Three tiers: spine bandwidth down over up, for example 7 or 7:1 where most traffic stays in its group.")
    spine_groups: Literal["auto", "rail", "shared"] = Field(
        "auto", description="Three tiers: spines of their own for each rail, or shared by all leaves of a group of SUs; auto: by rail where leaves serve rails."
    )
    sus_per_group: Annotated[Literal["auto"] | int, AtLeastOne] = Field(
        "auto", description="Three tiers: SUs that share spine groups; auto: the number that takes the fewest switches."
    )
    nodes_per_su: Annotated[Literal["auto", "max"] | int, AtLeastOne] = Field(
        "auto", description="Nodes that share one set of leaves. auto: as many as a non-blocking leaf carries; max: as many as the oversubscription allows."
    )
    partial_su: Literal["full", "trimmed"] = Field("full", description="What a partly filled last SU gets: the full set of uplinks, or just enough for its nodes.")
    rails_per_leaf: Annotated[Literal["auto"] | int, AtLeastOne] = Field(
        "auto", description="Rails that share a leaf; auto shares where the whole cluster is one SU and fewer leaves carry it."
    )
    spines_per_plane: int | None = Field(None, ge=1, description="Number of spines in each plane, for example twice the needed ones for growth; must divide the uplinks of a leaf.")
    uplink_gbps: int | None = Field(None, ge=1, description="Speed of leaf-spine links; by default the speed of the NIC ports.")
    ufm_ports: PortMap = Field(default_factory=dict, description="Ports of the UFM servers that other fabrics take: label -> fabric, or none.")
    ufm_links: int = Field(0, ge=0, le=64, description="InfiniBand: leaf ports given to UFM servers (reference designs: 4). One node position of the cluster gives way to them.")
    reserved_ports: ReservedPorts = Field(ReservedPorts(), description="Ports left free on every switch.")
    switch_os: str | None = Field(None, description="Operating system whose port names are printed, for example sonic; by default the switch's first.")
    leaf_name: HostWord = Field("leaf", description="First word of the leaves' names: leaf-su0-r3, or leaf-p1-su0-r3 where there are several planes.")
    spine_name: HostWord = Field("spine", description="First word of the spines' names.")
    core_name: HostWord = Field("core", description="First word of the cores' names.")

    @model_validator(mode="after")
    def _names_differ(self) -> FabricSpec:
        names = [self.leaf_name, self.spine_name, self.core_name]
        if len(set(names)) < 3:
            raise ValueError(f"two tiers of switches are both called {max(names, key=names.count)!r} | give them different names")
        return self


class BundleMax(Frozen):
    """How many cables a bundle holds at most; more that run the same way are split evenly."""

    copper: int = Field(24, ge=2, le=1000, description="Copper cables: installation guides prefer bundles of no more than 24.")
    fibre: int = Field(48, ge=2, le=1000, description="Fibres and active optical cables: a planning figure of ours; 48 of 3 mm make 25 mm.")


class CablesSpec(Frozen):
    """What cables may be used, and how many spares are ordered."""

    max_length_m: dict[Literal["dac", "acc", "aec", "utp", "aoc", "mmf", "smf"], float] = Field(
        default_factory=dict, description="Longest cable trusted, per kind; 0 switches a kind off."
    )
    copper_tiers: tuple[Tier, ...] = Field(TIERS, description="Tiers on which copper may be used; the others are all fibre.")
    bundle_max: BundleMax = Field(BundleMax(), description="Largest bundle of cables that run the same way.")
    spares_percent: float = Field(2.0, ge=0, le=100, description="Spares ordered of every cable, fibre and module, in percent, rounded up for each part and length.")
    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="Currency of totals; prices in another one are listed but not added.")

    @field_validator("max_length_m")
    @classmethod
    def _lengths_are_lengths(cls, value: dict[str, float]) -> dict[str, float]:
        for kind, length in value.items():
            if not 0 <= length <= 10_000:
                raise ValueError(f"{kind}: {length} m | use metres from 0 (off) to 10,000")
        return value


class Fabrics(Frozen):
    """The fabrics by name: `compute`, the east-west fabric between GPUs, and any number of others."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)
    __pydantic_extra__: dict[str, AccessSpec]

    compute: FabricSpec = Field(description="The east-west fabric between GPUs.")

    @property
    def others(self) -> dict[str, AccessSpec]:
        """The other fabrics, in the order of the file."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _names_are_words(self) -> Fabrics:
        for name in self.others:
            host_word(name)
            if name == "none":
                raise ValueError("a fabric cannot be called none | ports that go nowhere are given to none; choose another name")
        return self


class Design(Frozen):
    """A whole design: the cluster's name, its nodes, its fabrics, the hall and the cabling policy."""

    name: HostWord = Field("cluster", description="Name of the cluster; it heads every file.")
    reference: Literal[64, 128, 288] | None = Field(
        None, description="Reference cluster of so many HGX B300 nodes whose published sizes and power the plan is compared with; `railplan new --reference` writes one."
    )
    nodes: NodesSpec = Field(description="The GPU nodes.")
    more_nodes: tuple[NodesSpec, ...] = Field(
        (), description="Other kinds of node on the compute fabric, on leaves of their own: GPU nodes of another model, CPU or storage nodes."
    )
    servers: tuple[ServerSpec, ...] = Field((), description="Servers that are on other fabrics than compute: CPU, storage, control-plane and login nodes, edge routers.")
    pdus: PduSpec | None = Field(None, description="Power distribution units in every rack, with ports on a fabric that serves management.")
    fabrics: Fabrics = Field(description="The fabrics by name; `compute` is the east-west fabric between GPUs, others serve ports by their use.")
    hall: HallSpec = Field(default_factory=HallSpec, description="Where racks can stand; by default a hall is made to fit.")
    placement: PlacementSpec = Field(default_factory=PlacementSpec, description="Pins, equipment that stands already, and arrangements to force.")
    cables: CablesSpec = Field(default_factory=CablesSpec, description="Cabling policy.")
    tenants: tuple[TenantSpec, ...] = Field((), description="Who gets which number of nodes. Earlier ones choose first, so that one added at the end moves nobody.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of everything that is tried at random.")

    @model_validator(mode="after")
    def _names_differ(self) -> Design:
        hosts = [group.name for group in self.node_groups] + [server.name for server in self.servers] + ([self.pdus.name] if self.pdus else [])
        twice = sorted({name for name in hosts if hosts.count(name) > 1})
        if twice:
            raise ValueError(f"two kinds of node are both called {twice[0]!r} | give them different names")
        compute = self.fabrics.compute
        taken = dict.fromkeys(hosts, "nodes")
        words = [("compute", word) for word in (compute.leaf_name, compute.spine_name, compute.core_name)]
        words += [(name, word) for name, spec in self.fabrics.others.items() for word in switch_words(name, spec)]
        for fabric, word in words:
            if word in taken:
                what = f"nodes and switches of {fabric} are both called {word!r}" if taken[word] == "nodes" else f"switches of {taken[word]} and {fabric} are both called {word!r}"
                raise ValueError(f"{what} | give them different names")
            taken[word] = fabric
        return self

    @property
    def node_groups(self) -> tuple[NodesSpec, ...]:
        """Every kind of node: `nodes`, then `more_nodes`."""
        return (self.nodes, *self.more_nodes)

    @property
    def rails(self) -> dict[str, FabricSpec]:
        """The fabric of GPU rails, by name."""
        return {"compute": self.fabrics.compute}

    def spec_of(self, fabric: str) -> FabricSpec | AccessSpec:
        """What the design says of a fabric."""
        return self.fabrics.compute if fabric == "compute" else self.fabrics.others[fabric]


def switch_words(name: str, spec: AccessSpec) -> tuple[str, str]:
    """First words of the names of leaves and spines of another fabric than compute."""
    return spec.leaf_name or f"{name}-leaf", spec.spine_name or f"{name}-spine"


def load_design(path: str | Path) -> Design:
    """Read a design file; raises DesignError with file and line of everything that is wrong."""
    return read_design(Path(path))[0]


def parse_design(text: str, name: str = "design") -> Design:
    """Read a design from YAML text; raises DesignError as `load_design` does."""
    return validate(Design, parse_yaml(text, name))


def read_design(path: Path, hall: Path | None = None) -> tuple[Design, Source]:
    """Read a design and keep where each field stands; `hall` names a file that takes the place of its hall.

    In the design, `hall: FILE.yaml` (relative to the design) reads the hall from a file as well.
    """
    source = with_hall(read_yaml(path), path.parent, hall)
    return validate(Design, source), source


def with_hall(source: Source, folder: Path, hall: Path | None = None) -> Source:
    """The source with its hall read from a file, where one is named."""
    data = source.data
    if not isinstance(data, dict):
        return source
    if hall is None and isinstance(data.get("hall"), str):
        hall = folder / data["hall"]
    if hall is None:
        return source
    inside = read_yaml(hall)
    return Source(source.name, {**data, "hall": inside.data}, source.lines, {("hall",): inside})


def locate(problems: Iterable[Problem], source: Source) -> list[Problem]:
    """Turn design paths such as `fabrics.compute.tiers` into file and line, keeping the path in the sentence."""
    found = []
    for problem in problems:
        loc: tuple[str | int, ...] = ()
        for part in problem.where.split("."):
            loc += (int(part) if part.isdigit() and (*loc, part) not in source.lines else part,)  # racks of row 7 are called 701, 702, ...
        if loc[0] in Design.model_fields:
            problem = replace(problem, where=source.where(loc), what=f"{problem.where}: {problem.what}")
        found.append(problem)
    return found
