"""SVG by hand: escaping, colours that colour-blind readers tell apart, text that fits its box, and a whole page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Point = tuple[float, float]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK = "#1a1a1a"
FAINT = "#6b6b6b"
RULE = "#b8b8b8"

ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"
GREY = "#999999"
"""Okabe and Ito, Color Universal Design, 2008; black and grey complete the eight."""

ROLE_COLOURS = {"node": "#cfe8f8", "leaf": ORANGE, "spine": BLUE, "core": PURPLE, "ufm": GREEN, "server": YELLOW, "pdu": GREY}
RAIL_COLOURS = (ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE, GREY)
FABRIC_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VERMILLION, SKY, GREY)
"""Fabrics in the design's order, compute first; an eighth begins anew, its name tells it apart."""
SERVER_COLOURS = ("#fbf5a6", "#d8efe6", "#f3dfea", "#fbe6bf", "#e4e4e4")
"""Kinds of servers in the design's order, paler than any switch."""
PLANE_COLOURS = ("#08306b", "#8c2d04", "#00441b", "#54278f")
"""Dark blue, vermilion, green and purple: darker than any rail, told apart by the dash as well."""
PLANE_DASHES = ("", "7 3", "2 3", "9 3 2 3")

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
NARROW, WIDE = frozenset("iljtfrI.,:;'|!()[] /-"), frozenset("mwMW@%")

DEFS = (
    '<pattern id="later" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" fill="#ffffff"/><line x1="0" y1="0" x2="0" y2="6" stroke="#cccccc" stroke-width="1.2"/></pattern>'
)


def escape(words: object) -> str:
    """Text that can stand in XML content and attributes; characters XML forbids become a question mark."""
    clean = UNPRINTABLE.sub("?", str(words))
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&#39;")


def num(value: float) -> str:
    """A coordinate with at most two decimals."""
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def text_width(words: str, size: float) -> float:
    """Width of a text on the safe side: that of a wide font (DejaVu Sans), in the unit of `size`."""
    return size * sum(0.39 if c in NARROW else 0.95 if c in WIDE else 0.72 if c.isupper() else 0.64 for c in words)


def fit(words: str, size: float, width: float, least: float = 5.0) -> tuple[str, float]:
    """Shrink a text to the width, down to size `least`; below that cut it and end it with three dots."""
    needed = text_width(words, size)
    if needed <= width:
        return words, size
    size = max(least, size * width / needed)
    if text_width(words, size) <= width + 0.01:
        return words, size
    while words and text_width(words + "...", size) > width:
        words = words[:-1]
    return words + "...", size


def wrap(words: str, size: float, width: float) -> list[str]:
    """Break a text at spaces into lines of at most `width`; a single longer word stays whole."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def text(at: Point, words: str, size: float = 11, *, anchor: str = "start", colour: str = INK, bold: bool = False, halo: bool = False, width: float | None = None) -> str:
    """One line of text, `at` is its baseline; with `width` it shrinks to fit and, when cut, tells the whole on hover."""
    shown, size = (words, size) if width is None else fit(words, size, width * (0.93 if bold else 1))
    style = f' text-anchor="{anchor}"' if anchor != "start" else ""
    style += ' font-weight="bold"' if bold else ""
    style += ' stroke="#ffffff" stroke-width="3" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    hover = f"<title>{escape(words)}</title>" if shown != words else ""
    return f'<text x="{num(at[0])}" y="{num(at[1])}" font-size="{num(size)}" fill="{colour}"{style}>{hover}{escape(shown)}</text>'


def rect(at: Point, size: Point, fill: str, *, stroke: str = INK, thick: float = 1, radius: float = 0, dash: str = "", hover: str = "") -> str:
    """A rectangle by its upper left corner; `hover` is read out and shown under the pointer."""
    more = f' rx="{num(radius)}"' if radius else ""
    more += f' stroke-dasharray="{dash}"' if dash else ""
    tag = f'<rect x="{num(at[0])}" y="{num(at[1])}" width="{num(size[0])}" height="{num(size[1])}" fill="{fill}" stroke="{stroke}" stroke-width="{num(thick)}"{more}'
    return f"{tag}><title>{escape(hover)}</title></rect>" if hover else f"{tag}/>"


def line(a: Point, b: Point, colour: str = INK, *, thick: float = 1, dash: str = "", faint: float = 1) -> str:
    """A straight line; `faint` below 1 lets what lies beneath shine through."""
    more = f' stroke-dasharray="{dash}"' if dash else ""
    more += f' stroke-opacity="{num(faint)}"' if faint < 1 else ""
    return f'<line x1="{num(a[0])}" y1="{num(a[1])}" x2="{num(b[0])}" y2="{num(b[1])}" stroke="{colour}" stroke-width="{num(thick)}"{more}/>'


class Mark(NamedTuple):
    """What stands before the words of a legend: parts drawn from 0, 0 on, 12 high."""

    width: float
    parts: tuple[str, ...]


def legend(at: Point, entries: Sequence[tuple[str | Mark, str]], width: float) -> tuple[list[str], float]:
    """Coloured squares or marks with words, wrapped to the width; also tells the height. A colour may be `url(#later)`."""
    x, y = at
    parts: list[str] = []
    for shown, words in entries:
        mark = shown if isinstance(shown, Mark) else Mark(12, (rect((0, 0), (12, 12), shown, stroke=FAINT),))
        needed = mark.width + 6 + text_width(words, 11) + 16
        if x > at[0] and x + needed > at[0] + width:
            x, y = at[0], y + 20
        parts += [f'<g transform="translate({num(x)} {num(y)})">{"".join(mark.parts)}</g>', text((x + mark.width + 6, y + 10), words, 11)]
        x += needed
    return parts, y - at[1] + 20


def header(title: str, facts: Sequence[str], width: float) -> tuple[list[str], float]:
    """Title and lines of facts from the top of a page, wrapped to the width; also tells the height."""
    parts = [text((MARGIN, MARGIN + 14), title, 20, bold=True, width=width)]
    y = MARGIN + 36.0
    for fact in facts:
        for words in wrap(fact, 12, width):
            parts.append(text((MARGIN, y), words, 12, colour="#3a3a3a"))
            y += 17
    return parts, y + 4


MARGIN = 24
"""White space around every page."""


def page(title: str, description: str, size: Point, parts: Iterable[str]) -> bytes:
    """A whole SVG file on white ground."""
    width, height = num(size[0]), num(size[1])
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<defs>{DEFS}</defs>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    ).encode()


def ink_on(fill: str) -> str:
    """Black or white, whichever is better to read on a colour (relative luminance of WCAG 2.1)."""
    parts = [int(fill[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return INK if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


def tint(colour: str, share: float) -> str:
    """Mix a colour with white; share 1 is the colour itself."""
    return "#" + "".join(f"{round(255 + (int(colour[i : i + 2], 16) - 255) * share):02x}" for i in (1, 3, 5))


def spans(numbers: Iterable[int], word: str = "{}") -> str:
    """Numbers as spans, each written with `word`: 0-2, 5."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(word.format(a) if a == b else f"{word.format(a)}-{word.format(b)}" for a, b in runs)


def plural(count: int, thing: str, things: str | None = None) -> str:
    """Count and thing: 1 leaf, 2 leaves, 2,048 links."""
    many = things or {"leaf": "leaves", "switch": "switches", "ufm": "UFM servers"}.get(thing, thing + "s")
    one = {"ufm": "UFM server"}.get(thing, thing)
    return f"{count:,} {one if count == 1 else many}"
