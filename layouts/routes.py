"""How long the way of every link is, estimated from the hall's geometry or measured by somebody.

            tray  ___________________________
      riser _____|                           |_____ riser
                 |                           |
    rack a   up  |                           | down   rack b
                 |--[port]          [port]---|
                  out                     out

Within a rack the way is out, the height between the ports, and in. All terms are metres, rounded to a micrometre,
so that a route of exactly 3 m is not bought as the next longer cable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..fabric.tables import frame
from ..fabric.topology import Topology
from .hall import RACK_UNIT_M, Floats, Hall, Ints, tray_path_m
from .placement import Placement
from .tables import ROUTES

TERMS = ("out_m", "up_m", "along_m", "across_m", "down_m", "slack_m")
"""Columns of `ROUTES` that sum to `route_m`."""


@dataclass(frozen=True)
class Ends:
    """Both ends of every link: rack (row in RACKS), position in the hall, lowest unit, height of the port above the floor."""

    link: Ints
    a_rack: Ints
    b_rack: Ints
    a_position: Ints
    b_position: Ints
    a_ru: Ints
    b_ru: Ints
    a_height_m: Floats
    b_height_m: Floats


def route_lengths(topology: Topology, placement: Placement) -> pl.DataFrame:
    """Length of the route of each link, with its terms; table `ROUTES`, in link order. Measured lengths win."""
    ends = link_ends(topology, placement)
    terms = route_terms_m(placement.hall, ends.a_position, ends.b_position, ends.a_height_m, ends.b_height_m)
    measured_m = _measured_m(topology, placement, ends)
    known = ~np.isnan(measured_m)
    for name, metres in terms.items():
        metres[known] = measured_m[known] if name == "along_m" else 0.0
    rack = placement.racks["rack"]
    return frame(
        ROUTES,
        {
            "link": ends.link,
            "rack_a": rack.gather(ends.a_rack),
            "rack_b": rack.gather(ends.b_rack),
            "ru_a": ends.a_ru,
            "ru_b": ends.b_ru,
            **terms,
            "route_m": np.round(sum(terms.values()), 6),
            "length_source": pl.select(pl.when(pl.Series(known)).then(pl.lit("measured")).otherwise(pl.lit("estimate"))).to_series(),
        },
    )


def straight_line_m(topology: Topology, placement: Placement) -> pl.Series:
    """Distance through the air between the ports of each link, in the order of `route_lengths`: no route is shorter."""
    ends = link_ends(topology, placement)
    x, y = (placement.hall.positions[c].to_numpy() for c in ("x_m", "y_m"))
    a, b = ends.a_position, ends.b_position
    return pl.Series("straight_m", np.sqrt((x[a] - x[b]) ** 2 + (y[a] - y[b]) ** 2 + (ends.a_height_m - ends.b_height_m) ** 2))


def port_height_m(ru: Ints, height_ru: Ints) -> Floats:
    """Height of a device's ports above the foot of its rack: the middle of the device."""
    return (ru - 1 + height_ru / 2) * RACK_UNIT_M


def link_ends(topology: Topology, placement: Placement) -> Ends:
    """Find both ends of every link."""
    places = placement.places
    spot = placement.racks.select("rack").join(placement.hall.positions.with_row_index("spot"), on="rack", how="left", maintain_order="left")["spot"].to_numpy().astype(np.int64)
    rack = places["rack_no"].to_numpy().astype(np.int64)
    ru = places["ru"].to_numpy().astype(np.int64)
    height_m = port_height_m(ru, places["height_ru"].to_numpy().astype(np.int64))
    a, b = topology.links["a_dev"].to_numpy(), topology.links["b_dev"].to_numpy()
    link = topology.links["link"].to_numpy().astype(np.int64)
    return Ends(link, rack[a], rack[b], spot[rack[a]], spot[rack[b]], ru[a], ru[b], height_m[a], height_m[b])


def route_terms_m(hall: Hall, a: Ints, b: Ints, a_height_m: Floats, b_height_m: Floats) -> dict[str, Floats]:
    """Terms of the routes between ports at hall positions `a` and `b` (row numbers in `hall.positions`) and the given heights."""
    routing, same = hall.routing, a == b
    along, across, climb, descent = tray_way_m(hall, a, b)
    up = np.where(same, np.abs(a_height_m - b_height_m), hall.rack_height_m - a_height_m + climb)
    down = np.where(same, 0.0, hall.rack_height_m - b_height_m + descent)
    out = np.full(len(a), 2 * routing.side_m)
    between = np.where(same, 0.0, out + (up + down) + (along + across))  # summed so that both directions give the same bits
    slack = routing.slack_m + between * routing.slack_percent / 100
    return {name: np.round(metres, 6) for name, metres in zip(TERMS, (out, up, along, across, down, slack), strict=True)}


def tray_way_m(hall: Hall, a: Ints, b: Ints) -> tuple[Floats, Floats, Floats, Floats]:
    """Shortest way on trays between positions `a` and `b` (row numbers in `positions`), in metres.

    Along the rows, across them, up from the top of rack a to its tray and on the way, down on the way and to the top of rack b.
    """
    if hall.listed:
        return hall.tray_net.way_m(a, b)
    riser = np.full(len(a), hall.routing.riser_m)
    return *tray_path_m(hall, a, b), riser, riser


def _measured_m(topology: Topology, placement: Placement, ends: Ends) -> Floats:
    """Measured length of each link's rack pair, not-a-number where nobody measured; racks that hold nothing match nothing."""
    number = {rack: i for i, rack in enumerate(placement.racks["rack"].to_list())}
    racks = len(number)
    lengths = {
        min(a, b) * racks + max(a, b): m.length_m for m in topology.design.hall.measured if (a := number.get(m.rack_a)) is not None and (b := number.get(m.rack_b)) is not None
    }
    result = np.full(len(ends.link), np.nan)
    if lengths:
        keys = np.array(sorted(lengths))
        pair = np.minimum(ends.a_rack, ends.b_rack) * racks + np.maximum(ends.a_rack, ends.b_rack)
        at = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
        hit = keys[at] == pair
        result[hit] = np.array([lengths[k] for k in keys.tolist()])[at[hit]]
    return result
