"""The trays of a hall in its picture: where they run, and the joints where cables climb or drop."""

from __future__ import annotations

from ..layouts.hall import Hall
from ..layouts.trays import Tray, joints
from .hall_floor import SOLID, WALL, Floor
from .svg import BLUE, GREEN, INK, PURPLE, VERMILLION, Mark, Point, escape, line, plural, rect

LEVELS = (GREEN, PURPLE, VERMILLION, BLUE)
"""Listed trays of one height share a colour, from the lowest up; further heights take turns."""

STEP = Mark(12, ('<path d="M6 0.5 L11.5 6 L6 11.5 L0.5 6 Z" fill="#ffffff" stroke="#1a1a1a" stroke-width="1.5"/>',))
NO_JOINT = Mark(12, (rect((1, 1), (10, 10), "#ffffff"), line((3, 3), (9, 9), INK, thick=1.5), line((3, 9), (9, 3), INK, thick=1.5)))


def trays(hall: Hall, floor: Floor) -> list[str]:
    """Draw the trays, thin enough to read what lies below."""
    return _listed(hall, floor) if hall.listed else _implied(hall, floor)


def _implied(hall: Hall, floor: Floor) -> list[str]:
    crosses = [floor.origin[0] + x * floor.scale for x in hall.cross_trays_x_m]
    middles = [row[3] for row in floor.rows.values()]
    parts = []
    for _, left, right, middle in floor.rows.values():
        parts.append(line((min([left, *crosses]), middle), (max([right, *crosses]), middle), GREEN, thick=4, faint=0.75))
    if len(middles) > 1:
        for x in crosses:
            parts.append(line((x, min(middles)), (x, max(middles)), PURPLE, thick=6, faint=0.75))
    return parts


def _listed(hall: Hall, floor: Floor) -> list[str]:
    colours = colour_of_heights(hall)
    parts = []
    for tray in hall.trays:
        left, top, right, bottom = floor.box((tray.x_m, tray.y_m, tray.to_x_m, tray.to_y_m))
        colour = colours[round(tray.height_m, 3)]
        band = line((left, top), (right, bottom), colour, thick=tray.width_mm / 1000 * floor.scale, faint=0.25)
        hover = f"tray {tray.name}: {tray.height_m:.2f} m above the floor, {size_of(tray)}"
        parts += [f"<g><title>{escape(hover)}</title>{band}</g>", line((left, top), (right, bottom), colour, thick=2.5, faint=0.75)]
    for at, words, mark in marks(hall, floor):
        parts.append(f'<g transform="translate({at[0] - 6:.2f} {at[1] - 6:.2f})"><title>{escape(words)}</title>{"".join(mark.parts)}</g>')
    return parts


def size_of(tray: Tray) -> str:
    """Cross-section and fill in words."""
    return f"{tray.width_mm:g} mm wide, {tray.depth_mm:g} mm deep, filled to {tray.fill_percent:g}%"


def colour_of_heights(hall: Hall) -> dict[float, str]:
    """Height of trays (in metres, to a millimetre) -> colour."""
    heights = sorted({round(tray.height_m, 3) for tray in hall.trays})
    return {height: LEVELS[i % len(LEVELS)] for i, height in enumerate(heights)}


def marks(hall: Hall, floor: Floor) -> list[tuple[Point, str, Mark]]:
    """Joints between trays of different height, and crossings without a joint."""
    found = []
    for silent in (False, True):
        for i, j, at_um, _ in joints(hall.trays, hall.tray_net.runs, silent).tolist():
            one, two = hall.trays[i], hall.trays[j]
            step_m = abs(one.height_m - two.height_m)
            if not silent and step_m < 1e-6:
                continue
            words = f"trays {one.name} and {two.name} cross without a joint" if silent else f"joint of trays {one.name} and {two.name}: {step_m:.2f} m up or down"
            x, y = (at_um / 1e6, one.y_m) if one.along_x else (one.x_m, at_um / 1e6)
            found.append(((floor.origin[0] + x * floor.scale, floor.origin[1] + y * floor.scale), words, NO_JOINT if silent else STEP))
    return found


def entries(hall: Hall, floor: Floor) -> list[tuple[str | Mark, str]]:
    """What the legend says of listed trays, walls and obstacles."""
    found: list[tuple[str | Mark, str]] = []
    for height, colour in colour_of_heights(hall).items() if hall.listed else ():
        mark = Mark(26, (line((0, 6), (26, 6), colour, thick=10, faint=0.25), line((0, 6), (26, 6), colour, thick=2.5, faint=0.75)))
        found.append((mark, f"tray {height:.2f} m above the floor"))
    kinds = {mark for _, _, mark in marks(hall, floor)} if hall.listed else set()
    found += [(mark, words) for mark, words in ((STEP, "joint where cables climb or drop"), (NO_JOINT, "crossing without a joint")) if mark in kinds]
    if hall.rooms:
        found.append((Mark(26, (line((0, 6), (26, 6), WALL, thick=4),)), "wall"))
    if hall.obstacles:
        found.append((SOLID, "obstacle"))
    return found


def tray_facts(hall: Hall) -> list[str]:
    """Listed trays by height and cross-section, a line for each kind."""
    if not hall.listed:
        return []
    kinds: dict[tuple[float, str], list[Tray]] = {}
    for tray in sorted(hall.trays, key=lambda t: t.height_m):
        kinds.setdefault((round(tray.height_m, 3), size_of(tray)), []).append(tray)
    lines = []
    for (height, size), members in kinds.items():
        names = ", ".join(t.name for t in members[:24]) + (f" and {len(members) - 24} more" if len(members) > 24 else "")
        length_m = sum(t.to_x_m - t.x_m + t.to_y_m - t.y_m for t in members)
        lines.append(f"{plural(len(members), 'tray')} {height:.2f} m above the floor, {size}, {length_m:.1f} m in all: {names}.")
    return lines
