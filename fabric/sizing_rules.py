"""How many servers a complete cluster has, from its GPU nodes and the planning rules of `vendors/references.yaml`."""

from __future__ import annotations

import math
from fractions import Fraction

from ..vendors.models import Node
from ..vendors.references import Rule, Rules


def cpu_nodes(gpu_nodes: int, rules: Rules) -> int:
    """CPU nodes beside so many GPU nodes."""
    return math.ceil(gpu_nodes * _exact(rules.cpu_nodes_per_gpu_node))


def storage_nodes(gpus: int, node: Node, rules: Rules) -> int:
    """Storage nodes that bring raw capacity and bandwidth for so many GPUs, and no fewer than the least number."""
    capacity = _for_capacity(gpus * _exact(rules.storage_raw_tb_per_gpu), node.storage_raw_tb, node)
    return max(int(rules.storage_nodes_least.value), capacity, math.ceil(storage_gbps(gpus, rules) / storage_gbps_of(node)))


def appliances(gpus: int, node: Node, rules: Rules) -> int:
    """Appliances that bring usable capacity for so many GPUs; their bandwidth is not asked, see `appliances_for_bandwidth`."""
    return _for_capacity(gpus * _exact(rules.storage_usable_tb_per_gpu), node.storage_usable_tb, node)


def appliances_for_bandwidth(gpus: int, node: Node, rules: Rules) -> int:
    """Appliances that bring the planned storage bandwidth."""
    return math.ceil(storage_gbps(gpus, rules) / storage_gbps_of(node))


def storage_gbps(gpus: int, rules: Rules) -> Fraction:
    """Storage bandwidth that is planned for so many GPUs, in Gb/s."""
    return gpus * _exact(rules.storage_gbps_per_gpu)


def storage_gbps_of(node: Node) -> int:
    """Highest bandwidth of a node's storage ports in Gb/s, each run in its cage's fastest mode."""
    fastest = {cage.label: max((m.ports * m.gbps for m in cage.modes), default=0) for cage in node.cages}
    return sum(fastest[port.cage] for port in node.ports if port.use == "storage")


def power_kw(gpu_nodes: int, rules: Rules) -> float:
    """Power that is planned for GPU nodes alone, in kW."""
    return float(gpu_nodes * _exact(rules.gpu_node_kw))


def _for_capacity(tb: Fraction, tb_of_one: float | None, node: Node) -> int:
    if tb_of_one is None:
        raise ValueError(f"the catalog does not say how many TB {node.model} holds")
    return math.ceil(tb / _decimal(tb_of_one))


def _exact(rule: Rule) -> Fraction:
    return _decimal(rule.value)


def _decimal(value: float) -> Fraction:
    """A figure of a file as it is written there: 184.32 is 18,432 hundredths."""
    return Fraction(str(value))
