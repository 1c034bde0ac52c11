"""plan.xlsx: the plan as a workbook to read, filter, print and tick off on the floor.

The bytes depend on the plan alone: dates inside are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import polars as pl
from openpyxl import Workbook
from openpyxl.styles import Alignment, PatternFill
from openpyxl.writer.excel import ExcelWriter

from .. import __version__
from ..fabric.tenant_numbers import WORDS
from . import DEFAULTS, Options, tables
from .colouring import BOX, KINDS, SAME
from .paper import set_up_print
from .sheets import HEAD_FILL, Column, Sheet, add_sheet, font, styled
from .summary import cost, cost_gaps, summary
from .summary_rows import summary_rows
from .tenants import tenants

if TYPE_CHECKING:
    from ..plan import Plan

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest date a zip file knows; the workbook has no date of its own."""

UNIX = 3
"""System that a zip entry says it was made on; Python would name the one it runs on."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render plan.xlsx."""
    book = Workbook(write_only=True)
    book.properties.creator, book.properties.title = f"railplan {__version__}", plan.design.name
    _add_summary(book, plan)
    rows: dict[str, bytes] = {}
    given = [tenant_sheet(plan)] if plan.tenancy.tenants else []
    floor = (rack_sheet(plan), tray_sheet(plan), bundle_sheet(plan))
    for sheet in (bom_sheet(plan), cable_sheet(plan), port_map_sheet(plan), *floor, *given, label_sheet(plan), finding_sheet(plan)):
        rows |= add_sheet(book, sheet, plan.design.name)
    return {"plan.xlsx": fixed_bytes(book, rows)}


def fixed_bytes(book: Workbook, rows: Mapping[str, bytes]) -> bytes:
    """The workbook's bytes with `rows` at the end of their sheets and every date in it set to the same one."""
    raw, fixed = BytesIO(), BytesIO()
    ExcelWriter(book, ZipFile(raw, "w", ZIP_STORED)).save()
    with ZipFile(raw) as source, ZipFile(fixed, "w", ZIP_DEFLATED) as target:
        if not rows.keys() <= set(source.namelist()):
            raise RuntimeError(f"the workbook has no {rows.keys() - set(source.namelist())}")
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"%04d-%02d-%02dT%02d:%02d:%02dZ" % EPOCH, data)
            data = data.replace(b"</sheetData>", rows.get(entry.filename, b"") + b"</sheetData>", 1)
            info = ZipInfo(entry.filename, EPOCH)
            info.compress_type, info.create_system, info.external_attr = ZIP_DEFLATED, UNIX, 0o600 << 16
            target.writestr(info, data)
    return fixed.getvalue()


def _add_summary(book: Workbook, plan: Plan) -> None:
    """One page, more with several fabrics: what, how much, in which unit; then what the colours mean."""
    facts = summary(plan)
    page = book.create_sheet("Summary")
    for letter, width in (("A", 36), ("B", 14), ("C", 34)):
        page.column_dimensions[letter].width = width
    page.sheet_view.showGridLines = False
    set_up_print(page, plan.design.name, "Summary", portrait=True)
    if len(plan.topology.fabrics) > 1:
        page.page_setup.fitToHeight = 0  # as many pages as the fabrics take, rather than tiny words
    page.append([styled(page, plan.design.name, font(bold=True, size=18))])
    page.append([styled(page, f"Planned by railplan {facts['railplan']}", font(colour="595959"))])
    for heading, rows in summary_rows(facts).items():
        page.append([])
        page.append([styled(page, text, font(bold=True, colour="FFFFFF"), HEAD_FILL) for text in (heading, None, None)])
        for label, value, unit in rows:
            places = "#,##0.0" if isinstance(value, float) else "#,##0"
            page.append([styled(page, label, font()), styled(page, value, font(), number_format=places, align=Alignment(horizontal="left")), styled(page, unit or None, font())])
    page.append([])
    page.append([styled(page, text, font(bold=True, colour="FFFFFF"), HEAD_FILL) for text in ("Colours of cable kinds", None, None)])
    for kind, (colour, meaning) in KINDS.items():
        page.append([styled(page, kind, font(), PatternFill("solid", fgColor=colour)), styled(page, meaning, font())])


def _fabric_column(plan: Plan) -> tuple[Column, ...]:
    """The column that tells fabrics apart, where there are several."""
    return (Column("fabric", "Fabric", 10),) if len(plan.topology.fabrics) > 1 else ()


def bom_sheet(plan: Plan) -> Sheet:
    """Parts with quantities, spares and prices; the total says how many rows it misses."""
    columns = (
        *(Column("category", "Category", 10), Column("part", "Part", 16), Column("part_number", "Order number", 18), Column("description", "Description", 44, "wrap")),
        *(Column("length_m", "Length m", 10), Column("unit", "Unit", 8), Column("quantity", "Quantity", 10), Column("spares", "Spares", 9)),
        *(Column("currency", "Currency", 9), Column("unit_price", "Unit price", 14, "money")),
        *(Column("total", "Total", 16, "money"), Column("price_source", "Price source", 34, "wrap"), *_fabric_column(plan)),
    )
    priced = cost(plan)
    some = priced["unpriced_rows"] < priced["rows"]
    label = f"Total, spares included; {cost_gaps(priced)}" if some else "Total: no prices"
    total = pl.DataFrame({"category": ["", label], "total": [None, priced["total"] if some else None]}, schema_overrides={"total": pl.Float64})
    table = pl.concat([tables.bom(plan), total], how="diagonal_relaxed")
    notes = ("Quantity is what the plan uses, spares are ordered on top; totals include spares.",)
    return Sheet("BoM", "Bill of materials", table, columns, notes=notes, totals=total.height)


def cable_sheet(plan: Plan) -> Sheet:
    """Every cable with both ends."""
    ends = [
        Column(f"{end}_{name}", f"{end.upper()} {head}", width, "digits" if name == "ru" else "")
        for end in "ab"
        for name, head, width in (("device", "device", 12), ("port", "port", 10), ("rack", "rack", 7), ("ru", "U", 6), ("module", "module", 10))
    ]
    columns = (
        *(Column("cable", "Cable", 10), *_fabric_column(plan), Column("tier", "Tier", 11), Column("rail", "Rail", 6, "digits"), Column("plane", "Plane", 7, "digits"), *ends),
        *(Column("kind", "Kind", 6), Column("part", "Part", 10), Column("part_number", "Order number", 15), Column("length_m", "Length m", 10)),
        *(Column("route_m", "Route m", 10), Column("gbps", "Gb/s", 7), Column("links", "Links", 7), Column("bundle", "Bundle", 8)),
    )
    table = tables.cables(plan).with_columns(pl.col("route_m").round(2))
    return Sheet("Cables", "Every cable once", table, columns, kind="kind", notes=("Rails and planes count from 0, U is the lowest unit of the device.",))


def port_map_sheet(plan: Plan) -> Sheet:
    """Every used port, rack by rack and from the top of each, with its far end and a box to tick for each plug."""
    columns = (
        *(Column("done", "Done", 11, "box"), Column("rack", "Rack", 7), Column("ru", "U", 6), Column("device", "Device", 12), Column("port", "Port", 9)),
        *(Column("cage", "Cage", 7, "digits"), Column("socket", "Connector", 11), Column("gpu", "GPU", 6), Column("cable", "Cable", 10), Column("length_m", "Length m", 10)),
        *(Column("kind", "Kind", 6), Column("peer_rack", "To rack", 8), Column("peer_ru", "To U", 7), Column("peer_device", "To device", 12), Column("peer_port", "To port", 9)),
        *(Column("module", "Module here", 12), Column("rail", "Rail", 6), Column("plane", "Plane", 7), *_fabric_column(plan)),
    )
    notes = (
        "Cage: the opening on the faceplate that a module or plug goes into. A port is one link of it: OSFP1P1 and OSFP1P2, swp1s0 and swp1s1 are the two links of cage 1.",
        f"Connector: which of the module's fibre sockets the cable goes into, 1 first. Whole plug: the cable's own plug fills the cage; its further links say {SAME!r}.",
    )
    table = tables.port_map(plan, BOX, SAME)
    return Sheet("Port map", "Tick each plug when it is in", table, columns, kind="kind", group="device", notes=notes, pages=("rack", "device"))


def rack_sheet(plan: Plan) -> Sheet:
    """Every rack with what it holds."""
    columns = (
        *(Column("rack", "Rack", 8), Column("row", "Row", 6), Column("position", "Position", 9), Column("role", "Role", 10), Column("used_ru", "Used U", 8)),
        *(Column("height_ru", "Of U", 7), Column("power_w", "Power W", 11), Column("weight_kg", "Weight kg", 12), Column("x_m", "x m", 9), Column("y_m", "y m", 9)),
        *(Column("reserved", "Kept for growth", 16), Column("type", "Rack type", 12)),
    )
    table = tables.racks(plan).with_columns(pl.when("reserved").then(pl.lit("yes")).otherwise(pl.lit("")).alias("reserved"))
    return Sheet("Racks", "Racks", table, columns, notes=("Power and weight are of what is built now, at its highest draw.",))


def tray_sheet(plan: Plan) -> Sheet:
    """Every piece of tray with what lies in it."""
    columns = (
        *(Column("tray", "Tray", 10), Column("from", "From", 12), Column("to", "To", 12), Column("length_m", "Length m", 10), Column("copper", "Copper", 9)),
        *(Column("optical", "Optical", 9), Column("cables", "Cables", 9), Column("area_mm2", "Area mm2", 11), Column("capacity_mm2", "Limit mm2", 11)),
        *(Column("fill_percent", "Fill %", 8), Column("limit_percent", "Limit %", 9), Column("of_limit_percent", "% of limit", 10)),
        *(Column("weight_kg_per_m", "kg per m", 10), Column("width_mm", "Width mm", 10), Column("depth_mm", "Depth mm", 10)),
    )
    notes = (
        "From and to: racks that hang there and trays that are joined there. Above 100 % of the limit a piece is too full.",
        "Area is the cross-section of all cables in it; a split cable counts once where the ways to its ends run together.",
    )
    table = plan.trays.with_columns(
        pl.col("area_mm2", "capacity_mm2").round(0), pl.col("fill_percent", "of_limit_percent").round(1), pl.col("weight_kg_per_m", "length_m").round(2)
    )
    return Sheet("Trays", "How full the trays are", table, columns, group="tray", notes=notes)


def bundle_sheet(plan: Plan) -> Sheet:
    """Every bundle with its ends, what it is made of and the trays it runs through."""
    columns = (
        *(Column("bundle", "Bundle", 8), Column("a_rack", "A rack", 8), Column("b_rack", "B rack", 8), Column("cables", "Cables", 8), Column("kinds", "Kinds", 8)),
        *(Column("parts", "Parts", 24), Column("shortest_m", "Shortest m", 11), Column("longest_m", "Longest m", 11), Column("diameter_mm", "Diameter mm", 12)),
        *(Column("weight_kg", "Weight kg", 11), Column("trays", "Trays from A to B", 40, "wrap")),
    )
    most = plan.design.cables.bundle_max
    notes = (
        f"Cables between the same racks on the same way, at most {most.copper} of copper or {most.fibre} of fibre. Cables within a rack and single ones are in no bundle.",
        "Diameter: 1.2 x the square root of the sum of the squares of the cables' diameters.",
    )
    table = plan.bundles.with_columns(pl.col("diameter_mm").round(1), pl.col("weight_kg").round(2))
    return Sheet("Bundles", "Looms to make before the racks come", table, columns, notes=notes)


def tenant_sheet(plan: Plan) -> Sheet:
    """Every tenant with its nodes, switches and numbers."""
    numbers = ("vlan", "vni") if plan.tenancy.tenants[0].numbers.keys() == {"vlan", "vni"} else ("pkey",)
    columns = (
        *(Column("tenant", "Tenant", 12), Column("nodes", "Nodes", 8), Column("kind", "Kind", 8), Column("node_list", "Node names", 30, "wrap"), Column("sus", "SUs", 10, "wrap")),
        *(Column("crosses_sus", "Crosses SUs", 12), *(Column(kind, WORDS[kind], 10) for kind in numbers)),
        *(Column("leaf_count", "Leaves", 8), Column("leaves", "Leaf names", 30, "wrap"), Column("spine_count", "Spines", 8), Column("spines", "Spine names", 30, "wrap")),
        *(Column("core_count", "Cores", 8), Column("cores", "Core names", 24, "wrap"), Column("shares_leaves_with", "Shares leaves with", 24, "wrap")),
    )
    table = tenants(plan).with_columns(pl.when("crosses_sus").then(pl.lit("yes")).otherwise(pl.lit("")).alias("crosses_sus"))
    left = f"{plan.tenancy.unused:,} node{'' if plan.tenancy.unused == 1 else 's'} without tenant."
    notes = (left, "Numbers are the same on all rails and planes of a tenant. Spines and cores: those that traffic between its leaves may pass.")
    return Sheet("Tenants", "Who has which nodes", table, columns, notes=notes)


def label_sheet(plan: Plan) -> Sheet:
    """One row for each physical end of a cable, in the order in which a crew walks."""
    columns = (
        *(Column("rack", "Rack", 7), Column("ru", "U", 6), Column("device", "Device", 12), Column("cable", "Cable", 10), Column("end", "End", 5)),
        *(Column("near", "Here", 16), Column("far", "There", 16), Column("text", "Label", 70), Column("bundle", "Bundle", 8)),
    )
    notes = ("In the order of the Port map. A split cable has one for its head and one for each tail.",)
    return Sheet("Labels", "One label for each end", tables.label_walk(plan), columns, group="device", notes=notes)


def finding_sheet(plan: Plan) -> Sheet:
    """Warnings and notes."""
    columns = (
        Column("level", "Level", 9),
        Column("rule", "Rule", 12),
        Column("where", "Where", 16, "wrap"),
        Column("what", "What", 60, "wrap"),
        Column("why", "Why", 40, "wrap"),
        Column("fix", "Fix", 40, "wrap"),
    )
    return Sheet("Findings", "What the checks found", tables.findings(plan), columns, notes=("A plan with errors is not written at all.",))
