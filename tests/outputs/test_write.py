"""Writing a folder: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railplan import DesignError
from railplan.outputs.write import write_plan

OLD = {"design.yaml": b"old", "summary.json": b'{"railplan": "0", "n": 1}', "cables.csv": b"old cables", "racks.svg": b"<old/>"}
NEW = {"design.yaml": b"new", "summary.json": b'{"railplan": "0", "n": 2}', "cables.csv": b"new cables"}


def tree(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder, hidden entries too: path -> bytes, or what a link points to."""
    return {str(p.relative_to(folder)): os.readlink(p) if p.is_symlink() else p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_symlink() or p.is_file()}


def entries(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def refused(files: dict[str, bytes], folder: Path, force: bool = False) -> str:
    with pytest.raises(DesignError) as caught:
        write_plan(files, folder, force)
    (problem,) = caught.value.problems
    assert problem.rule == "output"
    assert problem.fix
    return problem.what


def test_a_new_folder_and_its_missing_parents_are_made(tmp_path: Path) -> None:
    write_plan(NEW, tmp_path / "a" / "b" / "plan")
    assert tree(tmp_path / "a" / "b" / "plan") == NEW
    assert entries(tmp_path / "a" / "b") == {"plan"}


def test_an_empty_folder_is_filled_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    target.mkdir(mode=0o750)
    write_plan(NEW, target)
    assert tree(target) == NEW
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert entries(tmp_path) == {"plan"}


def test_files_are_readable_as_the_umask_says(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_plan(NEW, tmp_path / "plan")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "plan").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "plan" / "cables.csv").stat().st_mode) == 0o644


def test_another_plan_is_refused_without_force_and_replaced_with_it(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    write_plan(OLD, target)
    assert refused(NEW, target) == "holds another plan"
    assert tree(target) == OLD
    write_plan(NEW, target, force=True)
    assert tree(target) == NEW
    assert entries(tmp_path) == {"plan"}


def test_the_same_plan_may_be_written_again_and_in_more_or_fewer_formats(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    write_plan(OLD, target)
    before = target.stat().st_ino
    write_plan(OLD, target)
    assert target.stat().st_ino == before
    fewer = {name: OLD[name] for name in ("design.yaml", "summary.json", "cables.csv")}
    write_plan(fewer, target)
    assert tree(target) == OLD
    write_plan({**fewer, "hall.svg": b"<hall/>"}, target)
    assert tree(target) == {**OLD, "hall.svg": b"<hall/>"}


def test_a_file_that_somebody_changed_is_not_lost_without_force(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    write_plan(OLD, target)
    (target / "cables.csv").write_bytes(b"old cables, with notes of the crew")
    assert refused(OLD, target) == "holds another plan"
    write_plan(OLD, target, force=True)
    assert tree(target) == OLD


def test_foreign_files_and_folders_move_along(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    write_plan(OLD, target)
    (target / "notes.txt").write_bytes(b"mine")
    (target / "photos").mkdir()
    (target / "photos" / "a.jpg").write_bytes(b"jpg")
    (target / "link").symlink_to("nowhere")
    write_plan(NEW, target, force=True)
    assert tree(target) == {**NEW, "notes.txt": b"mine", "photos/a.jpg": b"jpg", "link": "nowhere"}
    assert entries(tmp_path) == {"plan"}


def test_a_folder_that_holds_no_plan_is_refused_and_kept_with_force(tmp_path: Path) -> None:
    target = tmp_path / "home"
    target.mkdir()
    (target / "thesis.txt").write_bytes(b"years")
    assert "holds no plan (thesis.txt)" in refused(NEW, target)
    write_plan(NEW, target, force=True)
    assert tree(target) == {**NEW, "thesis.txt": b"years"}


@pytest.mark.parametrize("summary", [None, b"{}", b"[1]", b"not json", b"\xff\xfe", b"3"])
def test_a_file_of_our_name_that_is_not_ours_is_never_replaced(tmp_path: Path, summary: bytes | None) -> None:
    target = tmp_path / "work"
    target.mkdir()
    (target / "design.yaml").write_bytes(b"my own design")
    if summary is not None:
        (target / "summary.json").write_bytes(summary)
    before = tree(target)
    assert "design.yaml" in refused(NEW, target, force=True)
    assert tree(target) == before


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan").write_bytes(b"a file")
    assert refused(NEW, tmp_path / "plan", force=True) == "is a file, not a folder"
    assert "cannot be written" in refused(NEW, tmp_path / "plan" / "below")
    assert tree(tmp_path) == {"plan": b"a file"}


def test_a_linked_folder_is_written_where_it_points(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    write_plan(NEW, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert tree(tmp_path / "real") == NEW


def test_the_folder_one_works_in_is_not_pulled_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(NEW, Path()) == "is the folder you work in"
    write_plan(NEW, Path("plan"))
    assert tree(tmp_path / "plan") == NEW


def breaking(original: Callable[..., Any], at: int, error: BaseException) -> Callable[..., Any]:
    """The function, but its call number `at` fails."""
    calls = 0

    def broken(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == at:
            raise error
        return original(*args, **kwargs)

    return broken


STEPS = [("rename", n) for n in range(1, 6)] + [("mkdir", n) for n in range(1, 3)] + [("fsync", n) for n in range(1, 6)] + [("open", n) for n in range(1, 4)]


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize(("step", "at"), STEPS)
def test_a_full_disk_at_any_moment_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, at: int, existing: bool) -> None:
    target = tmp_path / "parent" / "plan"
    if existing:
        write_plan(OLD, target)
        (target / "notes.txt").write_bytes(b"mine")
        (target / "more.txt").write_bytes(b"too")
    before, names = tree(tmp_path), entries(tmp_path)
    owner: Any = os if step == "fsync" else Path
    with monkeypatch.context() as patched:
        patched.setattr(owner, step, breaking(getattr(owner, step), at, OSError(errno.ENOSPC, "No space left on device")))
        try:
            write_plan(NEW, target, force=True)
        except DesignError as error:
            (problem,) = error.problems
            assert "No space left on device" in problem.what
        else:
            assert {**tree(target), "notes.txt": b"mine", "more.txt": b"too"} == {**NEW, "notes.txt": b"mine", "more.txt": b"too"}
            return
    assert tree(tmp_path) == before
    assert entries(tmp_path) == names
    assert not existing or entries(tmp_path / "parent") == {"plan"}


def test_an_interrupt_puts_the_old_plan_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(OLD, tmp_path / "plan")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", breaking(Path.rename, 2, KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            write_plan(NEW, tmp_path / "plan", force=True)
    assert tree(tmp_path / "plan") == OLD
    assert entries(tmp_path) == {"plan"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_parent_is_a_problem_not_a_traceback(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "cannot be written" in refused(NEW, tmp_path / "plan")
    finally:
        tmp_path.chmod(0o700)


def test_a_run_killed_between_its_renames_loses_nothing(tmp_path: Path) -> None:
    target = tmp_path / "plan"
    write_plan(OLD, target)
    (target / "notes.txt").write_text("mine")
    target.rename(tmp_path / ".plan.old0")
    assert refused(NEW, target) == "holds another plan"
    assert tree(target) == {**OLD, "notes.txt": b"mine"}
    assert entries(tmp_path) == {"plan"}
