"""Equipment that stands already, named by its model: the catalog fills in what the design does not say."""

from __future__ import annotations

from typing import NamedTuple

from ..problems import Problem, did_you_mean
from ..vendors.catalog import Catalog
from ..vendors.models import Node, Switch
from .design import Design
from .placement_spec import ExistingSpec


class Stranger(NamedTuple):
    """Equipment that is no device of the plan, with its number in the design."""

    number: int
    rack: str
    ru: int
    height_ru: int
    power_w: float
    weight_kg: float
    name: str


def strangers(design: Design) -> list[Stranger]:
    """Existing equipment that is no device of the plan; sizes are those that `with_sizes` filled in."""
    return [
        Stranger(i, t.rack, t.ru, t.height_ru or 0, t.power_w or 0.0, t.weight_kg or 0.0, t.name or t.model or "existing equipment")
        for i, t in enumerate(design.placement.existing)
        if t.device is None
    ]


def with_sizes(design: Design, catalog: Catalog) -> tuple[Design, list[Problem]]:
    """The design with height, power and weight of all existing equipment, and a problem for each that the catalog cannot tell."""
    problems: list[Problem] = []
    existing = tuple(_sized(thing, f"placement.existing.{i}", catalog, problems) for i, thing in enumerate(design.placement.existing))
    return design.model_copy(update={"placement": design.placement.model_copy(update={"existing": existing})}), problems


def _sized(thing: ExistingSpec, where: str, catalog: Catalog, problems: list[Problem]) -> ExistingSpec:
    if thing.model is None:
        return thing
    parts: dict[str, Switch | Node] = {**catalog.switches, **catalog.nodes}
    part = parts.get(thing.model)
    if part is None:
        problems.append(Problem("unknown-model", f"{where}.model", f"unknown switch or node {thing.model!r}", fix=did_you_mean(thing.model, parts)))
        return thing
    told = {"height_ru": part.height_ru, "power_w": part.power_max_w or part.power_typical_w, "weight_kg": part.weight_kg}
    sized = {field: value if getattr(thing, field) is None else getattr(thing, field) for field, value in told.items()}
    for field in (name for name, value in sized.items() if value is None):
        problems.append(Problem("existing-size", where, f"the catalog does not know {field} of {thing.model}", fix=f"give {field} here"))
    return thing.model_copy(update=sized)
