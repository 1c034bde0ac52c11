"""Pods whose node racks stand together: what that means, free of any solver, and as a rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..fabric.tables import NONE
from ..fabric.topology import Topology
from ..problems import Problem
from .hall import Hall, Ints
from .placement import Placement


def torn_pods(hall: Hall, pod: Ints, position: Ints) -> Ints:
    """Pods whose racks do not stand together; `pod` and `position` (row number in `hall.positions`) are of node racks.

    Together is: in each row no node rack of another pod among them (switches and empty positions may be), and rows that are
    neighbours, at most one more than the longest row makes necessary.
    """
    row_no = hall.positions["row_no"].to_numpy().astype(np.int64)
    pods, at = (part[pod != NONE] for part in (pod, position))
    seats = np.unique(np.stack([at, pods], axis=1), axis=0)  # positions are numbered along the rows
    row, own = row_no[seats[:, 0]], seats[:, 1]
    begins = np.r_[True, (row[1:] != row[:-1]) | (own[1:] != own[:-1])] if len(own) else np.zeros(0, bool)
    runs = np.stack([row[begins], own[begins]], axis=1)
    longest = int(np.bincount(row_no[hall.free]).max(initial=1))
    torn = []
    for one in np.unique(own).tolist():
        rows = runs[runs[:, 1] == one, 0]
        most = -(-int((own == one).sum()) // longest) + 1
        if len(np.unique(rows)) < len(rows) or len(rows) > most or rows.max() - rows.min() >= len(rows):
            torn.append(one)
    return np.array(torn, np.int64)


def torn_in(topology: Topology, placement: Placement) -> Ints:
    """Pods of a placement whose node racks do not stand together."""
    nodes = np.flatnonzero((topology.devices["role"] == "node").to_numpy())
    number = {rack: i for i, rack in enumerate(placement.hall.positions["rack"].to_list())}
    position = np.array([number[rack] for rack in placement.racks["rack"].to_list()], np.int64)[placement.places["rack_no"].to_numpy()]
    return torn_pods(placement.hall, topology.devices["home"].to_numpy().astype(np.int64)[nodes], position[nodes])


def pods_stand_together(topology: Topology, placement: Placement) -> Iterator[Problem]:
    """Where the design asks for it, the node racks of every pod stand together."""
    if topology.design.placement.contiguous != "always":
        return
    for pod in torn_in(topology, placement).tolist():
        what = "its node racks stand apart, with racks of other pods among them or in too many rows"
        yield Problem("pod-apart", f"pod {pod}", what, "placement.contiguous is always", "set placement.contiguous to auto, or give the hall longer rows")
