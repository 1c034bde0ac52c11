"""Devices that must not move, whoever says so: the design, an earlier plan, or an arrangement that stands servers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..fabric.topology import Topology
from .hall import Ints, Mask

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
