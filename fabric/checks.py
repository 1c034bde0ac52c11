"""Every check of the fabric, in the order it runs; each counts from the tables and trusts no formula of sizing."""

from __future__ import annotations

from collections.abc import Callable

from ..problems import Problem
from .check_access import ACCESS_CHECKS
from .check_counts import (
    counts_in_are_counts_out,
    every_gpu_has_all_its_links,
    links_join_the_right_roles,
    names_are_unique_and_host_safe,
    rows_are_numbered,
    serials_are_unique,
)
from .check_load import every_node_reaches_every_node, oversubscription_is_as_designed
from .check_ports import breakouts_are_legal, cages_have_lanes_for_their_ports, every_port_exists, links_agree_with_their_cages, no_port_is_used_twice
from .check_rails import (
    a_node_has_one_port_number_on_all_its_leaves,
    every_gpu_is_alike_in_all_planes,
    gpus_own_their_ports,
    nodes_keep_to_their_leaf,
    nodes_use_their_ports_alike,
    planes_are_disjoint,
    rail_names_tell_the_truth,
    rails_are_pure,
)
from .check_spread import every_leaf_spreads_evenly, full_sus_are_alike, leaves_stay_in_their_spine_group, spines_spread_evenly_over_their_core_group
from .topology import Topology

Check = Callable[[Topology], list[Problem]]

EVERYWHERE: tuple[Check, ...] = (
    names_are_unique_and_host_safe,
    serials_are_unique,
    links_join_the_right_roles,
    no_port_is_used_twice,
    cages_have_lanes_for_their_ports,
    every_port_exists,
    breakouts_are_legal,
    links_agree_with_their_cages,
    every_leaf_spreads_evenly,
)
"""Checks of all fabrics together."""

RAILS: tuple[Check, ...] = (
    counts_in_are_counts_out,
    every_gpu_has_all_its_links,
    rails_are_pure,
    nodes_keep_to_their_leaf,
    rail_names_tell_the_truth,
    gpus_own_their_ports,
    nodes_use_their_ports_alike,
    a_node_has_one_port_number_on_all_its_leaves,
    planes_are_disjoint,
    every_gpu_is_alike_in_all_planes,
    leaves_stay_in_their_spine_group,
    spines_spread_evenly_over_their_core_group,
    full_sus_are_alike,
    oversubscription_is_as_designed,
    every_node_reaches_every_node,
)
"""Checks of the compute fabric."""

CHECKS = (*EVERYWHERE, *RAILS, *ACCESS_CHECKS)


def check_fabric(topology: Topology) -> list[Problem]:
    """Run every check; when rows are misnumbered, only that is reported, as nothing else could be trusted."""
    misnumbered = rows_are_numbered(topology) or rows_are_numbered(topology.compute)
    if misnumbered:
        return misnumbered
    found = [problem for check in EVERYWHERE for problem in check(topology)]
    found += [problem for check in RAILS for problem in check(topology.compute)]
    return found + [problem for check in ACCESS_CHECKS for problem in check(topology)]
