"""Re-planning: what an earlier plan installed stays where it is, and only what is new finds a place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ..fabric.topology import Topology
from ..problems import DesignError, Problem, did_you_mean
from .hall import Hall, Ints, Mask

STANDING = ("server", "pdu")
"""Roles that no search moves: servers stay where an arrangement stands them, PDUs are dealt out to the racks in use."""


@dataclass(frozen=True)
class Kept:
    """Devices that must not move: hall position and lowest unit where `mask` holds."""

    mask: Mask
    position: Ints
    ru: Ints

    def override(self, position: Ints, ru: Ints) -> tuple[Ints, Ints]:
        """Positions and units with those of kept devices as they stand."""
        return np.where(self.mask, self.position, position), np.where(self.mask, self.ru, ru)


def servers_at(topology: Topology, position: Ints, ru: Ints, kept: Kept | None = None) -> Kept:
    """The servers as they stand in an arrangement, and what is kept already."""
    mask = (topology.devices["role"] == "server").to_numpy()
    return Kept(mask, position, ru) if kept is None else Kept(mask | kept.mask, *kept.override(position, ru))


def kept_from_folder(folder: Path, topology: Topology, hall: Hall) -> Kept:
    """Read `devices.csv` of an earlier plan; raises DesignError with everything that does not fit this one."""
    path = folder / "devices.csv"
    if not path.is_file():
        raise DesignError([Problem("keep", str(folder), "holds no devices.csv", "the places of an earlier plan are read from it", "name the folder of a plan")])
    try:
        table = pl.read_csv(path, infer_schema=False).select("device", "rack", pl.col("ru").cast(pl.Int64).fill_null(1))
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise DesignError([Problem("keep", str(path), "can't be read as the devices of a plan", str(error).splitlines()[0], "name the folder of a plan")]) from None
    return _matched(table, topology, hall, str(path))


def _matched(table: pl.DataFrame, topology: Topology, hall: Hall, where: str) -> Kept:
    """Match (device, rack, ru) by name with the devices of this plan; devices that this plan lacks are removed ones and are let go."""
    names = {name: dev for dev, name in enumerate(topology.devices["device"].to_list())}
    blocked = hall.positions["blocked"].to_list()
    racks = {name: i for i, name in enumerate(hall.positions["rack"].to_list()) if not blocked[i]}
    count = topology.devices.height
    mask, position, ru = np.zeros(count, bool), np.zeros(count, np.int64), np.ones(count, np.int64)
    problems = []
    for device, rack, unit in table.iter_rows():
        if device not in names:
            continue
        if rack not in racks:
            problems.append(Problem("keep-rack", where, f"{device} stands in {rack}, which the hall does not have", "a kept device can't move", did_you_mean(str(rack), racks)))
            continue
        mask[names[device]], position[names[device]], ru[names[device]] = True, racks[rack], unit
    if problems:
        raise DesignError(problems[:10])
    return Kept(mask, position, ru)
