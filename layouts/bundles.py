"""Bundles for pre-made looms: cables between the same racks on the same way, copper and optical apart.

A cable that stays within its rack is patched, not laid, so it is in no bundle; nor is one that runs alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from ..fabric.tables import frame
from ..fabric.topology import Topology
from ..vendors.catalog import Catalog
from .cables import Cabling
from .hall import Hall, Ints
from .placement import Placement
from .tables import BUNDLES
from .thickness import Thickness, bundle_mm, thicknesses
from .tray_segments import stretches
from .ways import CableWays, first_of

DIGITS = 4
"""Of a bundle's number, and more where there are more."""


def bundle(topology: Topology, placement: Placement, cabling: Cabling, catalog: Catalog, ways: CableWays) -> tuple[Cabling, pl.DataFrame]:
    """(the cabling with the bundle of every cable, table BUNDLES)."""
    most = topology.design.cables.bundle_max
    parts = thicknesses(cabling.cables["part"].unique(), catalog, topology.design.hall)
    number = _numbers(ways.way, cabling.cables["part"].replace_strict({m: t.optical for m, t in parts.items()}, return_dtype=pl.Boolean).to_numpy(), (most.copper, most.fibre))
    bundles = int(number.max(initial=-1)) + 1
    width = max(DIGITS, len(str(bundles)))
    names = [f"B{i:0{width}d}" for i in range(1, bundles + 1)]
    name = pl.Series("bundle", [*names, ""]).gather(np.where(number < 0, bundles, number))
    cables = cabling.cables.with_columns(name)
    return replace(cabling, cables=cables), _table(placement.hall, cables, number, names, parts, ways)


def _numbers(way: Ints, optical: np.ndarray, most: tuple[int, int]) -> Ints:
    """Bundle of every cable, -1 for none: ways in their order, copper first, groups beyond the largest bundle split evenly."""
    moving = np.flatnonzero(way >= 0)
    group = way[moving] * 2 + optical[moving]
    size = np.bincount(group)
    pieces = -(-size // np.where(np.arange(len(size)) % 2, most[1], most[0]))
    rank = np.empty(len(group), np.int64)
    rank[np.argsort(group, kind="stable")] = np.arange(len(group)) - np.repeat(np.cumsum(size) - size, size)
    piece = (np.cumsum(pieces) - pieces)[group] + rank * pieces[group] // size[group]
    real = np.bincount(piece) > 1
    number = np.full(len(way), -1)
    number[moving] = np.where(real, np.cumsum(real) - 1, -1)[piece]
    return number


def _table(hall: Hall, cables: pl.DataFrame, number: Ints, names: list[str], parts: Mapping[str, Thickness], ways: CableWays) -> pl.DataFrame:
    """Lay out table BUNDLES."""
    alike = ("number", "part", "kind", "length_m")
    sold = cables.select(pl.Series("number", number), *alike[1:]).filter(pl.col("number") >= 0).group_by(alike).len("count")
    schema = {"part": pl.String, "diameter_mm": pl.Float64, "kg_per_m": pl.Float64}
    figures = pl.DataFrame([(model, t.diameter_mm, t.weight_kg_per_m) for model, t in parts.items()], schema=schema, orient="row")
    weight = pl.col("count") * pl.col("length_m") * pl.col("kg_per_m")
    rows = sold.join(figures, on="part", how="left").sort(alike).with_columns(weight.alias("weight_kg"))
    whole = rows.group_by("number", maintain_order=True).agg(
        pl.col("count").sum().alias("cables"),
        pl.col("kind").unique().sort().str.join("+").alias("kinds"),
        pl.col("length_m").min().alias("shortest_m"),
        pl.col("length_m").max().alias("longest_m"),
        pl.when(pl.col("weight_kg").is_not_null().all()).then(pl.col("weight_kg").sum()).alias("weight_kg"),
    )
    counted = rows.group_by("number", "part", "diameter_mm", maintain_order=True).agg(pl.col("count").sum()).group_by("number", maintain_order=True)
    listed = counted.agg(pl.format("{} x {}", "count", "part").str.join("+").alias("parts"), "diameter_mm", "count")
    made = [tuple(zip(d, n, strict=True)) for d, n in listed.select("diameter_mm", "count").iter_rows()]
    thick = {kinds: bundle_mm(_summed(kinds)) for kinds in set(made)}
    columns = {name: whole[name] for name in whole.columns if name != "number"}
    return frame(
        BUNDLES, {"bundle": names, **columns, "parts": listed["parts"], "diameter_mm": [thick[kinds] for kinds in made], **_ends_and_trays(hall, number, len(names), ways)}
    )


def _summed(kinds: tuple[tuple[float, int], ...]) -> dict[float, int]:
    """Cables of each diameter."""
    found: dict[float, int] = {}
    for diameter, count in kinds:
        found[diameter] = found.get(diameter, 0) + count
    return found


def _ends_and_trays(hall: Hall, number: Ints, bundles: int, ways: CableWays) -> dict[str, list[str]]:
    """Racks at both ends of every bundle and the trays between them, as its first cable has them."""
    rows = ways.rows_of(first_of(number))
    low, high, forward = ways.low[rows], ways.high[rows], ways.forward[rows]
    trays = _trays(hall, low, high)
    racks = hall.positions["rack"].to_list()
    found: dict[str, list[list[str]]] = {name: [[] for _ in range(bundles)] for name in ("a_rack", "b_rack", "trays")}
    for row, (one, i, j, ahead) in enumerate(zip(number[ways.cable[rows]].tolist(), low.tolist(), high.tolist(), forward.tolist(), strict=True)):
        found["a_rack"][one].append(racks[i if ahead else j])
        found["b_rack"][one].append(racks[j if ahead else i])
        found["trays"][one].append(" > ".join(trays[row] if ahead else trays[row][::-1]))
    joints = {"a_rack": "+", "b_rack": "+", "trays": " | "}
    return {name: [joint.join(dict.fromkeys(words)) for words in found[name]] for name, joint in joints.items()}


def _trays(hall: Hall, low: Ints, high: Ints) -> list[list[str]]:
    """Names of the trays on the way from `low` to `high`, in order."""
    names: list[list[str]] = [[] for _ in low]
    for pair, tray, begin, end in stretches(hall, low, high):
        for i, t in zip(pair[begin != end].tolist(), tray[begin != end].tolist(), strict=True):
            name = hall.trays[t].name
            if not names[i] or names[i][-1] != name:
                names[i].append(name)
    return names
