"""The shipped switches and nodes say what their documents say."""

from __future__ import annotations

import pytest

from railplan.vendors.catalog import load_catalog
from railplan.vendors.models import Breakout, CageGroup, Node, Switch

CATALOG = load_catalog()

OSFP_64 = {800: 64, 400: 128, 200: 256}
QSFP_DD_64 = {400: 64, 200: 128, 100: 256}
NDR_32 = {400: 64, 200: 128}
XDR_72 = {800: 144}
SIXTY_FOUR_OF_200G_LANES = {1600: 64, 800: 128, 400: 256, 200: 512, 100: 512}
HUNDRED_TWENTY_EIGHT_OF_100G_LANES = {800: 128, 400: 256, 200: 512, 100: 512}

PORTS = {
    **{key: {**OSFP_64, 100: 256} for key in ["nvidia-sn5600", "nvidia-sn5600d", "nvidia-sn5610", "arista-7060x6-64pe"]},
    "nvidia-sn5400": QSFP_DD_64,
    "nvidia-sn5640": {400: 128, 200: 256, 100: 512},
    **{key: {800: 128, 400: 256, 200: 512, 100: 512} for key in ["nvidia-sn6600", "nvidia-sn6600-ld"]},
    "nvidia-sn6810-ld": {800: 128, 400: 256, 200: 512},
    "nvidia-sn6800-ld": {800: 512, 400: 1024, 200: 2048},
    "nvidia-sn6200-ld": {800: 64, 400: 128, 200: 256, 100: 256},
    "nvidia-sn4700": {400: 32, 200: 64, 100: 128},
    "nvidia-sn4600c": {100: 64, 50: 128},
    "nvidia-sn2201": {1: 48, 100: 4},
    **dict.fromkeys(["nvidia-qm9700", "nvidia-qm9790"], NDR_32),
    **dict.fromkeys(["nvidia-q3400-ra", "nvidia-q3401-rd", "nvidia-q3450-ld"], XDR_72),
    "nvidia-q3200-ra": {800: 72},
    "nvidia-cs9500": {400: 2048},
    "arista-7060x6-64pe-b": {**OSFP_64, 100: 512},
    "arista-7060x6-32pe": {800: 32, 400: 64, 200: 128},
    **{key: {**OSFP_64, 100: 320} for key in ["dell-z9864f-on", "juniper-qfx5240-64od", "juniper-qfx5241-64od", "supermicro-sse-t8164"]},
    "supermicro-sse-t8196": {800: 32, 400: 128, 200: 256},
    "micas-m2-w6940-128qc": {400: 128, 200: 256, 100: 256},
    **dict.fromkeys(
        ["celestica-ds5000", "edgecore-ais800-64o", "fs-n9600-64od", "micas-m2-w6940-64oc", "nexthop-nh-4010", "nokia-7220-ixr-h5-64o", "ufispace-s9321-64eo"],
        OSFP_64,
    ),
    **dict.fromkeys(
        ["arista-7060xe7-128pe", "edgecore-ais800-128o", "micas-m2-w6950-128oc", "nexthop-nh-4210", "nokia-7220-ixr-h6-128"],
        HUNDRED_TWENTY_EIGHT_OF_100G_LANES,
    ),
    **dict.fromkeys(
        [
            "arista-7060xe7-64prs",
            "arista-7060xe7-64prs-rv3-l",
            "arista-7060xe7-64ps",
            "celestica-ds6000",
            "celestica-ds6001",
            "dell-z9964f-on",
            "dell-z9964fl-on",
            "drivenets-2600sl",
            "drivenets-2601s",
            "edgecore-ais1600-64o",
            "juniper-qfx5250-64o",
            "micas-m2-w6951-64hc",
            "nexthop-nh-4220",
            "nokia-7220-ixr-h6-64",
        ],
        SIXTY_FOUR_OF_200G_LANES,
    ),
    "cisco-n9364e-sg2-o": {800: 64, 400: 128},
    "cisco-n9364f-sg3": {1600: 64, 800: 128},
}
"""Model -> speed in Gb/s -> most data ports of that speed."""


def usable(group: CageGroup, mode: Breakout) -> int:
    """How many cages of the group can run the mode at once."""
    parity = {"all": (0, 1), "odd": (1,), "even": (0,)}[mode.cages]
    cages, free_from = 0, 0
    for cage in range(group.first, group.first + group.count):
        if cage % 2 in parity and cage >= free_from:
            cages, free_from = cages + 1, cage + 1 + mode.blocks_next
    return cages


def ports_by_speed(switch: Switch) -> dict[int, int]:
    """The most data ports at each speed, with the neighbour rule and the cap of the chip."""
    total: dict[int, int] = {}
    for group in (g for g in switch.cages if g.use == "data"):
        best: dict[int, int] = {}
        for mode in group.modes:
            best[mode.gbps] = max(best.get(mode.gbps, 0), usable(group, mode) * mode.ports)
        for gbps, ports in best.items():
            total[gbps] = total.get(gbps, 0) + ports
    return {gbps: min(ports, switch.ports_max or ports) for gbps, ports in total.items()}


def compute(node: Node) -> dict[str, tuple[int | None, str | None, str | None]]:
    return {p.label: (p.gpu, p.rdma, p.netdev_ib) for p in node.compute_ports}


def test_every_switch_has_its_documented_port_counts_listed_here() -> None:
    assert set(PORTS) == set(CATALOG.switches)


@pytest.mark.parametrize("model", sorted(PORTS))
def test_a_switch_has_as_many_ports_at_each_speed_as_documented(model: str) -> None:
    assert ports_by_speed(CATALOG.switch(model)) == PORTS[model]


def test_an_eight_way_split_of_sn5600_kills_every_even_cage() -> None:
    eight_way = [m for m in CATALOG.switch("nvidia-sn5600").cages[0].modes if m.ports == 8]
    assert [(m.cages, m.blocks_next) for m in eight_way] == [("odd", True)]


def test_capacity_is_never_the_full_duplex_figure() -> None:
    for switch in CATALOG.switches.values():
        most = max(gbps * ports for gbps, ports in ports_by_speed(switch).items()) / 1000
        if switch.model not in ("nvidia-sn2201", "nvidia-sn6200-ld"):  # mixed speeds; half of the ports on a backplane
            assert switch.capacity_tbps == pytest.approx(most), switch.model


def test_each_family_names_a_shipping_switch_that_belongs_to_it() -> None:
    assert set(CATALOG.families) == {"spectrum-x", "tomahawk-5", "tomahawk-6", "quantum-ndr", "quantum-xdr"}
    for family, model in CATALOG.families.items():
        assert family in CATALOG.switch(model).families
        assert CATALOG.switch(model).status == "shipping"


def test_infiniband_families_hold_infiniband_switches_only() -> None:
    for switch in CATALOG.switches.values():
        assert (switch.protocol == "infiniband") == any(f.startswith("quantum") for f in switch.families), switch.model


@pytest.mark.parametrize(
    ("model", "status"),
    [("nvidia-sn6600", "announced"), ("nvidia-sn6810-ld", "announced"), ("dell-z9964f-on", "announced"), ("arista-7060xe7-64ps", "planned"), ("arista-7060xe7-128pe", "planned")],
)
def test_a_box_that_cannot_be_bought_yet_says_so(model: str, status: str) -> None:
    assert CATALOG.switch(model).status == status


def test_liquid_cooled_switches_take_no_finned_modules() -> None:
    for switch in CATALOG.switches.values():
        fits = {g.cooling for g in switch.cages if g.use == "data" and g.form.startswith("osfp")}
        assert fits <= ({"flat"} if switch.cooling != "air" else {"finned"}), switch.model


def test_dgx_h100_ports_bear_the_names_of_the_guide() -> None:
    ports = compute(CATALOG.node("dgx-h100"))
    assert ports["OSFP4P2"] == (0, "mlx5_0", "ibp24s0")
    assert ports["OSFP1P1"] == (7, "mlx5_11", "ibp220s0")
    assert ports["OSFP2P2"] == (5, "mlx5_9", "ibp192s0")


def test_dgx_h100_compute_nics_in_rail_order_are_not_mlx5_0_to_7() -> None:
    assert [p.rdma for p in CATALOG.node("dgx-h100").compute_ports] == [f"mlx5_{n}" for n in (0, 3, 4, 5, 6, 9, 10, 11)]


@pytest.mark.parametrize("model", ["dgx-h100", "dgx-h200"])
def test_each_twin_cage_of_dgx_h100_serves_two_rails(model: str) -> None:
    pairs: dict[str, list[int | None]] = {}
    for port in sorted(CATALOG.node(model).compute_ports, key=lambda p: p.connector):
        pairs.setdefault(port.cage, []).append(port.gpu)
    assert pairs == {"OSFP1": [7, 4], "OSFP2": [6, 5], "OSFP3": [2, 1], "OSFP4": [3, 0]}


@pytest.mark.parametrize("model", ["dgx-b300", "hgx-b300", "gb300-nvl72-tray"])
def test_connectx_8_prefers_one_800g_infiniband_port_or_two_400g_ethernet_ports(model: str) -> None:
    first = {m.protocol: m.name for m in reversed(CATALOG.node(model).modes)}
    assert first == {"infiniband": "1x800G", "ethernet": "2x400G"}


@pytest.mark.parametrize("model", ["dgx-b300", "hgx-b300", "gb300-nvl72-tray"])
def test_one_800g_ethernet_port_on_connectx_8_names_the_conflict(model: str) -> None:
    disputed = [m for m in CATALOG.node(model).modes if m.protocol == "ethernet" and m.name == "1x800G"]
    assert len(disputed) == 1
    assert "ConnectX-8" in (disputed[0].disputed or "")


def test_a_port_order_that_nobody_documented_is_marked_unverified() -> None:
    gpu_nodes = (n for n in CATALOG.nodes.values() if n.gpus > 1)
    documented = {n.model for n in gpu_nodes if n.confidence_of("ports") != "unverified"}
    assert documented == {"dgx-h100", "dgx-h200", "amd-mi300x-8"}


def test_every_node_cage_takes_flat_top_modules() -> None:
    for node in CATALOG.nodes.values():
        assert {c.cooling for c in node.cages if c.form.startswith(("osfp", "qsfp112"))} <= {"flat"}, node.model
