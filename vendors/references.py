"""Rules that complete clusters are sized by, and the published reference clusters; both with source, date and confidence."""

from __future__ import annotations

from datetime import date
from functools import cache
from pathlib import Path

from .models import Confidence, Count, Frozen, Positive
from .yaml_source import read_yaml, validate

FILE = Path(__file__).parent / "references.yaml"


class Told(Frozen):
    """What a document says: a key of `sources.yaml`, when it was read, how sure we are."""

    source: str
    checked: date
    confidence: Confidence
    note: str | None = None


class Rule(Told):
    """One number that clusters are planned by."""

    value: Positive


class Rules(Frozen):
    """Every rule; units stand in the names."""

    cpu_nodes_per_gpu_node: Rule
    control_nodes: Rule
    control_racks: Rule
    storage_usable_tb_per_gpu: Rule
    storage_raw_tb_per_gpu: Rule
    storage_nodes_least: Rule
    storage_gbps_per_gpu: Rule
    north_south_gbps_per_node: Rule
    gpu_node_kw: Rule


class ReferenceCluster(Told):
    """What one reference cluster is made of; `power_mw` is its IT load, about. Storage is an appliance or nodes, not both."""

    nodes: Count
    gpus: Count
    cpu_nodes: Count
    control_nodes: Count
    control_racks: Count
    storage_usable_tb: Positive
    storage_nodes: Count
    power_mw: Positive


class References(Frozen):
    """The shipped file."""

    rules: Rules
    clusters: tuple[ReferenceCluster, ...]

    def cluster(self, nodes: int) -> ReferenceCluster:
        """The reference cluster of so many GPU nodes; KeyError when there is none."""
        return {c.nodes: c for c in self.clusters}[nodes]


@cache
def load_references() -> References:
    """Read the shipped rules and reference clusters."""
    return validate(References, read_yaml(FILE, "catalog"), "catalog")
