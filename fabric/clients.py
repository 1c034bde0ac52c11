"""Who hangs on the other fabrics: every port of nodes, servers, PDUs and switches, given to one fabric by its use or by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..problems import Problem, did_you_mean
from ..vendors.models import Breakout, Node, NodeCage, Switch
from .access_spec import AccessSpec
from .design import Design
from .ports import PortKind, kinds, module_limit_w
from .topology import CageUse


@dataclass(frozen=True)
class Socket:
    """One port that a device gives to a fabric: cage, port in the cage, and how it is run."""

    cage: int
    child: int
    kind: PortKind


@dataclass(frozen=True)
class Offer:
    """What every device of one kind gives to the other fabrics: sockets by fabric, and how their cages are run."""

    sockets: Mapping[str, tuple[Socket, ...]] = field(default_factory=dict)
    cages: Mapping[int, CageUse] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeKind:
    """One kind of node or server as the design lists it."""

    where: str
    name: str
    part: Node
    ports: Mapping[str, str]
    networks: Sequence[str]


def node_offers(design: Design, kinds_: Sequence[NodeKind], leaves: Mapping[str, Switch]) -> tuple[list[Offer], list[Problem]]:
    """What each kind of node offers, in order, and everything that is wrong with it; `leaves` is the leaf model of every other fabric."""
    problems = _two_fabrics_for_a_use(design)
    offers = []
    for kind in kinds_:
        offer, found = _node_offer(design, kind, leaves)
        offers.append(offer)
        problems += found
    return offers, problems


def serving(design: Design, use: str) -> str | None:
    """The fabric that takes ports of this use; the first where several claim it."""
    return next((name for name, spec in design.fabrics.others.items() if use in spec.serves), None)


def _two_fabrics_for_a_use(design: Design) -> list[Problem]:
    by_use: dict[str, list[str]] = {}
    for name, spec in design.fabrics.others.items():
        for use in spec.serves:
            by_use.setdefault(use, []).append(name)
    return [
        Problem(
            "port-claimed-twice",
            f"fabrics.{names[1]}.serves",
            f"{use} ports are claimed by {' and '.join(names)}",
            "a port has one cable",
            f"take {use} off one of them, and give single ports away by `ports` of the nodes",
        )
        for use, names in by_use.items()
        if len(names) > 1
    ]


def _node_offer(design: Design, kind: NodeKind, leaves: Mapping[str, Switch]) -> tuple[Offer, list[Problem]]:
    part, problems = kind.part, _wrong_overrides(design, kind)
    sockets: dict[str, list[Socket]] = {}
    cages: dict[int, CageUse] = {}
    for row, cage in enumerate(part.cages):
        inside = sorted((p for p in part.ports if p.cage == cage.label and p.use != "compute"), key=lambda p: p.connector)
        wanted = {p.label: kind.ports.get(p.label, serving(design, p.use) or "none") for p in inside}
        fabrics = [f for f in dict.fromkeys(wanted.values()) if f in leaves]
        if not fabrics:
            continue
        mode = _mode(cage, [(leaves[f], design.fabrics.others[f]) for f in fabrics])
        if mode is None:
            problems.append(_no_mode(kind, cage, fabrics, leaves, design))
            continue
        cages[row] = CageUse(row, cage.label, cage, mode, mode.ports * len(inside), cage.max_module_w)
        for at, port in enumerate(inside):
            for child in range(mode.ports) if wanted[port.label] in leaves else ():
                sockets.setdefault(wanted[port.label], []).append(Socket(row, at * mode.ports + child, PortKind.of(mode)))
    for i, network in enumerate(kind.networks):
        if network not in design.fabrics.others:
            problems.append(Problem("unknown-fabric", f"{kind.where}.networks.{i}", f"the design has no fabric {network!r}", fix=did_you_mean(network, design.fabrics.others)))
        elif network not in sockets and network in leaves:
            serves = ", ".join(design.fabrics.others[network].serves)
            has = ", ".join(f"{p.label} ({p.use})" for p in part.ports if p.use != "compute") or "none besides compute ports"
            what = f"{kind.name} ({part.model}) has no free port for {network}, which serves {serves}"
            problems.append(
                Problem(
                    "no-free-port",
                    f"{kind.where}.networks.{i}",
                    what,
                    f"its ports: {has}",
                    "give it one by `ports`, or choose another model",
                )
            )
    return Offer({f: tuple(s) for f, s in sockets.items()}, cages), problems


def _wrong_overrides(design: Design, kind: NodeKind) -> list[Problem]:
    """Ports given away that the node lacks or that serve a GPU, and fabrics that the design lacks."""
    labels = {p.label: p for p in kind.part.ports}
    found: list[Problem] = []
    for label, fabric in kind.ports.items():
        where = f"{kind.where}.ports.{label}"
        if label not in labels:
            found.append(Problem("unknown-port", where, f"{kind.part.model} has no port {label!r}", fix=did_you_mean(label, labels)))
        elif labels[label].use == "compute" and fabric != "none":
            what = f"port {label} of {kind.part.model} is claimed by compute and {fabric}"
            found.append(Problem("port-claimed-twice", where, what, "a compute port serves its GPU's rail", "give another port to this fabric"))
        if fabric != "none" and fabric not in design.fabrics.others:
            found.append(Problem("unknown-fabric", where, f"the design has no fabric {fabric!r}", fix=did_you_mean(fabric, [*design.fabrics.others, "none"])))
    return found


def _mode(cage: NodeCage, served_by: Sequence[tuple[Switch, AccessSpec]]) -> Breakout | None:
    """The fastest mode of a cage that all fabrics on it can serve."""
    good = [
        mode
        for mode in cage.modes
        if not mode.disputed
        and all(mode.protocol == leaf.protocol and PortKind.of(mode) in kinds(leaf) and (spec.gbps is None or mode.gbps <= spec.gbps) for leaf, spec in served_by)
    ]
    return min(good, key=lambda m: (-m.ports * m.gbps, m.ports, m.lane_gbps != 25, m.lanes), default=None)  # 100G is 4 x 25G before 2 x 50G, as optics are sold


def _no_mode(kind: NodeKind, cage: NodeCage, fabrics: Sequence[str], leaves: Mapping[str, Switch], design: Design) -> Problem:
    own = ", ".join(f"{m.name} {m.protocol} ({m.lanes} x {m.lane_gbps}G)" for m in cage.modes) or "no mode that the catalog knows"
    offers = "; ".join(f"{f}: {leaves[f].model} {leaves[f].protocol} {', '.join(str(k) for k in sorted(kinds(leaves[f]), reverse=True))}" for f in fabrics)
    limit = "".join(f", at most {design.fabrics.others[f].gbps}G" for f in fabrics if design.fabrics.others[f].gbps)
    what = f"cage {cage.label} of {kind.name} ({kind.part.model}) and the leaves of {' and '.join(fabrics)} share no speed"
    return Problem(
        "lane-rate",
        f"fabrics.{fabrics[0]}.switch",
        what,
        f"the cage runs {own}; {offers}{limit}",
        "choose another switch, or give the port away by `ports` of the nodes",
    )


def switch_offer(design: Design, switch: Switch, own_fabric: str, leaves: Mapping[str, Switch]) -> Offer:
    """Management ports of a switch; those of the fabric that serves them are managed through their own uplinks."""
    fabric, group = serving(design, "switch-management"), switch.management_cages
    if fabric is None or group is None or fabric == own_fabric or fabric not in leaves:
        return Offer()
    mode = next((m for m in group.modes if PortKind.of(m) in kinds(leaves[fabric])), None)
    if mode is None:
        return Offer()
    cages = {c: CageUse(c, group.label(c), group, mode, mode.ports, module_limit_w(group, c)) for c in range(group.first, group.first + group.count)}
    return Offer({fabric: tuple(Socket(c, 0, PortKind.of(mode)) for c in cages)}, cages)


def management_problems(design: Design, switches: Mapping[str, Switch], leaves: Mapping[str, Switch]) -> list[Problem]:
    """The fabric that serves the switches' management ports must run them."""
    fabric = serving(design, "switch-management")
    if fabric is None or fabric not in leaves:
        return []
    stuck = sorted({s.model for s in switches.values() if (g := s.management_cages) and not any(PortKind.of(m) in kinds(leaves[fabric]) for m in g.modes)})
    if not stuck:
        return []
    what = f"management ports of {', '.join(stuck)} run at 1G, {leaves[fabric].model} has no such port"
    return [Problem("lane-rate", f"fabrics.{fabric}.switch", what, "management ports are 1G RJ45", "choose a management switch such as nvidia-sn2201")]
