"""The whole cluster around the compute fabric: servers, PDUs and the other fabrics, sized until all of them agree.

Switches of one fabric are clients of another (management ports, uplinks), so sizes depend on each other: they are worked
out in rounds, each from the numbers of the one before, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..problems import Problem, did_you_mean, raise_errors
from ..vendors.catalog import Catalog
from ..vendors.models import Node, PortNames, Switch
from .access import Access, Client, homes, size_access
from .access_tables import facts, leaf_profiles, link_rows, merged, prefix, switch_rows, uplink_ports
from .clients import NodeKind, Offer, Socket, management_problems, node_offers, switch_offer
from .design import Design
from .modes import part_warnings
from .names import port_names
from .tables import DEVICES, NONE, frame
from .topology import Profile, Topology

ROUNDS = 12
"""Rounds after which sizes that still change are given up."""


@dataclass(frozen=True)
class Around:
    """What surrounds the compute fabric before it is sized: rows of devices that are known, and what each offers."""

    design: Design
    devices: pl.DataFrame
    """Table DEVICES: those of the compute fabric, then servers, then PDUs."""
    offers: Mapping[str, Offer]
    """Profile -> what each of its devices offers."""
    leaf: Mapping[str, Switch]
    spine: Mapping[str, Switch]


def whole_cluster(compute: Topology, catalog: Catalog, names: Mapping[str, PortNames], racks: int = 0) -> Topology:
    """Add servers, PDUs (for so many racks) and the other fabrics to the compute fabric; raises DesignError with all problems found."""
    design = compute.design
    around, profiles, problems = _around(compute, catalog, racks)
    sizes, first, more = _settled(around) if not problems else ({}, {}, [])
    raise_errors([*problems, *more])
    for name, access in sizes.items():
        own = leaf_profiles(access)[1]
        profiles |= {key: merged(p, dict(switch_offer(design, p.part, name, around.leaf).cages)) for key, p in own.items() if isinstance(p.part, Switch)}
    naming, os_problems = _naming(profiles, names, design, sizes)
    raise_errors(os_problems)
    devices = pl.concat([around.devices, *(switch_rows(a, first[name]) for name, a in sizes.items())])
    links = pl.concat([compute.links, *(link_rows(a, first[name]) for name, a in sizes.items())])
    present = devices["present"]
    both = present.gather(links["a_dev"]) & present.gather(links["b_dev"])
    built = links.filter(both).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link"))
    future = pl.concat([compute.future, links.filter(~both)]).with_columns((pl.int_range(pl.len(), dtype=pl.UInt32) + built.height).cast(pl.UInt32).alias("link"))
    unused = [
        Problem(
            "unused-field",
            f"fabrics.{name}.peer_links",
            f"peer_links says nothing of {name}, whose leaves share spines" if a.spines else f"peer_links says nothing of {name}, whose leaves stand alone",
            "it is ignored",
            "remove it",
            "warning",
        )
        for name, a in sizes.items()
        if a.spec.peer_links != "auto" and not a.is_pair
    ]
    parts = [p.part for key, p in profiles.items() if key not in compute.profiles]
    return Topology(
        design,
        devices,
        built,
        port_names(profiles, naming),
        profiles,
        {**compute.fabrics, **{name: facts(a) for name, a in sizes.items()}},
        (*compute.findings, *unused, *part_warnings(parts)),
        future,
        compute,
    )


def node_kinds(design: Design, catalog: Catalog) -> tuple[list[tuple[str, NodeKind]], list[Problem]]:
    """(profile, kind) of servers and PDUs, and those whose model the catalog lacks."""
    found, problems = [], []
    listed = [(f"servers.{i}", f"server-{i}", s.model, s.name, s.ports, s.networks) for i, s in enumerate(design.servers)]
    if design.pdus is not None:
        listed.append(("pdus", "pdu", design.pdus.model, design.pdus.name, {}, ()))
    for where, profile, model, name, ports, networks in listed:
        if model not in catalog.nodes:
            problems.append(Problem("unknown-model", f"{where}.model", f"unknown node model {model!r}", fix=did_you_mean(model, catalog.nodes)))
        elif profile == "pdu" and catalog.nodes[model].role != "pdu":
            pdus = ", ".join(n.model for n in catalog.nodes.values() if n.role == "pdu")
            problems.append(Problem("no-pdu", f"{where}.model", f"{model} is no PDU", "every rack would get some", f"choose {pdus}, or list it under servers"))
        else:
            found.append((profile, NodeKind(where, name, catalog.nodes[model], ports, networks)))
    return found, problems


def _around(compute: Topology, catalog: Catalog, racks: int) -> tuple[Around, dict[str, Profile], list[Problem]]:
    design = compute.design
    problems: list[Problem] = []
    leaf: dict[str, Switch] = {}
    spine: dict[str, Switch] = {}
    for name, spec in design.fabrics.others.items():
        leaf_model = spec.switch or catalog.families[str(spec.family)]
        for table, field, model in ((leaf, "switch", leaf_model), (spine, "spine_switch", spec.spine_switch or leaf_model)):
            if model in catalog.switches:
                table[name] = catalog.switches[model]
            else:
                problems.append(Problem("unknown-model", f"fabrics.{name}.{field}", f"unknown switch model {model!r}", fix=did_you_mean(model, catalog.switches)))
        if name in leaf and spec.family is not None and spec.family not in leaf[name].families:
            problems.append(Problem("family", f"fabrics.{name}.switch", f"{leaf_model} is not a {spec.family} switch", fix="set family to match, or leave it out"))
    problems += [*_uplink_problems(design), *_prefix_problems(design)]
    listed, unknown = node_kinds(design, catalog)
    groups = [("nodes", design.nodes), *((f"more_nodes.{i}", g) for i, g in enumerate(design.more_nodes))]
    kinds = [(f"node-{i}" if i else "node", NodeKind(where, g.name, _node(compute, i), g.ports, g.networks)) for i, (where, g) in enumerate(groups)]
    ufm = compute.profiles.get("ufm")
    if ufm is not None and isinstance(ufm.part, Node):
        kinds.append(("ufm", NodeKind("fabrics.compute.ufm", "ufm", ufm.part, design.fabrics.compute.ufm_ports, ())))
    kinds += listed
    found, wrong = node_offers(design, [kind for _, kind in kinds], leaf)
    problems += unknown + wrong
    offers = {profile: offer for (profile, _), offer in zip(kinds, found, strict=True)}
    switches = {key: p.part for key, p in compute.profiles.items() if isinstance(p.part, Switch)}
    problems += management_problems(design, {**switches, **leaf, **spine}, leaf)
    offers |= {key: switch_offer(design, part, "compute", leaf) for key, part in switches.items()}
    profiles = {key: merged(p, dict(offers[key].cages)) if key in offers else p for key, p in compute.profiles.items()}
    profiles |= {profile: Profile(profile, kind.part, dict(offers[profile].cages)) for profile, kind in listed}
    devices = pl.concat([compute.devices, _server_rows(design, compute.devices.height, racks)])
    return Around(design, devices, offers, leaf, spine), profiles, problems


def _node(compute: Topology, group: int) -> Node:
    part = compute.profiles[f"node-{group}" if group else "node"].part
    assert isinstance(part, Node)
    return part


def _server_rows(design: Design, first: int, racks: int) -> pl.DataFrame:
    """Servers, then PDUs, of no fabric and no SU."""
    columns: dict[str, list[object]] = {"device": [], "model": [], "role": [], "profile": [], "index": []}

    def add(count: int, name: str, width: int, model: str, role: str, profile: str) -> None:
        columns["device"] += [f"{name}-{i + 1:0{width}d}" for i in range(count)]
        columns["model"] += [model] * count
        columns["role"] += [role] * count
        columns["profile"] += [profile] * count
        columns["index"] += range(count)

    for i, server in enumerate(design.servers):
        add(server.count, server.name, server.width, server.model, "server", f"server-{i}")
    if design.pdus is not None:
        count = racks * design.pdus.per_rack
        add(count, design.pdus.name, max(3, len(str(count))), design.pdus.model, "pdu", "pdu")
    number = len(columns["device"])
    blank = {"fabric": "", "pod": NONE, "rail": "", "plane": NONE, "group": NONE, "home": NONE, "present": True}
    return frame(DEVICES, {**blank, **columns, "dev": np.arange(first, first + number)})


def _settled(around: Around) -> tuple[dict[str, Access], dict[str, int], list[Problem]]:
    """Sizes of all fabrics and the number of the first leaf of each, once a round changes nothing."""
    sizes: dict[str, Access] = {}
    for _ in range(ROUNDS):
        first = _first_devices(around, sizes)
        clients = {name: _clients(around, sizes, first, name) for name in around.leaf}
        idle = [name for name, found in clients.items() if not found]
        found: dict[str, Access] = {}
        problems: list[Problem] = []
        for name in (n for n in around.leaf if clients[n]):
            spec = around.design.fabrics.others[name]
            above = around.leaf[spec.uplinks.fabric] if spec.uplinks is not None else None
            access, wrong = size_access(name, spec, around.leaf[name], around.spine[name], above, clients[name])
            problems += wrong
            if access is not None:
                found[name] = access
        if problems:
            return {}, {}, problems
        if _first_devices(around, found) == first and found == sizes:
            return ({}, {}, [_nobody(around.design, name) for name in idle]) if idle else (sizes, first, [])
        sizes = found
    what = f"the sizes of {', '.join(around.leaf)} do not settle"
    return {}, {}, [Problem("access-size", "fabrics", what, "each asks the other for ports", "set clients_per_leaf or spines on one of them")]


def _nobody(design: Design, name: str) -> Problem:
    serves = ", ".join(design.fabrics.others[name].serves)
    what = f"nobody uses {name}: no node, server or switch gives it a port"
    return Problem("fabric-unused", f"fabrics.{name}", what, f"it serves {serves}", "remove it, add servers with such ports, or give it ports by `ports` of the nodes")


def _first_devices(around: Around, sizes: Mapping[str, Access]) -> dict[str, int]:
    """Number of the first leaf of each fabric."""
    first, at = {}, around.devices.height
    for name in around.leaf:
        first[name] = at
        at += sizes[name].leaves + sizes[name].spines if name in sizes else 0
    return first


def _clients(around: Around, sizes: Mapping[str, Access], first: Mapping[str, int], fabric: str) -> list[Client]:
    """Everything that hangs on a fabric: SU by SU, then what stands in none, in device order."""
    found = []
    for dev, profile, home, present in around.devices.select("dev", "profile", "home", "present").iter_rows():
        sockets = around.offers[profile].sockets.get(fabric) if profile in around.offers else None
        if sockets:
            found.append(Client(dev, home, sockets, present))
    for name, access in sizes.items():
        managed = [switch_offer(around.design, part, name, around.leaf).sockets.get(fabric, ()) for part in (access.leaf, access.spine)]
        hangs = access.spec.uplinks is not None and access.spec.uplinks.fabric == fabric
        stand = homes(access)
        for number in range(access.leaves + access.spines):
            is_leaf = number < access.leaves
            up = tuple(Socket(p.cage, p.child, access.up) for p in uplink_ports(access, number)) if hangs and is_leaf else ()
            sockets = (*managed[0 if is_leaf else 1], *up)
            if sockets:
                found.append(Client(first[name] + number, stand[number // access.sides] if is_leaf else NONE, sockets))
    return sorted(found, key=lambda c: (c.home == NONE, c.home, c.dev))


def _uplink_problems(design: Design) -> list[Problem]:
    """Uplinks that lead nowhere or in a circle."""
    others, problems = design.fabrics.others, []
    for name, spec in others.items():
        if spec.uplinks is None:
            continue
        where = f"fabrics.{name}.uplinks.fabric"
        if spec.uplinks.fabric not in others:
            fix = did_you_mean(spec.uplinks.fabric, others)
            what = "the compute fabric carries GPUs alone" if spec.uplinks.fabric == "compute" else f"the design has no fabric {spec.uplinks.fabric!r}"
            problems.append(Problem("unknown-fabric", where, what, "leaves hang on another fabric than compute", fix))
            continue
        seen, at = [name], spec.uplinks.fabric
        while at not in seen and (following := others[at].uplinks) is not None and following.fabric in others:
            seen.append(at)
            at = following.fabric
        if at in seen:
            problems.append(
                Problem("uplink-circle", where, f"uplinks lead in a circle: {' to '.join([*seen, at])}", "the last fabric needs spines of its own", "remove one of the uplinks")
            )
    return problems


def _prefix_problems(design: Design) -> list[Problem]:
    taken: dict[str, str] = {}
    problems = []
    for name, spec in design.fabrics.others.items():
        own = prefix(name, spec.cable_prefix)
        if own in taken:
            what = f"cables of {taken[own]} and {name} would both be called {own}-..."
            problems.append(Problem("cable-prefix", f"fabrics.{name}.cable_prefix", what, "ids tell cables apart", f"set cable_prefix of {name} to other letters"))
        taken.setdefault(own, name)
    return problems


def _naming(profiles: Mapping[str, Profile], names: Mapping[str, PortNames], design: Design, sizes: Mapping[str, Access]) -> tuple[dict[str, PortNames], list[Problem]]:
    """Port names of every switch profile."""
    naming, problems = dict(names), {}
    for name, access in sizes.items():
        asked = design.fabrics.others[name].switch_os
        for key in (*leaf_profiles(access)[1],):
            part = profiles[key].part
            assert isinstance(part, Switch)
            fitting = [n for n in part.port_names if asked in (None, n.os)]
            if fitting:
                naming[key] = fitting[0]
            else:
                known = ", ".join(n.os for n in part.port_names)
                problems[part.model] = Problem("switch-os", f"fabrics.{name}.switch_os", f"port names of {part.model} under {asked!r} are not known", fix=f"use {known}")
    return naming, list(problems.values())
