"""Topologies for the tests of this room: built from a design, or made by hand from the shipped parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from railplan.fabric.build import build_topology
from railplan.fabric.design import Design
from railplan.fabric.tables import DEVICES, LINKS, NONE, PORT_NAMES, frame
from railplan.fabric.topology import Profile, Topology
from railplan.vendors.catalog import Catalog, load_catalog

Device = tuple[str, int, int, int]
"""Role, pod, plane, index."""


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return load_catalog()


def design_of(nodes: dict[str, Any], hall: dict[str, Any], fabric: dict[str, Any] | None = None) -> Design:
    compute = {"family": "quantum-ndr", **(fabric or {})}
    return Design.model_validate({"nodes": {"model": "dgx-h100", **nodes}, "fabrics": {"compute": compute}, "hall": hall})


@pytest.fixture(scope="session")
def built(catalog: Catalog) -> Callable[..., Topology]:
    """Topology of a DGX H100 cluster with Quantum-2 switches; keywords are fields of the hall."""

    def build(count: int, grow_to: int | None = None, fabric: dict[str, Any] | None = None, **hall: Any) -> Topology:
        return build_topology(design_of({"count": count, "grow_to": grow_to}, hall, fabric), catalog)

    return build


@pytest.fixture(scope="session")
def by_hand(catalog: Catalog) -> Callable[..., Topology]:
    """Topology of listed devices (role, pod, plane, index) and links (pairs of device numbers); keywords are fields of the hall."""

    def make(devices: Sequence[Device], links: Sequence[tuple[int, int]] = (), present: Sequence[bool] | None = None, switch: str = "nvidia-qm9700", **hall: Any) -> Topology:
        design = design_of({"count": 1}, hall)
        roles = [d[0] for d in devices]
        parts = {"node": catalog.node("dgx-h100"), "switch": catalog.switch(switch), "ufm": catalog.node("ufm-server")}
        kind = ["node" if r == "node" else "ufm" if r == "ufm" else "switch" for r in roles]
        table = frame(
            DEVICES,
            {
                "dev": range(len(devices)),
                "device": [f"{role}-{number}" for number, role in enumerate(roles)],
                "model": [parts[k].model for k in kind],
                "role": roles,
                "fabric": ["" if r == "node" else "compute" for r in roles],
                "profile": kind,
                "pod": [d[1] for d in devices],
                "rail": ["" for _ in roles],
                "plane": [d[2] for d in devices],
                "group": [NONE for _ in roles],
                "home": [NONE if d[0] == "ufm" else d[1] for d in devices],
                "index": [d[3] for d in devices],
                "present": [True] * len(devices) if present is None else list(present),
            },
        )
        given = {"link": range(len(links)), "a_dev": [a for a, _ in links], "b_dev": [b for _, b in links]}
        blank = {name: ["" if dtype == pl.String else 0] * len(links) for name, dtype in LINKS.items()}
        link_table = frame(LINKS, {**blank, **given})
        profiles = {name: Profile(name, part, {}) for name, part in parts.items()}
        return Topology(design, table, link_table, frame(PORT_NAMES, {name: [] for name in PORT_NAMES}), profiles, {}, ())

    return make


@pytest.fixture(scope="session")
def three_tiers(by_hand: Callable[..., Topology]) -> Topology:
    """Four pods of five nodes, two leaves and two spines of their own, four cores for all, two UFM servers."""
    devices: list[Device] = [("node", n // 5, NONE, n) for n in range(20)]
    devices += [(role, pod, 0, 2 * pod + i) for role in ("leaf", "spine") for pod in range(4) for i in range(2)]
    devices += [("core", NONE, 0, i) for i in range(4)] + [("ufm", NONE, NONE, i) for i in range(2)]
    return by_hand(devices)
