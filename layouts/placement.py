"""Where everything stands: sizes, blocks of racks, the hall they stand in, and the tables of racks and places.

Future devices are placed with the present ones, as if all were there: nothing moves when the cluster grows.
A solver that knows a better arrangement hands positions and units to `assemble`, as `place` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from ..fabric.tables import NONE, frame
from ..fabric.topology import Topology
from ..problems import DesignError, Problem, raise_errors
from ..vendors.catalog import Catalog
from .arrangement import Block, arrange, blocks_of_nodes
from .fill import node_racks, raise_limits, rows_without_nodes, short_of_racks, switches_cap, too_big
from .hall import Hall, Ints, hall_problems, make_hall, measured_problems, stand_blocks
from .hall_checks import floor_problems
from .mixed import stand_mixed
from .rack_choice import rack_warnings, whole_racks
from .racks import UNLIMITED, RackLimits, Stand, rack_limits, rack_types
from .sizes import MANY, NodeRack, Size, arranging_limits, assumptions, beside_pdus, device_sizes, kilo
from .tables import PLACES, RACKS


@dataclass(frozen=True)
class Solution:
    """How good a placement is, in what it costs in cables and modules when the cluster has grown (spares not counted)."""

    arrangement: str
    """Name of the fixed arrangement, `search`, `given` where every place was given, or `arranged` for a fixed arrangement around given places."""
    status: str
    """optimal (proved), feasible, fixed (no search was asked for), or interrupted (best found until then)."""
    unit: str
    """What objective, bound and baselines count: the design's currency, or modules where prices are missing."""
    objective: float
    today: float
    """The share of the objective that links of today need: what the bill comes to, spares not counted."""
    bound: float
    """No placement with node racks filled as the hall asks costs less."""
    bound_within: float
    """No placement with the upper switches where they are costs less; 0 where it was not asked."""
    baselines: Mapping[str, float | None]
    """The fixed arrangements on the same hall; None where one does not fit or breaks a rule."""
    links: Mapping[str, Mapping[str, int]]
    """Tier -> kind of cable -> links of today."""
    effort: str
    together: float | None = None
    """Least cost found with the racks of every pod together; None where none was found or it was not asked."""
    scattered: float | None = None
    """Least cost found however the racks of a pod stand."""
    kept: int = 0
    """Devices whose places were given."""

    @property
    def is_repeatable(self) -> bool:
        """True when planning the design again with no more than it says gives the same places."""
        return self.effort == "fixed" and not self.kept and self.status != "interrupted"

    @property
    def gap_percent(self) -> float:
        """How much of the objective lies above the bound."""
        return 0.0 if self.objective <= 0 else round(max(0.0, 100 * (self.objective - self.bound) / self.objective), 4)

    @property
    def baseline(self) -> float | None:
        """The best of the fixed arrangements."""
        return min((v for v in self.baselines.values() if v is not None), default=None)


@dataclass(frozen=True)
class Placement:
    """Hall, racks in use (table `RACKS`), the place of every device (table `PLACES`, in device order), findings, and how good it is where that was asked."""

    hall: Hall
    racks: pl.DataFrame
    places: pl.DataFrame
    findings: tuple[Problem, ...]
    solution: Solution | None = None


@dataclass(frozen=True)
class Ground:
    """What every placement of a design starts from."""

    hall: Hall
    racks: Mapping[str, NodeRack]
    cap: int
    """Most switches in a rack."""
    blocks: tuple[Block, ...]
    """Of the reference arrangement."""
    short: tuple[Problem, ...]
    """A hall of equal racks is too small for the reference arrangement."""
    findings: tuple[Problem, ...]


def place(topology: Topology, catalog: Catalog) -> Placement:
    """Stand every device, present and future, in the reference arrangement; raises DesignError with all problems found."""
    ground = survey(topology, catalog)
    raise_errors(ground.short)
    found = reference(topology, ground)
    if found is None:
        what = "the reference arrangement finds no room in racks that differ"
        raise DesignError([Problem("no-placement", "hall.rows", what, "", "add positions to hall.rows, or raise the limits of the rows with less")])
    return found


def reference(topology: Topology, ground: Ground) -> Placement | None:
    """The reference arrangement on its ground, which is not too small; None where racks differ and it finds no room."""
    hall = ground.hall
    if not hall.plain:
        stood = stand_mixed(topology, hall, ground.racks, ground.cap)
        return None if stood is None else assemble(topology, hall, *stood, ground.findings)
    found = list(ground.findings)
    stands = stand_blocks(hall.room(), [b.racks for b in ground.blocks])
    found += torn_blocks(hall, ground.blocks, stands)
    position = np.zeros(topology.devices.height, np.int64)
    ru = np.zeros_like(position)
    for block, stand in zip(ground.blocks, stands, strict=True):
        position[block.dev] = hall.free[stand[block.slot]]
        ru[block.dev] = block.ru
    return assemble(topology, hall, position, ru, found)


def survey(topology: Topology, catalog: Catalog) -> Ground:
    """Lay out the hall and count what a rack takes; raises DesignError with everything that no arrangement could mend."""
    types = rack_types(topology.design.hall, catalog)
    spec, of_whole_racks = whole_racks(topology, types)
    rack = types[spec.rack]
    limits = rack_limits(spec, rack)
    drawn = make_hall(spec, rack, (), types)
    stands = drawn.stands if spec.rows else [Stand("", rack.model, limits, MANY, UNLIMITED)]
    stands = [stand._replace(limits=beside_pdus(topology, stand.limits)) for stand in stands]
    found = [*assumptions(topology), *of_whole_racks, *rack_warnings(spec, types), *hall_problems(spec, rack, types), *floor_problems(spec, rack, types)]
    if not stands:
        raise DesignError([*found, Problem("hall-too-small", "hall.rows", "every position is blocked", "no rack can stand anywhere", "unblock positions, or add rows")])
    found += too_big(topology, stands, limits, catalog)
    racks, more = node_racks(topology, stands)
    cap, still_more = switches_cap(topology, stands)
    found += more + still_more + rows_without_nodes(topology, stands, racks)
    fits = not any(p.level == "error" for p in found)
    plain = drawn.plain or not spec.rows
    blocks = arrange(topology, arranging_limits(topology, drawn.least), racks, cap) if fits and plain else []
    hall = drawn if spec.rows else make_hall(spec, rack, [b.racks for b in blocks])
    short = too_small(topology, hall, blocks, racks, cap) if plain else short_of_racks(topology, stands, racks) if fits else []
    if spec.rows or fits:
        found += measured_problems(spec, hall)
    if not fits or (short and not plain) or any(p.level == "error" for p in found):
        raise_errors([*found, *short])
    return Ground(hall, racks, cap, tuple(blocks), tuple(short), tuple(found))


def assemble(topology: Topology, hall: Hall, position: Ints, ru: Ints, findings: Sequence[Problem] = ()) -> Placement:
    """Build the tables from the hall position (row number in `hall.positions`) and the lowest unit of each device.

    Nothing is judged here: `rules.check_placement` does that.
    """
    position, ru = with_pdus(topology, hall, position, ru)
    taken, rack_no = np.unique(position, return_inverse=True)
    spots = hall.positions[taken]
    sizes = device_sizes(topology)
    places = frame(
        PLACES,
        {
            "dev": topology.devices["dev"],
            "rack": spots["rack"].gather(rack_no),
            "rack_no": rack_no,
            "ru": ru,
            "height_ru": sizes["height_ru"],
            "power_w": sizes["power_w"],
            "weight_kg": sizes["weight_kg"],
        },
    )
    return Placement(hall, racks_of(topology, spots, places), places, tuple(findings))


def with_pdus(topology: Topology, hall: Hall, position: Ints, ru: Ints) -> tuple[Ints, Ints]:
    """Hall position and unit of all devices. PDUs without a unit (0) are dealt out to the racks that hold anything else, in hall order.

    Those that take units stand at the top, where nothing else is put; the others hang beside unit 1. Those left over, where
    there are PDUs for more racks, stand in the first free positions.
    """
    is_pdu = (topology.devices["role"] == "pdu").to_numpy()
    loose = np.flatnonzero(is_pdu & (ru < 1))
    if topology.design.pdus is None or not len(loose):
        return position, ru
    each, racks, given = topology.design.pdus.per_rack, np.unique(position[~is_pdu]), position[is_pdu & (ru > 0)]
    lacking = np.repeat(racks, np.maximum(each - (racks[:, None] == given[None, :]).sum(axis=1), 0))
    spare = np.setdiff1d(hall.free, np.concatenate([racks, given]))[: max(0, -(-(len(loose) - len(lacking)) // each))]
    stand = np.concatenate([lacking, np.repeat(spare, each), racks[-1:]])
    position, ru = position.copy(), ru.copy()
    position[loose] = stand[np.minimum(np.arange(len(loose)), len(stand) - 1)]
    height_ru = int(device_sizes(topology)["height_ru"][int(loose[0])])
    _, begins, of = np.unique(position[loose], return_index=True, return_inverse=True)
    number = np.arange(len(loose)) - begins[np.asarray(of).ravel()] + (position[loose][:, None] == given[None, :]).sum(axis=1)
    ru[loose] = hall.positions["height_ru"].to_numpy()[position[loose]] + 1 - (number + 1) * height_ru if height_ru else 1
    return position, ru


def racks_of(topology: Topology, spots: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Add up the racks: used units, power and weight of present devices; `spots` are their rows of the hall's positions."""
    here = pl.col("present").cast(pl.Int32)
    totals = (
        pl.DataFrame([*places.select("rack_no", "height_ru", "power_w", "weight_kg"), topology.devices["role"], topology.devices["present"]])
        .group_by("rack_no")
        .agg(
            role=pl.when((pl.col("role") == "node").any()).then(pl.lit("node")).otherwise(pl.lit("network")),
            used_ru=(pl.col("height_ru") * here).sum(),
            power_w=(pl.col("power_w") * here).sum().round(6),
            weight_kg=(pl.col("weight_kg") * here).sum().round(6),
            reserved=~(pl.col("present") & (pl.col("role") != "pdu")).any(),
        )
        .sort("rack_no")
    )
    return pl.concat([spots.select("rack", "row", "position", "x_m", "y_m", "height_ru", "type"), totals.drop("rack_no")], how="horizontal").select(
        pl.col(name).cast(dtype) for name, dtype in RACKS.items()
    )


def too_small(
    topology: Topology,
    hall: Hall,
    blocks: Sequence[Block],
    racks: Mapping[str, NodeRack],
    cap: int,
    need: int | None = None,
    forbidden: int = 0,
    name: str = "",
    searched: bool = False,
) -> list[Problem]:
    """Return by how many racks, units and kilowatts the hall falls short of the blocks (or of `need` racks of the arrangement `name`), and what would help."""
    need, free = sum(b.racks for b in blocks) if need is None else need, len(hall.free) - forbidden
    if need <= free:
        return []
    limits, short = arranging_limits(topology, hall.least), need - free
    nodes = int((topology.devices["role"] == "node").sum())
    sizes = device_sizes(topology)
    fix = f"add {short:,} position{'s' if short > 1 else ''} to hall.rows"
    fix += "" if name else _packed_tighter(topology, limits, free, racks, cap)
    if not name and not searched and len(blocks_of_nodes(topology, racks)[0]) <= free:
        fix += ", or let --effort quick look for room above the nodes"
    what = f"{need:,} racks needed{f' for {name}' if name else ''}, the hall has {free:,} positions" + (f" besides {forbidden:,} forbidden ones" if forbidden else "")
    what += f": {short:,} short, which is {short * limits.height_ru:,} U and {kilo(short * limits.power_w)} kW"
    why = (
        f"{nodes:,} nodes at {_a_rack(racks)} a rack and {topology.devices.height - nodes:,} switches and servers, room for growth included, "
        f"take {sizes['height_ru'].sum():,} U and {kilo(float(sizes['power_w'].sum()))} kW; "
        f"the hall's racks have {free * limits.height_ru:,} U and {kilo(free * limits.power_w)} kW"
    )
    return [Problem("hall-too-small", "hall.rows", what, why, fix)]


def _a_rack(racks: Mapping[str, NodeRack]) -> str:
    return " or ".join(str(n) for n in sorted({kind.per_rack for kind in racks.values()}))


def _packed_tighter(topology: Topology, limits: RackLimits, free: int, racks: Mapping[str, NodeRack], cap: int) -> str:
    """Advice on more nodes in a rack, with the limits it asks for, when that makes the cluster fit `free` racks; else nothing."""
    if not racks:
        return ""
    size = Size(*(max(column) for column in zip(*(kind.size for kind in racks.values()), strict=True)))
    fewest = min(kind.per_rack for kind in racks.values())
    for nodes in range(fewest + 1, limits.height_ru // size.height_ru + 1):
        raised = replace(limits, power_w=max(limits.power_w, nodes * size.power_w), weight_kg=max(limits.weight_kg, nodes * size.weight_kg))
        if sum(b.racks for b in arrange(topology, raised, {name: NodeRack(kind.size, max(nodes, kind.per_rack)) for name, kind in racks.items()}, cap)) <= free:
            advice = raise_limits(limits, size, nodes)
            return f", or set hall.nodes_per_rack to {nodes}" + (f" and {advice}" if advice else "")
    return ""


def torn_blocks(hall: Hall, blocks: Sequence[Block], stands: Sequence[Ints]) -> list[Problem]:
    """Note the pods whose racks stand in more than one row, for no row had room for them."""
    row = hall.positions["row_no"].to_numpy()[hall.free]
    torn = [str(block.pod) for block, stand in zip(blocks, stands, strict=True) if block.pod != NONE and row[stand[0]] != row[stand[-1]]]
    if not torn:
        return []
    shown = ", ".join(torn[:8]) + (f" and {len(torn) - 8} more" if len(torn) > 8 else "")
    what = f"pods that stand in more than one row: {shown}"
    return [Problem("pod-torn", "hall.rows", what, "no single row had room for all racks of the pod", "make the rows longer where cables should be short", "note")]
