"""Every link of the front-end, storage and out-of-band networks finds a legal cable at 2, 10 and 30 m, where one is sold."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pytest

from railplan.fabric.ports import PortKind, kinds
from railplan.layouts.assemblies import CopperChoice, Group, OpticalChoice, best, connectors, options
from railplan.layouts.cables import fibre_shapes
from railplan.layouts.plugs import CageClass
from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import CageGroup, NodeCage, Protocol

CATALOG = load_catalog()
G1, G100, G100_HALF = (1, 1, 1), (100, 4, 25), (100, 2, 50)
G200, G200_HALF, G400, G400_DD = (200, 4, 50), (200, 2, 100), (400, 4, 100), (400, 8, 50)


@dataclass(frozen=True)
class End:
    """One cage and how many ports it is run with."""

    hardware: CageGroup | NodeCage
    ports: int

    def cage(self, kind: tuple[int, int, int], protocol: Protocol) -> CageClass:
        gbps, lanes, lane_gbps = kind
        return CageClass(self.hardware.form, self.hardware.cooling, self.ports, lanes, gbps, lane_gbps, protocol, self.hardware.max_module_w)


def switch(model: str, kind: tuple[int, int, int]) -> End:
    """The first data cage of a switch that runs this kind of port, with its fullest such mode."""
    runs = [(g, m) for g in CATALOG.switch(model).cages if g.use == "data" for m in g.modes if PortKind.of(m) == kind]
    group, mode = max(runs, key=lambda run: run[1].ports)
    return End(group, mode.ports)


def node(model: str, use: str, kind: tuple[int, int, int], protocol: Protocol) -> End:
    """The cage of a node's first port for a network."""
    part = CATALOG.node(model)
    label = next(p.cage for p in part.ports if p.use == use)
    cage = next(c for c in part.cages if c.label == label)
    assert any(PortKind.of(m) == kind and m.protocol == protocol for m in cage.modes), f"{model} {label} has no {kind} {protocol}"
    return End(cage, 1)


def joined(a: End, b: End, kind: tuple[int, int, int], route_m: float, protocol: Protocol = "ethernet") -> str | None:
    """Part (or optical type) and length that joins a full cage b to as many cages a as its ports reach."""
    a_class, b_class = a.cage(kind, protocol), b.cage(kind, protocol)
    per_a, per_b = (end.ports // (connectors(c, CATALOG) or 1) for end, c in ((a, a_class), (b, b_class)))
    shape = {(1, 1): "straight", (1, 2): "splitter", (2, 2): "straight"}.get((min(per_a, per_b), max(per_a, per_b)), "none")
    group = Group(b.ports // a.ports, 1, b.ports, a.ports, b.ports, (a_class,), (b_class,))
    found = options(group, route_m, CATALOG, {}, (shape,))
    if not found:
        return None
    choice = best(found, group, route_m, CATALOG, "EUR")  # no price is in euros: by kind, shortest reach first
    if isinstance(choice, CopperChoice):
        return f"{choice.part.model} {choice.length_m:g}"
    assert isinstance(choice, OpticalChoice)
    return f"{choice.optics} {shape}"


@pytest.mark.parametrize("model", [m for m, n in CATALOG.nodes.items() if any(p.use == "bmc" for p in n.ports)])
def test_a_bmc_reaches_the_management_switch_by_a_patch_cable(model: str) -> None:
    found = [joined(node(model, "bmc", G1, "ethernet"), switch("nvidia-sn2201", G1), G1, m) for m in (2, 10, 30)]
    assert found == ["cat6a 2", "cat6a 10", "cat6a 30"]


@pytest.mark.parametrize("model", [m for m, s in CATALOG.switches.items() if s.management_ports])
def test_a_switch_s_management_port_reaches_the_management_switch(model: str) -> None:
    group = CATALOG.switch(model).management_cages
    assert group is not None
    assert joined(End(group, 1), switch("nvidia-sn2201", G1), G1, 30) == "cat6a 30"


@pytest.mark.parametrize("above", ["nvidia-sn4600c", "nvidia-sn4700", "nvidia-sn5400"])
def test_uplinks_of_the_management_switch(above: str) -> None:
    found = [joined(switch("nvidia-sn2201", G100), switch(above, G100), G100, m) for m in (2, 10, 30)]
    assert found == ["mcp1600 2", "mfa1a00 10", "mfa1a00 30"]


def test_an_uplink_of_the_management_switch_reaches_an_osfp_switch_by_copper_only() -> None:
    found = [joined(switch("nvidia-sn2201", G100), switch("nvidia-sn5600", G100), G100, m) for m in (2, 10)]
    assert found == ["mcp7y60 2", None]


@pytest.mark.parametrize(
    ("above", "kind", "expected"),
    [
        ("nvidia-sn4600c", G100, ["mcp1600 2", "mfa1a00 10", "mfa1a00 30"]),
        ("nvidia-sn4700", G100, ["mcp1600 2", "mfa1a00 10", "mfa1a00 30"]),
        ("nvidia-sn4700", G200, ["qsfp-dd-2x200-dac 2", "qsfp-dd-2x200-aoc 10", "qsfp-dd-2x200-aoc 30"]),
        ("nvidia-sn5400", G200, ["qsfp-dd-2x200-dac 2", "qsfp-dd-2x200-aoc 10", "qsfp-dd-2x200-aoc 30"]),
        ("nvidia-sn5600", G100, ["mcp7y60 2", None, None]),
        ("nvidia-sn5600", G100_HALF, ["mcp7y70 2", None, None]),
        ("nvidia-sn5600", G200, ["mcp7y60 2", "mfa7u10 10", "mfa7u10 30"]),
        ("nvidia-sn5600", G200_HALF, ["mcp7y40 2", "SR4 splitter", "SR4 splitter"]),
        ("nvidia-sn5600", G400, ["mcp7y10 2", "SR4 straight", "SR4 straight"]),
        ("nvidia-sn5610", G400, ["mcp7y10 2", "SR4 straight", "SR4 straight"]),
    ],
)
def test_a_bluefield_port_reaches_the_front_end_switch(above: str, kind: tuple[int, int, int], expected: list[str | None]) -> None:
    assert [joined(node("hgx-b300", "inband", kind, "ethernet"), switch(above, kind), kind, m) for m in (2, 10, 30)] == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (G400, ["mcp7y10 2", "SR4 straight", "SR4 straight"]),
        (G200_HALF, ["mcp7y40 2", "SR4 splitter", "SR4 splitter"]),
        (G200, ["mcp7y60 2", "mfa7u10 10", "mfa7u10 30"]),
    ],
)
def test_a_storage_port_reaches_an_ndr_switch(kind: tuple[int, int, int], expected: list[str]) -> None:
    a, b = node("dgx-h100", "storage", kind, "infiniband"), switch("nvidia-qm9700", kind)
    assert [joined(a, b, kind, m, "infiniband") for m in (2, 10, 30)] == expected


def test_storage_copper_of_four_and_five_metres_is_active() -> None:
    a, b = node("dgx-h100", "storage", G400, "infiniband"), switch("nvidia-qm9700", G400)
    assert joined(a, b, G400, 5, "infiniband") == "mca7j65 5"


@pytest.mark.parametrize("model", ["nvidia-sn4700", "nvidia-sn5400"])
def test_qsfp_dd_switches_join_each_other_at_400g(model: str) -> None:
    end = switch(model, G400_DD)
    assert [joined(end, end, G400_DD, m) for m in (2, 10, 30)] == ["mcp1660-w 2", "DR4 straight", "DR4 straight"]


def test_long_100g_links_run_on_glass() -> None:
    assert joined(switch("nvidia-sn2201", G100), switch("nvidia-sn4600c", G100), G100, 100) == "mfa1a00 100"
    assert {m.optics for m in CATALOG.modules.values() if m.gbps == 100} == {"100G-SR4", "100G-CWDM4"}


def test_lanes_of_50g_and_100g_never_meet_at_400g() -> None:
    assert PortKind(*G400) not in kinds(CATALOG.switch("nvidia-sn4700"))
    assert PortKind(*G400) in kinds(CATALOG.switch("nvidia-sn5600"))


def test_the_last_node_of_a_split_connector_hangs_on_a_splitter_like_its_neighbours() -> None:
    """Three 200G nodes on two connectors of a switch cage of four ports: both fibres are splitters, one with a free leg."""
    links = pl.DataFrame({"fibre": [0, 0, 1], "a_connector": [10, 20, 30], "b_connector": [0, 0, 1], "a_ports": 1, "a_connectors": 1, "b_ports": 4, "b_connectors": 2})
    assert fibre_shapes(links).sort("fibre")["shape"].to_list() == ["splitter", "splitter"]
    whole = links.with_columns(b_ports=pl.lit(2), b_connector=pl.Series([0, 1, 2]), fibre=pl.Series([0, 1, 2]))
    assert set(fibre_shapes(whole)["shape"]) == {"straight"}
