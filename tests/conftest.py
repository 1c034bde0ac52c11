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


CLUSTERS = {
    "ethernet": """
name: ethernet
nodes: {model: hgx-b300, count: 16}
servers:
  - {name: cpu, model: cpu-node, count: 6, racks_at_least: 2}
pdus: {}
fabrics:
  compute: {family: spectrum-x, planes: 2}
  front: {serves: [inband, storage, frontend], family: spectrum-x}
  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}
""",
    "infiniband": """
name: infiniband
nodes: {model: dgx-h100, count: 40}
servers:
  - {name: cpu, model: cpu-node, count: 6}
  - {name: store, model: storage-appliance, count: 4, racks_at_least: 2}
fabrics:
  compute: {family: quantum-ndr, ufm_links: 2}
  stor: {serves: [storage], switch: nvidia-qm9700}
  inb: {serves: [inband, frontend], switch: nvidia-sn4600c}
  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, redundancy: 2, uplinks: {fabric: inb}}
""",
    "mixed": """
name: mixed
nodes: {model: dgx-h100, count: 12, grow_to: 40}
servers:
  - {name: store, model: storage-appliance, count: 4}
pdus: {per_rack: 1}
fabrics:
  compute: {family: spectrum-x}
  stor: {serves: [storage], switch: nvidia-qm9700}
  oob: {serves: [bmc, management, switch-management], switch: nvidia-sn2201, spine_switch: nvidia-sn4600c}
""",
}
"""Whole clusters: all Ethernet with PDUs; InfiniBand compute and storage with UFM and uplinks between fabrics; Ethernet compute that grows beside InfiniBand storage."""


@pytest.fixture(scope="session")
def cluster_of(catalog: Catalog) -> Callable[..., Plan]:
    """Plan one of the whole clusters, at an effort; each plan is made once."""
    made: dict[tuple[str, str], Plan] = {}

    def plan(name: str, effort: str = "fixed") -> Plan:
        if (name, effort) not in made:
            made[name, effort] = make_plan(parse_design(CLUSTERS[name]), catalog, effort=effort)
        return made[name, effort]

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
