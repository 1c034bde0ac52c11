"""Where everything stands: the reference arrangement, as published designs build it.

    one pod (SU) of 32 nodes, 4 in a rack: its leaf rack in the middle of its node racks

    A01  A02  A03  A04  A05  A06  A07  A08  A09        U48  leaf su0 r0
    node node node node LEAF node node node node           leaf su0 r1 ...
                                                           spines in the middle pod's block

Future devices are placed with the present ones, as if all were there: nothing moves when the cluster grows.
A solver that knows a better arrangement hands positions and units to `assemble`, as `place` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..fabric.tables import NONE, frame
from ..fabric.topology import Topology
from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from ..vendors.models import RackType
from .hall import Hall, Ints, RackLimits, hall_problems, make_hall, measured_problems, rack_limits, stand_blocks
from .sizes import Size, assumptions, device_sizes, kilo, node_size, nodes_in_a_rack, raise_limits, switches_cap, too_big
from .tables import PLACES, RACKS

ROLE_ORDER = ("node", "leaf", "spine", "core", "ufm")
"""Switches of a network rack hang in this order, from the top down."""


@dataclass(frozen=True)
class Placement:
    """Hall, racks in use (table `RACKS`), the place of every device (table `PLACES`, in device order), and findings."""

    hall: Hall
    racks: pl.DataFrame
    places: pl.DataFrame
    findings: tuple[Problem, ...]


@dataclass(frozen=True)
class Block:
    """Racks that stand side by side: for each device `dev` its rack in the block (`slot`, from 0) and its lowest unit."""

    pod: int
    racks: int
    dev: Ints
    slot: Ints
    ru: Ints


def place(topology: Topology, catalog: Catalog) -> Placement:
    """Stand every device, present and future, in the reference arrangement; raises DesignError with all problems found."""
    spec = topology.design.hall
    rack = _rack_type(spec.rack, catalog)
    limits = rack_limits(spec, rack)
    found = [*assumptions(topology), *hall_problems(spec, rack), *too_big(topology, limits, catalog)]
    per_rack, more = nodes_in_a_rack(topology, limits)
    cap, still_more = switches_cap(topology, limits)
    found += more + still_more
    fits = not any(p.level == "error" for p in found)
    blocks = arrange(topology, limits, per_rack, cap) if fits else []
    hall = make_hall(spec, rack, [b.racks for b in blocks])
    found += too_small(topology, hall, blocks, per_rack, cap)
    if spec.rows or fits:
        found += measured_problems(spec, hall)
    raise_errors(found)
    stands = stand_blocks(hall.room(), [b.racks for b in blocks])
    found += torn_blocks(hall, blocks, stands)
    position = np.zeros(topology.devices.height, np.int64)
    ru = np.zeros_like(position)
    for block, stand in zip(blocks, stands, strict=True):
        position[block.dev] = hall.free[stand[block.slot]]
        ru[block.dev] = block.ru
    return assemble(topology, hall, position, ru, found)


def _rack_type(model: str, catalog: Catalog) -> RackType:
    try:
        return catalog.rack(model)
    except DesignError as error:
        raise DesignError([Problem("rack-type", "hall.rack", p.what, p.why, p.fix) for p in error.problems]) from None


def assemble(topology: Topology, hall: Hall, position: Ints, ru: Ints, findings: Sequence[Problem] = ()) -> Placement:
    """Build the tables from the hall position (row number in `hall.positions`) and the lowest unit of each device.

    Nothing is judged here: `rules.check_placement` does that.
    """
    taken, rack_no = np.unique(position, return_inverse=True)
    spots = hall.positions[taken]
    sizes = device_sizes(topology)
    places = frame(
        PLACES,
        {
            "dev": topology.devices["dev"],
            "rack": spots["rack"].gather(rack_no),
            "rack_no": rack_no,
            "ru": ru,
            "height_ru": sizes["height_ru"],
            "power_w": sizes["power_w"],
            "weight_kg": sizes["weight_kg"],
        },
    )
    return Placement(hall, racks_of(topology, hall, spots, places), places, tuple(findings))


def racks_of(topology: Topology, hall: Hall, spots: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Add up the racks: used units, power and weight of present devices; `spots` are their rows of the hall's positions."""
    here = pl.col("present").cast(pl.Int32)
    totals = (
        pl.DataFrame([*places.select("rack_no", "height_ru", "power_w", "weight_kg"), topology.devices["role"], topology.devices["present"]])
        .group_by("rack_no")
        .agg(
            role=pl.when((pl.col("role") == "node").any()).then(pl.lit("node")).otherwise(pl.lit("network")),
            used_ru=(pl.col("height_ru") * here).sum(),
            power_w=(pl.col("power_w") * here).sum().round(6),
            weight_kg=(pl.col("weight_kg") * here).sum().round(6),
            reserved=~pl.col("present").any(),
        )
        .sort("rack_no")
    )
    return pl.concat([spots.select("rack", "row", "position", "x_m", "y_m"), totals.drop("rack_no")], how="horizontal").select(
        (pl.lit(hall.limits.height_ru).alias(name) if name == "height_ru" else pl.col(name)).cast(dtype) for name, dtype in RACKS.items()
    )


def arrange(topology: Topology, limits: RackLimits, per_rack: int, cap: int) -> list[Block]:
    """Fill the racks of every pod, without saying where in the hall they stand.

    Node racks stand left and right of the pod's network racks; spines and management servers follow the leaves of the
    middle pod. A cluster that fits one rack gets one.
    """
    sizes = device_sizes(topology)
    first_rail = pl.col("rail").str.extract(r"^(\d+)").cast(pl.Int32).fill_null(NONE)
    level = pl.col("role").replace_strict({role: i for i, role in enumerate(ROLE_ORDER)}, default=len(ROLE_ORDER), return_dtype=pl.Int32)
    devices = topology.devices.with_columns(sizes["height_ru"], sizes["power_w"], sizes["weight_kg"], first_rail=first_rail, level=level)
    nodes = devices.filter(role="node").sort("pod", "index", "dev")
    network = devices.filter(pl.col("role") != "node").sort("level", "plane", "first_rail", "index", "dev")
    pitch_ru = node_size(topology).height_ru
    if len(nodes) <= per_rack and len(network) <= cap and _fits_one_rack(devices, limits, pitch_ru, len(nodes)):
        return [_block(NONE, nodes, network, limits, per_rack, pitch_ru, cap)._one_rack()]
    raise NotImplementedError
