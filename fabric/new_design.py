"""The text of a new design file, with comments a first user learns from; also what the flags of `plan` stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Flag(NamedTuple):
    """One command-line flag and the design field it sets."""

    field: str
    comment: str


FLAGS: dict[str, Flag] = {
    "name": Flag("name", "heads every file"),
    "node": Flag("nodes.model", "`railplan catalog nodes` lists the models"),
    "nodes": Flag("nodes.count", "number of GPU nodes"),
    "grow_to": Flag("nodes.grow_to", "final number of nodes: spines, racks, power and ports are kept for it"),
    "family": Flag("fabrics.compute.family", "spectrum-x, tomahawk-6, tomahawk-5, quantum-ndr or quantum-xdr"),
    "switch": Flag("fabrics.compute.switch", "`railplan catalog switches` lists the models"),
    "style": Flag("fabrics.compute.style", "rail, rail-only, tor, dual-tor, pair, single or chassis"),
    "planes": Flag("fabrics.compute.planes", "disjoint networks every NIC is split over: auto, 1, 2 or 4"),
    "oversubscription": Flag("fabrics.compute.oversubscription", "1 is non-blocking; 2:1 halves the uplinks"),
    "seed": Flag("seed", "of everything tried at random"),
}

DEFAULTS: dict[str, object] = {"name": "cluster", "node": "hgx-b300", "nodes": 128, "family": "spectrum-x", "style": "rail", "planes": "auto", "oversubscription": 1}

NUMBERS = ("nodes", "grow_to", "planes", "oversubscription", "seed")
"""Flags whose values are numbers in YAML."""

MORE = """
# More that a design can say (see the field reference, or `railplan schema` for your editor):
# fabrics.compute: nodes_per_su, partial_su, rails_per_leaf, spines_per_plane, uplink_gbps, ufm_links, reserved_ports
# hall:            rack, rack_power_kw, rack_cooling_kw, floor_kg_per_m2, nodes_per_rack, rows with blocked positions and rack types
#                  of their own, aisles, trays, measured lengths
# cables:          max_length_m for each kind (0 switches it off), spares_percent, currency
"""


def design_text(flags: Mapping[str, object], heading: str = "", more: bool = False) -> str:
    """YAML text of the design that `flags` (by flag name, None left out) stand for, every line commented."""
    values = {**DEFAULTS, **{k: v for k, v in flags.items() if v is not None}}
    lines = [heading] if heading else []
    above: list[str] = []
    for name, flag in FLAGS.items():
        if name not in values:
            continue
        *sections, key = flag.field.split(".")
        for depth, section in enumerate(sections):
            if above[: depth + 1] != sections[: depth + 1]:
                lines.append("  " * depth + f"{section}:")
                above = sections[: depth + 1]
        above = sections
        lines.append(f"{'  ' * len(sections) + key + ': ' + _scalar(values[name], name in NUMBERS):<34} # {flag.comment}")
    return "\n".join(lines) + "\n" + (MORE if more else "")


def _scalar(value: object, number: bool) -> str:
    """A YAML scalar: plain words as they are, and numbers where one is meant; everything else quoted."""
    text = str(value)
    if text.lower() in ("on", "off", "yes", "no", "true", "false", "null", "y", "n"):  # YAML 1.1 reads these as no text
        return f"'{text}'"
    if (number and re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)) or (text.replace("-", "").replace(".", "").isalnum() and text.isascii() and text[0].isalpha()):
        return text
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"
