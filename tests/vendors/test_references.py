"""Rules and reference clusters: every number has its source, and the clusters keep their own rules."""

from __future__ import annotations

import pytest

from railplan.fabric.design import Design
from railplan.vendors.catalog import load_catalog
from railplan.vendors.references import ReferenceCluster, load_references

REFERENCES = load_references()


def test_every_rule_and_cluster_names_a_source_that_is_listed() -> None:
    sources = load_catalog().sources
    told = [getattr(REFERENCES.rules, name) for name in type(REFERENCES.rules).model_fields]
    for row in (*told, *REFERENCES.clusters):
        assert row.source in sources


@pytest.mark.parametrize("cluster", REFERENCES.clusters, ids=lambda c: str(c.nodes))
def test_a_cluster_keeps_the_rules(cluster: ReferenceCluster) -> None:
    rules = REFERENCES.rules
    assert cluster.gpus == 8 * cluster.nodes
    assert cluster.cpu_nodes * 8 == cluster.nodes * 3
    assert (cluster.control_nodes, cluster.control_racks) == (rules.control_nodes.value, rules.control_racks.value)
    assert cluster.storage_usable_tb == cluster.gpus * rules.storage_usable_tb_per_gpu.value
    assert cluster.nodes * rules.gpu_node_kw.value < 1000 * cluster.power_mw < 1.15 * cluster.nodes * rules.gpu_node_kw.value


def test_the_design_file_knows_the_clusters_that_are_published() -> None:
    choices = next(option for option in Design.model_json_schema()["properties"]["reference"]["anyOf"] if "enum" in option)
    assert choices["enum"] == [c.nodes for c in REFERENCES.clusters]
    with pytest.raises(KeyError):
        REFERENCES.cluster(65)
