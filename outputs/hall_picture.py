"""hall.svg: floor plan to scale: rows, aisles, racks by role and SU, blocked and free positions, trays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE
from . import DEFAULTS, Options
from .hall_floor import Floor, Spot, front, rack_names, spots_of, stand
from .hall_page import Standing, extent, hall_page, spot_marks
from .hall_runs import run_legend, runs
from .svg import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, Mark, plural, rect, spans, text, text_width, tint

if TYPE_CHECKING:
    from ..plan import Plan

NETWORK = ORANGE
ROLES = ("node", "leaf", "spine", "core", "ufm", "server")
SU_TINTS = tuple(tint(colour, 0.42) for colour in (SKY, GREEN, PURPLE, YELLOW, BLUE, GREY))
"""SUs take turns in these; the text in the rack tells them apart."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw hall.svg."""

    def standing(floor: Floor) -> Standing:
        spots = spots_with_racks(plan, floor)
        racks = [part for spot in spots for part in _rack(spot, floor)]
        legend = [*_entries(spots), *run_legend(plan.trays)]
        return Standing(racks, _names(spots, floor, plan.placement.hall.listed), legend, runs=runs(plan.trays, floor))

    return {"hall.svg": hall_page(plan.placement.hall, f"{plan.design.name}: hall", _facts(plan), standing)}


def spots_with_racks(plan: Plan, floor: Floor) -> list[Spot]:
    """Return every position of the hall with what stands there."""
    devices = plan.topology.devices
    inside = plan.placement.places.select("rack").hstack(devices.select("role", "pod")).group_by("rack").agg("role", "pod")
    held = {rack: (set(roles), set(pods)) for rack, roles, pods in inside.iter_rows()}
    used = {rack: "reserved" if reserved else role for rack, role, reserved in plan.placement.racks.select("rack", "role", "reserved").iter_rows()}
    spots = []
    for spot in spots_of(plan.placement.hall, floor):
        roles, pods = held.get(spot.rack, (set(), set()))
        kind = spot.kind if spot.kind == "blocked" else used.get(spot.rack, "free")
        spots.append(replace(spot, kind=kind, roles="+".join(role for role in ROLES if role in roles), pods=tuple(sorted(pods - {NONE}))))
    return spots


def _facts(plan: Plan) -> list[str]:
    racks, hall = plan.placement.racks, plan.placement.hall
    blocked = int(hall.positions["blocked"].sum())
    later = int(racks["reserved"].sum())
    built = racks.filter(~pl.col("reserved"))
    node, network = (int((built["role"] == role).sum()) for role in ("node", "network"))
    free = hall.positions.height - blocked - racks.height
    rows = hall.positions["row_no"].n_unique()
    return [
        f"{plural(racks.height, 'rack')} on {plural(hall.positions.height, 'position')} in {plural(rows, 'row')}: {node:,} with nodes, {network:,} with network only, "
        f"{later:,} reserved for growth; {plural(free, 'position')} free, {blocked:,} blocked.",
        extent(hall),
    ]


def _fill(spot: Spot) -> str:
    if spot.kind == "node":
        return SU_TINTS[spot.pods[0] % len(SU_TINTS)] if spot.pods else "#dddddd"
    return {"network": NETWORK, "reserved": "url(#later)"}.get(spot.kind, "#ffffff")


def _rack(spot: Spot, floor: Floor) -> list[str]:
    what = {
        "blocked": "blocked position",
        "free": "free position",
        "reserved": f"reserved for growth ({spot.roles})",
        "network": f"network rack ({spot.roles})",
        "node": f"node rack ({spot.roles})",
    }
    words = f"{spot.rack}: {what[spot.kind]}" + (f", SU {spans(spot.pods)}" if spot.pods else "") + (f", {spot.type}" if spot.type else "")
    return stand(spot, floor, _fill(spot), words)


def _names(spots: Sequence[Spot], floor: Floor, halo: bool) -> list[str]:
    """Write rack names, and in the racks their SU or role."""
    parts = []
    for row_no, members in groupby(spots, key=lambda s: s.row_no):
        row = list(members)
        parts += rack_names(row, floor, halo)
        for words, run in groupby(row, key=_words):
            parts += _run(words, list(run), front(floor, row_no))
    return parts


def _run(words: str, run: Sequence[Spot], side: int) -> list[str]:
    """Write once, over neighbouring racks of one kind, what they are."""
    deep = run[0].size[1]
    room = run[-1].at[0] + run[-1].size[0] - run[0].at[0] - 4
    lines = [words] if text_width(words, 10) <= room else words.split(" + ")
    if max(text_width(w, 5) for w in lines) > room or deep < (66 if len(lines) > 1 else 20):  # two lines need room beside what lies in the tray
        lines = ["net"] if run[0].kind == "network" and text_width("net", 5) <= room else []
    x, y = run[0].at[0] + room / 2 + 2, run[0].at[1] + deep / 2 - side * deep * 0.27 + 4 - 6 * (len(lines) - 1)
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


def _entries(spots: Sequence[Spot]) -> list[tuple[str | Mark, str]]:
    kinds = {spot.kind for spot in spots}
    pods = sorted({spot.pods[0] for spot in spots if spot.kind == "node" and spot.pods})
    entries: list[tuple[str | Mark, str]] = [(SU_TINTS[pod], f"node rack, SU {pod}") for pod in pods if pod < len(SU_TINTS)]
    if pods and pods[-1] >= len(SU_TINTS):
        entries.append((SU_TINTS[0], f"SU {len(SU_TINTS)} and further: the colours repeat"))
    roles = {role for spot in spots if spot.kind == "network" for role in spot.roles.split("+")}
    network = f"network rack ({', '.join(role for role in ROLES if role in roles)})"
    marks: dict[str, tuple[str | Mark, str]] = {"network": (NETWORK, network), "reserved": ("url(#later)", "reserved for growth")}
    return [*entries, *(entry for kind, entry in marks.items() if kind in kinds), *spot_marks(spots)]
