"""Checks of ports and cages: each port exists, is used once, in a legal breakout, and agrees with its far end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from ..problems import Problem
from ..vendors.models import Breakout, CageGroup, Node, NodeCage, Switch
from .check_report import device_name, ends, findings, link_name, port_name, profile_codes
from .topology import CageUse, Profile, Topology

PORT = ["dev", "cage", "child"]


def no_port_is_used_twice(topology: Topology) -> list[Problem]:
    """A port holds one link."""
    bad = ends(topology).group_by(PORT).len().filter(pl.col("len") > 1).sort(PORT)
    return findings(
        bad,
        "port-twice",
        lambda r: port_name(topology, r["dev"], r["cage"], r["child"]),
        lambda r: f"{r['len']} links end on this port, it holds 1",
        "two cables cannot go into one port",
        "move all but one of them to a free port",
    )


def cages_have_lanes_for_their_ports(topology: Topology) -> list[Problem]:
    """The ports of a cage that carry links need no more lanes than the cage has."""
    hardware = _cage_table(topology).select("profile", "cage", "cage_lanes")
    used = ends(topology).group_by("profile", *PORT).agg(pl.col("lanes").max())
    bad = used.group_by("profile", "dev", "cage").agg(pl.col("lanes").sum()).join(hardware, on=["profile", "cage"]).filter(pl.col("lanes") > pl.col("cage_lanes"))
    return findings(
        bad.sort("dev", "cage"),
        "cage-lanes",
        lambda r: f"{device_name(topology, r['dev'])} cage {r['cage']}",
        lambda r: f"its links need {r['lanes']} lanes, the cage has {r['cage_lanes']}",
        "the ports of a cage share its lanes",
        "put fewer or narrower links into the cage",
    )


def every_port_exists(topology: Topology) -> list[Problem]:
    """A link ends on a port that its device's profile configures, the model has, and the port table names once."""
    named = topology.port_names.group_by("profile", "cage", "child").len().with_columns(pl.col("profile").replace_strict(_codes(topology), default=-1, return_dtype=pl.Int32))
    real = _cage_table(topology).filter(pl.col("exists")).select("profile", "cage", "ports")
    used = ends(topology).select("profile", "cage", "child").unique()
    known = used.join(real, on=["profile", "cage"]).filter((pl.col("child") >= 0) & (pl.col("child") < pl.col("ports")))
    known = known.join(named.filter(pl.col("len") == 1), on=["profile", "cage", "child"])
    missing = used.join(known, on=["profile", "cage", "child"], how="anti")
    bad = ends(topology).join(missing, on=["profile", "cage", "child"], how="semi").sort(PORT) if missing.height else missing
    problems = findings(
        bad,
        "no-such-port",
        lambda r: port_name(topology, r["dev"], r["cage"], r["child"]),
        lambda r: f"{topology.devices['model'][r['dev']]} has no port {r['child']} in cage {r['cage']}, as it is run",
        "a cable needs a port at both ends",
        "use a port of the model's breakout table",
    )
    twins = topology.port_names.group_by("profile", "port").len().filter(pl.col("len") > 1).sort("profile", "port")
    return problems + findings(
        twins,
        "port-name-twice",
        lambda r: f"profile {r['profile']}",
        lambda r: f"{r['len']} ports are called {r['port']!r}, a name is for 1",
        "crews find a port by its name",
        "mend the port names of the model",
    )


def breakouts_are_legal(topology: Topology) -> list[Problem]:
    """Each cage is run in a mode of its hardware, beside no cage that blocks it, within the ASIC's cap."""
    problems: list[Problem] = []
    asked = {spec.nic_mode for spec in topology.design.rails.values()}
    for profile in topology.profiles.values():
        for cage, use in sorted(profile.cages.items()):
            what = _illegal(profile, cage, use, asked)
            if what:
                problems.append(_breakout(profile, f"cage {use.label} ", what, "the switch or NIC would refuse the mode"))
        problems += _blocked_cages(profile)
        problems += _over_the_cap(profile)
    return problems


def links_agree_with_their_cages(topology: Topology) -> list[Problem]:
    """Both ends of a link run at its speed, lanes and lane rate, and speak one protocol."""
    kind = ["gbps", "lanes", "lane_gbps"]
    modes = _cage_table(topology).select("profile", "cage", *(pl.col(f"mode_{c}") for c in kind))
    seen = ends(topology).select("profile", "cage", *kind).unique()
    unlike = seen.join(modes, on=["profile", "cage"]).filter(pl.any_horizontal(pl.col(c) != pl.col(f"mode_{c}") for c in kind))
    bad = ends(topology).join(unlike, on=["profile", "cage", *kind]).sort("link", "dev") if unlike.height else unlike
    problems = findings(
        bad,
        "ends-disagree",
        lambda r: port_name(topology, r["dev"], r["cage"], r["child"]),
        lambda r: f"the link is {r['gbps']}G on {r['lanes']} x {r['lane_gbps']}G, its cage is run at {r['mode_gbps']}G on {r['mode_lanes']} x {r['mode_lane_gbps']}G",
        "a link comes up only when both ends share speed, lanes and lane rate",
        "run both cages in the same mode",
    )
    return problems + _mixed_protocols(topology)


def _codes(topology: Topology) -> dict[str, int]:
    return {name: code for code, name in enumerate(topology.profiles)}


def _cage_table(topology: Topology) -> pl.DataFrame:
    """Every configured cage of every profile: how it is run, and whether the part has it and how many lanes it gives."""
    rows = [
        (code, cage, _exists(profile, cage, use), use.hardware.lanes, use.ports, use.mode.gbps, use.mode.lanes, use.mode.lane_gbps)
        for code, profile in enumerate(topology.profiles.values())
        for cage, use in profile.cages.items()
    ]
    columns = {"profile": pl.Int32, "cage": pl.Int32, "exists": pl.Boolean, "cage_lanes": pl.Int32, "ports": pl.Int32}
    columns |= {f"mode_{c}": pl.Int32 for c in ("gbps", "lanes", "lane_gbps")}
    return pl.DataFrame(rows, schema=columns, orient="row")


def _exists(profile: Profile, cage: int, use: CageUse) -> bool:
    """True when the part has this cage for data, and the profile names its true hardware."""
    part = profile.part
    if isinstance(part, Switch):
        return any(group == use.hardware and group.first <= cage < group.first + group.count for group in usable_cages(part))
    return 0 <= cage < len(part.cages) and part.cages[cage] == use.hardware


def _illegal(profile: Profile, cage: int, use: CageUse, asked: set[str | None]) -> str:
    """Why a cage cannot be run so; empty when it can."""
    part, mode = profile.part, use.mode
    modes, connectors = _modes_of(part, use)
    if not _exists(profile, cage, use):
        return f"is not a data cage of {part.model}, which has {_cages_of(part)}"
    if mode not in modes:
        return f"is run as {mode.name} on {mode.lane_gbps}G lanes; its modes are {', '.join(f'{m.name} on {m.lane_gbps}G lanes' for m in modes)}"
    if use.ports != mode.ports * connectors:
        return f"is given {use.ports} ports, {mode.name} on {connectors} connectors makes {mode.ports * connectors}"
    if use.ports * mode.lanes > use.hardware.lanes:
        return f"needs {use.ports * mode.lanes} lanes for {use.ports} ports, it has {use.hardware.lanes}"
    if mode.cages != "all" and (mode.cages == "odd") != (cage % 2 == 1):
        return f"is run as {mode.name}, which only {mode.cages}-numbered cages can do"
    if mode.disputed and mode.name not in asked:
        return f"is run as {mode.name} though the design does not ask for it by nic_mode: {mode.disputed}"
    return ""


def usable_cages(part: Switch) -> list[CageGroup]:
    """Cages that links may end on: those for data, and the management sockets."""
    management = part.management_cages
    return [g for g in part.cages if g.use == "data"] + ([management] if management else [])


def _modes_of(part: Switch | Node, use: CageUse) -> tuple[Sequence[Breakout], int]:
    """(modes that a cage may be run in, connectors that are run so): a node's compute ports have the node's modes, other ports their cage's."""
    if isinstance(part, Switch):
        return [m for g in usable_cages(part) if g == use.hardware for m in g.modes], 1
    compute = sum(p.cage == use.label for p in part.compute_ports)
    if compute or not isinstance(use.hardware, NodeCage):
        return part.modes, compute
    return use.hardware.modes, sum(p.cage == use.label for p in part.ports)


def _cages_of(part: Switch | Node) -> str:
    if isinstance(part, Node):
        return f"{len(part.cages)} cages"
    return ", ".join(f"{g.first} to {g.first + g.count - 1}" for g in part.cages if g.use == "data")


def _breakout(profile: Profile, where: str, what: str, why: str) -> Problem:
    return Problem("breakout", f"{profile.name} {profile.part.model}", where + what, why, "choose a mode and cages from the model's breakout table")


def _blocked_cages(profile: Profile) -> list[Problem]:
    cages = [use for _, use in sorted(profile.cages.items())]
    return [
        _breakout(
            profile,
            f"cage {after.label} ",
            f"is in use next to cage {before.label}, whose {before.mode.name} mode blocks it",
            "an 8-way split takes the lanes of the cage beside it",
        )
        for before, after in pairwise(cages)
        if before.mode.blocks_next and after.cage == before.cage + 1
    ]


def _over_the_cap(profile: Profile) -> list[Problem]:
    most = profile.part.ports_max if isinstance(profile.part, Switch) else None
    ports = sum(use.mode.ports for use in profile.cages.values() if not (isinstance(use.hardware, CageGroup) and use.hardware.use == "management"))
    if most is None or ports <= most:
        return []
    return [_breakout(profile, "", f"its cages make {ports:,} logical ports, the ASIC has {most:,}", "every port of a configured cage counts, used or not")]


def _mixed_protocols(topology: Topology) -> list[Problem]:
    speaks = [(code, cage, profile.protocol_of(cage)) for code, profile in enumerate(topology.profiles.values()) for cage in profile.cages]
    table = pl.DataFrame(speaks, schema={"profile": pl.Int32, "cage": pl.Int32, "speaks": pl.String}, orient="row")
    codes = profile_codes(topology)
    keys = []
    links = topology.links
    for side in "ab":
        links = links.with_columns(pl.Series(f"{side}_profile", codes[topology.links[f"{side}_dev"].to_numpy()]))
        keys += [f"{side}_profile", f"{side}_cage"]
    seen = links.select(keys).unique()
    for side in "ab":
        seen = seen.join(table.rename({"profile": f"{side}_profile", "cage": f"{side}_cage", "speaks": f"{side}_speaks"}), on=[f"{side}_profile", f"{side}_cage"])
    mixed = seen.filter(pl.col("a_speaks") != pl.col("b_speaks"))
    bad = links.join(mixed, on=keys).sort("link") if mixed.height else links.head(0)
    return findings(
        bad,
        "protocol",
        lambda r: link_name(topology, r),
        lambda r: f"one end speaks {r['a_speaks']}, the other {r['b_speaks']}",
        "InfiniBand and Ethernet ports do not talk to each other",
        "choose a NIC mode or switch of the same protocol",
    )
