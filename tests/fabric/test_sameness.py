"""Classes of identical switches: few on a regular fabric, and a maximum flow over them is that over all switches."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from railplan.fabric.bisection import by_flow
from railplan.fabric.flows import best_transport, maximum_flow
from railplan.fabric.net import net_of
from railplan.fabric.sameness import classes, number, part_sizes

from .tiny import tiny


def plain_flow(net, a, b) -> int:
    """Maximum flow over every switch by itself."""
    every = np.arange(net.size)
    leaves = np.arange(net.leaves)
    source, sink = 2 * net.size, 2 * net.size + 1
    tail = np.concatenate([net.low, net.high + net.size, every, np.full(net.leaves, source), leaves + net.size])
    head = np.concatenate([net.high, net.low + net.size, every + net.size, leaves, np.full(net.leaves, sink)])
    return maximum_flow(tail, head, np.concatenate([net.gbps, net.gbps, np.full(net.size, 2**40), a, b]), source, sink)


def test_a_regular_fabric_has_one_class_for_each_tier(built):
    net = net_of(built("hgx-h100", 512, "quantum-ndr"), "compute")
    colour = classes(net, (part_sizes(net),))
    assert len(np.unique(colour)) == 3
    assert net.size == 128 + 128 + 64


def test_a_leaf_with_one_link_less_is_told_apart_with_its_spine(built):
    net = net_of(built("hgx-h100", 64, "quantum-ndr"), "compute")
    less = net.links.copy()
    less[5] -= 1
    colour = classes(replace(net, links=less, gbps=less * 400), ())
    leaf, spine = net.low[5], net.high[5]
    assert (colour == colour[leaf]).sum() == (colour == colour[spine]).sum() == 1
    assert len(np.unique(colour)) == 4


@pytest.mark.parametrize("seed", range(40))
def test_the_flow_over_classes_is_that_over_switches(built, seed):
    choose = random.Random(seed)
    ends = {f"leaf-{i}": choose.choice([2, 2, 3]) for i in range(8)}
    bundles = [(leaf, f"spine-{i // 4}{s}", n) for i, leaf in enumerate(ends) for s in range(3) if (n := choose.choice([0, 1, 1, 1, 2]))]
    bundles += [(f"spine-{g}{s}", f"core-{c}", n) for g in range(2) for s in range(3) for c in range(2) if (n := choose.choice([0, 1, 1, 1]))]
    net = net_of(tiny(built("hgx-h100", 64, "quantum-ndr"), ends, bundles), "compute")
    a = np.array([400 * choose.choice([0, 1, 2]) for _ in range(net.leaves)])
    b = net.of_leaves() - a
    assert by_flow(net, a, b) == plain_flow(net, a, b)


def test_rows_are_numbered_in_their_order():
    assert number(np.array([3, 1, 3, 1]), np.array([0, 9, 0, 2])).tolist() == [2, 1, 2, 0]
    wide = [np.array([i * 2**60, 0, i * 2**60]) for i in (1, 2, 3)]
    assert number(*wide).tolist() == [1, 0, 1]


@pytest.mark.parametrize("seed", range(20))
def test_the_heaviest_transport_is_that_of_linear_programming(seed):
    from scipy.optimize import linprog

    random_ = np.random.default_rng(seed)
    rows, columns = random_.integers(1, 6, 2)
    weight = random_.choice([0.0, 0.25, 1 / 3, 0.5], (rows, columns))
    supply, demand = random_.integers(0, 9, rows), random_.integers(0, 9, columns)
    amounts = best_transport(weight, supply, demand)
    assert (amounts.sum(axis=1) <= supply).all()
    assert (amounts.sum(axis=0) <= demand).all()
    limits = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    best = linprog(-weight.ravel(), A_ub=limits, b_ub=np.concatenate([supply, demand]))
    assert (amounts * weight).sum() == pytest.approx(-best.fun)
