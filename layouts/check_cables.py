"""Checks of the cabling, counted anew from the tables: every link carried, every cage lawful, every length within reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from ..fabric.tables import SWITCHES
from ..fabric.topology import Topology
from ..problems import Problem
from ..vendors.catalog import Catalog
from ..vendors.models import Copper
from .cables import Cabling
from .placement import Placement
from .plugs import CageClass, module_fits, plug_fits
from .routes import straight_line_m


@dataclass(frozen=True)
class Cabled:
    """What the checks look at: the plan so far, and one row for each link end with its cable."""

    topology: Topology
    placement: Placement
    cabling: Cabling
    bom: pl.DataFrame
    catalog: Catalog
    ends: pl.DataFrame


OUR_FAULT = "this is a fault of railplan: please report the design"
SHOWN = 5
"""Faults of one check that are spelled out; the rest is counted."""


def check_cabling(topology: Topology, placement: Placement, cabling: Cabling, bom: pl.DataFrame, catalog: Catalog) -> list[Problem]:
    """Run every check of the cabling; each returns its faults as problems."""
    cabled = Cabled(topology, placement, cabling, bom, catalog, _ends(topology, cabling))
    return [problem for check in CHECKS for problem in _few(list(check(cabled)))]


def _few(problems: list[Problem]) -> list[Problem]:
    if len(problems) <= SHOWN:
        return problems
    last = problems[SHOWN - 1]
    more = Problem(last.rule, "", f"and {len(problems) - SHOWN + 1:,} more of the same", last.why, last.fix)
    return [*problems[: SHOWN - 1], more]


def _ends(topology: Topology, cabling: Cabling) -> pl.DataFrame:
    """Two rows for each link: dev, cage, child, cable_no, shape, part, side."""
    links = topology.links.join(cabling.carried, on="link", how="left").join(cabling.cables.select("cable_no", "cable", "part", "kind", "length_m"), on="cable_no", how="left")
    return pl.concat(
        links.select(
            "link",
            "cable_no",
            "cable",
            "shape",
            "part",
            "kind",
            "length_m",
            pl.lit(end).alias("side"),
            pl.col(f"{end}_dev").alias("dev"),
            pl.col(f"{end}_cage").alias("cage"),
            pl.col(f"{end}_child").alias("child"),
        )
        for end in "ab"
    ).join(topology.devices.select("dev", "device", "profile"), on="dev", how="left")


def every_link_is_carried_once(c: Cabled) -> Iterator[Problem]:
    """Counts in = counts out between links and cables."""
    loose = c.topology.links.height - c.cabling.carried["link"].n_unique()
    nowhere = c.cabling.carried["cable_no"].null_count()
    if loose or nowhere or c.cabling.carried.height != c.topology.links.height:
        yield Problem(
            "links-carried",
            "cables",
            f"{c.topology.links.height:,} links, but {c.cabling.carried.height - nowhere:,} are carried by a cable",
            fix=OUR_FAULT,
        )
    total = c.cabling.cables["links"].sum()
    if total != c.topology.links.height:
        yield Problem("links-carried", "cables", f"the cables carry {total:,} links, the fabric has {c.topology.links.height:,}", fix=OUR_FAULT)
    for column in ("cable", "a_label", "b_label"):
        twice = c.cabling.cables.filter(pl.col(column).is_duplicated())
        for row in twice.iter_rows(named=True):
            yield Problem("unique-label", row["cable"], f"{column} {row[column]!r} stands on several cables", fix=OUR_FAULT)


def cages_are_all_optics_or_one_plug(c: Cabled) -> Iterator[Problem]:
    """A cage holds one module or one copper plug, never both, never two."""
    copper = c.ends.filter(pl.col("shape") == "copper").group_by("dev", "cage").agg(pl.col("cable_no").n_unique().alias("plugs"), pl.col("device").first())
    for row in copper.filter(pl.col("plugs") > 1).iter_rows(named=True):
        yield Problem("one-plug", row["device"], f"cage {row['cage']} would hold {row['plugs']} copper plugs", fix=OUR_FAULT)
    both = copper.join(c.cabling.modules, on=["dev", "cage"], how="inner")
    for row in both.iter_rows(named=True):
        yield Problem("one-plug", row["device"], f"cage {row['cage']} would hold a copper plug and module {row['part']}", fix=OUR_FAULT)
    optical = c.ends.filter(pl.col("shape") != "copper").select("dev", "cage").unique()
    if optical.height != c.cabling.modules.height or optical.join(c.cabling.modules, on=["dev", "cage"], how="anti").height:
        yield Problem(
            "one-module",
            "cables",
            f"{optical.height:,} cages carry fibre, {c.cabling.modules.height:,} modules are planned",
            fix=OUR_FAULT,
        )


def plugs_and_modules_fit_their_cages(c: Cabled) -> Iterator[Problem]:
    """Form, cooling, lanes, speed, protocol and power agree at both ends."""
    classes = {(n, use.cage): CageClass.of(use, p.protocol_of(use.cage)) for n, p in c.topology.profiles.items() for use in p.cages.values()}
    profiles = c.topology.devices.select("dev", "device", "profile")
    modules = c.cabling.modules.join(profiles, on="dev").unique(["profile", "cage", "part"]).sort("dev", "cage")
    for row in modules.iter_rows(named=True):
        cage = classes[row["profile"], row["cage"]]
        if not module_fits(c.catalog.modules[row["part"]], cage):
            yield Problem("module-fits", row["device"], f"module {row['part']} does not fit cage {row['cage']}, a {cage}", fix=OUR_FAULT)
    copper = c.ends.filter(pl.col("shape") == "copper").unique(["profile", "cage", "part", "side"]).sort("link", "side")
    for row in copper.iter_rows(named=True):
        part, cage = c.catalog.copper[row["part"]], classes[row["profile"], row["cage"]]
        if (
            not any(plug_fits(plug, cage) and plug.ports == cage.ports for plug in (part.head, *part.tails))
            or (cage.gbps, cage.lane_gbps) not in part.speeds
            or cage.protocol not in part.protocols
        ):
            yield Problem("plug-fits", row["device"], f"no end of {row['part']} fits cage {row['cage']}, a {cage}", fix=OUR_FAULT)


def both_ends_speak_the_same_optics(c: Cabled) -> Iterator[Problem]:
    """The two modules of a fibre have the same optics, connector and glass as the fibre, and reach its length."""
    optical = c.cabling.cables.filter(pl.col("a_module") != "").group_by("a_module", "b_module", "part").agg(pl.col("length_m").max(), pl.col("cable").first())
    for row in optical.sort("cable").iter_rows(named=True):
        a, b, fibre = c.catalog.modules[row["a_module"]], c.catalog.modules[row["b_module"]], c.catalog.fibres[row["part"]]
        if not (a.optics == b.optics and a.connector == b.connector == fibre.connector and a.glass == b.glass == fibre.glass):
            yield Problem(
                "optics-agree",
                row["cable"],
                f"{a.model} ({a.optics}), {fibre.model} and {b.model} ({b.optics}) do not go together",
                fix=OUR_FAULT,
            )
        grade = fibre.grade(row["length_m"])
        reach = min(dict(a.reach_m).get(grade, 0.0), dict(b.reach_m).get(grade, 0.0))  # type: ignore[call-overload]
        if row["length_m"] > reach:
            yield Problem(
                "reach",
                row["cable"],
                f"{row['length_m']:g} m of {grade} fibre between {a.model} and {b.model}, which reach {reach:g} m",
                fix=OUR_FAULT,
            )


def cables_are_long_enough(c: Cabled) -> Iterator[Problem]:
    """A cable is at least as long as its route, the route at least as long as the straight line, the length is sold."""
    for row in c.cabling.cables.filter(pl.col("length_m") < pl.col("route_m")).iter_rows(named=True):
        yield Problem("length", row["cable"], f"{row['length_m']:g} m for a route of {row['route_m']:.2f} m", fix=OUR_FAULT)
    line = pl.DataFrame({"link": c.topology.links["link"], "line_m": straight_line_m(c.topology, c.placement)})
    short = (
        c.cabling.carried.join(line, on="link")
        .group_by("cable_no")
        .agg(pl.col("line_m").max())
        .join(c.cabling.cables, on="cable_no")
        .filter(pl.col("length_m") < pl.col("line_m") - 1e-6)
    )
    for row in short.sort("cable_no").iter_rows(named=True):
        yield Problem(
            "length",
            row["cable"],
            f"{row['length_m']:g} m between ports {row['line_m']:.2f} m apart as the crow flies ({row['length_source']})",
            "a measured route that is shorter than the straight line is a slip",
            "correct hall.measured or the hall's dimensions",
        )
    for model, length in c.cabling.cables.select("part", "length_m").unique().sort("part", "length_m").iter_rows():
        if length not in (c.catalog.copper[model] if model in c.catalog.copper else c.catalog.fibres[model]).lengths_m:
            yield Problem("length-sold", model, f"{length:g} m is not a length it is sold in", fix=OUR_FAULT)


def twin_modules_carry_one_fibre_shape(c: Cabled) -> Iterator[Problem]:
    """Both connectors of a twin module carry straight fibres or both split ones (NVIDIA LinkX guide, twin-port rules)."""
    split = c.ends.filter(pl.col("shape") != "copper").group_by("dev", "cage").agg((pl.col("shape") == "straight").n_unique().alias("kinds"), pl.col("device").first())
    for row in split.filter(pl.col("kinds") > 1).sort("dev", "cage").iter_rows(named=True):
        yield Problem(
            "one-shape",
            row["device"],
            f"cage {row['cage']} would carry a straight and a split fibre",
            "a twin module takes two of the same",
            "choose spines_per_plane or nodes_per_su so that the links of a pair fill whole cages",
        )


def split_cables_have_an_end_for_every_link(c: Cabled) -> Iterator[Problem]:
    """A copper cable carries no more links than it has ports, each tail within its own."""
    for row in c.cabling.cables.filter(pl.col("a_module") == "").group_by("part").agg(pl.col("links").max(), pl.col("cable").first()).iter_rows(named=True):
        part: Copper = c.catalog.copper[row["part"]]
        if row["links"] > part.head.ports:
            yield Problem("cable-ports", row["cable"], f"{row['links']} links on {part.model}, which carries {part.head.ports}", fix=OUR_FAULT)


def bill_equals_the_lists(c: Cabled) -> Iterator[Problem]:
    """The bill's quantities are those of the device, module and cable lists, fabric by fabric."""
    is_switch = pl.col("role").is_in(SWITCHES)
    devices = c.topology.devices.filter("present").select(pl.when(is_switch).then(pl.col("fabric")).otherwise(pl.lit("")))["fabric"]
    cages = (
        pl.concat(c.topology.links.select("link", "fabric", dev=f"{end}_dev", cage=f"{end}_cage") for end in "ab")
        .group_by("dev", "cage")
        .agg(pl.col("fabric").sort_by("link").first())
    )
    modules = c.cabling.modules.join(cages, on=["dev", "cage"], how="left")["fabric"]
    for categories, listed in ((("node", "switch"), devices), (("module",), modules), (("copper", "fibre"), c.cabling.cables["fabric"])):
        billed = dict(c.bom.filter(pl.col("category").is_in(categories)).group_by("fabric").agg(pl.col("quantity").sum()).iter_rows())
        planned = dict(zip(*listed.value_counts().sort("fabric"), strict=True))
        for fabric in dict.fromkeys((*planned, *billed)):
            if billed.get(fabric, 0) != planned.get(fabric, 0):
                what = f"{billed.get(fabric, 0):,} of {' and '.join(categories)} are billed, {planned.get(fabric, 0):,} are planned"
                yield Problem("bill", "bom", what + (f" for {fabric}" if fabric else ""), fix=OUR_FAULT)


CHECKS: tuple[Callable[[Cabled], Iterable[Problem]], ...] = (
    every_link_is_carried_once,
    cages_are_all_optics_or_one_plug,
    plugs_and_modules_fit_their_cages,
    both_ends_speak_the_same_optics,
    cables_are_long_enough,
    twin_modules_carry_one_fibre_shape,
    split_cables_have_an_end_for_every_link,
    bill_equals_the_lists,
)
