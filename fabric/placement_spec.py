"""What a design says about placement: a forced arrangement, pins, equipment that stands already, and what must stand apart."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from ..vendors.models import Frozen
from .hall_spec import RackWord

Arrangement = Literal["auto", "end-of-row", "mid-row", "switch-per-rack", "amid-su", "virtual-modular-switch", "tor-mid-rack"]
Role = Literal["node", "leaf", "spine", "core", "ufm"]
Unit = Annotated[int, Field(ge=1, le=100)]


class PinSpec(Frozen):
    """Devices that may stand only in the named rows or racks."""

    device: str | None = Field(None, description="Name of one device, for example leaf-su0-r3; * stands for any letters.")
    role: Role | None = Field(None, description="Every device of a role, in place of a name.")
    pod: int | None = Field(None, ge=0, description="With role: devices of this pod (SU) alone, counted from 0.")
    rows: tuple[RackWord, ...] = Field((), description="Rows they may stand in.")
    racks: tuple[RackWord, ...] = Field((), description="Racks they may stand in, for example A07; together with rows, either will do.")

    @model_validator(mode="after")
    def _says_who_and_where(self) -> PinSpec:
        if (self.device is None) == (self.role is None):
            raise ValueError("a pin names a device or a role | write one of device, role")
        if self.pod is not None and self.role is None:
            raise ValueError("pod goes with role | name the device alone")
        if not self.rows and not self.racks:
            raise ValueError("a pin without a place | name rows or racks")
        return self


class ExistingSpec(Frozen):
    """Equipment that stands in the hall already and stays: say its height, its model, or which device of this plan it is."""

    rack: RackWord = Field(description="Rack it stands in.")
    ru: Unit = Field(description="Its lowest rack unit, counted from 1 at the bottom.")
    height_ru: Unit | None = Field(None, description="Rack units it takes; by default those of its model.")
    power_w: float | None = Field(None, ge=0, description="Its highest draw; by default that of its model, without one 0.")
    weight_kg: float | None = Field(None, ge=0, description="Its weight; by default that of its model, without one 0.")
    model: str | None = Field(None, description="Switch or node of the catalog; it fills in what is not given.")
    device: str | None = Field(None, description="Device of this plan that stands here already and stays, in place of height, power, weight and model.")
    name: str = Field("", description="What it is, for your own reference.")

    @model_validator(mode="after")
    def _has_a_size(self) -> ExistingSpec:
        given = [field for field in ("model", "height_ru", "power_w", "weight_kg") if getattr(self, field) is not None]
        if self.device is not None and given:
            raise ValueError(f"{given[0]} beside device | the plan knows the size of its devices; remove {' and '.join(given)}")
        if self.device is None and self.model is None and self.height_ru is None:
            raise ValueError("equipment without a size | give height_ru, or the model of the catalog, or the device of this plan that it is")
        return self


class PowerGroupSpec(Frozen):
    """Racks that share one feed."""

    name: str = Field("", description="Name of the feed, for messages.")
    rows: tuple[RackWord, ...] = Field((), description="Whole rows on the feed.")
    racks: tuple[RackWord, ...] = Field((), description="Single racks on the feed.")
    power_kw: float = Field(gt=0, description="What all of them may draw together.")

    @model_validator(mode="after")
    def _feeds_something(self) -> PowerGroupSpec:
        if not self.rows and not self.racks:
            raise ValueError("a power group without racks | name rows or racks")
        return self


class PlacementSpec(Frozen):
    """How racks and switches are placed: pins, equipment that stands already, arrangements to force."""

    arrangement: Arrangement = Field(
        "auto",
        description="A fixed arrangement to force; auto is the reference arrangement (amid-su), or with an effort of the search the cheapest "
        "of the four fixed ones and what it finds.",
    )
    contiguous: Literal["auto", "always", "never"] = Field(
        "auto",
        description="Whether a search keeps the node racks of each pod (SU) together: one run in a row, or runs in neighbouring rows, at most one row "
        "more than it needs. auto: where that costs at most 1 % more than scattering them; never: they may scatter where that saves anything.",
    )
    pins: tuple[PinSpec, ...] = Field((), description="Devices that may stand only in certain rows or racks.")
    forbidden: tuple[RackWord, ...] = Field((), description="Racks that this plan must leave alone.")
    places: dict[str, dict[str, Unit]] = Field(
        default_factory=dict,
        description="Devices whose places are given, by rack: device and its lowest rack unit, as A07: {gpu-001: 1}. What a search found and what an "
        "earlier plan installed is written here, so that planning again moves nothing; devices not named here find a place.",
    )
    existing: tuple[ExistingSpec, ...] = Field((), description="Equipment that stands already; its units, power and weight are not there to take.")
    apart: tuple[Literal["leaf", "spine", "core"], ...] = Field((), description="Roles whose devices of one plane must not all stand in one rack.")
    power_groups: tuple[PowerGroupSpec, ...] = Field((), description="Rows or racks that share a feed, with what the feed carries.")

    @field_validator("apart", "forbidden")
    @classmethod
    def _once_each(cls, value: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(value)) != len(value):
            raise ValueError("an entry stands twice | name it once")
        return value
