"""How thick and heavy cables are: the catalog's figures, and what the hall assumes where it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import pi
from typing import NamedTuple

from ..fabric.hall_spec import HallSpec
from ..problems import Problem
from ..vendors.catalog import Catalog
from ..vendors.models import Copper, Fibre

PACKING = 1.2
"""A bundle of n equal cables is 1.2 x sqrt(n) times as thick as one: cables take 69 % of its cross-section.
The usual planning factor of wire harnesses, for which 1.15 to 1.45 are given (calculator.city, wire bundle diameter; secondary)."""


class Thickness(NamedTuple):
    """One cable: diameter in mm, kg per metre (None where the catalog has no figure), and whether it is optical."""

    diameter_mm: float
    weight_kg_per_m: float | None
    optical: bool

    @property
    def area_mm2(self) -> float:
        """Its cross-section."""
        return pi / 4 * self.diameter_mm**2


def thicknesses(models: Iterable[str], catalog: Catalog, spec: HallSpec) -> dict[str, Thickness]:
    """Thickness of every cable part, in order of the models. Active optical cables are optical, twisted pairs are copper."""
    found = {}
    for model in sorted(set(models)):
        part = _part(model, catalog)
        assumed_mm: float = getattr(spec, _field(part))
        found[model] = Thickness(part.diameter_mm or assumed_mm, part.weight_kg_per_m, _optical(part))
    return found


def thickness_assumptions(models: Iterable[str], catalog: Catalog, spec: HallSpec) -> list[Problem]:
    """Warn once for each cable part whose diameter the catalog lacks and the hall assumes."""
    found = []
    for model in sorted(set(models)):
        part = _part(model, catalog)
        if part.diameter_mm is None:
            field = _field(part)
            what = f"diameter not known: {getattr(spec, field):g} mm each taken"
            fix = f"set hall.{field} to your figure, or add diameter_mm to the part's file"
            found.append(Problem("diameter-assumed", model, what, "trays and bundles are filled with it", fix, "warning"))
    return found


def bundle_mm(cables: Mapping[float, int]) -> float:
    """Diameter of a bundle of so many cables of each diameter; never less than its two thickest side by side."""
    thickest = sorted((d for d, n in cables.items() for _ in range(min(n, 2))), reverse=True)[:2]
    return max(sum(thickest), PACKING * float(sum(n * d**2 for d, n in cables.items())) ** 0.5) if sum(cables.values()) > 1 else sum(thickest)


def _part(model: str, catalog: Catalog) -> Copper | Fibre:
    return catalog.copper[model] if model in catalog.copper else catalog.fibres[model]


def _optical(part: Copper | Fibre) -> bool:
    return isinstance(part, Fibre) or part.kind == "aoc"


def _field(part: Copper | Fibre) -> str:
    """Field of the hall that stands in for a missing diameter."""
    return "assumed_fibre_diameter_mm" if _optical(part) else "assumed_copper_diameter_mm"
