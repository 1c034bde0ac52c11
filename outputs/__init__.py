"""What people and programs take away: the explicit list of formats, each rendered by a module of its own.

A writer offers `files(plan, options)`: file name -> bytes. To add a format, write its module and its line in `FORMATS`.
A writer whose reader cannot carry the plan raises DesignError: that format alone is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..problems import DesignError, Problem, did_you_mean

if TYPE_CHECKING:
    from ..plan import Plan


@dataclass(frozen=True)
class Options:
    """What the readers of a plan's files differ in from site to site."""

    slurm_version: str = "23.11"
    """Release whose rules the Slurm files keep, as year.month."""
    label_prefix: str = "fabric.topograph.run"
    """Stands before the slash of every Kubernetes node label."""
    slice: str = ""
    """Part of the fabric that containerlab gets, as `pods=1,nodes=4`; "" for all of it."""


DEFAULTS = Options()

Writer = Callable[["Plan", Options], dict[str, bytes]]


def _writer(module: str) -> Writer:
    """The `files` of a module of this room, imported when it is first needed."""

    def files(plan: Plan, options: Options) -> dict[str, bytes]:
        return cast("dict[str, bytes]", import_module(f".{module}", __name__).files(plan, options))

    return files


FORMATS: Mapping[str, tuple[tuple[str, ...], Writer]] = {
    "csv": (("cables.csv", "ports.csv", "devices.csv", "racks.csv", "bom.csv", "labels.csv", "findings.csv"), _writer("csv_files")),
    "xlsx": (("plan.xlsx",), _writer("workbook")),
    "slurm": (("topology.conf", "nodes.conf", "gres.conf", "topology.yaml", "topology_block.conf"), _writer("slurm")),
    "fabric": (("fabric.dot", "fabric.svg"), _writer("fabric_picture")),
    "racks": (("racks.svg",), _writer("rack_picture")),
    "hall": (("hall.svg",), _writer("hall_picture")),
}
"""Format -> the files it can write (some only for some plans or options), and the function that renders them."""

ALWAYS: Mapping[str, Writer] = {"design.yaml": _writer("design_file"), "summary.json": _writer("summary")}
"""Files that every plan has, whatever formats are asked for."""

FILE_NAMES = frozenset(ALWAYS) | {name for names, _ in FORMATS.values() for name in names}
"""Every file that a plan can have."""


def render(plan: Plan, only: Sequence[str] | None = None, options: Options = DEFAULTS, left_out: Callable[[Problem], None] = lambda problem: None) -> dict[str, bytes]:
    """Render the files of a plan in memory, of all formats or of those in `only`.

    Raises DesignError for unknown formats and for formats of `only` whose reader cannot carry the plan. When all formats
    are rendered, such a format is missing instead and `left_out` hears why, as warnings.
    """
    wanted = list(FORMATS) if only is None else list(dict.fromkeys(name.strip().lower() for name in only))
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown:
        raise DesignError(Problem("format", "--only", f"unknown format {name!r}", fix=did_you_mean(name, FORMATS)) for name in unknown)
    files = {name: data for writer in ALWAYS.values() for name, data in writer(plan, options).items()}
    refused: list[Problem] = []
    for name in sorted(wanted, key=list(FORMATS).index):
        try:
            files |= FORMATS[name][1](plan, options)
        except DesignError as error:
            refused += error.problems
    if refused and only is not None:
        raise DesignError(refused)
    for problem in refused:
        left_out(replace(problem, what=f"left out: {problem.what}", level="warning"))
    return files
