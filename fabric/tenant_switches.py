"""Which switches the traffic of a tenant may pass, counted from the links; which tenants meet on a leaf."""

from __future__ import annotations

import polars as pl

from .check_report import end_links
from .tables import TENANT_SWITCHES
from .topology import Topology


def switches_of(topology: Topology, nodes: pl.DataFrame, fabric: str) -> pl.DataFrame:
    """Table TENANT_SWITCHES for a table TENANT_NODES, by tenant, leaves first.

    Leaves are those of the tenant's nodes. Traffic climbs from a leaf when the tenant has another one to reach: in the
    same plane and, where rails are apart, of the same rail. It passes cores when its spines are of several groups.
    """
    leaves = _above(nodes.rename({"tenant": "of"}), end_links(topology, fabric))
    sets = leaves.group_by("of", maintain_order=True).agg("dev").group_by("dev", maintain_order=True).agg(pl.col("of").alias("tenant")).with_row_index("of")
    passed = _passed(topology, sets.select("of", "dev").explode("dev"), fabric)
    of_tenant = sets.select("of", "tenant").explode("tenant").sort("tenant")
    return of_tenant.join(passed, on="of", maintain_order="left_right").select(*TENANT_SWITCHES).cast(pl.Schema(TENANT_SWITCHES))


def _passed(topology: Topology, leaves: pl.DataFrame, fabric: str) -> pl.DataFrame:
    """Switches (role, dev) that traffic among the leaves of each set (`of`) may pass: the leaves, spines, cores."""
    links = topology.links.filter(pl.col("fabric") == fabric)
    places = topology.devices.select("dev", "plane", "group", "rail")
    apart = ["rail"] if topology.fabrics[fabric].style == "rail-only" else []
    climbing = leaves.join(places, on="dev").filter(pl.len().over("of", "plane", *apart) > 1)
    spines = _above(climbing, links.filter(pl.col("tier") == "leaf-spine")).join(places, on="dev")
    several = spines.select("of", "plane", *apart, pl.struct("group", "rail").alias("row")).unique().group_by("of", "plane", *apart).len().filter(pl.col("len") > 1)
    cores = _above(spines.join(several, on=["of", "plane", *apart], how="semi"), links.filter(pl.col("tier") == "spine-core"))
    found = [table.select("of", pl.lit(role).alias("role"), "dev") for role, table in (("leaf", leaves), ("spine", spines), ("core", cores))]
    return pl.concat(found).sort("of", "dev", maintain_order=True)


def _above(below: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Devices at the upper ends of links from the devices of each set, once each."""
    pairs = links.select(pl.col("a_dev").alias("dev"), "b_dev").unique()
    return below.select("of", "dev").join(pairs, on="dev").select("of", pl.col("b_dev").alias("dev")).unique().sort("of", "dev")


def shared_leaves(switches: pl.DataFrame) -> pl.DataFrame:
    """One row for each set of tenants that meet on leaves: `tenants` (their numbers), `leaves` (device numbers)."""
    met = switches.filter(pl.col("role") == "leaf").sort("dev", "tenant").group_by("dev", maintain_order=True).agg(pl.col("tenant").alias("tenants"))
    several = met.filter(pl.col("tenants").list.len() > 1)
    return several.group_by("tenants", maintain_order=True).agg(pl.col("dev").alias("leaves"))
