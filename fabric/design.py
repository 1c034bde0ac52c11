"""The design file: what a user asks for, as frozen pydantic models with units in the names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator, model_validator

from ..problems import Problem
from ..vendors.models import Frozen
from ..vendors.yaml_source import Source, parse_yaml, read_yaml, validate
from .hall_spec import AtLeastOne, HallSpec
from .placement_spec import PlacementSpec
from .tables import TIERS, Tier

NODES_MAX = 1_000_000
"""More nodes than this are a typing mistake, not a cluster."""

HOST_NAME = r"^[a-z]([a-z0-9-]*[a-z0-9])?$"
Family = Literal["spectrum-x", "tomahawk-6", "tomahawk-5", "quantum-ndr", "quantum-xdr"]
Style = Literal["rail", "rail-only", "tor", "dual-tor", "pair", "single", "chassis"]


def host_word(value: Any) -> Any:
    """Refuse names that shells, spreadsheets, Slurm or DNS would trip over."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text | quote it")
    if not re.match(HOST_NAME, value) or len(value) > 24:
        bad = sorted({c for c in value if not re.match(r"[a-z0-9-]", c)})
        why = f": {' '.join(repr(c) for c in bad)} not allowed" if bad else ""
        raise ValueError(f"{value!r} is not a host name word{why} | use 1 to 24 of a-z, 0-9 and -, starting with a letter and not ending in -")
    return value


def ratio(value: Any) -> Any:
    """Read an oversubscription: 2, 3.5, "2:1" or "7:2"; the result is down bandwidth over up bandwidth."""
    fix = "write 1 for non-blocking, or 2, 3.5, 2:1"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError(f"{value!r} is not an oversubscription | {fix}")
    text = f"{value.numerator}:{value.denominator}" if isinstance(value, Fraction) else str(value).replace(" ", "")
    down, _, up = text.partition(":")
    if len(text) > 24 or not re.fullmatch(r"\d+(\.\d+)?(:\d+(\.\d+)?)?", text) or not Fraction(up or "1"):
        raise ValueError(f"{str(value)[:24]!r} is not an oversubscription | {fix}")
    result = Fraction(down) / Fraction(up or "1")
    if result < 1:
        raise ValueError(f"{value} is below 1: more uplinks than ports below them carry nothing | {fix}")
    if result > 1000:
        raise ValueError(f"{value} is above 1000 | {fix}")
    return result


Ratio = Annotated[
    Fraction,
    BeforeValidator(ratio),
    PlainSerializer(lambda r: int(r) if r.denominator == 1 else (float(r) if Fraction(str(float(r))) == r else f"{r.numerator}:{r.denominator}"), return_type=int | float | str),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1}, {"type": "string", "pattern": r"^\d+(\.\d+)?(:\d+(\.\d+)?)?$"}]}),
]
HostWord = Annotated[str, BeforeValidator(host_word), WithJsonSchema({"type": "string", "pattern": HOST_NAME, "maxLength": 24})]


class NodesSpec(Frozen):
    """The GPU nodes of the cluster."""

    model: str = Field(description="Node model of the catalog, for example hgx-b300; `railplan catalog nodes` lists them.")
    count: int = Field(description="Number of nodes.", json_schema_extra={"minimum": 1, "maximum": NODES_MAX})
    name: HostWord = Field("gpu", description="Host name prefix; nodes are called NAME-001, NAME-002, ...")
    grow_to: int | None = Field(None, description="Final number of nodes: spines, racks, U, power and ports are sized for it, names and ports stay as they are.")
    name_width: int | None = Field(None, ge=1, le=7, description="Digits of the host number; by default as many as the final count needs, at least 3.")

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


class CablesSpec(Frozen):
    """What cables may be used, and how many spares are ordered."""

    max_length_m: dict[Literal["dac", "acc", "aec", "aoc", "mmf", "smf"], float] = Field(
        default_factory=dict, description="Longest cable trusted, per kind; 0 switches a kind off."
    )
    copper_tiers: tuple[Tier, ...] = Field(TIERS, description="Tiers on which copper may be used; the others are all fibre.")
    spares_percent: float = Field(2.0, ge=0, le=100, description="Spares ordered of every cable, fibre and module, in percent, rounded up for each part and length.")
    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="Currency of totals; prices in another one are listed but not added.")

    @field_validator("max_length_m")
    @classmethod
    def _lengths_are_lengths(cls, value: dict[str, float]) -> dict[str, float]:
        for kind, length in value.items():
            if not 0 <= length <= 10_000:
                raise ValueError(f"{kind}: {length} m | use metres from 0 (off) to 10,000")
        return value


class Design(Frozen):
    """A whole design: the cluster's name, its nodes, its fabrics, the hall and the cabling policy."""

    name: HostWord = Field("cluster", description="Name of the cluster; it heads every file.")
    nodes: NodesSpec = Field(description="The GPU nodes.")
    more_nodes: tuple[NodesSpec, ...] = Field(
        (), description="Other kinds of node on the compute fabric, on leaves of their own: GPU nodes of another model, CPU or storage nodes."
    )
    fabrics: dict[Literal["compute"], FabricSpec] = Field(min_length=1, description="The fabrics by name; `compute` is the east-west fabric between GPUs.")
    hall: HallSpec = Field(default_factory=HallSpec, description="Where racks can stand; by default a hall is made to fit.")
    placement: PlacementSpec = Field(default_factory=PlacementSpec, description="Pins, equipment that stands already, and arrangements to force.")
    cables: CablesSpec = Field(default_factory=CablesSpec, description="Cabling policy.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Seed of everything that is tried at random.")

    @model_validator(mode="after")
    def _switch_names_differ_from_nodes(self) -> Design:
        names = [group.name for group in self.node_groups]
        if len(set(names)) < len(names):
            raise ValueError(f"two kinds of node are both called {max(names, key=names.count)!r} | give them different names")
        for name, fabric in self.fabrics.items():
            taken = sorted({fabric.leaf_name, fabric.spine_name, fabric.core_name} & set(names))
            if taken:
                raise ValueError(f"nodes and switches of {name} are both called {taken[0]!r} | give them different names")
        return self

    @property
    def node_groups(self) -> tuple[NodesSpec, ...]:
        """Every kind of node: `nodes`, then `more_nodes`."""
        return (self.nodes, *self.more_nodes)


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
