"""What if something fails in a cluster of several fabrics: what is left of compute, and who is cut off on the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..problems import Problem, raise_errors
from .damage import Damage, FabricLost
from .failures import Dead, alive_of, damage_of, find, names_of
from .net import Ints, Mask
from .tables import SWITCHES
from .topology import Topology


def what_if_whole(topology: Topology, failures: Sequence[str], rack_of: Sequence[str], cable_of: Sequence[str], fabric: str = "compute") -> Damage:
    """Let devices and cables of any fabric fail, named as `leaf:oob-leaf-01`; raises DesignError when one is not there.

    `rack_of` gives the rack of every device, `cable_of` the cable of every link, both of the whole cluster. Bandwidth is
    worked out for `fabric`, a compute fabric; of the others it is told who is cut off.
    """
    rails, names = topology.compute, names_of(failures)
    found = {name: find(topology, name, rack_of, cable_of) for name in names}
    raise_errors(f for f in found.values() if isinstance(f, Problem))
    dead = [f for f in found.values() if isinstance(f, Dead)]
    own = [d for name in names if isinstance(d := find(rails, name, rack_of[: rails.devices.height], cable_of[: rails.links.height]), Dead)]
    return replace(damage_of(rails, names, own, fabric), others=tuple(_lost(topology, dead)))


def lost_elsewhere(topology: Topology, failures: Sequence[str], rack_of: Sequence[str], cable_of: Sequence[str]) -> tuple[FabricLost, ...]:
    """What failures that are there do to the fabrics other than compute."""
    found = [find(topology, name, rack_of, cable_of) for name in names_of(failures)]
    return tuple(_lost(topology, [f for f in found if isinstance(f, Dead)]))


def management_cages(topology: Topology) -> pl.DataFrame:
    """Cages of switches that they are managed by, which carry none of their traffic: profile, cage."""
    found = [(name, use.cage) for name, p in topology.profiles.items() for use in p.cages.values() if getattr(use.hardware, "use", "") == "management"]
    return pl.DataFrame(found, schema={"profile": pl.String, "cage": pl.Int32}, orient="row")


def _lost(topology: Topology, dead: Sequence[Dead]) -> Iterator[FabricLost]:
    """Every other fabric that loses a link, a switch, or its way to some of its switches."""
    alive, gone = alive_of(topology, dead)
    links, devices = topology.links, topology.devices
    is_switch = devices["role"].is_in(SWITCHES).to_numpy()
    low, high = (links[f"{end}_dev"].to_numpy().astype(np.int64) for end in "ab")
    piece = _pieces(topology, alive, low, high)
    for name in topology.design.fabrics.others:
        own = (links["fabric"] == name).to_numpy()
        down = np.flatnonzero(gone & (devices["fabric"] == name).to_numpy() & is_switch)
        client = own & (links["tier"] == "node-leaf").to_numpy()
        works = client & alive
        if works.any():
            pieces, sizes = np.unique(piece[high[works]], return_counts=True)
            works &= piece[high] == pieces[np.argmax(sizes)]
        before, left = (np.bincount(low[rows], minlength=devices.height) for rows in (client, works))
        standing = (before > 0) & ~gone
        cut = np.flatnonzero(standing & (left == 0))
        thinner = int((standing & (left > 0) & (left < before)).sum())
        if alive[own].all() and not len(down) and not len(cut) and not thinner:
            continue
        yield FabricLost(
            fabric=name,
            links_lost=int((own & ~alive).sum()),
            switches_down=tuple(devices["device"].gather(down).to_list()),
            cut_off=tuple(devices["device"].gather(cut).to_list()),
            thinner=thinner,
        )


def _pieces(topology: Topology, alive: Mask, low: Ints, high: Ints) -> Ints:
    """Number of the connected piece that each switch is in, over working links between switches; uplinks to another fabric join, management ports do not."""
    count = topology.devices.height
    is_switch = topology.devices["role"].is_in(SWITCHES).to_numpy()
    ends = topology.links.select(dev="a_dev", cage="a_cage").join(topology.devices.select("dev", "profile"), on="dev", how="left", maintain_order="left")
    managed = ends.join(management_cages(topology).with_columns(managed=True), on=["profile", "cage"], how="left", maintain_order="left")["managed"].is_not_null().to_numpy()
    joins = alive & is_switch[low] & is_switch[high] & ~managed
    graph = coo_array((np.ones(int(joins.sum())), (low[joins], high[joins])), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
