"""From a design to the tables of devices and links; each end of each link gets its cage and port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from ..vendors.models import Node, PortNames, Switch
from .design import Design, FabricSpec
from .modes import Parts, choose_parts, part_warnings
from .ports import Assignment, Port, Want, assign, node_port_names, spread, switch_port_name
from .sizing import Size, leaf_wants, spine_ports
from .styles import size_fabric
from .tables import DEVICES, LINKS, NONE, PORT_NAMES, frame
from .topology import CageUse, FabricFacts, Profile, Topology

UFM_SERVER = "ufm-server"
"""Catalog model of the server that takes UFM links."""


@dataclass(frozen=True)
class Wiring:
    """What the wiring steps share: the design's parts and sizes, device numbers and the ports handed out."""

    design: Design
    name: str
    spec: FabricSpec
    parts: Parts
    size: Size
    leaf_ports: Assignment
    spine_ports: Assignment | None
    first_leaf: int
    first_spine: int
    first_ufm: int


def build_topology(design: Design, catalog: Catalog) -> Topology:
    """Size every fabric and build its devices and links; raises DesignError with all problems found."""
    name, spec = "compute", design.fabrics["compute"]
    at = f"fabrics.{name}"
    parts, problems = choose_parts(design, name, spec, catalog)
    if parts is None:
        raise DesignError(problems)
    size, sizing = size_fabric(spec, parts, design.nodes.final_count, at)
    problems += sizing
    names, os_problems = _os_names(spec, parts, at)
    problems += os_problems
    if spec.ufm_links and UFM_SERVER not in catalog.nodes:
        problems.append(Problem("unknown-model", f"{at}.ufm_links", f"the catalog has no {UFM_SERVER}", fix="add it, or remove ufm_links"))
    if size is None:
        raise DesignError(problems)
    findings = raise_errors(problems)
    plan = _hand_out_ports(design, name, spec, parts, size)
    if size.spines and len(set(_pod_of_nodes(plan))) < size.pods and plan.size.tiers == 2:
        findings.append(Problem("growth", at, f"{size.pods} SUs are planned, {len(set(_pod_of_nodes(plan)))} are built now", fix="the rest follows with growth", level="note"))
    devices = _devices(plan)
    every_link = pl.concat([_node_links(plan), _ufm_links(plan), _spine_links(plan), _pair_links(plan)]).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link"))
    present = devices["present"].to_numpy()
    built = every_link.filter(pl.Series(present[every_link["a_dev"].to_numpy()] & present[every_link["b_dev"].to_numpy()]))
    links = built.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link"))
    if links.height < every_link.height:
        findings.append(
            Problem(
                "growth",
                at,
                f"growth to {design.nodes.final_count} nodes will add {every_link.height - links.height:,} links to the {links.height:,} planned; none moves",
                level="note",
            )
        )
    profiles = _profiles(plan, catalog)
    if spec.ufm_links:
        findings += part_warnings([catalog.nodes[UFM_SERVER]])
    return Topology(design, devices, links, _port_names(profiles, names, parts.nic.protocol == "ethernet"), profiles, {name: _facts(plan)}, tuple(findings))


def _os_names(spec: FabricSpec, parts: Parts, at: str) -> tuple[dict[str, PortNames], list[Problem]]:
    """Port naming of each switch model; a problem where the wanted OS has none."""
    chosen: dict[str, PortNames] = {}
    problems = []
    for switch in dict.fromkeys((parts.leaf, parts.spine)):
        fitting = [n for n in switch.port_names if spec.switch_os in (None, n.os)]
        if fitting:
            chosen[switch.model] = fitting[0]
        else:
            known = ", ".join(n.os for n in switch.port_names)
            problems.append(Problem("switch-os", f"{at}.switch_os", f"port names of {switch.model} under {spec.switch_os!r} are not known", fix=f"use {known}"))
    return chosen, problems


def _hand_out_ports(design: Design, name: str, spec: FabricSpec, parts: Parts, size: Size) -> Wiring:
    leaf = assign(parts.leaf, leaf_wants(spec, parts, size))
    spine = assign(parts.spine, [Want(parts.up, spine_ports(spec, parts))]) if size.spines else None
    if leaf is None or (size.spines and spine is None):
        raise RuntimeError("sizing accepted ports that cannot be handed out")
    first_leaf = design.nodes.final_count
    first_spine = first_leaf + parts.planes * size.leaves
    return Wiring(design, name, spec, parts, size, leaf, spine, first_leaf, first_spine, first_spine + parts.planes * size.spines)


def _facts(plan: Wiring) -> FabricFacts:
    size, parts = plan.size, plan.parts
    return FabricFacts(
        family=plan.spec.family,
        leaf_model=parts.leaf.model,
        spine_model=parts.spine.model,
        style=plan.spec.style,
        tiers=size.tiers,
        planes=parts.planes,
        rails=parts.node.gpus,
        rails_per_leaf=size.rails_per_leaf,
        pods=size.pods,
        nodes_per_su=size.nodes_per_su,
        down_ports=size.down_ports,
        uplinks=size.uplinks,
        spines_per_plane=size.spines,
        links_per_pair=size.uplinks // size.spines if size.spines else 0,
        port_gbps=parts.down.gbps,
        uplink_gbps=parts.up.gbps,
        ports_per_gpu=parts.ports_per_gpu,
        oversubscription=plan.spec.oversubscription,
    )


def _shifted(plan: Wiring) -> np.ndarray:
    """Position of every node counted over the whole cluster: one is skipped where UFM takes a place."""
    number = np.arange(plan.design.nodes.final_count)
    return number + (plan.size.ufm_gives_way & (number >= plan.size.nodes_per_su - 1))


def _pod_of_nodes(plan: Wiring) -> list[int]:
    return [int(p) for p in _shifted(plan)[: plan.design.nodes.count] // plan.size.nodes_per_su]


def _rail_names(size: Size, rails: int) -> list[str]:
    share = size.rails_per_leaf
    return ["+".join(str(r) for r in range(first, first + share)) for first in range(0, rails, share)]


def _devices(plan: Wiring) -> pl.DataFrame:
    nodes, size, planes, spec = plan.design.nodes, plan.size, plan.parts.planes, plan.spec
    pods = _shifted(plan) // size.nodes_per_su
    built_pods = pods[: nodes.count].max() + 1
    columns: dict[str, list[object]] = {name: [] for name in DEVICES}

    def add(**values: object) -> None:
        for key, value in values.items():
            columns[key].append(value)
        columns["dev"].append(len(columns["dev"]))

    for i, pod in enumerate(pods.tolist()):
        name = f"{nodes.name}-{i + 1:0{nodes.width}d}"
        add(device=name, model=plan.parts.node.model, role="node", fabric="", profile="node", pod=pod, rail="", plane=NONE, index=i, present=i < nodes.count)
    pod_width = len(str(size.pods - 1))
    for pod in range(size.pods):
        for plane in range(planes):
            for j, rail in enumerate(_rail_names(size, plan.parts.node.gpus)):
                first, _, last = rail.partition("+")
                words = [spec.leaf_name, *([f"p{plane}"] if planes > 1 else [])]
                if size.tiers > 1 or size.leaves_per_pod > 1:
                    words += [f"su{pod:0{pod_width}d}", f"r{first}" + (f"-{last.rsplit('+', 1)[-1]}" if last else "")]
                index = pod * size.leaves_per_pod + j
                add(
                    device="-".join(words),
                    model=plan.parts.leaf.model,
                    role="leaf",
                    fabric=plan.name,
                    profile="leaf",
                    pod=pod,
                    rail=rail,
                    plane=plane,
                    index=index,
                    present=pod < built_pods,
                )
    for plane in range(planes):
        width = max(2, len(str(size.spines)))
        for j in range(size.spines):
            words = [spec.spine_name, *([f"p{plane}"] if planes > 1 else []), f"{j + 1:0{width}d}"]
            add(device="-".join(words), model=plan.parts.spine.model, role="spine", fabric=plan.name, profile="spine", pod=NONE, rail="", plane=plane, index=j, present=True)
    for j in range(_ufm_servers(plan)):
        add(device=f"ufm-{j + 1:02d}", model=UFM_SERVER, role="ufm", fabric=plan.name, profile="ufm", pod=NONE, rail="", plane=NONE, index=j, present=True)
    return frame(DEVICES, dict(columns))


def _ufm_servers(plan: Wiring) -> int:
    """UFM servers: two links each, in every plane (a plane is a subnet of its own)."""
    return plan.parts.planes * -(-plan.spec.ufm_links // 2)


def _leaf_dev(plan: Wiring, pod: np.ndarray, plane: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """Device number of leaf `leaf` of a pod and plane."""
    return np.asarray(plan.first_leaf + (pod * plan.parts.planes + plane) * plan.size.leaves_per_pod + leaf)


def _cages_and_children(ports: Sequence[Port]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(ports, dtype=np.int32).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _slots(plan: Wiring) -> np.ndarray:
    """Slot of each rail among the ports a node has on that leaf: rails of one NIC cage lie side by side."""
    node, share = plan.parts.node, plan.size.rails_per_leaf
    order = {label: i for i, label in enumerate(c.label for c in node.cages)}
    slots = np.zeros(node.gpus, dtype=np.int64)
    for first in range(0, node.gpus, share):
        group = sorted(range(first, first + share), key=lambda r: (order[node.compute_ports[r].cage], node.compute_ports[r].connector))
        slots[group] = np.arange(share)
    return slots


def _node_links(plan: Wiring) -> pl.DataFrame:
    """One link for each node, rail, plane and parallel port, in that order."""
    node, size, parts = plan.parts.node, plan.size, plan.parts
    per_gpu, rails = parts.ports_per_gpu, node.gpus
    number, rail, plane, port = (
        a.ravel() for a in np.meshgrid(np.arange(plan.design.nodes.final_count), np.arange(rails), np.arange(parts.planes), np.arange(per_gpu), indexing="ij")
    )
    shifted = _shifted(plan)[number]
    pod, position = shifted // size.nodes_per_su, shifted % size.nodes_per_su
    leaf = rail // size.rails_per_leaf
    down = position * size.rails_per_leaf * per_gpu + _slots(plan)[rail] * per_gpu + port
    leaf_cage, leaf_child = _cages_and_children(plan.leaf_ports.ports[0])
    cage_rows = {c.label: i for i, c in enumerate(node.cages)}
    nic_cage = np.array([cage_rows[p.cage] for p in node.compute_ports])
    nic_child = np.array([_connector_row(node, p.cage, p.connector) * parts.nic.ports for p in node.compute_ports])
    return _link_frame(
        plan,
        tier="node-leaf",
        series="N",
        serial=np.arange(len(number)),
        rail=rail,
        plane=plane,
        gpu=rail,
        kind=parts.down,
        a_dev=number,
        a_cage=nic_cage[rail],
        a_child=nic_child[rail] + plane * per_gpu + port,
        b_dev=_leaf_dev(plan, pod, plane, leaf),
        b_cage=leaf_cage[down],
        b_child=leaf_child[down],
    )


def _connector_row(node: Node, cage: str, connector: int) -> int:
    return sorted(p.connector for p in node.ports if p.cage == cage).index(connector)


def _ufm_links(plan: Wiring) -> pl.DataFrame:
    """UFM links fill one node position of the first SU, leaf after leaf."""
    size, parts = plan.size, plan.parts
    count = plan.spec.ufm_links
    plane, link = (a.ravel() for a in np.meshgrid(np.arange(parts.planes), np.arange(count), indexing="ij"))
    slots = size.rails_per_leaf * parts.ports_per_gpu
    position = (size.nodes_per_su - 1 if size.ufm_gives_way else size.nodes_per_su) * slots
    cage, child = _cages_and_children(plan.leaf_ports.ports[0])
    down = position + link // size.leaves_per_pod
    servers = -(-count // 2)
    return _link_frame(
        plan,
        tier="node-leaf",
        series="U",
        serial=np.arange(len(link)),
        rail=NONE,
        plane=plane,
        gpu=NONE,
        kind=parts.down,
        a_dev=plan.first_ufm + plane * servers + link // 2,
        a_cage=link % 2,
        a_child=np.zeros(len(link)),
        b_dev=_leaf_dev(plan, np.zeros(len(link), dtype=np.int64), plane, link % size.leaves_per_pod),
        b_cage=cage[down],
        b_child=child[down],
    )


def _spine_links(plan: Wiring) -> pl.DataFrame:
    """Every leaf to every spine of its plane, the same number of links, in leaf and spine order."""
    size, planes = plan.size, plan.parts.planes
    if not size.spines or plan.spine_ports is None:
        return frame(LINKS, {name: [] for name in LINKS})
    pods = np.arange(size.leaves) // size.leaves_per_pod
    ups = np.where(pods == size.pods - 1, size.last_uplinks, size.uplinks)
    pairs = ups // size.spines
    on_leaf = {int(k): spread(plan.leaf_ports.ports[1], [int(k)] * size.spines) for k in set(pairs.tolist())}
    on_spine = spread(plan.spine_ports.ports[0], pairs.tolist())
    leaf_end = np.array([port for k in pairs.tolist() for peer in on_leaf[k] for port in peer], dtype=np.int32).reshape(-1, 2)
    spine_end = np.array([port for ports in on_spine for _ in range(size.spines) for port in ports], dtype=np.int32).reshape(-1, 2)
    leaf = np.repeat(np.arange(size.leaves), ups)
    within = np.concatenate([np.arange(u) for u in ups.tolist()])
    spine = within // np.repeat(pairs, ups)
    plane = np.tile(np.arange(planes), (len(leaf), 1)).T.ravel()
    leaf, spine, within = np.tile(leaf, planes), np.tile(spine, planes), np.tile(within, planes)
    pod, rail_row = leaf // size.leaves_per_pod, leaf % size.leaves_per_pod
    dev = _leaf_dev(plan, pod, plane, rail_row)
    links = _link_frame(
        plan,
        tier="leaf-spine",
        series="S",
        serial=(dev - plan.first_leaf) * size.uplinks + within,
        rail=NONE,
        plane=plane,
        gpu=NONE,
        kind=plan.parts.up,
        a_dev=dev,
        a_cage=np.tile(leaf_end[:, 0], planes),
        a_child=np.tile(leaf_end[:, 1], planes),
        b_dev=plan.first_spine + plane * size.spines + spine,
        b_cage=np.tile(spine_end[:, 0], planes),
        b_child=np.tile(spine_end[:, 1], planes),
    )
    return links.sort("serial")


def _pair_links(plan: Wiring) -> pl.DataFrame:
    """Inter-switch links of a pair: the same port on both switches."""
    size, planes = plan.size, plan.parts.planes
    if plan.spec.style != "pair":
        return frame(LINKS, {name: [] for name in LINKS})
    cage, child = _cages_and_children(plan.leaf_ports.ports[1])
    plane, link = (a.ravel() for a in np.meshgrid(np.arange(planes), np.arange(size.uplinks), indexing="ij"))
    zero = np.zeros(len(link), dtype=np.int64)
    return _link_frame(
        plan,
        tier="inter-switch",
        series="X",
        serial=np.arange(len(link)),
        rail=NONE,
        plane=plane,
        gpu=NONE,
        kind=plan.parts.up,
        a_dev=_leaf_dev(plan, zero, plane, zero),
        a_cage=cage[link],
        a_child=child[link],
        b_dev=_leaf_dev(plan, zero, plane, zero + 1),
        b_cage=cage[link],
        b_child=child[link],
    )


def _link_frame(plan: Wiring, kind: tuple[int, int, int], **columns: object) -> pl.DataFrame:
    gbps, lanes, lane_gbps = kind
    links = np.arange(len(columns["serial"]))  # type: ignore[arg-type]
    return frame(LINKS, {"link": links, "fabric": plan.name, "gbps": gbps, "lanes": lanes, "lane_gbps": lane_gbps, **columns})


def _profiles(plan: Wiring, catalog: Catalog) -> dict[str, Profile]:
    parts = plan.parts
    profiles = {
        "node": Profile("node", parts.node, _node_cages(parts.node, parts)),
        "leaf": Profile("leaf", parts.leaf, plan.leaf_ports.cages),
    }
    if plan.spine_ports:
        profiles["spine"] = Profile("spine", parts.spine, plan.spine_ports.cages)
    if plan.spec.ufm_links:
        server = catalog.nodes[UFM_SERVER]
        profiles["ufm"] = Profile("ufm", server, _node_cages(server, parts))
    return profiles


def _node_cages(node: Node, parts: Parts) -> dict[int, CageUse]:
    """Cages of the compute ports as the fabric runs them (management servers: as single ports)."""
    used = {p.cage for p in node.compute_ports}
    mode = parts.nic if node is parts.node else next(m for m in node.modes if m.protocol == parts.nic.protocol and m.gbps >= parts.down.gbps)
    return {i: CageUse(i, c.label, c, mode, mode.ports * sum(p.cage == c.label for p in node.compute_ports), c.max_module_w) for i, c in enumerate(node.cages) if c.label in used}


def _port_names(profiles: dict[str, Profile], names: dict[str, PortNames], ethernet: bool) -> pl.DataFrame:
    columns: dict[str, list[object]] = {name: [] for name in PORT_NAMES}
    for profile in profiles.values():
        for use in profile.cages.values():
            if isinstance(profile.part, Switch):
                port_names = [(n, n) for n in (switch_port_name(names[profile.part.model], use.cage, c, use.mode) for c in range(use.ports))]
            else:
                assert isinstance(profile.part, Node)
                port_names = node_port_names(profile.part, use.label, use.mode.ports, ethernet)
            for child, (port, os_name) in enumerate(port_names):
                for key, value in zip(PORT_NAMES, (profile.name, use.cage, child, port, use.label, os_name), strict=True):
                    columns[key].append(value)
    return frame(PORT_NAMES, dict(columns))
