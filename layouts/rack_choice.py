"""What is said of the rack types before anything is placed: limits raised for whole racks of trays, figures that nobody verified."""

from __future__ import annotations

from collections.abc import Mapping

from ..fabric.hall_spec import HallSpec, OtherRacks, RowSpec
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.models import Node, RackType
from .racks import rack_limits
from .sizes import kind_sizes

FIGURES = {"power_w": ("rack_power_kw", 1000), "weight_kg": ("rack_weight_kg", 1)}
"""Field of a rack type -> field of the design that replaces it, and how many of its units are one of the design's."""


def whole_racks(topology: Topology, types: Mapping[str, RackType]) -> tuple[HallSpec, list[Problem]]:
    """The hall with rack limits that hold whole racks of trays (NVL72), where the design sets none and the rack type's are lower.

    Where some rows have liquid cooling, liquid-cooled trays stand in those rows, and these alone are raised.
    """
    spec, found = topology.design.hall, []
    for (profile, role, _), size in kind_sizes(topology).items():
        part = topology.profiles[profile].part
        if role != "node" or not isinstance(part, Node) or not part.rack_scale or not part.per_rack:
            continue
        count = part.per_rack[-1]
        wet = size.liquid and any(row.liquid for row in spec.rows)
        for field, need, word in (("rack_power_kw", count * size.power_w / 1000, "kW"), ("rack_weight_kg", count * size.weight_kg, "kg")):
            places: list[tuple[str, HallSpec | RowSpec, RackType]] = [("hall", spec, types[spec.rack])]
            if wet:
                places = [(f"hall.rows.{i}", row, types[row.rack or spec.rack]) for i, row in enumerate(spec.rows) if row.liquid]
            for where, place, rack in places:
                limits = rack_limits(spec.model_copy(update={"rack_power_kw": None, "rack_weight_kg": None}), rack)
                has = limits.power_w / 1000 if field == "rack_power_kw" else limits.weight_kg
                set_to = getattr(place, field)
                if set_to is None and rack.model == spec.rack:
                    set_to = getattr(spec, field)
                if need <= has or set_to not in (None, need):
                    continue
                spec = _with(spec, where, field, need)
                what = f"racks are taken for {need:,g} {word}, as whole racks of {part.model} ask; {rack.model} has {has:,g}"
                found.append(Problem("whole-racks", f"{where}.{field}", what, "trays come as whole racks", f"set {where}.{field} to what your racks and floor bear", "warning"))
    return spec, found


def _with(spec: HallSpec, where: str, field: str, value: float) -> HallSpec:
    """The hall with a field of the hall or of one row set."""
    if where == "hall":
        return spec.model_copy(update={field: value})
    number = int(where.rsplit(".", 1)[-1])
    rows = tuple(row.model_copy(update={field: value}) if i == number else row for i, row in enumerate(spec.rows))
    return spec.model_copy(update={"rows": rows})


def rack_warnings(spec: HallSpec, types: Mapping[str, RackType]) -> list[Problem]:
    """Warnings for figures of rack types in use that nobody verified and that the design does not replace by its own."""
    used: list[tuple[str, str, HallSpec | RowSpec | OtherRacks]] = [] if spec.rows else [(spec.rack, "hall", spec)]
    for i, row in enumerate(spec.rows):
        used.append((row.rack or spec.rack, f"hall.rows.{i}", row))
        used += [(other.rack, f"hall.rows.{i}.other_racks.{j}", other) for j, other in enumerate(row.other_racks)]
    found: dict[tuple[str, str], Problem] = {}
    for model, where, place in used:
        rack = types[model]
        for evidence in (e for e in rack.evidence if e.confidence == "unverified"):
            for field in (f for f in evidence.fields if f in FIGURES):
                name, unit = FIGURES[field]
                figure = getattr(place, name)
                if figure is None and model == spec.rack:
                    where, figure = "hall", getattr(spec, name)
                if figure in (None, getattr(rack, field) / unit):
                    what = f"nobody could verify {field} {getattr(rack, field):g}"
                    found.setdefault((model, field), Problem("unverified-datum", model, what, evidence.note or "", f"set {where}.{name}", "warning"))
    return list(found.values())
