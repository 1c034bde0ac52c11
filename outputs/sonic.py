"""sonic-device-neighbor.json: switch -> its DEVICE_NEIGHBOR table and port descriptions, as SONiC's configuration database has them.

Ports are named as SONiC names them, whatever the rest of the plan prints. Nothing else is said of a port: speed, lanes and
aliases come from the switch's platform file. Break the ports out first, then load the part of one switch:
`jq '."leaf-01"' sonic-device-neighbor.json > neighbors.json && config load -y neighbors.json`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from ..fabric.ports import switch_port_name
from ..problems import DesignError, Problem
from ..vendors.models import Switch
from . import DEFAULTS, Options
from .links import ethernet_links

if TYPE_CHECKING:
    from ..plan import Plan

OS = "SONiC"
"""Port naming of the catalog that the configuration database uses."""


END = ("device", "host", "cage_no", "child", "interface")


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render sonic-device-neighbor.json of the Ethernet fabrics."""
    text = json.dumps(device_neighbors(plan), indent=1) + "\n"
    return {"sonic-device-neighbor.json": text.encode()}


def device_neighbors(plan: Plan) -> dict[str, Any]:
    """Switch -> tables; raises DesignError for switch models whose SONiC port names nobody knows."""
    links = ethernet_links(plan, "sonic")
    names = sonic_names(plan)
    devices = plan.topology.devices.select("device", "profile")
    sides = []
    for near, far in ("ab", "ba"):
        side = links.select("cable", *(pl.col(f"{end}_{name}").alias(f"{at}_{name}") for end, at in ((near, "near"), (far, "far")) for name in END))
        for at in ("near", "far"):
            keys = {"device": f"{at}_device", "profile": f"{at}_profile"}
            side = side.join(devices.rename(keys), on=f"{at}_device", how="left", maintain_order="left")
            there = names.rename({"profile": f"{at}_profile", "cage_no": f"{at}_cage_no", "child": f"{at}_child", "name": f"{at}_name"})
            side = side.join(there, on=[f"{at}_profile", f"{at}_cage_no", f"{at}_child"], how="left", maintain_order="left")
        sides.append(side.filter(~pl.col("near_host")))
    rows = pl.concat(sides).join(devices.with_row_index("order").select("device", "order"), left_on="near_device", right_on="device", how="left")
    tables: dict[str, Any] = {}
    columns = ("near_device", "near_name", "far_device", pl.coalesce("far_name", "far_interface").alias("far_port"), "cable")
    for switch, port, peer, peer_port, cable in rows.sort("order", "near_cage_no", "near_child").select(columns).iter_rows():
        here = tables.setdefault(switch, {"DEVICE_NEIGHBOR": {}, "PORT": {}})
        here["DEVICE_NEIGHBOR"][port] = {"name": peer, "port": peer_port}
        here["PORT"][port] = {"description": f"{peer} {peer_port} {cable}"}
    return tables


def sonic_names(plan: Plan) -> pl.DataFrame:
    """SONiC's name of every configured switch port: `profile, cage_no, child, name`."""
    rows, problems = [], []
    for profile, facts in plan.topology.profiles.items():
        part = facts.part
        if not isinstance(part, Switch):
            continue
        names = next((n for n in part.port_names if n.os == OS), None)
        if names is None:
            problems.append(Problem("format", "sonic", f"SONiC port names of {part.model} are not known", fix="add them to its catalog file, or leave sonic out"))
        else:
            rows += [
                (profile, use.cage, child, switch_port_name(names, use.cage, child, use.mode, part.cages_per_card)) for use in facts.cages.values() for child in range(use.ports)
            ]
    if problems:
        raise DesignError(dict.fromkeys(problems))
    return pl.DataFrame(rows, schema={"profile": pl.String, "cage_no": pl.Int32, "child": pl.Int32, "name": pl.String}, orient="row")
