"""The plan's tables as people and programs read them: names instead of numbers, sorted, units in the column names.

What does not apply is null (an empty cell), never -1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE

if TYPE_CHECKING:
    from ..plan import Plan

CABLE_COLUMNS = (
    *("cable", "fabric", "tier", "rail", "plane", "a_device", "a_port", "a_rack", "a_ru", "b_device", "b_port", "b_rack", "b_ru", "gbps", "kind", "part"),
    *("length_m", "route_m", "a_module", "b_module", "a_label", "b_label"),
    *("links", "part_number", "out_m", "up_m", "along_m", "across_m", "down_m", "slack_m", "length_source", "bundle"),
)
"""Columns of cables.csv: the promised ones, then more."""

RACK_COLUMNS = ("rack", "row", "position", "x_m", "y_m", "used_ru", "power_w", "weight_kg", "role", "height_ru", "reserved", "type")
BOM_COLUMNS = ("category", "part", "description", "unit", "quantity", "spares", "unit_price", "currency", "total", "price_source", "part_number", "length_m", "fabric")
LABEL_COLUMNS = ("cable", "end", "device", "near", "far", "text", "bundle")
PORT_COLUMNS = ("device", "port", "cage", "os_name", "gpu", "peer_device", "peer_port", "cable", "fabric", "tier", "rail", "plane", "gbps")


def devices(plan: Plan) -> pl.DataFrame:
    """One row for each device that is built now, in device order; `ru` is null for what takes no unit, such as a PDU beside them."""
    every = plan.topology.devices.hstack(plan.placement.places.select("rack", _unit(), "height_ru", "power_w"))
    return every.filter("present").select("device", "model", "role", "fabric", _known("pod"), "rail", _known("plane"), "rack", "ru", "height_ru", "power_w")


def ports(plan: Plan) -> pl.DataFrame:
    """One row for each used port, in device and faceplate order; both ends of a link have one."""
    return link_ends(plan).select(PORT_COLUMNS)


def cables(plan: Plan) -> pl.DataFrame:
    """One row for each physical cable, by cable id."""
    return plan.cabling.cables.select(CABLE_COLUMNS).sort("cable")


def racks(plan: Plan) -> pl.DataFrame:
    """One row for each rack in use or kept for growth, in hall order."""
    return plan.placement.racks.select(RACK_COLUMNS)


def bom(plan: Plan) -> pl.DataFrame:
    """One row for each part and fabric, and for each length of a cable."""
    return plan.bom.select(BOM_COLUMNS)


def labels(plan: Plan) -> pl.DataFrame:
    """One row for each physical end of a cable: a split cable has one for its head and one for each tail."""
    return _labels(plan).sort("cable", "end", "dev", "cage_no", "connector").select(LABEL_COLUMNS)


def _labels(plan: Plan) -> pl.DataFrame:
    """The labels beside the device, cage and connector of their end."""
    ends = link_ends(plan)
    key = ("cable", "end", "dev", "cage_no", "connector")
    sides = (("near", ("rack", "ru", "port", "device")), ("far", ("peer_rack", "peer_ru", "peer_port", "peer_device")))
    alone = ends.filter("alone").select(*key, "device", *[pl.format("{}-{}", spot(rack, ru, device), port).alias(name) for name, (rack, ru, port, device) in sides])
    together = ends.filter(~pl.col("alone")).sort("link").group_by(key, maintain_order=True)
    joined = together.agg(pl.col("device").first(), *[place(*columns).alias(name) for name, columns in sides])
    bundles = plan.cabling.cables.select("cable", "bundle")
    return pl.concat([alone, joined]).with_columns(pl.format("{} {} > {}", "cable", "near", "far").alias("text")).join(bundles, on="cable", how="left")


def trays(plan: Plan) -> pl.DataFrame:
    """One row for each piece of tray, tray by tray."""
    return plan.trays


def bundles(plan: Plan) -> pl.DataFrame:
    """One row for each bundle of cables that run the same way."""
    return plan.bundles


def label_walk(plan: Plan) -> pl.DataFrame:
    """The labels with the rack and unit of their end, as a crew walks: rack by rack, from the top down, cages in faceplate order; what takes no unit last."""
    places = link_ends(plan).select("device", "rack", "ru").unique("device")
    return _as_walked(plan, _labels(plan).join(places, on="device", how="left"), "cage_no", "connector", "cable").select("rack", "ru", *LABEL_COLUMNS)


def port_map(plan: Plan, box: str, same: str) -> pl.DataFrame:
    """The ports as a crew walks them: rack by rack, from the top down, ports in faceplate order.

    `done` holds `box` once for each plug, and `same` where a further link of that plug follows. `socket` is the fibre
    connector of the module that the port is on; copper and active optics have none.
    """
    cable = plan.cabling.cables.select("cable", "length_m", "kind")
    walk = _as_walked(plan, link_ends(plan).join(cable, on="cable", how="left"), "cage_no", "child")
    first = pl.struct("cable", "end", "dev", "cage_no", "connector").is_first_distinct()
    socket = pl.when(pl.col("module").is_null()).then(pl.lit("whole plug")).otherwise(pl.format("{} of {}", pl.col("connector") + 1, "connectors"))
    return walk.with_columns(pl.when(first).then(pl.lit(box)).otherwise(pl.lit(same)).alias("done"), socket.alias("socket"))


def _as_walked(plan: Plan, ends: pl.DataFrame, *within: str) -> pl.DataFrame:
    """Rows with rack, ru and dev in the order of the hall's racks, the highest device first, then by `within`."""
    order = plan.placement.racks.select("rack").with_row_index("rack_no")
    by = ("rack_no", "ru", "dev", *within)
    return ends.join(order, on="rack", how="left").sort(by, descending=[name == "ru" for name in by], nulls_last=True, maintain_order=True)


def findings(plan: Plan) -> pl.DataFrame:
    """One row for each warning and note, as the plan orders them."""
    rows = [(p.level, p.rule, p.where, p.what, p.why, p.fix) for p in plan.findings]
    return pl.DataFrame(rows, schema=dict.fromkeys(("level", "rule", "where", "what", "why", "fix"), pl.String()), orient="row")


def link_ends(plan: Plan) -> pl.DataFrame:
    """Both ends of every link with names, places and cable, sorted by device, cage and port.

    `end` is A or B as in the cables table; `alone` when its cable carries no other link; `connector` is the plug or fibre connector in the cage that the port is on.
    """
    cable_no = plan.cabling.carried["cable_no"]
    links = plan.topology.links.with_columns(plan.cabling.cables["cable"].gather(cable_no), (plan.cabling.cables["links"].gather(cable_no) == 1).alias("alone"))
    named = {end: _named_ends(plan, end) for end in "ab"}
    shared = links.select("link", "fabric", "tier", _known("rail"), _known("plane"), _known("gpu"), "gbps", "cable", "alone")
    halves = []
    for end, peer in ("ab", "ba"):
        far = named[peer].select(pl.col("device", "port", "rack", "ru").name.prefix("peer_"))
        halves.append(pl.concat([shared.select(pl.lit(end.upper()).alias("end"), pl.all()), named[end], far], how="horizontal"))
    return pl.concat(halves).sort("dev", "cage_no", "child")


def _named_ends(plan: Plan, end: str) -> pl.DataFrame:
    """One end of every link, in link order: device, port, cage, connector, rack and unit."""
    topology = plan.topology
    places = topology.devices.select("dev", "device", "profile").hstack(plan.placement.places.select("rack", _unit()))
    sides = topology.links.select(pl.col(f"{end}_dev").alias("dev"), pl.col(f"{end}_cage").alias("cage_no"), pl.col(f"{end}_child").alias("child"))
    counts = [(p.name, use.cage, use.ports) for p in topology.profiles.values() for use in p.cages.values()]
    cages = pl.DataFrame(counts, schema={"profile": pl.String, "cage_no": pl.Int32, "cage_ports": pl.Int32}, orient="row")
    names = topology.port_names.rename({"cage": "cage_no", "cage_label": "cage"})
    modules = plan.cabling.modules.select("dev", pl.col("cage").alias("cage_no"), "connectors", pl.col("part").alias("module"))
    return (
        sides.join(places, on="dev", how="left", maintain_order="left")
        .join(names, on=["profile", "cage_no", "child"], how="left", maintain_order="left")
        .join(cages, on=["profile", "cage_no"], how="left", maintain_order="left")
        .join(modules, on=["dev", "cage_no"], how="left", maintain_order="left")
        .with_columns((pl.col("child") * pl.col("connectors").fill_null(1) // pl.col("cage_ports")).alias("connector"))
        .select("dev", "device", "cage_no", "child", "cage", "port", "os_name", "connector", "connectors", "module", "rack", "ru")
    )


def place(rack: str, ru: str, port: str, device: str) -> pl.Expr:
    """RACK-Uru-PORT of a group of link ends; ports of one device share the rack and unit (after TIA-606)."""
    where = spot(rack, ru, device)
    together = pl.format("{}-{}", where.first(), pl.col(port).str.join("+"))
    return pl.when(pl.col(device).n_unique() == 1).then(together).otherwise(pl.format("{}-{}", where, port).str.join("+"))


def spot(rack: str, ru: str, device: str) -> pl.Expr:
    """RACK-Uru, or RACK-device for what takes no unit."""
    return pl.when(pl.col(ru).is_null()).then(pl.format("{}-{}", rack, device)).otherwise(pl.format("{}-U{}", rack, pl.col(ru).cast(pl.String).str.zfill(2)))


def _unit() -> pl.Expr:
    """Lowest unit, null where the device takes none."""
    return pl.when(pl.col("height_ru") > 0).then(pl.col("ru")).alias("ru")


def _known(column: str) -> pl.Expr:
    """The column with null where it does not apply."""
    return pl.when(pl.col(column) != NONE).then(pl.col(column)).alias(column)
