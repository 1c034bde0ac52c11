"""air.json: the fabric as NVIDIA Air imports it: machines with an image, and links between their interfaces.

The format is the `content` of Air's simulation import (format JSON). The out-of-band network is left to Air.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from ..problems import DesignError, Problem
from ..vendors.models import Switch
from . import DEFAULTS, Options
from .links import ethernet_links, switch_os

if TYPE_CHECKING:
    from ..plan import Plan

SWITCH: dict[str, str | int] = {"os": "cumulus-vx-5.10.1", "cpu": 2, "memory": 4096}
HOST: dict[str, str | int] = {"os": "generic/ubuntu2404", "cpu": 1, "memory": 1024}
"""Image, cores and MiB of a machine; images are named as in Air's documentation, another one is a search and replace away."""

SIMULATED = "Cumulus Linux"
"""Switch operating system whose port names Air's image uses as they are."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render air.json of the Ethernet fabrics."""
    return {"air.json": air_json(plan).encode()}


def air_json(plan: Plan) -> str:
    """Text of the file, a line for each machine and link; raises DesignError for switches that Air has no image of."""
    links = ethernet_links(plan, "air")
    nodes = list(machines(plan, links))
    strange = [device for device, _, machine in nodes if not machine]
    if strange:
        what = f"{len(strange)} switches do not run {SIMULATED}, the first is {strange[0]}"
        fix = f"set switch_os to {SIMULATED} where the switch has it, or leave air out of --only"
        raise DesignError([Problem("format", "air", what, "NVIDIA Air has no image with such port names", fix)])
    machine_lines = [f"  {json.dumps(device)}: {json.dumps(machine)}" for device, _, machine in nodes]
    ends = links.select("a_device", "a_interface", "b_device", "b_interface").iter_rows()
    link_lines = [f"  {json.dumps([{'node': a, 'interface': a_port}, {'node': b, 'interface': b_port}])}" for a, a_port, b, b_port in ends]
    return '{\n "oob": true,\n "nodes": {\n' + ",\n".join(machine_lines) + '\n },\n "links": [\n' + ",\n".join(link_lines) + "\n ]\n}\n"


def machines(plan: Plan, links: pl.DataFrame) -> Iterator[tuple[str, str, dict[str, str | int]]]:
    """(device, role, its image and size) of every device with a link, in device order; {} where Air has no image."""
    used = pl.concat([links["a_device"], links["b_device"]]).unique()
    devices = plan.topology.devices.filter(pl.col("device").is_in(used.implode()))
    for device, role, fabric, profile in devices.select("device", "role", "fabric", "profile").iter_rows():
        part = plan.topology.profiles[profile].part
        if isinstance(part, Switch):
            yield device, role, dict(SWITCH) if switch_os(plan, fabric, part) == SIMULATED else {}
        else:
            yield device, role, dict(HOST)
