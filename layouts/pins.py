"""What a design asks of placement besides the hall's own limits: read into masks, checked before any search, and as rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import polars as pl

from ..fabric.existing import strangers
from ..fabric.placement_spec import PinSpec, PowerGroupSpec
from ..fabric.tables import NONE
from ..fabric.topology import Topology
from ..problems import Problem, did_you_mean
from .cooling import share_row_cooling
from .hall import Floats, Hall, Ints, Mask
from .kept import STANDING, Kept
from .placement import Placement
from .sizes import NodeRack, device_sizes, kilo


@dataclass(frozen=True)
class Wishes:
    """Masks over the hall's free positions, in their order."""

    may: Mask
    """[device, free position]."""
    taken: Mask
    """[free position, unit - 1]: equipment stands there, or the rack is not as high."""
    power_w: Floats
    """Draw of what stands there already."""
    weight_kg: Floats
    block_here: Mask
    """Free positions that may take a rack of nodes, shared out so that power groups and the cooling of rows hold."""
    switches_here: Ints
    """Most switches of each free position, shared out likewise."""


def wishes(topology: Topology, hall: Hall, racks: Mapping[str, NodeRack] | None = None, standing: Kept | None = None) -> Wishes:
    """Read pins, forbidden racks and existing equipment; names were checked by `pin_problems`. Devices that are `standing` count as such equipment."""
    spec = topology.design.placement
    names = hall.positions["rack"].gather(hall.free).to_list()
    rows = hall.positions["row"].gather(hall.free).to_list()
    number = {name: i for i, name in enumerate(names)}
    may = np.ones((topology.devices.height, len(names)), bool)
    for pin in spec.pins:
        may[np.ix_(pinned(topology, pin), ~inside(names, rows, pin.racks, pin.rows))] = False
    may[:, [number[r] for r in spec.forbidden if r in number]] = False
    taken = np.arange(hall.highest_ru)[None, :] >= hall.positions["height_ru"].to_numpy()[hall.free][:, None]
    power_w, weight_kg = np.zeros(len(names)), np.zeros(len(names))
    for thing in (t for t in strangers(topology.design) if t.rack in number):
        taken[number[thing.rack], thing.ru - 1 : thing.ru - 1 + thing.height_ru] = True
        power_w[number[thing.rack]] += thing.power_w
        weight_kg[number[thing.rack]] += thing.weight_kg
    if standing is not None:
        _add_standing(topology, hall, standing, taken, power_w, weight_kg)
    block_here, switches_here = _shared_power(topology, hall, names, power_w, racks or {})
    for members, may_block, most in share_row_cooling(topology, hall, power_w, racks or {}, block_here.copy(), switches_here.copy()):
        block_here[members], switches_here[members] = may_block, most
    return Wishes(may, taken, power_w, weight_kg, block_here, switches_here)


def _add_standing(topology: Topology, hall: Hall, standing: Kept, taken: Mask, power_w: Floats, weight_kg: Floats) -> None:
    """Take the units, power and weight of devices that stand."""
    sizes, devices = device_sizes(topology), np.flatnonzero(standing.mask)
    number = np.full(hall.positions.height, -1, np.int64)
    number[hall.free] = np.arange(len(hall.free))
    at = number[standing.position[devices]]
    for spot, ru, height in zip(at.tolist(), standing.ru[devices].tolist(), sizes["height_ru"].to_numpy()[devices].tolist(), strict=True):
        taken[spot, ru - 1 : ru - 1 + height] = True
    np.add.at(power_w, at, sizes["power_w"].to_numpy()[devices])
    np.add.at(weight_kg, at, sizes["weight_kg"].to_numpy()[devices])


def narrowed(all_: Wishes, free: Ints) -> Wishes:
    """The wishes of some free positions."""
    return Wishes(all_.may[:, free], all_.taken[free], all_.power_w[free], all_.weight_kg[free], all_.block_here[free], all_.switches_here[free])


def _shared_power(topology: Topology, hall: Hall, names: Sequence[str], power_w: Floats, racks: Mapping[str, NodeRack]) -> tuple[Mask, Ints]:
    """Share out every power group: as many full node racks as it carries, from its begin, and switches for what is left."""
    block_here, switches_here = np.ones(len(names), bool), np.full(len(names), np.iinfo(np.int32).max, np.int64)
    sizes = device_sizes(topology)["power_w"].to_numpy()
    moves = topology.devices["role"].is_in(("node", *STANDING)).not_().to_numpy()
    rack_w = max((kind.whole.power_w for kind in racks.values()), default=1.0)
    switch_w = float(sizes[moves].max(initial=1.0))
    for group in topology.design.placement.power_groups:
        fed = racks_of_group(hall, group)
        members = np.array([i for i, name in enumerate(names) if name in fed], np.int64)
        left = group.power_kw * 1000 - float(power_w[members].sum())
        full = max(0, min(len(members), int(left // rack_w)))
        block_here[members[full:]] = False
        switches = max(0, int((left - full * rack_w) // switch_w))
        share = switches // max(1, len(members)) + (np.arange(len(members)) < switches % max(1, len(members)))
        switches_here[members] = np.minimum(switches_here[members], share)
    return block_here, switches_here


def pinned(topology: Topology, pin: PinSpec) -> Mask:
    """Devices that a pin speaks of."""
    devices = topology.devices
    if pin.device is not None:
        return np.array([fnmatchcase(name, pin.device) for name in devices["device"].to_list()])
    mask = devices["role"] == pin.role
    return np.asarray((mask if pin.pod is None else mask & (devices["pod"] == pin.pod)).to_numpy())


def inside(names: Sequence[str], rows: Sequence[str], some: Sequence[str], whole: Sequence[str]) -> Mask:
    """Racks (given by name and row) that are among some racks or in whole rows."""
    racks, lines = set(some), set(whole)
    return np.array([n in racks or r in lines for n, r in zip(names, rows, strict=True)], bool)


def pin_problems(topology: Topology, hall: Hall) -> list[Problem]:
    """Return every wish that names what is not there, or is wrong by itself; what wishes make impossible together is for `impossible.py`."""
    spec, at = topology.design.placement, "placement"
    blocked = dict(hall.positions.select("rack", "blocked").iter_rows())
    rows = hall.positions["row"].unique(maintain_order=True).to_list()
    problems: list[Problem] = []

    def named(where: str, racks: Sequence[str], whole: Sequence[str]) -> None:
        for rack in racks:
            if blocked.get(rack, True):
                what = f"position {rack} is blocked" if rack in blocked else f"the hall has no rack {rack!r}"
                problems.append(Problem("placement-rack", where, what, "nothing can stand there", did_you_mean(rack, [n for n, b in blocked.items() if not b])))
        problems.extend(Problem("placement-row", where, f"the hall has no row {row!r}", fix=did_you_mean(row, rows)) for row in whole if row not in rows)

    for i, pin in enumerate(spec.pins):
        named(f"{at}.pins.{i}", pin.racks, pin.rows)
        if not pinned(topology, pin).any():
            who = pin.device if pin.device is not None else f"{pin.role}" + (f" of pod {pin.pod}" if pin.pod is not None else "")
            known = topology.devices["device"].to_list() if pin.device is not None else topology.devices["role"].unique().to_list()
            problems.append(Problem("pin-unknown", f"{at}.pins.{i}", f"the plan has no {who}", "the pin would hold nothing", did_you_mean(str(pin.device or pin.role), known)))
    named(f"{at}.forbidden", spec.forbidden, ())
    for i, group in enumerate(spec.power_groups):
        named(f"{at}.power_groups.{i}", group.racks, group.rows)
    heights = dict(hall.positions.select("rack", "height_ru").iter_rows())
    units: dict[tuple[str, int], int] = {}
    for thing in strangers(topology.design):
        i, where = thing.number, f"{at}.existing.{thing.number}"
        named(where, (thing.rack,), ())
        top = thing.ru + thing.height_ru - 1
        if top > heights.get(thing.rack, top):
            problems.append(Problem("existing-outside", where, f"takes U{thing.ru} to U{top} of {thing.rack}, which has {heights[thing.rack]} U", fix="mend ru or height_ru"))
        clash = {units[key] for unit in range(thing.ru, top + 1) if (key := (thing.rack, unit)) in units}
        for other in sorted(clash):
            problems.append(Problem("existing-overlap", where, f"shares units of {thing.rack} with placement.existing.{other}", fix="mend ru or height_ru of one"))
        units.update({(thing.rack, unit): i for unit in range(thing.ru, top + 1)})
    return problems


def pins_are_kept(topology: Topology, placement: Placement) -> Iterator[Problem]:
    """Every device stands where its pins let it, and no forbidden rack is used."""
    if not topology.design.placement.pins and not topology.design.placement.forbidden:
        return
    w = wishes(topology, placement.hall)
    number = {name: i for i, name in enumerate(placement.hall.positions["rack"].gather(placement.hall.free).to_list())}
    for dev, rack in enumerate(placement.places["rack"].to_list()):
        if not w.may[dev, number[rack]]:
            yield Problem("pin", topology.devices["device"][dev], f"stands in {rack}, where a pin or a forbidden rack keeps it out")


def existing_equipment_is_left_alone(topology: Topology, placement: Placement) -> Iterator[Problem]:
    """No device takes units, power or weight of what stands already."""
    limits = {rack: (power_w, weight_kg) for rack, power_w, weight_kg in placement.hall.positions.select("rack", "power_w", "weight_kg").iter_rows()}
    existing = strangers(topology.design)
    for thing in existing:
        here = placement.places.filter(pl.col("rack") == thing.rack)
        top = thing.ru + thing.height_ru - 1
        if here.filter((pl.col("ru") <= top) & (pl.col("ru") + pl.col("height_ru") > thing.ru)).height:
            yield Problem("existing-units", thing.rack, f"U{thing.ru} to U{top} are taken by {thing.name}")
    for rack in dict.fromkeys(t.rack for t in existing):
        here = placement.places.filter(pl.col("rack") == rack)
        for column, limit, unit in zip(("power_w", "weight_kg"), limits[rack], ("W", "kg"), strict=True):
            total = here[column].sum() + sum(getattr(t, column) for t in existing if t.rack == rack)
            if here.height and total > limit + 1e-3:
                yield Problem(f"rack-{column.split('_')[0]}", rack, f"with what stands there already comes to {total:,.0f} {unit} of {limit:,g} {unit}")


def roles_stand_apart(topology: Topology, placement: Placement) -> Iterator[Problem]:
    """Devices of one role and plane that must stand apart are not all in one rack."""
    named = placement.places.with_columns(topology.devices["role"], topology.devices["plane"])
    for role in topology.design.placement.apart:
        counts = named.filter(pl.col("role") == role).group_by("plane").agg(pl.len().alias("n"), pl.col("rack").n_unique().alias("racks"), pl.col("rack").first()).sort("plane")
        for plane, n, racks, rack in counts.iter_rows():
            if n > 1 and racks == 1:
                where = "" if plane == NONE else f" of plane {plane}"
                yield Problem(
                    "stand-apart", rack, f"holds all {n} {role} switches{where}", "one rack must not take them all down", f"take {role} off placement.apart, or leave room"
                )


def power_groups_carry_their_racks(topology: Topology, placement: Placement) -> Iterator[Problem]:
    """What hangs on one feed draws no more than the feed carries."""
    draws = dict(placement.places.group_by("rack").agg(pl.col("power_w").sum()).iter_rows())
    for thing in strangers(topology.design):
        draws[thing.rack] = draws.get(thing.rack, 0.0) + thing.power_w
    for group in topology.design.placement.power_groups:
        total = sum(draws.get(rack, 0.0) for rack in racks_of_group(placement.hall, group))
        if total > group.power_kw * 1000 + 1e-3:
            yield Problem("power-group", group.name or "+".join([*group.rows, *group.racks]), f"draws {kilo(total)} kW of {group.power_kw:g} kW")


def racks_of_group(hall: Hall, group: PowerGroupSpec) -> list[str]:
    """Racks of a power group, in the hall's order."""
    racks, rows = set(group.racks), set(group.rows)
    return [rack for rack, row in hall.positions.select("rack", "row").iter_rows() if rack in racks or row in rows]


PIN_RULES = (pins_are_kept, existing_equipment_is_left_alone, roles_stand_apart, power_groups_carry_their_racks)
"""Rules that `rules.check_placement` adds to its own."""
