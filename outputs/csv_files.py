"""The tables as CSV: one header line, UTF-8, a newline at the end of each line, empty cells for what does not apply."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import polars as pl
from polars import selectors as cs

from . import DEFAULTS, Options, tables

if TYPE_CHECKING:
    from ..plan import Plan

DECIMALS = 3
"""Of lengths in m, powers in W and weights in kg: millimetres are finer than anybody lays cable."""

TABLES = {
    "cables.csv": tables.cables,
    "ports.csv": tables.ports,
    "devices.csv": tables.devices,
    "racks.csv": tables.racks,
    "bom.csv": tables.bom,
    "labels.csv": tables.labels,
    "trays.csv": tables.trays,
    "bundles.csv": tables.bundles,
    "findings.csv": tables.findings,
}
"""File -> the function that makes its table."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render every table."""
    return {name: csv_bytes(table(plan)) for name, table in TABLES.items()}


def csv_bytes(table: pl.DataFrame) -> bytes:
    """Render a table: numbers with at most three decimals and no exponent, null and "" both as an empty cell."""
    plain = table.with_columns(cs.float().round(DECIMALS).map_batches(_decimal, return_dtype=pl.String), cs.string().replace("", None))
    out = io.BytesIO()
    plain.write_csv(out, line_terminator="\n")
    return out.getvalue()


def _decimal(numbers: pl.Series) -> pl.Series:
    """Decimal text of rounded numbers, without needless zeros."""
    text = numbers.to_frame("n").select(pl.col("n").cast(pl.Decimal(38, DECIMALS)).cast(pl.String))["n"]
    return text.str.strip_chars_end("0").str.strip_chars_end(".")
