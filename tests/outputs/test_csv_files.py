"""The CSV tables, read back with the standard library and compared with each other and with the plan."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable

import polars as pl
import pytest

from railplan import Plan
from railplan.outputs import FORMATS, csv_files, tables

PLANS = [
    ("hgx-b300", 4, "spectrum-x", {}),
    ("hgx-h100", 40, "quantum-ndr", {}),
    ("hgx-b300", 6, "spectrum-x", {"planes": 4}),
    ("hgx-h100", 12, "spectrum-x", {"style": "pair"}),
    ("dgx-h100", 31, "quantum-ndr", {"ufm_links": 4}),
]
PROMISED = {
    "cables.csv": "cable, fabric, tier, rail, plane, a_device, a_port, a_rack, a_ru, b_device, b_port, b_rack, b_ru, gbps, kind, part, length_m, route_m,"
    " a_module, b_module, a_label, b_label",
    "ports.csv": "device, port, cage, os_name, gpu, peer_device, peer_port, cable, fabric, tier, rail, plane, gbps",
    "devices.csv": "device, model, role, fabric, pod, rail, plane, rack, ru, height_ru, power_w",
    "racks.csv": "rack, row, position, x_m, y_m, used_ru, power_w, weight_kg",
    "bom.csv": "category, part, description, unit, quantity, spares, unit_price, currency, total, price_source",
    "labels.csv": "cable, end, device, near, far, text",
    "trays.csv": "segment, tray, from, to, cables, area_mm2, capacity_mm2, fill_percent, limit_percent, of_limit_percent, copper, optical",
    "bundles.csv": "bundle, a_rack, b_rack, cables, kinds, parts, shortest_m, longest_m, diameter_mm, weight_kg, trays",
    "findings.csv": "level, rule, where, what, why, fix",
}

Rows = dict[str, list[dict[str, str]]]


@pytest.fixture(scope="module", params=[*PLANS, "ethernet", "infiniband", "mixed"], ids=lambda p: p if isinstance(p, str) else f"{p[0]}-{p[1]}-{p[2]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan], cluster_of: Callable[..., Plan]) -> Plan:
    if isinstance(request.param, str):
        return cluster_of(request.param)
    node, count, family, more = request.param
    return plan_of(node, count, family, **more)


@pytest.fixture(scope="module")
def rows(plan: Plan) -> Rows:
    return {name: list(csv.DictReader(io.StringIO(data.decode(), newline=""))) for name, data in csv_files.files(plan).items()}


def test_the_promised_columns_come_first_and_in_order(plan: Plan) -> None:
    for name, data in csv_files.files(plan).items():
        promised = PROMISED[name].split(", ")
        assert data.decode().splitlines()[0].split(",")[: len(promised)] == promised
    assert set(csv_files.files(plan)) == set(FORMATS["csv"][0]) == set(PROMISED)


def test_lines_end_in_a_newline_and_numbers_have_no_exponent(plan: Plan, rows: Rows) -> None:
    for name, data in csv_files.files(plan).items():
        assert b"\r" not in data
        assert data.endswith(b"\n")
        for row in rows[name]:
            assert not [v for k, v in row.items() if k.endswith(("_m", "_w", "_kg", "price", "total")) and not re.fullmatch(r"|-?\d+(\.\d{1,3})?", v)]


def test_what_does_not_apply_is_empty_and_never_minus_one(rows: Rows) -> None:
    assert all(value != "-1" for table in rows.values() for row in table for value in row.values())
    nodes = [row for row in rows["devices.csv"] if row["role"] == "node"]
    assert {row["plane"] for row in nodes} == {""}


def test_both_ends_of_a_link_have_a_row_each(plan: Plan, rows: Rows) -> None:
    ports = rows["ports.csv"]
    here = Counter((r["device"], r["port"], r["peer_device"], r["peer_port"]) for r in ports)
    there = Counter((r["peer_device"], r["peer_port"], r["device"], r["port"]) for r in ports)
    assert here == there
    assert set(here.values()) == {1}
    assert len(ports) == 2 * plan.topology.links.height


def test_tables_name_the_same_bundles(rows: Rows) -> None:
    counted = Counter(row["bundle"] for row in rows["cables.csv"] if row["bundle"])
    assert counted == {row["bundle"]: int(row["cables"]) for row in rows["bundles.csv"]}
    of_cable = {row["cable"]: row["bundle"] for row in rows["cables.csv"]}
    assert all(row["bundle"] == of_cable[row["cable"]] for row in rows["labels.csv"])
    assert {tray for row in rows["bundles.csv"] for tray in row["trays"].replace(" | ", " > ").split(" > ")} <= {row["tray"] for row in rows["trays.csv"]}


def test_tables_name_the_same_cables(rows: Rows) -> None:
    named = {name: {row["cable"] for row in rows[f"{name}.csv"]} for name in ("cables", "ports", "labels")}
    assert named["cables"] == named["ports"] == named["labels"]
    assert len(rows["cables.csv"]) == len(named["cables"])


def test_a_cable_row_lists_the_ports_of_its_links_in_the_same_order_on_both_ends(rows: Rows) -> None:
    links = {(r["cable"], r["device"], r["port"], r["peer_device"], r["peer_port"]) for r in rows["ports.csv"]}
    for cable in rows["cables.csv"]:
        count = int(cable["links"])
        sides = {k: cable[k].split("+") for k in ("a_device", "a_port", "b_device", "b_port")}
        full = [v * count if len(v) == 1 else v for v in sides.values()]
        for a_device, a_port, b_device, b_port in zip(*full, strict=True):
            assert (cable["cable"], a_device, a_port, b_device, b_port) in links


def test_devices_and_racks_of_cables_exist(rows: Rows) -> None:
    place = {r["device"]: (r["rack"], r["ru"]) for r in rows["devices.csv"]}
    assert len(place) == len(rows["devices.csv"])
    assert {rack for rack, _ in place.values()} <= {r["rack"] for r in rows["racks.csv"]}
    for cable in rows["cables.csv"]:
        for end in "ab":
            devices = cable[f"{end}_device"].split("+")
            racks, units = (cable[f"{end}_{k}"].split("+") for k in ("rack", "ru"))
            assert {place[d] for d in devices} == set(zip(racks * (len(units) if len(racks) == 1 else 1), units * (len(racks) if len(units) == 1 else 1), strict=True))


def test_labels_are_unique_and_name_both_ends(rows: Rows) -> None:
    labels = rows["labels.csv"]
    assert len({r["text"] for r in labels}) == len(labels)
    assert all(r["text"] == f"{r['cable']} {r['near']} > {r['far']}" for r in labels)
    place = {r["device"]: f"{r['rack']}-U{int(r['ru']):02d}" if r["ru"] else f"{r['rack']}-{r['device']}" for r in rows["devices.csv"]}
    assert all(label["near"].startswith(f"{place[label['device']]}-") for label in labels)
    assert len({(r["near"], r["device"]) for r in labels}) == len({r["near"] for r in labels})


def test_what_stands_beside_the_units_has_none(rows: Rows) -> None:
    assert all((row["ru"] == "") == (row["height_ru"] == "0") for row in rows["devices.csv"])


def test_rows_of_fabrics_other_than_compute_name_no_rail_plane_or_gpu(rows: Rows) -> None:
    for name in ("cables.csv", "ports.csv"):
        for row in rows[name]:
            if row["fabric"] != "compute":
                assert (row["rail"], row["plane"], row.get("gpu", "")) == ("", "", "")


def test_every_switch_is_managed_by_its_own_port_and_every_pdu_by_its_socket(plan: Plan, rows: Rows) -> None:
    if "oob" not in plan.topology.fabrics:
        return
    managed = {r["device"]: r["port"] for r in rows["ports.csv"] if r["fabric"] == "oob" and r["tier"] == "node-leaf" and not r["device"].startswith("oob")}
    for row in rows["devices.csv"]:
        if row["role"] in ("leaf", "spine") and row["fabric"] != "oob":
            assert managed[row["device"]] == ("mgmt0" if row["model"] == "nvidia-qm9700" else "eth0")
        if row["role"] == "pdu":
            assert managed[row["device"]] == "NET"
    bmcs = {r["device"] for r in rows["ports.csv"] if r["port"] in ("BMC", "BMC1")}
    assert bmcs == {r["device"] for r in rows["devices.csv"] if r["role"] in ("node", "server", "ufm")}


def test_every_physical_end_has_a_label(plan: Plan, rows: Rows) -> None:
    ends = {"straight": (1, 1), "splitter": (1, 2), "shuffle": (2, 2)}
    shape = dict(plan.cabling.carried.join(plan.cabling.cables, on="cable_no").select("cable", "shape").unique().iter_rows())
    counted = Counter((r["cable"], r["end"]) for r in rows["labels.csv"])
    for cable, kind, part in plan.cabling.cables.select("cable", "kind", "part").iter_rows():
        found = tuple(sorted((counted[cable, "A"], counted[cable, "B"])))
        assert found == (ends[shape[cable]] if kind in ("mmf", "smf") else (1, len(plan.catalog.copper[part].tails)))


def test_a_cable_that_is_not_split_wears_the_labels_of_its_row(rows: Rows) -> None:
    counted = Counter(r["cable"] for r in rows["labels.csv"])
    own = {r["cable"]: {"A": r["a_label"], "B": r["b_label"]} for r in rows["cables.csv"]}
    for label in rows["labels.csv"]:
        if counted[label["cable"]] == 2:
            assert label["text"] == own[label["cable"]][label["end"]]


def test_the_bill_counts_the_cables_of_the_list(rows: Rows) -> None:
    listed = Counter((r["part"], r["length_m"], r["fabric"]) for r in rows["cables.csv"])
    billed = {(r["part"], r["length_m"], r["fabric"]): int(r["quantity"]) for r in rows["bom.csv"] if r["category"] in ("copper", "fibre")}
    assert billed == dict(listed)


def test_tables_are_sorted(rows: Rows) -> None:
    cables = [r["cable"] for r in rows["cables.csv"]]
    assert cables == sorted(cables)
    order = {r["device"]: i for i, r in enumerate(rows["devices.csv"])}
    walked = [order[r["device"]] for r in rows["ports.csv"]]
    assert walked == sorted(walked)


def test_the_same_plan_gives_the_same_bytes(plan: Plan) -> None:
    assert csv_files.files(plan) == csv_files.files(plan)


def test_numbers_are_written_plainly() -> None:
    table = pl.DataFrame({"length_m": [10.0, 2.5, 0.0, 1e-9, 123456789.0, None], "text": ["a", "", 'say "x"', "a,b", "=1+1", None]})
    assert csv_files.csv_bytes(table) == b'length_m,text\n10,a\n2.5,\n0,"say ""x"""\n0,"a,b"\n123456789,=1+1\n,\n'


def test_the_port_map_walks_each_rack_from_the_top(plan: Plan) -> None:
    walk = tables.port_map(plan, "x", "y").select("rack", "ru", "device", "cage_no", "child")
    assert walk.height == 2 * plan.topology.links.height
    assert walk["rack"].rle().len() == walk["rack"].n_unique()
    assert walk["device"].rle().len() == walk["device"].n_unique()
    for rack in walk.partition_by("rack"):
        assert rack["ru"].fill_null(0).is_sorted(descending=True)
