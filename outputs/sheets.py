"""Sheets of the workbook: a title, notes, a header that stays in view, filters, widths, and how the sheet prints.

Rows of tables are written as text of the sheet's XML, straight from Polars: a cell object for each of a million cells
would take longer than planning the cluster. Text stays text, whatever it begins with: no cell of a table is ever a formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break

from .colouring import BOX, KINDS, SAME, TICKED, colour_rows
from .paper import page_breaks, rows_on_a_page, scale_to_width, set_up_print

ROWS_MAX = 1_000_000
"""Rows of a table on one sheet; a sheet ends at 1,048,576."""

WIDTH_MAX = 45.0
"""Columns grow to their longest text, up to here."""

LINE_PT, HEIGHT_MAX_PT = 15.0, 409.0
"""Height of a line of 11 points, and the most that a row can have."""

HEAD_FILL = PatternFill("solid", fgColor="1F3A5F")
FORBIDDEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x{fffe}\x{ffff}]"
"""Characters that XML 1.0 cannot hold."""


def font(bold: bool = False, colour: str = "000000", size: float = 11) -> Font:
    """The workbook's one typeface."""
    return Font(name="Calibri", size=size, bold=bold, color=colour)


class Column(NamedTuple):
    """One column of a sheet: column of the table, its head, its least width in characters, and how its cells look."""

    name: str
    head: str
    width: float
    look: Literal["", "money", "wrap", "digits", "box"] = ""
    """digits: text that stands as a number wherever it is one (`3`, but `0+1`); box: cells to tick."""


@dataclass(frozen=True)
class Sheet:
    """One table as a sheet. `kind` and `group` name columns: one is coloured by cable kind, the other draws a line where it changes."""

    title: str
    heading: str
    table: pl.DataFrame
    columns: Sequence[Column]
    kind: str = ""
    group: str = ""
    notes: tuple[str, ...] = ()
    """Lines below the heading."""
    totals: int = 0
    """Rows at the end that are no part of the list: filters and sorting leave them alone."""
    pages: tuple[str, str] | None = None
    """Two columns: each value of the first begins a page, and within it each value of the second that a page would cut."""

    @property
    def box(self) -> str:
        """Column of boxes to tick, empty without one."""
        return next((column.name for column in self.columns if column.look == "box"), "")

    @property
    def head_row(self) -> int:
        """Row of the column heads: below the heading, the counter of boxes, the kinds and the notes."""
        return 2 + bool(self.box) + bool(self.kind) + len(self.notes)


def add_sheet(book: Workbook, sheet: Sheet, cluster: str) -> dict[str, bytes]:
    """Add the head of a sheet to a write-only workbook; returns path in the file -> rows that belong at its end.

    A table too long for one sheet goes on in a second, third, ...
    """
    rows: dict[str, bytes] = {}
    parts = list(sheet.table.iter_slices(ROWS_MAX)) or [sheet.table]
    for number, table in enumerate(parts, 1):
        page: Any = book.create_sheet(sheet.title if number == 1 else f"{sheet.title} {number}")
        _head(page, sheet, table, cluster)
        rows[f"xl/worksheets/sheet{len(book.worksheets)}.xml"] = rows_xml(table, sheet, _looks(page, sheet))
    return rows


def _looks(page: Any, sheet: Sheet) -> dict[str, int]:
    """Style numbers of cells; plain text needs one only beside text that wraps, where it would stand at the foot of its row."""
    wraps = any(column.look == "wrap" for column in sheet.columns)
    up = "top" if wraps else None
    number = Alignment(horizontal="right", vertical=up, indent=1)
    looks = {"number": styled(page, 0, align=number), "money": styled(page, 0, align=number, number_format="#,##0.00")}
    looks["box"] = styled(page, "", align=Alignment(horizontal="center", vertical=up))
    if wraps:
        looks |= {"wrap": styled(page, "", align=Alignment(vertical=up, wrap_text=True)), "text": styled(page, "", align=Alignment(vertical=up))}
    return {look: cell.style_id for look, cell in looks.items()}


def widths(sheet: Sheet) -> list[float]:
    """Widths of the columns in characters: as asked for, wider where a text is longer."""
    rows = sheet.table.head(sheet.table.height - sheet.totals)
    held = [c for c in sheet.columns if c.look not in ("wrap", "money") and rows.height]
    longest = rows.select(pl.col(c.name).cast(pl.String).str.len_chars().max() for c in held).row(0) if held else ()
    needed = {c.name: min(WIDTH_MAX, (most or 0) + 2.0) for c, most in zip(held, longest, strict=True)}
    return [max(c.width, needed.get(c.name, 0.0)) for c in sheet.columns]


def _head(page: Any, sheet: Sheet, table: pl.DataFrame, cluster: str) -> None:
    """Everything of a sheet but its rows."""
    letters = {column.name: get_column_letter(i) for i, column in enumerate(sheet.columns, 1)}
    last, head, first, end = get_column_letter(len(sheet.columns)), sheet.head_row, sheet.head_row + 1, sheet.head_row + table.height
    wide = widths(sheet)
    for letter, width in zip(letters.values(), wide, strict=True):
        page.column_dimensions[letter].width = width
    page.freeze_panes = f"A{first}"
    page.auto_filter.ref = f"A{head}:{last}{end - sheet.totals}"
    page.print_title_rows = f"{head}:{head}"
    scale = scale_to_width(wide) if sheet.pages else 0
    set_up_print(page, cluster, sheet.title, scale=scale)
    if sheet.pages and table.height:
        rack, device = (table[name].to_list() for name in sheet.pages)
        for row in page_breaks(rack, device, rows_on_a_page(scale), head):
            page.row_breaks.append(Break(id=head + row))
    if table.height:
        marks = {role: letters.get(name, "") for role, name in (("kind", sheet.kind), ("group", sheet.group), ("box", sheet.box))}
        colour_rows(page, len(letters), first, end, **marks, above=_links_below(table, sheet.box) if sheet.box else 0)
    page.append([styled(page, sheet.heading, font(bold=True, size=14))])
    if sheet.box:
        boxes = f"${letters[sheet.box]}${first}:${letters[sheet.box]}${max(first, end)}"
        page.append([WriteOnlyCell(page, f'=COUNTIF({boxes},"{TICKED}")&" of "&COUNTIF({boxes},"{TICKED}")+COUNTIF({boxes},"{BOX}")&" plugs done"')])
    if sheet.kind:
        kinds = [kind for kind in KINDS if kind in set(sheet.table[sheet.kind])]
        shown = [styled(page, kind, font(), PatternFill("solid", fgColor=KINDS[kind][0])) for kind in kinds]
        page.append([styled(page, "Kinds:", font()), *shown, styled(page, "  " + ", ".join(f"{kind} {KINDS[kind][1]}" for kind in kinds), font())])
    for note in sheet.notes:
        page.append([styled(page, note, font())])
    page.append([styled(page, c.head, font(bold=True, colour="FFFFFF"), HEAD_FILL, align=_head_align(c, table)) for c in sheet.columns])


def _head_align(column: Column, table: pl.DataFrame) -> Alignment:
    right = column.look in ("digits", "money") or table.schema[column.name].is_numeric()
    return Alignment(horizontal="right", indent=1) if right else Alignment(horizontal="center" if column.look == "box" else "left")


def _links_below(table: pl.DataFrame, column: str) -> int:
    """Most rows below a box that belong to it."""
    longest = table.select((pl.col(column) != SAME).cum_sum()).group_by(column).len()["len"].max()
    return int(str(longest)) - 1


def rows_xml(table: pl.DataFrame, sheet: Sheet, looks: Mapping[str, int]) -> bytes:
    """Rows of a table as elements of sheetData, below the head; nulls and empty texts have no cell. `looks` are style numbers."""
    if not table.height:
        return b""
    columns = sheet.columns
    row = pl.int_range(sheet.head_row + 1, sheet.head_row + 1 + pl.len()).cast(pl.String)
    cells = [_cell_xml(c, table.schema[c.name].is_numeric(), pl.concat_str(pl.lit(get_column_letter(i)), row), looks) for i, c in enumerate(columns, 1)]
    lines = table.select(pl.concat_str(pl.lit('<row r="'), row, pl.lit('"'), _height(columns), pl.lit(">"), *cells, pl.lit("</row>")).str.join(""))
    return str(lines.item()).encode()


def _height(columns: Sequence[Column]) -> pl.Expr:
    """Attributes of a row whose text wraps: as many lines as its longest cell needs, words broken at the column's width."""
    lines = [(pl.col(c.name).str.len_chars() / c.width).ceil() + pl.col(c.name).str.count_matches("\n") for c in columns if c.look == "wrap"]
    if not lines:
        return pl.lit("")
    most = pl.max_horizontal(*(one.fill_null(1) for one in lines))
    height = pl.min_horizontal(most * LINE_PT, pl.lit(HEIGHT_MAX_PT)).cast(pl.String)
    return pl.when(most > 1).then(pl.concat_str(pl.lit(' ht="'), height, pl.lit('" customHeight="1"'))).otherwise(pl.lit(""))


def _cell_xml(column: Column, numeric: bool, at: pl.Expr, looks: Mapping[str, int]) -> pl.Expr:
    def style(look: str) -> str:
        return f' s="{looks[look]}"' if look in looks else ""

    value = pl.col(column.name).cast(pl.String)
    number = pl.concat_str(pl.lit('<c r="'), at, pl.lit(f'"{style("money" if column.look == "money" else "number")}><v>'), value, pl.lit("</v></c>"))
    plain = value.str.replace_all(FORBIDDEN, " ").str.replace_all("&", "&amp;", literal=True).str.replace_all("<", "&lt;", literal=True).str.replace_all(">", "&gt;", literal=True)
    look = style({"digits": "number", "": "text"}.get(column.look, column.look))
    text = pl.concat_str(pl.lit('<c r="'), at, pl.lit(f'"{look} t="inlineStr"><is><t>'), plain, pl.lit("</t></is></c>"))
    is_number = value.str.contains(r"^[0-9]{1,9}$") if column.look == "digits" else pl.lit(numeric)
    return pl.when(value.is_null() | (value == "")).then(pl.lit("")).when(is_number).then(number).otherwise(text)


def styled(page: Any, value: Any, face: Font | None = None, fill: PatternFill | None = None, number_format: str = "", align: Alignment | None = None) -> Any:
    """One cell with a style of its own, for the few that need one; text stays text."""
    cell = WriteOnlyCell(page, value)
    if isinstance(value, str):
        cell.data_type = "s"
    if face:
        cell.font = face
    if fill:
        cell.fill = fill
    if number_format:
        cell.number_format = number_format
    if align:
        cell.alignment = align
    return cell
