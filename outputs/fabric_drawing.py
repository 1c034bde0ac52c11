"""Draws fabric.svg from boxes that have their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .fabric_colours import fill_of, legend_entries, plane_colour, wire_colour, wire_dash
from .fabric_groups import Box, Sketch, Wire
from .fabric_labels import LABEL_SIZE, place_labels
from .svg import FAINT, MARGIN, RAIL_COLOURS, ROLE_COLOURS, RULE, Point, header, ink_on, legend, line, page, rect, text, text_width

SIDE = 176.0
"""Room left of the picture for the notes on the tiers."""
CELL_HEIGHT, STRIP = 18.0, 16.0
"""Heights in a grid of nodes: of a cell, and of the strip of rails above them."""
FRAME = 14.0
"""From a box to the frame around it; the caption has as much room again."""


@dataclass(frozen=True)
class Placed:
    """A box as placed: its middle and its size."""

    box: Box
    x: float
    y: float
    width: float
    height: float


def grid_columns(box: Box) -> int:
    return min(len(box.cells), 16 if len(box.cells) > 32 else 8)


def box_size(box: Box) -> Point:
    """Width and height of a box, so that its text fits."""
    if box.cells:
        columns = grid_columns(box)
        cell = max(text_width(name, 8.5) for name in box.cells) + 8
        return max(columns * cell, 8 * 46.0) + 12, STRIP + 22 + -(-len(box.cells) // columns) * CELL_HEIGHT + 6
    if len(box.lines) > 2 or " " in box.name:
        return max(text_width(box.lines[0], 13) + 12, *(text_width(words, 10) + 20 for words in box.lines[1:]), text_width(box.frame, 12.5) - FRAME, 92.0), 14.0 * len(
            box.lines
        ) + 22
    return max(text_width(box.lines[0], 9.5) + 12, 64.0), 42.0 if len(box.rails) > 1 else 36.0


def draw(drawing: Sketch, placed: Mapping[str, Placed]) -> bytes:
    """The whole picture; boxes are placed from 0 on, y grows downwards."""
    right = max(p.x + p.width / 2 for p in placed.values())
    low = max(p.y + p.height / 2 for p in placed.values())
    width = max(SIDE + right + 2 * FRAME, 760.0)
    parts, y = header(drawing.title, drawing.facts, width)
    shift = (MARGIN + SIDE + max(0.0, (width - SIDE - right) / 2), y + 3 * FRAME)
    placed = {name: Placed(p.box, p.x + shift[0], p.y + shift[1], p.width, p.height) for name, p in placed.items()}
    frames, captions = _frames(placed)
    lines, labels = _wires(drawing.wires, placed)
    parts += [*frames, *_notes(drawing, placed), *lines, *captions]
    for one in placed.values():
        parts += _box(one)
    parts += labels
    y = low + shift[1] + 3 * FRAME + 8
    if drawing.later:
        parts.append(rect((MARGIN, y), (width, 26), "url(#later)", stroke=FAINT, dash="5 3", radius=4))
        words = f"Room kept for growth, not built yet: {drawing.later}"
        parts.append(rect((MARGIN + 10, y + 4), (text_width(words, 11) + 8, 18), "#ffffff", stroke="none"))
        parts.append(text((MARGIN + 14, y + 17), words, 11))
        y += 38
    drawn, high = legend((MARGIN, y), legend_entries(drawing), width)
    return page(drawing.title, " ".join(drawing.facts), (width + 2 * MARGIN, y + high + MARGIN), [*parts, *drawn])


def _frames(placed: Mapping[str, Placed]) -> tuple[list[str], list[str]]:
    """Draw frames around each SU and each plane's spines; captions stand where no line passes: below an SU, above spines."""
    frames, captions = [], []
    for frame in dict.fromkeys(p.box.frame for p in placed.values()):
        inside = [p for p in placed.values() if p.box.frame == frame]
        low = inside[0].box.role in ("node", "ufm")
        left, right = min(p.x - p.width / 2 for p in inside) - FRAME, max(p.x + p.width / 2 for p in inside) + FRAME
        top = min(p.y - p.height / 2 for p in inside) - (1 if low else 2) * FRAME
        bottom = max(p.y + p.height / 2 for p in inside) + (2 if low else 1) * FRAME
        plane = inside[0].box.plane if inside[0].box.role == "spine" else -1
        stroke = plane_colour(plane) if plane >= 0 else RULE
        frames.append(rect((left, top), (right - left, bottom - top), "#fafafa", stroke=stroke, radius=8))
        at = ((left + right) / 2, bottom - 9 if low else top + 18)
        captions.append(text(at, frame[:1].upper() + frame[1:], 12, anchor="middle", bold=True, halo=True, width=right - left - 16))
    return frames, captions


def _notes(drawing: Sketch, placed: Mapping[str, Placed]) -> list[str]:
    """Write the totals of each tier to the left of its lines."""
    parts = []
    for tier, words in drawing.tiers.items():
        wires = [w for w in drawing.wires if w.tier == tier]
        upper = max(placed[w.b].y + (placed[w.b].height / 2 if tier != "inter-switch" else -52) for w in wires)
        lower = min(placed[w.a].y - (placed[w.a].height / 2 if tier != "inter-switch" else 0) for w in wires)
        y = (upper + lower) / 2 - 7 * len(words) + 12
        for i, one in enumerate(words):
            parts.append(text((MARGIN, y + 15 * i), one, 12 if i == 0 else 11, bold=i == 0, width=SIDE - 24))
    return parts


def _wires(wires: Sequence[Wire], placed: Mapping[str, Placed]) -> tuple[list[str], list[str]]:
    """Draw lines spread over the edges of their boxes, and labels where they find room."""
    ends: dict[tuple[str, str, bool], list[Wire]] = {}
    for wire in wires:
        ends.setdefault((wire.tier, wire.a, True), []).append(wire)
        ends.setdefault((wire.tier, wire.b, False), []).append(wire)
    lines, labels = [], []
    runs: dict[Wire, tuple[Point, Point]] = {}
    for wire in wires:
        low, high = placed[wire.a], placed[wire.b]
        if wire.tier == "inter-switch":
            if wire.a != wire.b:
                left, right = sorted((low, high), key=lambda p: p.x)
                a, b = (left.x + left.width / 2, left.y), (right.x - right.width / 2, right.y)
                lines.append(line(a, b, wire_colour(wire), thick=3))
                labels.append(text(((a[0] + b[0]) / 2, a[1] - 7), wire.label, 10, anchor="middle", bold=True, halo=True))
            continue
        below, above = ends[wire.tier, wire.a, True], ends[wire.tier, wire.b, False]
        a = (_anchor(low, wire, below, {w: placed[w.b].x for w in below}), low.y - low.height / 2)
        b = (_anchor(high, wire, above, {w: placed[w.a].x for w in above}), high.y + high.height / 2)
        runs[wire] = (a, b)
        lines.append(line(a, b, wire_colour(wire), thick=1.6 if len(wires) < 60 else 1, dash=wire_dash(wire), faint=1 if len(wires) < 60 else 0.7))
    alone = {w: len(ends[w.tier, w.a, True]) == 1 for w in runs if len(ends[w.tier, w.a, True]) == 1 or len(ends[w.tier, w.b, False]) == 1}
    for wire, at in place_labels(runs, alone).items():
        wide = text_width(wire.label, LABEL_SIZE) * 0.86
        labels += [rect((at[0] - wide / 2, at[1] - 9), (wide, 12), "#ffffff", stroke="none"), text(at, wire.label, LABEL_SIZE, anchor="middle")]
    return lines, labels


def _anchor(end: Placed, wire: Wire, wires: Sequence[Wire], others: dict[Wire, float]) -> float:
    """Where on the edge of a box a wire ends: at its rails' place in a grid, else in the order of the other ends."""
    if end.box.cells and wire.rails:
        rails = max(8, *(r + 1 for w in wires for r in w.rails))
        place = (sum(wire.rails) / len(wire.rails) + 0.5) / rails
        return end.x + end.width * (place - 0.5)
    order = sorted(wires, key=lambda w: (others[w], w.a, w.b, w.gbps))
    return end.x + end.width * 0.84 * ((order.index(wire) + 0.5) / len(order) - 0.5)


def _box(placed: Placed) -> list[str]:
    box, left, top = placed.box, placed.x - placed.width / 2, placed.y - placed.height / 2
    if box.cells:
        return _grid(placed, left, top)
    fill = fill_of(box)
    ink = ink_on(fill)
    parts = [rect((left, top), (placed.width, placed.height), fill, radius=3, hover=" ".join(box.lines))]
    group = " " in box.name
    y = placed.y - 7.0 * (len(box.lines) - 1) + 4 - (3 if len(box.rails) > 1 else 0)
    for i, words in enumerate(box.lines):
        size = (12.0 if i == 0 else 10.0) if group else (9.5 if i == 0 else 8.5)
        parts.append(text((placed.x, y + 14 * i), words, size, anchor="middle", colour=ink, bold=i == 0 and group, width=placed.width - 8))
    if box.role == "leaf" and len(box.rails) > 1:
        each = placed.width / len(box.rails)
        parts += [rect((left + i * each, top + placed.height - 5), (each, 5), RAIL_COLOURS[r % len(RAIL_COLOURS)], thick=0.5) for i, r in enumerate(box.rails)]
    return parts


def _grid(placed: Placed, left: float, top: float) -> list[str]:
    """Draw the nodes of an SU as cells below a strip of its rails, where the lines end."""
    box, columns = placed.box, grid_columns(placed.box)
    parts = [rect((left, top), (placed.width, placed.height), ROLE_COLOURS["node"], radius=3, hover=" ".join(box.lines))]
    each = placed.width / 8
    for rail in range(8):
        parts.append(rect((left + rail * each, top), (each, STRIP), RAIL_COLOURS[rail], thick=0.6))
        parts.append(text((left + (rail + 0.5) * each, top + 11.5), f"rail {rail}", 8.5, anchor="middle", colour=ink_on(RAIL_COLOURS[rail]), width=each - 4))
    parts.append(text((placed.x, top + STRIP + 15), f"{box.lines[0]}, {box.lines[-1]}", 11, anchor="middle", bold=True))
    cell = (placed.width - 12) / columns
    for i, name in enumerate(box.cells):
        x, y = left + 6 + i % columns * cell, top + STRIP + 22 + i // columns * CELL_HEIGHT
        parts.append(rect((x + 1, y + 1), (cell - 2, CELL_HEIGHT - 2), "#ffffff", thick=0.6, radius=2))
        parts.append(text((x + cell / 2, y + 12), name, 8.5, anchor="middle", width=cell - 4))
    return parts
