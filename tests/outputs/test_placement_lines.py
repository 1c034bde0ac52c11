"""What people read about a placement: the same in terminal, workbook and summary.json."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openpyxl import load_workbook
from rich.console import Console

from railplan import Catalog, Plan, make_plan, parse_design
from railplan.layouts import solver, solver_bound
from railplan.outputs import render
from railplan.outputs.placement_lines import placement_lines, placement_rows, uncompared
from railplan.outputs.summary import KINDS, summary
from railplan.outputs.terminal import print_summary

ROWS = "hall: {nodes_per_rack: 4, rack_weight_kg: 2000, rows: [{name: A, racks: 12}, {name: B, racks: 12}]}\n"
FOUND: dict[str, Any] = {
    "objective": 319510.0,
    "objective_today": 319510.0,
    "bound": 313400.0,
    "gap_percent": 1.9123,
    "baseline": 368512.0,
    "status": "feasible",
    "unit": "USD",
    "arrangement": "search",
    "effort": "normal",
    "forced": False,
    "kept": 0,
    "interrupted": False,
    "bound_with_these_spine_places": 0.0,
    "pods_together": None,
    "pods_anywhere": 319510.0,
    "baselines": {"end-of-row": 433088.0, "mid-row": 390056.0, "switch-per-rack": None, "amid-su": 368512.0},
    "links_by_kind": {"node-leaf": {"mmf": 12, "dac": 500}, "leaf-spine": {"acc": 512}},
}


@contextmanager
def little_work() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(solver.WORK, "quick", 800_000)
        patch.setitem(solver_bound.WORK, "quick", 100_000)
        yield


def plan_of(catalog: Catalog, count: int | str = 64, effort: str = "fixed", more: str = "") -> Plan:
    with little_work():
        return make_plan(parse_design(f"nodes: {{model: hgx-h100, count: {count}}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n{ROWS}{more}"), catalog, effort=effort)


@pytest.fixture(scope="module")
def searched(catalog: Catalog) -> Plan:
    return plan_of(catalog, effort="quick")


def printed(plan: Plan) -> str:
    out = io.StringIO()
    print_summary(plan, Console(file=out, width=300, highlight=False))
    return out.getvalue()


def test_three_lines_say_price_fixed_arrangements_and_links() -> None:
    assert placement_lines(FOUND) == [
        "search: 319,510 USD, 13.3% below amid-su (the best fixed), at most 2.0% above the optimum (bound 313,400, gap 1.9%)",
        "fixed: end-of-row 433,088, mid-row 390,056, switch-per-rack does not fit, amid-su 368,512 USD",
        "links: node-leaf 500 dac, 12 mmf; leaf-spine 512 acc",
    ]


HEADLINES = [
    ({"status": "optimal", "bound": 319510.0}, "search: 319,510 USD, 13.3% below amid-su (the best fixed), proved optimal"),
    ({"bound": 0.0, "interrupted": True}, "search: 319,510 USD, 13.3% below amid-su (the best fixed), no bound known; interrupted, the best found until then"),
    ({"objective_today": 200000.0, "status": "optimal"}, "search: 319,510 USD when grown (200,000 today), 13.3% below amid-su (the best fixed), proved optimal"),
    ({"kept": 48, "status": "optimal"}, "search: 319,510 USD, 13.3% below amid-su (the best fixed), around 48 devices whose places are given, proved optimal"),
    ({"arrangement": "given", "effort": "fixed", "kept": 60, "bound": 0.0}, "places as given: 319,510 USD, 13.3% below amid-su (the best fixed)"),
    (
        {"arrangement": "mid-row", "objective": 390056.0, "objective_today": 390056.0, "effort": "fixed", "forced": True},
        "mid-row, as the design asks: 390,056 USD, 5.8% above amid-su (the best fixed)",
    ),
    (
        {"arrangement": "amid-su", "objective": 368512.0, "objective_today": 368512.0, "effort": "fixed"},
        "amid-su: 368,512 USD, the best fixed arrangement; --effort quick searches for cheaper cabling",
    ),
    (
        {"arrangement": "amid-su", "objective": 368512.0, "objective_today": 368512.0, "bound": 368512.0, "status": "optimal"},
        "amid-su: 368,512 USD, the best fixed arrangement; the search found none cheaper, proved optimal",
    ),
    ({"baselines": dict.fromkeys(FOUND["baselines"]), "status": "optimal"}, "search: 319,510 USD, proved optimal"),
]


@pytest.mark.parametrize(("change", "line"), HEADLINES)
def test_the_headline_says_what_was_chosen_and_how_good_it_is(change: dict[str, Any], line: str) -> None:
    assert placement_lines({**FOUND, **change})[0] == line


def test_the_gap_is_never_rounded_down() -> None:
    assert "at most 0.1% above" in placement_lines({**FOUND, "bound": 319509.0})[0]


def test_a_searched_plan_says_the_same_everywhere(searched: Plan) -> None:
    facts = summary(searched)["placement"]
    text = printed(searched)
    for line in placement_lines(facts):
        assert line in text
    book = load_workbook(io.BytesIO(render(searched, ["xlsx"])["plan.xlsx"]), read_only=True)
    cells = [tuple(row[:3]) for row in book["Summary"].iter_rows(values_only=True)]
    for label, value, unit in placement_rows(facts):
        assert (label, value, unit or None) in cells
    assert facts["objective"] == searched.cabling.modules.height
    for name, price in facts["baselines"].items():
        assert f"{name} {price:,.0f}" in text
    assert sum(n for kinds in facts["links_by_kind"].values() for n in kinds.values()) == searched.topology.links.height
    assert all(kind in KINDS for kinds in facts["links_by_kind"].values() for kind in kinds)


def test_rows_name_price_bound_gap_status_and_saving(searched: Plan) -> None:
    facts = summary(searched)["placement"]
    rows = {label: (value, unit) for label, value, unit in placement_rows(facts)}
    assert rows["Cables and modules"] == (facts["objective"], "modules")
    assert rows["No placement is below"] == (facts["bound"], "modules")
    assert rows["Gap to that"] == (facts["gap_percent"], "%")
    best = min(facts["baselines"], key=facts["baselines"].get)
    assert rows["Best fixed arrangement"] == (best, "")
    assert rows["Saved against it"][0] == pytest.approx(100 * (1 - facts["objective"] / facts["baselines"][best]), abs=1e-4)


def test_an_arrangement_that_does_not_fit_says_so_in_the_rows() -> None:
    assert ("Fixed: switch-per-rack", "does not fit", "") in placement_rows(FOUND)


def test_without_a_search_the_plan_names_its_arrangement_and_how_to_search(catalog: Catalog) -> None:
    plan = plan_of(catalog)
    facts = summary(plan)["placement"]
    assert placement_lines(facts) == []
    assert uncompared(facts) == "arranged amid-su (--effort quick searches for cheaper cabling)"
    assert uncompared(facts) in printed(plan)
    assert placement_rows(facts)[0][1] == "amid-su, the reference arrangement; --effort quick searches for cheaper cabling"


def test_a_forced_arrangement_is_compared_with_the_others(catalog: Catalog) -> None:
    text = printed(plan_of(catalog, more="placement: {arrangement: end-of-row}\n"))
    assert "placed    end-of-row, as the design asks: " in text
    assert "fixed: end-of-row " in text
    assert "links: node-leaf " in text


def test_a_growing_plan_says_both_prices(catalog: Catalog) -> None:
    plan = plan_of(catalog, "32, grow_to: 64", "quick")
    facts = summary(plan)["placement"]
    assert facts["objective_today"] == plan.cabling.modules.height
    assert f"{facts['objective']:,.0f} modules when grown ({facts['objective_today']:,.0f} today)" in printed(plan)
    assert ("of them for links of today", facts["objective_today"], "modules") in placement_rows(facts)


def test_racks_of_an_su_together_are_priced_beside_scattered_ones() -> None:
    both = {**FOUND, "pods_together": 322000.0}
    assert "; the racks of every SU together 322,000, scattered 319,510" in placement_lines(both)[0]
    assert ("Racks of every SU together", 322000, "USD") in placement_rows(both)
    assert "together" not in placement_lines({**FOUND, "pods_together": 319510.0})[0]
