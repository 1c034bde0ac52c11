"""How good the placement is, for people: price, bound, the fixed arrangements on the same hall, links by kind of cable."""

from __future__ import annotations

import math
from typing import Any

from .summary import KINDS

HOW_TO_SEARCH = "--effort quick searches for cheaper cabling"

Row = tuple[str, int | float | str, str]
"""Label, value, unit; a value that is text says it all."""


def placement_lines(found: dict[str, Any]) -> list[str]:
    """Of summary.json's placement: what was chosen and how good it is, the fixed arrangements, links by kind; nothing where nothing was compared."""
    if "baselines" not in found:
        return []
    fixed = ", ".join(f"{name} {_price(value)}" for name, value in found["baselines"].items())
    links = "; ".join(f"{tier} {_kinds(kinds)}" for tier, kinds in found["links_by_kind"].items())
    return [_headline(found), f"fixed: {fixed} {found['unit']}", f"links: {links}"]


def uncompared(found: dict[str, Any]) -> str:
    """The arrangement that was taken without comparing any, and how to search; empty otherwise."""
    return "" if "baselines" in found else f"arranged {found['arrangement']} ({HOW_TO_SEARCH})"


def placement_rows(found: dict[str, Any]) -> list[Row]:
    """The same as rows."""
    if "baselines" not in found:
        return [("Arrangement", f"{found['arrangement']}, the reference arrangement; {HOW_TO_SEARCH}", "")]
    unit, name = found["unit"], best_fixed(found)
    rows: list[Row] = [("Arrangement", _chosen(found), ""), ("Cables and modules", _number(found["objective"]), _unit(found))]
    if found["objective_today"] != found["objective"]:
        rows.append(("of them for links of today", _number(found["objective_today"]), unit))
    rows += [("No placement is below", _number(found["bound"]), unit), ("Gap to that", float(found["gap_percent"]), "%"), ("Status", _status(found), "")]
    if name:
        rows += [("Best fixed arrangement", name, ""), ("Saved against it", round(_saved(found), 4), "%")]
    if found["pods_together"] is not None:
        rows += [("Racks of every SU together", _number(found["pods_together"]), unit), ("Racks of an SU anywhere", _number(found["pods_anywhere"]), unit)]
    rows += [(f"Fixed: {fixed}", "does not fit" if value is None else _number(value), "" if value is None else unit) for fixed, value in found["baselines"].items()]
    return [*rows, *((f"Links {tier}", _kinds(kinds), "") for tier, kinds in found["links_by_kind"].items())]


def best_fixed(found: dict[str, Any]) -> str:
    """Name of the cheapest fixed arrangement, empty where none fits."""
    fits = {name: value for name, value in found["baselines"].items() if value is not None}
    return min(fits, key=lambda name: float(fits[name]), default="")


def _headline(found: dict[str, Any]) -> str:
    name, saved = best_fixed(found), _saved(found)
    text = f"{_chosen(found)}: {found['objective']:,.0f} {_unit(found)}"
    if found["objective_today"] != found["objective"]:
        text += f" ({found['objective_today']:,.0f} today)"
    if found["arrangement"] == name:
        text += ", the best fixed arrangement" + ("" if found["effort"] == "fixed" else "; the search found none cheaper")
    elif name:
        against = f"{abs(saved):.1f}% {'below' if saved > 0 else 'above'}" if round(saved, 1) else "as much as"
        text += f", {against} {name} (the best fixed)"
    text += _together(found)
    if found["kept"] and found["arrangement"] != "given":
        text += f", around {found['kept']:,} devices whose places are given"
    if found["effort"] == "fixed" and found["arrangement"] in found["baselines"] and not found["forced"]:
        return f"{text}; {HOW_TO_SEARCH}"
    return text + f", {_status(found)}" if found["effort"] != "fixed" or found["interrupted"] or found["status"] == "optimal" else text


def _together(found: dict[str, Any]) -> str:
    """What racks of an SU that stand together cost against scattered ones, where that was searched and differs."""
    together, anywhere = found["pods_together"], found["pods_anywhere"]
    if together is None or together == anywhere:
        return ""
    return f"; the racks of every SU together {together:,.0f}, scattered {anywhere:,.0f}"


def _chosen(found: dict[str, Any]) -> str:
    if found["arrangement"] == "given":
        return "places as given"
    return str(found["arrangement"]) + (", as the design asks" if found["forced"] else "")


def _status(found: dict[str, Any]) -> str:
    """Proved optimal, or how far above the optimum at most; and whether the search was interrupted."""
    if found["status"] == "optimal":
        return "proved optimal"
    bound, objective = found["bound"], found["objective"]
    above = f"at most {math.ceil(1000 * (objective - bound) / bound - 1e-6) / 10:.1f}% above the optimum" if bound > 0 else "no bound known"
    bounded = f"{above} (bound {bound:,.0f}, gap {found['gap_percent']:.1f}%)" if bound > 0 else above
    return bounded + ("; interrupted, the best found until then" if found["interrupted"] else "")


def _saved(found: dict[str, Any]) -> float:
    """Percent below the best fixed arrangement; negative when above."""
    base = found["baselines"].get(best_fixed(found))
    return 100 * (1 - found["objective"] / base) if base else 0.0


def _unit(found: dict[str, Any]) -> str:
    return str(found["unit"]) + (" when grown" if found["objective_today"] != found["objective"] else "")


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _price(value: float | None) -> str:
    return "does not fit" if value is None else f"{value:,.0f}"


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{kinds[kind]:,} {kind}" for kind in sorted(kinds, key=KINDS.index))
