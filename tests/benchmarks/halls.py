"""The benchmark's halls and clusters, after the prototype's, and its illustrative prices."""

from __future__ import annotations

from pathlib import Path

from railplan import Catalog, Design, load_catalog, parse_design

PRICES = Path(__file__).parent / "illustrative"

CASES: dict[str, tuple[int, str, str, int, int]] = {
    "64": (64, "hgx-h100", "quantum-ndr", 2, 10),
    "128": (128, "hgx-h100", "quantum-ndr", 4, 10),
    "288": (288, "hgx-b300", "quantum-xdr", 4, 20),
    "512": (512, "hgx-h100", "spectrum-x", 8, 18),
}
"""Name -> nodes, node model, family, rows, positions of each row."""


def catalog() -> Catalog:
    """The shipped catalog with the illustrative prices."""
    return load_catalog((PRICES,))


def design(name: str) -> Design:
    """Design of one case: 48U racks, four nodes in a rack."""
    nodes, model, family, rows, racks = CASES[name]
    listed = "".join(f"    - {{name: {chr(ord('A') + i)}, racks: {racks}}}\n" for i in range(rows))
    return parse_design(
        f"name: bench-{name}\nnodes: {{model: {model}, count: {nodes}}}\nfabrics: {{compute: {{family: {family}}}}}\n"
        f"hall:\n  nodes_per_rack: 4\n  rack_power_kw: 80\n  rack_weight_kg: 2000\n  rows:\n{listed}cables: {{spares_percent: 0}}\n"
    )
