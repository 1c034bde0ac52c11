"""containerlab.yaml: the fabric, or a slice of it, as a lab of containers: `containerlab deploy -t containerlab.yaml`.

Ports are eth1, eth2, ... in faceplate order, as every kind of container understands them; `vars` of a link hold the real
names and the cable. Change kinds and images to what you run, in one place each. Names are at most 15 characters:
a longer one becomes its role and number, and the label `device` keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from . import DEFAULTS, Options
from .links import ethernet_links, host_profiles
from .slice import cut
from .yaml_text import documents, heading

if TYPE_CHECKING:
    from ..plan import Plan

NAME_MAX = 15
"""Characters of a name; Linux gives an interface no more (IFNAMSIZ)."""

SWITCH_KIND, HOST_KIND = "sonic-vs", "linux"
IMAGES = {SWITCH_KIND: "docker-sonic-vs:latest", HOST_KIND: "ghcr.io/srl-labs/network-multitool:latest"}
"""Image of each kind; SONiC's is built or downloaded by the user."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render containerlab.yaml of the Ethernet fabrics."""
    return {"containerlab.yaml": containerlab_yaml(plan, options.slice)}


def containerlab_yaml(plan: Plan, text: str = "") -> bytes:
    """The file for a slice; raises DesignError when the slice is not one."""
    links = numbered(cut(plan, ethernet_links(plan, "containerlab"), text))
    used = pl.concat([links["a_device"], links["b_device"]]).unique()
    devices = plan.topology.devices.filter(pl.col("device").is_in(used.implode()))
    names = short_names(devices.select("device", "role").rows(), set(plan.topology.devices["device"]))
    nodes = {}
    hosts = host_profiles(plan)
    for device, role, model, profile in devices.select("device", "role", "model", "profile").iter_rows():
        kind = HOST_KIND if profile in hosts else SWITCH_KIND
        nodes[names[device]] = {"kind": kind, "group": role, "labels": {"device": device, "model": model}}
    columns = ("a_device", "a_eth", "b_device", "b_eth", "cable", "a_port", "b_port")
    lab: list[dict[str, Any]] = [
        {"endpoints": [f"{names[a]}:eth{a_eth}", f"{names[b]}:eth{b_eth}"], "vars": {"cable": cable, "a_port": a_port, "b_port": b_port}}
        for a, a_eth, b, b_eth, cable, a_port, b_port in links.select(columns).iter_rows()
    ]
    topology = {"kinds": {kind: {"image": image} for kind, image in IMAGES.items()}, "nodes": nodes, "links": lab}
    head = heading(plan, f"containerlab topology ({text or 'whole fabric'})")
    return documents(head, [{"name": plan.design.name, "topology": topology}], flow=None)


def numbered(links: pl.DataFrame) -> pl.DataFrame:
    """Links with `a_eth` and `b_eth`: number of the port among the used ones of its device, in faceplate order, from 1."""
    ends = pl.concat(links.select("link", pl.lit(side).alias("side"), *(pl.col(f"{side}_{name}").alias(name) for name in ("device", "cage_no", "child"))) for side in "ab")
    ends = ends.sort("device", "cage_no", "child").with_columns((pl.int_range(pl.len()).over("device") + 1).alias("eth"))
    for side in "ab":
        there = ends.filter(pl.col("side") == side).select("link", pl.col("eth").alias(f"{side}_eth"))
        links = links.join(there, on="link", how="left", maintain_order="left")
    return links


def short_names(devices: list[tuple[str, str]], taken: set[str]) -> dict[str, str]:
    """Device -> a name of at most 15 characters: its own, or role and number, skipping names that are in use."""
    names = {}
    counts: dict[str, int] = {}
    for device, role in devices:
        name = device
        while len(name) > NAME_MAX or (name != device and name in taken):
            counts[role] = counts.get(role, 0) + 1
            name = f"{role[:5]}{counts[role]}"
        names[device] = name
    return names
