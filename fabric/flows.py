"""The two network problems that proofs ask of OR-Tools: a maximum flow, and a transport of the greatest weight."""

from __future__ import annotations

import numpy as np

from .net import Ints

SCALE = 2**36
"""Steps that the largest weight of a transport is divided into; the solver counts in whole numbers."""


def maximum_flow(tail: Ints, head: Ints, capacity: Ints, source: int, sink: int) -> int:
    """The greatest flow from source to sink over arcs with whole capacities."""
    from ortools.graph.python import max_flow  # type: ignore[import-untyped]

    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(tail, head, capacity)
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise RuntimeError(f"the maximum flow was not found: {status}")
    return int(solver.optimal_flow())


def best_transport(weight: np.ndarray, supply: Ints, demand: Ints) -> Ints:
    """Amounts from each source (row) to each target (column) that weigh most, within supply and demand.

    Alike rows, and alike columns, are carried as one and shared out afterwards.
    """
    rows, row = np.unique(weight, axis=0, return_inverse=True)
    small, column = np.unique(rows, axis=1, return_inverse=True)
    row, column = row.ravel(), column.ravel()
    sources = np.bincount(row, weights=supply, minlength=small.shape[0]).astype(np.int64)
    targets = np.bincount(column, weights=demand, minlength=small.shape[1]).astype(np.int64)
    merged = _transport(small, sources, targets)
    amounts = np.zeros(weight.shape, dtype=np.int64)
    left, room = supply.copy(), demand.copy()
    for i, j in np.argwhere(merged):
        _share_out(amounts, np.flatnonzero(row == i), np.flatnonzero(column == j), int(merged[i, j]), left, room)
    return amounts


def _share_out(amounts: Ints, rows: Ints, columns: Ints, amount: int, left: Ints, room: Ints) -> None:
    """Give out an amount over alike rows and columns, first come first served."""
    i = j = 0
    while amount:
        r, c = rows[i], columns[j]
        part = min(amount, int(left[r]), int(room[c]))
        amounts[r, c] += part
        left[r], room[c], amount = left[r] - part, room[c] - part, amount - part
        i, j = i + (left[r] == 0), j + (room[c] == 0)


def _transport(weight: np.ndarray, supply: Ints, demand: Ints) -> Ints:
    from ortools.graph.python import min_cost_flow

    rows, columns = weight.shape
    amounts = np.zeros((rows, columns), dtype=np.int64)
    top = float(weight.max(initial=0.0))
    useful = np.argwhere(weight > 0)
    if top <= 0 or not len(useful):
        return amounts
    source, sink = rows + columns, rows + columns + 1
    cost = -np.rint(weight[useful[:, 0], useful[:, 1]] / top * SCALE).astype(np.int64)
    solver = min_cost_flow.SimpleMinCostFlow()
    total = min(int(supply.sum()), int(demand.sum()))
    arcs = solver.add_arcs_with_capacity_and_unit_cost(useful[:, 0], rows + useful[:, 1], np.minimum(supply[useful[:, 0]], demand[useful[:, 1]]), cost)
    zero = np.zeros
    solver.add_arcs_with_capacity_and_unit_cost(np.full(rows, source), np.arange(rows), supply, zero(rows, dtype=np.int64))
    solver.add_arcs_with_capacity_and_unit_cost(rows + np.arange(columns), np.full(columns, sink), demand, zero(columns, dtype=np.int64))
    solver.add_arc_with_capacity_and_unit_cost(source, sink, total, 0)
    solver.set_node_supply(source, total)
    solver.set_node_supply(sink, -total)
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise RuntimeError(f"the heaviest transport was not found: {status}")
    amounts[useful[:, 0], useful[:, 1]] = solver.flows(arcs)
    return amounts
