"""The summary as rows for people: what, how much, in which unit; made of summary.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .placement_lines import Row, placement_rows
from .summary import cost_line, reference_difference, reference_limit

COUNTS = {"planes": "Planes", "rails": "Rails", "pods": "SUs", "leaves": "Leaf switches", "spines": "Spine switches", "cores": "Core switches"}
RATIOS = {"designed": "designed", "worst_leaf": "at the worst leaf", "worst_tier": "over the worst tier"}
PROOFS = {"required_gbps": "needed", "by_count_gbps": "by counting links", "by_flow_gbps": "by maximum flow"}


def summary_rows(facts: dict[str, Any]) -> dict[str, list[Row]]:
    """Heading -> rows below it."""
    grown = facts["growth"]["nodes"]
    sections: dict[str, list[Row]] = {
        "Cluster": [("GPU nodes", facts["nodes"], ""), ("GPUs", facts["gpus"], ""), *([("GPU nodes when grown", grown, "")] if grown > facts["nodes"] else [])]
    }
    sections["Cluster"] += [(f"Servers {name}", count, "") for name, count in facts["servers"].items()]
    for name, fabric in facts["fabrics"].items():
        sections[f"Fabric: {name}"] = list(_fabric(fabric) if "rails" in fabric else _access(fabric))
        if len(facts["fabrics"]) > 1:
            sections[f"Fabric: {name}"] += _totals(fabric)
    racks, cables = facts["racks"], facts["cables"]
    kept: list[Row] = [("Racks kept for growth", racks["reserved"], "")] if racks["reserved"] else []
    sections["Racks"] = [("Racks in use", racks["used"], ""), *kept, ("Highest power", float(racks["power_kw"]), "kW")]
    sections["Racks"] += [(f"Row {row}", f"{n['racks']:,} racks, {n['power_kw']:,.1f} kW, {n['weight_kg']:,.0f} kg", "") for row, n in racks["rows"].items()]
    sections["Placement"] = placement_rows(facts["placement"])
    if facts["reference"]:
        sections[f"Beside the {facts['reference']['nodes']}-node reference cluster"] = [_reference(row) for row in facts["reference"]["figures"]]
    kinds: list[Row] = [(f"of kind {kind}", count, "") for kind, count in cables["by_kind"].items() if count]
    sections["Cables and modules"] = [("Cables", cables["total"], ""), *kinds, *((f"Modules {part}", count, "") for part, count in facts["modules"].items())]
    sections["Cost, spares included"] = [("Total", cost_line(facts["cost"]), "")]
    sections["Findings"] = [(level.capitalize(), count, "") for level, count in facts["findings"].items()]
    return sections


def _reference(row: dict[str, Any]) -> Row:
    """What was counted, and the published figure or how far it is."""
    label = f"{row['figure'][0].upper()}{row['figure'][1:]}"
    if row["holds"] == "about":
        return label, row["counted"], f"about {row['published']:,.10g} published: {reference_difference(row)}"
    return label, row["counted"], (reference_limit(row).strip() or "as published") if row["agrees"] else f"not the published {row['published']:,.10g}"


def _access(fabric: dict[str, Any]) -> Iterator[Row]:
    """Rows of a fabric other than compute."""
    yield "Serves", ", ".join(fabric["serves"]), ""
    models = (fabric["switch"], fabric["spine_switch"]) if fabric["spines"] else (fabric["switch"],)
    yield "Switch" if len(set(models)) == 1 else "Switches, leaf and spine", " and ".join(dict.fromkeys(models)), ""
    yield "Leaf switches", fabric["leaves"], ""
    if fabric["spines"]:
        yield "Spine switches", fabric["spines"], ""
    if fabric["uplinked_to"]:
        yield "Uplinks", f"to {fabric['uplinked_to']}", ""
    for role, count in fabric["clients"].items():
        yield f"Clients of role {role}", count, ""
    for gbps, count in fabric["ports_by_gbps"].items():
        yield f"Client ports of {gbps}G", count, ""
    for key, label in (("leaf-spine", "Links leaf-spine"), ("inter-switch", "Links between the leaves of a pair")):
        if fabric["links"][key]:
            yield label, fabric["links"][key], ""
    if fabric["oversubscription"]:
        ratio, proof = fabric["oversubscription"], fabric["bisection"]
        yield "Oversubscription designed", f"{ratio['designed']:.4g} : 1", ""
        yield "Oversubscription at the worst leaf", "no uplinks" if ratio["worst_leaf"] is None else f"{ratio['worst_leaf']:.4g} : 1", ""
        for key, label in PROOFS.items():
            yield f"Bisection {label}", proof[key] / 1000, "Tb/s"


def _totals(fabric: dict[str, Any]) -> Iterator[Row]:
    """What the fabric comes to, where there are others beside it."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in fabric["cables"]["by_kind"].items())
    yield "Cables of this fabric", fabric["cables"]["total"], kinds
    yield "Modules of this fabric", fabric["modules"], ""
    yield "Cost of this fabric", cost_line(fabric["cost"]), ""


def _fabric(fabric: dict[str, Any]) -> Iterator[Row]:
    yield "Family and style", f"{fabric['family']}, {fabric['style']}", ""
    models = (fabric["switch"], fabric["spine_switch"]) if fabric["spines"] else (fabric["switch"],)
    yield "Switch" if len(set(models)) == 1 else "Switches, leaf and above", " and ".join(dict.fromkeys(models)), ""
    yield "Tiers of switches", fabric["tiers"], ""
    for key, label in COUNTS.items():
        if fabric[key]:
            yield label, fabric[key], ""
    for tier, count in fabric["links"].items():
        if count:
            yield f"Links {tier}", count, ""
    if fabric["ufm_links"]:
        yield "of them to UFM servers", fabric["ufm_links"], ""
    if fabric["links_per_leaf_spine_pair"]:
        yield "Links between each leaf and spine", fabric["links_per_leaf_spine_pair"], ""
    for key, label in RATIOS.items():
        ratio = fabric["oversubscription"][key]
        yield f"Oversubscription {label}", "no uplinks" if ratio is None else f"{ratio:.4g} : 1", ""
    for key, label in PROOFS.items():
        yield f"Bisection {label}", fabric["bisection"][key] / 1000, "Tb/s"
    yield "Non-blocking", "yes" if fabric["bisection"]["non_blocking"] else "no", ""
