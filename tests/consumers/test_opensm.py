"""OpenSM on ibsim: the netlist is the planned fabric, fat-tree routing takes it, and its tables use every uplink alike.

Needs Debian's opensm, ibsim-utils, infiniband-diags and ibutils; every program gets a folder and a socket of its own and is
ended with its test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from railplan import Catalog, Plan, make_plan, parse_design
from railplan.outputs import infiniband, tables

PROGRAMS = ("timeout", "ibsim", "opensm", "ibnetdiscover", "smpquery", "ibdmchk")
PRELOAD = next(Path("/usr/lib").glob("*/umad2sim/libumad2sim.so"), None)
MISSING = [name for name in PROGRAMS if not shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")]
pytestmark = pytest.mark.skipif(
    bool(MISSING) or PRELOAD is None, reason=f"{', '.join(MISSING) or 'libumad2sim'} missing: apt-get install opensm ibsim-utils infiniband-diags ibutils"
)

Links = dict[tuple[str, int], tuple[str, int]]
"""(name, port number) -> (name, port number) at the far end; every link stands twice."""

GPUS = {
    "128": ("dgx-h100", 16, "quantum-ndr", {}),
    "128 in two planes": ("hgx-b300", 16, "quantum-ndr", {"planes": 2}),
    "512": ("dgx-h100", 64, "quantum-ndr", {}),
    "512 in three tiers": ("dgx-h100", 64, "quantum-ndr", {"tiers": 3}),
    "2304": ("dgx-b300", 288, "quantum-xdr", {}),
}
"""Numbers for which every leaf has as many GPUs elsewhere for each uplink."""


@dataclass(frozen=True)
class Subnet:
    """A plane of a plan in a simulator that runs: its folder, and the environment in which programs meet it."""

    folder: Path
    tail: str
    environment: dict[str, str]

    def run(self, *command: str, **more: str) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment | more, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=50, check=False
        )
        return done.stdout

    def links(self, *options: str, start: str = "") -> Links:
        """What ibnetdiscover finds from a switch or, by default, the first in the netlist."""
        return links_of(self.run("ibnetdiscover", *options, **({"SIM_HOST": start} if start else {})))

    def opensm(self, *options: str) -> str:
        """Bring the subnet up once with fat-tree routing; the tables are in the folder then. Returns the log."""
        (self.folder / "opensm.conf").write_text(f"node_name_map_name {self.folder}/node-name-map\n")
        guids = ("-a", f"root_guids{self.tail}.conf", "-u", f"cn_guids{self.tail}.conf")
        self.run("opensm", "-F", "opensm.conf", "-R", "ftree", *guids, *options, "-o", "-f", "opensm.log", "-D", "0x43")
        return (self.folder / "opensm.log").read_text()

    def routes(self) -> dict[str, dict[str, int]]:
        """Switch -> destination -> port by which it is reached, from the forwarding tables that OpenSM wrote."""
        found: dict[str, dict[str, int]] = {}
        for line in (self.folder / "opensm-lfts.dump").read_text().splitlines():
            if switch := re.fullmatch(r"Unicast lids .* of switch Lid \d+ guid 0x[0-9a-f]+ \('(.*)'\):", line):
                table = found.setdefault(switch[1], {})
            elif entry := re.fullmatch(r"0x[0-9a-f]{4} (\d{3}) # (?:Switch|Channel Adapter) portguid 0x[0-9a-f]+: '(.*)'", line):
                table[entry[2]] = int(entry[1])
        return found


@contextmanager
def simulated(plan: Plan, folder: Path, tail: str = "", netlist: str = "") -> Iterator[Subnet]:
    """Write the plan's InfiniBand files and load one plane, or another netlist, into ibsim."""
    for name, data in infiniband.files(plan).items():
        (folder / name).write_bytes(data)
    text = netlist or (folder / f"fabric{tail}.ibnet").read_text()
    (folder / "net").write_text(text)
    switches = [int(n) for n in re.findall(r"^Switch\t(\d+) ", text, re.MULTILINE)]
    adapters = [int(n) for n in re.findall(r"^Ca\t(\d+) ", text, re.MULTILINE)]
    sizes = ("-N", len(switches) + len(adapters), "-S", len(switches), "-P", sum(switches) + len(switches) + sum(adapters))
    socket = f"railplan-{os.getpid()}-{time.monotonic_ns()}"
    plain = {"PATH": f"{os.environ['PATH']}:/usr/sbin", "IBSIM_SOCKNAME": socket}
    with (folder / "ibsim.log").open("wb") as log:
        ibsim = subprocess.Popen(["timeout", "60", "ibsim", "-s", "-n", *map(str, sizes), "net"], cwd=folder, env=plain, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 20
        while f"@{socket}:ctl" not in Path("/proc/net/unix").read_text():
            assert ibsim.poll() is None, (folder / "ibsim.log").read_text()[-2000:]
            assert time.monotonic() < end, "ibsim opened no socket"
            time.sleep(0.02)
        yield Subnet(folder, tail, plain | {"LD_PRELOAD": str(PRELOAD), "OSM_CACHE_DIR": ".", "OSM_TMP_DIR": "."})
    finally:
        ibsim.terminate()
        ibsim.wait()


def links_of(text: str) -> Links:
    """Links of an ibnetdiscover listing by the description of their ends."""
    name, links, names = "", {}, {}
    for line in text.splitlines():
        if record := re.match(r'(?:Switch|Ca)\t\d+ "(.*?)"\s+# "(.*?)"', line):
            name = names[record[1]] = re.sub("MF0;(.*):.*", r"\1", record[2])
        elif port := re.match(r'\[(\d+)\]\S*\s+"(.*?)"\[(\d+)\]', line):
            links[name, int(port[1])] = (port[2], int(port[3]))
    return {end: (names[peer], port) for end, (peer, port) in links.items()}


def planned(plan: Plan, plane: int = 0) -> Links:
    """Links of ports.csv: a twin cage has ports 2n-1 and 2n, an adapter has one port."""
    ports = tables.ports(plan).filter(pl.col("plane") == plane).select("device", "port", "os_name", "peer_device", "peer_port")
    role = dict(plan.topology.devices.select("device", "role").iter_rows())
    names = {}
    for device, port, os_name, _, _ in ports.iter_rows():
        if role[device] in ("node", "ufm"):
            names[device, port] = f"{device} {os_name.partition('/')[0] or port}", 1
        else:
            cage, child = re.findall(r"\d+", port)[-2:]
            names[device, port] = device, 2 * int(cage) - 2 + int(child)
    return {names[device, port]: names[peer, peer_port] for device, port, _, peer, peer_port in ports.iter_rows()}


def planes(plan: Plan) -> list[tuple[int, str]]:
    count = plan.topology.fabrics["compute"].planes
    return [(plane, f"-p{plane}" if count > 1 else "") for plane in range(count)]


def hops(routes: dict[str, dict[str, int]], links: Links, leaf: str, adapter: str) -> int:
    """Links from a leaf to an adapter along the forwarding tables."""
    at = leaf
    for count in range(1, 8):
        at, _ = links[at, routes[at][adapter]]
        if at == adapter:
            return count
    raise AssertionError(f"{leaf} does not reach {adapter}")


@pytest.mark.parametrize("size", GPUS)
def test_opensm_routes_the_planned_fabric_and_uses_every_uplink_alike(size: str, plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    node, count, family, more = GPUS[size]
    plan = plan_of(node, count, family, **more)
    for plane, tail in planes(plan):
        folder = tmp_path / f"plane{plane}"
        folder.mkdir()
        expected = planned(plan, plane)
        with simulated(plan, folder, tail) as subnet:
            log = subnet.opensm()
            assert subnet.links() == subnet.links("--node-name-map", "node-name-map") == expected
        assert "ftree tables configured on all switches" in log
        assert "ERR" not in log
        routes = subnet.routes()
        adapters = [name for name, _ in expected if " " in name]
        assert len(adapters) == len(set(adapters)) == count * 8
        leaves = {expected[adapter, 1][0] for adapter in adapters}
        for leaf in leaves:
            own = {adapter for adapter in adapters if expected[adapter, 1][0] == leaf}
            uplinks = Counter({port: 0 for (name, port), (peer, _) in expected.items() if name == leaf and " " not in peer})
            uplinks.update(routes[leaf][adapter] for adapter in adapters if adapter not in own)
            assert len(set(uplinks.values())) == 1, f"{leaf}: destinations on each uplink {uplinks}"
            assert {1 + hops(routes, expected, leaf, adapter) for adapter in own} == {2}
            assert {1 + hops(routes, expected, leaf, adapter) for adapter in adapters if adapter not in own} == ({4, 6} if more.get("tiers") == 3 else {4})


def test_a_single_switch_is_no_fat_tree_and_reaches_every_gpu_in_one_hop(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of("hgx-h100", 8, "quantum-ndr")
    with simulated(plan, tmp_path) as subnet:
        log = subnet.opensm()
        assert subnet.links() == planned(plan)
    assert "SUBNET UP" in log
    assert "ftree tables configured" not in log
    assert "start opensm without -R ftree" in (tmp_path / "root_guids.conf").read_text()
    (table,) = subnet.routes().values()
    assert {table[name]: (name, 1) for name, _ in planned(plan) if " " in name} == {port: end for (name, port), end in planned(plan).items() if " " not in name}


@pytest.mark.parametrize(("node", "count", "more"), [("dgx-h100", 63, {"ufm_links": 4}), ("hgx-h100", 8, {"style": "pair"}), ("dgx-h100", 48, {"oversubscription": 2})])
def test_other_shapes_load_as_planned(node: str, count: int, more: dict[str, object], plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of(node, count, "quantum-ndr", **more)
    with simulated(plan, tmp_path) as subnet:
        assert subnet.links() == planned(plan)


def test_rails_that_do_not_meet_are_subnets_of_their_own(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of("dgx-h100", 16, "quantum-ndr", style="rail-only")
    found: Links = {}
    with simulated(plan, tmp_path) as subnet:
        for guid in re.findall("^0x([0-9a-f]{16}) # leaf", (tmp_path / "root_guids.conf").read_text(), re.MULTILINE):
            rail = subnet.links(start=f"S-{guid}")
            assert len({name for name, _ in rail if " " not in name}) == 1
            assert not found.keys() & rail.keys()
            found |= rail
    assert found == planned(plan)


def test_a_crossed_cable_is_found(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of("dgx-h100", 64, "quantum-ndr")
    text = infiniband.files(plan)["fabric.ibnet"].decode()
    one, other = ("leaf-su0-r3", 1), ("leaf-su1-r5", 7)
    with simulated(plan, tmp_path, netlist=crossed(text, one, other)) as subnet:
        log = subnet.opensm()
        found = subnet.links()
    expected = planned(plan)
    assert "ftree tables configured on all switches" in log
    assert {end for end in expected if expected[end] != found.get(end)} == {one, other, expected[one], expected[other]}
    assert found[one] == expected[other]


def crossed(text: str, one: tuple[str, int], other: tuple[str, int]) -> str:
    """The netlist after the cables in two switch ports changed places."""
    lines = text.splitlines()
    guids = {m[2]: m[1] for m in re.finditer(r'^Switch\t\d+ "(S-.*?)"\s+# "MF0;(.*?):', text, re.MULTILINE)}
    far = [next(i for i, line in enumerate(lines) if f'"{guids[name]}"[{port}]' in line) for name, port in (one, other)]
    near = [next(i for i, line in enumerate(lines) if line.startswith(f"[{port}]") and i > record_of(lines, guids[name])) for name, port in (one, other)]
    for a, b in (far, near):
        (a_port, a_rest), (b_port, b_rest) = (lines[i].split("\t", 1) for i in (a, b))
        lines[a], lines[b] = f"{a_port}\t{b_rest}", f"{b_port}\t{a_rest}"
    return "\n".join(lines) + "\n"


def record_of(lines: list[str], guid: str) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith("Switch") and guid in line)


def test_ibdmchk_finds_every_pair_and_no_credit_loop(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    plan = plan_of("dgx-h100", 16, "quantum-ndr")
    with simulated(plan, tmp_path) as subnet:
        subnet.opensm()
    routed = subnet.run("ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", LD_PRELOAD="")
    designed = subnet.run("ibdmchk", "-t", "fabric.topo", "-n", "gpu-001/mlx5_0", "-p", "1", IBDM_IBNL_PATH=str(tmp_path), LD_PRELOAD="")
    assert "-I- Defined 22/134 systems/nodes" in designed  # 16 hosts and 6 switches, 128 adapters and 6 switches
    for text in (routed, designed):
        assert not re.search(r"^-[EW]-", text, re.MULTILINE), text
        assert re.findall(r"^ +([24]) +(\d+)$", text[text.index("LFT ROUTE HOP HISTOGRAM") :], re.MULTILINE)[:2] == [("2", "3968"), ("4", "12288")]
        assert re.search(r"NUM-DLIDS NUM-SWITCH-PORTS\n +1 +128\n +3 +128\n-", text)
        assert "no credit loops found" in text


def test_opensm_puts_the_key_of_its_tenant_first_on_every_port(catalog: Catalog, tmp_path: Path) -> None:
    """Tables of keys as ports answer them: own partition in full, then the default one limited; management servers in full."""
    tenants = "tenants: [{name: acme, nodes: 5}, {name: blue, nodes: 20, pkey: 0x0101}]"
    design = f"nodes: {{model: dgx-h100, count: 31}}\nfabrics: {{compute: {{family: quantum-ndr, ufm_links: 4}}}}\n{tenants}\n"
    plan = make_plan(parse_design(design), catalog)
    with simulated(plan, tmp_path) as subnet:
        log = subnet.opensm("-P", str(tmp_path / "partitions.conf"))
        lids = dict(re.findall(r"^CA +(\d+) .*\( '(.*?)' - ", subnet.run("ibnetdiscover", "-p"), re.MULTILINE))
        found = {name: subnet.run("smpquery", "PKeys", lid, "1") for lid, name in lids.items() if re.search("mlx5_0$|ufm", name)}
    assert "SUBNET UP" in log
    assert "ERR" not in log
    assert "artition configuration in error" not in log
    assert len(found) == 31 + 4
    for name, text in found.items():
        number = int(re.search(r"\d+", name)[0])  # type: ignore[index]
        keys = ["0xffff"] if "ufm" in name else ["0x8001", "0x7fff"] if number <= 5 else ["0x8101", "0x7fff"] if number <= 25 else ["0x7fff"]
        assert [key for key in re.findall(r"0x[0-9a-f]{4}", text) if key != "0x0000"] == keys, name
