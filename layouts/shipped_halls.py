"""Halls that come with the program, in `halls/`: named by a bare word where a file of a hall is asked for."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "halls"


def shipped_halls() -> tuple[str, ...]:
    """Their names."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def hall_path(path: Path) -> Path:
    """The file of a shipped hall for its bare name, where no file is called so; any other path as it is."""
    return FOLDER / f"{path}.yaml" if str(path) in shipped_halls() and not path.exists() else path
