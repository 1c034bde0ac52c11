"""hall.svg: floor plan to scale: rows, aisles, racks by role and SU, which fabrics have switches in them, blocked and free positions, trays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE
from . import DEFAULTS, Options
from .cluster_colours import fabric_colours, server_racks
from .hall_floor import Floor, Spot, front, rack_names, spots_of, stand
from .hall_page import Standing, extent, hall_page, spot_marks
from .hall_runs import run_legend, runs
from .svg import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILLION, YELLOW, Mark, plural, rect, spans, text, text_width, tint

if TYPE_CHECKING:
    from ..plan import Plan

NETWORK, SWITCHED, SERVERS = ORANGE, "#ffffff", tint(VERMILLION, 0.3)
"""Fills of racks with network only, the second where marks show their fabrics, and of racks with servers only."""
ROLES = ("node", "leaf", "spine", "core", "ufm", "server")
SU_TINTS = tuple(tint(colour, 0.42) for colour in (SKY, GREEN, PURPLE, YELLOW, BLUE, GREY))
"""SUs take turns in these; the text in the rack tells them apart."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw hall.svg."""

    def standing(floor: Floor) -> Standing:
        spots = spots_with_racks(plan, floor)
        colours = fabric_colours(plan.topology.fabrics)
        racks = [part for spot in spots for part in (*_rack(spot, floor), *_fabric_marks(spot, floor, colours))]
        legend = [*_entries(spots, colours), *run_legend(plan.trays)]
        return Standing(racks, _names(spots, floor, plan.placement.hall.listed), legend, runs=runs(plan.trays, floor))

    return {"hall.svg": hall_page(plan.placement.hall, f"{plan.design.name}: hall", _facts(plan), standing)}


def spots_with_racks(plan: Plan, floor: Floor) -> list[Spot]:
    """Return every position of the hall with what stands there."""
    devices = plan.topology.devices
    several = list(plan.topology.fabrics) if len(plan.topology.fabrics) > 1 else []
    inside = plan.placement.places.select("rack").hstack(devices.select("role", "pod", "fabric")).group_by("rack").agg("role", "pod", "fabric")
    held = {rack: (set(roles), set(pods), set(fabrics)) for rack, roles, pods, fabrics in inside.iter_rows()}
    servers = server_racks(plan)
    used = {rack: "reserved" if reserved else role for rack, role, reserved in plan.placement.racks.select("rack", "role", "reserved").iter_rows()}
    spots = []
    for spot in spots_of(plan.placement.hall, floor):
        roles, pods, fabrics = held.get(spot.rack, (set(), set(), set()))
        kind = spot.kind if spot.kind == "blocked" else used.get(spot.rack, "free")
        kind = "server" if kind == "network" and spot.rack in servers else kind
        named = "+".join(role for role in ROLES if role in roles)
        spots.append(replace(spot, kind=kind, roles=named, pods=tuple(sorted(pods - {NONE})), fabrics=tuple(f for f in several if f in fabrics)))
    return spots


def _facts(plan: Plan) -> list[str]:
    racks, hall = plan.placement.racks, plan.placement.hall
    blocked = int(hall.positions["blocked"].sum())
    later = int(racks["reserved"].sum())
    built = racks.filter(~pl.col("reserved"))
    node = int((built["role"] == "node").sum())
    servers = len(set(built["rack"]) & server_racks(plan))
    network = built.height - node - servers
    free = hall.positions.height - blocked - racks.height
    rows = hall.positions["row_no"].n_unique()
    return [
        f"{plural(racks.height, 'rack')} on {plural(hall.positions.height, 'position')} in {plural(rows, 'row')}: {node:,} with nodes, {network:,} with network only, "
        f"{f'{servers:,} with servers only, ' if servers else ''}"
        f"{later:,} reserved for growth; {plural(free, 'position')} free, {blocked:,} blocked.",
        extent(hall),
    ]


def _fill(spot: Spot) -> str:
    if spot.kind == "node":
        return SU_TINTS[spot.pods[0] % len(SU_TINTS)] if spot.pods else "#dddddd"
    return {"network": SWITCHED if spot.fabrics else NETWORK, "server": SERVERS, "reserved": "url(#later)"}.get(spot.kind, "#ffffff")


def _rack(spot: Spot, floor: Floor) -> list[str]:
    what = {
        "blocked": "blocked position",
        "free": "free position",
        "reserved": f"reserved for growth ({spot.roles})",
        "network": f"network rack ({spot.roles})",
        "server": "server rack",
        "node": f"node rack ({spot.roles})",
    }
    words = f"{spot.rack}: {what[spot.kind]}" + (f", SU {spans(spot.pods)}" if spot.pods else "") + (f", {spot.type}" if spot.type else "")
    words += f", fabrics {', '.join(spot.fabrics)}" if spot.fabrics else ""
    return stand(spot, floor, _fill(spot), words)


def _fabric_marks(spot: Spot, floor: Floor, colours: dict[str, str]) -> list[str]:
    """A square in the colour of each fabric that has switches in the rack, along its back."""
    if not spot.fabrics:
        return []
    (x, y), (wide, deep) = spot.at, spot.size
    step = min(9.0, (wide - 4) / len(spot.fabrics))
    top = y + 2 if front(floor, spot.row_no) > 0 else y + deep - 2 - min(6.0, step)
    return [rect((x + 2 + step * i, top), (step - 1, min(6.0, step)), colours[fabric], stroke=INK, thick=0.4) for i, fabric in enumerate(spot.fabrics)]


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
    if len(lines) > 2 and any(spot.fabrics for spot in run):  # three lines would lie on the marks
        lines = ["net"]
    x, y = run[0].at[0] + room / 2 + 2, run[0].at[1] + deep / 2 - side * deep * 0.27 + 4 - 6 * (len(lines) - 1) + (4 * side if run[0].fabrics else 0)
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
    if spot.kind == "server":
        return "servers"
    return "later" if spot.kind == "reserved" else ""


def _entries(spots: Sequence[Spot], colours: dict[str, str]) -> list[tuple[str | Mark, str]]:
    kinds = {spot.kind for spot in spots}
    pods = sorted({spot.pods[0] for spot in spots if spot.kind == "node" and spot.pods})
    entries: list[tuple[str | Mark, str]] = [(SU_TINTS[pod], f"node rack, SU {pod}") for pod in pods if pod < len(SU_TINTS)]
    if pods and pods[-1] >= len(SU_TINTS):
        entries.append((SU_TINTS[0], f"SU {len(SU_TINTS)} and further: the colours repeat"))
    roles = {role for spot in spots if spot.kind == "network" for role in spot.roles.split("+")}
    network = f"network rack ({', '.join(role for role in ROLES if role in roles)})"
    fabrics = [fabric for fabric in colours if any(fabric in spot.fabrics for spot in spots)]
    marks: dict[str, tuple[str | Mark, str]] = {
        "network": (SWITCHED if fabrics else NETWORK, network),
        "server": (SERVERS, "server rack"),
        "reserved": ("url(#later)", "reserved for growth"),
    }
    small: list[tuple[str | Mark, str]] = [(Mark(8, (rect((0, 3), (8, 6), colours[fabric], stroke=INK, thick=0.4),)), f"switches of {fabric}") for fabric in fabrics]
    return [*entries, *(entry for kind, entry in marks.items() if kind in kinds), *small, *spot_marks(spots)]
