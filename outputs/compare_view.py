"""The comparison as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..problems import Problem

if TYPE_CHECKING:
    from rich.console import Console

LABEL_MAX = 18
"""Longer labels stand in a list above the table, and numbers head the columns."""

ROWS: tuple[tuple[str, str], ...] = (
    ("style", "style"),
    ("switch", "switch"),
    ("tiers", "tiers"),
    ("planes", "planes"),
    ("leaves", "leaves"),
    ("spines", "spines"),
    ("cores", "cores"),
    ("switches", "switches"),
    ("links", "links"),
    ("cables", "cables"),
    ("cables_by_kind", "by kind"),
    ("copper_links_percent", "links on copper, %"),
    ("modules", "modules"),
    ("longest_cable_m", "longest cable, m"),
    ("network_price", "network price"),
    ("saving_percent", "saving on the first, %"),
    ("unpriced_rows", "rows without a price"),
    ("racks", "racks"),
    ("power_kw", "power, kW"),
    ("oversubscription", "oversubscription"),
    ("core_oversubscription", "towards the cores"),
    ("bisection_percent", "bisection, % of full"),
    ("non_blocking", "non-blocking"),
    ("worst_load", "worst link load"),
    ("switches_passed", "switches passed"),
)
"""Figure -> what the table calls it."""


def print_comparison(columns: Sequence[tuple[str, Mapping[str, Any], Sequence[Problem]]], console: Console) -> None:
    """Print one column for each (label, figures, problems); what can't be built says why below."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    numbered = any(len(label) > LABEL_MAX for label, _, _ in columns)
    for number, (label, _, _) in enumerate(columns, 1):
        if numbered:
            console.print(Text(f"{number:>3}  {label}"), soft_wrap=True)
        table.add_column(Text(str(number) if numbered else label), justify="right", overflow="fold")
    for key, name in ROWS:
        if any(figures.get(key) is not None for _, figures, _ in columns):
            table.add_row(name, *(Text(_shown(key, figures.get(key)) if figures else "-") for _, figures, _ in columns))
    console.print(table)
    for label, figures, problems in columns:
        if not figures:
            for problem in problems:
                console.print(Text(f"{label}: {problem}"), soft_wrap=True)


def _shown(key: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        if key == "switches_passed":
            return ", ".join(f"{where}: {count if count is not None else 'by NVLink'}" for where, count in value.items())
        return ", ".join(f"{count:,} {kind}" for kind, count in value.items())
    if isinstance(value, float):
        return f"{value:,.0f}" if key == "network_price" else f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def comparison_json(columns: Sequence[tuple[str, Mapping[str, Any], Sequence[Problem]]]) -> str:
    """The same as a JSON document."""
    plans = [{"label": label, **figures, "problems": [str(p) for p in problems]} for label, figures, problems in columns]
    return json.dumps({"plans": plans}, indent=2)
