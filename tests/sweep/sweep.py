"""Build fabrics of every size, family, style and plane count, and check each with independent code."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl

from railplan import Catalog, DesignError, load_catalog, parse_design
from railplan.fabric.build import build_topology
from railplan.fabric.topology import Topology

NODES = {
    "spectrum-x": ("hgx-b300", "hgx-h100"),
    "tomahawk-6": ("hgx-b300", "amd-mi300x-8"),
    "tomahawk-5": ("amd-mi300x-8", "hgx-b300"),
    "quantum-ndr": ("dgx-h100", "hgx-b300", "gb200-nvl72-tray"),
    "quantum-xdr": ("dgx-b300", "gb300-nvl72-tray"),
}
STYLES = ("rail", "rail-only", "tor", "dual-tor", "pair", "single")
PLANES = (1, 2, 4)
RATIOS = ("1", "2", "3.5")

Case = tuple[str, str, str, int, str, int]


def cases(first: int, last: int, step: int) -> Iterator[Case]:
    """Every combination: family, node, style, planes, oversubscription, count."""
    for family, nodes in NODES.items():
        for node, style, planes, ratio in product(nodes, STYLES, PLANES, RATIOS):
            for count in range(first, last + 1, step):
                yield family, node, style, planes, ratio, count


def text_of(case: Case, count: int | None = None) -> str:
    """The design of a case."""
    family, node, style, planes, ratio, own = case
    return f'nodes: {{model: {node}, count: {count or own}}}\nfabrics: {{compute: {{family: {family}, style: {style}, planes: {planes}, oversubscription: "{ratio}"}}}}\n'


def examine(case: Case, catalog: Catalog) -> str:
    """`built`, `refused`, or `FAULT: ...`."""
    try:
        topology = build_topology(parse_design(text_of(case)), catalog)
    except DesignError as error:
        return refusal(case, catalog, error)
    faults = list(inspect(topology, case[5], Fraction(case[4])))
    return "FAULT: " + "; ".join(faults) if faults else "built"


def refusal(case: Case, catalog: Catalog, error: DesignError) -> str:
    """A refusal must say what and how to mend it; a node count it advises must work."""
    errors = [p for p in error.problems if p.level == "error"]
    if not errors or not all(p.what and p.fix for p in errors):
        return "FAULT: a refusal without a way out"
    advised = re.search(r"use at most ([\d,]+) nodes", errors[0].fix)
    if advised:
        count = int(advised.group(1).replace(",", ""))
        try:
            if count:
                build_topology(parse_design(text_of(case, count)), catalog)
        except DesignError as again:
            return f"FAULT: advised {count} nodes are refused too: {again.problems[0].what}"
    return "refused"


def inspect(topology: Topology, count: int, ratio: Fraction) -> Iterator[str]:
    """Faults of a built fabric, from its two tables alone."""
    links, devices = topology.links, topology.devices
    role = devices["role"].to_numpy()
    a, b, gbps = links["a_dev"].to_numpy(), links["b_dev"].to_numpy(), links["gbps"].to_numpy()
    ends = pl.concat(links.select(pl.col(f"{e}_dev").alias("dev"), pl.col(f"{e}_cage").alias("cage"), pl.col(f"{e}_child").alias("child")) for e in "ab")
    if ends.n_unique() != ends.height:
        yield "a port is used twice"
    if (role == "node").sum() != count:
        yield f"{(role == 'node').sum()} nodes"
    per_node = np.bincount(a[role[a] == "node"], minlength=len(role))[role == "node"]
    if len(set(per_node.tolist())) != 1:
        yield "nodes have different numbers of links"
    down = np.bincount(b, weights=gbps, minlength=len(role))
    up = np.bincount(a, weights=gbps, minlength=len(role))
    for leaf in np.flatnonzero(role == "leaf"):
        if up[leaf] and Fraction(int(down[leaf])) > ratio * Fraction(int(up[leaf])):
            yield f"{devices['device'][int(leaf)]} is oversubscribed beyond {ratio}"
            break
    for spine in np.flatnonzero(role == "spine"):
        if up[spine] and down[spine] > up[spine]:
            yield f"{devices['device'][int(spine)]} is oversubscribed towards the cores"
            break
    if ((down == 0) & np.isin(role, ["spine", "core"])).any():
        yield "a spine or core is dark"
    pairs = links.filter(pl.col("tier").is_in(["leaf-spine", "spine-core"])).group_by("tier", "a_dev", "b_dev").len().group_by("tier", "a_dev").agg(pl.col("len").n_unique())
    if (pairs["len"] > 1).any():
        yield "a switch spreads its uplinks unevenly"
    apart = topology.fabrics["compute"].style == "rail-only"
    for plane in np.unique(links["plane"].to_numpy()):
        mask = links["plane"].to_numpy() == plane
        sets = components(len(role), a[mask], b[mask], role if apart else None)
        if not apart and len({int(sets[n]) for n in np.flatnonzero(role == "node")}) != 1:
            yield f"plane {plane} falls apart"


def components(size: int, a: np.ndarray, b: np.ndarray, role: np.ndarray | None) -> np.ndarray:
    """Smallest device number reachable from each device, by spreading minima until nothing changes."""
    label = np.arange(size)
    while True:
        low = np.minimum(label[a], label[b])
        new = label.copy()
        np.minimum.at(new, a, low)
        np.minimum.at(new, b, low)
        new = new[new]
        if (new == label).all():
            return label
        label = new


def work(chunk: list[Case]) -> list[tuple[Case, str]]:
    """Examine a chunk in one process."""
    catalog = load_catalog()
    found = []
    for case in chunk:
        try:
            found.append((case, examine(case, catalog)))
        except Exception as error:  # a crash is a fault to be listed, not the end of the sweep
            found.append((case, f"FAULT: {type(error).__name__}: {error}"))
    return found


def main() -> None:
    """Run the sweep and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", default="1-4096")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    first, _, last = options.nodes.partition("-")
    every = list(cases(int(first), int(last or first), options.step))
    chunks = [every[i :: options.jobs * 8] for i in range(options.jobs * 8)]
    totals: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        for results in pool.map(work, chunks):
            for case, result in results:
                totals[result.split(":")[0]] += 1
                if result.startswith("FAULT"):
                    print(case, result, flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in totals.items()))
    sys.exit(bool(totals["FAULT"]))


if __name__ == "__main__":
    main()
