"""Shared by all tests: the catalog, small plans, and `--regen` to rewrite golden files for review as a diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from railplan import Catalog, Plan, load_catalog, make_plan, parse_design


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="rewrite golden files; review the diff before you commit it")


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="session")
def plan_of(catalog: Catalog) -> Callable[..., Plan]:
    """Plan a cluster from node model, count, family and more fabric fields; each plan is made once."""
    made: dict[str, Plan] = {}

    def plan(node: str, count: int, family: str, **fabric: object) -> Plan:
        fields = "".join(f", {key}: {value}" for key, value in fabric.items())
        text = f"nodes: {{model: {node}, count: {count}}}\nfabrics: {{compute: {{family: {family}{fields}}}}}\n"
        if text not in made:
            made[text] = make_plan(parse_design(text), catalog)
        return made[text]

    return plan


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare text with a golden file, or rewrite the file under `--regen`."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--regen"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing; write it with `pytest --regen` and review it"
        assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; if that is meant, run `pytest --regen` and review the diff"

    return compare
