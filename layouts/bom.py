"""The bill of materials: every device, module, copper cable and fibre of the plan, counted from the tables."""

from __future__ import annotations

import math

import polars as pl

from ..fabric.tables import NONE
from ..fabric.topology import Topology
from ..vendors.catalog import Catalog
from ..vendors.models import Part
from .cables import Cabling
from .tables import BOM

CATEGORIES = ("node", "switch", "module", "copper", "fibre", "licence")
ROLE_CATEGORY = {"node": "node", "ufm": "node", "server": "node", "pdu": "node"}
"""Device role -> category; every other role is a switch."""

SPARED = frozenset({"module", "copper", "fibre"})
"""Categories that spares are ordered of."""


def bill_of_materials(topology: Topology, cabling: Cabling, catalog: Catalog) -> pl.DataFrame:
    """Table BOM: one row for each part and fabric, and for each length of a cable; spares are counted by row."""
    percent, order = topology.design.cables.spares_percent, ["", *topology.fabrics]
    rows = [_row(*counted, percent, catalog) for counted in _counted(topology, cabling, catalog)]
    rows.sort(key=lambda r: (CATEGORIES.index(str(r["category"])), str(r["part"]), r["length_m"] or 0.0, order.index(str(r["fabric"]))))
    return pl.DataFrame(rows, schema=BOM)


def _counted(topology: Topology, cabling: Cabling, catalog: Catalog) -> list[tuple[str, str, Part, float | None, str, int]]:
    """(fabric, category, part, length, order number, count) of everything that is bought; nodes are of no fabric."""
    found: list[tuple[str, str, Part, float | None, str, int]] = []
    category_of = pl.col("role").replace_strict(ROLE_CATEGORY, default="switch").alias("category")
    devices = topology.devices.filter("present").with_columns(category_of)
    of_fabric = pl.when(pl.col("category") == "switch").then(pl.col("fabric")).otherwise(pl.lit("")).alias("fabric")
    for fabric, category, model, count in devices.group_by(of_fabric, "category", "model").len().iter_rows():
        part: Part = catalog.nodes[model] if category == "node" else catalog.switches[model]
        found.append((fabric, category, part, None, "", count))
    for name, facts in topology.fabrics.items():
        found += [(name, "licence", licence, None, "", endpoints(topology, name)) for licence in catalog.licences.values() if facts.family in licence.families]
    for fabric, model, count in cabling.modules.with_columns(module_fabrics(topology, cabling.modules)).group_by("fabric", "part").len().iter_rows():
        found.append((fabric, "module", catalog.modules[model], None, "", count))
    for fabric, model, length_m, number, count in cabling.cables.group_by("fabric", "part", "length_m", "part_number").len().iter_rows():
        copper = model in catalog.copper
        found.append((fabric, "copper" if copper else "fibre", catalog.copper[model] if copper else catalog.fibres[model], length_m, number, count))
    return found


def module_fabrics(topology: Topology, modules: pl.DataFrame) -> pl.Series:
    """Fabric of each module: that of the first link in its cage."""
    ends = pl.concat(topology.links.select("link", "fabric", pl.col(f"{end}_dev").alias("dev"), pl.col(f"{end}_cage").alias("cage")) for end in "ab")
    of_cage = ends.sort("link").unique(["dev", "cage"], keep="first")
    return modules.join(of_cage, on=["dev", "cage"], how="left", maintain_order="left")["fabric"]


def endpoints(topology: Topology, fabric: str) -> int:
    """NICs of nodes and servers on a fabric; one that is split over planes counts once, each port to a fabric other than compute."""
    hosts = topology.devices.filter(pl.col("role").is_in(("node", "server")))["dev"]
    own = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & pl.col("a_dev").is_in(hosts.implode()))
    railed = own.filter(pl.col("rail") != NONE)
    return railed.select("a_dev", "rail").unique().height + own.height - railed.height


def _row(fabric: str, category: str, part: Part, length_m: float | None, number: str, count: int, percent: float, catalog: Catalog) -> dict[str, object]:
    spares = math.ceil(round(count * percent / 100, 9)) if category in SPARED else 0
    price = catalog.price(part, length_m, number or None)
    return {
        "category": category,
        "part": part.model,
        "description": part.description if length_m is None else f"{part.description}, {length_m:g} m",
        "unit": {"copper": "cable"}.get(category, category),
        "quantity": count,
        "spares": spares,
        "unit_price": price.value if price else None,
        "currency": price.currency if price else "",
        "total": round(price.value * (count + spares), 2) if price else None,
        "price_source": f"{price.basis} ({price.source}, {price.date}, {price.confidence})" if price else "no price",
        "part_number": number or (part.part_numbers[0] if len(part.part_numbers) == 1 and length_m is None else ""),
        "length_m": length_m,
        "fabric": fabric,
    }
