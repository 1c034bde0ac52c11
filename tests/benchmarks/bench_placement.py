"""Placement against the fixed arrangements and a plain annealing, on halls like the prototype's, with illustrative prices.

python tests/benchmarks/bench_placement.py [--effort quick|normal|thorough] [--annealing SECONDS] [64 128 288 512]
"""

from __future__ import annotations

import argparse
import time

from halls import CASES, catalog, design

from railplan.fabric.build import build_topology
from railplan.layouts.optimise import place_best
from railplan.layouts.pins import wishes
from railplan.layouts.placement import survey
from railplan.layouts.pricing import make_tariff
from railplan.layouts.rules import check_placement
from railplan.layouts.sites import make_sites
from railplan.layouts.solver_search import scratch
from railplan.layouts.solver_walk import make_board

from annealing import anneal  # isort: skip

TARGETS = {"64": -13.0, "128": -24.0, "288": -21.0, "512": -20.0}
"""The prototype's best column against its best fixed arrangement, in percent; its prices and reaches were others."""


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", default="normal", choices=("quick", "normal", "thorough"))
    parser.add_argument("--annealing", type=float, default=30.0, help="seconds of the plain annealing; 0: none")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    asked = parser.parse_args()
    parts = catalog()
    for name in asked.cases:
        topology = build_topology(design(name), parts)
        begin = time.perf_counter()
        placement = place_best(topology, parts, asked.effort)
        seconds = time.perf_counter() - begin
        found = placement.solution
        assert found is not None
        assert found.baseline is not None
        assert check_placement(topology, placement) == []
        plain = ""
        if asked.annealing:
            ground = survey(topology, parts)
            board = make_board(make_sites(topology, ground.hall, make_tariff(topology, parts, 60.0), ground.racks, ground.cap, wishes(topology, ground.hall, ground.racks)))
            start = scratch(board)
            assert start is not None
            plain = f", plain annealing {anneal(board, start, asked.annealing)[1]:,.0f}"
        fixed = ", ".join(f"{k} {v:,.0f}" if v is not None else f"{k} -" for k, v in found.baselines.items())
        saved = 100 * (found.objective / found.baseline - 1)
        within = f" ({100 * (found.objective - found.bound_within) / found.objective:.2f} % with the spines where they are)" if found.bound_within else ""
        print(
            f"{name:>4}: {found.objective:,.0f} {found.unit} ({saved:+.1f} %, target {TARGETS[name]:+.0f} %), gap {found.gap_percent:.2f} %{within}, "
            f"{found.status}, SUs together {found.together or 0:,.0f}, anywhere {found.scattered or 0:,.0f}, {seconds:.1f} s{plain}\n      {fixed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
