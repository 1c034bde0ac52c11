"""Sheets of the workbook: a title line, a header that stays in view, filters, widths, and how the sheet prints.

Rows of tables are written as text of the sheet's XML, straight from Polars: a cell object for each of a million cells
would take longer than planning the cluster. Text stays text, whatever it begins with: no cell is ever a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.formatting.rule import Rule
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties

A4 = 9
"""Paper size of ECMA-376, 18.3.1.63."""

HEAD_ROW, FIRST_ROW = 2, 3
ROWS_MAX = 1_000_000
"""Rows of a table on one sheet; a sheet ends at 1,048,576."""

HEAD_FILL = PatternFill("solid", fgColor="1F3A5F")
HEAD_FONT = Font(bold=True, color="FFFFFF")
FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
"""Characters that XML 1.0 cannot hold."""

KINDS = {
    "dac": ("FFD9B3", "passive copper"),
    "acc": ("FFC0C0", "linear active copper"),
    "aec": ("F4B6E6", "retimed active copper"),
    "aoc": ("D9C7F2", "active optical cable"),
    "mmf": ("B7E4E0", "multimode fibre"),
    "smf": ("FFF3A6", "single-mode fibre"),
}
"""Cable kind -> colour and meaning."""


class Column(NamedTuple):
    """One column of a sheet: column of the table, its head, its width in characters, and how its cells look."""

    name: str
    head: str
    width: float
    look: Literal["", "money", "wrap", "digits"] = ""
    """digits: text that stands as a number wherever it is one (`3`, but `0+1`)."""


@dataclass(frozen=True)
class Sheet:
    """One table as a sheet. `kind` and `group` name columns: one is coloured by cable kind, the other draws a line where it changes."""

    title: str
    heading: str
    table: pl.DataFrame
    columns: Sequence[Column]
    kind: str = ""
    group: str = ""
    totals: int = 0
    """Rows at the end that are no part of the list: filters and sorting leave them alone."""


def add_sheet(book: Workbook, sheet: Sheet, cluster: str) -> dict[str, bytes]:
    """Add the head of a sheet to a write-only workbook; returns path in the file -> rows that belong at its end.

    A table too long for one sheet goes on in a second, third, ...
    """
    rows: dict[str, bytes] = {}
    parts = list(sheet.table.iter_slices(ROWS_MAX)) or [sheet.table]
    for number, table in enumerate(parts, 1):
        page: Any = book.create_sheet(sheet.title if number == 1 else f"{sheet.title} {number}")
        looks = {"money": styled(page, 0, number_format="#,##0.00").style_id, "wrap": styled(page, "", wrap=True).style_id}
        _head(page, sheet, HEAD_ROW + table.height, cluster)
        rows[f"xl/worksheets/sheet{len(book.worksheets)}.xml"] = rows_xml(table, sheet.columns, looks)
    return rows


def _head(page: Any, sheet: Sheet, end: int, cluster: str) -> None:
    """Everything of a sheet but its rows, which go down to row `end`."""
    letters = {column.name: get_column_letter(i) for i, column in enumerate(sheet.columns, 1)}
    last = get_column_letter(len(sheet.columns))
    for column in sheet.columns:
        page.column_dimensions[letters[column.name]].width = column.width
    page.freeze_panes = f"A{FIRST_ROW}"
    page.auto_filter.ref = f"A{HEAD_ROW}:{last}{end - sheet.totals}"
    page.print_title_rows = f"1:{HEAD_ROW}"
    set_up_print(page, cluster, sheet.title)
    if sheet.kind and end >= FIRST_ROW:
        area = f"{letters[sheet.kind]}{FIRST_ROW}:{letters[sheet.kind]}{end}"
        for kind, (colour, _) in KINDS.items():
            rule = Rule(type="cellIs", operator="equal", formula=[f'"{kind}"'], dxf=DifferentialStyle(fill=PatternFill(bgColor=colour)))
            page.conditional_formatting.add(area, rule)
    if sheet.group and end >= FIRST_ROW:
        changes = f"${letters[sheet.group]}{FIRST_ROW}<>${letters[sheet.group]}{HEAD_ROW}"
        line = DifferentialStyle(border=Border(top=Side(style="thin", color="000000")))
        page.conditional_formatting.add(f"A{FIRST_ROW}:{last}{end}", Rule(type="expression", formula=[changes], dxf=line))
    title: list[Any] = [styled(page, sheet.heading, Font(bold=True))]
    if sheet.kind:
        before = [c.name for c in sheet.columns].index(sheet.kind)
        title += [None] * (before - 1) + [styled(page, kind, fill=PatternFill("solid", fgColor=colour)) for kind, (colour, _) in KINDS.items()]
    page.append(title)
    page.append([styled(page, column.head, HEAD_FONT, HEAD_FILL) for column in sheet.columns])


def rows_xml(table: pl.DataFrame, columns: Sequence[Column], looks: Mapping[str, int]) -> bytes:
    """Rows of a table as elements of sheetData, from row 3 on; nulls and empty texts have no cell. `looks` are style numbers."""
    if not table.height:
        return b""
    row = pl.int_range(FIRST_ROW, FIRST_ROW + pl.len()).cast(pl.String)
    cells = [_cell_xml(c, table.schema[c.name].is_numeric(), pl.concat_str(pl.lit(get_column_letter(i)), row), looks) for i, c in enumerate(columns, 1)]
    lines = table.select(pl.concat_str(pl.lit('<row r="'), row, pl.lit('">'), *cells, pl.lit("</row>")).str.join(""))
    return str(lines.item()).encode()


def _cell_xml(column: Column, numeric: bool, at: pl.Expr, looks: Mapping[str, int]) -> pl.Expr:
    style = f' s="{looks[column.look]}"' if column.look in looks else ""
    value = pl.col(column.name).cast(pl.String)
    number = pl.concat_str(pl.lit('<c r="'), at, pl.lit(f'"{style}><v>'), value, pl.lit("</v></c>"))
    plain = value.str.replace_all(FORBIDDEN, " ").str.replace_all("&", "&amp;", literal=True).str.replace_all("<", "&lt;", literal=True).str.replace_all(">", "&gt;", literal=True)
    text = pl.concat_str(pl.lit('<c r="'), at, pl.lit(f'"{style} t="inlineStr"><is><t>'), plain, pl.lit("</t></is></c>"))
    is_number = value.str.contains(r"^[0-9]{1,9}$") if column.look == "digits" else pl.lit(numeric)
    return pl.when(value.is_null() | (value == "")).then(pl.lit("")).when(is_number).then(number).otherwise(text)


def set_up_print(page: Any, cluster: str, title: str) -> None:
    """Landscape on A4, as wide as the paper, cluster and page number on every page."""
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    page.page_setup.orientation, page.page_setup.paperSize = "landscape", A4
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, 0
    page.oddHeader.left.text, page.oddHeader.right.text = cluster, title
    page.oddFooter.left.text, page.oddFooter.right.text = cluster, "Page &P of &N"


def styled(page: Any, value: Any, font: Font | None = None, fill: PatternFill | None = None, number_format: str = "", wrap: bool = False) -> Any:
    """One cell with a style of its own, for the few that need one; text stays text."""
    cell = WriteOnlyCell(page, value)
    if isinstance(value, str):
        cell.data_type = "s"
    if font:
        cell.font = font
    if fill:
        cell.fill = fill
    if number_format:
        cell.number_format = number_format
    if wrap:
        cell.alignment = Alignment(wrap_text=True, vertical="top")
    return cell
