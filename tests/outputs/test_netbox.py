"""netbox.zip: files in order of import, exact columns and values, and references that all resolve."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
import yaml

from railplan import Catalog, Plan
from railplan.outputs import netbox, tables
from railplan.outputs.netbox_types import ETHERNET, INFINIBAND, interface_type

PLANS = [
    ("hgx-b300", 4, "spectrum-x", {}),
    ("hgx-h100", 40, "quantum-ndr", {"ufm_links": 4}),
    ("hgx-h100", 40, "spectrum-x", {"tiers": 3}),
    ("hgx-b300", 20, "quantum-xdr", {}),
]
COLUMNS = {
    "01-sites": "name,slug,status",
    "02-manufacturers": "name,slug",
    "03-device-roles": "name,slug,color",
    "04-racks": "site,name,status,width,u_height",
    "06-devices": "name,role,manufacturer,device_type,status,site,rack,position,face",
    "07-cables": "side_a_site,side_a_device,side_a_type,side_a_name,side_b_site,side_b_device,side_b_type,side_b_name,type,status,label,color,length,length_unit",
}
CABLE_TYPES = {"dac-passive", "dac-active", "cat6a", "aoc", "mmf-om3", "mmf-om4", "smf-os2"}
INTERFACE_TYPES = {
    *("1000base-t", "10gbase-t", "10gbase-x-sfpp", "25gbase-x-sfp28", "100gbase-x-qsfp28", "100gbase-x-qsfpdd", "200gbase-x-qsfp56", "200gbase-x-qsfpdd"),
    *("400gbase-x-qsfp112", "400gbase-x-qsfpdd", "400gbase-x-osfp", "800gbase-x-osfp", "800gbase-x-qsfpdd", "1.6tbase-x-osfp1600", "1.6tbase-x-qsfpdd1600"),
    *("infiniband-edr", "infiniband-hdr", "infiniband-ndr", "infiniband-xdr", "other"),
}
"""Types of NetBox 4.6 that may be written."""


@pytest.fixture(scope="module", params=[*PLANS, "ethernet", "infiniband", "mixed"], ids=lambda p: p if isinstance(p, str) else f"{p[0]}-{p[1]}-{p[2]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan], cluster_of: Callable[..., Plan]) -> Plan:
    if isinstance(request.param, str):
        return cluster_of(request.param)
    node, count, family, more = request.param
    return plan_of(node, count, family, **more)


@pytest.fixture(scope="module")
def archive(plan: Plan) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(netbox.files(plan)["netbox.zip"])) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def rows(archive: dict[str, bytes], prefix: str) -> list[dict[str, str]]:
    return [row for name, data in archive.items() if name.startswith(prefix) for row in csv.DictReader(io.StringIO(data.decode()))]


def types(archive: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    return {t["model"]: t for t in yaml.safe_load_all(archive["05-device-types.yaml"])}


def test_files_stand_in_order_of_import_and_in_batches_of_500(archive: dict[str, bytes]) -> None:
    assert list(archive) == sorted(archive)
    assert {name[:2] for name in archive} == {"01", "02", "03", "04", "05", "06", "07"}
    for name, data in archive.items():
        if name.endswith(".csv"):
            lines = data.decode().splitlines()
            assert lines[0] == COLUMNS[re.sub(r"(-[0-9]+)?\.csv$", "", name)]
            assert 2 <= len(lines) <= 501


def test_the_zip_is_the_same_every_time(plan: Plan) -> None:
    first = netbox.files(plan)["netbox.zip"]
    assert netbox.files(plan)["netbox.zip"] == first
    with zipfile.ZipFile(io.BytesIO(first)) as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_every_reference_resolves(archive: dict[str, bytes]) -> None:
    sites, vendors, roles, racks = ({row["name"] for row in rows(archive, prefix)} for prefix in ("01", "02", "03", "04"))
    models = types(archive)
    assert {t["manufacturer"] for t in models.values()} <= vendors
    for row in rows(archive, "06"):
        assert row["site"] in sites
        assert row["role"] in roles
        assert row["rack"] in racks
        assert row["manufacturer"] == models[row["device_type"]]["manufacturer"]
    devices = {row["name"]: {port["name"] for port in models[row["device_type"]]["interfaces"]} for row in rows(archive, "06")}
    used = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in rows(archive, "07") for side in "ab"]
    assert len(set(used)) == len(used)
    assert all(port in devices[device] for device, port in used)


def test_devices_and_racks_come_back(plan: Plan, archive: dict[str, bytes]) -> None:
    wanted = tables.devices(plan).select("device", "role", "model", "rack", pl.col("ru").cast(pl.String).fill_null("")).rows()
    assert [(r["name"], r["role"], r["device_type"], r["rack"], r["position"]) for r in rows(archive, "06")] == wanted
    heights = {t["model"]: t["u_height"] for t in types(archive).values()}
    assert all(heights[model] == height for model, height in tables.devices(plan).select("model", "height_ru").iter_rows())
    assert [(r["name"], r["u_height"]) for r in rows(archive, "04")] == tables.racks(plan).select("rack", pl.col("height_ru").cast(pl.String)).rows()


def test_values_are_those_that_netbox_takes(archive: dict[str, bytes]) -> None:
    for row in rows(archive, "07"):
        assert row["side_a_type"] == row["side_b_type"] == "dcim.interface"
        assert row["type"] in CABLE_TYPES
        assert row["status"] == "planned"
        assert len(row["label"]) <= 100
        assert re.fullmatch(r"[0-9a-f]{6}", row["color"])
        assert re.fullmatch(r"[0-9]+(\.[0-9]{1,2})?", row["length"])
        assert row["length_unit"] == "m"
    assert {row["status"] for row in rows(archive, "04")} <= {"planned", "reserved"}
    assert all(re.fullmatch(r"[0-9a-f]{6}", row["color"]) for row in rows(archive, "03"))
    assert all(re.fullmatch(r"[a-z0-9-]+", row["slug"]) for prefix in ("01", "02", "03") for row in rows(archive, prefix))


def test_device_types_have_each_port_once_with_a_type_that_netbox_knows(archive: dict[str, bytes]) -> None:
    for device_type in types(archive).values():
        names = [port["name"] for port in device_type["interfaces"]]
        assert len(set(names)) == len(names)
        assert all(len(name) <= 64 for name in names)
        assert {port["type"] for port in device_type["interfaces"]} <= INTERFACE_TYPES
        assert re.fullmatch(r"[a-z0-9-]+", device_type["slug"])


def test_split_cages_have_children_and_whole_ones_the_cage(plan_of: Callable[..., Plan]) -> None:
    ports = {p["name"]: p["type"] for t in netbox.device_types(plan_of("hgx-b300", 4, "spectrum-x")) if t["model"] == "nvidia-sn5600" for p in t["interfaces"]}
    assert ports["swp1s0"] == ports["swp1s1"] == "400gbase-x-osfp"
    assert "swp1" not in ports
    assert ports["swp64"] == "800gbase-x-osfp"
    assert ports["swp65"] == "25gbase-x-sfp28"
    assert ports["eth0"] == "1000base-t"


def test_every_cage_of_the_catalog_has_a_type(catalog: Catalog) -> None:
    for switch in catalog.switches.values():
        for group in switch.cages:
            for mode in group.modes:
                kind = interface_type(group.form, mode.gbps, switch.protocol == "infiniband")
                assert kind in INTERFACE_TYPES
                assert kind != "other" or group.form in ("mpo", "cpo") or mode.gbps < 10


def test_a_port_slower_than_any_type_of_its_cage_takes_the_next_faster() -> None:
    assert interface_type("osfp", 100, False) == "400gbase-x-osfp"
    assert interface_type("osfp224", 1600, False) == "1.6tbase-x-osfp1600"
    assert interface_type("osfp224", 800, True) == "infiniband-xdr"
    assert interface_type("cpo", 800, False) == "other"
    assert {t for speeds in ETHERNET.values() for t in speeds.values()} | set(INFINIBAND.values()) <= INTERFACE_TYPES


def test_what_takes_no_unit_has_neither_position_nor_face(cluster_of: Callable[..., Plan]) -> None:
    table = netbox.devices(cluster_of("ethernet"))
    assert set(table.filter(pl.col("role") == "pdu").select("position", "face").rows()) == {(None, None)}
    assert table.filter(pl.col("role") != "pdu").select("position", "face").null_count().row(0) == (0, 0)


def test_ports_of_an_infiniband_node_on_ethernet_fabrics_are_ethernet_ports(cluster_of: Callable[..., Plan]) -> None:
    ports = {p["name"]: p["type"] for t in netbox.device_types(cluster_of("infiniband")) if t["model"] == "dgx-h100" for p in t["interfaces"]}
    assert ports["BMC"] == ports["LAN"] == "1000base-t"
    assert ports["OSFP1P1"] == ports["Slot1 P1"] == "infiniband-ndr"
    assert not ports["Slot3 P1"].startswith("infiniband")
