"""The page of a hall: ground, positions, trays, names, dimensions, legend; and the picture of a hall by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from ..layouts.hall import Hall
from .hall_floor import AROUND, Floor, Spot, aisles, floor_of, ground, obstacles, rack_names, scale_of, sizes, spots_of, stand, walls
from .hall_labels import labels, row_names
from .hall_trays import entries, tray_facts, trays
from .svg import BLUE, FAINT, GREEN, INK, MARGIN, PURPLE, RULE, Mark, Point, header, legend, line, page, plural, rect, text, text_width, wrap

STEPS_M = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


class Standing(NamedTuple):
    """What stands on the ground: drawn racks, the words in and at them, and what the legend says of them."""

    racks: list[str]
    words: list[str]
    entries: list[tuple[str | Mark, str]]
    fronts: bool = True
    """Racks show their fronts."""
    runs: Sequence[str] = ()
    """What lies in the trays, drawn over them."""


def hall_page(hall: Hall, title: str, facts: Sequence[str], standing: Callable[[Floor], Standing]) -> bytes:
    """Draw a hall and what stands in it."""
    scale = scale_of(hall)
    ground_width = ground(hall)[2] * scale + 2 * AROUND
    width = max(ground_width, 640.0)
    parts, y = header(title, facts, width)
    floor = floor_of(hall, scale, (MARGIN + AROUND + (width - ground_width) / 2, y + AROUND))
    stands = standing(floor)
    parts += [*walls(hall, floor), *aisles(hall, floor), *stands.racks, *obstacles(hall, floor), *trays(hall, floor), *stands.runs, *row_names(hall, floor), *stands.words]
    parts += [*labels(hall, floor), *sizes(floor)]
    y = floor.high[1] + AROUND
    parts += _scale_bar((MARGIN, y), scale)
    drawn, high = legend((MARGIN, y + 34), [*stands.entries, *entries(hall, floor)], width)
    y += 34 + high + 4
    lines = _line_legend((MARGIN, y), hall, len(floor.rows) > 1, stands.fronts)
    parts += [*drawn, *lines]
    y += 20 if lines else 0
    for fact in tray_facts(hall):
        for words in wrap(fact, 11, width):
            parts.append(text((MARGIN, y + 10), words, 11, colour="#3a3a3a"))
            y += 15
    return page(title, " ".join(facts), (width + 2 * MARGIN, y + MARGIN), parts)


def _scale_bar(at: Point, scale: float) -> list[str]:
    """A bar of three steps with their metres."""
    step = next((s for s in STEPS_M if s * scale >= 60), STEPS_M[-1])
    parts = []
    for i in range(4):
        x = at[0] + i * step * scale
        if i < 3:
            parts.append(rect((x, at[1]), (step * scale, 7), INK if i % 2 == 0 else "#ffffff", thick=0.8))
        parts.append(text((x, at[1] + 20), f"{i * step:g}" + (" m" if i == 3 else ""), 10, anchor="middle" if i else "start"))
    return parts


def _line_legend(at: Point, hall: Hall, crossed: bool, fronts: bool) -> list[str]:
    implied = [] if hall.listed else [(GREEN, 4.0, "tray above a row"), *([(PURPLE, 6.0, "cross tray")] if crossed else [])]
    parts, x = [], at[0]
    for colour, thick, words in [*implied, *([(BLUE, 2.5, "front of a rack")] if fronts else [])]:
        parts += [line((x, at[1] + 6), (x + 26, at[1] + 6), colour, thick=thick), text((x + 32, at[1] + 10), words, 11)]
        x += 32 + text_width(words, 11) + 18
    return parts


def spot_marks(spots: Sequence[Spot]) -> list[tuple[str | Mark, str]]:
    """What the legend says of free and blocked positions, where there are any."""
    free = Mark(12, (rect((0, 0), (12, 12), "#ffffff", stroke=RULE, dash="2 2"),))
    blocked = Mark(12, (rect((0, 0), (12, 12), "#ffffff"), line((0, 0), (12, 12), FAINT), line((0, 12), (12, 0), FAINT)))
    kinds = {spot.kind for spot in spots}
    marks: list[tuple[str, Mark, str]] = [("free", free, "free position"), ("blocked", blocked, "blocked position")]
    return [(mark, words) for kind, mark, words in marks if kind in kinds]


def empty_hall(hall: Hall, name: str) -> bytes:
    """Draw a hall that nothing stands in yet, as SVG."""

    def standing(floor: Floor) -> Standing:
        spots = spots_of(hall, floor)
        racks = [part for spot in spots for part in stand(spot, floor, "#ffffff", f"{spot.rack}: {spot.kind} position")]
        return Standing(racks, rack_names(spots, floor, hall.listed), spot_marks(spots), fronts=False)

    return hall_page(hall, f"{name}: hall", hall_facts(hall), standing)


def hall_facts(hall: Hall) -> list[str]:
    """What a hall holds, in sentences."""
    positions = hall.positions
    rooms = f"{plural(len(hall.rooms), 'room')}, " if hall.rooms else ""
    blocked = int(positions["blocked"].sum())
    return [
        f"{rooms}{plural(positions['row_no'].n_unique(), 'row')}, {plural(positions.height, 'position')}: {positions.height - blocked:,} for racks, {blocked:,} blocked"
        + (f"; {plural(len(hall.obstacles), 'obstacle')}." if hall.obstacles else "."),
        extent(hall),
    ]


def extent(hall: Hall) -> str:
    """Say how large the hall and its racks are."""
    _, _, width_m, depth_m = ground(hall)
    what = "The hall covers" if hall.rooms or hall.listed or hall.obstacles else "Rows cover"
    return f"{what} {width_m:.2f} m x {depth_m:.2f} m; {_racks_are(hall.positions)}. Drawn to scale."


def _racks_are(positions: pl.DataFrame) -> str:
    """Say how wide and deep a rack is, and how high, type by type, where types differ."""
    types = positions.select("type", "height_ru", "width_m", "depth_m").unique(maintain_order=True).rows()
    if len(types) <= 1:
        return "".join(f"a rack is {wide:g} m wide and {deep:g} m deep" for _, _, wide, deep in types)
    return "racks are " + ", ".join(f"{model} ({units} U, {wide:g} m wide, {deep:g} m deep)" for model, units, wide, deep in types)
