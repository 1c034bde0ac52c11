"""fabrics.svg: the whole cluster on one page, whatever its size: fabrics side by side, and below each who hangs on it.

client        compute   front     oob
              spines              spines
              leaves    leaves    leaves
GPU nodes ----o---------o---------o        links and their speed at each o
servers   --------------o---------o
switches  ------------------------o
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..problems import DesignError, Problem
from . import DEFAULTS, Options
from .cluster_colours import PALE, fabric_colours, fill_of
from .cluster_rows import ClientRow, FabricColumn, client_rows, fabric_columns, told
from .rack_picture import ROLE_WORDS
from .svg import FAINT, INK, MARGIN, RULE, header, ink_on, line, page, plural, rect, text, text_width, tint, wrap

if TYPE_CHECKING:
    from ..plan import Plan

COLUMN_LEAST, BOX, GAP, LINE = 176.0, 46.0, 34.0, 15.0
"""Width of a fabric's column at least; height of a box of switches, of the links between two boxes, and of a line of words."""
CLIENT_WIDTH, TRUNK = 230.0, 7.0
"""Width of the boxes of clients, and of the line that stands for the leaves of a fabric."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw fabrics.svg; a plan with one fabric has fabric.svg alone."""
    if len(plan.topology.fabrics) < 2:
        what = f"{plan.design.name} has one fabric, which fabric.svg shows"
        raise DesignError([Problem("format", "--only", what, "fabrics.svg shows several beside each other", "leave fabrics out of --only", "note")])
    columns, rows = fabric_columns(plan), client_rows(plan)
    colours = fabric_colours(plan.topology.fabrics)
    wide = _column_width(columns, rows)
    left = MARGIN + CLIENT_WIDTH + 24
    width = left + wide * len(columns) - MARGIN
    parts, y = header(f"{plan.design.name}: all fabrics", _facts(plan, columns), width)
    y += 10
    floor = y + _tallest(columns, wide)
    middles = {column.name: left + wide * (i + 0.5) for i, column in enumerate(columns)}
    foot = floor + sum(_row_height(row) for row in rows)
    for column in columns:
        x, colour = middles[column.name], colours[column.name]
        parts.append(line((x, floor - 8), (x, foot - 12), colour, thick=TRUNK))
        parts += _fabric(column, x, y, floor, wide, colour)
    for row in rows:
        parts.append(line((MARGIN, floor), (width + MARGIN, floor), RULE, thick=0.5, dash="2 4"))
        parts += _row(row, floor, middles, colours)
        floor += _row_height(row)
    return {"fabrics.svg": page(f"{plan.design.name}: all fabrics", told(columns, rows), (width + 2 * MARGIN, foot + MARGIN), parts)}


def _facts(plan: Plan, columns: Sequence[FabricColumn]) -> list[str]:
    links, cables = plan.topology.links, plan.cabling.cables
    switches = sum(count for column in columns for _, count, _ in column.switches)
    later = int((~plan.topology.devices["present"]).sum())
    kept = f" Room for {later:,} more devices is kept and not drawn." if later else ""
    return [
        f"{plural(len(columns), 'fabric')}: {plural(switches, 'switch')}, {plural(links.height, 'link')} in {plural(cables.height, 'cable')}.{kept}",
        "A dot joins the devices on the left to the leaves of the fabric above it; beside it stand the number of links and their speed. Colours are those of racks.svg.",
    ]


def _column_width(columns: Sequence[FabricColumn], rows: Sequence[ClientRow]) -> float:
    """Wide enough for the longest words on a link and the models of switches."""
    beside = [2 * (text_width(words, 10.5) + 16) for row in rows for lines in row.links.values() for words in lines]
    inside = [text_width(model, 10.5) + 30 for column in columns for _, _, model in column.switches]
    between = [text_width(words, 10) + 20 for column in columns for words in column.between]
    return max(COLUMN_LEAST, *beside, *inside, *between)


def _tallest(columns: Sequence[FabricColumn], wide: float) -> float:
    return max(24 + LINE * len(wrap(column.serves, 10.5, wide - 16)) + len(column.switches) * (BOX + GAP) for column in columns)


def _row_height(row: ClientRow) -> float:
    return max(BOX + 14, 20 + LINE * max(len(lines) for lines in row.links.values()))


def _fabric(column: FabricColumn, x: float, top: float, floor: float, wide: float, colour: str) -> list[str]:
    """Name and uses of a fabric, its switches from the bottom up; upper tiers are darker."""
    parts = [text((x, top + 14), column.name, 15, anchor="middle", bold=True, width=wide - 16)]
    for i, words in enumerate(wrap(column.serves, 10.5, wide - 16)):
        parts.append(text((x, top + 30 + LINE * i), words, 10.5, anchor="middle", colour=FAINT, width=wide - 12))
    y = floor - BOX - 8
    for tier, (role, count, model) in enumerate(column.switches):
        fill = colour if tier else tint(colour, PALE)
        ink = ink_on(fill)
        if tier:
            parts.append(line((x, y + BOX), (x, y + BOX + GAP), colour, thick=3))
        parts.append(rect((x - wide / 2 + 10, y), (wide - 20, BOX), fill, radius=4, hover=f"{column.name}: {plural(count, role)}, {model}"))
        parts.append(text((x, y + 19), plural(count, role), 13, anchor="middle", bold=True, colour=ink, width=wide - 28))
        parts.append(text((x, y + 36), model, 10.5, anchor="middle", colour=ink, width=wide - 28))
        if tier < len(column.between):
            parts.append(
                text(
                    (x + (7 if tier + 1 < len(column.switches) else 0), y - GAP / 2 + 4),
                    column.between[tier],
                    10,
                    anchor="start" if tier + 1 < len(column.switches) else "middle",
                    halo=True,
                )
            )
        y -= BOX + GAP
    return parts


def _row(row: ClientRow, top: float, middles: dict[str, float], colours: dict[str, str]) -> list[str]:
    """A box of clients, a line past all fabrics to the last it hangs on, and a dot with words on each."""
    y = top + _row_height(row) / 2
    fill = fill_of(("leaf" if row.fabric else row.role, row.fabric, row.profile), colours)
    end = max(middles[fabric] for fabric in row.links)
    parts = [line((MARGIN + CLIENT_WIDTH, y), (end, y), FAINT, thick=1.4)]
    what = "" if row.role == "switch" else f" {ROLE_WORDS[row.role]}{'' if row.count == 1 else 's'}"
    parts.append(rect((MARGIN, y - BOX / 2), (CLIENT_WIDTH, BOX), fill, radius=4, stroke=INK, hover=f"{row.count:,} {row.name}: {row.model}"))
    ink = ink_on(fill)
    parts.append(text((MARGIN + CLIENT_WIDTH / 2, y - 3), f"{row.name}: {row.count:,}{what}", 13, anchor="middle", bold=True, colour=ink, width=CLIENT_WIDTH - 16))
    parts.append(text((MARGIN + CLIENT_WIDTH / 2, y + 14), row.model, 10.5, anchor="middle", colour=ink, width=CLIENT_WIDTH - 16))
    for fabric, lines in row.links.items():
        x = middles[fabric]
        parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="7" fill="{colours[fabric]}" stroke="#ffffff" stroke-width="2"/>')
        for i, words in enumerate(lines):
            parts.append(text((x + 11, y - 6 - LINE * (len(lines) - 1 - i)), words, 10.5, halo=True))
    return parts
