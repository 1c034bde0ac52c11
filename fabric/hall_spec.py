"""The hall as the design file gives it: rooms, rows, racks, trays, obstacles, routing allowances, measured lengths."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from ..vendors.models import Frozen


def rack_word(value: Any) -> Any:
    """Row and rack names: letters and digits only, so that labels and files can carry them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not re.match(r"^[A-Za-z0-9]{1,8}$", value):
        raise ValueError(f"{value!r} is not a row or rack name | use 1 to 8 letters and digits")
    return value


def at_least_one(value: Any) -> Any:
    """Numbers that a word such as auto may stand for: 1 and more."""
    if isinstance(value, int) and value < 1:
        raise ValueError(f"{value} is less than 1 | use auto or 1 and more")
    return value


def place_word(value: Any) -> Any:
    """Names of rooms, trays and obstacles: letters, digits and dashes, so that pictures and files can carry them."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not re.match(r"^[A-Za-z0-9]([A-Za-z0-9-]{0,22}[A-Za-z0-9])?$", value):
        raise ValueError(f"{value!r} is not a name of a room, tray or obstacle | use 1 to 24 letters, digits and -, beginning and ending with a letter or digit")
    return value


AtLeastOne = AfterValidator(at_least_one)
PlaceWord = Annotated[str, BeforeValidator(place_word)]
RackWord = Annotated[str, BeforeValidator(rack_word)]
Metres = Annotated[float, Field(ge=0, le=1000)]
Coordinate = Annotated[float, Field(ge=-10_000, le=10_000)]
Extent = Annotated[float, Field(gt=0, le=10_000)]
Millimetres = Annotated[float, Field(gt=0, le=5_000)]
Percent = Annotated[float, Field(gt=0, le=100)]


class OtherRacks(Frozen):
    """Single positions of a row whose racks are of another type."""

    positions: tuple[int, ...] = Field(min_length=1, description="Positions of the row, from 1.")
    rack: str = Field(description="Rack type of the catalog.")
    rack_power_kw: float | None = Field(None, gt=0, le=1000, description="Power limit of each of these racks; by default the rack type's.")
    rack_weight_kg: float | None = Field(None, gt=0, le=20_000, description="Load limit of each of these racks; by default the rack type's.")


class RowSpec(Frozen):
    """One row of rack positions, numbered from 1; racks are called ROW + two or more digits, as A07."""

    name: RackWord = Field(description="Name of the row, for example A.")
    racks: int = Field(ge=1, le=500, description="Number of rack positions.")
    x_m: float = Field(0.0, ge=-10_000, le=10_000, description="Where position 1 begins, along the row.")
    y_m: float | None = Field(None, ge=-10_000, le=10_000, description="Middle of the row across the hall; by default rows follow each other with cold and hot aisles between.")
    blocked: tuple[int, ...] = Field((), description="Positions that cannot hold a rack: columns, doors, cooling units.")
    room: PlaceWord | None = Field(None, description="Room that the row must stand in; by default the one whose walls are around it.")
    rack: str | None = Field(None, description="Rack type of the row; by default the hall's. A row of another type has the limits that it gives itself, or its type's.")
    rack_power_kw: float | None = Field(None, gt=0, le=1000, description="Power limit of a rack of this row; by default the hall's, or for another rack type that type's.")
    rack_weight_kg: float | None = Field(None, gt=0, le=20_000, description="Load limit of a rack of this row; by default the hall's, or for another rack type that type's.")
    rack_cooling_kw: float | None = Field(None, gt=0, le=1000, description="Heat that the air takes from a rack of this row; by default the hall's.")
    cooling_kw: float | None = Field(None, gt=0, le=100_000, description="Heat that the air takes from the whole row.")
    liquid: bool = Field(False, description="Liquid cooling reaches the racks of this row. Where any row has it, liquid-cooled and hybrid parts stand only in such rows.")
    other_racks: tuple[OtherRacks, ...] = Field((), description="Positions whose racks are of another type than the row's.")

    @field_validator("rack", mode="before")
    @classmethod
    def _a_type_is_no_number(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(f"{value} is a number, not a rack type | did you mean racks: {value}?")
        return value

    @field_validator("blocked")
    @classmethod
    def _once_each(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(value)) != len(value):
            raise ValueError("a blocked position stands twice | name it once")
        return value

    @model_validator(mode="after")
    def _other_racks_stand_once(self) -> RowSpec:
        named = [p for other in self.other_racks for p in other.positions]
        outside = [p for p in named if not 1 <= p <= self.racks]
        if outside:
            raise ValueError(f"other_racks names positions {outside}, which are outside row {self.name} of 1 to {self.racks} | name positions of the row")
        twice = sorted({p for p in named if named.count(p) > 1})
        if twice:
            raise ValueError(f"other_racks names positions {twice} twice | give a position one rack type")
        return self

    @model_validator(mode="after")
    def _blocked_positions_exist(self) -> RowSpec:
        outside = [p for p in self.blocked if not 1 <= p <= self.racks]
        if outside:
            raise ValueError(f"blocked positions {outside} are outside row {self.name}, which has 1 to {self.racks} | name positions of the row")
        return self


class RoomSpec(Frozen):
    """A room: walls around rows. Coordinates are those of the whole hall. Trays that nobody listed end at its walls."""

    name: PlaceWord = Field(description="Name of the room, for example north.")
    x_m: Coordinate = Field(0.0, description="Corner with the least x.")
    y_m: Coordinate = Field(0.0, description="Corner with the least y.")
    width_m: Extent = Field(description="Inner width, along x.")
    depth_m: Extent = Field(description="Inner depth, along y.")


class TraySpec(Frozen):
    """A straight run of tray, along x or along y; listed trays are all trays of the hall."""

    name: PlaceWord = Field(description="Name of the tray, for example main.")
    x_m: Coordinate = Field(description="Where its middle line begins.")
    y_m: Coordinate = Field(description="Where its middle line begins.")
    to_x_m: Coordinate | None = Field(None, description="Where it ends; by default the x it begins at, for a tray along y.")
    to_y_m: Coordinate | None = Field(None, description="Where it ends; by default the y it begins at, for a tray along x.")
    height_m: float | None = Field(None, gt=0, le=100, description="Bottom of the tray above the floor; by default the racks' outer height plus routing.riser_m.")
    width_mm: Millimetres | None = Field(None, description="Usable width; by default hall.tray_width_mm.")
    depth_mm: Millimetres | None = Field(None, description="Usable side height; by default hall.tray_depth_mm.")
    fill_percent: Percent | None = Field(None, description="Share of its cross-section that cables may take; by default hall.tray_fill_percent.")
    no_joint: tuple[PlaceWord, ...] = Field((), description="Trays that it crosses without a joint: no cable changes from one to the other.")

    @model_validator(mode="after")
    def _straight_along_an_axis(self) -> TraySpec:
        x, y = self.end
        if x != self.x_m and y != self.y_m:
            raise ValueError(f"tray {self.name} runs from ({self.x_m:g}, {self.y_m:g}) to ({x:g}, {y:g}), aslant | split it into runs along x and along y")
        if max(abs(x - self.x_m), abs(y - self.y_m)) < 0.01:
            raise ValueError(f"tray {self.name} has no length | say where it ends: to_x_m for a tray along x, to_y_m for a tray along y")
        return self

    @property
    def end(self) -> tuple[float, float]:
        """Where it ends."""
        return self.x_m if self.to_x_m is None else self.to_x_m, self.y_m if self.to_y_m is None else self.to_y_m


class ObstacleSpec(Frozen):
    """What stands in the way: a column, a cooling unit, the swing of a door. Positions it reaches into hold no rack."""

    name: PlaceWord = Field(description="Name of the obstacle, for example column-1.")
    x_m: Coordinate = Field(description="Corner with the least x.")
    y_m: Coordinate = Field(description="Corner with the least y.")
    width_m: Extent = Field(description="Width, along x.")
    depth_m: Extent = Field(description="Depth, along y.")
    height_m: float | None = Field(None, gt=0, le=100, description="Height; trays pass above it. By default it reaches the ceiling and no tray passes.")


class MeasuredLength(Frozen):
    """A route that somebody measured: it wins over the estimate for every cable between the two racks."""

    rack_a: RackWord = Field(description="Rack of one end, for example A01.")
    rack_b: RackWord = Field(description="Rack of the other end.")
    length_m: float = Field(gt=0, le=10_000, description="Measured route from port to port, slack included.")


class RoutingSpec(Frozen):
    """Allowances of a cable's route. Every one is the site's own figure; the defaults are planning estimates."""

    side_m: Metres = Field(0.4, description="From a port sideways to the vertical manager of its rack, at each end.")
    riser_m: Metres = Field(0.3, description="From the top of a rack up to the tray, at each end.")
    slack_m: Metres = Field(0.2, description="Slack added to every cable.")
    slack_percent: float = Field(5.0, ge=0, le=100, description="Slack added in percent of the route between racks.")


class HallSpec(Frozen):
    """The hall: rack type and limits, rooms, rows, trays, obstacles, and routing allowances."""

    rack: str = Field("rack-48u", description="Rack type of the catalog; rows and single positions may have others.")
    rack_power_kw: float | None = Field(None, gt=0, le=1000, description="Power limit of a rack; by default the rack type's.")
    rack_weight_kg: float | None = Field(None, gt=0, le=20_000, description="Load limit of a rack; by default the rack type's.")
    rack_cooling_kw: float | None = Field(None, gt=0, le=1000, description="Heat that the air takes from a rack; by default as much as its power.")
    floor_kg_per_m2: float | None = Field(None, gt=0, le=100_000, description="What the floor bears: weight of a rack and all in it over the ground that the rack covers.")
    nodes_per_rack: Annotated[Literal["auto"] | int, AtLeastOne] = Field("auto", description="Nodes in a rack; auto: the largest published number that fits.")
    switches_per_rack: Annotated[Literal["auto"] | int, AtLeastOne] = Field("auto", description="Switches in a network rack; auto: as many as fit.")
    rows: tuple[RowSpec, ...] = Field((), description="The rows; without any, a hall is made to fit.")
    row_racks: int = Field(20, ge=1, le=500, description="Longest row of a hall that is made to fit (20 cabinets is a common limit).")
    cold_aisle_m: Metres = Field(1.2, description="Width of cold aisles.")
    hot_aisle_m: Metres = Field(0.9, description="Width of hot aisles.")
    cross_trays_x_m: tuple[Coordinate, ...] | None = Field(None, description="Where trays cross from row to row, along x; by default at both ends and in the middle.")
    rooms: tuple[RoomSpec, ...] = Field((), max_length=500, description="Rooms with walls; without any, the hall is one room.")
    trays: tuple[TraySpec, ...] = Field((), max_length=2000, description="All trays of the hall; without any, one runs above every row and cross_trays_x_m join them.")
    obstacles: tuple[ObstacleSpec, ...] = Field((), max_length=2000, description="Columns, cooling units, doors: they block the positions they reach into.")
    tray_width_mm: Millimetres = Field(600.0, description="Usable width of trays that give none.")
    tray_depth_mm: Millimetres = Field(100.0, description="Usable side height of trays that give none.")
    tray_fill_percent: Percent = Field(
        40.0, description="Share of a tray's cross-section that cables may take: TIA-569-D plans 40 % for communications cables, NEC article 392 allows 50 %."
    )
    routing: RoutingSpec = Field(RoutingSpec(), description="Allowances of a cable's route.")
    measured: tuple[MeasuredLength, ...] = Field((), description="Measured routes between racks; they win over the estimate.")
    assumed_switch_power_w: float = Field(2500.0, gt=0, le=1_000_000, description="Power taken for a switch whose catalog entry gives none.")
    assumed_switch_weight_kg: float = Field(30.0, gt=0, le=20_000, description="Weight taken for a switch whose catalog entry gives none.")
    assumed_node_power_w: float = Field(14000.0, gt=0, le=1_000_000, description="Power taken for a node whose catalog entry gives none.")
    assumed_node_weight_kg: float = Field(150.0, gt=0, le=20_000, description="Weight taken for a node whose catalog entry gives none.")
    assumed_copper_diameter_mm: float = Field(9.4, gt=0, le=100, description="Diameter taken for a copper cable whose catalog entry gives none.")
    assumed_fibre_diameter_mm: float = Field(3.0, gt=0, le=100, description="Diameter taken for a fibre or active optical cable whose catalog entry gives none.")

    assumed_air_percent: float = Field(
        15.0, ge=0, le=100, description="Share of a liquid-cooled part's power that heats the air, where its catalog entry gives none. A hybrid part then counts whole."
    )

    @model_validator(mode="after")
    def _rows_differ(self) -> HallSpec:
        names = [r.name for r in self.rows]
        if len(set(names)) != len(names):
            raise ValueError("a row name stands twice | give every row its own name")
        if self.cross_trays_x_m is not None and len(self.rows) != 1 and not self.cross_trays_x_m:
            raise ValueError("no tray crosses from row to row | name at least one x in cross_trays_x_m")
        if self.cross_trays_x_m is not None and self.trays:
            raise ValueError("cross_trays_x_m and trays are both given, and listed trays are all trays of the hall | remove cross_trays_x_m")
        if not self.rows and (self.trays or self.rooms or self.obstacles):
            raise ValueError("rooms, trays or obstacles without rows: a hall made to fit has none of them | list the rows")
        pairs = [frozenset((m.rack_a, m.rack_b)) for m in self.measured]
        if len(set(pairs)) != len(pairs):
            raise ValueError("a pair of racks is measured twice | keep one length")
        return self
