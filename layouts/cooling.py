"""Cooling and floor load: rules of a placement, and the share of a row's cooling that each rack may use in a search.

Air-cooled parts heat the air with all their power, liquid-cooled ones with the share that the catalog gives (else the
hall's assumption). Equipment that stands already counts whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from ..problems import Problem
from .hall import Floats, Hall, Ints, Mask
from .kept import STANDING
from .placement import Placement
from .sizes import NodeRack, device_sizes, kilo


def air_of_racks(topology: Topology, placement: Placement) -> pl.DataFrame:
    """Heat to the air from every rack in use: columns rack, air_w, existing equipment included."""
    air_w = device_sizes(topology)["air_w"].gather(placement.places["dev"])
    mine = placement.places.select("rack").with_columns(air_w=air_w)
    stands = [(t.rack, t.power_w) for t in topology.design.placement.existing]
    there = pl.DataFrame(stands, schema={"rack": pl.String, "air_w": pl.Float64}, orient="row")
    return pl.concat([mine, there]).group_by("rack", maintain_order=True).agg(pl.col("air_w").sum())


def racks_stay_within_their_cooling(topology: Topology, placement: Placement) -> list[Problem]:
    """What a rack gives to the air is no more than the air takes from it."""
    used = air_of_racks(topology, placement).filter(pl.col("rack").is_in(placement.places["rack"].implode()))
    over = used.join(placement.hall.positions.select("rack", limit="air_w"), on="rack", maintain_order="left").filter(pl.col("air_w") > pl.col("limit") + 1e-3)
    return [Problem("rack-cooling", rack, f"gives {kilo(air_w)} kW to the air, which takes {kilo(limit)} kW from a rack") for rack, air_w, limit in over.iter_rows()]


def rows_stay_within_their_cooling(topology: Topology, placement: Placement) -> list[Problem]:
    """What the racks of a row give to the air is no more than the air takes from the row."""
    limits = placement.hall.positions.select("rack", "row", limit="row_air_w")
    rows = air_of_racks(topology, placement).join(limits, on="rack", maintain_order="left").group_by("row", maintain_order=True).agg(pl.col("air_w").sum(), pl.col("limit").first())
    over = rows.filter(pl.col("air_w") > pl.col("limit") + 1e-3)
    return [Problem("row-cooling", f"row {row}", f"gives {kilo(air_w)} kW to the air, which takes {kilo(limit)} kW") for row, air_w, limit in over.iter_rows()]


def liquid_reaches_what_it_cools(topology: Topology, placement: Placement) -> list[Problem]:
    """Where some rows have liquid cooling, liquid-cooled and hybrid parts stand in those alone."""
    wet = placement.hall.positions.select("rack", wet="liquid")
    named = placement.places.with_columns(topology.devices["device"], device_sizes(topology)["liquid"]).join(wet, on="rack", how="left", maintain_order="left")
    dry = named.filter(pl.col("liquid") & ~pl.col("wet"))
    return [Problem("liquid-cooling", device, f"is cooled by liquid, which does not reach {rack}") for device, rack in dry.select("device", "rack").iter_rows()]


def the_floor_bears_the_racks(topology: Topology, placement: Placement) -> list[Problem]:
    """A rack and what stands in it weigh no more than the floor bears on the ground that the rack covers."""
    there = [(t.rack, t.weight_kg) for t in topology.design.placement.existing]
    both = pl.concat([placement.places.select("rack", "weight_kg"), pl.DataFrame(there, schema={"rack": pl.String, "weight_kg": pl.Float64}, orient="row")])
    sums = both.group_by("rack", maintain_order=True).agg(pl.col("weight_kg").sum())
    over = sums.join(placement.hall.positions.select("rack", "floor_kg"), on="rack", maintain_order="left").filter(pl.col("weight_kg") > pl.col("floor_kg") + 1e-3)
    return [Problem("floor-load", rack, f"holds {kg:,.1f} kg, the floor bears {limit:,g} kg in it") for rack, kg, limit in over.iter_rows()]


COOLING_RULES = (racks_stay_within_their_cooling, rows_stay_within_their_cooling, liquid_reaches_what_it_cools, the_floor_bears_the_racks)
"""Rules that `rules.check_placement` adds to its own."""


def liquid_here(topology: Topology, hall: Hall, devices: Ints, spots: Ints) -> Mask:
    """[device, spot]: what cools the device reaches the position (row number in `hall.positions`)."""
    wants = device_sizes(topology)["liquid"].to_numpy()[devices]
    return np.asarray(~wants[:, None] | hall.positions["liquid"].to_numpy()[spots][None, :])


def share_row_cooling(topology: Topology, hall: Hall, power_w: Floats, racks: Mapping[str, NodeRack], block_here: Mask, switches_here: Ints) -> Iterator[tuple[Ints, Mask, Ints]]:
    """Share out every row whose cooling could fall short: (its free positions, may take a rack of nodes, most switches of each).

    A row gets the racks of nodes that its cooling takes, of all the cluster has its part; what is left goes to switches.
    """
    rows = hall.positions["row_no"].to_numpy()[hall.free]
    limit_w = hall.positions["row_air_w"].to_numpy()[hall.free]
    if not np.isfinite(limit_w).any() or not racks:
        return
    profiles = topology.devices["profile"]
    moves = topology.devices["role"].is_in(("node", *STANDING)).not_().to_numpy()
    air_w = device_sizes(topology)["air_w"].to_numpy()
    rack_w = max(max(kind.whole.air_w for kind in racks.values()), 1e-6)
    switch_w = max(float(air_w[moves].max(initial=0.0)), 1e-6)
    blocks = sum(-(-int((profiles == profile).sum()) // kind.per_rack) for profile, kind in racks.items())
    members = [np.flatnonzero(rows == row) for row in np.unique(rows).tolist()]
    left_w = [float(limit_w[m[0]]) - float(power_w[m].sum()) for m in members]
    fit = [int(min(int(block_here[m].sum()), max(0.0, left + 1e-6) // rack_w)) for m, left in zip(members, left_w, strict=True)]
    part = min(1.0, blocks / max(1, sum(fit)))
    for m, left, most in zip(members, left_w, fit, strict=True):
        if left >= float(air_w.sum()):
            continue
        full = int(np.ceil(most * part))
        may = block_here[m] & (np.cumsum(block_here[m]) <= full)
        switches = int(max(0.0, left - full * rack_w + 1e-6) // switch_w)
        share = switches // len(m) + (np.arange(len(m)) < switches % len(m))
        yield m, may, np.minimum(switches_here[m], share)
