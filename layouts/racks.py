"""Which rack type stands on which position, and what each may hold: units, power, weight, heat to the air, load on the floor.

A figure that the design gives for a rack wins over its type's: the hall's figures are for the hall's own type, a row's
for the row's own type, and single positions of another type have their own. Cooling belongs to the place: the row's
figure wins over the hall's, whatever rack stands there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..fabric.hall_spec import HallSpec, RowSpec
from ..problems import DesignError, Problem
from ..vendors.catalog import Catalog
from ..vendors.models import RackType

Ints = NDArray[np.int64]
UNLIMITED = float("inf")


@dataclass(frozen=True)
class RackLimits:
    """What one rack may hold."""

    height_ru: int
    power_w: float
    weight_kg: float
    floor_kg: float = UNLIMITED
    """What the floor bears of what stands in the rack."""
    air_w: float = UNLIMITED
    """Heat that the air takes from the rack."""
    liquid: bool = True
    """Liquid-cooled parts may stand here."""

    @property
    def bears_kg(self) -> float:
        """What rack and floor both bear."""
        return min(self.weight_kg, self.floor_kg)


class Spot(NamedTuple):
    """The rack of one position, as the columns of table `POSITIONS` of these names have it."""

    type: str
    height_ru: int
    power_w: float
    weight_kg: float
    floor_kg: float
    air_w: float
    row_air_w: float
    liquid: bool
    width_m: float
    depth_m: float
    outer_m: float


class Stand(NamedTuple):
    """Free positions of one row that are alike: their rack type and limits, how many there are, and what the air takes from the whole row."""

    row: str
    type: str
    limits: RackLimits
    free: int
    row_air_w: float


def rack_types(spec: HallSpec, catalog: Catalog) -> dict[str, RackType]:
    """Every rack type that the hall names; raises DesignError with all unknown ones and the nearest names."""
    found: dict[str, RackType] = {}
    problems: list[Problem] = []
    for where, model in _named(spec):
        try:
            found[model] = catalog.rack(model)
        except DesignError as error:
            problems += [Problem("rack-type", where, p.what, p.why, p.fix) for p in error.problems]
    if problems:
        raise DesignError(problems)
    return found


def _named(spec: HallSpec) -> list[tuple[str, str]]:
    """(design path, rack type) of every place that names one."""
    named = [("hall.rack", spec.rack)]
    for i, row in enumerate(spec.rows):
        named += [(f"hall.rows.{i}.rack", row.rack)] if row.rack is not None else []
        named += [(f"hall.rows.{i}.other_racks.{j}.rack", other.rack) for j, other in enumerate(row.other_racks)]
    return named


def rack_limits(spec: HallSpec, rack: RackType, power_kw: float | None = None, weight_kg: float | None = None) -> RackLimits:
    """Limits of a rack of the hall: the figures given win over the rack type's; without any the hall's own, for its own type."""
    own = rack.model == spec.rack
    power_kw = spec.rack_power_kw if power_kw is None and own else power_kw
    weight_kg = spec.rack_weight_kg if weight_kg is None and own else weight_kg
    ground_m2 = rack.width_mm * rack.depth_mm / 1e6
    return RackLimits(
        rack.height_ru,
        rack.power_w if power_kw is None else round(power_kw * 1000, 3),
        rack.weight_kg if weight_kg is None else weight_kg,
        UNLIMITED if spec.floor_kg_per_m2 is None else round(max(0.0, spec.floor_kg_per_m2 * ground_m2 - (rack.own_weight_kg or 0.0)), 3),
        _watts(spec.rack_cooling_kw),
    )


def spots_of(spec: HallSpec, rows: Sequence[RowSpec], types: Mapping[str, RackType]) -> tuple[list[Spot], list[Ints]]:
    """The different racks of the rows, and for every row which of them stands on each of its positions."""
    wet = not any(row.liquid for row in spec.rows)
    number: dict[Spot, int] = {}
    made: dict[tuple[object, ...], int] = {}

    def numbered(row: RowSpec, model: str, power_kw: float | None, weight_kg: float | None) -> int:
        key = (model, power_kw, weight_kg, row.rack_cooling_kw, row.cooling_kw, row.liquid)
        if key not in made:
            made[key] = number.setdefault(_spot(spec, row, types[model], power_kw, weight_kg, wet), len(number))
        return made[key]

    found = []
    for row in rows:
        own = np.full(row.racks, numbered(row, row.rack or spec.rack, row.rack_power_kw, row.rack_weight_kg), np.int64)
        for other in row.other_racks:
            own[np.array(other.positions) - 1] = numbered(row, other.rack, other.rack_power_kw, other.rack_weight_kg)
        found.append(own)
    return list(number), found


def _spot(spec: HallSpec, row: RowSpec, rack: RackType, power_kw: float | None, weight_kg: float | None, wet: bool) -> Spot:
    limits = rack_limits(spec, rack, power_kw, weight_kg)
    return Spot(
        rack.model,
        limits.height_ru,
        limits.power_w,
        limits.weight_kg,
        limits.floor_kg,
        limits.air_w if row.rack_cooling_kw is None else _watts(row.rack_cooling_kw),
        _watts(row.cooling_kw),
        row.liquid or wet,
        rack.width_mm / 1000,
        rack.depth_mm / 1000,
        rack.height_mm / 1000,
    )


def _watts(kilowatts: float | None) -> float:
    return UNLIMITED if kilowatts is None else round(kilowatts * 1000, 3)


LIMITS = ("height_ru", "power_w", "weight_kg", "floor_kg", "air_w", "liquid")
"""Columns of `POSITIONS` that make up a `RackLimits`."""


def limits_of(positions: pl.DataFrame) -> list[RackLimits]:
    """Limits of the rack of every position."""
    return [RackLimits(*row) for row in positions.select(LIMITS).iter_rows()]


def stands_of(positions: pl.DataFrame) -> list[Stand]:
    """Free positions grouped by row, type and limits, in the order of the hall."""
    keys = ["row", "type", *LIMITS, "row_air_w"]
    groups = positions.filter(~pl.col("blocked")).group_by(keys, maintain_order=True).len()
    return [Stand(row, model, RackLimits(*limits), count, air_w) for row, model, *limits, air_w, count in groups.iter_rows()]


def least(limits: Sequence[RackLimits]) -> RackLimits:
    """What every one of these racks may hold."""
    return RackLimits(
        min(k.height_ru for k in limits),
        min(k.power_w for k in limits),
        min(k.weight_kg for k in limits),
        min(k.floor_kg for k in limits),
        min(k.air_w for k in limits),
        all(k.liquid for k in limits),
    )
