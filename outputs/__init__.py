"""What people and programs take away: the explicit list of formats, each rendered by a module of its own.

A writer offers `files(plan, options)`: file name -> bytes. To add a format, write its module and its line in `FORMATS`.
A writer whose reader cannot carry the plan raises DesignError: that format alone is left out; without a word when the
problem is a note, that is when the format is for another kind of fabric.
What few sites need is written only when `--only` names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from ..problems import DesignError, Problem, did_you_mean
from .infiniband_files import NAMES as INFINIBAND_FILES

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


class Format(NamedTuple):
    """One entry of the list: the files it can write (some only for some plans or options), and the function that renders them."""

    names: tuple[str, ...]
    files: Writer
    by_default: bool = True
    """False: written only when asked for by name."""
    rails_alone: bool = True
    """True: its reader is given the compute fabric, whatever other fabrics the plan has."""


def _writer(module: str) -> Writer:
    """The `files` of a module of this room, imported when it is first needed."""

    def files(plan: Plan, options: Options) -> dict[str, bytes]:
        return cast("dict[str, bytes]", import_module(f".{module}", __name__).files(plan, options))

    return files


FORMATS: Mapping[str, Format] = {
    "csv": Format(
        ("cables.csv", "ports.csv", "devices.csv", "racks.csv", "bom.csv", "labels.csv", "trays.csv", "bundles.csv", "findings.csv"), _writer("csv_files"), rails_alone=False
    ),
    "tenants": Format(("tenants.csv", "tenant-nodes.csv"), _writer("tenants")),
    "xlsx": Format(("plan.xlsx",), _writer("workbook"), rails_alone=False),
    "slurm": Format(("topology.conf", "nodes.conf", "gres.conf", "topology.yaml", "topology_block.conf"), _writer("slurm")),
    "kubernetes": Format(("kubernetes-labels.yaml", "kueue-topology.yaml", "volcano-hypernodes.yaml"), _writer("kubernetes")),
    "infiniband": Format(INFINIBAND_FILES, _writer("infiniband")),
    "ptm": Format(("topology.dot",), _writer("ptm"), rails_alone=False),
    "air": Format(("air.json",), _writer("air"), by_default=False),
    "sonic": Format(("sonic-device-neighbor.json",), _writer("sonic"), by_default=False),
    "apstra": Format(("apstra-cabling.csv",), _writer("apstra"), by_default=False),
    "containerlab": Format(("containerlab.yaml",), _writer("containerlab"), by_default=False),
    "ansible": Format(("ansible-inventory.yaml",), _writer("ansible"), by_default=False, rails_alone=False),
    "netbox": Format(("netbox.zip",), _writer("netbox"), by_default=False, rails_alone=False),
    "p2p": Format(("point-to-point.xlsx",), _writer("point_to_point"), by_default=False, rails_alone=False),
    "fabric": Format(("fabric.dot", "fabric.svg"), _writer("fabric_picture")),
    "fabrics": Format(("fabrics.svg",), _writer("cluster_picture"), rails_alone=False),
    "racks": Format(("racks.svg",), _writer("rack_picture"), rails_alone=False),
    "hall": Format(("hall.svg",), _writer("hall_picture"), rails_alone=False),
}
"""Format -> its entry."""

ALWAYS: Mapping[str, Writer] = {"design.yaml": _writer("design_file"), "summary.json": _writer("summary")}
"""Files that every plan has, whatever formats are asked for."""

FILE_NAMES = frozenset(ALWAYS) | {name for entry in FORMATS.values() for name in entry.names}
"""Every file that a plan can have."""


def render(plan: Plan, only: Sequence[str] | None = None, options: Options = DEFAULTS, left_out: Callable[[Problem], None] = lambda problem: None) -> dict[str, bytes]:
    """Render the files of a plan in memory, of all formats or of those in `only`.

    Raises DesignError for unknown formats, for formats of `only` whose reader cannot carry the plan, and for a slice that none takes. When all formats
    are rendered (those that few need are not), such a format is missing instead and `left_out` hears why, as warnings.
    """
    wanted = [name for name, entry in FORMATS.items() if entry.by_default] if only is None else list(dict.fromkeys(name.strip().lower() for name in only))
    unknown = [name for name in wanted if name not in FORMATS]
    if unknown:
        raise DesignError(Problem("format", "--only", f"unknown format {name!r}", fix=did_you_mean(name, FORMATS)) for name in unknown)
    if options.slice and "containerlab" not in wanted:
        raise DesignError([Problem("slice", "--slice", "no file asked for takes a slice", "containerlab alone does", "name containerlab in --only, or leave --slice out")])
    files = {name: data for writer in ALWAYS.values() for name, data in writer(plan, options).items()}
    refused: list[Problem] = []
    for name in sorted(wanted, key=list(FORMATS).index):
        try:
            files |= FORMATS[name].files(plan.rails if FORMATS[name].rails_alone else plan, options)
        except DesignError as error:
            refused += error.problems
    if refused and only is not None:
        raise DesignError(replace(problem, level="error") for problem in refused)
    for problem in refused:
        if problem.level != "note":
            left_out(replace(problem, what=f"left out: {problem.what}", level="warning"))
    return files
