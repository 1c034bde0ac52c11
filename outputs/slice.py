"""A small part of the fabric, as `pods=1,nodes=4`: what a lab can hold.

pods=N     the first N SUs, and what serves them        rails=N    the first N rails
nodes=N    the first N nodes of each SU                 planes=N   the first N planes
spines=N   the first N spines of each plane or group, and as many cores
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl

from ..fabric.tables import NONE, TIERS
from ..problems import DesignError, Problem, did_you_mean

if TYPE_CHECKING:
    from ..plan import Plan

KEYS = ("pods", "nodes", "rails", "planes", "spines")


def parse_slice(text: str) -> dict[str, int]:
    """Read `pods=1,nodes=4`; "" is the whole fabric. Raises DesignError with all mistakes."""
    found: dict[str, int] = {}
    problems = []
    for word in filter(None, text.replace(" ", "").split(",")):
        key, _, value = word.partition("=")
        if key not in KEYS:
            problems.append(Problem("slice", "--slice", f"unknown key {key!r}", "", did_you_mean(key, KEYS)))
        elif key in found:
            problems.append(Problem("slice", "--slice", f"{key} stands twice", "", "name it once"))
        elif not re.fullmatch(r"[1-9][0-9]{0,6}", value):
            problems.append(Problem("slice", "--slice", f"{word!r}: {value!r} is not a number from 1", "", f"write {key}=1 or more"))
        else:
            found[key] = int(value)
    if problems:
        raise DesignError(problems)
    return found


def cut(plan: Plan, links: pl.DataFrame, text: str) -> pl.DataFrame:
    """The links of a slice: both ends are in it. Raises DesignError when the slice cannot be read or has no link."""
    limits = parse_slice(text)
    kept = _devices(plan, limits)
    inside = pl.col("a_device").is_in(kept.implode()) & pl.col("b_device").is_in(kept.implode())
    for key, column in (("rails", "rail"), ("planes", "plane")):
        if key in limits:
            inside &= pl.col(column).is_null() | (pl.col(column) < limits[key])
    found = links.filter(inside)
    if limits:
        found = _served(found)
    if not found.height:
        raise DesignError([Problem("slice", "--slice", f"{text or 'the fabric'} has no link", "", "ask for more of it")])
    return found


def _served(links: pl.DataFrame) -> pl.DataFrame:
    """Without switches that have nobody below them, in link order."""
    kept = [links.filter(pl.col("tier") == TIERS[0])]
    served = kept[0]["b_device"]
    for tier in TIERS[1:]:
        kept.append(links.filter((pl.col("tier") == tier) & pl.col("a_device").is_in(served.implode())))
        served = pl.concat([served, kept[-1]["b_device"]]).unique()
    return pl.concat(kept).sort("link")


def _devices(plan: Plan, limits: dict[str, int]) -> pl.Series:
    """Names of the devices of a slice."""
    devices = plan.topology.devices.filter("present")
    first_pods = devices.filter(pl.col("pod") != NONE)["pod"].unique().sort().head(limits.get("pods", devices.height))
    keep = (pl.col("pod") == NONE) | pl.col("pod").is_in(first_pods.implode())
    if "nodes" in limits:
        keep &= (pl.col("role") != "node") | (pl.int_range(pl.len()).over("role", "pod") < limits["nodes"])
    if "planes" in limits:
        keep &= (pl.col("plane") == NONE) | (pl.col("plane") < limits["planes"])
    if "spines" in limits:
        groups = [name for name in ("role", "plane", "pod", "group", "rail") if name in devices.columns]
        keep &= ~pl.col("role").is_in(("spine", "core")) | (pl.int_range(pl.len()).over(groups) < limits["spines"])
    return devices.filter(keep)["device"]
