"""A plan beside the reference cluster that its design names: what was counted in the tables, and what is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from ..fabric.sizing_rules import power_kw, storage_gbps
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.models import Node, Role, Switch
from ..vendors.references import Rules, load_references
from .placement import Placement

NORTH_SOUTH_USES = {"inband", "storage", "frontend"}


@dataclass(frozen=True)
class Figure:
    """One figure, counted and published; `holds` says when they agree: equal, least (no fewer), or about (the difference is told)."""

    name: str
    counted: float
    published: float
    holds: Literal["equal", "least", "about"]

    @property
    def agrees(self) -> bool:
        """False where a count is not what is published."""
        return self.holds == "about" or (self.counted >= self.published if self.holds == "least" else self.counted == self.published)

    @property
    def difference_percent(self) -> float:
        """How much more was counted than published."""
        return round(100 * (self.counted / self.published - 1), 2)


def reference_figures(topology: Topology, placement: Placement) -> tuple[Figure, ...]:
    """Counts of the present devices and links, and the power of the racks, beside the reference cluster; empty where the design names none."""
    if topology.design.reference is None:
        return ()
    references = load_references()
    rules, published = references.rules, references.cluster(topology.design.reference)
    devices, links = _devices(topology), topology.links
    rack = placement.places["rack_no"]
    gpus = links.filter((pl.col("fabric") == "compute") & (pl.col("gpu") >= 0)).select("a_dev", "gpu").n_unique()
    control = devices.filter(pl.col("kind") == "control")
    storage = devices.filter(pl.col("kind") == "storage")
    nodes = devices.filter(pl.col("role") == "node")
    return (
        Figure("GPU nodes", nodes.height, published.nodes, "equal"),
        Figure("GPUs", gpus, published.gpus, "equal"),
        Figure("CPU nodes", devices.filter(pl.col("kind") == "cpu").height, published.cpu_nodes, "equal"),
        Figure("control-plane nodes", control.height, published.control_nodes, "equal"),
        Figure("racks with control-plane nodes", rack.gather(control["dev"]).n_unique(), published.control_racks, "equal"),
        *_capacity(storage, published.storage_usable_tb, published.storage_nodes, published.gpus * rules.storage_raw_tb_per_gpu.value),
        Figure("Gb/s of storage bandwidth", _gbps(topology, storage, {"storage"}), float(storage_gbps(published.gpus, rules)), "least"),
        Figure("Gb/s north-south at each GPU node", _least_north_south(topology, nodes), rules.north_south_gbps_per_node.value, "least"),
        Figure("kW that the racks draw at most", round(float(placement.racks["power_w"].sum()) / 1000, 3), 1000 * published.power_mw, "about"),
        Figure(
            f"kW with {rules.gpu_node_kw.value:g} kW for each GPU node and the typical draw of switches",
            round(_planned_kw(topology, placement, devices, rules), 3),
            1000 * published.power_mw,
            "about",
        ),
    )


def reference_problems(figures: tuple[Figure, ...]) -> list[Problem]:
    """A warning for each count that is not the published one."""
    return [
        Problem(
            "reference",
            "reference",
            f"{figure.counted:,.10g} {figure.name}, the reference cluster has {figure.published:,.10g}{' or more' if figure.holds == 'least' else ''}",
            "",
            "change the design, or remove `reference` where it is meant to differ",
            "warning",
        )
        for figure in figures
        if not figure.agrees
    ]


def _devices(topology: Topology) -> pl.DataFrame:
    """Present devices with what the catalog says they are for (`kind`) and hold (TB)."""
    known: list[tuple[str, Role, float, float]] = [
        (key, part.role, part.storage_usable_tb or 0.0, part.storage_raw_tb or 0.0) for key, profile in topology.profiles.items() if isinstance(part := profile.part, Node)
    ]
    table = pl.DataFrame(known, schema=["profile", "kind", "usable_tb", "raw_tb"], orient="row")
    return topology.devices.filter("present").select("dev", "role", "profile").join(table, on="profile", how="left", maintain_order="left")


def _planned_kw(topology: Topology, placement: Placement, devices: pl.DataFrame, rules: Rules) -> float:
    """Power as it is planned: GPU nodes by the rule, switches at their typical draw where the catalog knows it, all else at its highest."""
    typical = {key: part.power_typical_w for key, profile in topology.profiles.items() if isinstance(part := profile.part, Switch)}
    known = devices.with_columns(
        highest=placement.places["power_w"].gather(devices["dev"]),
        typical=pl.col("profile").replace_strict(typical, default=None, return_dtype=pl.Float64),
    ).filter(pl.col("role") != "node")
    nodes = devices.height - known.height
    return float(known.select(pl.coalesce("typical", "highest").sum()).item()) / 1000 + power_kw(nodes, rules)


def _capacity(storage: pl.DataFrame, usable_tb: float, nodes: int, raw_tb: float) -> list[Figure]:
    """Storage as an appliance, where its parts say what is usable, else as nodes."""
    if storage["usable_tb"].sum() > 0:
        return [Figure("TB of usable storage", float(storage["usable_tb"].sum()), usable_tb, "equal")]
    return [Figure("storage nodes", storage.height, nodes, "equal"), Figure("TB of raw storage", round(float(storage["raw_tb"].sum()), 3), raw_tb, "least")]


def _gbps(topology: Topology, devices: pl.DataFrame, uses: set[str]) -> int:
    """Bandwidth of the links at these devices' ports of some uses."""
    return int(_links_of(topology, devices, uses)["gbps"].sum())


def _least_north_south(topology: Topology, nodes: pl.DataFrame) -> int:
    """Bandwidth of front-end, in-band and storage links at the node that has least of it."""
    have = _links_of(topology, nodes, NORTH_SOUTH_USES).group_by("a_dev").agg(pl.col("gbps").sum())
    return int(nodes.join(have, left_on="dev", right_on="a_dev", how="left")["gbps"].fill_null(0).min() or 0)  # type: ignore[arg-type]


def _links_of(topology: Topology, devices: pl.DataFrame, uses: set[str]) -> pl.DataFrame:
    """Links whose port at one of the devices has one of the uses, by cage."""
    cages = [
        (key, row)
        for key, profile in topology.profiles.items()
        if isinstance(part := profile.part, Node)
        for row, cage in enumerate(part.cages)
        if any(p.cage == cage.label and p.use in uses for p in part.ports)
    ]
    table = pl.DataFrame(cages, schema={"profile": pl.String, "a_cage": topology.links.schema["a_cage"]}, orient="row")
    return topology.links.join(devices.select("dev", "profile"), left_on="a_dev", right_on="dev").join(table, on=["profile", "a_cage"], how="semi")
