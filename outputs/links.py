"""Links with both ends by name, as the programs that check, simulate or document cabling read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE
from ..problems import DesignError, Problem
from ..vendors.models import Node, Switch
from . import tables

if TYPE_CHECKING:
    from ..plan import Plan

PREFIXES = {"ethernet": "eth", "infiniband": "ib"}


def links(plan: Plan) -> pl.DataFrame:
    """One row for each link, in link order: `link, fabric, tier, rail, plane, gpu, gbps, cable`, then both ends.

    Columns of an end, behind `a_` or `b_`: `device, host, role, pod, cage_no, child, port, os_name, interface, module, rack, ru`.
    `host` tells servers from switches; `interface` is what the operating system calls the port; see `interfaces`.
    """
    devices = plan.topology.devices.select("dev", pl.col("profile").is_in(host_profiles(plan)).alias("host"), "role", _known("pod"), "profile")
    ends = interfaces(plan, tables.link_ends(plan).join(devices, on="dev", how="left", maintain_order="left"))
    columns = ("device", "host", "role", "pod", "cage_no", "child", "port", "os_name", "interface", "module", "rack", "ru")
    sides = {side: ends.filter(pl.col("end") == side.upper()).sort("link") for side in "ab"}
    shared = sides["a"].select("link", "fabric", "tier", "rail", "plane", "gpu", "gbps", "cable")
    return pl.concat([shared, *(half.select(pl.col(columns).name.prefix(f"{side}_")) for side, half in sides.items())], how="horizontal")


def interfaces(plan: Plan, ends: pl.DataFrame) -> pl.DataFrame:
    """Link ends with a column `interface`: a switch port's own name; on a host the catalog's network device.

    Where nobody knows the network device it is `eth_r3` (`ib_r3`), rail 3; with several ports for each GPU `eth_r3p0`,
    `eth_r3p1` in connector order. A host must be given these names (systemd.link) or announce them by LLDP.
    """
    known = pl.DataFrame(_netdevs(plan), schema={"profile": pl.String, "port": pl.String, "netdev": pl.String}, orient="row")
    prefix = pl.col("fabric").replace_strict({name: PREFIXES[protocol] for name, protocol in protocols(plan).items()}, return_dtype=pl.String)
    nth, of = pl.int_range(pl.len()).over("dev", "fabric", "gpu"), pl.len().over("dev", "fabric", "gpu")
    made = pl.concat_str(prefix, pl.lit("_r"), pl.col("rail"), pl.when(of > 1).then(pl.concat_str(pl.lit("p"), nth)).otherwise(pl.lit("")))
    name = pl.when(~pl.col("host")).then(pl.col("port")).otherwise(pl.coalesce("netdev", pl.when(pl.col("gpu").is_not_null()).then(made), "port"))
    return ends.join(known, on=["profile", "port"], how="left", maintain_order="left").with_columns(name.alias("interface")).drop("netdev")


def _netdevs(plan: Plan) -> list[tuple[str, str, str]]:
    """(profile, port, network device) of every host port whose network device is known; a split connector has none of its own."""
    ethernet = "ethernet" in protocols(plan).values()
    found = []
    for name, profile in plan.topology.profiles.items():
        if isinstance(profile.part, Node):
            for port in profile.part.ports:
                netdev = port.netdev_eth if ethernet else port.netdev_ib
                if netdev:
                    found.append((name, port.label, netdev))
    return found


def protocols(plan: Plan) -> dict[str, str]:
    """Fabric -> ethernet or infiniband, as its switches speak it."""
    return {fabric: plan.catalog.switches[model].protocol for fabric, model in switches(plan)}


def switches(plan: Plan) -> list[tuple[str, str]]:
    """(fabric, model) of every kind of switch."""
    return plan.topology.devices.filter(~pl.col("profile").is_in(host_profiles(plan))).select("fabric", "model").unique(maintain_order=True).rows()


def host_profiles(plan: Plan) -> list[str]:
    """Profiles of servers; every other one is of a switch."""
    return [name for name, profile in plan.topology.profiles.items() if isinstance(profile.part, Node)]


def ethernet_links(plan: Plan, reader: str) -> pl.DataFrame:
    """The links of Ethernet fabrics; raises DesignError when there are none, for `reader` knows nothing else."""
    ethernet = [fabric for fabric, protocol in protocols(plan).items() if protocol == "ethernet"]
    if not ethernet:
        why = f"the fabrics of {plan.design.name} are InfiniBand"
        raise DesignError([Problem("format", "--only", f"{reader} is for Ethernet fabrics", why, "leave it out of --only", "note")])
    return links(plan).filter(pl.col("fabric").is_in(ethernet))


def switch_os(plan: Plan, fabric: str, switch: Switch) -> str:
    """Operating system whose port names the plan prints for a switch."""
    asked = next(spec.switch_os for name, spec in plan.design.rails.items() if name == fabric)
    return asked or switch.port_names[0].os


def _known(column: str) -> pl.Expr:
    return pl.when(pl.col(column) != NONE).then(pl.col(column)).alias(column)
