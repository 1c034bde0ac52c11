"""What people and programs take away: the explicit list of formats, each rendered by a module of its own.

A writer offers `files(plan)`: file name -> bytes. To add a format, write its module and its line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..problems import DesignError, Problem, did_you_mean

if TYPE_CHECKING:
    from ..plan import Plan

Writer = Callable[["Plan"], dict[str, bytes]]


def _writer(module: str) -> Writer:
    """The `files` of a module of this room, imported when it is first needed."""

    def files(plan: Plan) -> dict[str, bytes]:
        return cast("dict[str, bytes]", import_module(f".{module}", __name__).files(plan))

    return files


FORMATS: Mapping[str, tuple[tuple[str, ...], Writer]] = {
    "csv": (("cables.csv", "ports.csv", "devices.csv", "racks.csv", "bom.csv", "labels.csv", "findings.csv"), _writer("csv_files")),
    "xlsx": (("plan.xlsx",), _writer("workbook")),
    "slurm": (("topology.conf",), _writer("slurm")),
    "fabric": (("fabric.dot", "fabric.svg"), _writer("fabric_picture")),
    "racks": (("racks.svg",), _writer("rack_picture")),
    "hall": (("hall.svg",), _writer("hall_picture")),
}
"""Format -> the files it writes, and the function that renders them."""

ALWAYS: Mapping[str, Writer] = {"design.yaml": _writer("design_file"), "summary.json": _writer("summary")}
"""Files that every plan has, whatever formats are asked for."""

FILE_NAMES = frozenset(ALWAYS) | {name for names, _ in FORMATS.values() for name in names}
"""Every file that a plan can have."""


def render(plan: Plan, only: Sequence[str] | None = None) -> dict[str, bytes]:
    """Render the files of a plan in memory, of all formats or of those in `only`; raises DesignError for unknown formats."""
    wanted = list(FORMATS) if only is None else [name.strip().lower() for name in only]
    unknown = [name for name in dict.fromkeys(wanted) if name not in FORMATS]
    if unknown:
        raise DesignError(Problem("format", "--only", f"unknown format {name!r}", fix=did_you_mean(name, FORMATS)) for name in unknown)
    writers = [*ALWAYS.values(), *(writer for name, (_, writer) in FORMATS.items() if name in wanted)]
    return {name: data for writer in writers for name, data in writer(plan).items()}
