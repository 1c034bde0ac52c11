"""Any size, family, plane count and ratio gives either a proved fabric or a refusal that says what is wrong and how to mend it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railplan.fabric.bisection import check_bisection, prove
from railplan.fabric.build import build_topology
from railplan.fabric.checks import check_fabric
from railplan.fabric.design import Design
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

ODD_COUNTS = [1, 2, 3, 7, 9, 17, 31, 33, 61, 65, 97, 127, 129, 193, 257, 333, 577]


def is_proved_or_refused(model: str, count: int, fabric: dict[str, Any], grow_to: int | None = None) -> bool:
    """True for a fabric that passes every check; False for a refusal that is complete; anything else fails."""
    design = Design.model_validate({"nodes": {"model": model, "count": count, "grow_to": grow_to}, "fabrics": {"compute": fabric}})
    try:
        topology = build_topology(design, load_catalog())
    except DesignError as refused:
        errors = [p for p in refused.problems if p.level == "error"]
        assert errors
        assert all(p.what and p.fix for p in errors), errors
        return False
    proof = prove(topology, "compute")
    assert [str(p) for p in check_fabric(topology) + check_bisection(proof)] == []
    assert proof.non_blocking or design.fabrics["compute"].oversubscription > 1
    return True


@pytest.mark.parametrize(("family", "model", "planes"), FAMILIES)
def test_odd_counts_are_proved_or_refused(family, model, planes):
    proved = [is_proved_or_refused(model, count, {"family": family, "planes": planes}) for count in ODD_COUNTS]
    assert sum(proved) >= 12


@pytest.mark.parametrize(("ratio", "partial"), [(2, "full"), ("7:2", "trimmed")])
@pytest.mark.parametrize(("family", "model", "planes"), FAMILIES)
def test_odd_counts_are_proved_or_refused_when_oversubscribed(family, model, planes, ratio, partial):
    fabric = {"family": family, "planes": planes, "oversubscription": ratio, "partial_su": partial, "nodes_per_su": "max"}
    proved = [is_proved_or_refused(model, count, fabric) for count in (9, 33, 129, 333)]
    assert any(proved)


@pytest.mark.parametrize("switch", ["nvidia-sn5600", "dell-z9864f-on", "arista-7060x6-64pe-b"])
@pytest.mark.parametrize("planes", [1, 2, 4])
def test_an_eight_way_split_is_proved_or_refused(switch, planes):
    family = load_catalog().switches[switch].families[0]
    proved = [is_proved_or_refused("hgx-b300", count, {"family": family, "switch": switch, "nic_mode": "8x100G", "planes": planes}) for count in (1, 3, 9, 31, 65)]
    assert any(proved)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    family=st.sampled_from(FAMILIES),
    count=st.integers(1, 600),
    growth=st.none() | st.integers(0, 200),
    ratio=st.sampled_from([1, 1, 2, 3, 4, 1.5, "7:3"]),
    partial=st.sampled_from(["full", "trimmed"]),
    style=st.sampled_from(["rail", "rail", "rail", "pair", "single"]),
    per_su=st.sampled_from(["auto", "auto", "max", 1, 5, 16]),
    share=st.sampled_from(["auto", "auto", 1, 2, 4, 8]),
    ufm=st.sampled_from([0, 0, 1, 4, 6]),
    reserved=st.sampled_from([0, 0, 3]),
)
def test_any_design_is_proved_or_refused(family, count, growth, ratio, partial, style, per_su, share, ufm, reserved):
    name, model, planes = family
    fabric = {"family": name, "planes": planes, "oversubscription": ratio, "partial_su": partial, "style": style}
    fabric |= {"nodes_per_su": per_su, "rails_per_leaf": share, "ufm_links": ufm, "reserved_ports": {"leaf": reserved, "spine": reserved}}
    is_proved_or_refused(model, count, fabric, None if growth is None else count + growth)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    switch=st.sampled_from(sorted(s.model for s in load_catalog().switches.values() if s.families)),
    model=st.sampled_from(sorted(n.model for n in load_catalog().nodes.values() if n.gpus)),
    count=st.integers(1, 600),
    ratio=st.sampled_from([1, 2, 3]),
)
def test_any_switch_with_any_node_is_proved_or_refused(switch, model, count, ratio):
    family = load_catalog().switches[switch].families[0]
    is_proved_or_refused(model, count, {"family": family, "switch": switch, "oversubscription": ratio})
