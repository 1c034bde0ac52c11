"""hall.svg: floor plan to scale: rows, aisles, racks by role and SU, blocked and free positions, trays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE
from . import DEFAULTS, Options
from .svg import BLUE, FAINT, GREEN, GREY, INK, MARGIN, ORANGE, PURPLE, RULE, SKY, YELLOW, Mark, Point, header, legend, line, page, plural, rect, spans, text, text_width, tint

if TYPE_CHECKING:
    from ..plan import Plan

NETWORK = ORANGE
ROLES = ("node", "leaf", "spine", "core", "ufm")
SU_TINTS = tuple(tint(colour, 0.42) for colour in (SKY, GREEN, PURPLE, YELLOW, BLUE, GREY))
"""SUs take turns in these; the text in the rack tells them apart."""
COLD, HOT = "#e3f1fb", "#fbe9df"
PAGE_WIDTH, SCALE_LEAST, SCALE_MOST = 1350.0, 20.0, 80.0
"""Pixels the hall should take, and the limits of pixels per metre."""
AROUND = 62.0
"""Pixels around the hall for row names and dimensions."""
STEPS_M = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


@dataclass(frozen=True)
class Spot:
    """One position as drawn: its upper left corner in pixels, and what stands there."""

    rack: str
    row_no: int
    position: int
    at: Point
    kind: str
    """node, network, reserved, blocked or free."""
    roles: str
    pods: tuple[int, ...]
    size: Point
    """Width and depth in pixels."""
    type: str
    """Rack type and its units, where racks of the hall differ."""


@dataclass(frozen=True)
class Floor:
    """Scale of the picture and where the hall's rows lie, in pixels."""

    scale: float
    origin: Point
    """Where x_m = y_m = 0 lies."""
    rows: dict[int, tuple[str, float, float, float]]
    """Row number -> name, left end, right end, middle."""
    low: Point
    high: Point
    """Corners of the ground that racks cover."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw hall.svg."""
    hall = plan.placement.hall
    title = f"{plan.design.name}: hall"
    facts = _facts(plan)
    scale = _scale(plan)
    ground_width = _ground(plan)[2] * scale + 2 * AROUND
    width = max(ground_width, 640.0)
    parts, y = header(title, facts, width)
    floor = _floor(plan, scale, (MARGIN + AROUND + (width - ground_width) / 2, y + AROUND))
    spots = _spots(plan, floor)
    parts += _aisles(floor, dict(hall.positions.group_by("row_no").agg(pl.col("depth_m").max()).iter_rows()), [floor.origin[0] + x * scale for x in hall.cross_trays_x_m])
    for spot in spots:
        parts += _rack(spot, floor)
    parts += _trays(plan, floor)
    parts += _names(spots, floor)
    parts += _sizes(floor)
    y = floor.high[1] + AROUND
    parts += _scale_bar((MARGIN, y), scale)
    drawn, high = legend((MARGIN, y + 34), _entries(spots), width)
    parts += [*drawn, *_line_legend((MARGIN, y + 34 + high + 4), len(floor.rows) > 1)]
    return {"hall.svg": page(title, " ".join(facts), (width + 2 * MARGIN, y + 34 + high + 24 + MARGIN), parts)}


def _ground(plan: Plan) -> tuple[float, float, float, float]:
    """Corner and size, in metres, of the ground that positions and cross trays cover."""
    hall = plan.placement.hall
    x, y = hall.positions["x_m"].to_numpy(), hall.positions["y_m"].to_numpy()
    wide, deep = (hall.positions[c].to_numpy() / 2 for c in ("width_m", "depth_m"))
    left = min([*hall.cross_trays_x_m, float((x - wide).min())])
    right = max([*hall.cross_trays_x_m, float((x + wide).max())])
    top, bottom = float((y - deep).min()), float((y + deep).max())
    return left, top, right - left, bottom - top


def _scale(plan: Plan) -> float:
    """Pixels per metre: the hall fills the page's width, within limits."""
    _, _, width_m, depth_m = _ground(plan)
    return max(SCALE_LEAST, min(SCALE_MOST, PAGE_WIDTH / width_m, 1.6 * PAGE_WIDTH / depth_m))


def _floor(plan: Plan, scale: float, corner: Point) -> Floor:
    hall = plan.placement.hall
    left, top, width_m, depth_m = _ground(plan)
    origin = (corner[0] - left * scale, corner[1] - top * scale)
    rows = {}
    for (row_no, name), row in hall.positions.group_by("row_no", "row", maintain_order=True):
        x, y = row["x_m"].to_numpy(), row["y_m"].to_numpy()
        wide = row["width_m"].to_numpy() / 2
        ends = [float((x - wide).min()), float((x + wide).max())]
        rows[int(str(row_no))] = (str(name), origin[0] + ends[0] * scale, origin[0] + ends[1] * scale, origin[1] + float(y[0]) * scale)
    high = (corner[0] + width_m * scale, corner[1] + depth_m * scale)
    return Floor(scale, origin, rows, corner, high)


def _spots(plan: Plan, floor: Floor) -> list[Spot]:
    """Return every position of the hall with what stands there."""
    devices = plan.topology.devices
    inside = plan.placement.places.select("rack").hstack(devices.select("role", "pod")).group_by("rack").agg("role", "pod")
    held = {rack: (set(roles), set(pods)) for rack, roles, pods in inside.iter_rows()}
    used = {rack: "reserved" if reserved else role for rack, role, reserved in plan.placement.racks.select("rack", "role", "reserved").iter_rows()}
    spots = []
    positions = plan.placement.hall.positions
    differ = positions["type"].n_unique() > 1
    columns = ("rack", "row_no", "position", "x_m", "y_m", "blocked", "width_m", "depth_m", "type", "height_ru")
    for rack, row_no, position, x, y, blocked, wide, deep, model, units in positions.select(columns).iter_rows():
        roles, pods = held.get(rack, (set(), set()))
        size = (wide * floor.scale, deep * floor.scale)
        at = (floor.origin[0] + x * floor.scale - size[0] / 2, floor.origin[1] + y * floor.scale - size[1] / 2)
        kind = "blocked" if blocked else used.get(rack, "free")
        named = [role for role in ROLES if role in roles]
        spots.append(Spot(rack, row_no, position, at, kind, "+".join(named), tuple(sorted(pods - {NONE})), size, f"{model}, {units} U" if differ else ""))
    return spots


def _facts(plan: Plan) -> list[str]:
    racks, hall = plan.placement.racks, plan.placement.hall
    blocked = int(hall.positions["blocked"].sum())
    later = int(racks["reserved"].sum())
    built = racks.filter(~pl.col("reserved"))
    node, network = (int((built["role"] == role).sum()) for role in ("node", "network"))
    free = hall.positions.height - blocked - racks.height
    rows = hall.positions["row_no"].n_unique()
    _, _, width_m, depth_m = _ground(plan)
    return [
        f"{plural(racks.height, 'rack')} on {plural(hall.positions.height, 'position')} in {plural(rows, 'row')}: {node:,} with nodes, {network:,} with network only, "
        f"{later:,} reserved for growth; {plural(free, 'position')} free, {blocked:,} blocked.",
        f"Rows cover {width_m:.2f} m x {depth_m:.2f} m; {_racks_are(hall.positions)}. Drawn to scale.",
    ]


def _racks_are(positions: pl.DataFrame) -> str:
    """Say how wide and deep a rack is, and how high, type by type, where types differ."""
    types = positions.select("type", "height_ru", "width_m", "depth_m").unique(maintain_order=True).rows()
    if len(types) <= 1:
        return "".join(f"a rack is {wide:g} m wide and {deep:g} m deep" for _, _, wide, deep in types)
    return "racks are " + ", ".join(f"{model} ({units} U, {wide:g} m wide, {deep:g} m deep)" for model, units, wide, deep in types)


def _front(floor: Floor, row_no: int) -> int:
    """Side of a row that faces its cold aisle: 1 is down the page, -1 up; rows stand in pairs that face each other."""
    partner = row_no + 1 if row_no % 2 == 0 else row_no - 1
    if partner not in floor.rows:
        return 1
    return 1 if floor.rows[partner][3] >= floor.rows[row_no][3] else -1


def _aisles(floor: Floor, depth_m: Mapping[int, float], crosses: Sequence[float]) -> list[str]:
    """Draw the ground between neighbouring rows, cold where fronts face, with its width; `depth_m` is of the deepest rack of each row."""
    parts = []
    for (a_no, a), (b_no, b) in pairwise(floor.rows.items()):
        (upper, upper_m), (lower, lower_m) = sorted(((a[3], depth_m[a_no]), (b[3], depth_m[b_no])))
        top, bottom = upper + upper_m * floor.scale / 2, lower - lower_m * floor.scale / 2
        left, right = max(a[1], b[1]), min(a[2], b[2])
        crowded = any(upper < row[3] < lower and row[1] < right and row[2] > left for no, row in floor.rows.items() if no not in (a_no, b_no))
        if bottom - top < 4 or right <= left or crowded:
            continue
        cold = a_no % 2 == 0
        words = f"{'cold' if cold else 'hot'} aisle, {(bottom - top) / floor.scale:.2f} m"
        low, high = min(a[1], b[1]), max(a[2], b[2])
        parts.append(rect((low, top), (high - low, bottom - top), COLD if cold else HOT, stroke="none"))
        size = min(13.0, (bottom - top) * 0.6)
        begin, end = max(pairwise([left, *sorted(x for x in crosses if left < x < right), right]), key=lambda gap: gap[1] - gap[0])
        at = ((begin + end) / 2, (top + bottom) / 2 + size * 0.36)
        parts.append(text(at, words, size, anchor="middle", colour="#004a75" if cold else "#8a3c00", width=end - begin - 8))
    return parts


def _fill(spot: Spot) -> str:
    if spot.kind == "node":
        return SU_TINTS[spot.pods[0] % len(SU_TINTS)] if spot.pods else "#dddddd"
    return {"network": NETWORK, "reserved": "url(#later)"}.get(spot.kind, "#ffffff")


def _rack(spot: Spot, floor: Floor) -> list[str]:
    (x, y), (wide, deep) = spot.at, spot.size
    what = {
        "blocked": "blocked position",
        "free": "free position",
        "reserved": f"reserved for growth ({spot.roles})",
        "network": f"network rack ({spot.roles})",
        "node": f"node rack ({spot.roles})",
    }
    words = f"{spot.rack}: {what[spot.kind]}" + (f", SU {spans(spot.pods)}" if spot.pods else "") + (f", {spot.type}" if spot.type else "")
    parts = [rect((x, y), (wide, deep), _fill(spot), stroke=RULE if spot.kind == "free" else INK, thick=0.8, dash="2 2" if spot.kind == "free" else "", hover=words)]
    if spot.kind == "blocked":
        parts += [line((x, y), (x + wide, y + deep), FAINT), line((x, y + deep), (x + wide, y), FAINT)]
    elif spot.kind != "free":
        edge = y + deep - 1.5 if _front(floor, spot.row_no) > 0 else y + 1.5
        parts.append(line((x + 1.5, edge), (x + wide - 1.5, edge), BLUE, thick=2.5))
    return parts


def _trays(plan: Plan, floor: Floor) -> list[str]:
    """Draw trays above the rows and across them, thin enough to read what lies below."""
    crosses = [floor.origin[0] + x * floor.scale for x in plan.placement.hall.cross_trays_x_m]
    middles = [row[3] for row in floor.rows.values()]
    parts = []
    for _, left, right, middle in floor.rows.values():
        parts.append(line((min([left, *crosses]), middle), (max([right, *crosses]), middle), GREEN, thick=4, faint=0.75))
    if len(middles) > 1:
        for x in crosses:
            parts.append(line((x, min(middles)), (x, max(middles)), PURPLE, thick=6, faint=0.75))
    return parts


def _names(spots: Sequence[Spot], floor: Floor) -> list[str]:
    """Write row names at both ends, rack names (each, or every fifth), and in the racks their SU or role."""
    each = text_width("A00", 8) <= min(spot.size[0] for spot in spots) - 2
    crosses_end = (floor.low[0], floor.high[0])
    parts = []
    abreast = Counter(round(middle) for _, _, _, middle in floor.rows.values())
    for name, left, right, middle in floor.rows.values():
        if max(abreast.values()) > 1:  # rows side by side: a name at the begin of each
            parts.append(text((left - 3, middle + 4), name, 11, anchor="end", bold=True, halo=True))
            continue
        at_left, at_right = min(left, crosses_end[0]) - 10, max(right, crosses_end[1]) + 10
        parts += [text((at_left, middle + 5), name, 15, anchor="end", bold=True, width=AROUND - 20), text((at_right, middle + 5), name, 15, bold=True, width=AROUND - 40)]
    for row_no, members in groupby(spots, key=lambda s: s.row_no):
        row = list(members)
        front = _front(floor, row_no)
        for i, spot in enumerate(row):
            if not each and spot.position % 5 and 0 < i < len(row) - 1:
                continue
            if not each and i == len(row) - 1 and spot.position % 5 < 3 and i > 0 and spot.position % 5:
                continue
            if spot.kind != "blocked":
                wide, deep = spot.size
                y = spot.at[1] + deep / 2 + front * deep * 0.27 + 4
                size, room = (11.0, wide - 3) if each else (8.0, 2.6 * wide)
                parts.append(text((spot.at[0] + wide / 2, y), spot.rack, size, anchor="middle", colour=FAINT if spot.kind == "free" else INK, halo=not each, width=room))
        for words, run in groupby(row, key=_words):
            parts += _run(words, list(run), front)
    return parts


def _run(words: str, run: Sequence[Spot], front: int) -> list[str]:
    """Write once, over neighbouring racks of one kind, what they are."""
    deep = run[0].size[1]
    room = run[-1].at[0] + run[-1].size[0] - run[0].at[0] - 4
    lines = [words] if text_width(words, 10) <= room else words.split(" + ")
    if max(text_width(w, 5) for w in lines) > room or deep < 20 * len(lines):
        lines = ["net"] if run[0].kind == "network" and text_width("net", 5) <= room else []
    x, y = run[0].at[0] + room / 2 + 2, run[0].at[1] + deep / 2 - front * deep * 0.27 + 4 - 6 * (len(lines) - 1)
    parts = []
    for row, shown in enumerate(filter(None, lines)):
        if len(run) > 1:
            wider = min(text_width(shown, 11) + 8, room)
            fill = _fill(run[0])
            top, foot = 14 if row == 0 else 10, 7 if shown == lines[-1] else 3
            parts.append(rect((x - wider / 2, y + row * 12 - top), (wider, top + foot), "#ffffff" if fill.startswith("url") else fill, stroke="none"))
        parts.append(text((x, y + row * 12), shown, 11, anchor="middle", bold=len(run) > 1, width=room))
    return parts


def _words(spot: Spot) -> str:
    """Say in a few letters what a rack is: its SU, or the switches in it."""
    if spot.kind == "network":
        return spot.roles.replace("+", " + ")
    if spot.kind == "node":
        return f"SU {spans(spot.pods)}" if spot.pods else "node"
    return "later" if spot.kind == "reserved" else ""


def _sizes(floor: Floor) -> list[str]:
    """Dimension lines: total width above the hall, total depth to its right."""
    (left, top), (right, bottom) = floor.low, floor.high
    y, x = top - 22, right + AROUND - 18
    parts = [line((left, y), (right, y), FAINT), line((left, y - 5), (left, y + 5), FAINT), line((right, y - 5), (right, y + 5), FAINT)]
    parts += [line((x, top), (x, bottom), FAINT), line((x - 5, top), (x + 5, top), FAINT), line((x - 5, bottom), (x + 5, bottom), FAINT)]
    parts.append(text(((left + right) / 2, y - 8), f"{(right - left) / floor.scale:.2f} m", 12, anchor="middle", colour=FAINT))
    turned = text((0, 0), f"{(bottom - top) / floor.scale:.2f} m", 12, anchor="middle", colour=FAINT)
    return [*parts, f'<g transform="translate({x + 15:.2f} {(top + bottom) / 2:.2f}) rotate(90)">{turned}</g>']


def _scale_bar(at: Point, scale: float) -> list[str]:
    step = next((s for s in STEPS_M if s * scale >= 60), STEPS_M[-1])
    parts = []
    for i in range(4):
        x = at[0] + i * step * scale
        if i < 3:
            parts.append(rect((x, at[1]), (step * scale, 7), INK if i % 2 == 0 else "#ffffff", thick=0.8))
        parts.append(text((x, at[1] + 20), f"{i * step:g}" + (" m" if i == 3 else ""), 10, anchor="middle" if i else "start"))
    return parts


def _entries(spots: Sequence[Spot]) -> list[tuple[str | Mark, str]]:
    kinds = {spot.kind for spot in spots}
    pods = sorted({spot.pods[0] for spot in spots if spot.kind == "node" and spot.pods})
    entries: list[tuple[str | Mark, str]] = [(SU_TINTS[pod], f"node rack, SU {pod}") for pod in pods if pod < len(SU_TINTS)]
    if pods and pods[-1] >= len(SU_TINTS):
        entries.append((SU_TINTS[0], f"SU {len(SU_TINTS)} and further: the colours repeat"))
    roles = {role for spot in spots if spot.kind == "network" for role in spot.roles.split("+")}
    network = f"network rack ({', '.join(role for role in ROLES if role in roles)})"
    free = Mark(12, (rect((0, 0), (12, 12), "#ffffff", stroke=RULE, dash="2 2"),))
    blocked = Mark(12, (rect((0, 0), (12, 12), "#ffffff"), line((0, 0), (12, 12), FAINT), line((0, 12), (12, 0), FAINT)))
    marks: dict[str, tuple[str | Mark, str]] = {"network": (NETWORK, network), "reserved": ("url(#later)", "reserved for growth")}
    marks |= {"free": (free, "free position"), "blocked": (blocked, "blocked position")}
    return entries + [entry for kind, entry in marks.items() if kind in kinds]


def _line_legend(at: Point, crossed: bool) -> list[str]:
    parts, x = [], at[0]
    kinds = [(GREEN, 4.0, "tray above a row"), *([(PURPLE, 6.0, "cross tray")] if crossed else []), (BLUE, 2.5, "front of a rack")]
    for colour, thick, words in kinds:
        parts += [line((x, at[1] + 6), (x + 26, at[1] + 6), colour, thick=thick), text((x + 32, at[1] + 10), words, 11)]
        x += 32 + text_width(words, 11) + 18
    return parts
