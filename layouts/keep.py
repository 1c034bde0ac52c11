"""Places that are given: what the design says (`placement.places`, existing devices), and what an earlier plan installed.

They stay where they are, and only what is new finds a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from ..problems import DesignError, Problem, did_you_mean
from .arrangement import blocks_of_nodes
from .hall import Hall, Ints, Mask
from .kept import Kept
from .pins import wishes
from .placement import Ground, assemble
from .rules import check_placement
from .sizes import device_sizes

ASKED = {"pin": "placement.pins", "power-group": "placement.power_groups", "stand-apart": "placement.apart", "existing-units": "placement.existing"}
"""Rules that the design makes, and where it says so."""

NAMED = 8
"""Unknown devices that are named one by one."""


class Given(NamedTuple):
    """One place that somebody gave, and where it is written."""

    device: str
    rack: str
    ru: int
    where: str


def kept_places(topology: Topology, hall: Hall, folder: Path | None = None) -> tuple[Kept | None, list[Problem]]:
    """Places given by the design, and those of an earlier plan in a folder, None where there are none; and all problems and notes about them.

    Raises DesignError when the folder holds no plan.
    """
    spec = topology.design.placement
    names = {name: dev for dev, name in enumerate(topology.devices["device"].to_list())}
    given = [Given(device, rack, ru, f"placement.places.{rack}.{device}") for rack, devices in spec.places.items() for device, ru in devices.items()]
    given += [Given(t.device, t.rack, t.ru, f"placement.existing.{i}") for i, t in enumerate(spec.existing) if t.device is not None]
    problems = _unknown_devices([g for g in given if g.device not in names], names)
    earlier = [] if folder is None else _of_folder(folder)
    gone = [g.device for g in earlier if g.device not in names]
    known = [g for g in (*given, *earlier) if g.device in names]
    problems += _unknown_racks(known, hall) + _twice(known)
    if gone:
        what = f"{len(gone):,} devices of the earlier plan are not in this one, such as {', '.join(gone[:3])}"
        problems.append(Problem("kept-gone", str(folder), what, "their units are free for others", level="note"))
    if (given or earlier) and spec.arrangement != "auto":
        what = f"{spec.arrangement} is not used: {len(known):,} devices have places that are given"
        problems.append(Problem("arrangement-unused", "placement.arrangement", what, "the others find the cheapest places around them", level="note"))
    if not known or any(p.level == "error" for p in problems):
        return None, problems
    kept = _kept(known, names, hall)
    problems += _broken(topology, hall, kept, {g.device: g.where for g in reversed(known)}, "placement.places" if folder is None else f"{folder / 'devices.csv'}")
    return kept, problems


def _of_folder(folder: Path) -> list[Given]:
    """Read `devices.csv` of an earlier plan."""
    path = folder / "devices.csv"
    if not path.is_file():
        raise DesignError([Problem("keep", str(folder), "holds no devices.csv", "the places of an earlier plan are read from it", "name the folder of a plan")])
    try:
        rows = pl.read_csv(path, infer_schema=False)
        beside = pl.col("height_ru") == "0" if "height_ru" in rows.columns else pl.lit(False)  # such devices take no unit and have none
        table = rows.select("device", "rack", pl.when(beside).then(1).otherwise(pl.col("ru").cast(pl.Int64)).alias("ru"))
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise DesignError([Problem("keep", str(path), "can't be read as the devices of a plan", str(error).splitlines()[0], "name the folder of a plan")]) from None
    if sum(table.null_count().row(0)):
        raise DesignError([Problem("keep", str(path), "has rows without device, rack or unit", "every device of a plan has a place", "name the folder of a plan")])
    return [Given(device, rack, ru, f"{path}:{line}") for line, (device, rack, ru) in enumerate(table.iter_rows(), 2)]


def _unknown_devices(unknown: Sequence[Given], names: dict[str, int]) -> list[Problem]:
    why = "a place without a device keeps nothing"
    found = [Problem("place-device", g.where, f"the plan has no device {g.device!r}", why, did_you_mean(g.device, names)) for g in unknown[:NAMED]]
    if len(unknown) > NAMED:
        rest = unknown[NAMED:]
        found.append(Problem("place-device", rest[0].where, f"and {len(rest):,} more devices that the plan does not have, such as {rest[0].device}", why, "remove their places"))
    return found


def _unknown_racks(given: Sequence[Given], hall: Hall) -> list[Problem]:
    """One problem for each rack that cannot stand, however many devices it should hold."""
    blocked = dict(hall.positions.select("rack", "blocked").iter_rows())
    wrong: dict[str, list[Given]] = {}
    for g in given:
        if blocked.get(g.rack, True):
            wrong.setdefault(g.rack, []).append(g)
    free = [name for name, shut in blocked.items() if not shut]
    return [
        Problem(
            "place-rack",
            those[0].where,
            f"{those[0].device}{f' and {len(those) - 1} more' if len(those) > 1 else ''} should stand in {rack}, "
            + ("a blocked position" if rack in blocked else "which the hall does not have"),
            "a kept device can't move",
            did_you_mean(rack, free),
        )
        for rack, those in wrong.items()
    ]


def _twice(given: Sequence[Given]) -> list[Problem]:
    """A device that is given two different places."""
    first: dict[str, Given] = {}
    found = []
    for g in given:
        other = first.setdefault(g.device, g)
        if (other.rack, other.ru) != (g.rack, g.ru):
            what = f"{g.device} is given two places: U{other.ru} of {other.rack} and U{g.ru} of {g.rack}"
            found.append(Problem("place-twice", g.where, what, f"the other is in {other.where}", "keep one"))
    return found


def _kept(given: Sequence[Given], names: dict[str, int], hall: Hall) -> Kept:
    racks = {name: i for i, name in enumerate(hall.positions["rack"].to_list())}
    mask, position, ru = np.zeros(len(names), bool), np.zeros(len(names), np.int64), np.ones(len(names), np.int64)
    dev = np.array([names[g.device] for g in given], np.int64)
    mask[dev], position[dev], ru[dev] = True, [racks[g.rack] for g in given], [g.ru for g in given]
    return Kept(mask, position, ru)


def _broken(topology: Topology, hall: Hall, kept: Kept, where: dict[str, str], at: str) -> list[Problem]:
    """What kept devices break by themselves, whatever is placed around them: the rules, on them alone."""
    alone = replace(topology, devices=topology.devices.filter(pl.Series(kept.mask)).with_columns(dev=pl.int_range(pl.len(), dtype=pl.UInt32)))
    whole = bool(kept.mask.all())
    return [
        _broken_place(p, where.get(p.where, at))
        for p in check_placement(alone, assemble(alone, hall, kept.position[kept.mask], kept.ru[kept.mask]))
        if whole or p.rule != "stand-apart"
    ]


def _broken_place(broken: Problem, at: str) -> Problem:
    """A rule that given places break, told where they are given; what the design asks of an earlier plan, where the design asks it."""
    what, asked = f"{broken.where} {broken.what}", ASKED.get(broken.rule)
    if asked is None or at.startswith("placement."):
        return Problem(broken.rule, at, what, "its place is given, and what is given stays", f"mend its place, or leave it out{f', or loosen {asked}' if asked else ''}")
    return Problem(broken.rule, asked, what, f"its place is kept ({at}), and what is kept stays", f"loosen {asked}, or plan without --keep")


def with_fellows(kept: Kept, topology: Topology, ground: Ground) -> Kept:
    """Kept devices, and the nodes that would share a rack with kept ones and find room there."""
    hall = ground.hall
    limit_w, limit_kg = (hall.positions[c].to_numpy()[hall.free] for c in ("power_w", "weight_kg"))
    asked = wishes(topology, hall, ground.racks)
    sizes = device_sizes(topology)
    height, power_w, weight_kg = (sizes[c].to_numpy() for c in ("height_ru", "power_w", "weight_kg"))
    is_node = (topology.devices["role"] == "node").to_numpy()
    profile = topology.devices["profile"].to_list()
    number = np.full(hall.positions.height, -1, np.int64)
    number[hall.free] = np.arange(len(hall.free))
    taken, watts, kilos = asked.taken.copy(), asked.power_w.copy(), asked.weight_kg.copy()
    nodes = np.zeros(len(hall.free), np.int64)
    mask, position, ru = kept.mask.copy(), kept.position.copy(), kept.ru.copy()

    def stand(dev: int, rack: int, unit: int) -> None:
        taken[rack, unit - 1 : unit - 1 + height[dev]] = True
        watts[rack] += power_w[dev]
        kilos[rack] += weight_kg[dev]
        nodes[rack] += is_node[dev]
        mask[dev], position[dev], ru[dev] = True, hall.free[rack], unit

    for dev in np.flatnonzero(kept.mask).tolist():
        stand(dev, int(number[kept.position[dev]]), int(kept.ru[dev]))
    for block in blocks_of_nodes(topology, ground.racks)[0]:
        racks = number[kept.position[block[kept.mask[block]]]]
        for dev in block[~kept.mask[block]].tolist():
            for rack in np.unique(racks).tolist():
                unit = _lowest_run(taken[rack], int(height[dev]))
                light = watts[rack] + power_w[dev] <= limit_w[rack] + 1e-6 and kilos[rack] + weight_kg[dev] <= limit_kg[rack] + 1e-6
                if unit and light and nodes[rack] < ground.racks[profile[dev]].per_rack and asked.may[dev, rack]:
                    stand(dev, rack, unit)
                    break
    return Kept(mask, position, ru)


def _lowest_run(taken: Mask, units: int) -> int:
    """The lowest unit of the lowest run of so many free ones; 0 when there is none."""
    runs = np.convolve(~taken, np.ones(units, np.int64), "valid") == units if units <= len(taken) else np.zeros(0, bool)
    return int(np.argmax(runs)) + 1 if runs.any() else 0


def blocks_around(kept: Kept, blocks: Sequence[Ints], pods: Sequence[int]) -> tuple[list[Ints], list[int]]:
    """Blocks of nodes and their pods, where kept nodes of one rack are one block and the others of a block another."""
    pod_of = {dev: pod for block, pod in zip(blocks, pods, strict=True) for dev in block.tolist()}
    nodes = np.array(sorted(dev for dev in pod_of if kept.mask[dev]), np.int64)
    stands = [nodes[kept.position[nodes] == position] for position in np.unique(kept.position[nodes]).tolist()]
    others = [(block[~kept.mask[block]], pod) for block, pod in zip(blocks, pods, strict=True) if not kept.mask[block].all()]
    return [*stands, *(block for block, _ in others)], [*(pod_of[int(b[0])] for b in stands), *(pod for _, pod in others)]
