"""Every example is planned with every output; its text outputs are golden, and the README shows what the tool prints."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import railplan
from railplan import Catalog, Plan, load_design, make_plan, parse_design
from railplan.layouts.tables import CABLES
from railplan.outputs import render
from railplan.outputs.terminal import print_summary

ROOT = Path(railplan.__file__).parent
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.yaml"))
GALLERY = ROOT / "examples" / "gallery"
README_EXAMPLE = "reference-128"
SHOWN_AS_TEXT = ("summary.json", "bom.csv", "topology.conf", "findings.csv", "racks.csv")
PICTURES = ("racks.svg", "hall.svg")
LAID_OUT_BY_GRAPHVIZ = ("fabric.svg", "fabric.dot")
"""Positions may move with Graphviz's version: shown in the gallery, not compared."""


@pytest.fixture(scope="module")
def plans(catalog: Catalog) -> Callable[[str], Plan]:
    made: dict[str, Plan] = {}

    def plan(name: str) -> Plan:
        if name not in made:
            made[name] = make_plan(load_design(ROOT / "examples" / f"{name}.yaml"), catalog)
        return made[name]

    return plan


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_its_golden_outputs(name: str, plans: Callable[[str], Plan], golden: Callable[[Path, str], None]) -> None:
    files = render(plans(name), ["csv", "slurm"])
    for file in SHOWN_AS_TEXT:
        golden(GALLERY / name / file, files[file].decode())
    digests = "".join(f"{hashlib.sha256(data).hexdigest()}  {file}\n" for file, data in sorted(files.items()))
    golden(GALLERY / name / "sha256.txt", digests)


def test_the_gallery_shows_the_readmes_example(plans: Callable[[str], Plan], golden: Callable[[Path, str], None], request: pytest.FixtureRequest) -> None:
    files = render(plans(README_EXAMPLE), ["fabric", "racks", "hall"])
    for file in PICTURES:
        golden(GALLERY / README_EXAMPLE / file, files[file].decode())
    if request.config.getoption("--regen"):
        (GALLERY / README_EXAMPLE / "fabric.svg").write_bytes(files["fabric.svg"])
    assert (GALLERY / README_EXAMPLE / "fabric.svg").exists()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_resolved_design_gives_the_same_plan(name: str, plans: Callable[[str], Plan], catalog: Catalog) -> None:
    plan = plans(name)
    first = render(plan, ["csv", "slurm"])
    again = render(make_plan(parse_design(first["design.yaml"].decode()), catalog), ["csv", "slurm"])
    for file in first:
        assert again[file] == first[file], file


STABLE = ("ref-128", "compute", " ", "links", "proof", "traffic", "ratio")
"""Beginnings of the summary's lines that no search decides."""


def test_the_readme_shows_what_the_tool_prints(plans: Callable[[str], Plan]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    out = io.StringIO()
    print_summary(plans(README_EXAMPLE), Console(file=out, width=110, highlight=False))
    lines = out.getvalue().splitlines()
    shown = [line.rstrip() for line in lines[: next(i for i, line in enumerate(lines) if line.startswith("racks"))] if line.startswith(STABLE)]
    assert len(shown) >= 7
    for line in shown:
        assert line in readme


def test_the_readme_shows_cables_as_the_table_has_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    head = next(line.split() for line in readme.splitlines() if line.startswith("cable "))
    assert set(head) <= set(CABLES)


def test_the_three_reference_clusters_have_their_published_sizes(plans: Callable[[str], Plan]) -> None:
    for name, nodes, gpus in (("reference-64", 64, 512), ("reference-128", 128, 1024), ("reference-288", 288, 2304)):
        summary = json.loads(render(plans(name), ["slurm"])["summary.json"])
        assert (summary["nodes"], summary["gpus"]) == (nodes, gpus)
        assert summary["fabrics"]["compute"]["bisection"]["non_blocking"]
        assert summary["fabrics"]["compute"]["links"]["node-leaf"] == 2 * gpus
