"""The command line: what stands on stdout, what exit status says, what is written and what is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import railplan
from railplan import load_design
from railplan.cli import main
from railplan.outputs import FILE_NAMES, FORMATS

SMALL = ["--nodes", "4", "--node", "hgx-h100", "--family", "quantum-ndr"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_new_prints_a_design_that_plans(tmp_path: Path) -> None:
    text = run("new", "--nodes", "16", "--node", "dgx-h100", "--family", "quantum-ndr", "--oversubscription", "2:1").stdout
    (tmp_path / "d.yaml").write_text(text)
    design = load_design(tmp_path / "d.yaml")
    assert (design.nodes.count, design.nodes.model, design.fabrics.compute.oversubscription) == (16, "dgx-h100", 2)
    assert all("#" in line for line in text.splitlines() if ": " in line)
    assert run("check", str(tmp_path / "d.yaml")).exit_code == 0


def test_new_writes_numbers_and_names_plain() -> None:
    text = run("new", "--oversubscription", "3.5", "--planes", "2", "--name", "a-1").stdout
    for line in ("oversubscription: 3.5 ", "planes: 2 ", "name: a-1 "):
        assert line in text


@pytest.mark.parametrize(("flag", "model", "near"), [("--node", "hgx-b30", "hgx-b300"), ("--switch", "nvidia-sn560", "nvidia-sn5600")])
def test_new_refuses_models_that_nobody_knows(flag: str, model: str, near: str) -> None:
    done = run("new", flag, model)
    assert (done.exit_code, done.stdout) == (1, "")
    assert flag in done.stderr
    assert near in done.stderr


def test_check_tells_each_finding_once() -> None:
    text = run("check", str(Path(railplan.__file__).parent / "examples" / "quantum-ndr.yaml")).stderr
    warnings = [line for line in text.splitlines() if line.startswith("warning")]
    assert warnings
    assert len(set(warnings)) == len(warnings)
    assert "findings.csv" not in text


def test_flags_and_the_file_they_stand_for_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(run("new", *SMALL).stdout)
    assert run("plan", str(tmp_path / "d.yaml"), "-o", str(tmp_path / "a")).exit_code == 0
    assert run("plan", *SMALL, "-o", str(tmp_path / "b")).exit_code == 0
    names = sorted(os.listdir(tmp_path / "a"))
    assert names == sorted(os.listdir(tmp_path / "b"))
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize(
    "flags",
    [["--planes", "2"], ["--planes", "auto"], ["--oversubscription", "3.5"], ["--oversubscription", "2:1"], ["--grow-to", "20"], ["--seed", "7"], ["--switch", "nvidia-sn5610"]],
    ids=str,
)
def test_every_flag_takes_the_values_that_the_file_takes(flags: list[str], tmp_path: Path) -> None:
    done = run("plan", "--nodes", "17", "--node", "hgx-b300", "--family", "spectrum-x", *flags, "--only", "slurm", "-o", str(tmp_path / "p"))
    assert done.exit_code == 0, done.stderr


def test_every_file_of_the_interface_is_written(tmp_path: Path) -> None:
    assert run("plan", *SMALL, "-o", str(tmp_path / "p")).exit_code == 0
    tables = "cables.csv ports.csv devices.csv racks.csv bom.csv labels.csv trays.csv bundles.csv findings.csv"
    pictures = "fabric.dot fabric.svg racks.svg hall.svg"
    others = "design.yaml summary.json plan.xlsx topology.conf nodes.conf gres.conf"
    written = set(os.listdir(tmp_path / "p"))
    assert written >= {*tables.split(), *pictures.split(), *others.split()}
    assert written <= FILE_NAMES


def test_json_puts_one_document_on_stdout(tmp_path: Path) -> None:
    done = run("plan", *SMALL, "-o", str(tmp_path / "p"), "--json")
    assert json.loads(done.stdout)["nodes"] == 4
    assert done.stdout == (tmp_path / "p" / "summary.json").read_text()
    bad = run("plan", "--nodes", "0", "--node", "hgx-h100", "--family", "quantum-ndr", "-o", str(tmp_path / "q"), "--json")
    assert bad.exit_code == 1
    assert json.loads(bad.stdout)["findings"][0]["where"] == "--nodes"


def test_only_picks_formats_and_misspelt_ones_get_a_hint(tmp_path: Path) -> None:
    assert run("plan", *SMALL, "-o", str(tmp_path / "p"), "--only", "slurm").exit_code == 0
    assert sorted(os.listdir(tmp_path / "p")) == ["design.yaml", "gres.conf", "nodes.conf", "summary.json", "topology.conf"]
    done = run("plan", *SMALL, "-o", str(tmp_path / "q"), "--only", "csv,slrum")
    assert done.exit_code == 1
    assert "did you mean slurm" in done.stderr
    assert not (tmp_path / "q").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "-o", "x"],
        ["plan", "--nodes", "4", "-o", "x"],
        ["plan", "--nodes", "four", "--node", "hgx-h100", "--family", "quantum-ndr", "-o", "x"],
        ["plan", "d.yaml", "--nodes", "4", "-o", "x"],
        ["plan", "d.yaml"],
        ["check"],
        ["bogus"],
    ],
)
def test_wrong_usage_is_exit_status_2(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments).exit_code == 2
    assert os.listdir(tmp_path) == []


WRONG = {
    "--family": "myrinet",
    "--style": "star",
    "--planes": "3",
    "--oversubscription": "0.5",
    "--node": "hgx-h10",
    "--name": "a b",
    "--switch": "nvidia-qm970",
}


@pytest.mark.parametrize("wrong", WRONG.items(), ids=str)
def test_a_wrong_flag_value_names_the_flag(wrong: tuple[str, str], tmp_path: Path) -> None:
    values = dict(zip(SMALL[::2], SMALL[1::2], strict=True)) | {wrong[0]: wrong[1]}
    done = run("plan", *[part for pair in values.items() for part in pair], "-o", str(tmp_path / "p"))
    assert done.exit_code == 1
    assert wrong[0] in done.stderr
    assert "fix  " in done.stderr
    assert not (tmp_path / "p").exists()


def test_a_directory_a_missing_file_and_binary_are_problems(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "none.yaml", tmp_path / "b.yaml"):
        done = run("check", str(path))
        assert done.exit_code == 1
        assert "fix  " in done.stderr


def test_check_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.yaml").write_text(run("new", *SMALL).stdout)
    monkeypatch.chdir(tmp_path)
    assert run("check", "d.yaml").exit_code == 0
    assert json.loads(run("check", "d.yaml", "--json").stdout)["findings"]
    assert os.listdir(tmp_path) == ["d.yaml"]


def test_a_hall_file_takes_the_place_of_the_designs_hall(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("rows:\n  - {name: Q, racks: 12}\nrack_power_kw: 30\n")
    assert run("plan", *SMALL, "--hall", str(tmp_path / "hall.yaml"), "-o", str(tmp_path / "p")).exit_code == 0
    assert (tmp_path / "p" / "racks.csv").read_text().splitlines()[1].startswith("Q")
    (tmp_path / "hall.yaml").write_text("rows:\n  - {name: Q, rack: 12}\n")
    done = run("plan", *SMALL, "--hall", str(tmp_path / "hall.yaml"), "-o", str(tmp_path / "q"))
    assert "hall.yaml:2" in done.stderr
    assert "did you mean racks" in done.stderr


def test_a_design_may_name_its_hall_file(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text("rows:\n  - {name: Q, racks: 12}\n")
    (tmp_path / "d.yaml").write_text("nodes: {model: hgx-h100, count: 4}\nfabrics: {compute: {family: quantum-ndr}}\nhall: hall.yaml\n")
    assert run("plan", str(tmp_path / "d.yaml"), "-o", str(tmp_path / "p")).exit_code == 0
    assert (tmp_path / "p" / "racks.csv").read_text().splitlines()[1].startswith("Q")


def test_a_catalog_of_ones_own_adds_parts_and_prices(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "sources.yaml").write_text("quote: {title: Quote 17, date: 2026-11-01}\n")
    price = "{part: mcp7y00, value: 250, currency: USD, basis: quote, source: quote, date: 2026-11-01, confidence: vendor}"
    (tmp_path / "prices" / "mine.yaml").write_text(f"name: mine\nprices:\n  - {price}\n")
    assert run("plan", *SMALL, "--catalog", str(tmp_path), "-o", str(tmp_path / "p")).exit_code == 0
    assert ",250,USD," in (tmp_path / "p" / "bom.csv").read_text()
    (tmp_path / "prices" / "mine.yaml").write_text(f"name: mine\nprices:\n  - {price.replace('quote, date', 'qoute, date')}\n")
    done = run("plan", *SMALL, "--catalog", str(tmp_path), "-o", str(tmp_path / "q"))
    assert done.exit_code == 1
    assert "did you mean quote" in done.stderr


def test_the_catalog_lists_rooms_and_shows_sources() -> None:
    assert "nvidia-sn5600" in run("catalog", "switches").stdout
    shown = run("catalog", "nodes", "dgx-h100").stdout
    assert "OSFP4P2" in shown
    assert "checked" in shown
    assert json.loads(run("catalog", "switches", "nvidia-qm9700", "--json").stdout)["model"] == "nvidia-qm9700"
    assert set(json.loads(run("catalog", "--json").stdout)) == {"switches", "nodes", "cables", "modules", "racks", "licences"}
    assert "nvidia-qm9700" in run("catalog", "switches", "nvidia-qm970").stderr
    assert run("catalog", "shoes").exit_code == 1


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "railplan", "plan", *SMALL, "-o", str(tmp_path / "p")], capture_output=True, text=True, check=True)
    assert "4 nodes, 32 GPUs" in done.stderr
    assert not done.stdout


def plane_file(name: str) -> str:
    """The name that the README gives for a file of one plane or of one kind of device."""
    return "*.ibnl" if name.endswith(".ibnl") else re.sub(r"-p\d", "", name)


def test_every_command_and_format_stands_in_the_readme() -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    for word in (*(f"railplan {name}" for name in main.commands), *FORMATS, *FILE_NAMES):
        assert plane_file(word) in readme, word


def test_check_says_what_is_left_after_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.yaml").write_text("nodes: {model: hgx-h100, count: 64}\nfabrics: {compute: {family: quantum-ndr}}\n")
    monkeypatch.chdir(tmp_path)
    done = run("check", "d.yaml", "--fail", "spine:spine-01,leaf:leaf-su0-r0", "--fail", "cable:S000257", "--fail-any", "spine")
    assert done.exit_code == 0
    assert "spine:spine-01, leaf:leaf-su0-r0, cable:S000257 down: " in done.stderr
    assert "worst single spine, 8 in all, 1 tried: one of each kind" in done.stderr
    told = json.loads(run("check", "d.yaml", "--fail", "spine:spine-01", "--fail-any", "rack", "--json").stdout)
    assert told["damage"]["left_percent"] == 87.5
    assert told["worst_failure"]["failures"][0].startswith("rack:")
    assert os.listdir(tmp_path) == ["d.yaml"]


def test_a_failure_of_what_is_not_there_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(run("new", *SMALL).stdout)
    done = run("check", str(tmp_path / "d.yaml"), "--fail", "leaf:laef")
    assert done.exit_code == 1
    assert "did you mean leaf" in done.stderr
    assert json.loads(run("check", str(tmp_path / "d.yaml"), "--fail", "leaf:laef", "--json").stdout)["findings"][0]["rule"] == "fail"
    assert run("check", str(tmp_path / "d.yaml"), "--fail-any", "fan").exit_code == 2


MIDDLING = "nodes: {model: hgx-h100, count: 64}\nfabrics: {compute: {family: quantum-ndr}}\nhall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 24}]}\n"


@pytest.mark.parametrize("seconds", ["0", "0.001"])
@pytest.mark.parametrize("effort", ["quick", "thorough"])
def test_a_time_limit_too_short_to_search_gives_the_best_fixed_arrangement(tmp_path: Path, effort: str, seconds: str) -> None:
    (tmp_path / "design.yaml").write_text(MIDDLING)
    done = run("plan", str(tmp_path / "design.yaml"), "-o", str(tmp_path / "plan"), "--effort", effort, "--time-limit", seconds)
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "plan" / "summary.json").read_text())["placement"]
    assert found["interrupted"]
    assert found["objective"] == found["baseline"] == min(found["baselines"].values())
    assert "interrupted, the best found until then" in " ".join(done.stderr.split())


def test_ctrl_c_during_the_search_writes_the_best_plan_found_and_marks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "design.yaml").write_text(MIDDLING)
    told: list[str] = []

    def tell(stage: str) -> None:
        told.append(stage)
        if "modules, bound" in stage and sum("modules, bound" in text for text in told) == 2:
            raise KeyboardInterrupt

    @contextmanager
    def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
        yield tell

    monkeypatch.setattr("railplan.cli._progress", progress)
    done = run("plan", str(tmp_path / "design.yaml"), "-o", str(tmp_path / "plan"), "--effort", "thorough")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "plan" / "summary.json").read_text())["placement"]
    last = [text for text in told if "modules, bound" in text][-1]
    assert found["interrupted"]
    assert found["arrangement"] == "search"
    assert f"about {found['objective']:,.0f} modules" in last
    assert told[-1] == "writing"
