"""The compute fabric for Kubernetes: labels of the nodes, Kueue's Topology over these labels, Volcano's HyperNodes.

    kubernetes-labels.yaml   a Node for each node with its labels: PREFIX/tier-0 is the SU, PREFIX/tier-1 what joins SUs, ...
                             kubectl apply --server-side -f kubernetes-labels.yaml, once the nodes have joined
    kueue-topology.yaml      levels from the widest down to the host; a ResourceFlavor refers to it by topologyName
    volcano-hypernodes.yaml  a HyperNode for each group of the lowest level (tier 1), then for what joins them (tier 2, ...)

The groups are those of Slurm's tree. Trays of an NVL72 rack have a level of their own below the SU.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..problems import DesignError, Problem
from . import DEFAULTS, Options
from .slurm_blocks import blocks
from .slurm_tree import gpu_nodes, tree
from .yaml_text import documents, heading

if TYPE_CHECKING:
    from ..plan import Plan

KUEUE_VERSION, VOLCANO_VERSION = "kueue.x-k8s.io/v1beta1", "topology.volcano.sh/v1alpha1"
HOSTNAME = "kubernetes.io/hostname"
"""Label that every node has; the lowest level of a Topology."""

SUBDOMAIN = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
"""Names of nodes, HyperNodes and label prefixes: RFC 1123, at most 253 characters."""

VALUE = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
"""Value of a label."""


class Level(NamedTuple):
    """One level of the hierarchy: the node label, and the group of every node."""

    label: str
    groups: dict[str, str]


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render the three files; raises DesignError for names that Kubernetes cannot carry."""
    check_prefix(options.label_prefix)
    if not gpu_nodes(plan).height:
        raise DesignError([Problem("format", "kubernetes", "the plan has no GPU nodes", "there is nothing to label", "leave kubernetes out of --only")])
    found = levels(plan, options.label_prefix)
    _check(plan, found)
    return {
        "kubernetes-labels.yaml": documents(heading(plan, "Kubernetes node labels"), node_labels(found)),
        "kueue-topology.yaml": documents(heading(plan, "Kueue Topology"), [kueue_topology(plan, found)]),
        "volcano-hypernodes.yaml": documents(heading(plan, "Volcano HyperNodes"), hyper_nodes(plan, found)),
    }


def levels(plan: Plan, prefix: str) -> list[Level]:
    """Levels from the nearest to the widest; where the tree is less deep its top stands for the levels above."""
    entries = tree(plan)
    parents = {child: entry.name for entry in entries for child in entry.children}
    paths: dict[str, list[str]] = {}
    for entry in entries:
        path = [entry.name]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        paths |= dict.fromkeys(entry.nodes, path)
    depth = max(map(len, paths.values()))
    tiers = [Level(f"{prefix}/tier-{i}", {node: path[min(i, len(path) - 1)] for node, path in paths.items()}) for i in range(depth)]
    return [*_racks(plan, prefix, tiers), *tiers]


def _racks(plan: Plan, prefix: str, tiers: list[Level]) -> list[Level]:
    """The level of NVL72 racks, where the hall holds whole ones, every node is in one and none is part of two SUs."""
    found = blocks(plan)
    if found is None or not found.sizes:
        return []
    racks = {**found.racks, **found.short}
    groups = {node: rack.lower() for rack, nodes in racks.items() for node in nodes}
    nested = all(len({tiers[0].groups[node] for node in nodes}) == 1 for nodes in racks.values())
    return [Level(accelerator_label(prefix), groups)] if nested and groups.keys() == tiers[0].groups.keys() else []


def accelerator_label(prefix: str) -> str:
    """Label of the NVLink domain: accelerator.topograph.run/domain beside fabric.topograph.run, else PREFIX/accelerator."""
    return f"accelerator.{prefix.removeprefix('fabric.')}/domain" if prefix.startswith("fabric.") else f"{prefix}/accelerator"


def node_labels(found: list[Level]) -> list[dict[str, Any]]:
    """A Node for each node."""
    return [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {level.label: level.groups[node] for level in found}}} for node in found[0].groups]


def kueue_topology(plan: Plan, found: list[Level]) -> dict[str, Any]:
    """The Topology: levels top first."""
    labels = [*(level.label for level in reversed(found)), HOSTNAME]
    return {"apiVersion": KUEUE_VERSION, "kind": "Topology", "metadata": {"name": plan.design.name}, "spec": {"levels": [{"nodeLabel": label} for label in labels]}}


def hyper_nodes(plan: Plan, found: list[Level]) -> list[dict[str, Any]]:
    """HyperNodes from the lowest level up, children before parents."""
    made = []
    for tier, level in enumerate(found, 1):
        members: dict[str, dict[str, None]] = {}
        for node, group in level.groups.items():
            member = node if tier == 1 else _hyper_name(plan, tier - 1, found[tier - 2].groups[node])
            members.setdefault(group, {})[member] = None
        kind = "Node" if tier == 1 else "HyperNode"
        for group, names in members.items():
            spec = {"tier": tier, "members": [{"type": kind, "selector": {"exactMatch": {"name": name}}} for name in names]}
            made.append({"apiVersion": VOLCANO_VERSION, "kind": "HyperNode", "metadata": {"name": _hyper_name(plan, tier, group)}, "spec": spec})
    return made


def _hyper_name(plan: Plan, tier: int, group: str) -> str:
    """Name of a HyperNode: they have no namespace, so the cluster's name and the tier keep it unique."""
    return f"{plan.design.name}-t{tier}-{group}"


def check_prefix(prefix: str) -> None:
    """Raise DesignError for a label prefix that Kubernetes refuses."""
    if not _is(SUBDOMAIN, prefix, 253):
        what = f"{prefix!r} cannot stand before a label's slash"
        raise DesignError([Problem("label-prefix", "--label-prefix", what, "a prefix is a DNS name", "use a-z, 0-9, - and dots, for example fabric.topograph.run")])


def _check(plan: Plan, found: list[Level]) -> None:
    """Raise DesignError for names that Kubernetes refuses."""
    bad = [name for name in [plan.design.name, *found[0].groups] if not _is(SUBDOMAIN, name, 253)]
    bad += [name for level in found for name in dict.fromkeys(level.groups.values()) if not re.fullmatch(VALUE, name)]
    if bad:
        shown = ", ".join(repr(name) for name in bad[:3]) + (f" and {len(bad) - 3} more" if len(bad) > 3 else "")
        why = "Kubernetes takes a-z, 0-9, - and dots only, at most 253 characters (63 in a label)"
        raise DesignError([Problem("format", "kubernetes", f"{shown} cannot be names in Kubernetes", why, "rename them in the design")])


def _is(pattern: str, text: str, longest: int) -> bool:
    return len(text) <= longest and bool(re.fullmatch(pattern, text))
