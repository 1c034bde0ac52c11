"""The page of every field is what the schema says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

import railplan
from railplan.cli import main
from railplan.fabric.reference import reference_page

ROOT = Path(railplan.__file__).parent
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def test_the_field_reference_is_the_schema(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "fabric" / "DESIGN.md", reference_page())


def test_every_field_has_a_meaning() -> None:
    assert not [line for line in reference_page().splitlines() if line.startswith("| `") and line.endswith("| |")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_the_schema_accepts_every_example(path: Path) -> None:
    schema = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        "nodes: {model: x, count: 0}\nfabrics: {compute: {family: spectrum-x}}",
        "nodes: {model: x, count: 4}\nfabrics: {compute: {family: myrinet}}",
        "nodes: {model: x, count: 4}\nfabrics: {storage: {family: spectrum-x}}",
    ],
)
def test_the_schema_refuses_what_the_planner_refuses(wrong: str) -> None:
    schema = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(wrong), schema)
