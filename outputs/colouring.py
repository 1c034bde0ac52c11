"""Cells of the workbook that change their look: colours of cable kinds, lines between groups, grey for what is done.

LibreOffice takes one rule for a cell where the areas of rules overlap, so areas are disjoint here and each rule says all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from openpyxl.formatting.rule import Rule
from openpyxl.styles import Border, Font, PatternFill, Side
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation

KINDS = {
    "dac": ("FFD9B3", "passive copper"),
    "acc": ("FFC0C0", "linear active copper"),
    "aec": ("F4B6E6", "retimed active copper"),
    "utp": ("DDE3EA", "twisted pairs"),
    "aoc": ("D9C7F2", "active optical cable"),
    "mmf": ("B7E4E0", "multimode fibre"),
    "smf": ("FFF3A6", "single-mode fibre"),
}
"""Cable kind -> colour and meaning."""

BOX, TICKED, SAME = "☐", "☑", "same cable"
"""What stands in a column of boxes: to do, done, and links of a plug whose box stands above."""

DONE_FILL, DONE_INK = "E4E4E4", "808080"
LINE = Border(top=Side(style="thin", color="000000"))


def colour_rows(page: Any, columns: int, first: int, end: int, kind: str = "", group: str = "", box: str = "", above: int = 0) -> None:
    """Add the rules for rows `first` to `end`; `kind`, `group` and `box` are letters of columns, or empty.

    A box also greys the rows below it that say SAME, at most `above` of them.
    """
    changes: dict[str, Border | None] = {"": None} | ({f"${group}{first}<>${group}{first - 1}": LINE} if group else {})
    done: dict[str, str | None] = {"": None} | ({_is_done(box, first, above): DONE_FILL} if box else {})
    kinds: dict[str, str | None] = {"": None} | ({f'${kind}{first}="{name}"': colour for name, (colour, _) in KINDS.items()} if kind else {})
    middle = column_index_from_string(kind) if kind else columns + 1
    stretches = [(low, high) for low, high in ((1, middle - 1), (middle + 1, columns)) if low <= high]
    plain = " ".join(f"{get_column_letter(low)}{first}:{get_column_letter(high)}{end}" for low, high in stretches)
    for area, fills in ((plain, dict[str, str | None]({"": None})), (f"{kind}{first}:{kind}{end}" if kind else "", kinds)):
        if area:
            for rule in _rules(done, fills, changes):
                page.conditional_formatting.add(area, rule)
    if box:
        choice = DataValidation(type="list", formula1=f'"{BOX},{TICKED}"', allow_blank=True)
        choice.add(f"{box}{first}:{box}{end}")
        page.data_validations.append(choice)


def _rules(done: dict[str, str | None], fills: dict[str, str | None], changes: dict[str, Border | None]) -> Iterator[Rule]:
    """One rule for each combination that changes something, those with the most conditions first; the first that holds is taken."""
    combined = sorted(product(done.items(), fills.items(), changes.items()), key=lambda rule: (-sum(bool(test) for test, _ in rule), not rule[0][0]))
    for (is_done, grey), (is_kind, colour), (is_change, border) in combined:
        tests = [test for test in (is_done, is_kind, is_change) if test]
        fill = grey or colour
        if tests and not (grey and colour):
            look = DifferentialStyle(font=Font(color=DONE_INK) if grey else None, fill=PatternFill(bgColor=fill) if fill else None, border=border)
            yield Rule(type="expression", formula=[f"AND({','.join(tests)})" if len(tests) > 1 else tests[0]], dxf=look, stopIfTrue=True)


def _is_done(letter: str, row: int, above: int) -> str:
    """Formula: the box of a row is ticked, or the row belongs to a box at most `above` rows higher that is."""
    ticked = f'${letter}{row}="{TICKED}"'
    return f'OR({ticked},AND(${letter}{row}="{SAME}",{_is_done(letter, row - 1, above - 1)}))' if above else ticked
