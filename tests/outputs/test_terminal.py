"""What the command line prints, with user text that looks like markup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest
from rich.console import Console

from railplan import Plan, Problem
from railplan.outputs.terminal import _percent, print_problems, print_summary


def printed(function: Callable[..., None], value: object, width: int = 120, **more: bool) -> str:
    console = Console(width=width, record=True, file=None, force_terminal=False, quiet=False)
    with console.capture() as capture:
        function(value, console, **more)
    return capture.get()


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "quantum-ndr")


def test_the_summary_is_about_ten_lines_with_the_numbers_that_matter(plan: Plan) -> None:
    text = printed(print_summary, replace(plan, findings=()), width=160)
    assert len(text.splitlines()) <= 12
    for words in ("40 nodes, 320 GPUs", "2 tiers, 1 plane, 2 SUs, 16 leaves, 8 spines", "320 node-leaf, 512 leaf-spine", "25.6 Tb/s by flow: non-blocking", "% copper", "no price"):
        assert words in text
    assert "findings  none" in text


def test_alike_findings_are_one_line(plan: Plan) -> None:
    many = tuple(Problem("rack-power", f"A{i:02d}", "draws much", level="warning") for i in range(1, 21))
    text = printed(print_summary, replace(plan, findings=(*many, Problem("caution", "x", "beware", level="note"))))
    assert "20 warnings, 1 note" in text
    assert "A01  draws much  (and 19 more of rack-power)" in text
    assert "A02" not in text
    assert "and 1 more in findings.csv" in text


def test_findings_that_were_printed_before_are_only_counted(plan: Plan) -> None:
    text = printed(print_summary, plan, listed=True)
    assert text.splitlines()[-1].startswith("findings  ")
    assert "findings.csv" not in text


def test_no_line_ends_in_blanks_and_long_ones_hang_beside_their_head(plan: Plan) -> None:
    lines = printed(print_summary, plan, width=70).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert max(map(len, lines)) <= 70
    assert any(line.startswith(" " * 10) for line in lines)


def test_a_little_copper_is_not_none() -> None:
    assert [_percent(share) for share in (0, 0.0001, 0.006, 0.5, 0.999, 1)] == ["0%", "<1%", "1%", "50%", ">99%", "100%"]


def test_without_prices_there_is_no_total(plan: Plan) -> None:
    bom = plan.bom.with_columns(pl.lit(None, pl.Float64).alias("total"))
    assert "cost      no prices\n" in printed(print_summary, replace(plan, bom=bom))


def test_errors_tell_what_why_and_fix_and_the_rest_is_counted() -> None:
    problems = [Problem("a", "hall", "a note", level="note"), Problem("b", "pod-a.yaml:5", "too many ports", "two tiers end", "set tiers: 3")]
    text = printed(print_problems, problems)
    assert text.startswith("error  pod-a.yaml:5  too many ports\n    why  two tiers end\n    fix  set tiers: 3\n")
    assert "a note" not in text
    assert "1 warning or note not shown" in text


def test_without_errors_warnings_come_before_notes() -> None:
    text = printed(print_problems, [Problem("a", "hall", "minor", level="note"), Problem("b", "hall", "grave", level="warning")])
    assert text == "warning  hall  grave\nnote  hall  minor\n"


def test_brackets_of_the_user_are_no_markup() -> None:
    problem = Problem("x", "[bold]file[/bold].yaml:1", "unknown field '[red]' [/]", fix="remove [link=x]")
    assert "[bold]file[/bold].yaml:1  unknown field '[red]' [/]" in printed(print_problems, [problem])


def test_long_problems_are_not_broken_where_a_program_greps() -> None:
    long = "word " * 80
    assert long.strip() in printed(print_problems, [Problem("x", "y", long)], width=60)


@pytest.mark.parametrize("args", [("hgx-b300", 1, "spectrum-x"), ("hgx-h100", 12, "quantum-ndr")])
def test_small_clusters_print_in_good_english(plan_of: Callable[..., Plan], args: tuple[str, int, str]) -> None:
    text = printed(print_summary, plan_of(*args))
    for slip in ("1 nodes", "1 leaves", "1 racks", "1 planes", "1 tiers"):
        assert f" {slip}" not in text.replace("1,1 ", "")
