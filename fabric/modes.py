"""How the NICs and switches are run: protocol, lane rate, planes, speeds; and why not, where they don't meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from ..problems import Problem, did_you_mean
from ..vendors.catalog import Catalog
from ..vendors.models import NicMode, Node, Part, Switch
from .design import Design, FabricSpec
from .ports import PortKind, kinds, port_count

AnyPart = TypeVar("AnyPart", bound=Part)


@dataclass(frozen=True)
class Parts:
    """The hardware of one fabric and how it is run."""

    node: Node
    leaf: Switch
    spine: Switch
    core: Switch
    nic: NicMode
    planes: int
    down: PortKind
    up: PortKind

    @property
    def rails(self) -> int:
        """Rails of the node: its NICs on this fabric, one for each GPU where it has any."""
        return len(self.node.compute_ports)

    @property
    def ports_per_gpu(self) -> int:
        """Ports of one GPU in one plane."""
        return self.nic.ports // self.planes


def choose_parts(design: Design, name: str, spec: FabricSpec, catalog: Catalog) -> tuple[list[Parts], list[Problem]]:
    """Choose models and modes for every kind of node; without a legal choice the list is empty and errors say why.

    All kinds share the planes and the uplink speed of the first.
    """
    at = f"fabrics.{name}"
    problems: list[Problem] = []
    leaf = _find(catalog.switches, spec.switch or catalog.families[spec.family], f"{at}.switch", "switch model", problems)
    spine = _find(catalog.switches, spec.spine_switch, f"{at}.spine_switch", "switch model", problems) if spec.spine_switch else leaf
    core = _find(catalog.switches, spec.core_switch, f"{at}.core_switch", "switch model", problems) if spec.core_switch else spine
    paths = ["nodes", *(f"more_nodes.{i}" for i in range(len(design.more_nodes)))]
    nodes = [_find(catalog.nodes, group.model, f"{path}.model", "node model", problems) for group, path in zip(design.node_groups, paths, strict=True)]
    if leaf is None or spine is None or core is None or None in nodes:
        return [], problems
    for switch, field in dict.fromkeys([(leaf, "switch"), *([(spine, "spine_switch")] if spine is not leaf else []), *([(core, "core_switch")] if core is not spine else [])]):
        problems += _switch_problems(switch, f"{at}.{field}", spec.family, catalog)
    chosen: list[Parts] = []
    for node, path in zip(nodes, paths, strict=True):
        assert node is not None
        if path == "nodes" and not node.gpus:
            problems.append(Problem("no-gpu", f"{path}.model", f"{node.model} has no GPU", "nodes are the GPU nodes; others stand in more_nodes", "name a GPU node here"))
            continue
        if not node.compute_ports:
            what = f"{node.model} has no port for the compute fabric"
            problems.append(
                Problem("no-port", f"{path}.model", what, "its ports are for other networks", "choose another model, or declare a port `use: compute` in a node file of your own")
            )
            continue
        own = spec if not chosen else spec.model_copy(update={"planes": chosen[0].planes, "nic_mode": None})
        nic, planes = _nic_mode(own, node, leaf, at, problems, follows=bool(chosen))
        if nic is None:
            continue
        up = chosen[0].up if chosen else _up_kind(spec, leaf, spine, core, PortKind.of(nic), at, problems)
        if up is not None:
            chosen.append(Parts(node, leaf, spine, core, nic, planes, PortKind.of(nic), up))
        if nic.disputed:
            what = f"{node.model} run as {nic.name} {nic.protocol}: {nic.disputed}"
            problems.append(Problem("disputed-mode", f"{at}.nic_mode", what, fix="confirm with the vendor before ordering, or leave nic_mode out", level="warning"))
    if len(chosen) < len(nodes) or any(p.level == "error" for p in problems):
        return [], problems
    return chosen, problems + part_warnings([p for parts in chosen for p in (parts.node, parts.leaf, parts.spine, parts.core)])


def unknown_models(design: Design, catalog: Catalog) -> list[Problem]:
    """Errors for node and switch models that the catalog does not have."""
    return [problem for name, spec in design.rails.items() for problem in choose_parts(design, name, spec, catalog)[1] if problem.rule == "unknown-model"]


def part_warnings(parts: Iterable[Part]) -> list[Problem]:
    """Warnings for parts that only are announced, whose data nobody verified, or that carry known traps."""
    found: list[Problem] = []
    for part in dict.fromkeys(parts):
        if part.status != "shipping":
            found.append(
                Problem("not-shipping", part.model, f"{part.description} is {part.status}, not confirmed as shipping", fix="confirm availability with the vendor", level="warning")
            )
        for row in part.evidence:
            if row.confidence == "unverified":
                what = f"nobody could verify {', '.join(row.fields)}" + (f": {row.note}" if row.note else "")
                found.append(Problem("unverified-datum", part.model, what, fix="check against the vendor's data sheet or the part itself", level="warning"))
        found += [Problem("caution", part.model, caution, level="note") for caution in part.cautions]
    return found


def _find(parts: Mapping[str, AnyPart], model: str, where: str, what: str, problems: list[Problem]) -> AnyPart | None:
    if model not in parts:
        problems.append(Problem("unknown-model", where, f"unknown {what} {model!r}", fix=did_you_mean(model, parts)))
    return parts.get(model)


def _switch_problems(switch: Switch, where: str, family: str, catalog: Catalog) -> list[Problem]:
    found = []
    if family not in switch.families:
        fitting = ", ".join(s.model for s in catalog.switches.values() if family in s.families)
        belongs = f"it belongs to {', '.join(switch.families)}" if switch.families else "it belongs to none of the planner's families"
        found.append(Problem("family", where, f"{switch.model} is not a {family} switch", belongs, f"set family to match, or choose one of {fitting}"))
    if switch.chassis_of:
        what = f"{switch.model} holds {switch.chassis_of} independent switches in one box"
        found.append(Problem("two-in-one", where, what, "ports of one half do not reach the other half", "choose a box that is one switch"))
    return found


def _nic_mode(spec: FabricSpec, node: Node, leaf: Switch, at: str, problems: list[Problem], follows: bool) -> tuple[NicMode | None, int]:
    """The NIC mode with the most bandwidth, then the fewest ports, that leaf and planes can serve."""
    own = ", ".join(dict.fromkeys(f"{m.name} {m.protocol}" for m in node.modes))
    same = [m for m in node.modes if m.protocol == leaf.protocol]
    if not same:
        what = f"{node.model} has no {leaf.protocol} mode for {leaf.model}; its {node.nic} runs {own}"
        problems.append(Problem("protocol", f"{at}.family", what, fix=f"choose a family that speaks {node.modes[0].protocol}, or another node"))
        return None, 0
    if spec.nic_mode:
        same = [m for m in same if m.name == spec.nic_mode]
        if not same:
            problems.append(Problem("nic-mode", f"{at}.nic_mode", f"{node.model} has no {leaf.protocol} mode {spec.nic_mode}", f"its {node.nic} runs {own}", "choose one of these"))
            return None, 0
    elif any(not m.disputed for m in same):
        same = [m for m in same if not m.disputed]
    served = [m for m in same if PortKind.of(m) in kinds(leaf)]
    if not served:
        what = f"the lanes of {node.model} and {leaf.model} don't meet: {node.nic} runs " + ", ".join(f"{m.name} ({m.lanes} x {m.lane_gbps}G lanes)" for m in same)
        offers = ", ".join(str(k) for k in sorted(kinds(leaf), reverse=True))
        problems.append(
            Problem("lane-rate", f"{at}.family", what, f"{leaf.model} offers {offers}", "choose a family or switch with the NIC's speed and lane rate, or another node")
        )
        return None, 0
    if spec.planes == "auto":
        best = min(served, key=lambda m: (-m.ports * m.gbps, m.ports))
        return best, best.ports if best.ports in (1, 2, 4) else 1
    fitting = [m for m in served if m.ports % spec.planes == 0]
    if not fitting:
        counts = sorted({m.ports for m in served})
        what = f"{spec.planes} planes, but {node.nic} in {node.model} runs as {', '.join(dict.fromkeys(m.name for m in served))} on {leaf.model}"
        auto = "" if follows else ", or auto"
        why = "all kinds of node share the planes, and a NIC needs a port for each" if follows else "a NIC needs at least one port for every plane"
        problems.append(Problem("planes", f"{at}.planes", what, why, f"set planes to {' or '.join(str(c) for c in counts if c in (1, 2, 4))}{auto}"))
        return None, 0
    return min(fitting, key=lambda m: (-m.ports * m.gbps, m.ports)), spec.planes


def _up_kind(spec: FabricSpec, leaf: Switch, spine: Switch, core: Switch, down: PortKind, at: str, problems: list[Problem]) -> PortKind | None:
    """Kind of the leaf-spine links: at the wanted speed, that which gives the most ports on both switches, then the fastest lanes."""
    gbps = spec.uplink_gbps or down.gbps
    shared = [k for k in kinds(leaf) & kinds(spine) & kinds(core) if k.gbps == gbps]
    if not shared:
        speeds = sorted({k.gbps for k in kinds(leaf) & kinds(spine) & kinds(core)}, reverse=True)
        models = list(dict.fromkeys((leaf.model, spine.model, core.model)))
        what = f"{leaf.model} has no {gbps}G port mode" if len(models) == 1 else f"{' and '.join(models)} share no {gbps}G port mode"
        fix = f"set uplink_gbps to one of {', '.join(map(str, speeds))}" if speeds else "choose spines of the leaves' kind"
        other = "spine_switch" if gbps not in {k.gbps for k in kinds(leaf) & kinds(spine)} else "core_switch"
        field = "uplink_gbps" if spec.uplink_gbps else other
        problems.append(Problem("uplink-speed", f"{at}.{field}", what, fix=fix))
        return None
    if down in shared:
        return down
    return max(shared, key=lambda k: (min(port_count(leaf, k), port_count(spine, k)), k.lane_gbps))
