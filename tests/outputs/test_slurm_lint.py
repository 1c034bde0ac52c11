"""The linter: a line, a reason and a remedy for each mistake, and no traceback on any bytes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from railplan import DesignError, Plan, Problem
from railplan.cli import main
from railplan.outputs import Options
from railplan.outputs.hostlist import expand
from railplan.outputs.slurm import files
from railplan.outputs.topology_lint import FLAWS_MAX, lint, lint_file

LEAVES = "SwitchName=su0 Nodes=gpu-[001-002]\nSwitchName=su1 Nodes=gpu-[003-004]\n"
GOOD = f"{LEAVES}SwitchName=top Switches=su[0-1]\n"
BLOCKS = "BlockName=b0 Nodes=gpu-[001-002]\nBlockName=b1 Nodes=gpu-[003-004]\n"
KNOWN = dict.fromkeys(expand("gpu-[001-004]"), "")


def found(text: str | bytes, version: tuple[int, int] = (23, 11)) -> list[Problem]:
    return lint(text if isinstance(text, bytes) else text.encode(), "t.conf", KNOWN, version)


MISTAKES = [
    ("two-parents", 4, GOOD + "SwitchName=more Switches=su1\n", "su1 below more and below top (line 3)"),
    ("two-leaves", 2, GOOD.replace("003-004", "002-004"), "gpu-002 on su1 and on su0 (line 1)"),
    ("no-leaf", 0, GOOD.replace("[003-004]", "003"), "gpu-004 on no switch"),
    ("unknown-node", 2, GOOD.replace("004", "006"), "su1 lists gpu-[005-006], unknown to the cluster"),
    ("no-root", 2, LEAVES, "no common root: 2 switches are below no other: su[0-1]"),
    ("lost-prefix", 1, GOOD.replace("[001-002]", "[001],[002]"), "'[002]' has lost its prefix"),
    ("lost-prefix", 3, GOOD.replace("su[0-1]", "su0,1"), "'1' has lost its prefix"),
    ("empty", 0, "", "no switch and no block"),
    ("empty", 0, "# nothing\n\n", "no switch and no block"),
    ("cycle", 4, GOOD + "SwitchName=a Switches=top,a\n", "a lists itself"),
    ("cycle", 6, GOOD + "SwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n", "switches are their own ancestors: a > b > c > a"),
    ("long-name", 3, GOOD.replace("top", "t" * 65), f"{'t' * 20}... has 65 characters"),
    ("name-list", 1, "SwitchName=su[0-1] Nodes=gpu-[001-004]\n", "su[0-1] is one name to Slurm"),
    ("both", 3, GOOD.replace("Switches=", "Nodes=gpu-001 Switches="), "top has Nodes and Switches"),
    ("neither", 4, GOOD + "SwitchName=more\n", "more has neither Nodes nor Switches"),
    ("duplicate", 4, GOOD + "SwitchName=su0 Switches=su1\n", "su0 is already defined in line 1"),
    ("unknown-child", 3, GOOD.replace("su[0-1]", "su[0-2]"), "top lists su2, which no line defines"),
    ("unknown-key", 3, GOOD.replace("Switches", "Switchs"), "Switchs cannot stand in a line of SwitchName"),
    ("unknown-key", 1, "Nodes=gpu-001 SwitchName=su0\n" + GOOD, "line begins with Nodes"),
    ("unknown-key", 1, GOOD.replace("\nSwitchName=su1", " SwitchName=su1"), "SwitchName cannot stand in a line of SwitchName"),
    ("key-twice", 1, GOOD.replace("gpu-[001-002]", "gpu-001 Nodes=gpu-002"), "Nodes stands twice"),
    ("empty-value", 1, GOOD.replace("=su0 ", "= "), "SwitchName has no value"),
    ("blank-in-list", 1, GOOD.replace("gpu-[001-002]", "gpu-001, gpu-002"), "blanks inside the list of Nodes"),
    ("blank-in-list", 2, GOOD.replace("003-004", "003, 004"), "blanks inside the list of Nodes"),
    ("syntax", 4, GOOD + "hello there\n", "'hello' is not key=value (nor 1 more words)"),
    ("syntax", 1, GOOD.replace("gpu-[001-002]", '"gpu-[001-002]'), "Nodes has a quote inside its value"),
    ("byte-order-mark", 1, "\ufeff" + GOOD, "begins with a UTF-8 byte order mark"),
    ("encoding", 1, GOOD.encode("utf-16"), "is not plain text (UTF-16, or zero bytes)"),
    ("encoding", 1, GOOD.encode() + b"\0", "is not plain text (UTF-16, or zero bytes)"),
    ("characters", 2, GOOD.replace("003-004", "003\N{EN DASH}004"), "holds U+2013"),
    ("characters", 1, GOOD.encode().replace(b"su0 ", b"su\xe9 "), "holds U+FFFD"),
    ("comment", 1, GOOD.replace("su0 ", "su#0 "), "# in 'SwitchName=su#0' begins a comment"),
    ("hostlist", 1, GOOD.replace("002]", "002]x"), "'gpu-[001-002]x' has text after its last bracket"),
    ("hostlist", 1, GOOD.replace("002]", "002"), "brackets in 'gpu-[001-002' do not match"),
    ("hostlist", 2, GOOD.replace("003-004", "004-003"), "range 004-003 in 'gpu-[004-003]' runs backwards"),
    ("hostlist", 2, GOOD.replace("003-004", "0-65536"), "range 0-65536 in 'gpu-[0-65536]' has 65,537 names, Slurm expands 65,536"),
    ("hostlist", 2, GOOD.replace("003-004", "0-9][0-9][0-9][0-9][0-9][0-9"), "'gpu-[0-9][0-9][0-9][0-9][0-9][0-9]' names more than 524,288 nodes; Slurm manages 65,536"),
    ("link-speed", 3, GOOD.replace("su[0-1]", "su[0-1] LinkSpeed=400G"), "LinkSpeed=400G"),
    ("order", 1, "".join(f"SwitchName=s{i} Switches=s{i + 1}\n" for i in range(24)) + "SwitchName=s24 Nodes=gpu-[001-004]\n", "s0 stands before switches below it, 24 deep"),
    ("two-forms", 4, GOOD + BLOCKS, "both SwitchName and BlockName"),
]


@pytest.mark.parametrize(("rule", "line", "text", "what"), MISTAKES, ids=lambda v: v if isinstance(v, str) and v.isprintable() and len(v) < 16 else "")
def test_a_mistake_is_found_at_its_line_with_reason_and_remedy(rule: str, line: int, text: str | bytes, what: str) -> None:
    problems = [p for p in found(text, (22, 5)) if p.level == "error"]
    assert [(p.rule, p.where, p.what) for p in problems] == [(rule, f"t.conf:{line}" if line else "t.conf", what)]
    assert problems[0].why
    assert problems[0].fix


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip(),
        GOOD.replace(" ", "\t  "),
        GOOD.replace("=", " = "),
        GOOD.replace(" ", " \\\n"),
        GOOD.lower().replace("switchname", "SWITCHNAME"),
        GOOD.replace("\n", " # leaves a#1, gpu-#2\n"),
        "# é\n\n" + GOOD.replace("gpu-[001-002]", '"gpu-[001-002]"'),
        GOOD.replace("gpu-[001-002]", "gpu-[0-0][01-02]"),
        GOOD.replace("su[0-1]", "su[0-1] LinkSpeed=400"),
        "".join(reversed(GOOD.splitlines(keepends=True))),
        "SwitchName=all Nodes=gpu-[001-004]",
    ],
)
def test_what_slurm_takes_as_it_is_meant_is_clean(text: str) -> None:
    assert found(text, (22, 5)) == []


WARNINGS = [
    ("comma", GOOD.replace("gpu-[001-002]", "gpu-[001-002],")),
    ("node-twice", GOOD.replace("gpu-[001-002]", "gpu-[001-002],gpu-001")),
    ("child-twice", GOOD.replace("su[0-1]", "su[0-1],su1")),
    ("link-speed", GOOD.replace("su[0-1]", "su[0-1] LinkSpeed=400k")),
    ("include", "include more.conf\n" + GOOD),
    (
        "many-switches",
        "".join(f"SwitchName=e{i:04d} Switches=su0\n" for i in range(0))
        + GOOD.replace("su[0-1]", "su[0-1],x[000-999]")
        + "".join(f"SwitchName=x{i:03d} Nodes=n{i}\n" for i in range(1000)),
    ),
]


@pytest.mark.parametrize(("rule", "text"), WARNINGS, ids=lambda v: v if len(v) < 16 else "")
def test_what_slurm_survives_is_a_warning(rule: str, text: str) -> None:
    problems = lint(text.encode(), "t.conf")
    assert [(p.rule, p.level) for p in problems] == [(rule, "warning")]


def test_the_release_decides_what_is_fatal() -> None:
    tail = GOOD.replace("gpu-[001-002]", "gpu-00[1-2]-ib,gpu-[001-002]")
    assert [p.rule for p in lint(tail.encode(), "t.conf", None, (23, 2))] == ["hostlist"]
    assert lint(tail.encode(), "t.conf", None, (23, 11)) == []
    empty = GOOD.replace("su[0-1]", "su[0-1],more") + "SwitchName=more\n"
    assert [p.level for p in found(empty, (24, 11))] == ["error"]
    assert [p.level for p in found(empty, (25, 5))] == ["warning"]
    assert [p.rule for p in found(BLOCKS + "BlockSizes=2", (23, 11))] == ["block-form"]
    assert found(BLOCKS + "BlockSizes=2", (24, 5)) == []


BLOCK_MISTAKES = [
    ("two-blocks", 2, BLOCKS.replace("003", "002") + "BlockSizes=2\n"),
    ("no-block", 0, BLOCKS.replace("[003-004]", "003") + "BlockSizes=1\n"),
    ("unknown-node", 2, BLOCKS.replace("004", "005") + "BlockSizes=2\n"),
    ("small-block", 2, BLOCKS.replace("[001-002]", "[001-003]").replace("[003-004]", "004") + "BlockSizes=2,4\n"),
    ("block-sizes", 3, BLOCKS + "BlockSizes=2,6\n"),
    ("block-sizes", 3, BLOCKS + "BlockSizes=2,1\n"),
    ("block-sizes", 3, BLOCKS + "BlockSizes=two\n"),
    ("block-sizes", 3, BLOCKS + "BlockSizes=0\n"),
    ("blank-in-list", 3, BLOCKS + "BlockSizes=2, 4\n"),
    ("duplicate", 3, BLOCKS + "BlockName=b0 Nodes=gpu-001\nBlockSizes=1\n"),
    ("neither", 3, BLOCKS + "BlockName=b2\nBlockSizes=2\n"),
    ("unknown-key", 1, BLOCKS.replace("Nodes=gpu-[001-002]", "Switches=x") + "BlockSizes=2\n"),
]


@pytest.mark.parametrize(("rule", "line", "text"), BLOCK_MISTAKES, ids=lambda v: v if isinstance(v, str) and len(v) < 16 else "")
def test_mistakes_of_the_block_form_are_found(rule: str, line: int, text: str) -> None:
    problems = [p for p in found(text, (24, 5)) if p.level == "error"]
    assert (rule, f"t.conf:{line}" if line else "t.conf") in [(p.rule, p.where) for p in problems]
    assert all(p.fix for p in problems)


@pytest.mark.parametrize(
    ("name", "fix"),
    [("gpu-1", "write gpu-001: zeros and capitals count"), ("GPU-001", "write gpu-001: zeros and capitals count"), ("gpu-001-002", "write gpu-[001-002]: a range needs brackets")],
)
def test_a_name_that_is_nearly_right_gets_the_right_one(name: str, fix: str) -> None:
    problems = found(GOOD.replace("gpu-[001-002]", f"gpu-[001-002],{name}"))
    assert [(p.rule, p.fix) for p in problems] == [("unknown-node", fix)]


def test_a_model_of_which_no_node_is_listed_may_be_meant_so() -> None:
    known = {**dict.fromkeys(KNOWN, "gpu-model"), "store-1": "storage-model", "store-2": "storage-model"}
    problems = lint(GOOD.encode(), "t.conf", known)
    assert [(p.rule, p.level, p.what) for p in problems] == [("no-leaf", "warning", "store-[1-2] (storage-model) on no switch")]


def test_without_the_nodes_only_the_file_itself_is_judged() -> None:
    assert lint(GOOD.replace("004", "009").encode(), "t.conf") == []


@pytest.mark.parametrize("release", ["22.05", "25.11"])
def test_our_own_files_are_clean(plan_of: Callable[..., Plan], release: str) -> None:
    for plan in (plan_of("hgx-h100", 40, "quantum-ndr"), plan_of("hgx-b300", 4, "spectrum-x"), plan_of("hgx-h100", 512, "quantum-ndr", tiers=3)):
        known = dict(plan.topology.devices.filter(plan.topology.devices["role"] == "node").select("device", "model").iter_rows())
        year, month = map(int, release.split("."))
        assert lint(files(plan, Options(release))["topology.conf"], "topology.conf", known, (year, month)) == []


PIECES = [
    b"SwitchName=",
    b"Nodes=",
    b"Switches=",
    b"[",
    b"]",
    b",",
    b"-",
    b"#",
    b"\\",
    b'"',
    b"\n",
    b" ",
    b"\0",
    b"\xff",
    b"9" * 20,
    b"BlockName=",
    b"BlockSizes=",
    b"su0",
    b"=",
    b"\r",
    b"include ",
]


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=300), st.lists(st.sampled_from([*PIECES, b"gpu-[001-002]", b"LinkSpeed=4"]), max_size=40).map(b"".join)))
def test_any_bytes_give_problems_or_none_but_never_a_traceback(data: bytes) -> None:
    for known in (None, KNOWN):
        for problem in lint(data, "t.conf", known):
            assert problem.what.isprintable()
            assert problem.what


def test_hostile_files_are_judged_in_seconds_and_the_rest_is_counted() -> None:
    assert len(found("SwitchName=a Nodes=" + "n[0-65535]," * 500)) <= 5
    assert len(found("x\n" * 5000)) == FLAWS_MAX + 1
    assert [p.rule for p in found("SwitchName=a Nodes=" + "[" * 100_000)] == ["hostlist"]
    assert found("".join(f"SwitchName=s{i} Switches=s{i + 1},s0\n" for i in range(3000)))[-1].rule == "more"


def run(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["lint-topology", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.stdout, done.stderr


def test_the_command_leaves_with_1_for_errors_and_0_without(tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_text(GOOD)
    assert run(file) == (0, "", f"{file}: nothing wrong\n")
    assert run(file, "--nodes", "gpu-[001-004]")[0] == 0
    code, _, printed = run(file, "--nodes", "gpu-[001-005]")
    assert (code, "gpu-005 on no switch" in printed, "fix  " in printed) == (1, True, True)
    code, out, _ = run(file, "--nodes", "gpu-[001-005]", "--json")
    assert (code, [p["rule"] for p in json.loads(out)["findings"]]) == (1, ["no-leaf"])
    file.write_text(GOOD.replace("su[0-1]", "su[0-1],"))
    assert run(file)[0] == 0
    assert json.loads(run(file, "--json")[1])["findings"][0]["level"] == "warning"


def test_the_command_takes_the_nodes_of_a_plan(tmp_path: Path) -> None:
    plan = ["plan", "--nodes", "4", "--node", "hgx-h100", "--family", "quantum-ndr", "-o", str(tmp_path / "p")]
    assert CliRunner().invoke(main, [*plan, "--only", "csv,slurm"]).exit_code == 0
    assert run(tmp_path / "p" / "topology.conf", "--plan", tmp_path / "p")[0] == 0
    file = tmp_path / "topology.conf"
    file.write_text("SwitchName=a Nodes=gpu-[001-003]")
    assert "gpu-004 (hgx-h100) on no switch" in run(file, "--plan", tmp_path / "p")[2]


def test_wrong_arguments_are_problems_or_usage(tmp_path: Path) -> None:
    file = tmp_path / "topology.conf"
    file.write_bytes(os.urandom(3000))
    assert run(file)[0] == 1
    for arguments in ([tmp_path], [tmp_path / "none"], [file, "--plan", tmp_path], [file, "--nodes", "a["], [file, "--slurm-version", "new"], [file, "--slurm-version", "20.02"]):
        code, _, printed = run(*arguments)
        assert (code, "fix  " in printed) == (1, True), arguments
    for text in ("", "a,b\n1,2\n", "device,model,role\nx,y,leaf\n", "device,model,role\n\x00"):
        (tmp_path / "devices.csv").write_text(text)
        with pytest.raises(DesignError):
            lint_file(file, tmp_path)
    assert run(file, "--nodes", "a", "--plan", tmp_path)[0] == 2
    assert run()[0] == 2
