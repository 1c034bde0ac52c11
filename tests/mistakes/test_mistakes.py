"""Wrong designs and exactly what the user reads: each `designs/NAME.yaml` has its `NAME.txt`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from railplan.cli import main

FOLDER = Path(__file__).parent / "designs"
DESIGNS = sorted(p.name for p in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("name", DESIGNS)
def test_a_wrong_design_gets_its_message_and_writes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[Path, str], None]) -> None:
    for path in FOLDER.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "notes.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    before = sorted(os.listdir(tmp_path))
    done = CliRunner().invoke(main, ["plan", name, "-o", "plan"])
    assert done.exit_code == 1, done.output
    assert not done.stdout
    assert sorted(os.listdir(tmp_path)) == before
    assert sorted(os.listdir(tmp_path / "plan")) == ["notes.txt"]
    assert "fix  " in done.stderr
    golden(FOLDER / f"{Path(name).stem}.txt", done.stderr)
