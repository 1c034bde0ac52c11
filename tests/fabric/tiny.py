"""Tiny fabrics of any wiring, and how traffic runs over them link by link, written anew on networkx: the judge of the proofs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import networkx as nx
import polars as pl

from railplan.fabric.tables import DEVICES, LINKS
from railplan.fabric.topology import Topology

Bundle = tuple[str, str, int]
"""Lower switch, higher switch, number of links."""


def tiny(base: Topology, ends: dict[str, int], bundles: Iterable[Bundle]) -> Topology:
    """A fabric of leaves with that many endpoint ports each, joined by bundles; names begin with leaf, spine or core."""
    bundles = list(bundles)
    names = sorted({*ends, *(n for low, high, _ in bundles for n in (low, high))}, key=lambda n: (["leaf", "spine", "core"].index(n.split("-")[0]), n))
    rows: list[dict[str, Any]] = []
    blank = {"model": "x", "fabric": "compute", "profile": "x", "pod": -1, "rail": "", "plane": 0, "group": -1, "home": -1, "index": 0, "present": True}
    for i, leaf in enumerate(ends):
        rows.append({**blank, "device": f"node-{leaf}", "role": "node", "fabric": "", "pod": i, "plane": -1, "index": i})
    for name in names:
        role = name.split("-")[0]
        rows.append({**blank, "device": name, "role": role, "pod": list(ends).index(name) if role == "leaf" else -1, "rail": "0" if role == "leaf" else ""})
    dev = {row["device"]: i for i, row in enumerate(rows)}
    links: list[dict[str, Any]] = []
    plain = {"fabric": "compute", "rail": 0, "plane": 0, "gpu": -1, "gbps": 400, "lanes": 4, "lane_gbps": 100, "a_cage": 1, "b_cage": 1, "a_child": 0, "b_child": 0}
    for leaf, ports in ends.items():
        links += [{**plain, "tier": "node-leaf", "series": "N", "gpu": 0, "a_dev": dev[f"node-{leaf}"], "b_dev": dev[leaf]} for _ in range(ports)]
    for low, high, count in bundles:
        tier = "spine-core" if high.startswith("core") else "inter-switch" if high.startswith("leaf") else "leaf-spine"
        links += [{**plain, "tier": tier, "series": "S", "a_dev": dev[low], "b_dev": dev[high]} for _ in range(count)]
    devices = pl.DataFrame([{**row, "dev": i} for i, row in enumerate(rows)], schema=DEVICES)
    return replace(base, devices=devices, links=pl.DataFrame([{**link, "link": i, "serial": i} for i, link in enumerate(links)], schema=LINKS))


class Judge:
    """Routes every pair of leaves over all shortest ways up and down, each switch sharing evenly over its links."""

    def __init__(self, topology: Topology) -> None:
        self.names = topology.devices["device"].to_list()
        self.graph = nx.MultiDiGraph()
        for link, low, high in topology.links.filter(pl.col("tier") != "node-leaf").select("link", "a_dev", "b_dev").iter_rows():
            beside = topology.links["tier"][link] == "inter-switch"
            for a, b in ((low, high), (high, low)) if beside else ((low, high),):
                self.graph.add_edge((a, "up"), (b, "down" if beside else "up"), (link, "up" if a == low else "down"), cost=1)
            if not beside:
                self.graph.add_edge((high, "down"), (low, "down"), (link, "down"), cost=1)
        for dev in range(topology.devices.height):
            self.graph.add_edge((dev, "up"), (dev, "down"), ("turn", dev), cost=0)
        self.back = self.graph.reverse()
        self.rate = topology.links["gbps"].to_list()
        self.leaf = topology.links["b_dev"].to_list()

    def shares(self, source: int, target: int) -> dict[tuple[int, str], float]:
        """Part of the traffic from one leaf to another on each link and direction."""
        found: dict[tuple[int, str], float] = defaultdict(float)
        left = nx.single_source_dijkstra_path_length(self.back, (target, "down"), weight="cost")
        if source == target or (source, "up") not in left:
            return found
        part = {(source, "up"): 1.0}
        for at in sorted(left, key=lambda v: (-left[v], v[1] == "down")):
            if not part.get(at):
                continue
            ways = [(to, key) for _, to, key, data in self.graph.out_edges(at, keys=True, data=True) if to in left and left[to] + data["cost"] == left[at]]
            for to, key in ways:
                part[to] = part.get(to, 0.0) + part[at] / len(ways)
                if key[0] != "turn":
                    found[key] += part[at] / len(ways)
        return found

    def loads(self, pairs: Iterable[tuple[int, int, int]]) -> dict[tuple[int, str], float]:
        """Load of each link as a fraction of its rate, for pairs of node-leaf links and what they send, in Gb/s."""
        total: dict[tuple[int, str], float] = defaultdict(float)
        for a, b, gbps in pairs:
            for key, part in self.shares(self.leaf[a], self.leaf[b]).items():
                total[key] += part * gbps / self.rate[key[0]]
        return total
