"""Seconds and peak memory of whole `railplan` processes, with their budgets, the ratio to bare imports, and time per link."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPEATS = 2
IMPORTS = "import polars, pydantic, yaml, numpy, scipy.sparse.csgraph, ortools.graph.python.max_flow"
B300 = ["--node", "hgx-b300", "--family", "spectrum-x", "--planes", "2"]
CSV = ["--only", "csv"]
CLUSTER = Path(__file__).parents[2] / "examples" / "cluster-288.yaml"
"""Servers, PDUs, north-south and out-of-band fabrics too, with every output."""
CASES: list[tuple[str, list[str], float, int]] = [
    ("--help", ["--help"], 0.3, 100),
    ("1,024 GPUs, every output", ["plan", "--nodes", "128", *B300, "-o", "{dir}"], 5.0, 400),
    ("1,024 GPUs, tables alone", ["plan", "--nodes", "128", *B300, *CSV, "-o", "{dir}"], 1.5, 400),
    ("2,304 GPUs, every output", ["plan", "--nodes", "288", *B300, "-o", "{dir}"], 8.0, 800),
    ("2,304 GPUs, whole cluster", ["plan", str(CLUSTER), "-o", "{dir}"], 15.0, 800),
    ("4,096 GPUs, tables alone", ["plan", "--nodes", "512", *B300, *CSV, "-o", "{dir}"], 3.0, 2000),
    ("16,384 GPUs, tables alone", ["plan", "--nodes", "2048", *B300, *CSV, "-o", "{dir}"], 3.0, 2000),
    ("32,768 GPUs, tables alone", ["plan", "--nodes", "4096", *B300, *CSV, "-o", "{dir}"], 8.0, 3000),
    ("100,000 GPUs, tables alone", ["plan", "--nodes", "12500", *B300, *CSV, "-o", "{dir}"], 15.0, 3000),
]
"""Name, arguments, budget in seconds, budget in MB (2 cores)."""


def measure(command: list[str]) -> tuple[float, float, int]:
    """(seconds, peak MB, links) of one process, the best of a few runs."""
    best, peak, links = float("inf"), 0.0, 0
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "plan"
            full = [part.replace("{dir}", str(target)) for part in command]
            begin = time.perf_counter()
            process = subprocess.Popen(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            if status:
                sys.exit(f"{' '.join(full)} failed")
            best, peak = min(best, seconds), max(peak, usage.ru_maxrss / 1024)
            if (target / "summary.json").exists():
                fabrics = json.loads((target / "summary.json").read_text())["fabrics"]
                links = sum(sum(fabric["links"].values()) for fabric in fabrics.values())
    return best, peak, links


def main() -> None:
    """Print the table; exit status 1 when a budget is missed."""
    base, _, _ = measure([sys.executable, "-c", IMPORTS])
    print(f"{'imports alone':<28}{base:8.2f} s")
    missed = False
    for name, arguments, seconds_budget, mb_budget in CASES:
        seconds, peak, links = measure([sys.executable, "-m", "railplan", *arguments])
        late = seconds > seconds_budget or peak > mb_budget
        missed |= late
        each = f"{links:>9,} links {1e6 * (seconds - base) / links:6.1f} us a link" if links else ""
        print(f"{name:<28}{seconds:8.2f} s of {seconds_budget:4.1f}{peak:8.0f} MB of {mb_budget:5d}{seconds / base:8.1f} x imports {each}{'   MISSED' if late else ''}", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
