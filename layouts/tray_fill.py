"""How full the trays are: the cross-section that cables take in every segment, against what the tray may hold.

A cable takes its whole cross-section once in every segment that any of its ways uses. A split cable is counted as if it
parted where the ways to its tails part, and each tail as thick as the head: on the safe side, for tails are thinner.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from ..fabric.tables import frame
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.catalog import Catalog
from .cables import Cabling
from .hall import Floats, Hall, Ints
from .placement import Placement
from .tables import TRAYS
from .thickness import Thickness, thickness_assumptions, thicknesses
from .tray_segments import loads, point_names, segments, segments_of_pairs
from .ways import CableWays

TOO_FULL = 100 + 1e-9
"""Percent of the limit beyond which a segment is too full."""


def fill_trays(topology: Topology, placement: Placement, cabling: Cabling, catalog: Catalog, ways: CableWays) -> tuple[pl.DataFrame, list[Problem]]:
    """Table TRAYS, one row for each segment; warnings: figures assumed, and each tray that is too full at its worst segment."""
    spec = topology.design.hall
    parts = thicknesses(cabling.cables["part"].unique(), catalog, spec)
    counts = cables_in_segments(placement.hall, ways, cabling.cables["part"].to_list(), list(parts))
    table = _table(placement.hall, counts, parts)
    return table, [*thickness_assumptions(parts, catalog, spec), *_too_full(placement.hall, table)]


def cables_in_segments(hall: Hall, ways: CableWays, part_of_cable: list[str], parts: list[str]) -> Ints:
    """Cables of each part that lie in each segment: [segment, part]."""
    number = {part: i for i, part in enumerate(parts)}
    moving = np.flatnonzero(ways.way >= 0)
    kind = np.array([number[part] for part in part_of_cable], np.int64)[moving]
    many = int(ways.way.max(initial=-1)) + 1
    carried = np.bincount(ways.way[moving] * len(parts) + kind, minlength=many * len(parts)).reshape(many, len(parts))
    way, low, high = ways.pairs
    alone = np.bincount(way, minlength=many)[way] == 1
    counts = loads(hall, low[alone], high[alone], carried[way[alone]])
    if not alone.all():
        branching = np.flatnonzero(~alone)
        pair, segment = segments_of_pairs(hall, low[branching], high[branching])
        once = np.unique(way[branching[pair]] * len(counts) + segment)
        np.add.at(counts, once % len(counts), carried[once // len(counts)])
    return counts


def _table(hall: Hall, counts: Ints, parts: Mapping[str, Thickness]) -> pl.DataFrame:
    """Lay out table TRAYS."""
    pieces = segments(hall)
    areas, optical = np.array([t.area_mm2 for t in parts.values()]), np.array([t.optical for t in parts.values()], bool)
    weights = np.array([np.nan if t.weight_kg_per_m is None else t.weight_kg_per_m for t in parts.values()], float)
    area = counts @ areas
    whole = (pieces["width_mm"] * pieces["depth_mm"]).to_numpy()
    capacity = whole * pieces["fill_percent"].to_numpy() / 100
    begin, end = point_names(hall)
    return frame(
        TRAYS,
        {
            **{name: pieces[name] for name in ("segment", "tray", "length_m", "width_mm", "depth_mm", "x_m", "y_m", "to_x_m", "to_y_m", "height_m")},
            "from": begin,
            "to": end,
            "cables": counts.sum(axis=1),
            "copper": counts[:, ~optical].sum(axis=1),
            "optical": counts[:, optical].sum(axis=1),
            "area_mm2": area,
            "copper_area_mm2": counts[:, ~optical] @ areas[~optical],
            "capacity_mm2": capacity,
            "fill_percent": 100 * area / whole,
            "limit_percent": pieces["fill_percent"],
            "of_limit_percent": 100 * area / capacity,
            "weight_kg_per_m": _weights(counts, weights),
        },
    )


def _weights(counts: Ints, weights: Floats) -> pl.Series:
    """Kilograms per metre of the cables of each segment; null where a part in it has no figure."""
    unknown = np.isnan(weights)
    known = counts[:, ~unknown] @ weights[~unknown]
    return pl.Series(np.where((counts[:, unknown] > 0).any(axis=1), np.nan, known)).fill_nan(None)


def _too_full(hall: Hall, table: pl.DataFrame) -> list[Problem]:
    """One warning for each tray that cables overfill, at its worst segment, the worst tray first."""
    over = table.filter(pl.col("of_limit_percent") > TOO_FULL)
    counted = over.group_by("tray").agg(pl.len().alias("pieces"), pl.col("length_m").sum().alias("over_m"))
    worst = over.sort("of_limit_percent", "segment", descending=[True, False]).unique("tray", keep="first", maintain_order=True)
    number = {tray.name: i for i, tray in enumerate(hall.trays)}
    rows = worst.join(counted, on="tray", maintain_order="left").to_dicts()
    return [_overfilled(row, f"hall.trays.{number[row['tray']]}" if hall.listed else "hall.tray_width_mm") for row in rows]


def _overfilled(row: dict[str, float], where: str) -> Problem:
    times = row["of_limit_percent"] / 100
    pieces = f"; {row['pieces']:,} of its segments, {row['over_m']:,.1f} m, are too full" if row["pieces"] > 1 else ""
    what = (
        f"tray {row['tray']} is filled to {row['fill_percent']:.1f}% between {row['from']} and {row['to']}, its limit is {row['limit_percent']:g}%: "
        f"{row['cables']:,} cables take {row['area_mm2']:,.0f} of {row['capacity_mm2']:,.0f} mm2{pieces}"
    )
    share = 100 * row["copper_area_mm2"] / row["area_mm2"]
    why = f"{row['copper']:,} copper cables take {share:.0f}% of that, {row['optical']:,} optical ones the rest" if row["copper"] else "all of them are optical"
    trays, wide = -int(-times // 1), -int(-row["width_mm"] * times // 10) * 10
    fix = f"make it {wide:,} mm wide or lay {trays:,} trays of {row['width_mm']:g} mm side by side"
    fix += ", allow less copper (cables.max_length_m, cables.copper_tiers)" if share >= 50 else ""
    return Problem("tray-full", where, what, why, f"{fix}, or place racks otherwise (--effort, hall.rows)", "warning")
