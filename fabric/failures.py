"""What if something fails: the bandwidth left, who is cut off, which rails suffer, and the worst single failure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import DesignError, Problem, did_you_mean, raise_errors
from .bisection import by_flow, halves
from .check_report import end_links
from .damage import Damage, RailLeft
from .net import Ints, Mask, Net, net_of
from .sameness import classes, number, part_sizes
from .splits import SCARCE, splits
from .topology import Topology
from .traffic import worst_traffic

SWITCHES = ("leaf", "spine", "core")
KINDS = (*SWITCHES, "cable", "rack")


@dataclass(frozen=True)
class _Before:
    """The whole fabric: what each failure is measured against."""

    net: Net
    masks: tuple[tuple[str, Mask], ...]
    flows: tuple[int, ...]
    load: float


def what_if(topology: Topology, failures: Sequence[str], rack_of: Sequence[str] = (), cable_of: Sequence[str] = (), fabric: str = "compute") -> Damage:
    """Let devices and cables fail, named as `spine:spine-03`; raises DesignError when one is not there.

    `rack_of` gives the rack of every device, `cable_of` the cable of every link, both by number.
    """
    names = names_of(failures)
    found = [find(topology, name, rack_of, cable_of) for name in names]
    raise_errors(f for f in found if isinstance(f, Problem))
    return damage_of(topology, names, [f for f in found if isinstance(f, Dead)], fabric)


def names_of(failures: Sequence[str]) -> list[str]:
    """What is named, one by one; raises DesignError when that is nothing."""
    names = [name.strip() for text in failures for name in text.split(",") if name.strip()]
    if not names:
        raise DesignError([Problem("fail", "--fail", "names nothing", fix=f"write KIND:NAME, KIND one of {', '.join(KINDS)}")])
    return names


def damage_of(topology: Topology, names: Sequence[str], dead: Sequence[Dead], fabric: str) -> Damage:
    """What is left of a fabric once some things failed, possibly none of its own."""
    return _with_traffic(topology, _damage(topology, _before(topology, fabric), names, dead), dead)


def worst_single(topology: Topology, kind: str, rack_of: Sequence[str] = (), cable_of: Sequence[str] = (), fabric: str = "compute") -> tuple[Damage, int, int]:
    """(damage of the worst single failure of a kind, failures tried, things of the kind): one of each class of identical things is tried.

    Identical things may fall on different sides of a split; what another of the class leaves differs by that at most.
    """
    before = _before(topology, fabric)
    table = _things(topology, before.net, kind, rack_of, cable_of)
    if table.is_empty():
        others = [k for k in KINDS if k not in SWITCHES or (topology.devices["role"] == k).any()]
        raise DesignError([Problem("fail", "--fail-any", f"the plan has no {kind}", fix=f"use one of {', '.join(others)}")])
    table = table.with_columns(code=pl.col("code") * 8 + pl.Series(_scarce_side(topology, before, table["order"].to_numpy(), kind)))
    key = table.group_by("name").agg(pl.col("code").sort(), *(pl.col(c).n_unique() for c in ("pod", "group", "plane")), first=pl.col("order").min()).sort("first")
    tried = key.unique(["code", "pod", "group", "plane"], keep="first", maintain_order=True)["name"].to_list()
    dead = [_dead(topology, kind, name, rack_of, cable_of) for name in tried]
    found = [(_damage(topology, before, [f"{kind}:{name}"], [d]), d) for name, d in zip(tried, dead, strict=True)]
    worst, gone = min(found, key=lambda f: _gravity(f[0]))
    return _with_traffic(topology, worst, [gone]), len(tried), key.height


def _scarce_side(topology: Topology, before: _Before, order: Ints, kind: str) -> Ints:
    """How things lie to the half of the most oversubscribed leaves, which cuts through classes of identical ones.

    1 for a leaf inside, 2 more where the cut goes through its SU, 4 more where it goes through its group.
    """
    net, side = before.net, np.zeros(topology.devices.height, dtype=np.int64)
    mask = dict(before.masks).get(SCARCE)
    if mask is not None:
        inside = np.zeros(net.leaves, dtype=np.int64)
        inside[net.leaf[mask]] = 1
        code = inside.copy()
        for weight, of in ((2, net.pod[: net.leaves]), (4, net.group[: net.leaves])):
            row = np.unique(of, return_inverse=True)[1].ravel()
            share = np.bincount(row, weights=inside) / np.bincount(row)
            code += weight * ((share[row] > 0) & (share[row] < 1))
        side[net.dev[: net.leaves]] = code
    if kind != "cable":
        return side[order]
    ends = topology.links.select("a_dev", "b_dev").to_numpy()[order]
    return np.asarray(side[ends].max(axis=1))


def _gravity(damage: Damage) -> tuple[float, ...]:
    """The smaller the worse: bandwidth left, then nodes lost, nodes that lost a rail, uplinks and core links left."""
    rails = damage.rails
    lost = len(damage.cut_off) + len(damage.nodes_down)
    uplinks, cores = (min(parts, default=1.0) for parts in ([r.uplinks_left for r in rails], [r.core_links_left for r in rails]))
    return damage.left_percent, -lost, -sum(r.nodes_without for r in rails), uplinks, cores


def _before(topology: Topology, fabric: str) -> _Before:
    net = net_of(topology, fabric)
    masks = tuple((name, mask) for name, mask in splits(net, topology.design.seed) if halves(net, mask)[2])
    flows = tuple(by_flow(net, *halves(net, mask)[:2]) for _, mask in masks)
    return _Before(net, masks, flows, worst_traffic(topology, fabric, net).worst_load)


@dataclass(frozen=True)
class Dead:
    """Numbers of devices and links that fail together."""

    devices: Ints
    links: Ints


def find(topology: Topology, name: str, rack_of: Sequence[str], cable_of: Sequence[str]) -> Dead | Problem:
    """Numbers of what fails with a named thing, or why there is no such thing."""
    kind, _, own = name.partition(":")
    if kind not in KINDS or not own:
        return Problem("fail", "--fail", f"{name!r} is no KIND:NAME", fix=f"KIND is one of {', '.join(KINDS)}; for example leaf:{_first(topology, 'leaf')}")
    if kind in SWITCHES:
        here = topology.devices.filter(pl.col("present") & (pl.col("device") == own))
        if here.height and here["role"][0] != kind:
            return Problem(
                "fail", "--fail", f"{own} is a {here['role'][0]}, not a {kind}", fix=f"write {here['role'][0]}:{own}" if here["role"][0] in SWITCHES else "name a switch"
            )
    dead = _dead(topology, kind, own, rack_of, cable_of)
    if len(dead.devices) or len(dead.links):
        return dead
    known = topology.devices.filter(pl.col("present") & (pl.col("role") == kind))["device"].to_list() if kind in SWITCHES else {"rack": rack_of, "cable": cable_of}[kind]
    return Problem("fail", "--fail", f"the plan has no {kind} {own!r}", fix=did_you_mean(own, known))


def _first(topology: Topology, role: str) -> str:
    return str(topology.devices.filter(pl.col("role") == role)["device"][0])


def _dead(topology: Topology, kind: str, name: str, rack_of: Sequence[str], cable_of: Sequence[str]) -> Dead:
    none = np.zeros(0, dtype=np.int64)
    if kind == "cable":
        return Dead(none, np.flatnonzero(np.asarray(cable_of, dtype=object) == name))
    if kind == "rack":
        there = np.asarray(rack_of, dtype=object) == name
        return Dead(np.flatnonzero(there & topology.devices["present"].to_numpy()) if len(rack_of) else none, none)
    here = (topology.devices["role"] == kind) & (topology.devices["device"] == name) & topology.devices["present"]
    return Dead(np.flatnonzero(here.to_numpy()), none)


def _damage(topology: Topology, before: _Before, names: Sequence[str], dead: Sequence[Dead]) -> Damage:
    """Everything but the traffic left, which takes longest."""
    alive, gone = alive_of(topology, dead)
    net = net_of(topology, before.net.fabric, alive)
    left = [(Fraction(by_flow(net, *halves(net, mask)[:2]), flow), name) for (name, mask), flow in zip(before.masks, before.flows, strict=True) if flow]
    share, split = min(left, default=(Fraction(int(bool(net.end_gbps.sum()))), "none"), key=lambda s: s[0])
    down = topology.devices.filter(pl.Series(gone) & (pl.col("role") == "node"))
    joined = _main_piece(net)
    nodes = topology.devices.filter((pl.col("role") == "node") & pl.col("present"))["dev"].to_numpy()
    reached = net.node[(net.end_gbps > 0) & joined[net.leaf]]
    cut = np.setdiff1d(nodes, np.concatenate([reached, down["dev"].to_numpy()]))
    return Damage(
        fabric=net.fabric,
        failures=tuple(names),
        links_lost=int((~alive).sum()),
        left_percent=float(share * 100),
        worst_split=split,
        nodes_down=tuple(down["device"].to_list()),
        cut_off=tuple(topology.devices["device"].gather(cut).to_list()),
        rails=tuple(_rails(topology, before.net, net, alive, gone)),
        worst_load=0.0,
        worst_link="",
        worst_load_before=before.load,
    )


def _with_traffic(topology: Topology, damage: Damage, dead: Sequence[Dead]) -> Damage:
    """The damage with the worst traffic of what is left."""
    found = worst_traffic(topology, damage.fabric, net_of(topology, damage.fabric, alive_of(topology, dead)[0]))
    return replace(damage, worst_load=found.worst_load, worst_link=found.worst_link)


def alive_of(topology: Topology, dead: Sequence[Dead]) -> tuple[Mask, Mask]:
    """(links that work, devices that failed) as masks."""
    gone = np.zeros(topology.devices.height, dtype=bool)
    alive = np.ones(topology.links.height, dtype=bool)
    for thing in dead:
        gone[thing.devices] = True
        alive[thing.links] = False
    for side in ("a_dev", "b_dev"):
        alive &= ~gone[topology.links[side].to_numpy()]
    return alive, gone


def _pieces(net: Net) -> Ints:
    """Number of the connected piece that each leaf is in."""
    joined = coo_array((np.ones(len(net.low)), (net.low, net.high)), shape=(net.size, net.size))
    return np.asarray(connected_components(joined, directed=False)[1][: net.leaves], dtype=np.int64)


def _main_piece(net: Net) -> Mask:
    """Leaves of the piece with most endpoint bandwidth of each domain."""
    piece = _pieces(net)
    own = number(net.domain, piece)
    weight = np.bincount(own, weights=net.of_leaves())
    best = np.zeros(int(net.domain.max(initial=-1)) + 1)
    np.maximum.at(best, net.domain, weight[own])
    first = np.full(len(best), net.leaves)
    top = weight[own] == best[net.domain]
    np.minimum.at(first, net.domain[top], np.flatnonzero(top))
    return np.asarray(own == own[first[net.domain]])


def _rails(topology: Topology, before: Net, after: Net, alive: Mask, gone: Mask) -> Iterator[RailLeft]:
    """Rails that lost nodes or uplinks."""
    row = np.full(topology.devices.height, -1)
    row[before.dev[: before.leaves]] = np.arange(before.leaves)
    ends = end_links(topology, before.fabric)
    ends = ends.select("a_dev", "rail", "plane", leaf=pl.Series(row[ends["b_dev"].to_numpy()]), works=pl.Series(alive[ends["link"].to_numpy()]))
    ends = ends.filter(~pl.Series(gone[ends["a_dev"].to_numpy()]))
    ends = ends.with_columns(piece=pl.Series(_pieces(after)[ends["leaf"].to_numpy()]))
    sizes = ends.filter("works").group_by("rail", "plane", "piece").agg(pl.col("a_dev").n_unique().alias("nodes")).sort("nodes", "piece", descending=[True, False])
    main = sizes.unique(["rail", "plane"], keep="first", maintain_order=True).select("rail", "plane", pl.col("piece").alias("main"))
    there = (pl.col("works") & (pl.col("piece") == pl.col("main"))).fill_null(False)
    reached = ends.join(main, on=["rail", "plane"], how="left").group_by("rail", "plane", "a_dev").agg(there.any().alias("there"))
    without = {(rail, plane): count for rail, plane, count in reached.filter(~pl.col("there")).group_by("rail", "plane").len().iter_rows()}
    real = int((before.dev >= 0).sum())  # what links of a pair are bent over comes and goes with them
    left = np.ones(before.size)
    left[:real] = _part(after.up()[:real], before.up()[:real])
    failed = np.isin(before.dev, np.flatnonzero(gone))
    left[failed & (before.level == 2)] = 1.0  # a spine that failed shows in the uplinks of its leaves
    lowest = np.ones(before.size)
    here = before.level[before.low] == 1
    np.minimum.at(lowest, before.low[here], left[before.high[here]])
    uplinks = np.where(failed[: before.leaves], 0.0, left[: before.leaves])
    for rail, plane, leaves in ends.group_by("rail", "plane").agg(pl.col("leaf").unique()).sort("rail", "plane").iter_rows():
        found = RailLeft(rail, plane, without.get((rail, plane), 0), float(uplinks[leaves].min()), float(lowest[leaves].min()))
        if found.nodes_without or found.uplinks_left < 1 or found.core_links_left < 1:
            yield found


def _part(after: Ints, before: Ints) -> np.ndarray:
    return np.divide(after, before, out=np.ones(len(before)), where=before > 0)


def _things(topology: Topology, net: Net, kind: str, rack_of: Sequence[str], cable_of: Sequence[str]) -> pl.DataFrame:
    """Parts of every thing that can fail: its name, and what makes things alike: class, SU, group, plane."""
    rate = np.concatenate([net.of_leaves(), np.zeros(net.size - net.leaves, dtype=np.int64)])
    colour = np.full(topology.devices.height, -1, dtype=np.int64)
    real = net.dev >= 0
    colour[net.dev[real]] = classes(net, (rate, part_sizes(net)))[real]
    nodes = np.unique(net.node)
    place = np.searchsorted(nodes, net.node)
    mixed = np.zeros(len(nodes), dtype=np.int64)
    np.add.at(mixed, place, (colour[net.dev[net.leaf]] + 7919) * (net.end_gbps + 1))
    colour[nodes] = colour.max(initial=0) + 1 + number(mixed)
    devices = topology.devices.select("dev", "device", "role", "present", "pod", "group", "plane", code=pl.Series(colour), order="dev")
    if kind in SWITCHES:
        return devices.filter(pl.col("present") & (pl.col("role") == kind)).rename({"device": "name"})
    if kind == "rack":
        named = devices.with_columns(name=pl.Series(rack_of, dtype=pl.String)) if len(rack_of) else devices.head(0).with_columns(name=pl.lit(""))
        return named.filter("present")
    links = topology.links.select("a_dev", "b_dev", order="link")
    low, high = (links[c].to_numpy().astype(np.int64) for c in ("a_dev", "b_dev"))
    names = pl.Series(cable_of, dtype=pl.String) if len(cable_of) else pl.Series([""] * links.height)
    found = links.select(
        pl.col("order"), name=names, code=pl.Series(colour[low] * (int(colour.max(initial=0)) + 1) + colour[high]), pod="a_dev", group="b_dev", plane=topology.links["plane"]
    )
    return found if len(cable_of) else found.head(0)
