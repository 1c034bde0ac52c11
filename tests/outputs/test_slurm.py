"""Slurm's files, parsed back as their reader reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import yaml
from click.testing import CliRunner

from railplan import Catalog, DesignError, Plan, make_plan, parse_design
from railplan.cli import main
from railplan.outputs import DEFAULTS, Options
from railplan.outputs.hostlist import NODES_MAX, expand
from railplan.outputs.slurm import files, topology_conf
from railplan.outputs.slurm_rules import RELEASES, release
from railplan.outputs.topology_lint import lint

PLANS = [
    ("hgx-b300", 4, {}, "spectrum-x"),
    ("hgx-h100", 40, {}, "quantum-ndr"),
    ("dgx-h100", 63, {"ufm_links": 4}, "quantum-ndr"),
    ("hgx-h100", 12, {"style": "pair"}, "spectrum-x"),
    ("hgx-h100", 256, {"tiers": 3}, "quantum-ndr"),
    ("hgx-h100", 40, {"style": "tor"}, "spectrum-x"),
    ("hgx-h100", 40, {"style": "rail-only"}, "quantum-ndr"),
]
TRAYS = "{model: gb300-nvl72-tray, count: %d}\nfabrics: {compute: {family: quantum-xdr}}\nhall: {rack: rack-52u, rack_power_kw: %d}\n"


@pytest.fixture(scope="module")
def trays(catalog: Catalog) -> Callable[[int, int], Plan]:
    """NVL72 trays in racks of so many kW."""
    made: dict[tuple[int, int], Plan] = {}

    def plan(count: int, rack_kw: int) -> Plan:
        if (count, rack_kw) not in made:
            made[count, rack_kw] = make_plan(parse_design("nodes: " + TRAYS % (count, rack_kw)), catalog)
        return made[count, rack_kw]

    return plan


def parsed(text: str) -> dict[str, tuple[str, list[str]]]:
    """SwitchName -> (Nodes or Switches, the names), in file order; strict about what stops Slurm."""
    switches: dict[str, tuple[str, list[str]]] = {}
    for line in text.splitlines():
        assert "\t" not in line
        content = line.partition("#")[0].strip()
        if not content:
            continue
        words = [word.partition("=") for word in content.split(" ")]
        assert [key for key, _, _ in words] in (["SwitchName", "Nodes"], ["SwitchName", "Switches"])
        name, (key, _, value) = words[0][2], words[1]
        assert name not in switches
        assert len(name) <= 64
        assert "[" not in name
        switches[name] = (key, expand(value))
    return switches


@pytest.fixture(scope="module", params=PLANS, ids=lambda p: f"{p[0]}-{p[1]}-{p[2].get('style', p[2].get('tiers', ''))}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan]) -> Plan:
    node, count, more, family = request.param
    return plan_of(node, count, family, **more)


def test_every_compute_node_is_on_exactly_one_switch_and_nothing_else_is(plan: Plan) -> None:
    listed = [name for key, names in parsed(topology_conf(plan)).values() if key == "Nodes" for name in names]
    nodes = plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "node"))
    assert sorted(listed) == sorted(nodes["device"])


def test_nodes_of_one_switch_share_their_leaves_and_no_others_do(plan: Plan) -> None:
    pod = dict(plan.topology.devices.select("device", "pod").iter_rows())
    leaves = plan.graph("compute")
    for key, names in parsed(topology_conf(plan)).values():
        if key == "Nodes":
            assert len({pod[name] for name in names}) == 1
            reached = {frozenset(leaves.neighbors(name)) for name in names}
            assert len(reached) == 1


def test_children_stand_before_their_parent_and_there_is_one_root(plan: Plan) -> None:
    switches = parsed(topology_conf(plan))
    seen: set[str] = set()
    children: list[str] = []
    for name, (key, names) in switches.items():
        if key == "Switches":
            assert set(names) <= seen
            children += names
        seen.add(name)
    assert len(children) == len(set(children))
    assert len(set(switches) - set(children)) == 1


def test_comments_name_every_physical_leaf(plan: Plan) -> None:
    text = topology_conf(plan)
    assert all(len(line) <= 1000 for line in text.splitlines())
    words = {word.strip(",") for line in text.splitlines() if line.startswith("#") for word in line.split()}
    assert set(plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "leaf"))["device"]) <= words


def test_a_cluster_of_one_su_is_one_switch(plan_of: Callable[..., Plan]) -> None:
    assert list(parsed(topology_conf(plan_of("hgx-b300", 4, "spectrum-x")))) == ["compute"]


def test_two_sus_hang_below_the_fabric(plan_of: Callable[..., Plan]) -> None:
    text = topology_conf(plan_of("hgx-h100", 40, "quantum-ndr"))
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        "SwitchName=su0 Nodes=gpu-[001-032]",
        "SwitchName=su1 Nodes=gpu-[033-040]",
        "SwitchName=compute Switches=su[0-1]",
    ]


def test_three_tiers_are_sus_below_groups_below_one_root(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-h100", 256, "quantum-ndr", tiers=3)
    switches = parsed(topology_conf(plan))
    group = dict(plan.topology.devices.filter(pl.col("role") == "leaf").select("pod", "group").iter_rows())
    assert len(set(group.values())) > 1
    for name, (key, children) in switches.items():
        if name.startswith("group"):
            assert key == "Switches"
            assert {int(child.removeprefix("su")) for child in children} == {pod for pod, g in group.items() if g == int(name.removeprefix("group"))}
    assert switches["compute"] == ("Switches", sorted(name for name in switches if name.startswith("group")))


def test_fabrics_that_are_apart_have_a_root_each(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-h100", 40, "quantum-ndr")
    apart = replace(plan.topology, links=plan.topology.links.filter(pl.col("tier") == "node-leaf"))
    switches = parsed(topology_conf(replace(plan, topology=apart)))
    assert {name: key for name, (key, _) in switches.items()} == {"compute0": "Nodes", "compute1": "Nodes"}


def test_nodes_that_are_not_built_yet_and_those_without_gpus_are_not_listed(catalog: Catalog) -> None:
    grown = make_plan(parse_design("nodes: {model: hgx-h100, count: 40, grow_to: 96}\nfabrics: {compute: {family: quantum-ndr}}\n"), catalog)
    assert [name for key, names in parsed(topology_conf(grown)).values() if key == "Nodes" for name in names] == expand("gpu-[001-040]")
    profiles = {name: replace(p, part=p.part.model_copy(update={"gpus": 0})) if name == "node" else p for name, p in grown.topology.profiles.items()}
    with pytest.raises(DesignError, match="no node with GPUs"):
        files(replace(grown, topology=replace(grown.topology, profiles=profiles)))


@pytest.mark.parametrize("version", RELEASES)
def test_a_release_gets_the_files_it_reads(version: str, plan_of: Callable[..., Plan]) -> None:
    made = files(plan_of("hgx-h100", 40, "quantum-ndr"), Options(version))
    later = {"topology.yaml"} if version >= "25.05" else set()
    assert set(made) == {"topology.conf", "nodes.conf", "gres.conf"} | later
    assert made["topology.conf"] == files(plan_of("hgx-h100", 40, "quantum-ndr"), DEFAULTS)["topology.conf"]


@pytest.mark.parametrize("version", ["", "23", "slurm", "23.1", "22.05-4", "21.08", "latest"])
def test_what_is_no_release_is_refused_with_one(version: str) -> None:
    with pytest.raises(DesignError) as caught:
        release(version)
    assert caught.value.problems[0].where == "--slurm-version"
    assert re.search(r"2\d\.\d\d", caught.value.problems[0].fix)


def test_patch_releases_count_as_their_release() -> None:
    assert release("23.11.4") == (23, 11)
    assert release("26.05") == (26, 5)


def test_every_file_names_its_plan_in_a_comment(trays: Callable[[int, int], Plan]) -> None:
    made = files(trays(36, 145), Options("25.05"))
    assert set(made) == {"topology.conf", "topology.yaml", "topology_block.conf", "nodes.conf", "gres.conf"}
    for data in made.values():
        assert re.match(rb"# Slurm [^\n]* of cluster[,:][^\n]*\n", data)
        assert b"railplan" in data


def test_node_lines_give_every_node_its_gpus_and_nothing_invented(plan: Plan) -> None:
    nodes: dict[str, int] = {}
    for line in content(files(plan)["nodes.conf"]):
        found = re.fullmatch(r"NodeName=(\S+) Gres=gpu:(\d+) State=UNKNOWN", line)
        assert found
        nodes |= dict.fromkeys(expand(found[1]), int(found[2]))
    expected = plan.topology.devices.filter(pl.col("present") & (pl.col("role") == "node"))
    assert nodes == {name: plan.topology.profiles[profile].part.gpus for name, profile in expected.select("device", "profile").iter_rows()}


def test_gpu_lines_name_files_for_nvidia_and_ask_for_detection_of_amd(plan_of: Callable[..., Plan], trays: Callable[[int, int], Plan]) -> None:
    assert content(files(plan_of("hgx-h100", 40, "quantum-ndr"))["gres.conf"]) == ["NodeName=gpu-[001-040] Name=gpu File=/dev/nvidia[0-7]"]
    assert content(files(trays(36, 145))["gres.conf"]) == ["NodeName=gpu-[001-036] Name=gpu File=/dev/nvidia[0-3]"]
    assert content(files(plan_of("amd-mi300x-8", 8, "tomahawk-5"))["gres.conf"]) == ["NodeName=gpu-[001-008] AutoDetect=rsmi"]


def test_gpus_of_an_unknown_maker_are_a_comment_to_fill_in(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    part = plan.topology.profiles["node"].part.model_copy(update={"vendor": "Acme", "model": "box-8", "description": "8 chips"})
    profiles = {**plan.topology.profiles, "node": replace(plan.topology.profiles["node"], part=part)}
    text = files(replace(plan, topology=replace(plan.topology, profiles=profiles)))["gres.conf"]
    assert content(text) == []
    assert b"NodeName=gpu-[001-004] Name=gpu File=\n" in text


def content(data: bytes) -> list[str]:
    """Lines that are no comments."""
    return [line for line in data.decode().splitlines() if line and not line.startswith("#")]


def test_an_nvl72_rack_is_a_block(trays: Callable[[int, int], Plan]) -> None:
    plan = trays(144, 145)
    *blocks, sizes = content(files(plan)["topology_block.conf"])
    racks: dict[str, list[str]] = {}
    nodes = plan.topology.devices.with_columns(plan.placement.places["rack"]).filter(pl.col("role") == "node")
    for rack, name in nodes.sort("index").select("rack", "device").iter_rows():
        racks.setdefault(rack, []).append(name)
    found = dict(re.fullmatch(r"BlockName=(\S+) Nodes=(\S+)", line).groups() for line in blocks)  # type: ignore[union-attr]
    assert {rack: expand(names) for rack, names in found.items()} == racks
    assert all(len(names) == 18 for names in racks.values())
    assert sizes == "BlockSizes=18,72"
    assert lint(files(plan)["topology_block.conf"], "b", dict.fromkeys(nodes["device"], ""), (24, 5)) == []


def test_a_rack_that_is_not_full_is_left_out_of_the_blocks_with_a_word(trays: Callable[[int, int], Plan]) -> None:
    text = files(trays(40, 145))["topology_block.conf"].decode()
    kept = [re.sub(r"^BlockName=\S+", "", line) for line in text.splitlines() if line.startswith("Block")]
    assert kept == [" Nodes=gpu-[001-018]", " Nodes=gpu-[019-036]", "BlockSizes=18"]
    assert "has 4 of 18 trays" in text
    assert "gpu-[037-040]" in text


def test_racks_that_cannot_be_nvl72_racks_give_no_blocks_and_the_tree_says_why(trays: Callable[[int, int], Plan]) -> None:
    made = files(trays(36, 60))
    assert "topology_block.conf" not in made
    assert b"# No topology_block.conf: an NVLink domain is 18 trays in one rack" in made["topology.conf"]


def test_other_nodes_have_no_blocks(plan: Plan) -> None:
    made = files(plan, Options("25.05"))
    assert "topology_block.conf" not in made
    assert b"block" not in made["topology.yaml"]


def test_the_yaml_holds_the_same_tree(plan: Plan) -> None:
    made = files(plan, Options("25.05"))
    (topology,) = yaml.safe_load(made["topology.yaml"])
    assert b"\t" not in made["topology.yaml"]
    assert (topology["topology"], topology["cluster_default"], set(topology)) == ("compute", True, {"topology", "cluster_default", "tree"})
    found = {}
    for switch in topology["tree"]["switches"]:
        assert set(switch) in ({"switch", "nodes"}, {"switch", "children"})
        found[switch["switch"]] = ("Nodes", expand(switch["nodes"])) if "nodes" in switch else ("Switches", expand(switch["children"]))
    assert found == parsed(made["topology.conf"].decode())


def test_the_yaml_of_nvl72_holds_the_same_blocks(trays: Callable[[int, int], Plan]) -> None:
    made = files(trays(144, 145), Options("25.11"))
    tree, blocks = yaml.safe_load(made["topology.yaml"])
    assert (tree["cluster_default"], blocks["cluster_default"]) == (True, False)
    assert blocks["block"]["block_sizes"] == [18, 72]
    lines = [f"BlockName={b['block']} Nodes={b['nodes']}" for b in blocks["block"]["blocks"]]
    assert lines == content(made["topology_block.conf"])[:-1]


def test_what_slurm_cannot_carry_is_refused_with_reason_and_remedy(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    devices = plan.topology.devices
    first = devices.filter(pl.col("role") == "node").head(1)
    many = pl.concat([first.with_columns(pl.lit(f"gpu-{i}").alias("device")) for i in range(3)])
    changes = {
        "no node with GPUs": devices.filter(pl.col("role") != "node"),
        "cannot stand in a host list": devices.with_columns(pl.col("device").str.replace("gpu-", "gpu ")),
        f"Slurm manages {NODES_MAX:,}": pl.concat([devices, *[many] * (NODES_MAX // 3 + 1)]),
    }
    for what, changed in changes.items():
        with pytest.raises(DesignError) as caught:
            files(replace(plan, topology=replace(plan.topology, devices=changed)))
        (problem,) = caught.value.problems
        assert what in problem.what
        assert problem.where == "topology.conf"
        assert problem.why
        assert problem.fix


SMALL = ("plan", "--nodes", "4", "--node", "hgx-h100", "--family", "quantum-ndr", "-o")


def test_a_plan_that_slurm_cannot_carry_is_written_without_its_files_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("railplan.outputs.slurm.NODES_MAX", 3)
    done = CliRunner().invoke(main, [*SMALL, str(tmp_path / "p")])
    assert done.exit_code == 0
    assert "warning  topology.conf  left out: 4 nodes, Slurm manages 3" in done.stderr
    written = {path.name for path in (tmp_path / "p").iterdir()}
    assert "cables.csv" in written
    assert not written & {"topology.conf", "nodes.conf", "gres.conf"}
    done = CliRunner().invoke(main, [*SMALL, str(tmp_path / "q"), "--only", "csv,slurm"])
    assert done.exit_code == 1
    assert "error  topology.conf  4 nodes, Slurm manages 3" in done.stderr
    assert not (tmp_path / "q").exists()


def test_the_command_line_takes_the_release(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, [*SMALL, str(tmp_path / "p"), "--only", "slurm", "--slurm-version", "25.05"]).exit_code == 0
    assert (tmp_path / "p" / "topology.yaml").exists()
    done = CliRunner().invoke(main, [*SMALL, str(tmp_path / "q"), "--slurm-version", "new"])
    assert (done.exit_code, "--slurm-version" in done.stderr) == (1, True)
    assert not (tmp_path / "q").exists()
