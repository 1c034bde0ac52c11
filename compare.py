"""Plans side by side: the same design with some fields varied, or several designs, measured by the same yardsticks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import polars as pl

from .fabric.design import Design, FabricSpec, NodesSpec, locate
from .fabric.new_design import FLAGS
from .plan import Plan, make_plan
from .problems import DesignError, Problem, did_you_mean
from .vendors.catalog import Catalog
from .vendors.yaml_source import Source, parse_yaml, validate

MOST = 64
"""More plans than this in one table help nobody."""

NETWORK = ("switch", "module", "copper", "fibre")
"""Categories of the bill that make up the price of the network."""


@dataclass(frozen=True)
class Variant:
    """One column: its label, and the design or what is wrong with it."""

    label: str
    design: Design | None
    problems: tuple[Problem, ...] = ()
    source: Source | None = None


@dataclass(frozen=True)
class Measured:
    """One column of the comparison: its figures, or why it can't be built."""

    label: str
    figures: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()


def variants(source: Source, vary: Sequence[str], prefix: str = "") -> list[Variant]:
    """Every combination of `field=value,value` over a design; raises DesignError for fields that do not exist.

    A field is a flag of `railplan plan` (style, family, planes, ...) or a path such as fabrics.compute.spines_per_plane.
    A varied family drops the switch models of the design, which belong to another.
    """
    axes: list[list[tuple[str, str, Any]]] = []
    problems: list[Problem] = []
    seen: set[str] = set()
    for text in vary:
        name, equals, values = text.partition("=")
        field = _field_of(name)
        if equals and (not all(values.split(",")) or len(set(values.split(","))) < len(values.split(",")) or field in seen):
            problems.append(Problem("vary", f"--vary {text}", "names a field or a value twice, or an empty one", fix="write field=value,value once for each field"))
            continue
        seen.add(field)
        if not equals or field.split(".")[0] not in Design.model_fields:
            known = [*(flag.replace("_", "-") for flag in FLAGS), *FabricSpec.model_fields, *NodesSpec.model_fields]
            what = f"{name!r} is no field of a design" if equals else "has no values"
            problems.append(Problem("vary", f"--vary {text}", what, "", f"write field=value,value; {did_you_mean(name, known)}"))
            continue
        axes.append([(name, field, parse_yaml(f"v: {value}", text).data["v"]) for value in values.split(",")])
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > MOST:
        problems.append(Problem("vary", "--vary", f"{count} combinations; a table of more than {MOST} helps nobody", fix="vary fewer fields or values"))
    if problems:
        raise DesignError(problems)
    return [_variant(source, choice, prefix) for choice in product(*axes)]


def _field_of(name: str) -> str:
    """Path of a field given as a flag, as a field of the compute fabric or of the nodes, or as a path."""
    flag = name.replace("-", "_")
    if flag in FLAGS:
        return FLAGS[flag].field
    for section, model in (("fabrics.compute", FabricSpec), ("nodes", NodesSpec)):
        if name.split(".")[0] in model.model_fields and name.split(".")[0] not in Design.model_fields:
            return f"{section}.{name}"
    return name


def _variant(source: Source, choice: Sequence[tuple[str, str, Any]], prefix: str) -> Variant:
    data = source.data
    for _, field, value in choice:
        if field == "fabrics.compute.family":
            data = _without(data, ("switch", "spine_switch", "core_switch"))
        data = _with(data, field.split("."), value)
    label = ", ".join([prefix] * bool(prefix) + [f"{name} {value}" for name, _, value in choice])
    changed = Source(source.name, data, source.lines, source.included, source.labels)
    try:
        return Variant(label, validate(Design, changed), source=changed)
    except DesignError as error:
        return Variant(label, None, error.problems, changed)


def _with(data: Any, path: Sequence[str], value: Any) -> Any:
    """A copy of nested mappings with one value set."""
    if not path:
        return value
    inside = data if isinstance(data, dict) else {}
    return {**inside, path[0]: _with(inside.get(path[0]), path[1:], value)}


def _without(data: Any, keys: Sequence[str]) -> Any:
    compute = {k: v for k, v in data.get("fabrics", {}).get("compute", {}).items() if k not in keys}
    return _with(data, ["fabrics", "compute"], compute)


def measure_all(columns: Sequence[Variant], catalog: Catalog) -> list[Measured]:
    """Plan every column; savings are against the first that could be planned."""
    measured: list[Measured] = []
    for column in columns:
        if column.design is None:
            measured.append(Measured(column.label, {}, column.problems))
            continue
        try:
            measured.append(Measured(column.label, measure(make_plan(column.design, catalog))))
        except DesignError as error:
            problems = locate(error.problems, column.source) if column.source else error.problems
            measured.append(Measured(column.label, {}, tuple(p for p in problems if p.level == "error")))
    base = next((m.figures["network_price"] for m in measured if m.figures and m.figures["network_price"]), None)
    return [Measured(m.label, {**m.figures, "saving_percent": _saving(m.figures, base)} if m.figures else {}, m.problems) for m in measured]


def _saving(figures: Mapping[str, Any], base: float | None) -> float | None:
    price = figures["network_price"]
    return None if base is None or not price else round(100 * (1 - price / base), 3)


def measure(plan: Plan) -> dict[str, Any]:
    """The figures of one plan: switches, cables, modules, power, price, bisection, racks."""
    devices = plan.topology.devices.filter("present")
    roles = dict(devices.group_by("role").len().iter_rows())
    facts, proof = plan.topology.fabrics["compute"], plan.proofs["compute"]
    network = plan.bom.filter(pl.col("category").is_in(NETWORK))
    currency = plan.design.cables.currency
    priced = network.filter(pl.col("currency") == currency)
    switches = sum(roles.get(role, 0) for role in ("leaf", "spine", "core"))
    links = plan.topology.links.join(plan.cabling.carried, on="link").join(plan.cabling.cables.select("cable_no", "kind"), on="cable_no")
    copper = pl.col("kind").is_in(["dac", "acc", "aec"])
    return {
        "style": facts.style,
        "switch": facts.leaf_model,
        "tiers": facts.tiers,
        "planes": facts.planes,
        "leaves": roles.get("leaf", 0),
        "spines": roles.get("spine", 0),
        "cores": roles.get("core", 0),
        "switches": switches,
        "links": plan.topology.links.height,
        "cables": plan.cabling.cables.height,
        "cables_by_kind": dict(plan.cabling.cables.group_by("kind").len().sort("kind").iter_rows()),
        "copper_links_percent": round(100 * links.filter(copper).height / max(links.height, 1), 2),
        "modules": plan.cabling.modules.height,
        "longest_cable_m": plan.cabling.cables["length_m"].max(),
        "network_price": round(float((priced["total"] - priced["unit_price"] * priced["spares"]).sum()), 2) if priced.height else None,
        "currency": currency,
        "unpriced_rows": network.height - priced.height,
        "racks": int((~plan.placement.racks["reserved"]).sum()),
        "power_kw": round(float(plan.placement.racks["power_w"].sum()) / 1000, 1),
        "oversubscription": proof.worst_leaf_oversubscription,
        "core_oversubscription": proof.worst_spine_oversubscription if facts.tiers == 3 else None,
        "bisection_gbps": proof.by_flow_gbps,
        "bisection_percent": round(100 * min((split.by_flow_gbps / split.half_gbps for split in proof.splits if split.half_gbps), default=1.0), 3),
        "non_blocking": proof.non_blocking,
        "worst_load": round(plan.traffic["compute"].worst_load, 6),
        "switches_passed": {f"{'equal' if hop.equal else 'unequal'} GPUs, {hop.where}": hop.most for hop in plan.hops["compute"]},
    }
