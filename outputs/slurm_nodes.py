"""Lines for Slurm's configuration: NodeName with GPUs for slurm.conf, and hints for gres.conf."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from .. import __version__
from ..vendors.models import Part
from .hostlist import fold
from .slurm_tree import gpu_nodes

if TYPE_CHECKING:
    from ..plan import Plan

NVIDIA = re.compile(r"\b(nvidia|[dh]gx|nvl[0-9]+)\b", re.IGNORECASE)
AMD = re.compile(r"\bamd\b", re.IGNORECASE)


def nodes_conf(plan: Plan) -> str:
    """NodeName lines, one for each run of nodes with equally many GPUs; what a fabric plan cannot know is left out."""
    groups = _groups(plan)
    total = sum(len(names) for _, _, names in groups)
    lines = [
        f"# Slurm nodes of {plan.design.name}: {total} node{'s' if total > 1 else ''}.",
        f"# Written by railplan {__version__}. In slurm.conf: GresTypes=gpu, and `include nodes.conf`.",
        "# Add Sockets, CoresPerSocket, ThreadsPerCore and RealMemory as `slurmd -C` prints them on a node: without them Slurm counts one CPU a node.",
    ]
    lines += [f"NodeName={fold(names)} Gres=gpu:{gpus} State=UNKNOWN" for gpus, _, names in groups]
    return "\n".join(lines) + "\n"


def gres_conf(plan: Plan) -> str:
    """gres.conf: device files where their names are certain (NVIDIA), detection for AMD, whose render devices each host numbers.

    A line with a count alone would be no help: slurmd drops GPUs without a file.
    """
    lines = [
        f"# Slurm GPUs of {plan.design.name}: hints, for a plan of a fabric knows how many GPUs a node has, not their cores.",
        f"# Written by railplan {__version__}. Prefer detection, which finds files, cores and links: AutoDetect=nvml (NVIDIA) or AutoDetect=rsmi (AMD),",
        "# in place of File=, where slurmd was built with that library.",
    ]
    for gpus, maker, names in _groups(plan):
        devices = f"/dev/nvidia{'0' if gpus == 1 else f'[0-{gpus - 1}]'}"
        known = {"nvidia": f"NodeName={fold(names)} Name=gpu File={devices}", "amd": f"NodeName={fold(names)} AutoDetect=rsmi"}
        lines.append(known.get(maker, f"# Name the {gpus} device files of each: NodeName={fold(names)} Name=gpu File="))
    return "\n".join(lines) + "\n"


def _groups(plan: Plan) -> list[tuple[int, str, list[str]]]:
    """(GPUs of a node, maker of the GPUs, nodes) in node order, alike neighbours together."""
    makers = {name: _maker(profile.part) for name, profile in plan.topology.profiles.items()}
    nodes = gpu_nodes(plan).select("gpus", "profile", "device").iter_rows()
    alike = groupby(((gpus, makers[profile], name) for gpus, profile, name in nodes), key=lambda row: row[:2])
    return [(gpus, maker, [name for _, _, name in group]) for (gpus, maker), group in alike]


def _maker(part: Part) -> str:
    """nvidia, amd, or "" when the part does not say."""
    words = f"{part.vendor} {part.model} {part.description}"
    return "amd" if AMD.search(words) else "nvidia" if NVIDIA.search(words) else ""
