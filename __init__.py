"""railplan: rail-optimised fabric planner for GPU clusters.

from railplan import load_catalog, load_design, make_plan
plan = make_plan(load_design("cluster.yaml"), load_catalog())
plan.graph("compute")            # networkx MultiGraph of devices and links
plan.cabling.cables              # Polars table of every cable
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Catalog", "Design", "DesignError", "Plan", "Problem", "__version__", "load_catalog", "load_design", "make_plan", "parse_design"]

if TYPE_CHECKING:
    from .fabric.design import Design, load_design, parse_design
    from .plan import Plan, make_plan
    from .problems import DesignError, Problem
    from .vendors.catalog import Catalog, load_catalog

_HOMES = {
    "Catalog": "vendors.catalog",
    "load_catalog": "vendors.catalog",
    "Design": "fabric.design",
    "load_design": "fabric.design",
    "parse_design": "fabric.design",
    "DesignError": "problems",
    "Problem": "problems",
    "Plan": "plan",
    "make_plan": "plan",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used, so that `railplan --help` is instant."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
