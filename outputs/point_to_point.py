"""point-to-point.xlsx: the sheet that sites write by hand and NVIDIA's Cable Validation Tool reads: a row for each link.

The head is the first row and has the tool's own column names (documented for its releases 1.4 to 1.6; it goes by names, not by
order); what a cabling crew needs stands to the right. A sheet for each tier. Hosts of an InfiniBand fabric name the port
by the number of the adapter, as the tool does: 1 is mlx5_0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from .. import __version__
from ..fabric.tables import TIERS
from . import DEFAULTS, Options
from .links import links, protocols
from .workbook import fixed_bytes

if TYPE_CHECKING:
    from ..plan import Plan

ROWS_MAX = 1_000_000
"""Rows of a sheet, which ends at 1,048,576; more go on in a second one."""


class Column(NamedTuple):
    """One column: column of the table, its head, its width in characters."""

    name: str
    head: str
    width: float


COLUMNS = (
    *(Column("a_rack", "A-Rack", 9), Column("a_ru", "A-U", 6), Column("a_device", "A-Node Name", 20), Column("a_type", "A-Type", 8), Column("a_name", "A-Port", 14)),
    *(Column("b_rack", "Z-Rack", 9), Column("b_ru", "Z-RU", 6), Column("b_device", "Z-Node Name", 20), Column("b_type", "Z-Type", 8), Column("b_name", "Z-Port", 14)),
    *(Column("a_port", "A-Faceplate", 14), Column("a_module", "A-Transceiver", 18), Column("b_port", "Z-Faceplate", 14), Column("b_module", "Z-Transceiver", 18)),
    *(Column("cable", "Cable", 10), Column("kind", "Kind", 6), Column("part", "Part", 18), Column("part_number", "Order number", 20), Column("length_m", "Length m", 9)),
    *(Column("gbps", "Gb/s", 7), Column("bundle", "Bundle", 14), Column("rail", "Rail", 6), Column("plane", "Plane", 6), Column("fabric", "Fabric", 10)),
    *(Column("a_label", "A-Label", 52), Column("b_label", "Z-Label", 52)),
)


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render point-to-point.xlsx."""
    book = Workbook(write_only=True)
    book.properties.creator, book.properties.title = f"railplan {__version__}", plan.design.name
    table, rows = point_to_point(plan), {}
    for tier in TIERS:
        parts = [part for part in table.filter(pl.col("tier") == tier).iter_slices(ROWS_MAX) if part.height]
        for number, part in enumerate(parts, 1):
            _head(book.create_sheet(tier if number == 1 else f"{tier} {number}"), part.height)
            rows[f"xl/worksheets/sheet{len(book.worksheets)}.xml"] = _rows_xml(part)
    return {"point-to-point.xlsx": fixed_bytes(book, rows)}


def point_to_point(plan: Plan) -> pl.DataFrame:
    """The table: every link with its cable, in link order. A bundle is all cables between the same two racks."""
    cables = plan.cabling.cables.select("cable", "kind", "part", "part_number", "length_m", "a_label", "b_label")
    infiniband = [fabric for fabric, protocol in protocols(plan).items() if protocol == "infiniband"]
    adapter = pl.col("fabric").is_in(infiniband)
    names = []
    for side in "ab":
        host = pl.col(f"{side}_host")
        names.append(pl.when(host).then(pl.lit("Host")).otherwise(pl.lit("Switch")).alias(f"{side}_type"))
        number = pl.coalesce(pl.col(f"{side}_os_name").str.extract(r"mlx5_(\d+)").cast(pl.Int32), pl.col("gpu")) + 1
        names.append(pl.when(host & adapter & number.is_not_null()).then(number.cast(pl.String)).otherwise(pl.col(f"{side}_interface")).alias(f"{side}_name"))
    bundle = pl.format("{}-{}", pl.min_horizontal("a_rack", "b_rack"), pl.max_horizontal("a_rack", "b_rack")).alias("bundle")
    return links(plan).join(cables, on="cable", how="left", maintain_order="left").with_columns(*names, bundle)


def _head(page: Any, rows: int) -> None:
    """Everything of a sheet but its rows."""
    for i, column in enumerate(COLUMNS, 1):
        page.column_dimensions[get_column_letter(i)].width = column.width
    page.freeze_panes = "A2"
    page.auto_filter.ref = f"A1:{get_column_letter(len(COLUMNS))}{rows + 1}"
    page.print_title_rows = "1:1"
    cells = [WriteOnlyCell(page, column.head) for column in COLUMNS]
    for cell in cells:
        cell.font = Font(bold=True)
    page.append(cells)


def _rows_xml(table: pl.DataFrame) -> bytes:
    """Rows below the head as elements of sheetData, straight from Polars; text stays text, empty cells are left out."""
    row = pl.int_range(2, 2 + pl.len()).cast(pl.String)
    cells = []
    for i, column in enumerate(COLUMNS, 1):
        at, value = pl.concat_str(pl.lit(f'<c r="{get_column_letter(i)}'), row), pl.col(column.name).cast(pl.String)
        for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
            value = value.str.replace_all(char, entity, literal=True)
        before, behind = ('"><v>', "</v></c>") if table.schema[column.name].is_numeric() else ('" t="inlineStr"><is><t>', "</t></is></c>")
        cells.append(pl.when(value.is_null() | (value == "")).then(pl.lit("")).otherwise(pl.concat_str(at, pl.lit(before), value, pl.lit(behind))))
    lines = table.select(pl.concat_str(pl.lit('<row r="'), row, pl.lit('">'), *cells, pl.lit("</row>")).str.join(""))
    return str(lines.item()).encode()
