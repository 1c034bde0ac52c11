"""Equal-cost routes: how each switch shares out what it sends to a leaf over its links.

A leaf shares evenly over its uplinks to spines that lead to the target; a spine that has links to the target sends down
at once, another shares evenly over its links to cores that lead there; so do cores and spines on the way down.
Leaves that are linked to the same spines are the same as targets: they form one pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from .net import Ints, Net
from .sameness import number

Floats = np.ndarray


@dataclass(frozen=True)
class Routes:
    """Shares of all links towards each pattern of target leaves; matrices over leaves, spines, cores and patterns."""

    net: Net
    spine: Ints
    """Row in the net of each spine."""
    core: Ints
    below: csr_array
    """Links between each leaf and spine."""
    above: csr_array
    """Links between each spine and core."""
    pattern: Ints
    """Pattern of each leaf; -1 without uplinks."""
    leads: csr_array
    """Pattern x spine: 1 where the spine has links to the pattern's leaves."""

    @cached_property
    def core_leads(self) -> Floats:
        """Pattern x core: 1 where the core has links to such a spine."""
        return np.asarray((self.leads @ (self.above > 0).astype(np.int64)).toarray() > 0, dtype=np.float64)

    @cached_property
    def spine_leads(self) -> Floats:
        """Pattern x spine: 1 where the spine has links to such a core."""
        return np.asarray(self.core_leads @ (self.above > 0).astype(np.float64).T.toarray() > 0, dtype=np.float64) if len(self.core) else np.zeros(self.leads.shape)

    @cached_property
    def near(self) -> Floats:
        """Leaf x pattern: uplinks that lead there by way of one spine."""
        return np.asarray((self.below @ self.leads.T).toarray(), dtype=np.float64)

    @cached_property
    def far(self) -> Floats:
        """Leaf x pattern: uplinks that lead there by way of cores; 0 where one spine will do."""
        return np.where(self.near > 0, 0.0, self.below.astype(np.float64) @ self.spine_leads.T)

    @cached_property
    def spine_up(self) -> Floats:
        """Spine x pattern: uplinks of a spine that lead there."""
        return np.asarray(self.above.astype(np.float64) @ self.core_leads.T)

    @cached_property
    def core_down(self) -> Floats:
        """Core x pattern: links of a core that lead there."""
        return np.asarray((self.above.T @ self.leads.T.astype(np.int64)).toarray(), dtype=np.float64)

    def arriving(self, pattern: int, core_share: Floats) -> Floats:
        """Share of what each far leaf sends to a pattern that takes some way on from the cores: `core_share` for each core."""
        up = self.spine_up[:, pattern]
        at_spine = np.divide(self.above @ (core_share * self.core_leads[pattern]), up, out=np.zeros(len(up)), where=up > 0)
        return self._over(self.below @ (at_spine * self.spine_leads[pattern]), self.far[:, pattern])

    def straight(self, pattern: int, spine: int) -> Floats:
        """Share of what each near leaf sends to a pattern that turns at a spine."""
        return self._over(self.below[:, [spine]].toarray().ravel() * float(self.leads[pattern, spine]), self.near[:, pattern])

    @staticmethod
    def _over(part: Floats, whole: Floats) -> Floats:
        return np.asarray(np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0))


def routes_of(net: Net) -> Routes:
    """Work out where each link leads."""
    spine, core = (np.flatnonzero(net.level == level) for level in (2, 3))
    column = np.zeros(net.size, dtype=np.int64)
    column[spine], column[core] = np.arange(len(spine)), np.arange(len(core))
    own = net.level[net.high] == 2
    below = csr_array((net.links[own], (net.low[own], column[net.high[own]])), shape=(net.leaves, len(spine)))
    above = csr_array((net.links[~own], (column[net.low[~own]], column[net.high[~own]])), shape=(len(spine), len(core)))
    pattern = _patterns(below)
    known = np.unique(pattern[pattern >= 0], return_index=True)
    first = np.flatnonzero(pattern >= 0)[known[1]]
    leads = (below[first] > 0).astype(np.int64) if len(first) else csr_array((0, len(spine)), dtype=np.int64)
    return Routes(net, spine, core, below, above, pattern, csr_array(leads))


def _patterns(below: csr_array) -> Ints:
    """Number of each leaf's set of spines; -1 for the empty set."""
    below.sort_indices()
    known: dict[bytes, int] = {}
    found = np.full(below.shape[0], -1, dtype=np.int64)
    for leaf in range(below.shape[0]):
        spines = below.indices[below.indptr[leaf] : below.indptr[leaf + 1]]
        if len(spines):
            found[leaf] = known.setdefault(spines.tobytes(), len(known))
    return found


def representatives(net: Net, colour: Ints) -> Sequence[int]:
    """One bundle of links of each kind: same classes at both ends, same links and bandwidth."""
    kind = number(colour[net.low], colour[net.high], net.links, net.gbps)
    return [int(i) for i in np.unique(kind, return_index=True)[1]]
