"""InfiniBand: the planned subnets for OpenSM, the simulator ibsim, and the tools that compare plan and floor.

fabric.ibnet      all devices and links as ibnetdiscover prints them; ibsim loads it
root_guids.conf   for opensm -a: the top switches, from which a fat tree is ranked
cn_guids.conf     for opensm -u: the ports of the GPUs, over which it balances
partitions.conf   for opensm -P, where the design has tenants: a partition for each
fabric.topo       the cables in the form of IBDM (ibdmchk, ibdiagnet, UFM), with the types it needs as *.ibnl
node-name-map     the name of every GUID, for opensm and the infiniband-diags
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from .. import __version__
from ..problems import DesignError, Problem
from . import DEFAULTS, Options
from .infiniband_files import KINDS_MAX, NODE_NAME_MAP, of_plane
from .infiniband_partitions import partitions
from .infiniband_ports import DEVICE_IDS, VENDOR_ID, link_ends, nodes
from .infiniband_topo import system_types, topo

if TYPE_CHECKING:
    from ..plan import Plan

RULE = "infiniband"

DESCRIPTION_BYTES_MAX = 64
"""Length of a NodeDescription (InfiniBand architecture, volume 1)."""

GUIDS = "GUIDs are synthetic and stay when the cluster grows; put those of your hardware in their place when it is there."

LIMITED = "Limited members of a partition hear its full members, not each other: nodes without tenant hear nobody but the subnet manager."

LIDS_MAX = 0xBFFF
"""Unicast addresses of a subnet (InfiniBand architecture, volume 1); each switch and each host port takes one."""


def files(plan: Plan, options: Options = DEFAULTS, fabric: str = "compute") -> dict[str, bytes]:
    """Render the subnets of a fabric; raises DesignError when it is not InfiniBand, or when no subnet manager can carry it."""
    planes = plan.topology.fabrics[fabric].planes
    _refuse_ethernet(plan, fabric)
    ends = link_ends(plan, fabric)
    _check(ends)
    made = {NODE_NAME_MAP: _head(plan, "Names", fabric, GUIDS) + name_map(ends)}
    for plane in range(planes):
        own = ends.filter(pl.col("plane") == plane)
        where = f"{fabric}, plane {plane}" if planes > 1 else fabric
        made[of_plane("fabric", "ibnet", plane, planes)] = _head(plan, "Devices and links", where, GUIDS, *_cautions(plan, own)) + netlist(own)
        made[of_plane("root_guids", "conf", plane, planes)] = _head(plan, "Top switches", where, GUIDS) + root_guids(own)
        made[of_plane("cn_guids", "conf", plane, planes)] = _head(plan, "Ports of GPUs", where, GUIDS) + cn_guids(own)
        if plan.tenancy.tenants:
            made[of_plane("partitions", "conf", plane, planes)] = _head(plan, "Partitions of tenants", where, GUIDS, LIMITED) + partitions(own, plan.tenancy)
        types = system_types(own, plan.topology.profiles, f"_P{plane}" if planes > 1 else "")
        made[of_plane("fabric", "topo", plane, planes)] = _head(plan, "Cables", where) + topo(own, {profile: kind.name for profile, kind in types.items()})
        for profile, kind in types.items():
            if kind.ibnl not in made.values():
                made[f"{profile}.ibnl" if kind.switch else of_plane(profile, "ibnl", plane, planes)] = kind.ibnl
    return {name: text.encode() for name, text in made.items()}


def _refuse_ethernet(plan: Plan, fabric: str) -> None:
    switch = plan.catalog.switches[plan.topology.fabrics[fabric].leaf_model]
    if switch.protocol != "infiniband":
        what = f"{switch.model} speaks Ethernet, the format infiniband is for InfiniBand fabrics"
        raise DesignError([Problem(RULE, f"fabrics.{fabric}.family", what, fix="leave infiniband out of --only, or choose quantum-ndr or quantum-xdr", level="note")])


def _check(ends: pl.DataFrame) -> None:
    """Refuse what a subnet cannot address, names that no node can answer, and kinds of node that have no file name."""
    problems = []
    largest = nodes(ends)["subnet"].value_counts()["count"].max()
    if isinstance(largest, int) and largest > LIDS_MAX:
        what = f"{largest:,} switches and host ports in one subnet, which has {LIDS_MAX:,} unicast LIDs"
        problems.append(Problem(RULE, "fabric.ibnet", what, "a LID has 16 bits, and the upper quarter is multicast", "plan more planes, or clusters that routers join"))
    long = ends.filter(pl.col("description").str.len_bytes() > DESCRIPTION_BYTES_MAX)
    if long.height:
        what = f"{long['description'][0]!r} has more than the {DESCRIPTION_BYTES_MAX} bytes of a node description"
        problems.append(Problem(RULE, long["device"][0], what, fix="shorten leaf_name, spine_name or core_name, or the model's name"))
    kinds = ends.filter(~pl.col("switch"))["profile"].n_unique()
    if kinds > KINDS_MAX:
        problems.append(Problem(RULE, "more_nodes", f"{kinds} kinds of node, IBNL files are written for {KINDS_MAX}", fix="choose other formats with --only"))
    if problems:
        raise DesignError(problems)


def _head(plan: Plan, what: str, where: str, *notes: str) -> str:
    """Comment lines that begin a file."""
    lines = [f"{what} of {plan.design.name}, {where}. Written by railplan {__version__}.", *notes]
    return "".join(f"# {line}\n" for line in lines)


def _cautions(plan: Plan, ends: pl.DataFrame) -> list[str]:
    """What a reader of the netlist would not expect."""
    notes = []
    if ends["subnet"].n_unique() > 1:
        notes.append(f"{ends['subnet'].n_unique()} subnets that no link joins: run a subnet manager in each.")
    if (ends["device_id"] == DEVICE_IDS["Quantum-3"]).any():
        notes.append("A Quantum-X800 switch answers as four nodes, U1 to U4, one for each lane of its ports; here it is one node.")
    return notes


def name_map(ends: pl.DataFrame) -> str:
    """A line for each switch and channel adapter."""
    return "".join(nodes(ends).select(pl.format('0x{} "{}"\n', "guid", "name")).to_series())


def root_guids(ends: pl.DataFrame) -> str:
    """A line for each switch that has none above it."""
    up = ends.filter(pl.col("tier").is_in(("leaf-spine", "spine-core")) & (pl.col("end") == "a"))
    note = "" if up.height else "# One tier is no fat tree: start opensm without -R ftree.\n"
    return note + _guid_lines(nodes(ends.filter("switch")).join(up, on="guid", how="anti", maintain_order="left"), "guid")


def cn_guids(ends: pl.DataFrame) -> str:
    """A line for each port of a GPU."""
    return _guid_lines(ends.filter("compute", ~pl.col("switch")), "port_guid")


def _guid_lines(rows: pl.DataFrame, guid: str) -> str:
    return "".join(rows.select(pl.format("0x{} # {}\n", guid, "name")).to_series())


def netlist(ends: pl.DataFrame) -> str:
    """A record for each switch, then for each channel adapter: identity, then the far end of every port."""
    number = {device: f"{device:x}" for device in ends["device_id"].unique()}
    identity = pl.format(f"\nvendid=0x{VENDOR_ID:x}\ndevid=0x{{}}\nsysimgguid=0x{{}}\n", pl.col("device_id").replace_strict(number, return_dtype=pl.String), "guid")
    switch = pl.format('switchguid=0x{}({})\nSwitch\t{} "S-{}"\t\t# "{}" enhanced port 0 lid 0 lmc 0\n', "guid", "guid", "ports", "guid", "description")
    adapter = pl.format('caguid=0x{}\nCa\t{} "H-{}"\t\t# "{}"\n', "guid", "ports", "guid", "description")
    peer_switch = pl.format('"S-{}"[{}]', "peer_guid", "peer_port")
    peer_adapter = pl.format('"H-{}"[{}]({})', "peer_guid", "peer_port", "peer_port_guid")
    of_switch = pl.format('[{}]\t{}\t\t# "{}" lid 0 {}\n', "port", pl.when("peer_switch").then(peer_switch).otherwise(peer_adapter), "peer_description", "rate")
    of_adapter = pl.format('[{}]({})\t{}\t\t# lid 0 lmc 0 "{}" lid 0 {}\n', "port", "port_guid", peer_switch, "peer_description", "rate")
    lines = ends.sort(~pl.col("switch"), "dev", "guid", "port").select(
        "guid",
        (identity + pl.when("switch").then(switch).otherwise(adapter)).alias("head"),
        pl.when("switch").then(of_switch).otherwise(of_adapter).alias("line"),
    )
    records = lines.group_by("guid", maintain_order=True).agg(pl.col("head").first(), pl.col("line").str.join())
    return "".join(records.select(pl.col("head") + pl.col("line")).to_series())
