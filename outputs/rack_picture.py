"""racks.svg: elevations of the racks, every device at its true unit and height; many racks alike are drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl

from ..fabric.tables import SWITCHES
from . import DEFAULTS, Options
from .cluster_colours import fabric_colours, fill_of, server_racks, words_of
from .svg import FAINT, INK, MARGIN, RULE, Point, header, ink_on, legend, page, plural, rect, spans, text, text_width, wrap

if TYPE_CHECKING:
    from ..plan import Plan

Row = dict[str, Any]
"""A row of a table: RACKS, or `_devices`."""
RACKS_MAX = 60
"""More racks than this are too many to draw one by one."""
NETWORK_MAX = 24
"""Network racks drawn one by one beside folded node racks."""
LIMITS_MAX = 4
"""Different limits of racks that are told one by one."""
UNIT, WIDTH, GUTTER, GAP = 12.0, 150.0, 22.0, 16.0
"""Height of a rack unit, width of a rack, room for unit numbers, and space between racks."""
COLUMNS = 10
ROLE_WORDS = {"node": "GPU node", "leaf": "leaf switch", "spine": "spine switch", "core": "core switch", "ufm": "UFM server", "server": "server", "pdu": "PDU"}


@dataclass(frozen=True)
class Kind:
    """Racks filled alike: their rows of RACKS, the first of them as the example, and its devices (rows of `_devices`)."""

    racks: tuple[Row, ...]
    devices: tuple[Row, ...]


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw racks.svg."""
    kinds = _kinds(plan)
    folded = any(len(kind.racks) > 1 for kind in kinds)
    lines = _lines(kinds, folded)
    columns = max(len(shelf) for shelf in lines)
    width = max(columns * (GUTTER + WIDTH + GAP), 640.0)
    title = f"{plan.design.name}: racks"
    facts = _facts(plan, kinds)
    parts, y = header(title, facts, width)
    colours = fabric_colours(plan.topology.fabrics)
    drawn_kinds = {_kind(d): None for kind in kinds for d in kind.devices}
    entries = list(dict.fromkeys((fill_of(kind, colours), words_of(kind, plan, ROLE_WORDS)) for kind in sorted(drawn_kinds, key=lambda k: _legend_order(k, colours))))
    if not plan.topology.devices["present"].all():
        entries.append(("url(#later)", "room kept for growth"))
    drawn, high = legend((MARGIN, y), entries, width)
    parts += drawn
    y += high + 14
    row = None
    for shelf in lines:
        if not folded:
            again, row = row == shelf[0].racks[0]["row"], shelf[0].racks[0]["row"]
            parts.append(text((MARGIN, y + 4), f"Row {row}" + (", continued" if again else ""), 14, bold=True))
            y += 14
        units = max(kind.racks[0]["height_ru"] for kind in shelf)
        for column, kind in enumerate(shelf):
            parts += _rack(kind, colours, (MARGIN + column * (GUTTER + WIDTH + GAP) + GUTTER, y), units)
        y += units * UNIT + 92
    if folded:
        drawn, y = _list(kinds, y, width)
        parts += drawn
    return {"racks.svg": page(title, " ".join(facts), (width + 2 * MARGIN, y + MARGIN - 10), parts)}


def _devices(plan: Plan) -> pl.DataFrame:
    """Return every device with its place: rack, ru, height_ru, device, role, fabric, profile, model, present."""
    columns = ("device", "role", pl.when(pl.col("role").is_in(SWITCHES)).then(pl.col("fabric")).otherwise(pl.lit("")), "profile", "model", "present")
    return plan.placement.places.select("rack", "ru", "height_ru").hstack(plan.topology.devices.select(columns))


def _kinds(plan: Plan) -> list[Kind]:
    """Racks in hall order, each its own kind; in large halls racks filled alike together, network racks only when they are many."""
    racks = plan.placement.racks.to_dicts()
    inside: dict[str, list[Row]] = {rack["rack"]: [] for rack in racks}
    for device in _devices(plan).sort("rack", "ru", "height_ru", "device", descending=[False, True, True, False]).iter_rows(named=True):
        inside[device["rack"]].append(device)
    fold_network = sum(rack["role"] == "network" for rack in racks) > NETWORK_MAX
    alike: dict[tuple[object, ...], list[Row]] = {}
    for rack in racks:
        key: tuple[object, ...] = (rack["rack"],)
        if len(racks) > RACKS_MAX and (rack["role"] == "node" or fold_network):
            key = (rack["role"], rack["type"], rack["height_ru"], *((d["ru"], d["height_ru"], d["role"], d["fabric"], d["model"], d["present"]) for d in inside[rack["rack"]]))
        alike.setdefault(key, []).append(rack)
    return [Kind(tuple(members), tuple(inside[members[0]["rack"]])) for members in alike.values()]


def _lines(kinds: Sequence[Kind], folded: bool) -> list[list[Kind]]:
    """Kinds on shelves of the page: a new one for each row of the hall, unless folding has mixed the rows."""
    shelves: list[list[Kind]] = []
    for _, row in groupby(kinds, key=lambda kind: "" if folded else kind.racks[0]["row"]):
        members = list(row)
        count = -(-len(members) // COLUMNS)
        size = -(-len(members) // count)
        shelves += [members[i : i + size] for i in range(0, len(members), size)]
    return shelves


def _facts(plan: Plan, kinds: Sequence[Kind]) -> list[str]:
    racks = plan.placement.racks
    built = racks.filter(~pl.col("reserved"))
    node, servers = int((built["role"] == "node").sum()), len(set(built["rack"]) & server_racks(plan))
    later, network = racks.height - built.height, built.height - node - servers
    count = (
        f"{plural(racks.height, 'rack')}: {node:,} with nodes, {network:,} with network only"
        + (f", {servers:,} with servers only" if servers else "")
        + (f", {later:,} reserved for growth" if later else "")
    )
    load = f"{racks['power_w'].sum() / 1000:,.1f} kW and {racks['weight_kg'].sum():,.0f} kg in all; {_may_hold(plan)}."
    drawn = f" {len(kinds):,} drawn, the {racks.height - len(kinds):,} others are filled like one of them: see the list below." if len(kinds) < racks.height else " All drawn."
    return [f"{count}.{drawn}", load + " Units count from 1 at the bottom; power is the highest draw."]


def _may_hold(plan: Plan) -> str:
    """Say what a rack may hold, type by type where they differ."""
    used = plan.placement.racks.select("rack").join(plan.placement.hall.positions, on="rack", how="left", maintain_order="left")
    limits = used.select("type", "height_ru", "power_w", pl.min_horizontal("weight_kg", "floor_kg")).unique(maintain_order=True).rows()
    if len(limits) > LIMITS_MAX:
        (low_ru, high_ru), (low_w, high_w), (low_kg, high_kg) = ((min(column), max(column)) for column in list(zip(*limits, strict=True))[1:])
        return f"racks may hold {low_ru} to {high_ru} U, {low_w / 1000:g} to {high_w / 1000:g} kW, {low_kg:,.0f} to {high_kg:,.0f} kg"
    most = [(model, f"{height_ru} U, {power_w / 1000:g} kW, {weight_kg:,.0f} kg") for model, height_ru, power_w, weight_kg in limits]
    return f"a rack may hold {most[0][1]}" if len(most) == 1 else "racks may hold " + "; ".join(f"{model} {words}" for model, words in most)


def _rack(kind: Kind, colours: dict[str, str], at: Point, units_of_shelf: int) -> list[str]:
    """Draw one rack with its foot on the shelf's floor, unit numbers to its left and its figures below."""
    rack = kind.racks[0]
    units = rack["height_ru"]
    x, floor = at[0], at[1] + units_of_shelf * UNIT
    high = units * UNIT
    reserved = rack["reserved"]
    parts = [rect((x, floor - high), (WIDTH, high), "#f4f4f4", stroke=INK, thick=2, dash="6 3" if reserved else "")]
    for unit in range(1, units + 1):
        y = floor - (unit - 1) * UNIT
        parts.append(text((x - 4, y - 3), str(unit), 7.5, anchor="end", colour=FAINT))
        if unit > 1:
            parts.append(f'<path d="M{x:g} {y:g}h{WIDTH:g}" stroke="#dedede" stroke-width="0.5"/>')
    for device in kind.devices:
        parts += _device(device, colours, x, floor) if device["height_ru"] else []
    parts += _strips([device for device in kind.devices if not device["height_ru"]], colours, x, floor, high)
    used, kilowatts, kilograms = rack["used_ru"], float(rack["power_w"]) / 1000, float(rack["weight_kg"])
    middle, name = x + WIDTH / 2, rack["rack"]
    parts.append(text((middle, floor + 18), name, 14, anchor="middle", bold=True, width=WIDTH))
    planned = sum(device["height_ru"] for device in kind.devices)
    what, load = (f"{used} of {units} U used", f"{kilowatts:,.1f} kW, {kilograms:,.0f} kg") if not reserved else ("reserved for growth", f"0 of {units} U used, {planned} U later")
    parts += [text((middle, floor + 33), what, 10, anchor="middle"), text((middle, floor + 47), load, 10, anchor="middle")]
    if len(kind.racks) > 1:
        parts.append(text((middle, floor + 63), f"x {len(kind.racks):,} racks alike", 11, anchor="middle", bold=True, width=WIDTH + GUTTER))
    return parts


def _device(device: Row, colours: dict[str, str], x: float, floor: float) -> list[str]:
    ru, height = device["ru"], device["height_ru"]
    role, name, present = device["role"], device["device"], device["present"]
    top, high = floor - (ru - 1 + height) * UNIT, height * UNIT
    own = fill_of(_kind(device), colours)
    fill = own if present else "url(#later)"
    ink = ink_on(own) if present else INK
    of = f" of {device['fabric']}" if device["fabric"] and len(colours) > 1 else ""
    words = f"{name}, {ROLE_WORDS[role]}{of} {device['model']}, U{ru}" + (f"-{ru + height - 1}" if height > 1 else "") + ("" if present else ", later")
    parts = [rect((x + 3, top + 0.75), (WIDTH - 6, high - 1.5), fill, stroke=INK if present else FAINT, thick=0.75, radius=2, dash="" if present else "3 2", hover=words)]
    middle, size = x + WIDTH / 2, 9 if height == 1 else 10 if height == 2 else 12
    y = top + high / 2 + size * 0.36
    more = f"{device['model']}" + ("" if present else " (later)")
    if height > 2:
        parts.append(text((middle, y + 8), more, 8.5, anchor="middle", colour=ink, width=WIDTH - 14))
        y -= 6
    parts.append(text((middle, y), name, size, anchor="middle", colour=ink, bold=height > 2, width=WIDTH - 14))
    return parts


def _strips(devices: Sequence[Row], colours: dict[str, str], x: float, floor: float, high: float) -> list[str]:
    """Draw what takes no unit, such as PDUs, as strips in the sides of the rack: left, right, left again."""
    parts = []
    for number, device in enumerate(devices):
        inward = 3.0 * (number // 2)
        left = x - 1 + inward if number % 2 == 0 else x + WIDTH - 2 - inward
        fill = fill_of(_kind(device), colours) if device["present"] else "url(#later)"
        parts.append(rect((left, floor - high + 4), (3, high - 8), fill, stroke=INK, thick=0.4, hover=f"{device['device']}, {ROLE_WORDS[device['role']]} {device['model']}"))
    return parts


def _kind(device: Row) -> tuple[str, str, str]:
    """Role, fabric and, of a server, its profile: what its colour goes by."""
    return device["role"], device["fabric"], device["profile"] if device["role"] == "server" else ""


def _legend_order(kind: tuple[str, str, str], colours: dict[str, str]) -> tuple[int, int, int, str]:
    """Nodes, switches fabric by fabric, servers, PDUs; with one fabric as roles go."""
    role, fabric, profile = kind
    roles = list(ROLE_WORDS)
    switch = role in SWITCHES
    return (0 if role == "node" else 1 if switch else 2, list(colours).index(fabric) if switch else 0, roles.index(role), profile)


def _list(kinds: Sequence[Kind], y: float, width: float) -> tuple[list[str], float]:
    """List which racks are filled like each drawn one; every rack of the hall stands in it or is drawn."""
    parts = [f'<path d="M{MARGIN} {y - 6:g}h{width:g}" stroke="{RULE}"/>', text((MARGIN, y + 16), "Which racks are alike", 14, bold=True)]
    y += 36
    for kind in kinds:
        if len(kind.racks) == 1:
            continue
        head = f"{len(kind.racks):,} like {kind.racks[0]['rack']}:"
        indent = max(110.0, text_width(head, 11) + 14)
        parts.append(text((MARGIN, y), head, 11, bold=True))
        for words in wrap(_names(kind.racks), 11, width - indent):
            parts.append(text((MARGIN + indent, y), words, 11))
            y += 16
        y += 4
    single = [kind.racks[0] for kind in kinds if len(kind.racks) == 1]
    if single:
        for words in wrap(f"Drawn as they are: {_names(single)}", 11, width):
            parts.append(text((MARGIN, y), words, 11))
            y += 16
    return parts, y


def _names(racks: Sequence[Row]) -> str:
    """Rack names as spans within their rows: A01-A08, B02."""
    return ", ".join(spans((r["position"] for r in members), f"{row}{{:02d}}") for row, members in groupby(racks, key=lambda r: r["row"]))
