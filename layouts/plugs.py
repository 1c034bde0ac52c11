"""What goes into which cage: form, cooling, lanes, speed, protocol and power, for plugs and modules."""

from __future__ import annotations

from dataclasses import dataclass

from ..fabric.topology import CageUse
from ..vendors.models import Breakout, CageGroup, Module, NodeCage, Plug, Protocol

TAKES: dict[str, frozenset[str]] = {
    "osfp": frozenset({"osfp"}),
    "osfp224": frozenset({"osfp", "osfp224"}),
    "qsfp112": frozenset({"qsfp112", "qsfp56", "qsfp28"}),
    "qsfp-dd": frozenset({"qsfp-dd", "qsfp56", "qsfp28"}),
    "qsfp56": frozenset({"qsfp56", "qsfp28"}),
    "qsfp28": frozenset({"qsfp28", "qsfp56"}),
    "sfp28": frozenset({"sfp28"}),
    "rj45": frozenset({"rj45"}),
}
"""Cage form -> plug forms that go in. QSFP112 cages take older QSFP plugs; OSFP cages take no QSFP
(NVIDIA cable overview, connectors and cages). A QSFP56 plug has the shell of a QSFP28 one: cables sold for
100G too, such as MCP7Y60, run in QSFP28 cages; the lane rate keeps the others out."""

OSFP_FORMS = frozenset({"osfp", "osfp224"})
"""Only OSFP comes in finned and flat-top variants that exclude each other."""


@dataclass(frozen=True)
class CageClass:
    """All that legality asks of a cage in use; equal cages share one class."""

    form: str
    cooling: str
    ports: int
    lanes: int
    """Lanes of each port."""
    gbps: int
    lane_gbps: int
    protocol: Protocol
    max_module_w: float | None

    @classmethod
    def of(cls, use: CageUse, protocol: Protocol) -> CageClass:
        """Class of a cage as a profile runs it."""
        hardware: CageGroup | NodeCage = use.hardware
        mode: Breakout = use.mode
        return cls(hardware.form, hardware.cooling, use.ports, mode.lanes, mode.gbps, mode.lane_gbps, protocol, use.max_module_w)

    def __str__(self) -> str:
        cooling = f"{self.cooling} " if self.form in OSFP_FORMS else ""
        return f"{cooling}{self.form.upper()} cage run as {self.ports}x{self.gbps}G on {self.lane_gbps}G lanes"


def plug_fits(plug: Plug, cage: CageClass) -> bool:
    """True when the plug goes in the cage, is cooled there, and the cage can power it."""
    if plug.form not in TAKES.get(cage.form, frozenset()):
        return False
    if plug.form in OSFP_FORMS and plug.cooling != cage.cooling:
        return False
    return plug.power_w is None or cage.max_module_w is None or plug.power_w <= cage.max_module_w


def module_fits(module: Module, cage: CageClass) -> bool:
    """True when the module fits and its connectors share out the cage's ports evenly at the same lane rate."""
    return (
        plug_fits(module.plug, cage)
        and cage.protocol in module.protocols
        and cage.ports % module.connectors == 0
        and any(
            lane_gbps == cage.lane_gbps and module.connectors * lanes == cage.ports * cage.lanes and module.connectors * gbps == cage.ports * cage.gbps
            for gbps, lanes, lane_gbps in module.runs
        )
    )
