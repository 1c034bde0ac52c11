"""The list of formats: every writer gives the files it promises, the same ones every time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from railplan import DesignError, Plan
from railplan.outputs import ALWAYS, FILE_NAMES, FORMATS, render


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-b300", 4, "spectrum-x")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_writes_the_files_it_names_and_repeats_itself(name: str, plan: Plan) -> None:
    first, second = render(plan, [name]), render(plan, [name])
    assert set(first) == {*ALWAYS, *FORMATS[name][0]}
    assert first == second


def test_everything_is_rendered_by_default(plan: Plan) -> None:
    assert set(render(plan)) == FILE_NAMES


def test_design_and_summary_are_always_written(plan: Plan) -> None:
    assert list(render(plan, [])) == ["design.yaml", "summary.json"]


def test_an_unknown_format_is_refused_with_the_nearest_name(plan: Plan) -> None:
    with pytest.raises(DesignError) as caught:
        render(plan, ["csv", "xslx", "slrum"])
    assert [(p.what, p.fix) for p in caught.value.problems] == [
        ("unknown format 'xslx'", "did you mean xlsx?"),
        ("unknown format 'slrum'", "did you mean slurm?"),
    ]


def test_formats_may_be_written_with_spaces_capitals_and_twice(plan: Plan) -> None:
    assert render(plan, [" CSV", "csv "]) == render(plan, ["csv"])


def test_importing_the_room_imports_no_writer() -> None:
    code = "import sys, railplan.outputs; print([m for m in sys.modules if m.split('.')[0] in ('openpyxl', 'polars', 'pygraphviz', 'rich')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
