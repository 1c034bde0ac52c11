"""Route lengths against independent ways to reach them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railplan.fabric.tables import NONE
from railplan.fabric.topology import Topology
from railplan.layouts.placement import Placement, place
from railplan.layouts.routes import TERMS, route_lengths, straight_line_m
from railplan.layouts.tables import ROUTES
from railplan.vendors.catalog import Catalog

Build = Callable[..., Topology]


def a_few_pods(by_hand: Build, links: list[tuple[int, int]], present: list[bool] | None = None, **hall: Any) -> Topology:
    """Three pods of six nodes (18), two leaves each (6), three spines (3)."""
    devices = [("node", n // 6, NONE, n) for n in range(18)] + [("leaf", pod, 0, i) for pod in range(3) for i in range(2)] + [("spine", NONE, 0, i) for i in range(3)]
    return by_hand(devices, links, present, **{"row_racks": 4, **hall})


def every_pair() -> list[tuple[int, int]]:
    return [(a, b) for a in range(27) for b in range(27) if a != b]


def walked_m(placement: Placement, a: int, b: int, side: float, riser: float, slack: float, percent: float) -> float:
    """One route, walked step by step with plain numbers."""
    places = placement.places.rows(named=True)
    racks = {r["rack"]: r for r in placement.racks.rows(named=True)}
    one, two = racks[places[a]["rack"]], racks[places[b]["rack"]]
    za, zb = ((p["ru"] - 1 + p["height_ru"] / 2) * 0.04445 for p in (places[a], places[b]))
    if one is two:
        return side + abs(za - zb) + side + slack
    if one["row"] == two["row"]:
        tray = abs(one["x_m"] - two["x_m"])
    else:
        tray = min(abs(one["x_m"] - x) + abs(one["y_m"] - two["y_m"]) + abs(x - two["x_m"]) for x in placement.hall.cross_trays_x_m)
    top = placement.hall.rack_height_m
    route = side + (top - za) + riser + tray + riser + (top - zb) + side
    return route * (1 + percent / 100) + slack


def test_every_route_is_what_one_walks_step_by_step(by_hand: Build, catalog: Catalog) -> None:
    topology = a_few_pods(by_hand, every_pair(), routing={"side_m": 0.3, "riser_m": 0.5, "slack_m": 0.25, "slack_percent": 7})
    placement = place(topology, catalog)
    routes = route_lengths(topology, placement)
    expected = [walked_m(placement, a, b, 0.3, 0.5, 0.25, 7) for a, b in every_pair()]
    assert placement.racks["row"].n_unique() > 1
    assert routes["route_m"].to_list() == pytest.approx(expected, abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    row_racks=st.integers(1, 9),
    cold_m=st.floats(0, 5),
    hot_m=st.floats(0, 5),
    trays=st.none() | st.lists(st.floats(-20, 20), min_size=1, max_size=3),
    side_m=st.floats(0, 1),
    percent=st.floats(0, 20),
)
def test_no_route_is_shorter_than_the_straight_line_and_both_directions_are_equal(
    by_hand: Build, catalog: Catalog, row_racks: int, cold_m: float, hot_m: float, trays: list[float] | None, side_m: float, percent: float
) -> None:
    routing = {"side_m": side_m, "riser_m": 0, "slack_m": 0, "slack_percent": percent}
    topology = a_few_pods(by_hand, every_pair(), row_racks=row_racks, cold_aisle_m=cold_m, hot_aisle_m=hot_m, cross_trays_x_m=trays, routing=routing)
    placement = place(topology, catalog)
    routes = route_lengths(topology, placement)
    assert (routes["route_m"] - straight_line_m(topology, placement)).min() >= -1e-5  # type: ignore[operator]
    there = dict(zip(every_pair(), routes["route_m"], strict=True))
    assert all(length == there[b, a] for (a, b), length in there.items())


def test_the_terms_of_a_route_sum_to_it(built: Build, catalog: Catalog) -> None:
    topology = built(64)
    routes = route_lengths(topology, place(topology, catalog))
    assert dict(routes.schema) == ROUTES
    assert routes.select(pl.sum_horizontal(TERMS)).to_series().to_list() == pytest.approx(routes["route_m"].to_list(), abs=2e-6)
    assert routes.null_count().sum_horizontal().item() == 0
    assert (routes.select(pl.min_horizontal(TERMS)).to_series() >= 0).all()


def test_every_link_has_one_route_in_link_order_and_links_to_come_may_ask_as_well(built: Build, catalog: Catalog) -> None:
    topology = built(40, grow_to=64)
    placement = place(topology, catalog)
    assert route_lengths(topology, placement)["link"].to_list() == topology.links["link"].to_list()
    later = replace(topology, links=topology.future)
    assert route_lengths(later, placement)["link"].to_list() == topology.future["link"].to_list() != []


def test_ends_name_the_racks_and_units_of_their_devices(built: Build, catalog: Catalog) -> None:
    topology = built(64)
    placement = place(topology, catalog)
    routes = route_lengths(topology, placement)
    rack, ru = placement.places["rack"].to_list(), placement.places["ru"].to_list()
    ends = topology.links.select("a_dev", "b_dev").rows()
    assert routes.select("rack_a", "ru_a", "rack_b", "ru_b").rows() == [(rack[a], ru[a], rack[b], ru[b]) for a, b in ends]


def test_a_measured_length_wins_in_both_directions_and_for_no_other_pair(by_hand: Build, catalog: Catalog) -> None:
    measured = [{"rack_a": "A03", "rack_b": "A01", "length_m": 12.5}, {"rack_a": "A02", "rack_b": "A02", "length_m": 2.5}]
    plain_topology, topology = a_few_pods(by_hand, every_pair()), a_few_pods(by_hand, every_pair(), measured=measured)
    plain = route_lengths(plain_topology, place(plain_topology, catalog))
    routes = route_lengths(topology, place(topology, catalog))
    pair = [tuple(sorted(p)) for p in routes.select("rack_a", "rack_b").rows()]
    assert {("A01", "A03"), ("A02", "A02")} <= set(pair)
    for i, row in enumerate(routes.rows(named=True)):
        length = {("A01", "A03"): 12.5, ("A02", "A02"): 2.5}.get(pair[i])  # type: ignore[call-overload]
        if length is None:
            assert row == plain.row(i, named=True)
        else:
            assert (row["route_m"], row["along_m"], row["length_source"]) == (length, length, "measured")
            assert sum(row[t] for t in TERMS) == length


def test_a_measured_pair_of_racks_that_hold_nothing_changes_nothing(by_hand: Build, catalog: Catalog) -> None:
    rows = [{"name": "A", "racks": 30}]
    plain, topology = (a_few_pods(by_hand, every_pair(), rows=rows, measured=m) for m in ([], [{"rack_a": "A29", "rack_b": "A30", "length_m": 9}]))
    assert route_lengths(topology, place(topology, catalog)).equals(route_lengths(plain, place(plain, catalog)))


def test_a_fabric_without_links_has_no_routes(by_hand: Build, catalog: Catalog) -> None:
    topology = a_few_pods(by_hand, [])
    assert route_lengths(topology, place(topology, catalog)).height == 0


def test_half_a_million_links_are_routed_at_once(by_hand: Build, catalog: Catalog) -> None:
    draw = random.Random(1)
    links = [(draw.randrange(18), draw.randrange(18, 27)) for _ in range(500_000)]
    topology = a_few_pods(by_hand, links)
    placement = place(topology, catalog)
    routes = route_lengths(topology, placement)
    some = list(range(0, 500_000, 9_999))
    expected = [walked_m(placement, *links[i], 0.4, 0.3, 0.2, 5.0) for i in some]
    assert np.asarray(routes["route_m"])[some].tolist() == pytest.approx(expected, abs=1e-5)
