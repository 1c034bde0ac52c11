"""ansible-inventory.yaml: devices in groups by role, SU, plane and rack, switches by fabric and servers by kind, with where they stand and what each port meets.

`ansible-inventory -i ansible-inventory.yaml --graph` shows it. Group names have an underscore, host names have none.
Addresses are not the planner's: add them in host_vars or by DNS.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from . import DEFAULTS, Options, tables
from .links import host_profiles, links
from .yaml_text import heading

if TYPE_CHECKING:
    from ..plan import Plan

FACTS = ("model", "role", "fabric", "pod", "rail", "plane", "rack", "ru")
"""Columns of devices.csv that a host has as variables, where they apply."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render ansible-inventory.yaml."""
    return {"ansible-inventory.yaml": inventory(plan).encode()}


def inventory(plan: Plan) -> str:
    """Text of the inventory: all hosts once with their variables, then the groups. Texts are quoted as in JSON, which is YAML too."""
    ports = _ports(plan)
    groups: dict[str, list[str]] = {}
    several = len(plan.topology.fabrics) > 1
    lines = ["all:", "  vars:", f"    railplan_plan: {json.dumps(plan.design.name)}", "  hosts:"]
    for row in tables.devices(plan).iter_rows(named=True):
        device = json.dumps(row["device"])
        lines.append(f"    {device}:")
        lines += [f"      {name}: {json.dumps(row[name])}" for name in FACTS if row[name] not in (None, "")]
        lines += ["      ports:", *(f"      - {port}" for port in ports[row["device"]])] if row["device"] in ports else []
        for group in _groups(row, several):
            groups.setdefault(group, []).append(device)
    hosts = plan.topology.devices.filter(pl.col("profile").is_in(host_profiles(plan)))
    servers = [f"role_{role}" for role in hosts["role"].unique(maintain_order=True) if f"role_{role}" in groups and role != "pdu"]
    switches = [group for group in groups if group.startswith("role_") and group not in (*servers, "role_pdu")]
    lines.append("  children:")
    for parent, children in (("all_servers", servers), ("all_switches", switches)):
        lines += [f"    {parent}:", "      children:", *(f"        {group}:" for group in children)]
    for group in sorted(groups):
        lines += [f"    {group}:", "      hosts:", *(f"        {device}:" for device in groups[group])]
    return heading(plan, "Ansible inventory") + "\n".join(lines) + "\n"


def _groups(device: dict[str, Any], several: bool) -> list[str]:
    """Groups of a device, with `several` fabrics also by fabric and kind of server; anything that is no letter or digit becomes an underscore."""
    words = [("role", device["role"]), ("su", device["pod"]), ("plane", device["plane"]), ("rack", device["rack"])]
    if several:
        words += [("fabric", device["fabric"] or None), ("server", device["device"].rsplit("-", 1)[0] if device["role"] == "server" else None)]
    return [f"{word}_{re.sub(r'[^A-Za-z0-9]', '_', str(value))}" for word, value in words if value is not None]


def _ports(plan: Plan) -> dict[str, list[str]]:
    """Device -> its used ports in faceplate order, each as JSON: own names, peer, peer's name of its port, cable, speed."""
    found: dict[str, list[str]] = {}
    every = links(plan)
    sides = []
    for near, far in ("ab", "ba"):
        ends = [pl.col(f"{near}_{name}").alias(name) for name in ("device", "cage_no", "child", "port", "interface")]
        sides.append(every.select(*ends, pl.col(f"{far}_device").alias("peer"), pl.col(f"{far}_interface").alias("peer_port"), "cable", "gbps"))
    for row in pl.concat(sides).sort("device", "cage_no", "child").drop("cage_no", "child").iter_rows(named=True):
        device = row.pop("device")
        found.setdefault(device, []).append(json.dumps(row))
    return found
