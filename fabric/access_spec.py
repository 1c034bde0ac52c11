"""What a design says about fabrics other than compute: front-end, storage, in-band, out-of-band; and the servers on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from ..vendors.models import Frozen
from .hall_spec import AtLeastOne
from .words import Family, HostWord, Ratio, host_word

Use = Literal["storage", "inband", "frontend", "management", "bmc", "switch-management"]
"""What a port is for: as the node's catalog file says; `switch-management` is the management ports of all switches."""


def port_map(value: dict[str, str]) -> dict[str, str]:
    """Labels of ports are looked up in the catalog; what they are given to is a fabric's name, or none."""
    for label, fabric in value.items():
        if fabric != "none":
            host_word(fabric)
        if not label or len(label) > 40:
            raise ValueError(f"{label!r} is no port label | write it as `railplan catalog nodes MODEL` does")
    return value


PortMap = Annotated[dict[str, str], AfterValidator(port_map)]
PORTS_OF = "Port label -> the fabric it goes to, or none; by default the use in the node's catalog file decides."
NETWORKS_OF = "Fabrics that each of these must be on; planning stops when one of them has no port for it."


class UplinkSpec(Frozen):
    """Leaves that hang on another fabric instead of having spines of their own."""

    fabric: HostWord = Field(description="The fabric that takes the uplinks.")
    links: int = Field(2, ge=1, le=16, description="Links of every leaf; two and more are spread over a pair of its leaves.")
    gbps: int | None = Field(None, ge=1, description="Speed of the uplinks; by default the highest that both switches run.")


class AccessSpec(Frozen):
    """A fabric of leaves, and spines where one group of leaves is too small, that serves ports by their use."""

    serves: tuple[Use, ...] = Field(min_length=1, description="Ports it takes, by their use in the catalog: storage, inband, frontend, management, bmc, switch-management.")
    family: Family | None = Field(None, description="Switch family; it names a default switch model.")
    switch: str | None = Field(None, description="Switch model of the leaves, and of the spines unless spine_switch is set.")
    spine_switch: str | None = Field(None, description="Switch model of the spines.")
    gbps: int | None = Field(None, ge=1, description="Highest speed at which ports are run; by default the highest that both ends can.")
    redundancy: Literal["auto", 1, 2] = Field("auto", description="Leaves that the ports of a client are spread over; auto: 2 where a client has two ports faster than 1G, else 1.")
    oversubscription: Ratio = Field(Fraction(1), description="Leaf bandwidth down over up: 1 is non-blocking.")
    uplink_gbps: int | None = Field(None, ge=1, description="Speed of leaf-spine links; by default the highest that both switches run.")
    spines: int | None = Field(None, ge=1, description="Number of spines; by default the fewest that all leaves share evenly.")
    peer_links: Annotated[Literal["auto"] | int, AtLeastOne] = Field(
        "auto", description="Links between the two leaves of a pair without spines; auto: half of the bandwidth of clients with one port, at least 2, in whole cages."
    )
    uplinks: UplinkSpec | None = Field(None, description="Leaves hang on another fabric; then there are no spines.")
    clients_per_leaf: Annotated[Literal["auto"] | int, AtLeastOne] = Field(
        "auto", description="Most clients of a leaf (or pair), for example the nodes of a rack; auto: as many as its ports."
    )
    by_su: bool = Field(False, description="Every SU gets leaves of its own.")
    leaves_max: int | None = Field(None, ge=1, description="Most leaves allowed; planning stops when the ports need more.")
    reserved_ports: int = Field(0, ge=0, description="Ports of the highest client speed left free on every leaf.")
    switch_os: str | None = Field(None, description="Operating system whose port names are printed; by default the switch's first.")
    leaf_name: HostWord | None = Field(None, description="First word of the leaves' names; by default the fabric's name and leaf.")
    spine_name: HostWord | None = Field(None, description="First word of the spines' names.")
    cable_prefix: str | None = Field(None, pattern=r"^[A-Z]{2,4}$", description="Begins the ids of its cables; by default the first three letters of the fabric's name.")

    @field_validator("serves")
    @classmethod
    def _once_each(cls, value: tuple[Use, ...]) -> tuple[Use, ...]:
        if len(set(value)) != len(value):
            raise ValueError("a use stands twice | name it once")
        return value

    @model_validator(mode="after")
    def _has_a_switch(self) -> AccessSpec:
        if self.family is None and self.switch is None:
            raise ValueError("no switch is named | write family or switch")
        if self.uplinks is not None and (self.spines is not None or self.spine_switch is not None):
            raise ValueError("leaves that hang on another fabric have no spines | remove uplinks, or spines and spine_switch")
        return self

    @property
    def style(self) -> str:
        """What stands in for the styles of the compute fabric."""
        return "access"

    @property
    def core_oversubscription(self) -> Fraction:
        """There are no cores."""
        return Fraction(1)


class ServerSpec(Frozen):
    """Servers and appliances that are on other fabrics than compute: CPU, storage, control-plane, login nodes, edge routers, CDUs."""

    model: str = Field(description="Node model of the catalog; `railplan catalog nodes` lists them.")
    count: int = Field(ge=1, le=100_000, description="Number of them.")
    name: HostWord = Field(description="Host name prefix; they are called NAME-01, NAME-02, ...")
    racks_at_least: int = Field(1, ge=1, le=1000, description="Racks they are spread over at least, so that one rack does not take all of them down.")
    ports: PortMap = Field(default_factory=dict, description=PORTS_OF)
    networks: tuple[HostWord, ...] = Field((), description=NETWORKS_OF)

    @model_validator(mode="after")
    def _can_be_spread(self) -> ServerSpec:
        if self.racks_at_least > self.count:
            raise ValueError(f"{self.count} of them cannot stand in {self.racks_at_least} racks | lower racks_at_least")
        return self

    @property
    def width(self) -> int:
        """Digits of the host number."""
        return max(2, len(str(self.count)))


class PduSpec(Frozen):
    """Power distribution units: some in every rack, each with a management port."""

    model: str = Field("pdu-rack", description="Node model of the catalog.")
    per_rack: int = Field(2, ge=1, le=8, description="Units in every rack, in those kept for growth too.")
    name: HostWord = Field("pdu", description="Host name prefix.")
