"""From a design to the built fabric: choose parts, size, number, table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from ..vendors.models import NicMode, Node, PortNames, Switch
from .cluster import whole_cluster
from .design import Design, FabricSpec
from .devices import UFM_SERVER, device_table
from .existing import with_sizes
from .links import link_table
from .modes import Parts, choose_parts, part_warnings
from .names import port_names
from .sizing import Group, Size
from .styles import size_fabric
from .tiers import core_radix, spine_radix, uplinks_for
from .topology import CageUse, FabricFacts, Profile, Topology
from .wiring import Wiring, hand_out


def build_topology(design: Design, catalog: Catalog, racks: int = 0) -> Topology:
    """Size every fabric and build its devices and links; raises DesignError with all problems found.

    `racks` is the number of racks that PDUs are counted for.
    """
    compute, naming = _compute(design, catalog)
    if not design.fabrics.others and not design.servers and design.pdus is None:
        return compute
    return whole_cluster(compute, catalog, naming, racks)


def _compute(design: Design, catalog: Catalog) -> tuple[Topology, dict[str, PortNames]]:
    """The compute fabric, and the port names of its switch profiles."""
    name, spec = "compute", design.fabrics.compute
    at = f"fabrics.{name}"
    design, problems = with_sizes(design, catalog)
    parts, part_problems = choose_parts(design, name, spec, catalog)
    problems += part_problems
    if not parts:
        raise DesignError(problems)
    size, sizing = size_fabric(spec, _groups(design, spec, parts, at), at)
    names, os_problems = _os_names(spec, parts[0], size, at)
    problems += sizing + os_problems
    if spec.ufm_links and size is not None:
        problems += _ufm_problems(parts[0], catalog, f"{at}.ufm_links")
    if size is None:
        raise DesignError(problems)
    findings = raise_errors(problems)
    wiring = hand_out(design, name, spec, parts, size)
    devices = device_table(wiring)
    every_link = link_table(wiring)
    links, future = _split(devices, every_link)
    findings += _remarks(wiring, future.height, links.height, at)
    if spec.ufm_links:
        findings += part_warnings([catalog.nodes[UFM_SERVER]])
    profiles = _profiles(wiring, catalog)
    naming = {key: names[profile.part.model] for key, profile in profiles.items() if isinstance(profile.part, Switch)}
    return Topology(design, devices, links, port_names(profiles, naming), profiles, {name: _facts(wiring)}, tuple(findings), future), naming


def _ufm_problems(parts: Parts, catalog: Catalog, where: str) -> list[Problem]:
    """A problem when no UFM server can be linked to the leaves."""
    if UFM_SERVER not in catalog.nodes:
        return [Problem("unknown-model", where, f"the catalog has no {UFM_SERVER}", fix="add it, or remove ufm_links")]
    if _server_mode(catalog.nodes[UFM_SERVER], parts) is None:
        return [Problem("ufm", where, f"{UFM_SERVER} has no {parts.down.gbps}G {parts.nic.protocol} port", fix="override it in a catalog folder of your own, or remove ufm_links")]
    return []


def _server_mode(server: Node, parts: Parts) -> NicMode | None:
    """Mode of a UFM server's ports that meets the leaves' node ports."""
    return next((m for m in server.modes if m.protocol == parts.nic.protocol and m.gbps >= parts.down.gbps), None)


def _groups(design: Design, spec: FabricSpec, parts: Sequence[Parts], at: str) -> list[Group]:
    """Every kind of node to size; SU size, rails per leaf and UFM speak of the first kind."""
    plain = spec.model_copy(update={"nodes_per_su": "auto", "rails_per_leaf": "auto", "ufm_links": 0})
    return [Group(plain if i else spec, own, group.final_count, at) for i, (group, own) in enumerate(zip(design.node_groups, parts, strict=True))]


def _split(devices: pl.DataFrame, links: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Links of which both ends are built now, and those that growth adds, numbered through."""
    present = devices["present"]
    both = present.gather(links["a_dev"]) & present.gather(links["b_dev"])
    ordered = pl.concat([links.filter(both), links.filter(~both)]).with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("link"))
    built = int(both.sum())
    return ordered[:built], ordered[built:]


def _remarks(wiring: Wiring, future: int, built: int, at: str) -> list[Problem]:
    """Notes on growth, and on what an even spread cost."""
    found = []
    if future:
        final = sum(group.final_count for group in wiring.design.node_groups)
        found.append(Problem("growth", at, f"growth to {final:,} nodes will add {future:,} links to the {built:,} planned; none moves", level="note"))
    if wiring.size.tiers == 3:
        found += _tier_remarks(wiring, at)
    found += _spread_remarks(wiring, at)
    return found


def _tier_remarks(wiring: Wiring, at: str) -> list[Problem]:
    """Say why there are three tiers, and how they are grouped."""
    size, block = wiring.size, wiring.blocks[0]
    leaves, radix = sum(b.size.leaves for b in wiring.blocks), spine_radix(wiring.spec, wiring.parts)
    whose = "the leaves of a rail" if size.by_rail else "all leaves"
    meets = f"spine j of each of the {wiring.groups.height} groups meets core group j of {size.cores} cores"
    what = f"three tiers: {whose} in {size.sus_per_group} SUs share {size.spines} spines; {meets}"
    why = f"a spine of {radix} ports joins at most {radix} leaves in two tiers, a plane has {leaves:,}"
    found = [Problem("tiers", at, what, why if leaves > radix else "the design asks for three tiers", level="note")]
    rest = block.size.pods % size.sus_per_group
    if rest:
        found.append(Problem("tiers", at, f"the last group holds {rest} of {size.sus_per_group} SUs", "its spines keep the other ports dark", level="note"))
    return found


def _spread_remarks(wiring: Wiring, at: str) -> list[Problem]:
    """Say what an even spread cost against the bare division: more uplinks, more spines, more cores."""
    size, found = wiring.size, []

    def note(what: str, why: str) -> None:
        found.append(Problem("even-spread", at, what, why, level="note"))

    if not size.spines:
        return found
    if sum(b.size.leaves for b in wiring.blocks) == 1:
        what = f"a plane has one leaf, so its {size.spines} spines carry nothing"
        found.append(Problem("idle-spines", at, what, "traffic turns on the leaf", "remove spines_per_plane, rails_per_leaf and nodes_per_su, or use style single", "warning"))
    for block in wiring.blocks:
        if block.uplinks > block.size.least_uplinks:
            what = f"a leaf of {block.parts.node.model} gets {block.uplinks} uplinks where {block.size.least_uplinks} keep the oversubscription"
            note(what, f"{size.spines} spines share {block.uplinks} evenly, {block.uplinks // size.spines} to each")
    radix = spine_radix(wiring.spec, wiring.parts)
    load = max(wiring.groups["down"].to_list()) * size.spines
    bare = -(-load // (radix - size.spine_up))
    if size.spines > bare:
        what = f"{size.spines} spines in a group where the ports of {bare} would do; {radix - size.spine_up - load // size.spines} ports of each stay dark"
        even = uplinks_for(size.blocks, bare) is not None
        note(what, "the design asks for more" if even else f"{bare} spines do not share the uplinks of a leaf evenly")
    if size.cores:
        ups = int(wiring.groups["up"].sum())
        bare = -(-ups // core_radix(wiring.spec, wiring.parts))
        if size.cores > bare:
            note(
                f"{size.cores} cores in a group where the ports of {bare} would do; {core_radix(wiring.spec, wiring.parts) - ups // size.cores} ports of each stay dark",
                f"{bare} cores do not share the uplinks of a spine evenly",
            )
    return found


def _os_names(spec: FabricSpec, parts: Parts, size: Size | None, at: str) -> tuple[dict[str, PortNames], list[Problem]]:
    """Port naming of each switch model; a problem where the wanted OS has none."""
    chosen: dict[str, PortNames] = {}
    problems = []
    used = (parts.leaf, *([parts.spine] if size and size.spines else []), *([parts.core] if size and size.cores else []))
    for switch in dict.fromkeys(used):
        fitting = [n for n in switch.port_names if spec.switch_os in (None, n.os)]
        if fitting:
            chosen[switch.model] = fitting[0]
        else:
            known = ", ".join(n.os for n in switch.port_names)
            problems.append(Problem("switch-os", f"{at}.switch_os", f"port names of {switch.model} under {spec.switch_os!r} are not known", fix=f"use {known}"))
    return chosen, problems


def _facts(wiring: Wiring) -> FabricFacts:
    size, parts, block = wiring.size, wiring.parts, wiring.blocks[0]
    return FabricFacts(
        family=wiring.spec.family,
        leaf_model=parts.leaf.model,
        spine_model=parts.spine.model,
        core_model=parts.core.model,
        style=wiring.spec.style,
        tiers=size.tiers,
        planes=parts.planes,
        rails=parts.rails,
        rails_per_leaf=block.size.rails_per_leaf,
        nodes_per_su=block.size.per_su,
        by_rail=size.by_rail,
        sus_per_group=size.sus_per_group,
        spines_per_plane=wiring.spines,
        uplink_gbps=parts.up.gbps,
        oversubscription=wiring.spec.oversubscription,
        core_oversubscription=wiring.spec.core_oversubscription,
    )


def _profiles(wiring: Wiring, catalog: Catalog) -> dict[str, Profile]:
    profiles: dict[str, Profile] = {}
    for block in wiring.blocks:
        profiles[f"node{block.profile}"] = Profile(f"node{block.profile}", block.parts.node, _node_cages(block.parts.node, block.parts))
        profiles[f"leaf{block.profile}"] = Profile(f"leaf{block.profile}", block.parts.leaf, block.leaf_ports.cages)
    if wiring.spine_ports:
        profiles["spine"] = Profile("spine", wiring.parts.spine, wiring.spine_ports.cages)
    if wiring.core_ports:
        profiles["core"] = Profile("core", wiring.parts.core, wiring.core_ports.cages)
    if wiring.spec.ufm_links:
        server = catalog.nodes[UFM_SERVER]
        profiles["ufm"] = Profile("ufm", server, _node_cages(server, wiring.parts))
    return profiles


def _node_cages(node: Node, parts: Parts) -> dict[int, CageUse]:
    """Cages of the compute ports as the fabric runs them (management servers: as single ports)."""
    used = {p.cage for p in node.compute_ports}
    mode = parts.nic if node is parts.node else _server_mode(node, parts)
    assert mode is not None
    return {i: CageUse(i, c.label, c, mode, mode.ports * sum(p.cage == c.label for p in node.compute_ports), c.max_module_w) for i, c in enumerate(node.cages) if c.label in used}
