"""What a device takes of a rack: units, power, weight, heat to the air; and how many of a size one rack allows."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import polars as pl

from ..fabric.hall_spec import HallSpec
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.models import Switch
from .racks import RackLimits
from .tables import SIZES

HIGHEST = {"power": "highest power", "weight": "weight", "air": "share of heat that goes to the air"}


class Size(NamedTuple):
    """Height in rack units, highest power in W, weight in kg, heat to the air in W, and whether liquid must cool it."""

    height_ru: int
    power_w: float
    weight_kg: float
    air_w: float = 0.0
    liquid: bool = False


class Allowed(NamedTuple):
    """How many of one size a rack allows, by each of its limits."""

    by_height: int
    by_power: int
    by_weight: int
    by_cooling: int


MANY = 1_000_000
"""More devices than any rack has room for: what a limit that is none allows."""


def allowed(limits: RackLimits, size: Size) -> Allowed:
    """Count how many devices of one size each limit allows."""
    return Allowed(
        limits.height_ru // size.height_ru if size.height_ru else MANY,
        int((limits.power_w + 1e-6) // size.power_w) if size.power_w else MANY,
        int((limits.bears_kg + 1e-6) // size.weight_kg),
        0 if size.liquid and not limits.liquid else int(min(MANY, (limits.air_w + 1e-6) / max(size.air_w, 1e-6))),
    )


def misfits(limits: RackLimits, size: Size) -> list[str]:
    """Say in a few words by which limits of a rack a single device is too much, and by how much; empty when it fits."""
    over = []
    if size.height_ru > limits.height_ru:
        over.append(f"{size.height_ru} U in {limits.height_ru} U, {size.height_ru - limits.height_ru} U too high")
    for need, limit, word in ((size.power_w, limits.power_w, "drawn"), (size.air_w, limits.air_w, "to the air")):
        if need > limit + 1e-6:
            over.append(f"{kilo(need)} kW {word} of {kilo(limit)} kW, {kilo(need - limit)} kW too much")
    for limit, word in ((limits.weight_kg, "rack"), (limits.floor_kg, "floor")):
        if size.weight_kg > limit + 1e-6:
            over.append(f"{size.weight_kg:,g} kg on a {word} that bears {limit:,g} kg, {round(size.weight_kg - limit, 3):,g} kg too heavy")
    if size.liquid and not limits.liquid:
        over.append("cooled by liquid, which does not reach it")
    return over


def kinds(topology: Topology) -> pl.DataFrame:
    """Return every kind of device there is: profile, role and model, one row each."""
    return topology.devices.select("profile", "role", "model").unique().sort("role", "model", "profile")


def kind_sizes(topology: Topology) -> dict[tuple[str, str, str], Size]:
    """Size of each kind of device by (profile, role, model)."""
    return {key: _size(topology, key[0])[0] for key in kinds(topology).iter_rows()}


def device_sizes(topology: Topology) -> pl.DataFrame:
    """Size of every device, future ones included; table `SIZES` in device order."""
    found = kind_sizes(topology)
    if not found:
        return pl.DataFrame(schema=SIZES)
    table = pl.DataFrame([(*key, *size) for key, size in found.items()], schema=["profile", "role", "model", *Size._fields], orient="row")
    joined = topology.devices.join(table, on=["profile", "role", "model"], how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(dtype) for name, dtype in SIZES.items())


def assumptions(topology: Topology) -> list[Problem]:
    """Warn once for each model and figure that the catalog lacks and the hall assumes."""
    found: dict[tuple[str, str], Problem] = {}
    for profile, _, model in kinds(topology).iter_rows():
        for datum, text, field in _size(topology, profile)[1]:
            if datum == "air" and not cooling_is_limited(topology.design.hall):
                continue
            fix = f"set hall.{field} to your figure, or add it to the part's file" if field else f"add {datum}_percent to the part's file"
            found.setdefault((model, datum), Problem(f"{datum}-assumed", model, f"{HIGHEST[datum]} not known: {text} each taken", "", fix, "warning"))
    return list(found.values())


def _size(topology: Topology, profile: str) -> tuple[Size, list[tuple[str, str, str]]]:
    """Size of one profile, and what was assumed for it: datum, figure, field of the hall."""
    spec, part = topology.design.hall, topology.profiles[profile].part
    kind = "switch" if isinstance(part, Switch) else "node"
    power_w, weight_kg = part.power_max_w, part.weight_kg
    assumed: list[tuple[str, str, str]] = []
    if power_w is None:
        field = f"assumed_{kind}_power_w"
        power_w = max(getattr(spec, field), part.power_typical_w or 0.0)  # the highest draw can't be below the typical one
        assumed.append(("power", f"{power_w:,g} W", field))
    if weight_kg is None:
        field = f"assumed_{kind}_weight_kg"
        weight_kg = getattr(spec, field)
        assumed.append(("weight", f"{weight_kg:,g} kg", field))
    percent = 100.0 if part.cooling == "air" else part.air_percent
    if percent is None:
        percent, field = (spec.assumed_air_percent, "assumed_air_percent") if part.cooling == "liquid" else (100.0, "")
        assumed.append(("air", f"{percent:,g} %", field))
    return Size(part.height_ru, power_w, weight_kg, power_w * percent / 100, part.cooling != "air"), assumed


def cooling_is_limited(spec: HallSpec) -> bool:
    """True when the hall says of any rack or row how much heat the air takes."""
    return spec.rack_cooling_kw is not None or any(r.rack_cooling_kw is not None or r.cooling_kw is not None for r in spec.rows)


def arranging_limits(topology: Topology, limits: RackLimits) -> RackLimits:
    """Limits of height, power and weight that keep those of cooling and floor too, whatever of the plan stands in the rack beside its PDUs."""
    limits = beside_pdus(topology, limits)
    share = max((size.air_w / size.power_w for size in kind_sizes(topology).values() if size.power_w), default=1.0)
    power_w = min(limits.power_w, limits.air_w / share) if share else limits.power_w
    return RackLimits(limits.height_ru, power_w, limits.bears_kg)


def beside_pdus(topology: Topology, limits: RackLimits) -> RackLimits:
    """What the PDUs of a rack leave of it to everything else."""
    if topology.design.pdus is None:
        return limits
    one, count = _size(topology, "pdu")[0], topology.design.pdus.per_rack
    return replace(
        limits,
        height_ru=limits.height_ru - count * one.height_ru,
        power_w=limits.power_w - count * one.power_w,
        weight_kg=limits.weight_kg - count * one.weight_kg,
        floor_kg=limits.floor_kg - count * one.weight_kg,
        air_w=limits.air_w - count * one.air_w,
    )


class NodeRack(NamedTuple):
    """How racks are filled with one kind of node: its size, and how many stand in a rack."""

    size: Size
    per_rack: int

    @property
    def whole(self) -> Size:
        """What a full rack takes."""
        size, n = self.size, self.per_rack
        return Size(n * size.height_ru, n * size.power_w, n * size.weight_kg, n * size.air_w, size.liquid)


def kilo(value: float) -> str:
    """Watts as kilowatts, without needless digits."""
    return f"{round(value / 1000, 3):,.10g}"
