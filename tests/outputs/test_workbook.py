"""plan.xlsx, read back by openpyxl."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook, load_workbook

from railplan import Plan, Problem
from railplan.outputs import colouring, csv_files, sheets, workbook
from railplan.outputs.paper import page_breaks, rows_on_a_page
from railplan.outputs.sheets import Column, Sheet, add_sheet

SHEETS = ["Summary", "BoM", "Cables", "Port map", "Racks", "Trays", "Bundles", "Labels", "Findings"]


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "quantum-ndr")


@pytest.fixture(scope="module")
def data(plan: Plan) -> bytes:
    return workbook.files(plan)["plan.xlsx"]


@pytest.fixture(scope="module")
def book(data: bytes) -> Any:
    return load_workbook(io.BytesIO(data))


def first_row(page: Any) -> int:
    """Row below the heads, where the sheet is frozen."""
    return int(page.freeze_panes.removeprefix("A"))


def rows(page: Any) -> list[dict[str, Any]]:
    head, *found = page.iter_rows(min_row=first_row(page) - 1, values_only=True)
    return [dict(zip(head, row, strict=True)) for row in found]


def column(plan: Plan, file: str, name: str) -> list[str]:
    return [row[name] for row in csv.DictReader(io.StringIO(csv_files.files(plan)[file].decode()))]


def test_sheets_stand_in_order(book: Any) -> None:
    assert book.sheetnames == SHEETS


def test_cables_are_the_same_in_every_sheet_and_file(plan: Plan, book: Any) -> None:
    listed = column(plan, "cables.csv", "cable")
    assert [row["Cable"] for row in rows(book["Cables"])] == listed
    assert {row["Cable"] for row in rows(book["Port map"])} == set(listed)
    assert sorted(row["Label"] for row in rows(book["Labels"])) == sorted(column(plan, "labels.csv", "text"))
    assert len(rows(book["Port map"])) == len(column(plan, "ports.csv", "port"))


def test_both_ends_stand_in_the_port_map_with_length_and_kind(plan: Plan, book: Any) -> None:
    walked = rows(book["Port map"])
    assert {(r["Device"], r["Port"]) for r in walked} == {(r["To device"], r["To port"]) for r in walked}
    cables = {r["Cable"]: (r["Length m"], r["Kind"]) for r in rows(book["Cables"])}
    assert all(cables[r["Cable"]] == (r["Length m"], r["Kind"]) for r in walked)
    assert {r["GPU"] for r in walked} >= set(range(8))


def test_a_plug_has_one_box_however_many_links_it_carries(plan: Plan, book: Any) -> None:
    walked = rows(book["Port map"])
    assert {r["Done"] for r in walked} == {"☐", "same cable"}
    assert sum(r["Done"] == "☐" for r in walked) == len(column(plan, "labels.csv", "text"))
    for above, row in pairwise(walked):
        if row["Done"] == "same cable":
            assert [row[key] for key in ("Cable", "Device", "Cage", "Connector")] == [above[key] for key in ("Cable", "Device", "Cage", "Connector")]
    kinds = {"dac": {"whole plug"}, "mmf": {"1 of 1", "1 of 2", "2 of 2"}}
    for kind, sockets in kinds.items():
        assert {r["Connector"] for r in walked if r["Kind"] == kind} == sockets


def test_boxes_can_be_ticked_are_counted_and_grey_the_rows_of_their_plug(book: Any) -> None:
    page = book["Port map"]
    first, last = first_row(page), page.max_row
    (choice,) = page.data_validations.dataValidation
    assert (choice.formula1, str(choice.sqref)) == ('"☐,☑"', f"A{first}:A{last}")
    assert page["A2"].value == f'=COUNTIF($A${first}:$A${last},"☑")&" of "&COUNTIF($A${first}:$A${last},"☑")+COUNTIF($A${first}:$A${last},"☐")&" plugs done"'
    formulas = {rule.formula[0] for area in page.conditional_formatting for rule in area.rules}
    assert f'OR($A{first}="☑",AND($A{first}="same cable",$A{first - 1}="☑"))' in formulas
    assert [cell.coordinate for row in page.iter_rows() for cell in row if cell.data_type == "f"] == ["A2"]


def test_every_rack_begins_a_page_and_no_device_is_cut_that_fits_one(book: Any) -> None:
    page = book["Port map"]
    walked = rows(page)
    begins = [0, *(brk.id + 1 - first_row(page) for brk in page.row_breaks.brk), len(walked)]
    assert {i for i, (a, b) in enumerate(pairwise(walked), 1) if a["Rack"] != b["Rack"]} < set(begins)
    assert all(walked[i]["Device"] != walked[i - 1]["Device"] for i in begins[1:-1])
    room = rows_on_a_page(page.page_setup.scale)
    for begin, end in pairwise(begins):
        assert end - begin <= room or len({row["Device"] for row in walked[begin:end]}) == 1
    assert not page.sheet_properties.pageSetUpPr.fitToPage


def test_pages_begin_with_racks_and_with_devices_that_would_be_cut() -> None:
    assert page_breaks("AAAABB", "112334", room=4) == [4]
    assert page_breaks("AAAABB", "112334", room=3) == [3, 4]
    assert page_breaks("AAAA", "1122", room=4, taken=2) == [2]
    assert page_breaks("AAAAA", "11123", room=2) == [3]
    assert page_breaks("", "", room=2) == []
    assert page_breaks([str(i // 2) for i in range(1200)], range(1200), room=1) == list(range(2, 1200, 2))
    assert page_breaks(range(2000), range(2000), room=1) == []


@pytest.mark.parametrize("title", SHEETS[1:])
def test_a_sheet_is_set_up_for_screen_and_paper(book: Any, title: str) -> None:
    page = book[title]
    head = first_row(page) - 1
    assert page.print_title_rows == f"${head}:${head}"
    assert page.auto_filter.ref.startswith(f"A{head}:")
    assert page.page_setup.orientation == "landscape"
    if title != "Port map":
        assert (page.page_setup.fitToWidth, page.page_setup.fitToHeight, page.sheet_properties.pageSetUpPr.fitToPage) == (1, 0, True)
    assert (page.oddHeader.left.text, page.oddFooter.right.text) == ("cluster", f"{title}, page &P")
    assert (page.page_setup.firstPageNumber, page.page_setup.useFirstPageNumber) == (1, True)
    assert all(5 <= d.width <= 90 for d in page.column_dimensions.values())
    assert {cell.font.name for row in page.iter_rows(max_row=first_row(page)) for cell in row} == {"Calibri"}


def test_numbers_keep_off_the_text_to_their_right(book: Any) -> None:
    for cell in book["Port map"][first_row(book["Port map"])]:
        if isinstance(cell.value, int | float):
            assert (cell.alignment.horizontal, cell.alignment.indent) == ("right", 1)


def test_rows_are_as_high_as_their_text_needs(plan: Plan) -> None:
    findings = (Problem("x", "here", "word " * 60, level="note"), Problem("x", "here", "short", level="note"))
    page = load_workbook(io.BytesIO(workbook.files(replace(plan, findings=findings))["plan.xlsx"]))["Findings"]
    first = first_row(page)
    assert page.row_dimensions[first].height == 15 * 5
    assert page.row_dimensions[first + 1].height is None


def test_labels_stand_in_the_order_of_the_port_map(book: Any) -> None:
    walked, labels = rows(book["Port map"]), rows(book["Labels"])
    assert [(r["Rack"], r["Device"]) for r in labels] == [(r["Rack"], r["Device"]) for r in walked if r["Done"] == "☐"]


def test_the_summary_is_one_readable_page(book: Any) -> None:
    page = book["Summary"]
    assert page["A1"].value == "cluster"
    told = {row[0].value: (row[1].value, row[2].value) for row in page.iter_rows()}
    assert told["GPUs"] == (320, None)
    assert told["Bisection by maximum flow"] == (25.6, "Tb/s")
    assert told["Oversubscription designed"] == ("1 : 1", None)
    assert (page.page_setup.orientation, page.page_setup.fitToHeight) == ("portrait", 1)


def test_kinds_are_coloured_with_a_legend(book: Any) -> None:
    page = book["Port map"]
    formulas = {rule.formula[0] for area in page.conditional_formatting for rule in area.rules}
    assert {f'$K{first_row(page)}="{kind}"' for kind in colouring.KINDS} < formulas
    caption, *kinds, meanings = (cell.value for cell in page[3] if cell.value)
    assert (caption, set(kinds)) == ("Kinds:", {row["Kind"] for row in rows(page)})
    assert "dac passive copper, " in meanings
    assert {"passive copper", "single-mode fibre"} <= {cell.value for cell in book["Summary"]["B"]}


def test_the_total_says_how_many_rows_have_no_price(plan: Plan, book: Any) -> None:
    *_, total = rows(book["BoM"])
    assert total["Category"] == f"Total, spares included; not complete: {plan.bom['total'].null_count()} of {plan.bom.height} rows have no price"
    assert total["Total"] == pytest.approx(plan.bom["total"].sum())
    assert book["BoM"].auto_filter.ref == f"A3:L{3 + plan.bom.height}"


def test_without_any_price_there_is_no_total(plan: Plan) -> None:
    bom = plan.bom.with_columns(pl.lit(None, pl.Float64).alias("total"))
    *_, total = rows(load_workbook(io.BytesIO(workbook.files(replace(plan, bom=bom))["plan.xlsx"]))["BoM"])
    assert (total["Category"], total["Total"]) == ("Total: no prices", None)


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
    for text, row in zip(nasty, found.iter_rows(min_row=first_row(found)), strict=True):
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


def test_sheets_of_a_cluster_tell_fabrics_apart_and_those_of_one_fabric_need_not(cluster_of: Callable[..., Plan], plan_of: Callable[..., Plan]) -> None:
    plan = cluster_of("ethernet")
    book = load_workbook(io.BytesIO(workbook.files(plan)["plan.xlsx"]))
    for title, wanted in (("BoM", set(plan.bom["fabric"]) - {""}), ("Cables", set(plan.topology.fabrics)), ("Port map", set(plan.topology.fabrics))):
        page = book[title]
        head = next(row for row in page.iter_rows() if any(cell.value == "Fabric" for cell in row))
        column = next(cell.column for cell in head if cell.value == "Fabric")
        assert page.auto_filter.ref.startswith(f"A{head[0].row}:")
        assert {row[column - 1].value for row in page.iter_rows(min_row=head[0].row + 1)} - {None} == wanted
    assert book["Summary"].page_setup.fitToHeight == 0
    alone = load_workbook(io.BytesIO(workbook.files(plan_of("hgx-b300", 4, "spectrum-x"))["plan.xlsx"]))
    assert not any(cell.value == "Fabric" for page in (alone["BoM"], alone["Cables"], alone["Port map"]) for row in page.iter_rows(max_row=8) for cell in row)
    assert alone["Summary"].page_setup.fitToHeight == 1
