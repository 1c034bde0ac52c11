"""From links to things a person carries: copper cables, fibres and modules, chosen by legality, reach and price.

Links become cables here and nowhere else. Cages that links join are decided together (one cage is all optics
or all copper); within optics, fibre connectors that links join make one fibre: straight, splitter or shuffle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ..fabric.modes import part_warnings
from ..fabric.topology import Topology, grown
from ..problems import DesignError, Problem
from ..vendors.catalog import Catalog
from ..vendors.models import Part, Switch
from .assemblies import Choice, CopperChoice, Group, best, connectors, copper_parts, fibres, limits_on, modules_for, optical_types, options
from .cable_rows import cable_rows, module_rows, shape_of
from .placement import Placement
from .plugs import CageClass
from .routes import route_lengths

CAGES_MAX = 16384
"""More cages than any device has; makes one number of (device, cage)."""

CONNECTORS_MAX = 16


@dataclass(frozen=True)
class Cabling:
    """Tables CABLES and MODULES, and which cable carries each link (`link`, `cable_no`, `shape`)."""

    cables: pl.DataFrame
    modules: pl.DataFrame
    carried: pl.DataFrame
    findings: tuple[Problem, ...]


def cable(topology: Topology, placement: Placement, catalog: Catalog) -> Cabling:
    """Choose every cable and module; raises DesignError with all groups of links that cannot be joined legally.

    Links that growth will add are decided with the present ones, so that a cage keeps its kind of cable when they come.
    """
    final = grown(topology)
    classes, links = with_cages(final, route_lengths(final, placement), catalog)
    groups = groups_of(links)
    choices, groups, problems = _choose(topology, catalog, classes, links, groups)
    if problems:
        raise DesignError(problems)
    shapes = fibre_shapes(links)
    links = (
        links.join(groups.select("group", "choice", pl.col("route_m").alias("group_route_m")), on="group", how="left", maintain_order="left")
        .join(shapes, on="fibre", how="left", maintain_order="left")
        .with_columns(pl.col("route_m").max().over("fibre").alias("fibre_route_m"))
        .filter(pl.col("link") < topology.links.height)
    )
    cables, carried = cable_rows(topology, links, choices, classes, catalog)
    modules = module_rows(links, choices, classes)
    notes = [*_notes(topology, cables, modules, catalog), *_free_tails(cables, catalog)]
    return Cabling(cables, modules, carried, tuple(notes))


def carried_by(cabling: Cabling, links: pl.DataFrame) -> Cabling:
    """The part of a cabling that carries the first links, which are given: its cables, numbered anew, and the modules at their ends."""
    carried = cabling.carried.filter(pl.col("link") < links.height)
    cages = pl.concat(links.select(dev=f"{end}_dev", cage=f"{end}_cage") for end in "ab")
    modules = cabling.modules.join(cages, on=["dev", "cage"], how="semi", maintain_order="left")
    kept = carried["cable_no"].unique().sort()
    cables = cabling.cables[kept].with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).alias("cable_no"))
    number = dict(zip(kept.to_list(), range(len(kept)), strict=True))
    return replace(cabling, cables=cables, modules=modules, carried=carried.with_columns(pl.col("cable_no").replace_strict(number, return_dtype=carried["cable_no"].dtype)))


def with_cages(topology: Topology, routes: pl.DataFrame, catalog: Catalog) -> tuple[list[CageClass], pl.DataFrame]:
    """Links with route, cage and connector numbers, cage classes, and the groups and fibres they fall into."""
    ids: dict[CageClass, int] = {}
    rows = []
    for profile in topology.profiles.values():
        for use in profile.cages.values():
            cage_class = CageClass.of(use, profile.protocol_of(use.cage))
            number = ids.setdefault(cage_class, len(ids))
            rows.append((profile.name, use.cage, number, use.ports, connectors(cage_class, catalog) or 1))
    cages = pl.DataFrame(rows, schema={"profile": pl.String, "cage": pl.Int32, "class": pl.Int32, "ports": pl.Int32, "connectors": pl.Int32}, orient="row")
    profiles = topology.devices.select("dev", "profile")
    links = topology.links.join(routes, on="link", how="inner", maintain_order="left")
    if links.height != topology.links.height:
        raise RuntimeError(f"{topology.links.height} links, but {links.height} routes")
    for end in "ab":
        renamed = cages.rename({"cage": f"{end}_cage", "class": f"{end}_class", "ports": f"{end}_ports", "connectors": f"{end}_connectors"})
        links = (
            links.join(profiles.rename({"dev": f"{end}_dev", "profile": "profile"}), on=f"{end}_dev", how="left", maintain_order="left")
            .join(renamed, on=["profile", f"{end}_cage"], how="left", maintain_order="left")
            .drop("profile")
            .with_columns((pl.col(f"{end}_dev").cast(pl.Int64) * CAGES_MAX + pl.col(f"{end}_cage")).alias(f"{end}_key"))
            .with_columns((pl.col(f"{end}_key") * CONNECTORS_MAX + pl.col(f"{end}_child") * pl.col(f"{end}_connectors") // pl.col(f"{end}_ports")).alias(f"{end}_connector"))
        )
    return list(ids), links.with_columns(
        pl.Series("group", _components(links["a_key"].to_numpy(), links["b_key"].to_numpy())),
        pl.Series("fibre", _components(links["a_connector"].to_numpy(), links["b_connector"].to_numpy())),
    )


def _components(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Number of the connected component of each edge (a[i], b[i])."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends, rows = np.unique(np.concatenate([a, b]), return_inverse=True)
    left, right = rows[: len(a)], rows[len(a) :]
    graph = coo_matrix((np.ones(len(a), dtype=np.int8), (left, right)), shape=(len(ends), len(ends)))
    labels: np.ndarray = connected_components(graph, directed=False)[1]
    return labels[left].astype(np.int64)


def fibre_shapes(links: pl.DataFrame) -> pl.DataFrame:
    """Shape of each fibre by the connectors it joins: straight 1-1, splitter 1-2, shuffle 2-2, else `NxM`.

    A connector with twice the ports of its peer takes a splitter even while only one of them is in use.
    """
    a_each, b_each = (pl.col(f"{end}_ports").first() // pl.col(f"{end}_connectors").first() for end in "ab")
    a, b = (pl.col(f"{end}_connector").n_unique().cast(pl.Int32) for end in "ab")
    counted = links.group_by("fibre").agg(pl.max_horizontal(a, b_each // a_each).alias("a"), pl.max_horizontal(b, a_each // b_each).alias("b"))
    return counted.select("fibre", shape_of("a", "b").alias("shape"))


def groups_of(links: pl.DataFrame) -> pl.DataFrame:
    """One row for each group of cages: how many of what on either side, its longest route, its fibres' shapes."""
    per_cage = [links.group_by("group", f"{end}_key").len().group_by("group").agg(pl.col("len").max().alias(f"{end}_links"), pl.len().alias(f"{end}_cages")) for end in "ab"]
    shaped = links.join(fibre_shapes(links), on="fibre", how="left", maintain_order="left")
    return (
        shaped.group_by("group", maintain_order=True)
        .agg(
            pl.len().alias("links"),
            pl.col("link").min().alias("first_link"),
            pl.col("route_m").max(),
            pl.col("tier").first(),
            pl.col("a_class").unique().sort().alias("a_classes"),
            pl.col("b_class").unique().sort().alias("b_classes"),
            pl.col("shape").unique().sort().alias("shapes"),
        )
        .join(per_cage[0], on="group", how="left", maintain_order="left")
        .join(per_cage[1], on="group", how="left", maintain_order="left")
        .sort("first_link")
    )


SIGNATURE = ["a_cages", "b_cages", "links", "a_links", "b_links", "a_classes", "b_classes", "shapes", "tier"]


def _choose(topology: Topology, catalog: Catalog, classes: Sequence[CageClass], links: pl.DataFrame, groups: pl.DataFrame) -> tuple[list[Choice], pl.DataFrame, list[Problem]]:
    """Decide each kind of group once for each length sold; adds column `choice` (row of the list) to the groups."""
    policy = topology.design.cables
    choices: dict[tuple[object, ...], int] = {}
    values: list[Choice] = []
    stuck: dict[str, tuple[Group, tuple[str, ...], list[int]]] = {}
    column = np.full(groups.height, -1, dtype=np.int32)
    keyed = groups.with_row_index("row").group_by(SIGNATURE, maintain_order=True).agg("row", "route_m")
    for signature in keyed.iter_rows(named=True):
        group = Group(
            **{name: signature[name] for name in SIGNATURE[:5]},
            a_classes=tuple(classes[c] for c in signature["a_classes"]),
            b_classes=tuple(classes[c] for c in signature["b_classes"]),
        )
        shapes = tuple(signature["shapes"])
        steps = np.array(lengths_sold(group, shapes, catalog))
        routes = np.array(signature["route_m"])
        bins = np.searchsorted(steps, routes, side="left")
        rows = np.array(signature["row"])
        for step in np.unique(bins).tolist():
            inside = bins == step
            found = options(group, float(steps[step]), catalog, limits_on(policy, signature["tier"]), shapes) if step < len(steps) else []
            if not found:
                stuck.setdefault(f"{group} {shapes}", (group, shapes, []))[2].extend(rows[inside].tolist())
                continue
            choice = best(found, group, float(steps[step]), catalog, policy.currency)
            if isinstance(choice, CopperChoice):
                key: tuple[object, ...] = (choice.part.model, choice.length_m)
            else:
                key = (choice.optics, *((c, m.model) for c, m in choice.modules.items()))
            if key not in choices:
                choices[key] = len(values)
                values.append(choice)
            column[rows[inside]] = choices[key]
    problems = [_no_cable(topology, catalog, group, shapes, groups[rows], links) for group, shapes, rows in stuck.values()]
    return values, groups.with_columns(pl.Series("choice", column)), problems


def lengths_sold(group: Group, shapes: Sequence[str], catalog: Catalog) -> list[float]:
    lengths = {length for part, _ in copper_parts(group, catalog) for length in part.lengths_m}
    for _, glass, connector, _ in optical_types(group, catalog):
        lengths |= {length for shape in shapes for f in fibres(catalog, shape, glass, connector) for length in f.lengths_m}
    return sorted(lengths)


def _no_cable(topology: Topology, catalog: Catalog, group: Group, shapes: Sequence[str], rows: pl.DataFrame, links: pl.DataFrame) -> Problem:
    """Say which links cannot be joined, what was tried and how far it reaches."""
    worst = rows.sort("route_m", "first_link", descending=[True, False]).row(0, named=True)
    link = links.filter(pl.col("link") == worst["first_link"]).row(0, named=True)
    names = topology.devices["device"]
    example = f"{names[link['a_dev']]} to {names[link['b_dev']]}"
    count = rows["links"].sum()
    what = f"{count:,} links have no legal cable, the longest route being {worst['route_m']:.1f} m (such as {example})"
    tried = [f"{part.model} ({part.kind}) to {max(part.lengths_m):g} m" for part, _ in copper_parts(group, catalog)]
    for optics, glass, connector, by_class in optical_types(group, catalog):
        lengths = [length for shape in shapes for f in fibres(catalog, shape, glass, connector) for length in f.lengths_m]
        reach = min(max(max(m.reach_m.values()) for m in modules) for modules in by_class.values())
        tried.append(f"{optics} over {'/'.join(shapes)} fibre to {min(reach, max(lengths)):g} m" if lengths else f"{optics}, but no {'/'.join(shapes)} {connector} fibre is known")
    if not tried:
        lonely = [str(c) for c in (*group.a_classes, *group.b_classes) if not modules_for(c, catalog)]
        why = f"no module of the catalog serves a {lonely[0]}" if lonely else f"no module type and no copper serves both ends: {group}"
        return Problem("no-cable", "cables", what, why, "choose another switch or NIC mode, or add the part to a folder given with --catalog")
    limits = ", ".join(f"{k} {v:g} m" for k, v in topology.design.cables.max_length_m.items())
    why = f"{group}: " + "; ".join(tried) + (f"; the design trusts {limits}" if limits else "")
    odd = [shape for shape in shapes if shape not in ("straight", "splitter", "shuffle")]
    if odd:
        fix = "choose spines_per_plane, oversubscription or uplink_gbps so that the links of two switches fill whole connectors"
        return Problem("no-cable", f"fabrics.{link['fabric']}", f"{count:,} links join their connectors {' and '.join(odd)}, and no fibre does (such as {example})", why, fix)
    if link["length_source"] == "measured":
        return Problem("no-cable", "hall.measured", what, why, "correct the measured length, or add a part that reaches to a folder given with --catalog")
    fix = "bring the racks closer, allow longer cables, or add a part that reaches to a folder given with --catalog"
    if link["fabric"] != "compute":
        fix += f"; or run these ports at another speed (fabrics.{link['fabric']}.gbps), or give them away by `ports` of the nodes (UFM servers: ufm_ports)"
    return Problem("no-cable", "cables.max_length_m" if limits else "hall", what, why, fix)


def _free_tails(cables: pl.DataFrame, catalog: Catalog) -> list[Problem]:
    """Say how many split cables have a tail without a port yet."""
    ports = {model: part.head.ports for model, part in catalog.copper.items() if len(part.tails) > 1}
    free = cables.filter(pl.col("links") < pl.col("part").replace_strict(ports, default=0, return_dtype=pl.Int32))
    if free.is_empty():
        return []
    what = f"{free.height:,} split cables have a free tail, such as {free['cable'][0]}"
    return [Problem("free-tail", "cables", what, "the last node of a cage has no neighbour yet; the tail is parked, and growth plugs it in", level="note")]


def _notes(topology: Topology, cables: pl.DataFrame, modules: pl.DataFrame, catalog: Catalog) -> list[Problem]:
    """Notes on parts used: announced, unverified, or from another maker than the switch."""
    every: dict[str, Part] = {**catalog.copper, **catalog.fibres, **catalog.modules}
    parts = [every[model] for model in sorted({*cables["part"], *modules["part"]})]
    makers = {p.part.vendor for p in topology.profiles.values() if isinstance(p.part, Switch)}
    foreign = sorted({f"{p.vendor} {p.model}" for p in parts if p.vendor not in makers and p.vendor != "generic"})
    found = part_warnings(parts)
    if foreign:
        what = f"{', '.join(foreign)} in switches of {', '.join(sorted(makers))}"
        found.append(
            Problem("foreign-module", "cables", what, "switch makers qualify modules by list", "check the switch maker's list of qualified modules before ordering", "warning")
        )
    return found
