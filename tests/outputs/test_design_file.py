"""design.yaml: planned again, it gives the same bytes."""

from __future__ import annotations

import pytest

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.outputs import render
from railplan.outputs.design_file import files

DESIGNS = {
    "one tier": "nodes: {model: hgx-b300, count: 4}\nfabrics: {compute: {family: spectrum-x}}\n",
    "two tiers": "nodes: {model: hgx-h100, count: 40}\nfabrics: {compute: {family: quantum-ndr}}\n",
    "single": "nodes: {model: hgx-b300, count: 4}\nfabrics: {compute: {family: quantum-xdr, style: single}}\n",
    "pair": "nodes: {model: hgx-h100, count: 12}\nfabrics: {compute: {family: spectrum-x, style: pair}}\n",
    "four planes": "nodes: {model: hgx-b300, count: 31}\nfabrics: {compute: {family: spectrum-x, planes: 4}}\n",
    "disputed mode": "nodes: {model: hgx-b300, count: 8}\nfabrics: {compute: {family: spectrum-x, nic_mode: 1x800G}}\n",
    "ufm": "nodes: {model: dgx-h100, count: 63}\nfabrics: {compute: {family: quantum-ndr, ufm_links: 4}}\n",
    "ratio and trimmed": "nodes: {model: hgx-b300, count: 100}\nfabrics: {compute: {family: quantum-xdr, oversubscription: '7:3', partial_su: trimmed, nodes_per_su: max}}\n",
    "growth": "name: big\nnodes: {model: hgx-h100, count: 33, grow_to: 128}\nfabrics: {compute: {family: quantum-ndr}}\n",
    "shared leaves": "nodes: {model: hgx-h100, count: 16}\nfabrics: {compute: {family: quantum-ndr, reserved_ports: {leaf: 2}}}\n",
    "own hall": """\
nodes: {model: hgx-h100, count: 8}
fabrics: {compute: {family: quantum-ndr}}
hall:
  rows: [{name: 'NO', racks: 6, blocked: [2]}, {name: '1', racks: 4}]
  measured: [{rack_a: NO01, rack_b: NO03, length_m: 9.5}]
  rack_power_kw: 45
cables: {max_length_m: {dac: 0}, currency: EUR}
seed: 7
""",
    "racks of several types": """\
nodes: {model: dgx-h100, count: 40}
fabrics: {compute: {family: quantum-ndr}}
hall:
  rack_cooling_kw: 44
  floor_kg_per_m2: 1200
  rows:
    - {name: A, racks: 12, other_racks: [{positions: [3, 4], rack: rack-52u, rack_weight_kg: 900}]}
    - {name: N, racks: 3, rack: rack-42u, rack_power_kw: 15, cooling_kw: 40}
""",
    "whole racks in liquid rows": """\
nodes: {model: gb200-nvl72-tray, count: 36}
fabrics: {compute: {family: quantum-ndr}}
hall:
  rows: [{name: A, racks: 4}, {name: L, racks: 3, liquid: true}]
""",
    "tomahawk": "nodes: {model: amd-mi300x-8, count: 16}\nfabrics: {compute: {family: tomahawk-5}}\n",
}


@pytest.fixture(scope="module", params=DESIGNS)
def plan(request: pytest.FixtureRequest, catalog: Catalog) -> Plan:
    return make_plan(parse_design(DESIGNS[request.param]), catalog)


def test_planning_the_resolved_design_gives_the_same_bytes(plan: Plan, catalog: Catalog) -> None:
    formats = ["csv", "slurm"]
    first = render(plan, formats)
    again = make_plan(parse_design(first["design.yaml"].decode()), catalog)
    second = render(again, formats)
    assert [name for name in first if first[name] != second[name]] == []


def test_nothing_is_left_to_choose(plan: Plan) -> None:
    design = parse_design(files(plan)["design.yaml"].decode())
    spec = design.fabrics.compute
    assert spec.switch
    assert (spec.spine_switch is None) == (spec.tiers == 1)
    assert spec.nic_mode
    assert spec.uplink_gbps
    assert "auto" not in (spec.tiers, spec.planes, spec.rails_per_leaf)
    assert design.nodes.name_width
    assert design.hall.rows
    if spec.tiers != 1:
        assert isinstance(spec.nodes_per_su, int)
        assert spec.spines_per_plane


def test_every_field_is_spelled_out(plan: Plan) -> None:
    text = files(plan)["design.yaml"].decode()
    written = parse_design(text).model_dump(exclude_unset=True)
    whole = parse_design(text).model_dump()
    assert written == whole
    assert text.startswith(f"# {plan.design.name} as railplan")


def test_a_hall_made_to_fit_keeps_its_rows(catalog: Catalog) -> None:
    plan = make_plan(parse_design(DESIGNS["two tiers"]), catalog)
    text = files(plan)["design.yaml"].decode().replace("count: 40", "count: 4000")
    with pytest.raises(DesignError):
        make_plan(parse_design(text), catalog)
