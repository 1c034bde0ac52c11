"""The table of port names: what every port of every profile is called."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from ..vendors.models import PortNames, Switch
from .ports import node_port_names, switch_port_name
from .tables import PORT_NAMES, frame
from .topology import Profile


def port_names(profiles: Mapping[str, Profile], names: Mapping[str, PortNames]) -> pl.DataFrame:
    """Table PORT_NAMES; `names` is the naming of each switch profile. Node ports are named by the protocol of their mode."""
    columns: dict[str, list[object]] = {name: [] for name in PORT_NAMES}
    for key, profile in profiles.items():
        for use in profile.cages.values():
            part = profile.part
            if isinstance(part, Switch):
                ports = [(n, n) for n in (switch_port_name(names[key], use.cage, c, use.mode, part.cages_per_card) for c in range(use.ports))]
            else:
                ports = node_port_names(part, use.label, use.mode.ports, profile.protocol_of(use.cage) == "ethernet")
            for child, (port, os_name) in enumerate(ports):
                for column, value in zip(PORT_NAMES, (profile.name, use.cage, child, port, use.label, os_name), strict=True):
                    columns[column].append(value)
    return frame(PORT_NAMES, dict(columns))
