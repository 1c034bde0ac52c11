"""Designs are read with every mistake named at once; each has its place and a way out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from railplan.fabric.design import Design, Fabrics, parse_design
from railplan.problems import DesignError, Problem

PLAIN = """\
nodes: {model: hgx-h100, count: 64}
fabrics: {compute: {family: quantum-ndr}}
"""


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(DesignError) as refused:
        parse_design(text, "pod.yaml")
    return refused.value.problems


def test_a_short_design_is_enough():
    design = parse_design(PLAIN)
    assert design.fabrics.compute.oversubscription == 1
    assert design.nodes.final_count == 64
    assert design.nodes.width == 3


@pytest.mark.parametrize(("written", "ratio"), [("1", 1), ("2", 2), ("3.5", Fraction(7, 2)), ('"2:1"', 2), ('"7:2"', Fraction(7, 2)), ("1.0", 1)])
def test_an_oversubscription_may_be_written_in_several_ways(written, ratio):
    assert parse_design(PLAIN.replace("quantum-ndr", f"quantum-ndr, oversubscription: {written}")).fabrics.compute.oversubscription == ratio


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(7, 2), Fraction(7, 3)])
def test_a_design_survives_being_written_and_read_again(ratio):
    design = parse_design(PLAIN)
    design = design.model_copy(update={"fabrics": Fabrics(compute=design.fabrics.compute.model_copy(update={"oversubscription": ratio}))})
    assert Design.model_validate(design.model_dump(mode="json")) == design


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("count: 64", "count: 0", 1, "0 nodes"),
        ("count: 64", "count: -3", 1, "-3 nodes"),
        ("count: 64", "count: many", 1, "many"),
        ("count: 64", "cuont: 64", 1, "cuont"),
        ("count: 64", "count: 64, grow_to: 32", 1, "grow_to 32 is below count 64"),
        ("count: 64", "count: 64, name: GPU_1", 1, "GPU_1"),
        ("count: 64", "count: 6400, name_width: 2", 1, "name_width 2"),
        ("quantum-ndr", "quantum-nrd", 2, "quantum-nrd"),
        ("quantum-ndr", "quantum-ndr, oversubscription: 0.5", 2, "0.5 is below 1"),
        ("quantum-ndr", "quantum-ndr, oversubscription: 1/0", 2, "1/0"),
        ("quantum-ndr", "quantum-ndr, nodes_per_su: 0", 2, "0"),
        ("quantum-ndr", "quantum-ndr, planes: 3", 2, "3"),
        ("quantum-ndr", "quantum-ndr, leaf_name: gpu", 1, "gpu"),
        ("quantum-ndr", "quantum-ndr, leaf_name: sw, spine_name: sw", 2, "sw"),
    ],
)
def test_a_mistake_is_named_with_its_line(old, new, line, says):
    found = problems(PLAIN.replace(old, new))
    assert any(says in f"{p.what} {p.why} {p.fix}" for p in found), found
    assert any(p.where == f"pod.yaml:{line}" for p in found), found


def test_all_mistakes_are_named_at_once():
    found = problems("nodes: {model: hgx-h100, count: 0}\nfabrics: {compute: {family: quantum, planes: 5}}\n")
    assert len(found) >= 3


def test_a_misspelt_field_gets_the_nearest_name():
    (found,) = [p for p in problems(PLAIN.replace("quantum-ndr", "quantum-ndr, oversubscripton: 2")) if "oversubscripton" in str(p)]
    assert "oversubscription" in found.fix
