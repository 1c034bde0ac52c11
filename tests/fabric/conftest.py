"""Built topologies for the fabric's tests; each design is built once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from railplan.fabric.build import build_topology
from railplan.fabric.design import Design
from railplan.fabric.topology import Topology
from railplan.vendors.catalog import load_catalog

Build = Callable[..., Topology]


@cache
def _built(text: str) -> Topology:
    return build_topology(Design.model_validate(json.loads(text)), load_catalog())


@pytest.fixture(scope="session")
def built() -> Build:
    """`built("hgx-h100", 64, "quantum-ndr", oversubscription=2)`; `grow_to` goes to the nodes, the rest to the fabric."""

    def build(model: str, count: int, family: str, grow_to: int | None = None, **fabric: Any) -> Topology:
        nodes = {"model": model, "count": count, "grow_to": grow_to}
        return _built(json.dumps({"nodes": nodes, "fabrics": {"compute": {"family": family, **fabric}}}))

    return build
