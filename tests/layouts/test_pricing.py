"""Prices of placements: the same figures as the cables and the bill of materials made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import numpy as np
import polars as pl
import pytest

from railplan import Catalog, Plan, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology
from railplan.layouts.bom import bill_of_materials
from railplan.layouts.cables import cable
from railplan.layouts.placement import place
from railplan.layouts.pricing import link_price, links_by_kind, make_tariff, price, price_routes, whole_routes_m
from railplan.layouts.routes import route_lengths
from railplan.plan import with_pdus_for_racks
from railplan.vendors.models import Price

CASES = [("hgx-h100", 24, "quantum-ndr", ""), ("dgx-h100", 40, "quantum-ndr", ""), ("hgx-b300", 20, "spectrum-x", ", planes: 2"), ("hgx-b300", 80, "quantum-xdr", "")]


def topology_of(catalog: Catalog, node: str, count: int | str, family: str, more: str = "") -> Topology:
    text = f"nodes: {{model: {node}, count: {count}}}\nfabrics: {{compute: {{family: {family}{more}}}}}\ncables: {{spares_percent: 0}}\n"
    return build_topology(parse_design(text), catalog)


@pytest.fixture(scope="module")
def priced(catalog: Catalog) -> Catalog:
    """Every copper, fibre and module has a price: copper 100 and 10 a metre, fibre 50 and 1 a metre, modules 500 and their lanes."""
    prices = []

    def add(part: str, value: float, length_m: float | None = None) -> None:
        prices.append(Price(part=part, length_m=length_m, value=value, currency="USD", basis="test", source="test", date=date(2026, 11, 29), confidence="unverified"))

    for copper in catalog.copper.values():
        for length in copper.lengths_m:
            add(copper.model, 100 + 10 * length, length)
    for fibre in catalog.fibres.values():
        for length in fibre.lengths_m:
            add(fibre.model, 50 + length, length)
    for module in catalog.modules.values():
        add(module.model, 500 + module.lanes)
    return replace(catalog, prices=tuple(prices))


@pytest.mark.parametrize(("node", "count", "family", "more"), CASES)
def test_a_price_is_what_the_bill_of_materials_comes_to(priced: Catalog, node: str, count: int, family: str, more: str) -> None:
    topology = topology_of(priced, node, count, family, more)
    placement = place(topology, priced)
    cost = price(topology, placement, make_tariff(topology, priced, 60.0))
    cabling = cable(topology, placement, priced)
    bill = bill_of_materials(topology, cabling, priced).filter(pl.col("category").is_in(["module", "copper", "fibre"]))
    assert cost.money == pytest.approx(bill["total"].sum())
    assert cost.stuck == 0


@pytest.mark.parametrize("name", ["ethernet", "infiniband", "mixed"])
def test_so_is_the_price_of_all_fabrics_of_a_cluster(priced: Catalog, cluster_of: Callable[..., Plan], name: str) -> None:
    design = cluster_of(name).design
    topology = with_pdus_for_racks(design.model_copy(update={"cables": design.cables.model_copy(update={"spares_percent": 0.0})}), priced)
    placement = place(topology, priced)
    tariff = make_tariff(topology, priced, 60.0)
    cost = price_routes(tariff, whole_routes_m(topology, placement), today=True)
    bill = bill_of_materials(topology, cable(topology, placement, priced), priced).filter(pl.col("category").is_in(["module", "copper", "fibre"]))
    assert tariff.priced
    assert cost.money == pytest.approx(bill["total"].sum())
    assert cost.modules == bill.filter(pl.col("category") == "module")["quantity"].sum()
    assert set(bill["fabric"]) == set(topology.fabrics)


@pytest.mark.parametrize(("node", "count", "family", "more"), CASES)
def test_without_prices_modules_come_first_then_the_longest_cable_then_metres(catalog: Catalog, node: str, count: int, family: str, more: str) -> None:
    topology = topology_of(catalog, node, count, family, more)
    placement = place(topology, catalog)
    cost = price(topology, placement, make_tariff(topology, catalog, 60.0))
    cabling = cable(topology, placement, catalog)
    assert cost.money is None
    assert cost.rank == (0.0, float(cabling.modules.height), cabling.cables["length_m"].max(), pytest.approx(cabling.cables["length_m"].sum()))


GROWING = [
    ("hgx-h100", 24, 56, "quantum-ndr", ""),
    ("dgx-h100", 20, 40, "quantum-ndr", ""),
    ("hgx-b300", 13, 20, "spectrum-x", ", planes: 2"),
    ("hgx-b300", 40, 80, "quantum-xdr", ""),
]


@pytest.mark.parametrize(("node", "count", "final", "family", "more"), GROWING)
def test_a_growing_cluster_is_priced_as_it_will_be_and_as_it_is(priced: Catalog, node: str, count: int, final: int, family: str, more: str) -> None:
    topology, whole = topology_of(priced, node, f"{count}, grow_to: {final}", family, more), topology_of(priced, node, final, family, more)
    placement = place(topology, priced)
    tariff = make_tariff(topology, priced, 60.0)
    cabling = cable(topology, placement, priced)
    bill = bill_of_materials(topology, cabling, priced).filter(pl.col("category").is_in(["module", "copper", "fibre"]))
    today = price_routes(tariff, whole_routes_m(topology, placement), today=True)
    assert today.money == pytest.approx(bill["total"].sum())
    assert (today.modules, today.longest_m) == (cabling.modules.height, cabling.cables["length_m"].max())
    assert today.metres == pytest.approx(cabling.cables["length_m"].sum())
    grown = price(topology, placement, tariff)
    assert grown == price(whole, place(whole, priced), make_tariff(whole, priced, 60.0))
    assert grown.money is not None
    assert today.money is not None
    assert grown.money > today.money
    counted = links_by_kind(tariff, whole_routes_m(topology, placement))
    assert {k: sum(kinds.get(k, 0) for kinds in counted.values()) for k in cabling.cables["kind"].unique()} == dict(
        cabling.cables.group_by("kind").agg(pl.col("links").sum()).iter_rows()
    )


def test_links_by_kind_are_those_of_the_cables(catalog: Catalog) -> None:
    topology = topology_of(catalog, "hgx-h100", 64, "quantum-ndr")
    placement = place(topology, catalog)
    counted = links_by_kind(make_tariff(topology, catalog, 60.0), route_lengths(topology, placement)["route_m"].to_numpy())
    cables = cable(topology, placement, catalog).cables.group_by("tier", "kind").agg(pl.col("links").sum())
    assert {(tier, kind): n for tier, kinds in counted.items() for kind, n in kinds.items()} == {(tier, kind): n for tier, kind, n in cables.iter_rows()}


def test_links_beyond_every_cable_are_counted_as_stuck(catalog: Catalog) -> None:
    text = "nodes: {model: hgx-h100, count: 8}\nfabrics: {compute: {family: quantum-ndr}}\ncables: {max_length_m: {mmf: 0, smf: 0, acc: 0, aoc: 0, dac: 0.4}}\n"
    topology = build_topology(parse_design(text), catalog)
    cost = price(topology, place(topology, catalog), make_tariff(topology, catalog, 60.0))
    assert cost.stuck == topology.links.height


def test_a_link_never_costs_less_when_it_gets_longer(priced: Catalog) -> None:
    topology = topology_of(priced, "hgx-h100", 24, "quantum-ndr")
    tariff = make_tariff(topology, priced, 60.0)
    assert tariff.priced
    for kind in tariff.kinds:
        _, costs = link_price(kind, priced=True)
        assert (np.diff(costs.diagonal()) >= 0).all()
