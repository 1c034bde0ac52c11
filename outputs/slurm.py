"""Slurm's files: topology.conf (topology/tree), topology.yaml from 25.05, the block form for NVL72 racks, nodes and GPUs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import polars as pl

from .. import __version__
from ..problems import DesignError, Problem
from . import DEFAULTS, Options
from .hostlist import NODES_MAX, fold
from .slurm_blocks import Blocks, blocks, topology_block_conf
from .slurm_nodes import gres_conf, nodes_conf
from .slurm_rules import SWITCHES_SLOW, YAML_FROM, release
from .slurm_tree import gpu_nodes, tree
from .slurm_yaml import topology_yaml

if TYPE_CHECKING:
    from ..plan import Plan

COMMENT_WIDTH = 120
RULE = "slurm"


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render the files that the release of `options` reads; raises DesignError when Slurm cannot carry the plan."""
    version = release(options.slurm_version)
    check(plan)
    racks = blocks(plan)
    made = {"topology.conf": topology_conf(plan), "nodes.conf": nodes_conf(plan), "gres.conf": gres_conf(plan)}
    if racks and racks.sizes:
        made["topology_block.conf"] = topology_block_conf(plan, racks)
    if version >= YAML_FROM:
        made["topology.yaml"] = topology_yaml(plan, racks)
    return {name: text.encode() for name, text in made.items()}


def check(plan: Plan) -> None:
    """Refuse a plan without nodes for jobs, with more of them than Slurm manages, or with names that it reads differently."""
    nodes = gpu_nodes(plan)
    problems = []
    if not nodes.height:
        problems.append(Problem(RULE, "topology.conf", "no node with GPUs on the fabric", "Slurm refuses an empty topology", "plan GPU nodes, or choose other formats with --only"))
    if nodes.height > NODES_MAX:
        what = f"{nodes.height:,} nodes, Slurm manages {NODES_MAX:,}"
        problems.append(Problem(RULE, "topology.conf", what, "MAX_SLURM_NODES of its sources", "split the cluster over several controllers, a plan for each"))
    for name in nodes["device"]:
        try:
            fold([name])
        except ValueError:
            what = f"node {name!r} cannot stand in a host list"
            problems.append(Problem(RULE, "topology.conf", what, "Slurm reads blanks, commas, brackets, = and # as its own", "name nodes with a-z, 0-9 and -"))
            break
    if problems:
        raise DesignError(problems)


def topology_conf(plan: Plan, fabric: str = "compute") -> str:
    """Text of the tree: SUs in order, each under a comment that names its physical leaves, what joins them below."""
    entries = tree(plan, fabric)
    sus = [entry for entry in entries if entry.nodes]
    lines = [
        f"# Slurm topology/tree of {plan.design.name}, {fabric} fabric: {sum(len(su.nodes) for su in sus)} nodes in {len(sus)} SU{'s' if len(sus) > 1 else ''}.",
        f"# Written by railplan {__version__}. One SwitchName is one SU: {_reason(plan, fabric)}",
    ]
    if len(entries) > SWITCHES_SLOW:
        lines.append(f"# {len(entries)} switches: slurmctld takes seconds to start, for its table of distances is cubic in them.")
    lines += _no_blocks(blocks(plan))
    for entry in entries:
        inside = f"Nodes={fold(entry.nodes)}" if entry.nodes else f"Switches={fold(entry.children)}"
        lines += ["", *_comment(f"{entry.name}: {entry.remark}"), f"SwitchName={entry.name} {inside}"]
    return "\n".join(lines) + "\n"


def _reason(plan: Plan, fabric: str) -> str:
    leaves = plan.topology.devices.filter((pl.col("fabric") == fabric) & (pl.col("role") == "leaf"))
    if leaves.n_unique(["pod", "rail"]) > leaves.n_unique("pod"):
        return "a node is on a leaf of every rail, so no single leaf holds its jobs."
    return "the nodes that share their leaves."


def _no_blocks(racks: Blocks | None) -> list[str]:
    """Say why NVL72 racks have no block file, where that is so."""
    if racks is None or racks.sizes:
        return []
    shown = ", ".join(list(racks.short)[:8]) + (f" and {len(racks.short) - 8} more" if len(racks.short) > 8 else "")
    return _comment(f"No topology_block.conf: an NVLink domain is {racks.per_rack} trays in one rack, and these racks hold fewer: {shown}.")


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, COMMENT_WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False)
