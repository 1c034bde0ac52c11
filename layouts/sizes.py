"""What a device takes of a rack (units, power, weight), and how many of a kind one rack allows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from ..fabric.tables import SWITCHES
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.catalog import Catalog
from ..vendors.models import Node, Switch
from .hall import RackLimits
from .tables import SIZES

NO_LIMIT = int(np.iinfo(np.int32).max)
"""More devices than any rack or cluster has."""

HIGHEST = {"power": "highest power", "weight": "weight"}


class Size(NamedTuple):
    """Height in rack units, highest power in W, weight in kg."""

    height_ru: int
    power_w: float
    weight_kg: float


class Allowed(NamedTuple):
    """How many of one size a rack allows, by each of its limits."""

    by_height: int
    by_power: int
    by_weight: int


def allowed(limits: RackLimits, size: Size) -> Allowed:
    """Count how many devices of one size each limit allows."""
    return Allowed(
        limits.height_ru // size.height_ru if size.height_ru else NO_LIMIT,
        int((limits.power_w + 1e-6) // size.power_w) if size.power_w else NO_LIMIT,
        int((limits.weight_kg + 1e-6) // size.weight_kg),
    )


def kinds(topology: Topology) -> pl.DataFrame:
    """Return every kind of device there is: profile, role and model, one row each."""
    return topology.devices.select("profile", "role", "model").unique().sort("role", "model", "profile")


def kind_sizes(topology: Topology) -> dict[tuple[str, str, str], Size]:
    """Size of each kind of device by (profile, role, model)."""
    return {key: _size(topology, key[0])[0] for key in kinds(topology).iter_rows()}


def device_sizes(topology: Topology) -> pl.DataFrame:
    """Size of every device, future ones included; table `SIZES` in device order."""
    found = kind_sizes(topology)
    table = pl.DataFrame([(*key, *size) for key, size in found.items()], schema=["profile", "role", "model", *Size._fields], orient="row")
    joined = topology.devices.join(table, on=["profile", "role", "model"], how="left", maintain_order="left")
    return joined.select(pl.col(name).cast(dtype) for name, dtype in SIZES.items())


def assumptions(topology: Topology) -> list[Problem]:
    """Warn once for each model and figure that the catalog lacks and the hall assumes."""
    found: dict[tuple[str, str], Problem] = {}
    for profile, _, model in kinds(topology).iter_rows():
        for datum, text, field in _size(topology, profile)[1]:
            fix = f"set hall.{field} to your figure, or add it to the part's file"
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
    return Size(part.height_ru, power_w, weight_kg), assumed


def too_big(topology: Topology, limits: RackLimits, catalog: Catalog) -> list[Problem]:
    """Return every limit of a rack that is below a single device."""
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
    return list(problems.values())


class NodeRack(NamedTuple):
    """How racks are filled with one kind of node: its size, and how many stand in a rack."""

    size: Size
    per_rack: int


def node_racks(topology: Topology, limits: RackLimits) -> tuple[dict[str, NodeRack], list[Problem]]:
    """Profile -> how its nodes fill racks, each kind in racks of its own.

    As many as the hall asks, else the largest published number that fits, else as many as fit; at least 1.
    The problems say when the number asked for does not fit, or when no published one does.
    """
    racks, problems = {}, []
    for (profile, role, _), size in kind_sizes(topology).items():
        if role == "node":
            per_rack, found = _nodes_in_a_rack(topology, limits, profile, size)
            racks[profile] = NodeRack(size, per_rack)
            problems += found
    return racks, list(dict.fromkeys(problems))


def _nodes_in_a_rack(topology: Topology, limits: RackLimits, profile: str, size: Size) -> tuple[int, list[Problem]]:
    fit = allowed(limits, size)
    most = max(1, min(fit))
    reason = (
        f"{size.height_ru} U each in {limits.height_ru} U: {fit.by_height}; {kilo(size.power_w)} kW each in {kilo(limits.power_w)} kW: {fit.by_power}; "
        f"{size.weight_kg:,g} kg each in {limits.weight_kg:,g} kg: {fit.by_weight}"
    )
    asked = topology.design.hall.nodes_per_rack
    if asked != "auto":
        if min(fit) and asked > most:
            fix = f"set hall.nodes_per_rack to {most} or less, or {raise_limits(limits, size, asked)}"
            return most, [Problem("nodes-per-rack", "hall.nodes_per_rack", f"{asked} nodes in a rack asked for, {most} fit", reason, fix)]
        return asked, []
    part = topology.profiles[profile].part
    published = part.per_rack if isinstance(part, Node) else ()
    fitting = [n for n in published if n <= most]
    if published and not fitting and min(fit):
        what = f"{most} nodes in a rack; published are {', '.join(map(str, sorted(set(published))))}"
        return most, [Problem("nodes-per-rack", "hall", what, reason, raise_limits(limits, size, min(published)), "note")]
    return max(fitting, default=most), []


def switches_cap(topology: Topology, limits: RackLimits) -> tuple[int, list[Problem]]:
    """Most devices of a network rack as the hall asks; warns when U, power or weight allow fewer."""
    asked = topology.design.hall.switches_per_rack
    if asked == "auto":
        return NO_LIMIT, []
    problems = {}
    for (_, role, model), size in kind_sizes(topology).items():
        fit = allowed(limits, size)
        if role in SWITCHES and min(fit) < asked:
            what = f"{asked} switches in a rack asked for, {min(fit)} of {model} fit"
            why = f"by height {fit.by_height}, by power {fit.by_power}, by weight {fit.by_weight}"
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
    return " and ".join(advice)


def kilo(value: float) -> str:
    """Watts as kilowatts, without needless digits."""
    return f"{round(value / 1000, 3):,.10g}"
