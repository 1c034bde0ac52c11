"""Device types for NetBox: every model of the plan with its interfaces.

The type of an interface names the cage and what the port runs at, as NetBox's list does: a 400G port of an OSFP cage is
`400gbase-x-osfp`, whatever the cage could do whole. Where NetBox has no such type the next faster one of that cage stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..fabric.ports import switch_port_name
from ..vendors.models import Node, PortNames, Switch
from .links import switch_os, switches

if TYPE_CHECKING:
    from ..fabric.topology import Profile
    from ..plan import Plan

ETHERNET: dict[str, dict[int, str]] = {
    "osfp": {400: "400gbase-x-osfp", 800: "800gbase-x-osfp", 1600: "1.6tbase-x-osfp1600"},
    "qsfp-dd": {100: "100gbase-x-qsfpdd", 200: "200gbase-x-qsfpdd", 400: "400gbase-x-qsfpdd", 800: "800gbase-x-qsfpdd", 1600: "1.6tbase-x-qsfpdd1600"},
    "qsfp112": {400: "400gbase-x-qsfp112"},
    "qsfp56": {200: "200gbase-x-qsfp56"},
    "qsfp28": {100: "100gbase-x-qsfp28"},
    "sfp28": {25: "25gbase-x-sfp28"},
    "sfp+": {10: "10gbase-x-sfpp"},
    "rj45": {1: "1000base-t", 10: "10gbase-t"},
}
"""Form of the cage -> speed in Gb/s -> NetBox's interface type. OSFP224 cages count as osfp."""

INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
"""Speed in Gb/s of a four-lane port -> NetBox's interface type."""

AIRFLOW = {"p2c": "rear-to-front", "c2p": "front-to-rear"}
"""NetBox counts from the ports' side: power side to connector side blows from the rear to the front."""

MANAGEMENT = "1000base-t"
OTHER = "other"


def device_types(plan: Plan) -> list[dict[str, Any]]:
    """A device type for each model, in the order in which the plan's profiles name them."""
    by_model: dict[str, list[Profile]] = {}
    for profile in plan.topology.profiles.values():
        by_model.setdefault(profile.part.model, []).append(profile)
    names = {(p, cage, child): name for p, cage, child, name in plan.topology.port_names.select("profile", "cage", "child", "port").iter_rows()}
    naming = {model: _naming(plan, fabric, plan.catalog.switches[model]) for fabric, model in switches(plan)}
    return [_device_type(profiles, names, naming) for profiles in by_model.values()]


def _naming(plan: Plan, fabric: str, switch: Switch) -> PortNames:
    """How the plan names the ports of a switch."""
    return next(names for names in switch.port_names if names.os == switch_os(plan, fabric, switch))


def _device_type(profiles: list[Profile], names: dict[tuple[str, int, int], str], naming: Mapping[str, PortNames]) -> dict[str, Any]:
    part = profiles[0].part
    assert isinstance(part, Switch | Node)
    found: dict[str, Any] = {
        "manufacturer": part.vendor,
        "model": part.model,
        "slug": re.sub(r"[^a-z0-9]+", "-", f"{part.vendor} {part.model}".lower()).strip("-"),
        "part_number": part.part_numbers[0] if part.part_numbers else "",
        "u_height": part.height_ru,
        "is_full_depth": True,
    }
    if isinstance(part, Switch) and part.airflow in AIRFLOW:
        found["airflow"] = AIRFLOW[part.airflow]
    if part.weight_kg:
        found |= {"weight": round(part.weight_kg, 2), "weight_unit": "kg"}
    ports: dict[str, dict[str, Any]] = {}
    for port in [*_management(part, naming), *(port for profile in profiles for port in _used(profile, names)), *_unused(part, profiles, naming)]:
        ports.setdefault(port["name"], port)
    return {**found, "interfaces": list(ports.values())}


def _management(part: Switch | Node, naming: Mapping[str, PortNames]) -> Iterator[dict[str, Any]]:
    """Ports to manage the device by: eth0, eth1 of a switch, BMC of a node."""
    if isinstance(part, Node):
        names = [port.label for port in part.ports if port.use == "bmc"]
    elif group := part.management_cages:
        names = [switch_port_name(naming[part.model], cage, 0, group.modes[0]) for cage in range(group.first, group.first + group.count)]
    else:
        names = []
    yield from ({"name": name, "type": MANAGEMENT, "mgmt_only": True} for name in names)


def _used(profile: Profile, names: dict[tuple[str, int, int], str]) -> Iterator[dict[str, Any]]:
    """Ports of the cages that the plan runs."""
    for use in profile.cages.values():
        for child in range(use.ports):
            name = names.get((profile.name, use.cage, child))
            if name:
                yield {"name": name, "type": interface_type(use.hardware.form, use.mode.gbps, profile.protocol_of(use.cage) == "infiniband"), "label": use.label}


def _unused(part: Switch | Node, profiles: list[Profile], naming: Mapping[str, PortNames]) -> Iterator[dict[str, Any]]:
    """Ports of cages that no profile runs: a node's after their label, a switch's split as little as can be."""
    run = {use.label for profile in profiles for use in profile.cages.values()}
    if isinstance(part, Node):
        forms = {cage.label: cage.form for cage in part.cages}
        for port in part.ports:
            if port.cage not in run and port.use != "bmc":
                form = forms[port.cage]
                yield {"name": port.label, "type": interface_type(form, top_speed(form), False), "label": port.cage}
        return
    for group in part.cages:
        mode = min(group.modes, key=lambda m: m.ports)
        for cage in range(group.first, group.first + group.count):
            for child in range(mode.ports if str(cage) not in run else 0):
                name = switch_port_name(naming[part.model], cage, child, mode, part.cages_per_card)
                yield {"name": name, "type": interface_type(group.form, mode.gbps, part.protocol == "infiniband"), "label": str(cage)}


def top_speed(form: str) -> int:
    """Fastest type of a form, in Gb/s."""
    return max(ETHERNET.get(form.replace("osfp224", "osfp"), {0: OTHER}))


def interface_type(form: str, gbps: int, infiniband: bool) -> str:
    """NetBox's type of a port: by form of the cage and speed; `other` for cages that NetBox does not know."""
    if infiniband:
        return INFINIBAND.get(gbps, OTHER)
    speeds = ETHERNET.get(form.replace("osfp224", "osfp"), {})
    faster = [speed for speed in sorted(speeds) if speed >= gbps]
    return speeds[faster[0]] if faster else OTHER
