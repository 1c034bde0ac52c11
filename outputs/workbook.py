"""plan.xlsx: the plan as a workbook to read, filter, print and tick off on the floor.

The bytes depend on the plan alone: dates inside are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import polars as pl
from openpyxl import Workbook
from openpyxl.styles import Font, PatternFill
from openpyxl.writer.excel import ExcelWriter

from .. import __version__
from . import DEFAULTS, Options, tables
from .sheets import HEAD_FILL, HEAD_FONT, KINDS, Column, Sheet, add_sheet, set_up_print, styled
from .summary import cost, cost_line, summary

if TYPE_CHECKING:
    from ..plan import Plan

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest date a zip file knows; the workbook has no date of its own."""

TICK = "☐"
UNIX = 3
"""System that a zip entry says it was made on; Python would name the one it runs on."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render plan.xlsx."""
    book = Workbook(write_only=True)
    book.properties.creator, book.properties.title = f"railplan {__version__}", plan.design.name
    _add_summary(book, plan)
    rows: dict[str, bytes] = {}
    for sheet in (bom_sheet(plan), cable_sheet(plan), port_map_sheet(plan), rack_sheet(plan), label_sheet(plan), finding_sheet(plan)):
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
    """Two columns, what and how much, from summary.json; then what the colours mean."""
    facts = summary(plan)
    page = book.create_sheet("Summary")
    page.column_dimensions["A"].width, page.column_dimensions["B"].width = 48, 40
    page.freeze_panes = "A2"
    page.print_title_rows = "1:1"
    set_up_print(page, plan.design.name, "Summary")
    page.append([styled(page, plan.design.name, HEAD_FONT, HEAD_FILL), styled(page, f"railplan {facts['railplan']}", HEAD_FONT, HEAD_FILL)])
    for key, value in _flat({k: v for k, v in facts.items() if k not in ("design", "railplan", "placement")}):
        page.append([key, styled(page, str(value) if value is None or isinstance(value, dict | bool) else value)])
    page.append(["cost, in words", styled(page, cost_line(facts["cost"]))])
    page.append([])
    page.append([styled(page, "Colours of cable kinds", Font(bold=True))])
    for kind, (colour, meaning) in KINDS.items():
        page.append([styled(page, kind, fill=PatternFill("solid", fgColor=colour)), meaning])


def _flat(value: dict[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Nested facts as `fabrics, compute, leaves` -> 32."""
    pairs: list[tuple[str, Any]] = []
    for key, inner in value.items():
        name = f"{above}, {key}" if above else key.replace("_", " ")
        pairs += _flat(inner, name) if isinstance(inner, dict) else [(name, inner)]
    return pairs


def bom_sheet(plan: Plan) -> Sheet:
    """Parts with quantities, spares and prices; the total says how many rows it misses."""
    columns = (
        *(Column("category", "Category", 10), Column("part", "Part", 24), Column("part_number", "Order number", 20), Column("description", "Description", 58)),
        *(Column("length_m", "Length m", 9), Column("unit", "Unit", 8), Column("quantity", "Quantity", 9), Column("spares", "Spares", 8)),
        *(Column("unit_price", "Unit price", 13, "money"), Column("currency", "Currency", 9), Column("total", "Total", 15, "money"), Column("price_source", "Price source", 60)),
    )
    priced = cost(plan)
    total = pl.DataFrame({"category": ["", "Total"], "total": [None, priced["total"]], "price_source": ["", cost_line(priced)]})
    table = pl.concat([tables.bom(plan), total], how="diagonal_relaxed")
    return Sheet("BoM", "Bill of materials: quantity is what the plan uses, spares are ordered on top", table, columns, totals=total.height)


def cable_sheet(plan: Plan) -> Sheet:
    """Every cable with both ends."""
    ends = [
        Column(f"{end}_{name}", f"{end.upper()} {head}", width, "digits" if name == "ru" else "")
        for end in "ab"
        for name, head, width in (("device", "device", 18), ("port", "port", 14), ("rack", "rack", 7), ("ru", "U", 5), ("module", "module", 16))
    ]
    columns = (
        *(Column("cable", "Cable", 10), Column("tier", "Tier", 11), Column("rail", "Rail", 6, "digits"), Column("plane", "Plane", 6, "digits"), *ends),
        *(Column("kind", "Kind", 6), Column("part", "Part", 16), Column("part_number", "Order number", 18), Column("length_m", "Length m", 9)),
        *(Column("route_m", "Route m", 9), Column("gbps", "Gb/s", 6), Column("links", "Links", 6)),
    )
    table = tables.cables(plan).with_columns(pl.col("route_m").round(2))
    return Sheet("Cables", "Every cable once; rails and planes count from 0, U is the lowest unit of the device", table, columns, kind="kind")


def port_map_sheet(plan: Plan) -> Sheet:
    """Every used port, rack by rack and from the top of each, with its far end and a box to tick."""
    columns = (
        *(Column("done", "Done", 6), Column("rack", "Rack", 7), Column("ru", "U", 5), Column("device", "Device", 20), Column("port", "Port", 14)),
        *(Column("cable", "Cable", 10), Column("length_m", "Length m", 9), Column("kind", "Kind", 6), Column("peer_rack", "To rack", 8), Column("peer_ru", "To U", 6)),
        *(Column("peer_device", "To device", 20), Column("peer_port", "To port", 14), Column("module", "Module here", 16), Column("rail", "Rail", 6), Column("plane", "Plane", 6)),
    )
    return Sheet("Port map", "Tick each port when its cable is in", tables.port_map(plan, TICK), columns, kind="kind", group="device")


def rack_sheet(plan: Plan) -> Sheet:
    """Every rack with what it holds."""
    columns = (
        *(Column("rack", "Rack", 8), Column("row", "Row", 6), Column("position", "Position", 9), Column("role", "Role", 10), Column("used_ru", "Used U", 8)),
        *(Column("height_ru", "Of U", 7), Column("power_w", "Power W", 11), Column("weight_kg", "Weight kg", 11), Column("x_m", "x m", 9), Column("y_m", "y m", 9)),
        Column("reserved", "Kept for growth", 16),
    )
    table = tables.racks(plan).with_columns(pl.when("reserved").then(pl.lit("yes")).otherwise(pl.lit("")).alias("reserved"))
    return Sheet("Racks", "Power and weight are of what is built now, at its highest draw", table, columns)


def label_sheet(plan: Plan) -> Sheet:
    """One row for each physical end of a cable."""
    columns = (
        Column("cable", "Cable", 10),
        Column("end", "End", 5),
        Column("device", "Device", 20),
        Column("near", "Here", 30),
        Column("far", "There", 30),
        Column("text", "Label", 70),
    )
    return Sheet("Labels", "One label for each end; a split cable has one for its head and one for each tail", tables.labels(plan), columns)


def finding_sheet(plan: Plan) -> Sheet:
    """Warnings and notes."""
    columns = (
        Column("level", "Level", 9),
        Column("rule", "Rule", 20),
        Column("where", "Where", 26),
        Column("what", "What", 80, "wrap"),
        Column("why", "Why", 40, "wrap"),
        Column("fix", "Fix", 40, "wrap"),
    )
    return Sheet("Findings", "What the checks found; a plan with errors is not written at all", tables.findings(plan), columns)
