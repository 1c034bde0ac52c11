"""A hall in a file of its own."""

from __future__ import annotations

from pathlib import Path

from ..vendors.yaml_source import Source, read_yaml, validate
from .hall_spec import HallSpec


def read_hall(path: Path) -> tuple[HallSpec, Source]:
    """Read a hall; in the source its fields stand below `hall`, as in a design.

    Raises DesignError with file and line of everything that is wrong.
    """
    inside = read_yaml(path)
    return validate(HallSpec, inside), Source(str(path), {"hall": inside.data}, included={("hall",): inside})
