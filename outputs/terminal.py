"""The summary and the problems of a plan as a person reads them on a terminal.

Everything is printed as plain text objects: words in brackets in a name or a path are no markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ..problems import Problem
from .placement_lines import placement_lines, uncompared
from .summary import COPPER, cost_line, reference_difference, reference_limit, summary
from .tenants import numbers_text

if TYPE_CHECKING:
    from rich.console import Console

    from ..plan import Plan

GROUPS_SHOWN = 4
TENANTS_SHOWN = 8
SUS_SHOWN = 6
LEVELS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
"""Level -> colour, the gravest first."""


def print_summary(plan: Plan, console: Console, listed: bool = False) -> None:
    """Print about ten lines: size, fabric, proof, racks, how they were placed, cables, cost, findings; with `listed` these are only counted."""
    found = list(_findings(plan.findings))[: 1 if listed else None]
    rows = [*_lines(summary(plan)), *(("" if i else "findings", text) for i, text in enumerate(found))]
    indent = max(len(head) for head, _ in rows) + 2
    for head, text in rows:
        body = text if isinstance(text, Text) else Text(text)
        for i, line in enumerate(body.wrap(console, max(20, console.width - indent))):
            line.rstrip()
            console.print(Text(f"{'' if i else head:<{indent}}", style="bold").append_text(line), soft_wrap=True)


def print_problems(problems: Sequence[Problem], console: Console) -> None:
    """Print every problem, the gravest first: where and what, then why and fix; beside errors the rest is only counted."""
    errors = [p for p in problems if p.level == "error"]
    for problem in errors or sorted(problems, key=lambda p: list(LEVELS).index(p.level)):
        text = Text(f"{problem.level}  ", style=LEVELS[problem.level])
        text.append(str(problem), style="default")
        console.print(text, soft_wrap=True)
    if errors and len(errors) < len(problems):
        console.print(Text(f"{_count(len(problems) - len(errors), 'warning or note', 'warnings and notes')} not shown beside the errors", style="dim"))


def _lines(facts: dict[str, Any]) -> Iterator[tuple[str, str | Text]]:
    yield facts["design"], f"{_count(facts['nodes'], 'node')}, {_count(facts['gpus'], 'GPU')}" + _growth(facts)
    for name, fabric in facts["fabrics"].items():
        yield from _fabric_lines(name, fabric) if "rails" in fabric else _access_lines(name, fabric)
        if len(facts["fabrics"]) > 1:
            yield "", _totals(fabric)
    if facts["servers"]:
        yield "servers", ", ".join(f"{count:,} {name}" for name, count in facts["servers"].items())
    racks, cables = facts["racks"], facts["cables"]
    kept = f", {racks['reserved']:,} more kept for growth" if racks["reserved"] else ""
    arranged = uncompared(facts["placement"])
    yield "racks", f"{_count(racks['used'], 'rack')}{kept}, {racks['power_kw']:,.1f} kW at most" + (f"; {arranged}" if arranged else "")
    yield from (("" if i else "placed", line) for i, line in enumerate(placement_lines(facts["placement"])))
    if facts["reference"]:
        yield from (("" if i else "reference", line) for i, line in enumerate(_reference(facts["reference"])))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in cables["by_kind"].items() if count)
    copper = sum(cables["by_kind"][kind] for kind in COPPER)
    share = f"; {_percent(copper / cables['total'])} copper" if cables["total"] else ""
    yield "cables", f"{cables['total']:,} cables: {kinds}{share}; {sum(facts['modules'].values()):,} modules"
    yield "cost", cost_line(facts["cost"])
    yield from (("" if i else "tenants", text) for i, text in enumerate(_tenants(facts)))


def _reference(reference: dict[str, Any]) -> Iterator[str]:
    """What agrees with the reference cluster in one line, then each figure that does not, then how far apart the power is."""
    figures = reference["figures"]
    same = [f"{row['counted']:,.10g} {row['figure']}{reference_limit(row)}" for row in figures if row["agrees"] and row["holds"] != "about"]
    yield f"as the {reference['nodes']}-node reference cluster: {', '.join(same) or 'nothing'}"
    yield from (
        f"{row['counted']:,.10g} {row['figure']}, the reference has {row['published']:,.10g}{' or more' * (row['holds'] == 'least')}" for row in figures if not row["agrees"]
    )
    for row in figures:
        if row["holds"] == "about":
            yield f"{row['counted']:,.1f} {row['figure']}, the reference about {row['published']:,.10g}: {reference_difference(row)}"


def _tenants(facts: dict[str, Any]) -> Iterator[str]:
    """A line for each of the first tenants, then how many more there are and what nobody has."""
    tenants = facts["tenants"]
    for row in tenants[:TENANTS_SHOWN]:
        sus = [str(su) for su in row["sus"]]
        more = f" and {len(sus) - SUS_SHOWN} more" if len(sus) > SUS_SHOWN else ""
        where = f"SU{'s' if len(sus) > 1 else ''} {', '.join(sus[:SUS_SHOWN])}{more}{', crosses SU borders' if row['crosses_sus'] else ''}"
        yield f"{row['tenant']}: {_count(row['nodes'], 'node')}, {where}, {_count(row['leaf_count'], 'leaf', 'leaves')}, {numbers_text(row['numbers'])}"
    rest = [f"{len(tenants) - TENANTS_SHOWN} more in tenants.csv"] if len(tenants) > TENANTS_SHOWN else []
    rest += [f"{_count(facts['nodes_without_tenant'], 'node')} without tenant"] if tenants and facts["nodes_without_tenant"] else []
    if rest:
        yield f"and {', '.join(rest)}"


def _percent(share: float) -> str:
    """Whole percent, of which neither a little reads as none nor nearly all as all."""
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _growth(facts: dict[str, Any]) -> str:
    final = facts["growth"]["nodes"]
    return f", to grow to {final:,} nodes" if final > facts["nodes"] else ""


def _fabric_lines(name: str, fabric: dict[str, Any]) -> Iterator[tuple[str, str | Text]]:
    models = dict.fromkeys((fabric["switch"], fabric["spine_switch"]) if fabric["spines"] else (fabric["switch"],))
    yield name, f"{fabric['family']}, style {fabric['style']}, {' and '.join(models)}"
    words = (("tiers", "tier", ""), ("planes", "plane", ""), ("pods", "SU", ""), ("leaves", "leaf", "leaves"), ("spines", "spine", ""), ("cores", "core", ""))
    yield "", ", ".join(_count(fabric[key], one, many) for key, one, many in words if fabric[key])
    ufm = f" ({fabric['ufm_links']} of them UFM)" if fabric["ufm_links"] else ""
    links = ", ".join(f"{n:,} {tier}{ufm if tier == 'node-leaf' else ''}" for tier, n in fabric["links"].items() if n)
    pair = fabric["links_per_leaf_spine_pair"]
    yield "links", links + (f"; {pair} between each leaf and spine" if pair else "")
    proof, ratio = fabric["bisection"], fabric["oversubscription"]
    good = min(proof["by_count_gbps"], proof["by_flow_gbps"]) >= proof["required_gbps"]
    above = f", {_ratio(ratio['designed_core'])} towards the cores" if fabric["tiers"] == 3 and ratio["designed_core"] != 1 else ""
    verdict = "non-blocking" if proof["non_blocking"] else f"{_ratio(ratio['designed'])}{above} as designed" if good else "NOT ENOUGH"
    text = Text(f"bisection {_tbps(proof['required_gbps'])} needed, {_tbps(proof['by_count_gbps'])} by count, {_tbps(proof['by_flow_gbps'])} by flow: ")
    yield "proof", text.append(verdict, style="bold green" if good else "bold red")
    yield "traffic", _traffic_line(fabric)
    core = f", {_ratio(ratio['designed_core'])} designed and {_ratio(ratio['worst_spine'])} at the worst spine towards the cores" if fabric["tiers"] == 3 else ""
    yield "ratio", f"oversubscription {_ratio(ratio['designed'])} designed, {_ratio(ratio['worst_leaf'])} at the worst leaf, {_ratio(ratio['worst_tier'])} over the tier{core}"


def _access_lines(name: str, fabric: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A fabric other than compute, in two lines."""
    models = dict.fromkeys((fabric["switch"], fabric["spine_switch"]) if fabric["spines"] else (fabric["switch"],))
    shape = [_count(fabric["leaves"], "leaf", "leaves"), *([_count(fabric["spines"], "spine")] if fabric["spines"] else [])]
    if fabric["links"]["inter-switch"]:
        shape.append(f"{_count(fabric['links']['inter-switch'], 'link')} between the leaves")
    if fabric["uplinked_to"]:
        shape.append(f"uplinks to {fabric['uplinked_to']}")
    yield name, f"{' and '.join(models)}: {', '.join(shape)}"
    ports = ", ".join(f"{count:,} at {gbps}G" for gbps, count in fabric["ports_by_gbps"].items())
    ratio = fabric["oversubscription"]
    at_most = f"; oversubscription {_ratio(ratio['designed'])} designed, {_ratio(ratio['worst_leaf'])} at the worst leaf" if ratio else ""
    yield "", f"{_count(sum(fabric['clients'].values()), 'client')}, ports: {ports}{at_most}"


def _totals(fabric: dict[str, Any]) -> str:
    """Cables, modules and price of a fabric beside others."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in fabric["cables"]["by_kind"].items())
    price = fabric["cost"]
    partly = ", not complete" if price["unpriced_rows"] or price["other_currency_rows"] else ""
    known = "no prices" if price["unpriced_rows"] == price["rows"] else f"{price['total']:,.0f} {price['currency']}{partly}"
    return f"{kinds}; {_count(fabric['modules'], 'module')}; {known}"


def _traffic_line(fabric: dict[str, Any]) -> str:
    """Worst load of a link, the pattern behind it where links can't carry it, and the switches between GPUs."""
    traffic = fabric["traffic"]
    load = f"the worst traffic fills a link to {100 * traffic['worst_load']:.4g}% of its rate" if traffic["by_tier"] else "no link between switches"
    if traffic["worst_load"] > 1:
        rows = [f"{row['from']} sends {row['gbps']:,}G to {row['to']}" for row in traffic["witness"][:2]]
        more = f" and {traffic['witness_rows'] - 2:,} more" if traffic["witness_rows"] > 2 else ""
        load += f" ({traffic['worst_link']}, when {', '.join(rows)}{more})"
    places = {"same SU": "in the SU", "other SU": "to other SUs", "other group": "to other groups"}
    far: dict[str, list[str]] = {"equal": [], "unequal": []}
    for row in fabric["locality"]:
        least, most = row["switches_least"], row["switches_most"]
        number = "NVLink only" if least is None else f"{least}" if least == most else f"{least} to {most or 'NVLink only'}"
        far[row["gpu_index"]].append(f"{number} {places[row['between']]}")
    hops = "; ".join(f"{index} GPU indices {', '.join(numbers)}" for index, numbers in far.items() if numbers)
    return f"{load}; switches between {hops}"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _tbps(gbps: int) -> str:
    return f"{gbps / 1000:,g} Tb/s"


def _ratio(value: float | None) -> str:
    return "no uplinks" if value is None else f"{value:.4g}:1"


def _findings(problems: Sequence[Problem]) -> Iterator[Text]:
    """A count by level, then the first groups of alike findings, one line each."""
    counts = {level: sum(p.level == level for p in problems) for level in LEVELS}
    yield Text(", ".join(_count(n, level) for level, n in counts.items() if n) or "none")
    groups = list(_alike(p for p in problems if p.level != "note"))[:GROUPS_SHOWN]
    for first, same in groups:
        text = Text(f"{first.level}  ", style=LEVELS[first.level])
        text.append(f"{first.where}  {first.what}" if first.where else first.what, style="default")
        yield text.append(f"  (and {same} more of {first.rule})" if same else "", style="dim")
    rest = len(problems) - sum(1 + same for _, same in groups)
    if rest:
        yield Text(f"and {rest} more in findings.csv", style="dim")


def _alike(problems: Iterable[Problem]) -> Iterator[tuple[Problem, int]]:
    """The first finding of each level and rule, gravest level first, and how many more there are of it."""
    groups: dict[tuple[int, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((list(LEVELS).index(problem.level), problem.rule), []).append(problem)
    for _, group in sorted(groups.items(), key=lambda item: item[0][0]):
        yield group[0], len(group) - 1
