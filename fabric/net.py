"""The fabric as the proofs see it: switches, bundles of parallel links between them, and endpoints on the leaves.

All is counted from the tables. Links between the two switches of a pair are bent over a spine that is not there, so that
every fabric is a tree of tiers: traffic goes up, turns once, and comes down, never through a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from .check_report import end_links
from .tables import NONE
from .topology import Topology

Ints = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

LEVELS = {"leaf": 1, "spine": 2, "core": 3}
"""Role of a switch -> its tier, counted from the nodes up."""


@dataclass(frozen=True)
class Net:
    """Switches by row (leaves first), bundles of links between a lower and a higher switch, bundles of endpoint ports."""

    fabric: str
    leaves: int
    """Number of leaves: rows 0 to leaves - 1."""
    dev: Ints
    """Device number of each switch; NONE for a spine that is not there."""
    level: Ints
    plane: Ints
    pod: Ints
    group: Ints
    rail: Ints
    """First rail of each leaf; 0 above."""
    domain: Ints
    """Of each leaf: leaves of one domain are meant to reach each other; a plane, or a rail of it where rails are apart."""
    low: Ints
    high: Ints
    links: Ints
    """Links of each bundle."""
    gbps: Ints
    """Bandwidth of each bundle."""
    node: Ints
    """Device number of the node of each bundle of endpoints."""
    node_index: Ints
    leaf: Ints
    end_gbps: Ints
    """Bandwidth of each bundle of endpoints."""

    @property
    def size(self) -> int:
        """Number of switches."""
        return len(self.dev)

    def of_leaves(self, mask: Mask | None = None) -> Ints:
        """Endpoint bandwidth of each leaf, of all endpoints or of those in the mask."""
        leaf, gbps = (self.leaf, self.end_gbps) if mask is None else (self.leaf[mask], self.end_gbps[mask])
        return np.bincount(leaf, weights=gbps, minlength=self.leaves).astype(np.int64)

    def joined(self, weight: Ints) -> csr_array:
        """Matrix over switches, the same both ways, of a weight of each bundle."""
        tail, head = np.concatenate([self.low, self.high]), np.concatenate([self.high, self.low])
        return csr_array((np.concatenate([weight, weight]), (tail, head)), shape=(self.size, self.size))

    def up(self) -> Ints:
        """Bandwidth from each switch to the tier above."""
        return np.bincount(self.low, weights=self.gbps, minlength=self.size).astype(np.int64)


def net_of(topology: Topology, fabric: str, alive: Mask | None = None) -> Net:
    """Count one fabric; `alive` masks the links that work, all endpoints stay listed (without bandwidth when dead).

    Links that join no two neighbouring tiers of the fabric's present switches carry nothing here; checks of their own find them.
    """
    links = topology.links if alive is None else topology.links.with_columns(pl.Series("alive", alive))
    switches = topology.devices.filter((pl.col("fabric") == fabric) & pl.col("present") & pl.col("role").is_in(list(LEVELS)))
    switches = switches.with_columns(level=pl.col("role").replace_strict(LEVELS, return_dtype=pl.Int64)).sort("level", "dev", maintain_order=True)
    between = links.filter((pl.col("fabric") == fabric) & (pl.col("tier") != "node-leaf") & (pl.lit(True) if alive is None else pl.col("alive")))
    bundles = between.group_by("a_dev", "b_dev").agg(links=pl.len(), gbps=pl.col("gbps").cast(pl.Int64).sum(), beside=(pl.col("tier") == "inter-switch").any())
    bundles = bundles.sort("a_dev", "b_dev")
    works = 1 if alive is None else pl.col("alive").cast(pl.Int64)
    ends = end_links(topology, fabric) if alive is None else links.filter((pl.col("fabric") == fabric) & (pl.col("tier") == "node-leaf") & (pl.col("series") != "U"))
    ends = ends.group_by("a_dev", "b_dev").agg(gbps=(pl.col("gbps").cast(pl.Int64) * works).sum()).sort("a_dev", "b_dev")
    row = np.full(topology.devices.height, NONE, dtype=np.int64)
    row[switches["dev"].to_numpy()] = np.arange(switches.height)
    level = np.append(_ints(switches["level"]), -9)  # the last entry stands for devices that are no such switches
    tiers = level[row[_ints(bundles["a_dev"])]], level[row[_ints(bundles["b_dev"])]]
    bundles = bundles.filter(pl.Series((tiers[1] - tiers[0] == np.where(bundles["beside"].to_numpy(), 0, 1)) & (tiers[0] > 0)))
    ends = ends.filter(pl.Series(level[row[_ints(ends["b_dev"])]] == 1))
    low, high, count, gbps = (_ints(bundles[c]) for c in ("a_dev", "b_dev", "links", "gbps"))
    bent = np.flatnonzero(bundles["beside"].to_numpy())
    middle = switches.height + np.arange(len(bent))
    low, high = row[low], row[high]
    far = high[bent].copy()
    high[bent] = middle
    ordered = {c: _ints(switches[c]) for c in ("dev", "level", "plane", "pod", "group")}
    rail = _ints(switches["rail"].str.split("+").list.first().cast(pl.Int64, strict=False).fill_null(0))
    leaves = int((level == 1).sum())
    own_rail = rail[:leaves] if topology.design.spec_of(fabric).style == "rail-only" else np.zeros(leaves, dtype=np.int64)
    domain = np.unique(np.stack([ordered["plane"][:leaves], own_rail], axis=1), axis=0, return_inverse=True)[1].ravel()
    extra = {"dev": NONE, "level": 2, "pod": NONE, "group": NONE}
    columns = {c: np.concatenate([ordered[c], np.full(len(bent), extra[c])]) for c in extra}
    return Net(
        fabric=fabric,
        leaves=leaves,
        **columns,
        plane=np.concatenate([ordered["plane"], ordered["plane"][low[bent]]]),
        rail=np.concatenate([rail, np.zeros(len(bent), dtype=np.int64)]),
        domain=domain,
        low=np.concatenate([low, far]),
        high=np.concatenate([high, middle]),
        links=np.concatenate([count, count[bent]]),
        gbps=np.concatenate([gbps, gbps[bent]]),
        node=_ints(ends["a_dev"]),
        node_index=_ints(topology.devices["index"].gather(ends["a_dev"])),
        leaf=row[_ints(ends["b_dev"])],
        end_gbps=_ints(ends["gbps"]),
    )


def _ints(column: pl.Series) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)
