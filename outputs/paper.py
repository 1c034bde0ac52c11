"""How a sheet of the workbook prints: A4, header and footer, and pages that end where a rack or a device ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from openpyxl.worksheet.page import PageMargins
from openpyxl.worksheet.properties import PageSetupProperties

A4 = 9
"""Paper size of ECMA-376, 18.3.1.63."""

LONG_PT, SHORT_PT = 841.9, 595.3
"""Sides of A4 in points."""

SIDE_IN, TOP_IN, FOOT_IN = 0.4, 0.7, 0.6
"""Margins in inches; header and footer stand inside."""

ROW_PT = 15.0
"""Height of a row of 11 points."""

BREAKS_MAX = 1_026
"""Most breaks of a sheet that Excel keeps (specifications and limits of Excel)."""


def set_up_print(page: Any, cluster: str, title: str, scale: int = 0, portrait: bool = False) -> None:
    """A4 with cluster, sheet and page number on every page, numbered from 1 on each sheet.

    With `scale` (percent) the breaks of the sheet hold; without, it is shrunk to the paper's width, and Excel would
    leave breaks out. A portrait sheet is one page.
    """
    page.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=not scale)
    setup = page.page_setup
    setup.orientation, setup.paperSize = "portrait" if portrait else "landscape", A4
    if scale:
        setup.scale = scale
    else:
        setup.fitToWidth, setup.fitToHeight = 1, int(portrait)
    setup.firstPageNumber, setup.useFirstPageNumber = 1, True
    page.page_margins = PageMargins(SIDE_IN, SIDE_IN, TOP_IN, FOOT_IN, 0.3, 0.3)
    name = cluster.replace("&", "&&")
    page.oddHeader.left.text, page.oddHeader.right.text = name, title
    page.oddFooter.left.text, page.oddFooter.right.text = name, f"{title}, page &P"


def scale_to_width(widths: Sequence[float]) -> int:
    """Percent at which columns of these widths, in characters, fit the width of a landscape page.

    A character of Calibri 11 is 7 pixels of 1/96 inch wide, and a column has 5 more (ECMA-376, 18.3.1.13).
    """
    wide = sum(7 * width + 5 for width in widths) * 72 / 96
    return max(10, min(100, int(98 * (LONG_PT - 2 * 72 * SIDE_IN) / wide)))


def rows_on_a_page(scale: int) -> int:
    """Rows that surely fit a landscape page at a scale, below the repeated head."""
    room = SHORT_PT - 72 * (TOP_IN + FOOT_IN)
    return max(4, int(0.95 * room / (ROW_PT * scale / 100)) - 1)


def page_breaks(racks: Sequence[object], devices: Sequence[object], room: int, taken: int = 0) -> list[int]:
    """Rows (counted from 0) that begin a page, the first page's excepted; `taken` rows of that one hold something else.

    Every rack begins a page; within a rack a device that would be cut begins another. A device longer than a page
    begins one too, and what follows it.
    """
    starts, of_racks = [], []
    row, used = 0, taken
    for _, members in groupby(zip(racks, devices, strict=True), key=lambda pair: pair[0]):
        if row:
            of_racks.append(row)
            starts.append(row)
            used = 0
        for number, (_, run) in enumerate(groupby(members)):
            count = len(list(run))
            if number and used + count > room:
                starts.append(row)
                used = 0
            used, row = used + count, row + count
    return next((chosen for chosen in (starts, of_racks) if len(chosen) <= BREAKS_MAX), [])
