"""summary.json: what the plan holds, counted from its tables, and what was proved. The other summaries are made of it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from .. import __version__
from ..fabric.tables import TIERS
from ..layouts.optimise import REFERENCE
from . import DEFAULTS, Options
from .tenants import sharers, tenants

if TYPE_CHECKING:
    from ..plan import Plan

KINDS = ("dac", "acc", "aec", "utp", "aoc", "mmf", "smf")
COPPER = ("dac", "acc", "aec")
FIBRES = ("mmf", "smf")
WITNESS_ROWS = 64
"""Pairs of leaves of a witness that are listed; `witness_rows` counts them all."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render summary.json."""
    return {"summary.json": (json.dumps(summary(plan), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()}


def summary(plan: Plan) -> dict[str, Any]:
    """Counts and proofs; links are port to port at the port's speed, cables are things a person carries."""
    present = plan.topology.devices.filter("present")
    cables, racks = plan.cabling.cables, plan.placement.racks
    compute = plan.topology.links.filter((pl.col("fabric") == "compute") & (pl.col("gpu") >= 0))
    fibres = cables.filter(pl.col("kind").is_in(FIBRES))
    return {
        "design": plan.design.name,
        "railplan": __version__,
        "nodes": present.filter(pl.col("role") == "node").height,
        "gpus": compute.select("a_dev", "gpu").n_unique(),
        "fabrics": {name: (_fabric(plan, name) if name in plan.traffic else _access(plan, name)) | _totals(plan, name) for name in plan.topology.fabrics},
        "servers": {server.name: server.count for server in plan.design.servers},
        "cables": {"total": cables.height, "by_kind": {kind: cables.filter(pl.col("kind") == kind).height for kind in KINDS}},
        "modules": dict(plan.cabling.modules.group_by("part").len().sort("part").iter_rows()),
        "fibres": _by_length(fibres),
        "copper": _by_length(cables.filter(~pl.col("kind").is_in(FIBRES))),
        "racks": {
            "used": racks.filter(~pl.col("reserved")).height,
            "power_kw": round(racks["power_w"].sum() / 1000, 3),
            "reserved": racks.filter("reserved").height,
            "rows": _rows(racks),
        },
        "reference": _reference(plan),
        "cost": cost(plan),
        "tenants": _tenants(plan),
        "nodes_without_tenant": plan.tenancy.unused,
        "placement": _placement(plan),
        "growth": _growth(plan),
        "findings": {f"{level}s": sum(p.level == level for p in plan.findings) for level in ("error", "warning", "note")},
    }


def _fabric(plan: Plan, name: str) -> dict[str, Any]:
    facts, proof = plan.topology.fabrics[name], plan.proofs[name]
    switches = plan.topology.devices.filter(pl.col("present") & (pl.col("fabric") == name) & pl.col("role").is_in(("leaf", "spine", "core")))
    links = plan.topology.links.filter(pl.col("fabric") == name)
    leaves = switches.filter(pl.col("role") == "leaf")
    pairs = links.filter(pl.col("tier") == "leaf-spine").group_by("a_dev", "b_dev").len()
    return {
        "family": facts.family,
        "switch": facts.leaf_model,
        "spine_switch": facts.spine_model,
        "style": facts.style,
        "tiers": switches["role"].n_unique(),
        "planes": switches["plane"].n_unique(),
        "rails": links.filter(pl.col("rail") >= 0)["rail"].n_unique(),
        "pods": leaves["pod"].n_unique(),
        "leaves": leaves.height,
        "spines": switches.filter(pl.col("role") == "spine").height,
        "cores": switches.filter(pl.col("role") == "core").height,
        "links": {tier: links.filter(pl.col("tier") == tier).height for tier in TIERS},
        "ufm_links": links.filter(pl.col("series") == "U").height,
        "links_per_leaf_spine_pair": pairs["len"].max() or 0,
        "oversubscription": {
            "designed": _number(proof.designed_oversubscription),
            "worst_leaf": _number(proof.worst_leaf_oversubscription),
            "worst_tier": _number(proof.worst_tier_oversubscription),
            "designed_core": _number(proof.designed_core_oversubscription),
            "worst_spine": _number(proof.worst_spine_oversubscription),
        },
        "bisection": {
            "required_gbps": proof.required_gbps,
            "by_count_gbps": proof.by_count_gbps,
            "by_flow_gbps": proof.by_flow_gbps,
            "non_blocking": proof.non_blocking,
            "worst_split": proof.worst_split,
        },
        "traffic": _traffic(plan, name),
        "locality": [{"between": h.where, "gpu_index": "equal" if h.equal else "unequal", "switches_least": h.least, "switches_most": h.most} for h in plan.hops[name]],
        "gpus_joined_by_nvlink_only": [list(gpus) for gpus in proof.apart],
    }


def _access(plan: Plan, name: str) -> dict[str, Any]:
    """A fabric other than compute; clients are counted by role, bisection is null where leaves share no spines."""
    facts, proof = plan.topology.fabrics[name], plan.proofs.get(name)
    devices = plan.topology.devices.filter("present")
    switches = devices.filter(pl.col("fabric") == name)
    links = plan.topology.links.filter(pl.col("fabric") == name)
    clients = links.filter(pl.col("tier") == "node-leaf")
    roles = devices.filter(pl.col("dev").is_in(clients["a_dev"].unique().implode()))
    pairs = links.filter(pl.col("tier") == "leaf-spine").group_by("a_dev", "b_dev").len()
    leaves, spines = (switches.filter(pl.col("role") == role).height for role in ("leaf", "spine"))
    return {
        "family": facts.family,
        "switch": facts.leaf_model,
        "spine_switch": facts.spine_model,
        "style": facts.style,
        "serves": list(plan.design.fabrics.others[name].serves),
        "tiers": switches["role"].n_unique(),
        "leaves": leaves,
        "spines": spines,
        "cores": switches.filter(pl.col("role") == "core").height,
        "clients": dict(roles.group_by("role").len().sort("role").iter_rows()),
        "ports_by_gbps": {str(gbps): count for gbps, count in clients.group_by("gbps").len().sort("gbps").iter_rows()},
        "links": {tier: links.filter(pl.col("tier") == tier).height for tier in TIERS},
        "uplinked_to": uplinks.fabric if (uplinks := plan.design.fabrics.others[name].uplinks) else None,
        "links_per_leaf_spine_pair": pairs["len"].max() or 0,
        "oversubscription": None if proof is None else {"designed": _number(proof.designed_oversubscription), "worst_leaf": _number(proof.worst_leaf_oversubscription)},
        "bisection": None
        if proof is None
        else {"required_gbps": proof.required_gbps, "by_count_gbps": proof.by_count_gbps, "by_flow_gbps": proof.by_flow_gbps, "non_blocking": proof.non_blocking},
    }


def _totals(plan: Plan, name: str) -> dict[str, Any]:
    """What a fabric comes to: switches, cables by kind, modules, price with spares."""
    cables, modules = plan.cabling.cables.filter(pl.col("fabric") == name), plan.bom.filter((pl.col("fabric") == name) & (pl.col("category") == "module"))
    switches = plan.bom.filter((pl.col("fabric") == name) & (pl.col("category") == "switch"))
    return {
        "switches": dict(switches.select("part", "quantity").iter_rows()),
        "cables": {"total": cables.height, "by_kind": {kind: count for kind in KINDS if (count := cables.filter(pl.col("kind") == kind).height)}},
        "modules": modules["quantity"].sum(),
        "cost": cost(plan, name),
    }


def _traffic(plan: Plan, name: str) -> dict[str, Any]:
    """Largest load of a link under any permutation, as a fraction of its rate; the witness is one such permutation, leaf by leaf."""
    found = plan.traffic[name]
    witness = [{"from": s.source, "to": s.target, "gbps": s.gbps} for s in found.witness[:WITNESS_ROWS]]
    return {"worst_load": found.worst_load, "worst_link": found.worst_link, "by_tier": dict(found.by_tier), "witness": witness, "witness_rows": len(found.witness)}


def _rows(racks: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Racks, power and weight of every row in use, as they stand today."""
    rows = racks.group_by("row", maintain_order=True).agg(pl.len(), pl.col("power_w").sum() / 1000, pl.col("weight_kg").sum())
    return {row: {"racks": count, "power_kw": round(power_kw, 3), "weight_kg": round(weight_kg, 3)} for row, count, power_kw, weight_kg in rows.iter_rows()}


def _number(value: float) -> float | None:
    """JSON has no infinity: a leaf without uplinks has null."""
    return value if math.isfinite(value) else None


def _by_length(cables: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Part -> sold length in m -> number of cables."""
    found: dict[str, dict[str, int]] = {}
    for part, length_m, count in cables.group_by("part", "length_m").len().sort("part", "length_m").iter_rows():
        found.setdefault(part, {})[f"{length_m:g}"] = count
    return found


def cost(plan: Plan, fabric: str | None = None) -> dict[str, Any]:
    """Total of the bill, or of a fabric's rows, in the design's currency, spares included; rows without a price or in another currency are counted, not added."""
    currency, bom = plan.design.cables.currency, plan.bom if fabric is None else plan.bom.filter(pl.col("fabric") == fabric)
    own = bom.filter(pl.col("total").is_not_null() & (pl.col("currency") == currency))
    return {
        "currency": currency,
        "total": round(own["total"].sum(), 2),
        "unpriced_rows": bom["total"].null_count(),
        "other_currency_rows": bom.height - own.height - bom["total"].null_count(),
        "rows": bom.height,
    }


def cost_line(cost: dict[str, Any]) -> str:
    """The total, and how many rows of the bill it misses."""
    if cost["unpriced_rows"] == cost["rows"]:
        return "no prices"
    return f"{cost['total']:,.0f} {cost['currency']}, {cost_gaps(cost)}"


def cost_gaps(cost: dict[str, Any]) -> str:
    """How many rows of the bill the total misses."""
    missing = []
    if cost["unpriced_rows"]:
        missing.append(f"{cost['unpriced_rows']} of {cost['rows']} rows have no price")
    if cost["other_currency_rows"]:
        missing.append(f"{cost['other_currency_rows']} rows are in another currency")
    return f"not complete: {', '.join(missing)}" if missing else "every row priced"


def reference_limit(row: dict[str, Any]) -> str:
    """What a figure is measured by where more than that is good too."""
    return f" (at least {row['published']:,.10g})" if row["holds"] == "least" else ""


def reference_difference(row: dict[str, Any]) -> str:
    """How far a figure is from the published one."""
    percent = row["difference_percent"]
    return "the same" if not percent else f"{abs(percent):.1f}% {'more' if percent > 0 else 'less'}"


def _placement(plan: Plan) -> dict[str, Any]:
    """What the placement costs, against the fixed arrangements and a proved bound; without a search the reference is its own baseline."""
    found = plan.placement.solution
    if found is None:
        modules = float(plan.cabling.modules.height)
        figures = {"objective": modules, "bound": 0.0, "gap_percent": 100.0 if modules else 0.0, "baseline": modules}
        return {**figures, "status": "feasible" if modules else "optimal", "seconds": 0.0, "unit": "modules", "arrangement": REFERENCE, "effort": "fixed"}
    return {
        "objective": found.objective,
        "objective_today": found.today,
        "bound": found.bound,
        "gap_percent": found.gap_percent,
        "baseline": found.baseline if found.baseline is not None else found.objective,
        "status": "optimal" if found.status == "optimal" else "feasible",
        "seconds": 0.0,
        "unit": found.unit,
        "arrangement": found.arrangement,
        "effort": found.effort,
        "forced": plan.design.placement.arrangement == found.arrangement,
        "kept": found.kept,
        "interrupted": found.status == "interrupted",
        "bound_with_these_spine_places": found.bound_within,
        "pods_together": found.together,
        "pods_anywhere": found.scattered,
        "baselines": dict(found.baselines),
        "links_by_kind": {tier: dict(kinds) for tier, kinds in found.links.items()},
    }


def _reference(plan: Plan) -> dict[str, Any] | None:
    """What was counted beside the reference cluster that the design names; null where it names none."""
    if plan.design.reference is None:
        return None
    figures = [
        {"figure": f.name, "counted": f.counted, "published": f.published, "holds": f.holds, "agrees": f.agrees, "difference_percent": f.difference_percent} for f in plan.reference
    ]
    return {"nodes": plan.design.reference, "figures": figures}


def _tenants(plan: Plan) -> list[dict[str, Any]]:
    """Tenants in the order of the design: nodes, SUs, how many switches of each role their traffic may pass, numbers, whom they meet on leaves."""
    if not plan.tenancy.tenants:
        return []
    shown = ("tenant", "kind", "nodes", "node_list", "crosses_sus", "leaf_count", "spine_count", "core_count")
    facts = zip(tenants(plan).select(shown).iter_rows(named=True), plan.tenancy.tenants, sharers(plan), strict=True)
    return [row | {"sus": list(tenant.per_su), "numbers": dict(tenant.numbers), "shares_leaves_with": others} for row, tenant, others in facts]


def _growth(plan: Plan) -> dict[str, int]:
    """The final number of nodes, and devices and racks that places are kept for."""
    devices = plan.topology.devices
    return {"nodes": devices.filter(pl.col("role") == "node").height, "future_devices": devices.filter(~pl.col("present")).height}
