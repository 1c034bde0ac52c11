"""Plans side by side: what varies, what it costs, and the published relation between four designs for 1,024 H100."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import railplan
from railplan.cli import main

FOUR = Path(railplan.__file__).parent / "examples" / "four-designs"
MANY = "nodes=" + ",".join(str(n) for n in range(1, 80))
DESIGN = "name: h100\nnodes: {model: hgx-h100, count: 32}\nfabrics: {compute: {family: quantum-ndr}}\n"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments])


@pytest.fixture
def design(tmp_path: Path) -> str:
    path = tmp_path / "d.yaml"
    path.write_text(DESIGN)
    return str(path)


@pytest.mark.parametrize("dac", [50, 200, 2000])
def test_the_fourth_saving_follows_from_the_others_at_any_price_of_a_dac(dac: int, tmp_path: Path) -> None:
    """SemiAnalysis, AI Neocloud Playbook: savings 34.8, 24.9 and 31.6 percent; s4 = s3 + (1 - s2 - s3) / 6 at one price for each DAC."""
    (tmp_path / "prices").mkdir()
    (tmp_path / "sources.yaml").write_text((FOUR / "catalog" / "sources.yaml").read_text())
    text = (FOUR / "catalog" / "prices" / "illustrative.yaml").read_text()
    (tmp_path / "prices" / "p.yaml").write_text(text.replace("value: 200,", f"value: {dac},").replace("value: 400,", f"value: {2 * dac},"))
    done = run(*[str(p) for p in sorted(FOUR.glob("*.yaml"))], "--catalog", str(tmp_path), "--json")
    reference, tor, modular, half = json.loads(done.stdout)["plans"]
    assert (reference["switches"], tor["switches"], modular["switches"], half["switches"]) == (48, 48, 48, 40)
    assert (modular["spines"], half["spines"]) == (16, 8)
    assert reference["cables_by_kind"] == {"mmf": 2048}
    assert tor["cables_by_kind"] == {"dac": 512, "mmf": 1024}
    assert modular["copper_links_percent"] == tor["copper_links_percent"] == 50
    assert [p["unpriced_rows"] for p in (reference, tor, modular, half)] == [0, 0, 0, 0]
    expected = modular["saving_percent"] + (100 - tor["saving_percent"] - modular["saving_percent"]) / 6
    assert half["saving_percent"] == pytest.approx(expected, abs=0.2)


def test_the_example_prices_give_about_the_published_savings() -> None:
    done = run(*[str(p) for p in sorted(FOUR.glob("*.yaml"))], "--catalog", str(FOUR / "catalog"), "--json")
    savings = [p["saving_percent"] for p in json.loads(done.stdout)["plans"]]
    assert savings == pytest.approx([0, 34.8, 24.9, 31.6], abs=3)


def test_every_combination_is_a_column(design: str) -> None:
    plans = json.loads(run(design, "--vary", "style=rail,tor", "--vary", "oversubscription=1,2:1", "--json").stdout)["plans"]
    assert [p["label"] for p in plans] == [f"style {s}, oversubscription {o}" for s in ("rail", "tor") for o in ("1", "2:1")]
    assert [p["worst_load"] for p in plans] == [1, 2, 1, 2]
    assert [p["bisection_percent"] for p in plans] == [100, 50, 100, 50]


def test_what_cannot_be_built_says_why_beside_the_others(design: str) -> None:
    done = run(design, "--vary", "family=quantum-ndr,quantum-xdr")
    assert done.exit_code == 1
    assert "nvidia-qm9700" in done.stdout
    assert "family quantum-xdr" in done.stdout
    assert "lanes" in done.stdout


def test_a_varied_family_drops_the_switch_of_another(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("nodes: {model: hgx-b300, count: 16}\nfabrics: {compute: {family: spectrum-x, switch: nvidia-sn5610}}\n")
    plans = json.loads(run(str(tmp_path / "d.yaml"), "--vary", "family=spectrum-x,tomahawk-5", "--json").stdout)["plans"]
    assert [p["switch"] for p in plans] == ["nvidia-sn5600", "arista-7060x6-64pe"]


@pytest.mark.parametrize(
    ("vary", "hint"),
    [
        ("stile=rail", "did you mean style"),
        ("style", "field=value"),
        ("style=", "empty one"),
        ("style=rail,rail", "twice"),
        ("style=rail,,tor", "empty one"),
        ("nodes=" + ",".join(map(str, range(1, 80))), "fewer"),
    ],
)
def test_a_wrong_axis_is_refused(vary: str, hint: str, design: str) -> None:
    done = run(design, "--vary", vary)
    assert done.exit_code == 1
    assert hint in done.stderr


def test_nothing_that_can_be_built_is_exit_status_1(design: str) -> None:
    assert run(design, "--vary", "family=quantum-xdr").exit_code == 1
