"""The list of formats: every writer gives the files it promises, the same ones every time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from railplan import DesignError, Plan
from railplan.cli import main
from railplan.outputs import ALWAYS, FILE_NAMES, FORMATS, render


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-b300", 4, "spectrum-x")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_writes_files_that_it_names_and_repeats_itself(name: str, plan: Plan, plan_of: Callable[..., Plan], cluster_of: Callable[..., Plan]) -> None:
    if name == "tenants":
        pytest.skip("for designs with tenants: test_tenants.py")
    spoken = plan_of("hgx-h100", 8, "quantum-ndr") if name == "infiniband" else cluster_of("ethernet") if name == "fabrics" else plan
    first, second = render(spoken, [name]), render(spoken, [name])
    assert set(ALWAYS) < set(first) <= {*ALWAYS, *FORMATS[name].names}
    assert first == second


def test_no_two_formats_write_the_same_file() -> None:
    assert len(FILE_NAMES) == len(ALWAYS) + sum(len(entry.names) for entry in FORMATS.values())


def test_the_usual_formats_are_rendered_by_default(plan: Plan) -> None:
    usual = [name for name, entry in FORMATS.items() if entry.by_default and name not in ("infiniband", "tenants", "fabrics")]
    assert render(plan) == render(plan, usual)


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


def test_the_command_line_hands_slice_and_prefix_on(tmp_path: Path) -> None:
    flags = ["plan", "--nodes", "4", "--node", "hgx-b300", "--family", "spectrum-x", "-o", str(tmp_path / "p"), "--only", "kubernetes,containerlab"]
    done = CliRunner().invoke(main, [*flags, "--label-prefix", "rail.example.org", "--slice", "nodes=1"])
    assert done.exit_code == 0, done.output
    assert "rail.example.org/tier-0: compute" in (tmp_path / "p" / "kubernetes-labels.yaml").read_text()
    assert "gpu-002" not in (tmp_path / "p" / "containerlab.yaml").read_text()


@pytest.mark.parametrize(("flags", "where"), [(["--slice", "pod=1"], "--slice"), (["--label-prefix", "A"], "--label-prefix")])
def test_a_wrong_slice_or_prefix_is_an_error_whatever_is_written(flags: list[str], where: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["plan", "--nodes", "4", "--node", "hgx-b300", "--family", "spectrum-x", "-o", str(tmp_path / "p"), *flags])
    assert done.exit_code == 1
    assert where in done.output
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("name", ["ethernet", "infiniband", "mixed"])
def test_every_format_is_written_for_a_whole_cluster_or_says_why_not(name: str, cluster_of: Callable[..., Plan]) -> None:
    plan, said = cluster_of(name), {}
    for entry in FORMATS:
        try:
            files = render(plan, [entry])
        except DesignError as error:
            said[entry] = error.problems[0].what
        else:
            assert set(files) - set(ALWAYS) <= set(FORMATS[entry].names)
            assert all(files.values())
    compute = "infiniband" if name == "infiniband" else "ethernet"
    refused = {"tenants", "air", "sonic", "apstra", "containerlab"} if compute == "infiniband" else {"tenants", "infiniband"}
    assert set(said) == refused


def test_a_plan_with_one_fabric_has_no_picture_of_several(plan: Plan) -> None:
    said: list[object] = []
    assert "fabrics.svg" not in render(plan, left_out=said.append)
    assert not said
    with pytest.raises(DesignError, match="has one fabric"):
        render(plan, ["fabrics"])
