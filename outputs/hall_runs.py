"""What lies in the trays, in the picture of a hall: copper and optical cables of every piece of tray as two lines side by side.

             ________________________________
optical      ________________________________   width follows the number of cables
copper       --------------------------------   a tray that is too full stands on a dark band
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import polars as pl

from ..layouts.tray_fill import TOO_FULL
from .hall_floor import Floor
from .svg import INK, VERMILLION, YELLOW, Mark, Point, escape, line, num, plural, rect, text, text_width

COPPER, OPTICAL = VERMILLION, "#00508c"
"""Vermillion and a dark blue: apart in hue and in lightness, for colour-blind readers and in grey."""

THIN, THICK = 1.2, 10.0
"""Pixels of a line of one cable, and of the line of most cables of the plan."""

READABLE = 6.5
"""Size of the smallest number that is written in a line."""

HALF_GAP = 0.6
"""Half of the pixels between the two lines."""


def thickness(count: int, most: int) -> float:
    """Pixels of a line for so many cables: with the square root of their number, so that few are seen beside thousands."""
    return THIN + (THICK - THIN) * ((count - 1) / max(1, most - 1)) ** 0.5 if count else 0.0


def most_cables(table: pl.DataFrame) -> int:
    """Copper or optical cables of the fullest piece of tray."""
    return int(max([0, *table["copper"].to_list(), *table["optical"].to_list()]))


def runs(table: pl.DataFrame, floor: Floor) -> list[str]:
    """Draw what lies in every piece of tray (table TRAYS); equal neighbours are one line. The thickest lines carry their number."""
    most = most_cables(table)
    shown = list(_pieces(table))
    parts = [part for row in shown if row["over"] for part in _band(row, floor, most)]
    for row in shown:
        parts += _lines(row, floor, most)
    return [*parts, *_numbers(shown, floor, most)]


def _pieces(table: pl.DataFrame) -> Iterator[dict[str, float]]:
    """Pieces of tray with cables, neighbours of one tray with the same cables joined; `over`: fuller than allowed."""
    held = table.with_columns((pl.col("of_limit_percent") > TOO_FULL).alias("over"))
    for (_, copper, optical, _), members in groupby(held.iter_rows(named=True), key=lambda r: (r["tray"], r["copper"], r["optical"], r["over"])):
        own = list(members)
        if copper or optical:
            yield own[0] | {name: own[-1][name] for name in ("to", "to_x_m", "to_y_m")}


def _ends(row: dict[str, float], floor: Floor) -> tuple[Point, Point]:
    """Both ends of the middle line in pixels."""
    left, top, right, bottom = floor.box((row["x_m"], row["y_m"], row["to_x_m"], row["to_y_m"]))
    return (left, top), (right, bottom)


def _moved(ends: tuple[Point, Point], off: float) -> tuple[Point, Point]:
    """The same line so many pixels beside it: down the page, or to the left of one that runs down."""
    (x, y), (u, v) = ends
    return ((x, y + off), (u, v + off)) if y == v else ((x - off, y), (u - off, v))


def _lines(row: dict[str, float], floor: Floor, most: int) -> list[str]:
    """Optical above (or right of) the middle line, copper below (or left of) it, and what the pointer shows."""
    ends = _ends(row, floor)
    parts = []
    for name, colour, side in (("optical", OPTICAL, -1), ("copper", COPPER, 1)):
        if row[name]:
            thick = thickness(int(row[name]), most)
            parts.append(line(*_moved(ends, side * (HALF_GAP + thick / 2)), colour, thick=thick))
    hover = (
        f"{row['tray']} from {row['from']} to {row['to']}: {row['copper']:,} copper and {row['optical']:,} optical cables, "
        f"filled to {row['fill_percent']:.1f}%, its limit is {row['limit_percent']:g}%"
    )
    return [f"<g><title>{escape(hover)}</title>{''.join(parts)}</g>"]


def _band(row: dict[str, float], floor: Floor, most: int) -> list[str]:
    """Ground of a piece that is too full: a yellow band with dark edges around both lines."""
    up, down = (HALF_GAP + thickness(int(row[name]), most) + 3 for name in ("optical", "copper"))
    (x, y), (u, v) = _ends(row, floor)
    if y == v:
        return [rect((x, y - up), (u - x, up + down), YELLOW, stroke="none"), *(line((x, y + off), (u, y + off), INK, thick=1.2, dash="4 2") for off in (-up, down))]
    return [rect((x - down, y), (up + down, v - y), YELLOW, stroke="none"), *(line((x + off, y), (x + off, v), INK, thick=1.2, dash="4 2") for off in (up, -down))]


def _numbers(shown: list[dict[str, float]], floor: Floor, most: int) -> list[str]:
    """How many cables the thickest copper and the thickest optical line stand for, written in the line where there is room."""
    parts = []
    for name, side in (("optical", -1), ("copper", 1)):
        row = max((r for r in shown if r[name]), key=lambda r: r[name], default=None)
        if row is None:
            continue
        thick, words = thickness(int(row[name]), most), f"{row[name]:,}"
        (x, y), (u, v) = _moved(_ends(row, floor), side * (HALF_GAP + thick / 2))
        size = thick - 1.5
        if size < READABLE or text_width(words, size) > u - x + v - y:
            continue
        number = text((0, 0.36 * size), words, size, anchor="middle", colour="#ffffff", bold=True)
        parts.append(f'<g transform="translate({num((x + u) / 2)} {num((y + v) / 2)}){"" if y == v else " rotate(-90)"}">{number}</g>')
    return parts


def run_legend(table: pl.DataFrame) -> list[tuple[str | Mark, str]]:
    """What the legend says of the lines: colours, how thick they are for how many cables, and the mark of a piece that is too full."""
    most = most_cables(table)
    if not most:
        return []
    found: list[tuple[str | Mark, str]] = []
    for name, colour, words in (("copper", COPPER, "copper cables"), ("optical", OPTICAL, "fibres and active optical cables")):
        fullest = max(table[name].to_list())
        if fullest:
            found.append((Mark(26, (line((0, 6), (26, 6), colour, thick=5),)), f"{words}, at most {fullest:,} in a tray"))
    for count in (*(n for n in (1, 10, 100, 1_000, 10_000) if n * 2 < most), most):
        found.append((Mark(26, (line((0, 6), (26, 6), INK, thick=thickness(count, most)),)), plural(count, "cable")))
    over = table.filter(pl.col("of_limit_percent") > TOO_FULL)
    if over.height:
        edges = "".join(line((0, y), (26, y), INK, thick=1.2, dash="4 2") for y in (1, 11))
        where = f"{over['length_m'].sum():,.1f} m of {plural(over['tray'].n_unique(), 'tray')}"
        found.append((Mark(26, (rect((0, 1), (26, 10), YELLOW, stroke="none"), edges)), f"fuller than allowed: {where}"))
    return found
