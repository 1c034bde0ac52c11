"""apstra-cabling.csv: the cabling with what Juniper Apstra's cabling map holds: both ends' name, interface, address, role and rack.

One row for each link. Roles and link roles are Apstra's words. Addresses are empty: Apstra hands them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from . import DEFAULTS, Options
from .csv_files import csv_bytes
from .links import ethernet_links

if TYPE_CHECKING:
    from ..plan import Plan

ROLES = {"node": "generic", "leaf": "leaf", "spine": "spine", "core": "superspine"}
LINK_ROLES = {"node-leaf": "to_generic", "leaf-spine": "spine_leaf", "spine-core": "spine_superspine", "inter-switch": "leaf_leaf"}


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Render apstra-cabling.csv of the Ethernet fabrics."""
    return {"apstra-cabling.csv": csv_bytes(cabling_map(plan))}


def cabling_map(plan: Plan) -> pl.DataFrame:
    """The table, in link order."""
    ends = [
        expr
        for side, name in (("a", "endpoint_1"), ("b", "endpoint_2"))
        for expr in (
            pl.col(f"{side}_device").alias(f"{name}_name"),
            pl.col(f"{side}_interface").alias(f"{name}_interface"),
            pl.lit("").alias(f"{name}_ip"),
            pl.col(f"{side}_role").replace(ROLES).alias(f"{name}_role"),
            pl.col(f"{side}_rack").alias(f"{name}_rack"),
        )
    ]
    return ethernet_links(plan, "apstra").select(pl.col("cable").alias("label"), pl.col("tier").replace(LINK_ROLES).alias("role"), pl.format("{}G", "gbps").alias("speed"), *ends)
