"""The bill of materials: every device, module, copper cable and fibre of the plan, counted from the tables."""

from __future__ import annotations

import math

import polars as pl

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
    """Table BOM: one row for each part, and for each length of a cable."""
    percent = topology.design.cables.spares_percent
    rows = [_row(category, part, length_m, number, count, percent, catalog) for category, part, length_m, number, count in _counted(topology, cabling, catalog)]
    rows.sort(key=lambda r: (CATEGORIES.index(str(r["category"])), str(r["part"]), r["length_m"] or 0.0))
    return pl.DataFrame(rows, schema=BOM)


def _counted(topology: Topology, cabling: Cabling, catalog: Catalog) -> list[tuple[str, Part, float | None, str, int]]:
    """(category, part, length, order number, count) of everything that is bought."""
    found: list[tuple[str, Part, float | None, str, int]] = []
    category_of = pl.col("role").replace_strict(ROLE_CATEGORY, default="switch").alias("category")
    devices = topology.devices.filter("present").group_by(category_of, "model").len()
    for category, model, count in devices.iter_rows():
        part: Part = catalog.nodes[model] if category == "node" else catalog.switches[model]
        found.append((category, part, None, "", count))
    for name, fabric in topology.fabrics.items():
        found += [("licence", licence, None, "", endpoints(topology, name)) for licence in catalog.licences.values() if fabric.family in licence.families]
    for model, count in cabling.modules.group_by("part").len().iter_rows():
        found.append(("module", catalog.modules[model], None, "", count))
    for model, length_m, number, count in cabling.cables.group_by("part", "length_m", "part_number").len().iter_rows():
        copper = model in catalog.copper
        found.append(("copper" if copper else "fibre", catalog.copper[model] if copper else catalog.fibres[model], length_m, number, count))
    return found


def endpoints(topology: Topology, fabric: str) -> int:
    """NICs of nodes on a fabric; one that is split over planes counts once."""
    own = topology.links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("series") == "N"))
    return own.select("a_dev", "rail").unique().height


def _row(category: str, part: Part, length_m: float | None, number: str, count: int, percent: float, catalog: Catalog) -> dict[str, object]:
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
    }
