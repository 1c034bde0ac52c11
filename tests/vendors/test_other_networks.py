"""What the catalog knows for the front-end, storage and out-of-band networks: modes, BMCs, management sockets, roles, licences."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from railplan.fabric.ports import switch_port_name
from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import MANAGEMENT_CAGE, Node, Switch

CATALOG = load_catalog()
NODES = pytest.mark.parametrize("node", CATALOG.nodes.values(), ids=lambda n: n.model)
SWITCHES = pytest.mark.parametrize("switch", CATALOG.switches.values(), ids=lambda s: s.model)

G1 = {"protocol": "ethernet", "ports": 1, "gbps": 1, "lanes": 1, "lane_gbps": 1}
G400 = {"protocol": "ethernet", "ports": 1, "gbps": 400, "lanes": 4, "lane_gbps": 100}


def node_of(cages: list[dict[str, Any]], ports: list[dict[str, Any]], **fields: Any) -> Node:
    given = {"gpus": 0, "height_ru": 1, "cages": cages, "ports": ports, **fields}
    evidence = [{"fields": [n for n in given if n != "role"], "source": "s", "checked": "2026-11-29", "confidence": "vendor"}]
    return Node.model_validate({"model": "n", "vendor": "v", "description": "d", "evidence": evidence, **given})


def cage(modes: list[dict[str, Any]], form: str = "qsfp112", lanes: int = 4) -> dict[str, Any]:
    return {"label": "P1", "form": form, "lanes": lanes, "modes": modes}


@NODES
def test_every_port_has_modes(node: Node) -> None:
    modes = {c.label: c.modes for c in node.cages}
    for port in node.ports:
        assert node.modes if port.use == "compute" else modes[port.cage], port.label


@NODES
def test_a_qsfp112_port_that_runs_at_400g_also_takes_the_slower_plugs_that_fit_it(node: Node) -> None:
    for here in (c for c in node.cages if c.form == "qsfp112" and c.modes):
        speeds = {(m.gbps, m.lanes, m.lane_gbps) for m in here.modes if m.protocol == "ethernet"}
        assert {(200, 4, 50), (200, 2, 100), (100, 4, 25)} <= speeds


@NODES
def test_servers_have_a_bmc_of_1g_and_power_strips_and_coolers_a_network_socket(node: Node) -> None:
    modes = {c.label: c.modes for c in node.cages}
    wanted = "management" if node.role in ("pdu", "cdu", "edge") else "bmc"
    sockets = [p for p in node.ports if p.use == wanted]
    assert 1 <= len(sockets) <= 2
    assert {m.gbps for p in sockets for m in modes[p.cage]} == {1}


def test_the_bluefield_of_gb300_has_a_bmc_of_its_own() -> None:
    assert [p.label for p in CATALOG.node("gb300-nvl72-tray").ports if p.use == "bmc"] == ["BMC", "BF3 BMC"]


def test_the_north_south_ports_of_hgx_run_at_the_speed_of_their_reference_architecture() -> None:
    for model, gbps in {"hgx-b300": 400, "hgx-b200": 200, "hgx-h200": 200, "hgx-h100": 200}.items():
        node = CATALOG.node(model)
        modes = {c.label: c.modes for c in node.cages}
        assert {max(m.gbps for m in modes[p.cage]) for p in node.ports if p.use in ("inband", "storage")} == {gbps}


def test_a_node_without_a_role_is_a_gpu_node_when_it_has_gpus() -> None:
    assert {n.role for n in CATALOG.nodes.values() if n.gpus} == {"gpu"}
    assert CATALOG.node("cpu-server").role == "cpu"
    assert {n.role for n in CATALOG.nodes.values()} == {"gpu", "cpu", "control", "login", "storage", "management", "edge", "pdu", "cdu"}


@pytest.mark.parametrize(("gpus", "nodes", "appliances"), [(512, 9, 2), (1024, 17, 4), (2304, 38, 9)])
def test_storage_for_a_cluster_of_usual_size(gpus: int, nodes: int, appliances: int) -> None:
    raw, usable = CATALOG.node("storage-node").storage_raw_tb, CATALOG.node("storage-appliance").storage_usable_tb
    assert raw == pytest.approx(24 * 7.68)
    assert raw is not None
    assert usable is not None
    assert (math.ceil(3 * gpus / raw), math.ceil(gpus / usable)) == (nodes, appliances)


def test_what_hangs_beside_the_units_takes_none_of_them_and_passes_its_power_on() -> None:
    assert (CATALOG.node("pdu-rack").height_ru, CATALOG.node("pdu-rack").power_max_w) == (0, 0)


@SWITCHES
def test_management_sockets_are_cages_beyond_every_data_cage(switch: Switch) -> None:
    group = switch.management_cages
    assert (group.count if group else 0) == switch.management_ports
    if group:
        assert group.first == MANAGEMENT_CAGE > max(g.first + g.count - 1 for g in switch.cages)
        assert (group.form, group.use, [m.gbps for m in group.modes]) == ("rj45", "management", [1])
        assert [group.label(group.first + i) for i in range(group.count)] == [f"MGMT{i + 1}" for i in range(group.count)]


@pytest.mark.parametrize(
    ("model", "os", "name"),
    [
        ("nvidia-sn5600", "Cumulus Linux", "eth0"),
        ("nvidia-q3400-ra", "NVOS", "eth0"),
        ("nvidia-qm9700", "MLNX-OS", "mgmt0"),
        ("arista-7060x6-64pe", "EOS", "Management1"),
        ("cisco-n9364e-sg2-o", "NX-OS", "mgmt0"),
        ("juniper-qfx5240-64od", "Junos OS Evolved", "re0:mgmt-0"),
    ],
)
def test_a_management_socket_bears_the_name_of_the_operating_system(model: str, os: str, name: str) -> None:
    switch = CATALOG.switch(model)
    group = switch.management_cages
    assert group
    names = next(n for n in switch.port_names if n.os == os)
    assert switch_port_name(names, group.first, 0, group.modes[0]) == name


def test_the_second_management_socket_has_the_next_number() -> None:
    switch = CATALOG.switch("nvidia-q3400-ra")
    group = switch.management_cages
    assert group
    assert group.count == 2
    assert switch_port_name(switch.port_names[0], group.first + 1, 0, group.modes[0]) == "eth1"


def test_modes_must_fit_the_lanes_of_their_cage() -> None:
    port = {"label": "P1", "cage": "P1", "connector": 1, "use": "storage"}
    node_of([cage([G400])], [port])
    with pytest.raises(ValidationError, match="needs 4 lanes; the cage has 2"):
        node_of([cage([G400], lanes=2)], [port])
    with pytest.raises(ValidationError, match="2 connectors of cage P1 run as 1x400G need more than its 4 lanes"):
        node_of([cage([G400])], [port, {**port, "label": "P2", "connector": 2}])
    with pytest.raises(ValidationError, match="a mode stands twice"):
        node_of([cage([G400, G400])], [port])


def test_modes_that_nobody_would_read_are_refused() -> None:
    port = {"label": "P1", "cage": "P1", "connector": 1}
    with pytest.raises(ValidationError, match="cage P1 lists modes but no port that reads them"):
        node_of([cage([G400])], [port], nic="NIC", modes=[G400])
    with pytest.raises(ValidationError, match="compute ports need modes and a nic"):
        node_of([cage([])], [port])
    with pytest.raises(ValidationError, match="without compute ports there is no use for"):
        node_of([cage([G1], "rj45", 1)], [{**port, "use": "bmc"}], nic="NIC", modes=[G400])


def test_ufm_is_licensed_for_infiniband_families_only() -> None:
    families = {f for licence in CATALOG.licences.values() for f in licence.families}
    assert families == {f for f in CATALOG.families if f.startswith("quantum")}
