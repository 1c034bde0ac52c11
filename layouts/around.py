"""The fixed arrangements in a hall that is not empty: they leave forbidden racks alone and stand around what is there already.

First without the racks that hold equipment; then in those too, where the equipment leaves room for a full rack of nodes:
all racks are then used like the fullest of them (a management switch at the top of every rack takes its unit off all).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from .arrangements import PRESETS, Arranged
from .hall import Hall, Mask
from .kept import Kept
from .pins import Wishes, wishes
from .placement import Ground
from .sizes import allowed


def arranged_around(name: str, topology: Topology, ground: Ground) -> Iterator[Arranged]:
    """Yield the arrangement in every way it fits around what the hall holds, the most regular first; nothing where it does not fit."""
    spec, hall = topology.design.placement, ground.hall
    asked = wishes(topology, hall, ground.racks) if spec.pins or spec.power_groups else None
    if not spec.forbidden and not spec.existing:
        found = PRESETS[name](topology, hall, ground.racks, ground.cap, asked)
        yield from () if found is None else (found,)
        return
    full = asked or wishes(topology, hall, ground.racks)
    names = hall.positions["rack"].gather(hall.free)
    forbidden = names.is_in(spec.forbidden).to_numpy()
    busy = full.taken.any(axis=1) | (full.power_w > 0) | (full.weight_kg > 0)
    empty = _without(hall, forbidden | busy)
    found = PRESETS[name](topology, empty, ground.racks, ground.cap, asked and wishes(topology, empty, ground.racks))
    if found is not None:
        yield found
    if spec.existing:
        beside = _beside(name, topology, ground, forbidden, full, asked is not None)
        yield from () if beside is None else (beside,)


def arranged_beside(name: str, topology: Topology, ground: Ground, kept: Kept) -> Iterator[Arranged]:
    """Yield kept devices where they are and all others in the arrangement, on racks without kept ones."""
    hall = ground.hall
    shut = np.isin(hall.free, kept.position[kept.mask & (topology.devices["role"] != "pdu").to_numpy()])  # a rack may have its PDUs before all else
    others = np.flatnonzero(~kept.mask)
    if not len(others):
        yield Arranged(kept.position, kept.ru)
        return
    rest = replace(topology, devices=topology.devices[others].with_columns(dev=pl.int_range(pl.len(), dtype=pl.UInt32)))
    for found in arranged_around(name, rest, replace(ground, hall=_without(hall, shut))):
        position, ru = (np.zeros(topology.devices.height, np.int64) for _ in range(2))
        position[others], ru[others] = found
        yield Arranged(*kept.override(position, ru))


def racks_needed(name: str, topology: Topology, ground: Ground) -> int:
    """Racks that the arrangement takes in an empty hall with as many rows more as it needs."""
    hall = ground.hall
    while len(hall.free):
        found = PRESETS[name](topology, hall, ground.racks, ground.cap, None)
        if found is not None:
            return len(np.unique(found.position))
        more = hall.positions.with_columns(pl.col("row_no") + hall.positions["row_no"].n_unique())
        hall = replace(hall, positions=pl.concat([hall.positions, more.select(hall.positions.columns)]))
    return 0


def _without(hall: Hall, shut: Mask) -> Hall:
    """The hall with some of its free positions blocked; rows of its table stay where they are."""
    blocked = hall.positions["blocked"].to_numpy().copy()
    blocked[hall.free[shut]] = True
    return replace(hall, positions=hall.positions.with_columns(pl.Series("blocked", blocked)))


def _beside(name: str, topology: Topology, ground: Ground, forbidden: Mask, full: Wishes, pinned: bool) -> Arranged | None:
    """The arrangement in racks of which the equipment leaves as many units, as much power and weight as a full rack of nodes takes."""
    hall = ground.hall
    left_w, left_kg = (hall.positions[c].to_numpy()[hall.free] - taken for c, taken in (("power_w", full.power_w), ("weight_kg", full.weight_kg)))
    height, power_w, weight_kg = (max((kind.whole[i] for kind in ground.racks.values()), default=0) for i in range(3))
    roomy = np.array([_window(row)[1] >= height for row in full.taken], bool) & (left_w >= power_w) & (left_kg >= weight_kg)
    shut = forbidden | ~roomy
    if shut.all():
        return None
    low, units = _window(np.asarray(full.taken[~shut].any(axis=0)))
    least = {"height_ru": units, "power_w": float(left_w[~shut].min()), "weight_kg": float(left_kg[~shut].min())}
    open_ = _without(hall, shut)
    there = replace(open_, positions=open_.positions.with_columns(pl.lit(value, open_.positions.schema[column]).alias(column) for column, value in least.items()))
    racks = {profile: kind._replace(per_rack=min(kind.per_rack, *allowed(there.least, kind.size))) for profile, kind in ground.racks.items()}
    if any(kind.per_rack == 0 for kind in racks.values()):
        return None
    found = PRESETS[name](topology, there, racks, ground.cap, wishes(topology, open_, racks) if pinned else None)
    return None if found is None else Arranged(found.position, found.ru + low)


def _window(taken: Mask) -> tuple[int, int]:
    """(units below, units) of the longest run of free units, the lowest of equal ones."""
    edges = np.flatnonzero(np.diff(np.r_[True, taken, True].astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]
    if not len(begins):
        return 0, 0
    longest = int(np.argmax(ends - begins))
    return int(begins[longest]), int(ends[longest] - begins[longest])
