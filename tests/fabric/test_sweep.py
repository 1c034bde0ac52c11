"""Any size, family, plane count and ratio gives either a proved fabric or a refusal that says what is wrong and how to mend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railplan.fabric.bisection import check_bisection, prove
from railplan.fabric.build import build_topology
from railplan.fabric.checks import check_fabric
from railplan.fabric.design import Design
from railplan.fabric.net import net_of
from railplan.fabric.traffic import check_traffic, worst_traffic
from railplan.problems import DesignError
from railplan.vendors.catalog import load_catalog

FAMILIES = [
    ("spectrum-x", "hgx-h100", 1),
    ("spectrum-x", "hgx-b300", 1),
    ("spectrum-x", "hgx-b300", 2),
    ("tomahawk-5", "amd-mi300x-8", 1),
    ("tomahawk-5", "hgx-b300", 2),
    ("tomahawk-6", "hgx-h100", 1),
    ("tomahawk-6", "hgx-b300", 2),
    ("quantum-ndr", "dgx-h100", 1),
    ("quantum-ndr", "gb200-nvl72-tray", 1),
    ("quantum-ndr", "hgx-b300", 2),
    ("quantum-xdr", "dgx-b300", 1),
    ("quantum-xdr", "vera-rubin-nvl72-tray", 2),
]
"""Family, a node that suits it, planes."""

ODD_COUNTS = [1, 3, 9, 17, 33, 61, 65, 129, 257]


def is_proved_or_refused(model: str, count: int, fabric: dict[str, Any], grow_to: int | None = None, more: Sequence[dict[str, Any]] = ()) -> bool:
    """True for a fabric that passes every check; False for a refusal that is complete; anything else fails."""
    design = Design.model_validate({"nodes": {"model": model, "count": count, "grow_to": grow_to}, "more_nodes": more, "fabrics": {"compute": fabric}})
    try:
        topology = build_topology(design, load_catalog())
    except DesignError as refused:
        errors = [p for p in refused.problems if p.level == "error"]
        assert errors
        assert all(p.what and p.fix for p in errors), errors
        return False
    net, spec = net_of(topology, "compute"), design.fabrics.compute
    proof, traffic = prove(topology, "compute", net), worst_traffic(topology, "compute", net)
    assert [str(p) for p in check_fabric(topology) + check_bisection(proof) + check_traffic(traffic)] == []
    assert proof.non_blocking or max(spec.oversubscription, spec.core_oversubscription) > 1
    assert not proof.non_blocking or traffic.worst_load <= 1
    return True


@pytest.mark.parametrize(("family", "model", "planes"), FAMILIES)
def test_odd_counts_are_proved_or_refused(family, model, planes):
    proved = [is_proved_or_refused(model, count, {"family": family, "planes": planes}) for count in ODD_COUNTS]
    assert sum(proved) >= 8


@pytest.mark.parametrize(("ratio", "partial"), [(2, "full"), ("7:2", "trimmed")])
@pytest.mark.parametrize(("family", "model", "planes"), FAMILIES)
def test_odd_counts_are_proved_or_refused_when_oversubscribed(family, model, planes, ratio, partial):
    fabric = {"family": family, "planes": planes, "oversubscription": ratio, "partial_su": partial, "nodes_per_su": "max"}
    proved = [is_proved_or_refused(model, count, fabric) for count in (9, 33, 129)]
    assert any(proved)


@pytest.mark.parametrize("switch", ["nvidia-sn5600", "dell-z9864f-on", "arista-7060x6-64pe-b"])
@pytest.mark.parametrize("planes", [1, 2, 4])
def test_an_eight_way_split_is_proved_or_refused(switch, planes):
    family = load_catalog().switches[switch].families[0]
    proved = [is_proved_or_refused("hgx-b300", count, {"family": family, "switch": switch, "nic_mode": "8x100G", "planes": planes}) for count in (1, 3, 9, 31, 65)]
    assert any(proved)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    family=st.sampled_from(FAMILIES),
    count=st.integers(1, 600),
    growth=st.none() | st.integers(0, 200),
    ratio=st.sampled_from([1, 1, 2, 3, 4, 1.5, "7:3"]),
    partial=st.sampled_from(["full", "trimmed"]),
    style=st.sampled_from(["rail", "rail", "rail", "rail-only", "tor", "tor", "dual-tor", "pair", "single"]),
    tiers=st.sampled_from(["auto", "auto", "auto", 2, 3, 3]),
    above=st.sampled_from([1, 1, 2, 7, "7:3"]),
    groups=st.sampled_from(["auto", "auto", "rail", "shared"]),
    per_su=st.sampled_from(["auto", "auto", "max", 1, 5, 16]),
    share=st.sampled_from(["auto", "auto", 1, 2, 4, 8]),
    ufm=st.sampled_from([0, 0, 1, 4, 6]),
    reserved=st.sampled_from([0, 0, 3]),
)
def test_any_design_is_proved_or_refused(family, count, growth, ratio, partial, style, tiers, above, groups, per_su, share, ufm, reserved):
    name, model, planes = family
    fabric = {"family": name, "planes": planes, "oversubscription": ratio, "partial_su": partial, "style": style, "tiers": tiers, "core_oversubscription": above}
    fabric |= {"spine_groups": groups, "nodes_per_su": per_su, "rails_per_leaf": share, "ufm_links": ufm, "reserved_ports": {"leaf": reserved, "spine": reserved}}
    is_proved_or_refused(model, count, fabric, None if growth is None else count + growth)


THREE = [("rail", 1), ("rail", 2), ("tor", 1), ("tor", 2), ("dual-tor", 1)]
"""Styles that three tiers are planned for, and planes."""


@pytest.mark.parametrize(("style", "planes"), THREE)
@pytest.mark.parametrize("per_group", [1, 2, 3, 5])
def test_groups_of_any_size_are_proved_or_refused(style, planes, per_group):
    fabric = {"family": "spectrum-x", "style": style, "planes": planes, "tiers": 3, "nodes_per_su": 4, "sus_per_group": per_group, "core_oversubscription": per_group}
    assert sum(is_proved_or_refused("hgx-b300", count, fabric) for count in (7, 21, 43)) >= 1


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    counts=st.tuples(st.integers(1, 150), st.integers(1, 90)),
    models=st.sampled_from([("hgx-b300", "hgx-h100"), ("hgx-h100", "hgx-b300"), ("dgx-b300", "gb300-nvl72-tray")]),
    tiers=st.sampled_from(["auto", 3]),
    style=st.sampled_from(["rail", "tor"]),
    groups=st.sampled_from(["auto", "shared"]),
)
def test_two_kinds_of_node_are_proved_or_refused(counts, models, tiers, style, groups):
    fabric = {"family": "spectrum-x", "planes": 1, "tiers": tiers, "style": style, "spine_groups": groups}
    is_proved_or_refused(models[0], counts[0], fabric, more=[{"model": models[1], "count": counts[1], "name": "more"}])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    switch=st.sampled_from(sorted(s.model for s in load_catalog().switches.values() if s.families)),
    model=st.sampled_from(sorted(n.model for n in load_catalog().nodes.values() if n.gpus)),
    count=st.integers(1, 400),
    ratio=st.sampled_from([1, 2, 3]),
)
def test_any_switch_with_any_node_is_proved_or_refused(switch, model, count, ratio):
    family = load_catalog().switches[switch].families[0]
    is_proved_or_refused(model, count, {"family": family, "switch": switch, "oversubscription": ratio})
