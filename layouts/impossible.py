"""What a design asks of placement that cannot be together: said in numbers before any search begins."""

from __future__ import annotations

import numpy as np

from ..fabric.tables import NONE
from ..fabric.topology import Topology
from ..problems import Problem
from .arrangement import blocks_of_nodes
from .hall import Floats, Hall, Ints, Mask
from .pins import Wishes, inside, pinned, racks_of_group, wishes
from .placement import Ground
from .sizes import device_sizes, kilo


def impossible(topology: Topology, ground: Ground) -> list[Problem]:
    """Return what pins, forbidden racks, feeds and `apart` make impossible together, and notes on feeds that carry little."""
    spec, hall = topology.design.placement, ground.hall
    if not (spec.pins or spec.forbidden or spec.apart or spec.power_groups):
        return []
    asked = wishes(topology, hall, ground.racks)
    problems = _shut_pins(topology, hall, asked)
    if not problems:
        problems = _too_tight(topology, hall, asked) + _cannot_stand_apart(topology, hall, asked)
    return problems + (_power_short(topology, ground, asked) if spec.power_groups else [])


def _shut_pins(topology: Topology, hall: Hall, asked: Wishes) -> list[Problem]:
    """Pins whose racks are all forbidden, and pins that leave a device no rack together."""
    spec = topology.design.placement
    names, rows = (hall.positions[c].gather(hall.free).to_list() for c in ("rack", "row"))
    forbidden = np.isin(names, spec.forbidden)
    holds = np.array([pinned(topology, pin) for pin in spec.pins], bool).reshape(len(spec.pins), topology.devices.height)
    within = np.array([inside(names, rows, pin.racks, pin.rows) for pin in spec.pins], bool).reshape(len(spec.pins), len(names))
    shut = np.array([not (racks & ~forbidden).any() for racks in within], bool)
    problems = []
    for i in range(len(spec.pins)):
        racks = np.flatnonzero(within[i])
        if shut[i]:
            what = f"placement.forbidden keeps it out of every rack it names: {_some([names[r] for r in racks.tolist()])}"
            fix = "name other racks, or take one of them off placement.forbidden"
            problems.append(Problem("pins-contradict", f"placement.pins.{i}", what, f"{int(holds[i].sum()):,} devices would have no place", fix))
    devices = topology.devices["device"].to_list()
    nowhere = np.flatnonzero(~asked.may.any(axis=1) & ~holds[shut].any(axis=0))
    groups: dict[tuple[int, ...], list[str]] = {}
    for dev in nowhere.tolist():
        groups.setdefault(tuple(np.flatnonzero(holds[:, dev]).tolist()), []).append(devices[dev])
    for pins, those in groups.items():
        who = " and ".join(f"placement.pins.{i}" for i in pins) or "forbidden racks"
        if pins and within[list(pins)].all(axis=0).any():
            who += " beside placement.forbidden"
        what = f"{who} leave {len(those)} devices no rack, such as {', '.join(those[:3])}"
        where = f"placement.pins.{pins[-1]}" if pins else "placement.forbidden"
        problems.append(Problem("pins-contradict", where, what, "a device must keep all of its pins at once", "let the pins name a common rack that is not forbidden"))
    return problems


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _too_tight(topology: Topology, hall: Hall, asked: Wishes) -> list[Problem]:
    """Devices that may stand in the same few racks only, and need more units, power or weight than is left there."""
    names = topology.devices["device"].to_list()
    sizes, spots = device_sizes(topology), hall.positions[hall.free]
    height, watts, kilos = (sizes[c].to_numpy() for c in ("height_ru", "power_w", "weight_kg"))
    free_ru = (~asked.taken).sum(axis=1)
    free_w, free_kg = spots["power_w"].to_numpy() - asked.power_w, spots["weight_kg"].to_numpy() - asked.weight_kg
    where = "placement.pins" if topology.design.placement.pins else "placement.forbidden"
    problems = []
    sets, of = np.unique(asked.may, axis=0, return_inverse=True)
    for number, racks in enumerate(sets):
        within = np.flatnonzero(~(asked.may[:, ~racks].any(axis=1)))
        need, room = int(height[within].sum()), int(free_ru[racks].sum())
        if need > room:
            what = f"{len(within):,} devices may stand only in {int(racks.sum()):,} racks: they take {need:,} U, {room:,} U are free there"
            why = f"such as {names[int(np.flatnonzero(np.asarray(of).ravel() == number)[0])]}: {need - room:,} U short"
            problems.append(Problem("pins-too-tight", where, what, why, "name more racks"))
        for need_of, left, unit in ((watts, free_w, "W"), (kilos, free_kg, "kg")):
            needs, has = float(need_of[within].sum()), float(left[racks].sum())
            if needs > has + 1e-3:
                what = f"{len(within):,} devices may stand only in {int(racks.sum()):,} racks: they come to {needs:,.0f} {unit}, {has:,.0f} {unit} are left there"
                problems.append(Problem("pins-too-tight", where, what, f"{needs - has:,.0f} {unit} short", "name more racks, or raise what the racks take"))
    return problems


def _cannot_stand_apart(topology: Topology, hall: Hall, asked: Wishes) -> list[Problem]:
    """Roles that must stand apart and have one rack."""
    names = hall.positions["rack"].gather(hall.free).to_list()
    role, plane = topology.devices["role"].to_list(), topology.devices["plane"].to_list()
    sets: dict[tuple[str, int], list[int]] = {}
    for dev, key in enumerate(zip(role, plane, strict=True)):
        if key[0] in topology.design.placement.apart:
            sets.setdefault(key, []).append(dev)
    problems = []
    for (name, number), devices in sets.items():
        racks = np.flatnonzero(asked.may[devices].any(axis=0))
        if len(devices) > 1 and len(racks) < 2:
            of_plane = "" if number == NONE else f" of plane {number}"
            what = f"all {len(devices)} {name} switches{of_plane} may stand only in {names[int(racks[0])] if len(racks) else 'no rack'}"
            problems.append(Problem("stand-apart", "placement.apart", what, "they must not share one rack", f"give them a second rack, or take {name} off placement.apart"))
    return problems


def _power_short(topology: Topology, ground: Ground, asked: Wishes) -> list[Problem]:
    """By how much feeds and racks carry too little, at their most; notes on feeds that carry no rack of nodes."""
    feeds, left = _feeds(topology, ground.hall, asked)
    sizes = device_sizes(topology)["power_w"].to_numpy()
    need, carried = float(sizes.sum()), sum(power for _, power, _ in feeds)
    blocks = [float(sizes[block].sum()) for block in blocks_of_nodes(topology, ground.racks)[0]]
    one = min(blocks, default=0.0)
    full = max((kind.whole.power_w for kind in ground.racks.values()), default=0.0)
    per_feed = [_racks_on(power, one, left[members]) for _, power, members in feeds]
    told = "; ".join(f"{name}: {kilo(power)} kW in {len(members):,} racks" for name, power, members in feeds)
    fix = "raise power_kw, put more racks on feeds with power to spare, or add positions to hall.rows"
    if need > carried + 1e-3:
        what = f"the devices draw {kilo(need)} kW, feeds and racks carry {kilo(carried)} kW at most: {kilo(need - carried)} kW short"
        return [Problem("power-short", "placement.power_groups", what, told, fix)]
    if len(blocks) > sum(per_feed):
        what = f"{len(blocks):,} racks of nodes needed, feeds and racks carry {sum(per_feed):,}: {len(blocks) - sum(per_feed):,} short"
        why = f"a rack of nodes draws {kilo(full)} kW; " + "; ".join(f"{name}: {kilo(power)} kW carry {count}" for (name, power, _), count in zip(feeds, per_feed, strict=True))
        return [Problem("power-short", "placement.power_groups", what, why, f"{fix}; or lower hall.nodes_per_rack")]
    return [
        Problem(
            "power-group-small",
            f"placement.power_groups.{i}",
            f"{name} carries {kilo(power)} kW, a rack of nodes draws {kilo(full)} kW",
            "only switches can stand there",
            "raise its power_kw, or lower hall.nodes_per_rack",
            "note",
        )
        for i, ((name, power, members), count) in enumerate(zip(feeds, per_feed, strict=True))
        if not count and len(members) and i < len(topology.design.placement.power_groups)
    ]


def _feeds(topology: Topology, hall: Hall, asked: Wishes) -> tuple[list[tuple[str, float, Ints]], Floats]:
    """Each power group with what it can still carry and the racks that no earlier one has, then the racks on no feed; and what is left of each rack's power."""
    groups = topology.design.placement.power_groups
    names = hall.positions["rack"].gather(hall.free).to_list()
    limit_w = hall.positions["power_w"].to_numpy()[hall.free]
    left = np.where(asked.may.any(axis=0), np.maximum(limit_w - asked.power_w, 0.0), 0.0)
    alone: Mask = np.ones(len(names), bool)
    feeds = []
    for number, group in enumerate(groups):
        fed = set(racks_of_group(hall, group))
        members = np.flatnonzero(np.array([name in fed for name in names]) & alone)
        alone[members] = False
        power = min(max(0.0, group.power_kw * 1000 - float(asked.power_w[members].sum())), float(left[members].sum()))
        feeds.append((group.name or f"feed {number + 1} ({'+'.join([*group.rows, *group.racks])})", power, members))
    rest = np.flatnonzero(alone)
    return [*feeds, *([("racks on no feed", float(left[rest].sum()), rest)] if len(rest) else [])], left


def _racks_on(power: float, one: float, left: Floats) -> int:
    """Most racks of nodes that a feed carries, each drawing `one` or more."""
    racks = int((left >= one - 1e-6).sum())
    return racks if one <= 0 else min(racks, int((power + 1e-6) // one))
