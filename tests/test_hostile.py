"""What a hostile or careless user can write, and growth that must not touch what is plugged."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from railplan import Catalog, DesignError, Plan, load_catalog, make_plan, parse_design
from railplan.cli import main

BASE = "nodes: {model: hgx-b300, count: 4}\nfabrics: {compute: {family: spectrum-x%s}}\n"


def read_and_plan(text: str, catalog: Catalog | None) -> None:
    design = parse_design(text)
    if catalog is not None:
        make_plan(design, catalog)


def first_error(text: str, catalog: Catalog | None = None) -> str:
    """The first error of a design that must be refused."""
    with pytest.raises(DesignError) as caught:
        read_and_plan(text, catalog)
    error = next(p for p in caught.value.problems if p.level == "error")
    assert error.fix
    return error.what


@pytest.mark.parametrize("ratio", ["'-2:-1'", "'3/2'", "'1e99999999'", "'1:1e-99999'", "true", "'1:0'", "'2:'", "''", "[2]", "0", ".inf"])
def test_what_is_no_ratio_is_refused_at_once(ratio: str) -> None:
    assert "oversubscription" in first_error(BASE % f", oversubscription: {ratio}") or "finite" in first_error(BASE % f", oversubscription: {ratio}")


@pytest.mark.parametrize("line", ["count: true", "count: .nan", "count: 0x10", "count: 1e3", "count: 4.5", "count: [4]", "count: null"])
def test_a_count_is_a_whole_number(line: str) -> None:
    what = first_error(f"nodes: {{model: hgx-b300, {line}}}\nfabrics: {{compute: {{family: spectrum-x}}}}\n")
    assert "nodes.count" in what or "finite" in what


@pytest.mark.parametrize("hall", ["cross_trays_x_m: ['nan']", "cross_trays_x_m: [1.0e+300]", "rack_power_kw: true", "assumed_switch_power_w: 'inf'", "routing: {slack_m: true}"])
def test_dimensions_are_finite_numbers(hall: str) -> None:
    what = first_error(BASE % "" + f"hall: {{{hall}}}\n")
    assert what.startswith("hall.") or "finite" in what


@pytest.mark.parametrize(
    "hall",
    [
        "rooms: [{name: a, width_m: .inf, depth_m: 1}]",
        "rooms: [{name: a, width_m: 0, depth_m: 1}]",
        "rooms: [{name: 'a b', width_m: 1, depth_m: 1}]",
        "trays: [{name: a, x_m: .nan, y_m: 0, to_x_m: 1}]",
        "trays: [{name: a, x_m: 0, y_m: 0, to_x_m: 1, fill_percent: 101}]",
        "trays: [{name: a, x_m: 0, y_m: 0, to_x_m: 1, width_mm: -1}]",
        "trays: [{name: a, x_m: 0, y_m: 0, to_x_m: 1, no_joint: ['</svg>']}]",
        "obstacles: [{name: '-a', x_m: 0, y_m: 0, width_m: 1, depth_m: 1}]",
        "obstacles: [{name: a, x_m: 1e+9, y_m: 0, width_m: 1, depth_m: 1}]",
        "obstacles: [{name: a, x_m: true, y_m: 0, width_m: 1, depth_m: 1}]",
    ],
)
def test_rooms_trays_and_obstacles_are_plain_words_and_finite_numbers(hall: str) -> None:
    what = first_error(BASE % "" + f"hall: {{rows: [{{name: A, racks: 9}}], {hall}}}\n")
    assert what.startswith("hall.") or "finite" in what


def test_aliases_that_multiply_are_refused_before_they_fill_the_memory() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]", *(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    assert "aliases" in first_error("\n".join(lines))


def test_row_names_keep_their_zeros(catalog: Catalog) -> None:
    plan = make_plan(parse_design(BASE % "" + "hall: {rows: [{name: 007, racks: 9}]}\n"), catalog)
    assert plan.placement.racks["rack"][0] == "00701"


@pytest.mark.parametrize(
    ("node", "fabric"),
    [
        ("ufm-server", "family: quantum-ndr"),
        ("dgx-b300", "family: quantum-xdr, switch: nvidia-q3450-ld, ufm_links: 4"),
        ("hgx-b300", "family: spectrum-x, planes: 4, oversubscription: 3.5"),
    ],
)
def test_what_no_server_or_fibre_serves_is_refused_with_its_own_reason(node: str, fabric: str, catalog: Catalog) -> None:
    what = first_error(f"nodes: {{model: {node}, count: 65}}\nfabrics: {{compute: {{{fabric}}}}}\n", catalog)
    assert "no GPU" in what or "ufm-server" in what or "connectors" in what


GROWING = [
    ("hgx-h100", "quantum-ndr", 13, 14, 24, "", "hall: {nodes_per_rack: 1}"),
    ("hgx-h100", "spectrum-x", 31, 32, 128, "", ""),
    ("hgx-b300", "spectrum-x", 31, 128, 128, ", planes: 4", ""),
    ("amd-mi300x-8", "tomahawk-5", 35, 36, 36, ", oversubscription: 2", "hall: {nodes_per_rack: 1}\ncables: {max_length_m: {mmf: 0}}"),
    ("dgx-h100", "quantum-ndr", 300, 512, 512, "", ""),
]


@pytest.mark.parametrize(("node", "family", "small", "large", "final", "fabric", "more"), GROWING)
def test_growth_moves_no_cable_module_or_rack(node: str, family: str, small: int, large: int, final: int, fabric: str, more: str, catalog: Catalog) -> None:
    def plan(count: int) -> Plan:
        return make_plan(parse_design(f"nodes: {{model: {node}, count: {count}, grow_to: {final}}}\nfabrics: {{compute: {{family: {family}{fabric}}}}}\n{more}\n"), catalog)

    before, after = plan(small), plan(large)
    fixed = ["cable", "part", "length_m", "a_module", "b_module", "gbps", "tier"]
    both = before.cabling.cables.select(fixed).join(after.cabling.cables.select(fixed), on="cable", how="left", suffix="_after")
    assert set(before.cabling.cables["cable"]) <= set(after.cabling.cables["cable"])
    for column in fixed[1:]:
        assert (both[column] == both[f"{column}_after"]).all(), column
    joined = before.cabling.cables.join(after.cabling.cables, on="cable", suffix="_after")
    same = joined.filter(pl.col("links") == pl.col("links_after"))
    for column in ("a_port", "b_port", "a_device", "b_device", "a_rack", "b_rack", "a_ru", "b_ru", "a_label", "b_label"):
        assert (same[column] == same[f"{column}_after"]).all(), column
    tails = joined.filter(pl.col("links") != pl.col("links_after"))
    assert all(later.startswith(first) for first, later in tails.select("b_port", "b_port_after").iter_rows())


def test_a_free_tail_is_said(catalog: Catalog) -> None:
    plan = make_plan(parse_design("nodes: {model: hgx-h100, count: 31, grow_to: 128}\nfabrics: {compute: {family: spectrum-x}}\n"), catalog)
    assert [p for p in plan.findings if p.rule == "free-tail"]


def test_catalog_folders_say_what_they_would_leave_unread(tmp_path: Path) -> None:
    (tmp_path / "switches").mkdir()
    (tmp_path / "switches" / "mine.yml").write_text("model: mine\n")
    (tmp_path / "stray.yaml").write_text("model: stray\n")
    with pytest.raises(DesignError) as caught:
        load_catalog(tmp_path)
    assert len([p for p in caught.value.problems if "is not read" in p.what]) == 2


@pytest.mark.parametrize(
    ("price", "fault"), [("part: mma4z00-nss", "does not have"), ("part: mma4z00-ns, length_m: 3", "not sold in"), ("part: mma4z00-ns, value: .inf", "finite")]
)
def test_prices_that_would_price_nothing_are_refused(price: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    fields = {"value": "1", "currency": "USD", "basis": "b", "source": "sonic", "date": "2026-01-01", "confidence": "vendor"}
    given = {part.split(":")[0].strip() for part in price.split(",")}
    rest = ", ".join(f"{k}: {v}" for k, v in fields.items() if k not in given)
    (tmp_path / "prices" / "p.yaml").write_text(f"name: p\nprices:\n  - {{{price}, {rest}}}\n")
    with pytest.raises(DesignError, match=fault):
        load_catalog(tmp_path)


def test_a_full_standard_output_is_no_traceback(tmp_path: Path) -> None:
    import subprocess
    import sys

    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "railplan", "catalog", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("word", ["on", "no", "null"])
def test_a_flag_takes_words_that_yaml_would_read_otherwise(word: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["new", "--name", word, "--nodes", "4", "--node", "hgx-h100", "--family", "quantum-ndr"])
    assert done.exit_code == 0, done.stderr
    assert parse_design(done.stdout).name == word
