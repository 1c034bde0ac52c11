"""Links with both ends by name, as the programs that check, simulate or document cabling read them."""

from __future__ import annotations

import re
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

    Columns of an end, behind `a_` or `b_`: `device, host, role, pod, cage_no, child, port, os_name, interface, mute, module, rack, ru`.
    `host` tells servers from switches; `interface` is what the operating system calls the port, see `interfaces`; `mute` says that
    no operating system serves the port.
    """
    devices = plan.topology.devices.select("dev", pl.col("profile").is_in(host_profiles(plan)).alias("host"), "role", _known("pod"), "profile")
    ends = interfaces(plan, tables.link_ends(plan).join(devices, on="dev", how="left", maintain_order="left"))
    columns = ("device", "host", "role", "pod", "cage_no", "child", "port", "os_name", "interface", "mute", "module", "rack", "ru")
    sides = {side: ends.filter(pl.col("end") == side.upper()).sort("link") for side in "ab"}
    shared = sides["a"].select("link", "fabric", "tier", "rail", "plane", "gpu", "gbps", "cable")
    return pl.concat([shared, *(half.select(pl.col(columns).name.prefix(f"{side}_")) for side, half in sides.items())], how="horizontal")


def interfaces(plan: Plan, ends: pl.DataFrame) -> pl.DataFrame:
    """Link ends with columns `interface` and `mute`: a switch port's own name; on a host the catalog's network device.

    Where nobody knows the network device it is `eth_r3` (`ib_r3`), rail 3; with several ports for each GPU `eth_r3p0`,
    `eth_r3p1` in connector order; on a fabric other than compute `eth_bf3_p1`, port BF3 P1 of the chassis. A host must be
    given these names (systemd.link) or announce them by LLDP. What speaks no LLDP keeps the name of its port.
    """
    spoken = protocols(plan)
    known = pl.DataFrame(_netdevs(plan), schema={"profile": pl.String, "port": pl.String, "protocol": pl.String, "netdev": pl.String}, orient="row")
    mute = pl.DataFrame(_mute(plan), schema={"profile": pl.String, "port": pl.String}, orient="row").with_columns(mute=True)
    ends = ends.with_columns(protocol=pl.col("fabric").replace_strict(spoken, return_dtype=pl.String))
    prefix = pl.col("protocol").replace_strict(PREFIXES, return_dtype=pl.String)
    nth, of = pl.int_range(pl.len()).over("dev", "fabric", "gpu"), pl.len().over("dev", "fabric", "gpu")
    made = pl.concat_str(prefix, pl.lit("_r"), pl.col("rail"), pl.when(of > 1).then(pl.concat_str(pl.lit("p"), nth)).otherwise(pl.lit("")))
    other = pl.col("fabric").is_in(list(plan.design.fabrics.others)) & pl.col("mute").is_null()
    words = {port: device_word(port) for port in plan.topology.port_names["port"].unique()}
    labelled = pl.concat_str(prefix, pl.lit("_"), pl.col("port").replace_strict(words, return_dtype=pl.String))
    own = pl.coalesce("netdev", pl.when(pl.col("gpu").is_not_null()).then(made), pl.when(other).then(labelled), "port")
    return (
        ends.join(known, on=["profile", "port", "protocol"], how="left", maintain_order="left")
        .join(mute, on=["profile", "port"], how="left", maintain_order="left")
        .with_columns(pl.when("host").then(own).otherwise("port").alias("interface"), pl.col("mute").fill_null(False))
        .drop("netdev", "protocol")
    )


def device_word(label: str) -> str:
    """Label of a port as part of a network device's name, which has 15 characters: words before the last two by their first letter."""
    words = re.findall("[a-z0-9]+", label.lower())
    return "_".join([*(word[0] for word in words[:-2]), *words[-2:]])


def _netdevs(plan: Plan) -> list[tuple[str, str, str, str]]:
    """(profile, port, protocol, network device) of every host port whose network device is known; a split connector has none of its own."""
    found = []
    for name, profile in plan.topology.profiles.items():
        if isinstance(profile.part, Node):
            for port in profile.part.ports:
                known = (("ethernet", port.netdev_eth), ("infiniband", port.netdev_ib))
                found += [(name, port.label, protocol, netdev) for protocol, netdev in known if netdev]
    return found


def _mute(plan: Plan) -> list[tuple[str, str]]:
    """(profile, port) of ports that no operating system serves, so that nothing announces them: BMCs and PDUs."""
    parts = [(name, p.part) for name, p in plan.topology.profiles.items() if isinstance(p.part, Node)]
    pdus = set(plan.topology.devices.filter(pl.col("role") == "pdu")["profile"])
    return [(name, port.label) for name, part in parts for port in part.ports if port.use == "bmc" or name in pdus]


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
        why = f"the compute fabric of {plan.design.name} is InfiniBand"
        raise DesignError([Problem("format", "--only", f"{reader} is for Ethernet fabrics", why, "leave it out of --only", "note")])
    return links(plan).filter(pl.col("fabric").is_in(ethernet))


def switch_os(plan: Plan, fabric: str, switch: Switch) -> str:
    """Operating system whose port names the plan prints for a switch."""
    asked = plan.design.spec_of(fabric).switch_os
    return asked or switch.port_names[0].os


def _known(column: str) -> pl.Expr:
    return pl.when(pl.col(column) != NONE).then(pl.col(column)).alias(column)
