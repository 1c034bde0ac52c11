"""plan.xlsx, read back by openpyxl."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook

from railplan import Plan, Problem
from railplan.outputs import csv_files, sheets, workbook
from railplan.outputs.sheets import Column, Sheet, add_sheet

SHEETS = ["Summary", "BoM", "Cables", "Port map", "Racks", "Labels", "Findings"]


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "quantum-ndr")


@pytest.fixture(scope="module")
def data(plan: Plan) -> bytes:
    return workbook.files(plan)["plan.xlsx"]


@pytest.fixture(scope="module")
def book(data: bytes) -> Any:
    return load_workbook(io.BytesIO(data))


def rows(page: Any) -> list[dict[str, Any]]:
    _, head, *found = page.iter_rows(values_only=True)
    return [dict(zip(head, row, strict=True)) for row in found]


def column(plan: Plan, file: str, name: str) -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(csv_files.files(plan)[file].decode()))]


def test_sheets_stand_in_order(book: Any) -> None:
    assert book.sheetnames == SHEETS


def test_cables_are_the_same_in_every_sheet_and_file(plan: Plan, book: Any) -> None:
    listed = column(plan, "cables.csv", "cable")
    assert [row["Cable"] for row in rows(book["Cables"])] == listed
    assert {row["Cable"] for row in rows(book["Port map"])} == set(listed)
    assert [row["Label"] for row in rows(book["Labels"])] == column(plan, "labels.csv", "text")
    assert len(rows(book["Port map"])) == len(column(plan, "ports.csv", "port"))


def test_both_ends_stand_in_the_port_map_with_length_and_kind(plan: Plan, book: Any) -> None:
    walked = rows(book["Port map"])
    assert {(r["Device"], r["Port"]) for r in walked} == {(r["To device"], r["To port"]) for r in walked}
    cables = {r["Cable"]: (r["Length m"], r["Kind"]) for r in rows(book["Cables"])}
    assert all(cables[r["Cable"]] == (r["Length m"], r["Kind"]) for r in walked)
    assert {r["Done"] for r in walked} == {"☐"}


@pytest.mark.parametrize("title", SHEETS[1:])
def test_a_sheet_is_set_up_for_screen_and_paper(book: Any, title: str) -> None:
    page = book[title]
    assert page.freeze_panes == "A3"
    assert page.print_title_rows == "$1:$2"
    assert page.auto_filter.ref.startswith("A2:")
    assert page.page_setup.orientation == "landscape"
    assert (page.page_setup.fitToWidth, page.page_setup.fitToHeight, page.sheet_properties.pageSetUpPr.fitToPage) == (1, 0, True)
    assert (page.oddHeader.left.text, page.oddFooter.right.text) == ("cluster", "Page &P of &N")
    assert all(5 <= d.width <= 90 for d in page.column_dimensions.values())


def test_kinds_are_coloured_with_a_legend(book: Any) -> None:
    page = book["Port map"]
    formulas = {rule.formula[0] for area in page.conditional_formatting for rule in area.rules}
    assert {f'"{kind}"' for kind in sheets.KINDS} < formulas
    assert set(sheets.KINDS) <= {cell.value for cell in page[1]}
    assert {"passive copper", "single-mode fibre"} <= {cell.value for cell in book["Summary"]["B"]}


def test_the_total_says_how_many_rows_have_no_price(plan: Plan, book: Any) -> None:
    *_, total = rows(book["BoM"])
    assert total["Category"] == "Total"
    assert total["Total"] == pytest.approx(plan.bom["total"].sum())
    assert f"{plan.bom['total'].null_count()} of {plan.bom.height} rows have no price" in total["Price source"]
    assert book["BoM"].auto_filter.ref == f"A2:L{2 + plan.bom.height}"


def test_numbers_are_numbers(book: Any) -> None:
    first = rows(book["Cables"])[0]
    assert all(isinstance(first[name], int | float) for name in ("Rail", "Plane", "A U", "B U", "Length m", "Gb/s"))


def test_the_bytes_are_the_same_every_time_and_hold_no_clock(plan: Plan, data: bytes) -> None:
    assert workbook.files(plan)["plan.xlsx"] == data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {workbook.EPOCH}
        assert archive.read("docProps/core.xml").count(b"1980-01-01T00:00:00Z") == 2
        for name in archive.namelist():
            ET.fromstring(archive.read(name))


def test_text_that_looks_like_a_formula_or_markup_stays_text(plan: Plan) -> None:
    nasty = ["=1+1", "+1", "-1", "@x", "#N/A", "a<b>&c", "bell\x07 and \x00", '"quoted"', '=HYPERLINK("http://x")']
    findings = tuple(Problem("x", text, text, text, text, "warning") for text in nasty)
    found = load_workbook(io.BytesIO(workbook.files(replace(plan, findings=findings))["plan.xlsx"]))["Findings"]
    for text, row in zip(nasty, found.iter_rows(min_row=3), strict=True):
        for cell in row[2:]:
            assert cell.value == text.replace("\x07", " ").replace("\x00", " ")
            assert cell.data_type != "f"


def test_a_plan_without_findings_has_an_empty_sheet(plan: Plan) -> None:
    assert rows(load_workbook(io.BytesIO(workbook.files(replace(plan, findings=()))["plan.xlsx"]))["Findings"]) == []


def test_a_table_too_long_for_a_sheet_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "ROWS_MAX", 3)
    long = Sheet("Long", "numbers", pl.DataFrame({"n": list(range(7))}), (Column("n", "N", 8),))
    book = Workbook(write_only=True)
    data = workbook.fixed_bytes(book, add_sheet(book, long, "c"))
    read = load_workbook(io.BytesIO(data))
    assert read.sheetnames == ["Long", "Long 2", "Long 3"]
    assert [row["N"] for page in read for row in rows(page)] == list(range(7))
