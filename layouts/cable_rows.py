"""The tables of cables and modules, laid out from decided links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from ..vendors.catalog import Catalog
from .assemblies import Choice, CopperChoice, OpticalChoice, fibre_length, fibres
from .plugs import CageClass
from .sizes import device_sizes
from .tables import CABLES, MODULES

BREAKDOWN = ("out_m", "up_m", "along_m", "across_m", "down_m", "slack_m")


def cable_rows(topology: Topology, links: pl.DataFrame, choices: Sequence[Choice], classes: Sequence[CageClass], catalog: Catalog) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(table CABLES, one row for each link with its cable and the fibre's shape)."""
    copper = {i: isinstance(c, CopperChoice) for i, c in enumerate(choices)}
    links = links.with_columns(pl.when(pl.col("choice").replace_strict(copper, return_dtype=pl.Boolean)).then(pl.col("group") * 2).otherwise(pl.col("fibre") * 2 + 1).alias("key"))
    whole = pl.when(pl.col("key") % 2 == 0).then(pl.col("group_route_m")).otherwise(pl.col("fibre_route_m")).alias("whole_route_m")
    form = pl.when(pl.col("key") % 2 == 0).then(pl.lit("copper")).otherwise(pl.col("shape")).alias("shape")
    links = links.with_columns(whole, form)
    links = _named(topology, links, choices, classes).sort("link").with_columns(pl.len().over("key").cast(pl.Int32).alias("links"))
    alone = pl.col("links") == 1
    rows = pl.concat([_of_one(links.filter(alone)), _of_many(links.filter(~alone))]).sort("link").with_row_index("cable_no")
    rows = _with_parts(rows, choices, catalog).with_columns(
        pl.format("{} {} > {}", "cable", "a_near", "b_near").alias("a_label"),
        pl.format("{} {} > {}", "cable", "b_near", "a_near").alias("b_label"),
        pl.lit("").alias("bundle"),
    )
    carried = (
        links.select("link", "key").join(rows.select("key", "cable_no", "shape"), on="key", how="left", maintain_order="left").select("link", "cable_no", "shape").sort("link")
    )
    return rows.select(pl.col(name).cast(dtype) for name, dtype in CABLES.items()), carried


MANY = tuple(f"{end}_{name}" for end in "ab" for name in ("device", "rack", "ru"))


def _of_one(links: pl.DataFrame) -> pl.DataFrame:
    """Rows of cables that carry one link: the link's own values (no grouping, which would be slow for a million)."""
    return links.select(
        "key",
        "link",
        _cable_id(pl.col("series"), pl.col("serial")),
        *("fabric", "tier", "gbps", "choice", "a_module", "b_module"),
        pl.when(pl.col("rail") >= 0).then(pl.col("rail").cast(pl.String)).otherwise(pl.lit("")).alias("rail"),
        pl.when(pl.col("plane") >= 0).then(pl.col("plane").cast(pl.String)).otherwise(pl.lit("")).alias("plane"),
        "links",
        *MANY,
        *("a_port", "b_port"),
        *[pl.format("{}-{}", _place(end), pl.col(f"{end}_port")).alias(f"{end}_near") for end in "ab"],
        *("shape", "whole_route_m", "route_m"),
        *BREAKDOWN,
        "length_source",
    )


def _of_many(links: pl.DataFrame) -> pl.DataFrame:
    """Rows of cables that carry several links: ports in link order at both ends, the longest route."""
    longest = pl.col("route_m").arg_max()
    return links.group_by("key", maintain_order=True).agg(
        pl.col("link").first(),
        _cable_id(pl.col("series").first(), pl.col("serial").first()),
        pl.col("fabric", "tier", "gbps", "choice", "a_module", "b_module").first(),
        _joined("rail", pl.col("rail") >= 0),
        _joined("plane", pl.col("plane") >= 0),
        pl.col("links").first(),
        *[_joined(name) for name in MANY],
        *[pl.col(f"{end}_port").str.join("+") for end in "ab"],
        *[_end_label(end).alias(f"{end}_near") for end in "ab"],
        pl.col("shape", "whole_route_m").first(),
        pl.col("route_m").max(),
        *[pl.col(name).get(longest) for name in BREAKDOWN],
        pl.col("length_source").get(longest),
    )


def _cable_id(series: pl.Expr, serial: pl.Expr) -> pl.Expr:
    """Series letter and number of the first link it carries."""
    return pl.format("{}{}", series, (serial + 1).cast(pl.String).str.zfill(6)).alias("cable")


def _place(end: str) -> pl.Expr:
    """RACK-Uru, or RACK-device for what takes no unit."""
    rack, ru = pl.col(f"{end}_rack"), pl.col(f"{end}_ru")
    return pl.when(ru == "").then(pl.format("{}-{}", rack, f"{end}_device")).otherwise(pl.format("{}-U{}", rack, ru.str.zfill(2)))


def shape_of(a: str, b: str) -> pl.Expr:
    """Shape of a fibre by the number of connectors on either side."""
    low, high = pl.min_horizontal(a, b), pl.max_horizontal(a, b)
    named = pl.when(high == 1).then(pl.lit("straight")).when((low == 1) & (high == 2)).then(pl.lit("splitter")).when((low == 2) & (high == 2)).then(pl.lit("shuffle"))
    return named.otherwise(pl.format("{}x{}", low, high))


def _joined(name: str, keep: pl.Expr | None = None) -> pl.Expr:
    """The column's one value, or all values joined by + where they differ."""
    column = pl.col(name).cast(pl.String) if keep is None else pl.when(keep).then(pl.col(name).cast(pl.String)).otherwise(pl.lit(""))
    return pl.when(column.n_unique() == 1).then(column.first()).otherwise(column.str.join("+")).alias(name)


def _end_label(end: str) -> pl.Expr:
    """RACK-Uru-PORT of an end; ports of one device share the rack and unit (after TIA-606)."""
    place = _place(end)
    whole = pl.format("{}-{}", place, pl.col(f"{end}_port"))
    same = pl.col(f"{end}_device").n_unique() == 1
    return pl.when(same).then(pl.format("{}-{}", place.first(), pl.col(f"{end}_port").str.join("+"))).otherwise(whole.str.join("+"))


def _named(topology: Topology, links: pl.DataFrame, choices: Sequence[Choice], classes: Sequence[CageClass]) -> pl.DataFrame:
    """Links with the names of their ends: device, port, rack, unit, module."""
    devices = topology.devices.select("dev", "device", "profile").with_columns(device_sizes(topology)["height_ru"])
    by_class = _module_of_class(choices, classes).select("choice", "class", pl.col("part").alias("module"))
    for end in "ab":
        ru = pl.when(pl.col("height_ru") > 0).then(pl.col(f"ru_{end}").cast(pl.String)).otherwise(pl.lit(""))
        links = (
            links.join(devices.rename({"dev": f"{end}_dev", "device": f"{end}_device"}), on=f"{end}_dev", how="left", maintain_order="left")
            .join(
                topology.port_names.select("profile", pl.col("cage").alias(f"{end}_cage"), pl.col("child").alias(f"{end}_child"), pl.col("port").alias(f"{end}_port")),
                on=["profile", f"{end}_cage", f"{end}_child"],
                how="left",
                maintain_order="left",
            )
            .join(by_class.rename({"class": f"{end}_class", "module": f"{end}_module"}), on=["choice", f"{end}_class"], how="left", maintain_order="left")
            .with_columns(pl.col(f"{end}_module").fill_null(""), pl.col(f"rack_{end}").alias(f"{end}_rack"), ru.alias(f"{end}_ru"))
            .drop("profile", "height_ru")
        )
    return links


def _module_of_class(choices: Sequence[Choice], classes: Sequence[CageClass]) -> pl.DataFrame:
    """Module that each optical choice puts in each class of cage."""
    rows = [(i, classes.index(c), m.model, m.connectors) for i, choice in enumerate(choices) if isinstance(choice, OpticalChoice) for c, m in choice.modules.items()]
    return pl.DataFrame(rows, schema={"choice": pl.Int32, "class": pl.Int32, "part": pl.String, "connectors": pl.Int32}, orient="row")


def module_rows(links: pl.DataFrame, choices: Sequence[Choice], classes: Sequence[CageClass]) -> pl.DataFrame:
    """Table MODULES: one module in every cage that optical links touch."""
    by_class = _module_of_class(choices, classes)
    ends = pl.concat(
        links.select(
            "choice", pl.col(f"{end}_dev").alias("dev"), pl.col(f"{end}_cage").alias("cage"), pl.col(f"{end}_class").alias("class"), pl.col(f"{end}_connector").alias("at")
        )
        for end in "ab"
    )
    used = ends.join(by_class, on=["choice", "class"], how="inner").group_by("dev", "cage", "part", "connectors").agg(pl.col("at").n_unique().alias("used_connectors"))
    return used.sort("dev", "cage").select(pl.col(name).cast(dtype) for name, dtype in MODULES.items())


def _with_parts(rows: pl.DataFrame, choices: Sequence[Choice], catalog: Catalog) -> pl.DataFrame:
    """Add kind, part, part number and length: each fibre by its own route (links to come included), copper as decided."""
    number, form, route = rows["choice"].to_numpy(), rows["shape"], rows["whole_route_m"].to_numpy()
    decided: list[tuple[str, str, str, float]] = []
    which = np.zeros(rows.height, dtype=np.int64)
    for choice, shape in rows.select("choice", "shape").unique().sort("choice", "shape").iter_rows():
        here = (number == choice) & (form == shape).to_numpy()
        steps = np.array(_lengths(choices[choice], shape, catalog))
        at = np.searchsorted(steps, route[here], side="left")
        found = np.unique(at)
        which[here] = len(decided) + np.searchsorted(found, at)
        decided += [_part_for(choices[choice], shape, float(steps[step]), catalog) for step in found.tolist()]
    parts = pl.DataFrame(decided, schema={"kind": pl.String(), "part": pl.String(), "part_number": pl.String(), "length_m": pl.Float64()}, orient="row")
    return pl.concat([rows, parts[which]], how="horizontal")


def _lengths(choice: Choice, shape: str, catalog: Catalog) -> list[float]:
    """Lengths sold of what a choice is made of, ascending."""
    if isinstance(choice, CopperChoice):
        return [choice.length_m]
    return sorted({length for f in fibres(catalog, shape, choice.glass, choice.connector) for length in f.lengths_m})


def _part_for(choice: Choice, shape: str, route_m: float, catalog: Catalog) -> tuple[str, str, str, float]:
    """(kind, part, part number, length) of one cable."""
    if isinstance(choice, CopperChoice):
        return choice.kind, choice.part.model, choice.part.lengths_m[choice.length_m] or "", choice.length_m
    found = [(length, f) for f in fibres(catalog, shape, choice.glass, choice.connector) if (length := fibre_length(f, route_m, choice.modules)) is not None]
    length, fibre = min(found, key=lambda pair: (pair[0], pair[1].model))
    return choice.kind, fibre.model, fibre.lengths_m[length] or "", length
