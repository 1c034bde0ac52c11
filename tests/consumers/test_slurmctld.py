"""The real slurmctld reads our files: its tree, its log and where it places jobs are compared with the plan.

The daemon runs on the loopback with nodes of state CLOUD, which it allocates without any slurmd.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from railplan import Plan
from railplan.outputs.hostlist import expand, fold
from railplan.outputs.slurm import files
from railplan.outputs.slurm_tree import gpu_nodes, tree
from railplan.outputs.topology_lint import lint

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
MISSING = [name for name in ("slurmctld", "slurmd", "scontrol", "sbatch", "squeue") if not shutil.which(name, path=PATH)]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed: apt-get install --no-install-recommends slurm-wlm")

SECONDS = 20
COMPLAINTS = re.compile(r"warning|lookup failure|lack access|invalid|fatal|pars(e|ing)", re.IGNORECASE)
UNRELATED = re.compile(r"MailProg|pmix|MPI|state file|MCSParameters")
PLANS = [
    ("hgx-b300", 4, {}, "spectrum-x"),
    ("hgx-h100", 40, {}, "quantum-ndr"),
    ("hgx-h100", 256, {"tiers": 3}, "quantum-ndr"),
    ("hgx-h100", 12, {"style": "pair"}, "spectrum-x"),
    ("amd-mi300x-8", 72, {"oversubscription": 2}, "tomahawk-5"),
]
SCHEDULED = PLANS[1:3]
"""Two and three tiers of them take jobs, which the scheduler looks at once a second."""

GOOD = "SwitchName=su0 Nodes=gpu-[001-002]\nSwitchName=su1 Nodes=gpu-[003-004]\nSwitchName=top Switches=su[0-1]\n"
NODES = "NodeName=gpu-[001-004] Gres=gpu:8 State=CLOUD\n"
KNOWN = dict.fromkeys(expand("gpu-[001-004]"), "")


@dataclass(frozen=True)
class Slurm:
    """A running slurmctld, or one that stopped while it started."""

    folder: Path
    up: bool

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)

    def log(self) -> list[str]:
        return (self.folder / "log").read_text(errors="replace").splitlines()

    def complaints(self) -> list[str]:
        return [line for line in self.log() if COMPLAINTS.search(line) and not UNRELATED.search(line)]

    def jobs(self, count: int) -> dict[str, list[str]]:
        """Job -> its nodes, as soon as `count` jobs have some."""
        until = time.monotonic() + SECONDS
        while True:
            rows = [line.split() for line in self.run("squeue", "--noheader", "-o", "%i %N").stdout.splitlines()]
            placed = {row[0]: expand(row[1]) for row in rows if len(row) == 2}
            if len(placed) >= count or time.monotonic() > until:
                return placed
            time.sleep(0.05)

    def submit(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run("sbatch", "--output=/dev/null", *options, "--wrap=true")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def write_config(folder: Path, topology: bytes, nodes: str, gres: str = "") -> None:
    """Write everything that slurmctld and slurmd read."""
    (folder / "state").mkdir(parents=True)
    (folder / "topology.conf").write_bytes(topology)
    (folder / "nodes.conf").write_text(nodes)
    if gres:
        (folder / "gres.conf").write_text(gres)
    options = {
        "ClusterName": "test",
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmctldPort": free_port(),
        "SlurmdPort": free_port(),
        "CommunicationParameters": "NoCtldInAddrAny",
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "SlurmUser": pwd.getpwuid(os.geteuid()).pw_name,
        "StateSaveLocation": folder / "state",
        "SlurmctldPidFile": folder / "pid",
        "SlurmctldLogFile": folder / "log",
        "SlurmctldDebug": "debug",
        "MpiDefault": "none",
        "ProctrackType": "proctrack/pgid",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SchedulerParameters": "bf_interval=1",
        "TopologyPlugin": "topology/tree",
        "SuspendProgram": "/bin/true",
        "ResumeProgram": "/bin/true",
        "SuspendTime": 600,
        "ResumeTimeout": 600,
        "GresTypes": "gpu",
        "PrivateData": "cloud",
    }
    lines = [*(f"{key}={value}" for key, value in options.items()), "include nodes.conf", "PartitionName=all Nodes=ALL Default=YES"]
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")


@contextmanager
def slurm(folder: Path, topology: bytes, nodes: str, gres: str = "") -> Iterator[Slurm]:
    """Run slurmctld on a topology.conf and NodeName lines; killed with all its children on the way out."""
    write_config(folder, topology, nodes, gres)
    program = shutil.which("slurmctld", path=PATH) or "slurmctld"
    with (folder / "printed").open("wb") as printed:
        daemon = subprocess.Popen([program, "-D", "-f", folder / "slurm.conf"], stdout=printed, stderr=printed, start_new_session=True)
    try:
        started = Slurm(folder, False)
        until = time.monotonic() + SECONDS
        while daemon.poll() is None and not started.up and time.monotonic() < until:
            started = Slurm(folder, "UP" in started.run("scontrol", "ping").stdout)
        yield started
    finally:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()


@pytest.fixture(params=PLANS, ids=lambda p: f"{p[0]}-{p[1]}")
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan]) -> Plan:
    node, count, more, family = request.param
    return plan_of(node, count, family, **more)


@pytest.fixture
def running(plan: Plan, tmp_path: Path) -> Iterator[Slurm]:
    """slurmctld on the plan's own files; only the state of the nodes is changed, and detection goes, which CLOUD nodes cannot have."""
    made = {name: data.decode() for name, data in files(plan).items()}
    gres = "" if "AutoDetect=rsmi\n" in made["gres.conf"] else made["gres.conf"]
    with slurm(tmp_path / "slurm", made["topology.conf"].encode(), made["nodes.conf"].replace("State=UNKNOWN", "State=CLOUD"), gres) as started:
        assert started.up, "\n".join(started.log()[-10:])
        yield started


def test_slurm_shows_the_tree_of_the_plan_and_has_no_complaint(running: Slurm, plan: Plan) -> None:
    shown = {}
    for line in running.run("scontrol", "show", "topology").stdout.splitlines():
        fields = dict(word.split("=", 1) for word in line.split())
        if fields:
            shown[fields["SwitchName"]] = (expand(fields["Nodes"]), expand(fields.get("Switches", "")))
    expected = {}
    for entry in tree(plan):
        below = [name for child in entry.children for name in expected[child][0]]
        expected[entry.name] = ([*entry.nodes, *below], list(entry.children))
    assert {name: (sorted(nodes), children) for name, (nodes, children) in shown.items()} == {name: (sorted(nodes), children) for name, (nodes, children) in expected.items()}
    assert sorted(next(reversed(expected.values()))[0]) == sorted(gpu_nodes(plan)["device"])
    assert running.complaints() == []


def test_slurm_has_the_nodes_of_the_plan_with_their_gpus(running: Slurm, plan: Plan) -> None:
    shown = running.run("scontrol", "--oneliner", "show", "node").stdout.splitlines()
    gpus = {}
    for line in shown:
        name, gres = re.search(r"NodeName=(\S+)", line), re.search(r"Gres=gpu:(\d+)", line)
        if name and gres:
            gpus[name[1]] = int(gres[1])
    assert gpus == dict(gpu_nodes(plan).select("device", "gpus").iter_rows())
    if (running.folder / "gres.conf").exists():
        assert any("Gres Name=gpu" in line and "Count=8" in line for line in running.log())


@pytest.mark.parametrize("plan", SCHEDULED, indirect=True, ids=str)
def test_jobs_of_one_switch_land_inside_one_su(running: Slurm, plan: Plan) -> None:
    sus = {name: i for i, entry in enumerate(tree(plan)) for name in entry.nodes}
    size = min(8, *(list(sus.values()).count(i) for i in set(sus.values())))
    count = len(sus) // size // 2 or 1
    for _ in range(count):
        assert running.submit(f"-N{size}", "--switches=1", "--exclusive").returncode == 0
    placed = running.jobs(count)
    assert len(placed) == count
    for nodes in placed.values():
        assert len(nodes) == size
        assert len({sus[name] for name in nodes}) == 1


@pytest.mark.parametrize("plan", SCHEDULED, indirect=True, ids=str)
def test_a_job_over_all_nodes_runs_and_one_switch_never_holds_more_than_an_su(running: Slurm, plan: Plan) -> None:
    nodes = gpu_nodes(plan)["device"].to_list()
    largest = max(len(entry.nodes) for entry in tree(plan))
    assert running.run("sbatch", "--test-only", f"-N{largest}", "--switches=1", "--wrap=true").returncode == 0
    if largest < len(nodes):
        assert running.run("sbatch", "--test-only", f"-N{largest + 1}", "--switches=1", "--wrap=true").returncode != 0
    assert running.submit(f"-N{len(nodes)}", "--exclusive").returncode == 0
    placed = running.jobs(1)
    assert [sorted(names) for names in placed.values()] == [sorted(nodes)]


LOADED = {
    "two-leaves": GOOD.replace("[003-004]", "[002-004]"),
    "unknown-node": GOOD.replace("004", "005"),
    "no-leaf": GOOD.replace("[003-004]", "003"),
    "lost-prefix": GOOD.replace("[001-002]", "001,002"),
    "hostlist": GOOD.replace("[001-002]", "[001-002"),
    "two-parents": GOOD + "SwitchName=more Switches=su[0-1]\n",
    "no-root": "".join(GOOD.splitlines(keepends=True)[:2]),
    "key-twice": GOOD.replace("gpu-[001-002]", "gpu-001 Nodes=gpu-002"),
    "comment": GOOD.replace("gpu-[003-004]", "gpu-003,gpu-#004"),
    "encoding": GOOD.replace("SwitchName=top", "\0SwitchName=top"),
}
"""Rule of ours -> a file that slurmctld loads all the same."""

REFUSED = {
    "byte-order-mark": "\ufeff" + GOOD,
    "blank-in-list": GOOD.replace("gpu-[001-002]", "gpu-001, gpu-002"),
    "unknown-key": GOOD.replace("Switches", "Switchs"),
    "syntax": GOOD + "hello\n",
    "both": GOOD.replace("Switches=su[0-1]", "Switches=su[0-1] Nodes=gpu-001"),
    "neither": GOOD + "SwitchName=more\n",
    "duplicate": GOOD + "SwitchName=su0 Nodes=gpu-003\n",
    "unknown-child": GOOD.replace("su[0-1]", "su[0-2]"),
    "name-list": "SwitchName=su[0-1] Nodes=gpu-[001-004]\nSwitchName=top Switches=su[0-1]\n",
    "cycle": GOOD + "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
    "link-speed": GOOD.replace("su[0-1]", "su[0-1] LinkSpeed=400G"),
    "hostlist": GOOD.replace("[001-002]", "[001-002]x"),
    "order": "".join(f"SwitchName=s{i} Switches=s{i + 1}\n" for i in range(24)) + "SwitchName=s24 Nodes=gpu-[001-004]\n",
    "two-forms": GOOD + "BlockName=b Nodes=gpu-001\n",
}
"""Rule of ours -> a file at which slurmctld stops."""


@pytest.mark.parametrize("rule", LOADED)
def test_the_linter_finds_what_slurm_loads_in_silence(rule: str, tmp_path: Path) -> None:
    data = LOADED[rule].encode()
    with slurm(tmp_path / "slurm", data, NODES) as started:
        assert started.up
    found = lint(data, "topology.conf", KNOWN, (22, 5))
    assert [p.rule for p in found if p.level == "error"][:1] == [rule]


@pytest.mark.parametrize("rule", REFUSED)
def test_the_linter_finds_what_stops_slurm(rule: str, tmp_path: Path) -> None:
    data = REFUSED[rule].encode()
    with slurm(tmp_path / "slurm", data, NODES) as started:
        assert not started.up
        assert any("fatal" in line for line in started.log())
    assert rule in {p.rule for p in lint(data, "topology.conf", KNOWN, (22, 5)) if p.level == "error"}


def test_a_file_of_the_physical_leaves_loads_and_the_linter_says_what_to_write(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of("hgx-h100", 40, "quantum-ndr")
    graph = plan.graph("compute")
    leaves = [name for name, role in graph.nodes(data="role") if role == "leaf"]
    lists = {leaf: sorted(name for name in graph.neighbors(leaf) if graph.nodes[name]["role"] == "node") for leaf in leaves}
    text = "".join(f"SwitchName={leaf} Nodes={fold(names)}\n" for leaf, names in lists.items()) + f"SwitchName=top Switches={fold(leaves)}\n"
    with slurm(tmp_path / "slurm", text.encode(), "NodeName=gpu-[001-040] State=CLOUD\n") as started:
        assert started.up
    found = lint(text.encode(), "topology.conf", dict.fromkeys(gpu_nodes(plan)["device"], ""))
    assert {p.rule for p in found} == {"two-leaves"}
    assert all("one SwitchName for each SU" in p.fix for p in found)


@pytest.mark.parametrize(
    "text", [GOOD, GOOD.replace("\n", "\r\n"), GOOD.replace("=", " = "), GOOD.replace(" ", " \\\n"), "# é\n" + GOOD.lower().replace("switchname", "SWITCHNAME")]
)
def test_unusual_spellings_that_slurm_takes_are_clean(text: str, tmp_path: Path) -> None:
    with slurm(tmp_path / "slurm", text.encode(), NODES) as started:
        assert started.up
        assert started.complaints() == []
    assert lint(text.encode(), "topology.conf", KNOWN, (22, 5)) == []


names = st.builds(lambda word, number, width: f"{word}{number:0{width}d}", st.sampled_from(["gpu-", "a1b", "x"]), st.integers(0, 10**11), st.integers(1, 12))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(names, min_size=1, max_size=40))
def test_slurm_expands_what_we_fold_to_the_same_names(tmp_path: Path, listed: list[str]) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=t\nSlurmctldHost=localhost\n")
    assert Slurm(tmp_path, False).run("scontrol", "show", "hostnames", fold(listed)).stdout.split() == listed


def test_slurmd_finds_the_gpus_of_our_gres_conf(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    gres = files(plan_of("hgx-h100", 40, "quantum-ndr"))["gres.conf"].decode().replace("/dev/nvidia", f"{tmp_path}/nvidia")
    for number in range(8):
        (tmp_path / f"nvidia{number}").touch()
    write_config(tmp_path / "slurm", GOOD.encode(), NODES.replace("CLOUD", "UNKNOWN"), gres)
    done = Slurm(tmp_path / "slurm", False).run("slurmd", "-G", "-N", "gpu-001")
    assert re.search(rf"Gres Name=gpu Type=\(null\) Count=8 .*File={tmp_path}/nvidia\[0-7\]", done.stderr + done.stdout)
