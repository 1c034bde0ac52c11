"""ansible-inventory reads our inventory: needs the package ansible-core (pip install ansible-core)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from railplan import Plan
from railplan.outputs import render

PROGRAM = shutil.which("ansible-inventory", path=str(Path(sys.executable).parent)) or shutil.which("ansible-inventory")


@pytest.fixture(scope="module")
def plan(plan_of: Callable[..., Plan]) -> Plan:
    return plan_of("hgx-h100", 40, "spectrum-x")


def inventory(plan: Plan, folder: Path) -> dict[str, Any]:
    if PROGRAM is None:
        pytest.skip("ansible-inventory is not installed: pip install ansible-core")
    (folder / "inventory.yaml").write_bytes(render(plan, ["ansible"])["ansible-inventory.yaml"])
    done = subprocess.run([PROGRAM, "-i", "inventory.yaml", "--list"], cwd=folder, capture_output=True, text=True, check=True, timeout=120)
    assert "WARNING" not in done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(scope="module")
def listed(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return inventory(plan, tmp_path_factory.mktemp("ansible"))


def test_every_device_is_a_host_with_its_place_and_ports(plan: Plan, listed: dict[str, Any]) -> None:
    hosts = listed["_meta"]["hostvars"]
    present = plan.topology.devices.filter("present").select("device", "role").rows()
    assert set(hosts) == {device for device, _ in present}
    ports = plan.topology.links.height * 2
    assert sum(len(facts["ports"]) for facts in hosts.values()) == ports
    assert {device: facts["role"] for device, facts in hosts.items()} == dict(present)
    assert {facts["railplan_plan"] for facts in hosts.values()} == {"cluster"}


def test_groups_go_by_role_su_plane_and_rack(plan: Plan, listed: dict[str, Any]) -> None:
    nodes = plan.topology.devices.filter(pl.col("role") == "node")["device"]
    assert sorted(listed["role_node"]["hosts"]) == sorted(nodes)
    assert listed["all_servers"]["children"] == ["role_node"]
    assert sorted(listed["all_switches"]["children"]) == ["role_leaf", "role_spine"]
    first_rack = plan.placement.places["rack"][0]
    assert "gpu-001" in listed[f"rack_{first_rack}"]["hosts"]
    assert "gpu-001" in listed["su_0"]["hosts"]


def test_a_whole_cluster_is_grouped_by_fabric_and_kind_of_server(cluster_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = cluster_of("ethernet")
    listed = inventory(plan, tmp_path)
    devices = plan.topology.devices
    for fabric in plan.topology.fabrics:
        assert sorted(listed[f"fabric_{fabric}"]["hosts"]) == sorted(devices.filter(pl.col("fabric") == fabric)["device"])
    assert sorted(listed["server_cpu"]["hosts"]) == sorted(devices.filter(pl.col("role") == "server")["device"])
    assert sorted(listed["all_servers"]["children"]) == ["role_node", "role_server"]
    assert "ru" not in listed["_meta"]["hostvars"]["pdu-001"]
