"""Writing a plan's files into a folder: all of them or none.

The new folder is built beside the old one and then takes its place by renames. Files of an earlier plan that the new one
does not have vanish; files that railplan did not write move along untouched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from ..problems import DesignError, Problem
from . import ALWAYS, FILE_NAMES

RULE = "output"


def write_plan(files: Mapping[str, bytes], folder: Path, force: bool = False) -> None:
    """Write `files` into `folder`, which may be new, empty, hold this very plan, or, with `force`, another one.

    Raises DesignError, with nothing changed, when the folder is in use otherwise or cannot be written.
    """
    target = Path(os.path.realpath(folder))
    try:
        _recover(target)
        present = _entries(target, folder)
        if all(present.get(name) == data for name, data in files.items()):
            return
        _refuse(files, target, present, folder, force)
        kept = [name for name in present if name not in FILE_NAMES]
        if _same_plan(files, present):
            kept += [name for name in present if name in FILE_NAMES and name not in files]
        made = _make_parents(target.parent)
        try:
            _swap(files, target, kept)
        except BaseException:
            for parent in reversed(made):
                parent.rmdir()
            raise
    except OSError as error:
        raise _cannot_write(error, folder) from None


def write_file(data: bytes, path: Path) -> None:
    """Write one file by itself; raises DesignError when it cannot be written."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise DesignError([Problem(RULE, str(path), f"cannot be written: {error.strerror or error}", "", "mend that, or name another file")]) from None


def _recover(target: Path) -> None:
    """Bring back the plan that a run killed between its two renames left hidden beside the target."""
    if target.exists() or not target.parent.is_dir():
        return
    for left in sorted(p for p in target.parent.iterdir() if p.name.startswith(f".{target.name}.old") and p.is_dir()):
        if any(left.iterdir()):
            left.rename(target)
            return


def _entries(target: Path, folder: Path) -> dict[str, bytes | None]:
    """What is in the folder: the bytes of files that a plan could have written, None for anything else."""
    if target.exists() and not target.is_dir():
        raise _problem(folder, "is a file, not a folder", "a plan is a folder of files", "name a folder that does not exist yet")
    if not target.exists():
        return {}
    return {p.name: p.read_bytes() if p.name in FILE_NAMES and p.is_file() and not p.is_symlink() else None for p in sorted(target.iterdir())}


def _is_ours(present: Mapping[str, bytes | None]) -> bool:
    """True when the folder has a summary.json that railplan wrote."""
    try:
        return "railplan" in json.loads(present.get("summary.json") or b"null")
    except (ValueError, TypeError):
        return False


def _same_plan(files: Mapping[str, bytes], present: Mapping[str, bytes | None]) -> bool:
    """True when the folder holds the same plan, perhaps in other formats."""
    return all(present.get(name) == files.get(name) for name in ALWAYS) and all(present[name] == files[name] for name in files if name in present)


def _refuse(files: Mapping[str, bytes], target: Path, present: Mapping[str, bytes | None], folder: Path, force: bool) -> None:
    if not _is_ours(present):
        taken = sorted(FILE_NAMES & set(present))
        if taken:
            why = "there is no summary.json of railplan beside it, so it may be somebody's work"
            raise _problem(folder, f"holds {taken[0]}, which no plan of railplan wrote", why, "name a new folder")
        if present and not force:
            shown = ", ".join(list(present)[:3]) + (f" and {len(present) - 3} more" if len(present) > 3 else "")
            raise _problem(folder, f"is not empty and holds no plan ({shown})", "", "name a new folder, or use --force, which keeps what is there")
    elif not force and not _same_plan(files, present):
        raise _problem(folder, "holds another plan", "its files would be lost", "name another folder, or use --force to replace it")
    if target.exists() and Path.cwd().is_relative_to(target):
        raise _problem(folder, "is the folder you work in", "the new plan takes its place as a whole", f"name a folder inside it, such as {folder / 'plan'}")


def _make_parents(parent: Path) -> list[Path]:
    """Create the missing folders above; returns them from the top down."""
    missing = [p for p in (parent, *parent.parents) if not p.exists()][::-1]
    made: list[Path] = []
    try:
        for folder in missing:
            folder.mkdir()
            made.append(folder)
    except BaseException:
        for folder in reversed(made):
            folder.rmdir()
        raise
    return missing


def _swap(files: Mapping[str, bytes], target: Path, kept: list[str]) -> None:
    """Build the new folder beside the old one, let it take the old one's place, and move `kept` entries over.

    On any failure everything is put back as it was.
    """
    new = _fresh_folder(target, "new")
    old: Path | None = None
    moved: list[str] = []
    placed = False
    try:
        _fill(new, files)
        if target.exists():
            shutil.copymode(target, new)
            old = _fresh_folder(target, "old")
            target.rename(old)  # onto an empty folder: POSIX replaces it
        new.rename(target)
        placed = True
        if old is not None:
            for name in kept:
                moved.append(name)
                (old / name).rename(target / name)
        _sync_folder(target.parent)
    except BaseException:
        if old is not None:
            _put_back(target, old, new, moved, placed)
        shutil.rmtree(target if placed and old is None else new, ignore_errors=True)
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _put_back(target: Path, old: Path, new: Path, moved: list[str], placed: bool) -> None:
    """Undo a swap: what was moved returns, the new folder steps aside, the old one takes its place again."""
    for name in moved:
        if not (old / name).exists() and not (old / name).is_symlink():
            (target / name).rename(old / name)
    if placed:
        target.rename(new)
    if target.exists():
        old.rmdir()  # the old plan never moved; `old` is the empty folder made for it
    else:
        old.rename(target)


def _fresh_folder(target: Path, word: str) -> Path:
    """Create a new hidden folder beside the target, where a rename stays on the same disk."""
    for number in count():
        folder = target.parent / f".{target.name}.{word}{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable")


def _fill(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files and see them safely on the disk."""
    for name, data in files.items():
        with (folder / name).open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(error: OSError, folder: Path) -> DesignError:
    where = f" ({error.filename})" if error.filename else ""
    return _problem(folder, f"cannot be written: {error.strerror or error}{where}", "nothing was changed", "mend that, or name another folder")


def _problem(folder: Path, what: str, why: str, fix: str) -> DesignError:
    return DesignError([Problem(RULE, str(folder), what, why, fix)])
