"""netbox.zip: the plan as NetBox imports it, files numbered in the order of import.

    01-sites.csv  02-manufacturers.csv  03-device-roles.csv  04-racks-001.csv  05-device-types.yaml
    06-devices-001.csv ...  07-cables-001.csv ...

A CSV holds at most 500 rows, what NetBox takes in one request. Ports are those of the plan: of a split cage its children
(swp1s0, swp1s1), else the cage. NetBox has one cable for each port, so a cable that carries two links has two rows, with
the same label. A device type is written once for each model, with the ports of all ways in which the plan runs it.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import polars as pl

from . import DEFAULTS, Options, tables
from .colouring import KINDS
from .csv_files import csv_bytes
from .links import links
from .netbox_types import device_types
from .workbook import EPOCH, UNIX
from .yaml_text import documents, heading

if TYPE_CHECKING:
    from ..plan import Plan

ROWS_MAX = 500
"""Rows of one import."""

ROLE_COLOURS = {"node": "4caf50", "leaf": "2196f3", "spine": "3f51b5", "core": "9c27b0", "ufm": "ff9800", "server": "795548", "pdu": "607d8b"}
OTHER_COLOUR = "9e9e9e"

CABLE_TYPES = {"dac": "dac-passive", "acc": "dac-active", "aec": "dac-active", "utp": "cat6a", "aoc": "aoc"}
"""Kind of copper and active optical cables -> NetBox's cable type; fibres go by their glass, as mmf-om4."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render netbox.zip; its bytes depend on the plan alone."""
    packed = io.BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, data in imports(plan).items():
            entry = ZipInfo(name, EPOCH)
            entry.compress_type, entry.create_system, entry.external_attr = ZIP_DEFLATED, UNIX, 0o644 << 16
            archive.writestr(entry, data)
    return {"netbox.zip": packed.getvalue()}


def imports(plan: Plan) -> dict[str, bytes]:
    """File in the zip -> its bytes, in the order of import."""
    found = {
        "01-sites.csv": csv_bytes(pl.DataFrame({"name": [plan.design.name], "slug": [plan.design.name], "status": ["planned"]})),
        "02-manufacturers.csv": csv_bytes(_named(sorted({p.part.vendor for p in plan.topology.profiles.values()}))),
        "03-device-roles.csv": csv_bytes(_roles(plan)),
        **_batches("04-racks", racks(plan)),
        "05-device-types.yaml": documents(heading(plan, "NetBox device types"), device_types(plan)),
        **_batches("06-devices", devices(plan)),
    }
    return {**found, **_batches("07-cables", cables(plan))}


def racks(plan: Plan) -> pl.DataFrame:
    """Racks in hall order; those kept for growth are reserved."""
    return tables.racks(plan).select(
        site=pl.lit(plan.design.name),
        name=pl.col("rack"),
        status=pl.when("reserved").then(pl.lit("reserved")).otherwise(pl.lit("planned")),
        width=pl.lit(19),
        u_height=pl.col("height_ru"),
    )


def devices(plan: Plan) -> pl.DataFrame:
    """Devices that are built now; the position is the lowest unit, and what takes no unit has none."""
    vendors = {p.part.model: p.part.vendor for p in plan.topology.profiles.values()}
    return tables.devices(plan).select(
        name=pl.col("device"),
        role=pl.col("role"),
        manufacturer=pl.col("model").replace_strict(vendors, return_dtype=pl.String),
        device_type=pl.col("model"),
        status=pl.lit("planned"),
        site=pl.lit(plan.design.name),
        rack=pl.col("rack"),
        position=pl.col("ru"),
        face=pl.when(pl.col("ru").is_not_null()).then(pl.lit("front")),
    )


def cables(plan: Plan) -> pl.DataFrame:
    """Links as cables between interfaces, in link order."""
    kinds = plan.cabling.cables.select("cable", "kind", "part", "length_m")
    types = [(kind, part, length, _cable_type(plan, kind, part, length)) for kind, part, length in kinds.select("kind", "part", "length_m").unique().iter_rows()]
    typed = kinds.join(pl.DataFrame(types, schema=["kind", "part", "length_m", "type"], orient="row"), on=["kind", "part", "length_m"], how="left")
    sides = [
        column
        for side in "ab"
        for column in (
            pl.lit(plan.design.name).alias(f"side_{side}_site"),
            pl.col(f"{side}_device").alias(f"side_{side}_device"),
            pl.lit("dcim.interface").alias(f"side_{side}_type"),
            pl.col(f"{side}_port").alias(f"side_{side}_name"),
        )
    ]
    colours = {kind: colour.lower() for kind, (colour, _) in KINDS.items()}
    return (
        links(plan)
        .join(typed, on="cable", how="left", maintain_order="left")
        .select(
            *sides,
            type=pl.col("type"),
            status=pl.lit("planned"),
            label=pl.col("cable"),
            color=pl.col("kind").replace_strict(colours, return_dtype=pl.String),
            length=pl.col("length_m").round(2),
            length_unit=pl.lit("m"),
        )
    )


def _cable_type(plan: Plan, kind: str, part: str, length_m: float) -> str:
    """NetBox's type of a cable: copper by kind, fibre by the grade of its glass."""
    if kind in CABLE_TYPES:
        return CABLE_TYPES[kind]
    return f"{kind}-{plan.catalog.fibres[part].grade(length_m)}"


def _roles(plan: Plan) -> pl.DataFrame:
    roles = tables.devices(plan)["role"].unique(maintain_order=True).to_list()
    return _named(roles).with_columns(color=pl.Series([ROLE_COLOURS.get(role, OTHER_COLOUR) for role in roles], dtype=pl.String))


def _named(names: list[str]) -> pl.DataFrame:
    """Names with their slugs."""
    table = pl.DataFrame({"name": names}, schema={"name": pl.String})
    return table.with_columns(slug=pl.col("name").str.to_lowercase().str.replace_all(r"[^a-z0-9]+", "-").str.strip_chars("-"))


def _batches(name: str, table: pl.DataFrame) -> dict[str, bytes]:
    """A table in files of at most 500 rows: NAME-001.csv, NAME-002.csv, ..."""
    parts = list(table.iter_slices(ROWS_MAX))
    width = max(3, len(str(len(parts))))
    return {f"{name}-{number:0{width}d}.csv": csv_bytes(part) for number, part in enumerate(parts, 1)}
