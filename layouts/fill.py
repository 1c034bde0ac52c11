"""How many devices of a kind stand in a rack, and what the hall's racks cannot take: everything that is known before anything is placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from ..fabric.tables import SWITCHES
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.catalog import Catalog
from ..vendors.models import Node
from .arrangement import blocks_of_nodes
from .racks import UNLIMITED, RackLimits, Stand
from .sizes import NodeRack, Size, allowed, device_sizes, kilo, kind_sizes, misfits


def node_racks(topology: Topology, stands: Sequence[Stand]) -> tuple[dict[str, NodeRack], list[Problem]]:
    """Profile -> how its nodes fill racks, each kind in racks of its own.

    As many as the hall asks, else the largest published number that the hall has enough positions for, else as many as
    fit; at least 1. The problems say when the number asked for does not fit, or when no published one does.
    """
    racks, problems = {}, []
    for (profile, role, _), size in kind_sizes(topology).items():
        if role == "node":
            per_rack, found = _nodes_in_a_rack(topology, stands, profile, size)
            racks[profile] = NodeRack(size, per_rack)
            problems += found
    return racks, list(dict.fromkeys(problems))


def room(stands: Sequence[Stand], kind: NodeRack) -> int:
    """Free positions that take a full rack of nodes, were all others empty."""
    whole, total = kind.whole, 0
    for _, row in groupby(stands, key=lambda s: s.row):
        alike = list(row)
        fitting = sum(s.free for s in alike if not misfits(s.limits, whole))
        total += min(fitting, int(min(fitting, (alike[0].row_air_w + 1e-6) / max(whole.air_w, 1e-6))))
    return total


def roomiest(stands: Sequence[Stand], size: Size) -> RackLimits:
    """The limits that allow most devices of a size; of equal ones the first."""
    return max((s.limits for s in stands), key=lambda limits: min(allowed(limits, size)))


def _nodes_in_a_rack(topology: Topology, stands: Sequence[Stand], profile: str, size: Size) -> tuple[int, list[Problem]]:
    limits = roomiest(stands, size)
    fit = allowed(limits, size)
    most = max(1, min(fit))
    reason = _reason(limits, size)
    asked = topology.design.hall.nodes_per_rack
    if asked != "auto":
        if min(fit) and asked > most:
            fix = f"set hall.nodes_per_rack to {most} or less, or {raise_limits(limits, size, asked)}"
            return most, [Problem("nodes-per-rack", "hall.nodes_per_rack", f"{asked} nodes in a rack asked for, {most} fit", reason, fix)]
        return asked, []
    part = topology.profiles[profile].part
    published = part.per_rack if isinstance(part, Node) else ()
    fitting = {n for n in published if n <= most} or {max(1, min(allowed(s.limits, size))) for s in stands}
    count = int(((topology.devices["profile"] == profile) & (topology.devices["role"] == "node")).sum())
    per_rack, notes = _that_stand(stands, size, sorted(fitting, reverse=True), count)
    if published and per_rack not in published and min(fit):
        what = f"{per_rack} nodes in a rack; published are {', '.join(map(str, sorted(set(published))))}"
        notes.append(Problem("nodes-per-rack", "hall", what, reason, raise_limits(limits, size, min(published)), "note"))
    return per_rack, notes


def _reason(limits: RackLimits, size: Size) -> str:
    """How many of a size each limit of a rack allows, in words."""
    fit = allowed(limits, size)
    air = f"; {kilo(size.air_w)} kW each to the air of {kilo(limits.air_w)} kW: {fit.by_cooling}" if fit.by_cooling < min(fit[:3]) else ""
    return (
        f"{size.height_ru} U each in {limits.height_ru} U: {fit.by_height}; {kilo(size.power_w)} kW each in {kilo(limits.power_w)} kW: {fit.by_power}; "
        f"{size.weight_kg:,g} kg each in {limits.bears_kg:,g} kg: {fit.by_weight}{air}"
    )


def _that_stand(stands: Sequence[Stand], size: Size, numbers: Sequence[int], count: int) -> tuple[int, list[Problem]]:
    """The first of the numbers of nodes in a rack (descending) that the hall has positions for, else the one that seats most nodes."""
    seats = [n * room(stands, NodeRack(size, n)) for n in numbers]
    at = next((i for i, seated in enumerate(seats) if seated >= count), int(np.argmax(seats)))
    if at == 0:
        return numbers[0], []
    what = f"{numbers[at]} nodes in a rack, for racks of {numbers[0]} seat {seats[0]:,} of {count:,} nodes"
    why = "every rack of a kind of node holds as many"
    return numbers[at], [Problem("nodes-per-rack", "hall.rows", what, why, "raise the limits of the rows with less, or set hall.nodes_per_rack", "note")]


def switches_cap(topology: Topology, stands: Sequence[Stand]) -> tuple[int, list[Problem]]:
    """Most devices of a network rack as the hall asks; warns when U, power, weight or cooling allow fewer."""
    asked = topology.design.hall.switches_per_rack
    if asked == "auto":
        return int(np.iinfo(np.int32).max), []
    problems = {}
    for (_, role, model), size in kind_sizes(topology).items():
        limits = roomiest(stands, size)
        fit = allowed(limits, size)
        if role in SWITCHES and min(fit) < asked:
            what = f"{asked} switches in a rack asked for, {min(fit)} of {model} fit"
            why = f"by height {fit.by_height}, by power {fit.by_power}, by weight {fit.by_weight}" + (f", by cooling {fit.by_cooling}" if fit.by_cooling < min(fit[:3]) else "")
            fix = f"set hall.switches_per_rack to {max(1, min(fit))}, or {raise_limits(limits, size, asked)}"
            problems[model] = Problem("switches-per-rack", "hall.switches_per_rack", what, why, fix, "warning")
    return asked, list(problems.values())


def raise_limits(limits: RackLimits, size: Size, count: int) -> str:
    """Return the advice that makes room for `count` devices of a size in one rack."""
    advice = []
    if count * size.height_ru > limits.height_ru:
        advice.append(f"choose a rack type of {count * size.height_ru} U")
    if count * size.power_w > limits.power_w + 1e-6:
        advice.append(f"raise hall.rack_power_kw to {kilo(count * size.power_w)}")
    if count * size.weight_kg > limits.weight_kg + 1e-6:
        advice.append(f"raise hall.rack_weight_kg to {count * size.weight_kg:,g}")
    if count * size.weight_kg > limits.floor_kg + 1e-6:
        advice.append(f"raise hall.floor_kg_per_m2 so that the floor bears {count * size.weight_kg:,g} kg in a rack")
    if count * size.air_w > limits.air_w + 1e-6:
        advice.append(f"raise hall.rack_cooling_kw to {kilo(count * size.air_w)}")
    return " and ".join(advice)


def too_big(topology: Topology, stands: Sequence[Stand], own: RackLimits, catalog: Catalog) -> list[Problem]:
    """Return every device that no rack of the hall holds, and every rack type that holds no device; `own` are the limits of the hall's own type."""
    if {s.limits for s in stands} <= {own}:
        return _beyond(topology, own, catalog)
    sizes = {model: (role, size) for (_, role, model), size in kind_sizes(topology).items()}
    problems = []
    for model, (role, size) in sizes.items():
        if all(misfits(s.limits, size) for s in stands):
            why = "; ".join(f"{named}: {', '.join(misfits(limits, size))}" for named, limits in _by_limits(stands))
            fix = f"give a row racks of {size.height_ru} U or more, {kilo(size.power_w)} kW and {size.weight_kg:,g} kg"
            problems.append(Problem("no-rack-type", "hall.rows", f"one {model} ({role}) fits no rack of the hall", why, fix + (" with liquid cooling" if size.liquid else "")))
    for named, limits in _by_limits(stands):
        if all(misfits(limits, size) for _, size in sizes.values()):
            why = "; ".join(f"one {model}: {', '.join(misfits(limits, size))}" for model, (_, size) in sizes.items())
            problems.append(Problem("rack-unused", "hall.rows", f"nothing of the plan fits {named}", why, "choose another rack type, raise its limits, or block its positions"))
    return problems


def _by_limits(stands: Sequence[Stand]) -> list[tuple[str, RackLimits]]:
    """Racks that are alike: (their type and rows in words, limits)."""
    rows: dict[tuple[str, RackLimits], dict[str, int]] = {}
    for stand in stands:
        rows.setdefault((stand.type, stand.limits), {})[stand.row] = 1
    return [(f"{model} in row {', '.join(names)}", limits) for (model, limits), names in rows.items()]


def _beyond(topology: Topology, limits: RackLimits, catalog: Catalog) -> list[Problem]:
    """Every limit of the hall's own rack that is below a single device."""
    problems: dict[tuple[str, str], Problem] = {}
    for (_, role, model), size in kind_sizes(topology).items():
        one = f"one {model} ({role})"
        if size.height_ru > limits.height_ru:
            fitting = [r.model for r in catalog.racks.values() if r.height_ru >= size.height_ru]
            fix = f"choose a rack type of at least {size.height_ru} U" + (f": {', '.join(fitting)}" if fitting else "")
            problems.setdefault((model, "height"), Problem("rack-height", "hall.rack", f"{one} takes {size.height_ru} U, a rack has {limits.height_ru} U", "", fix))
        if size.power_w > limits.power_w + 1e-6:
            what = f"{one} draws {kilo(size.power_w)} kW, a rack may draw {kilo(limits.power_w)} kW"
            fix = f"raise hall.rack_power_kw to {kilo(size.power_w)} or more, or choose a rack type with more power"
            problems.setdefault((model, "power"), Problem("rack-power", "hall.rack_power_kw", what, "", fix))
        if size.weight_kg > limits.weight_kg + 1e-6:
            what = f"{one} weighs {size.weight_kg:,g} kg, a rack may hold {limits.weight_kg:,g} kg"
            fix = f"raise hall.rack_weight_kg to {size.weight_kg:,g} or more, or choose a rack type that bears more"
            problems.setdefault((model, "weight"), Problem("rack-weight", "hall.rack_weight_kg", what, "", fix))
        if size.weight_kg > limits.floor_kg + 1e-6:
            what = f"{one} weighs {size.weight_kg:,g} kg, the floor bears {limits.floor_kg:,g} kg in a rack"
            fix = "raise hall.floor_kg_per_m2, or choose a rack type that covers more ground"
            problems.setdefault((model, "floor"), Problem("floor-load", "hall.floor_kg_per_m2", what, "", fix))
        if size.air_w > limits.air_w + 1e-6:
            what = f"one {model} ({role}) gives {kilo(size.air_w)} kW to the air, the air takes {kilo(limits.air_w)} kW from a rack"
            problems.setdefault((model, "air"), Problem("rack-cooling", "hall.rack_cooling_kw", what, "", f"raise hall.rack_cooling_kw to {kilo(size.air_w)} or more"))
    return list(problems.values())


def short_of_racks(topology: Topology, stands: Sequence[Stand], racks: Mapping[str, NodeRack]) -> list[Problem]:
    """Return by how much a hall whose racks differ is too small for its nodes, and for everything together."""
    problems = []
    blocks, _ = blocks_of_nodes(topology, racks)
    filled = Counter(topology.devices["profile"].gather([int(devs[0]) for devs in blocks]).to_list())
    for profile, kind in racks.items():
        have, need, whole = room(stands, kind), filled[profile], kind.whole
        if need <= have:
            continue
        short = need - have
        model = topology.profiles[profile].part.model
        lack = f"{short:,} short, which is {short * whole.height_ru:,} U and {kilo(short * whole.power_w)} kW"
        what = f"{need:,} racks of {kind.per_rack} {model} needed, {have:,} positions take one: {lack}"
        why = f"{_reason(roomiest(stands, kind.size), kind.size)}; " + "; ".join(f"{s.free} of {s.type} in row {s.row}: {_taken(s, whole)}" for s in stands)
        fix = f"add {short:,} position{'s' if short > 1 else ''} of {whole.height_ru} U, {kilo(whole.power_w)} kW and {whole.weight_kg:,.0f} kg or more"
        raised = _more_cooling(stands, whole, short)
        fix = f"raise cooling_kw of {raised}, or {fix} in another row" if raised else fix
        problems.append(Problem("hall-too-small", "hall.rows", what, why, fix + (" with liquid cooling" if whole.liquid else "")))
    return problems or _short_of_room(topology, stands, len(blocks))


def _short_of_room(topology: Topology, stands: Sequence[Stand], blocks: int) -> list[Problem]:
    """Return by how many positions, units, kilowatts and kilowatts of cooling all racks together are too few."""
    sizes = device_sizes(topology)
    need_ru, need_w = int(sizes["height_ru"].sum()), float(sizes["power_w"].sum())
    free, free_ru, free_w = sum(s.free for s in stands), sum(s.free * s.limits.height_ru for s in stands), sum(s.free * s.limits.power_w for s in stands)
    need_air_w, free_air_w = float(sizes["air_w"].sum()), 0.0
    for _, row in groupby(stands, key=lambda s: s.row):
        alike = list(row)
        free_air_w += min(alike[0].row_air_w, sum(s.free * s.limits.air_w for s in alike))
    short = [
        f"{blocks - free:,} racks" if blocks > free else "",
        f"{need_ru - free_ru:,} U" if need_ru > free_ru else "",
        f"{kilo(need_w - free_w)} kW" if need_w > free_w + 1e-3 else "",
        f"{kilo(need_air_w - free_air_w)} kW of cooling" if need_air_w > free_air_w + 1e-3 else "",
    ]
    if not any(short):
        return []
    what = f"{blocks:,} racks of nodes, {need_ru:,} U and {kilo(need_w)} kW needed: {', '.join(filter(None, short))} short"
    why = "the hall has " + "; ".join(f"{s.free} of {s.type} in row {s.row}, {s.free * s.limits.height_ru:,} U and {kilo(s.free * s.limits.power_w)} kW" for s in stands)
    return [Problem("hall-too-small", "hall.rows", what, why, "add positions to hall.rows")]


def _more_cooling(stands: Sequence[Stand], whole: Size, short: int) -> str:
    """Rows whose air holds back full racks of nodes, and what it would have to take for so many more; empty where rows do not."""
    found = []
    for row, own in groupby(stands, key=lambda s: s.row):
        alike = [s for s in own if s.row_air_w < UNLIMITED and not misfits(s.limits, whole)]
        if not alike:
            continue
        now = int((alike[0].row_air_w + 1e-6) / max(whole.air_w, 1e-6))
        more = min(sum(s.free for s in alike) - now, short)
        if more > 0:
            found.append(f"row {row} to {kilo((now + more) * whole.air_w)}")
            short -= more
    return " and ".join(found)


def _taken(stand: Stand, whole: Size) -> str:
    """What keeps a full rack of nodes off some positions of one row, in words."""
    wrong = misfits(stand.limits, whole)
    if wrong:
        return ", ".join(wrong)
    by_air = int(min(stand.free, (stand.row_air_w + 1e-6) / max(whole.air_w, 1e-6)))
    return "all fit" if by_air >= stand.free else f"{by_air} fit, the air takes {kilo(stand.row_air_w)} kW from the row"


def rows_without_nodes(topology: Topology, stands: Sequence[Stand], racks: Mapping[str, NodeRack]) -> list[Problem]:
    """Warn of rows whose cooling takes no rack of nodes though its racks would."""
    found = []
    rows = [r.name for r in topology.design.hall.rows]
    for row, alike in groupby(stands, key=lambda s: s.row):
        own = list(alike)
        fitting = [kind.whole for kind in racks.values() if any(not misfits(s.limits, kind.whole) for s in own)]
        if fitting and all(own[0].row_air_w + 1e-6 < whole.air_w for whole in fitting):
            least = min(whole.air_w for whole in fitting)
            what = f"the air takes {kilo(own[0].row_air_w)} kW from row {row}, a rack of nodes gives it {kilo(least)} kW: no node stands there"
            fix = f"raise cooling_kw of row {row} to {kilo(least)} or more, or let the row be one of switches"
            found.append(Problem("row-cooling", f"hall.rows.{rows.index(row)}.cooling_kw", what, "", fix, "warning"))
    return found
