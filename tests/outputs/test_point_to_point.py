"""point-to-point.xlsx as NVIDIA's Cable Validation Tool and a cabling crew read it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
from openpyxl import load_workbook

from railplan import Plan
from railplan.outputs.point_to_point import files

TOOL = ["A-Rack", "A-U", "A-Node Name", "A-Type", "A-Port", "Z-Rack", "Z-RU", "Z-Node Name", "Z-Type", "Z-Port"]
"""Columns in the order of the tool's own example for Ethernet."""


def book(plan: Plan) -> Any:
    return load_workbook(io.BytesIO(files(plan)["point-to-point.xlsx"]))


def rows(page: Any) -> list[dict[str, Any]]:
    head, *found = page.iter_rows(values_only=True)
    return [dict(zip(head, row, strict=True)) for row in found]


def test_the_head_is_the_first_row_and_begins_with_the_tools_columns(plan_of: Callable[..., Plan]) -> None:
    read = book(plan_of("hgx-h100", 40, "spectrum-x"))
    assert read.sheetnames == ["node-leaf", "leaf-spine"]
    for page in read:
        assert [cell.value for cell in page[1]][: len(TOOL)] == TOOL
        assert page.freeze_panes == "A2"


def test_a_row_says_what_a_crew_needs(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-h100", 40, "spectrum-x")
    cables = {row["cable"]: row for row in plan.cabling.cables.iter_rows(named=True)}
    for page in book(plan):
        for row in rows(page):
            cable = cables[row["Cable"]]
            assert (row["Part"], row["Kind"], row["Length m"], row["A-Label"], row["Z-Label"]) == tuple(
                cable[name] or None for name in ("part", "kind", "length_m", "a_label", "b_label")
            )
            assert row["Bundle"] == "-".join(sorted([row["A-Rack"], row["Z-Rack"]]))
            assert (row["A-Transceiver"] is None) == (cable["a_module"] == "")
            assert all(isinstance(row[name], int) for name in ("A-U", "Z-RU", "Gb/s"))


def test_infiniband_hosts_go_by_the_number_of_the_adapter(plan_of: Callable[..., Plan]) -> None:
    ports = [row["A-Port"] for row in rows(book(plan_of("dgx-h100", 31, "quantum-ndr"))["node-leaf"]) if row["A-Node Name"] == "gpu-001"]
    assert sorted(map(int, ports)) == [1, 4, 5, 6, 7, 10, 11, 12]
    unknown = [row["A-Port"] for row in rows(book(plan_of("hgx-h100", 8, "quantum-ndr"))["node-leaf"]) if row["A-Node Name"] == "gpu-001"]
    assert sorted(map(int, unknown)) == list(range(1, 9))


def test_text_stays_text_and_markup_is_escaped(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    nasty = plan.topology.devices.with_columns(pl.col("device").str.replace("gpu", "=<b>&gpu", literal=True))
    named = book(replace(plan, topology=replace(plan.topology, devices=nasty)))["node-leaf"]
    assert named["C2"].value == "=<b>&gpu-001"
    assert named["C2"].data_type != "f"


def test_the_bytes_are_the_same_every_time(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    assert files(plan) == files(plan)
