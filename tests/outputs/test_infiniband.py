"""InfiniBand files, parsed back and compared with the plan's tables port by port."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from railplan import Catalog, DesignError, Plan, Problem, make_plan, parse_design
from railplan.outputs import FILE_NAMES, infiniband, render, tables
from railplan.outputs.infiniband_files import NAMES
from railplan.outputs.infiniband_ports import hardware, link_ends, switch_port, switch_ports, word_of

PLANS = {
    "one switch": ("hgx-h100", 8, "quantum-ndr", {}),
    "pair": ("hgx-h100", 8, "quantum-ndr", {"style": "pair"}),
    "shared leaves": ("dgx-h100", 16, "quantum-ndr", {}),
    "a partial SU": ("hgx-h100", 40, "quantum-ndr", {}),
    "UFM": ("dgx-h100", 63, "quantum-ndr", {"ufm_links": 4}),
    "two planes": ("hgx-b300", 16, "quantum-ndr", {"planes": 2}),
    "two ports of one NIC": ("hgx-b300", 16, "quantum-ndr", {"planes": 1, "nic_mode": "2x400G"}),
    "XDR": ("dgx-b300", 40, "quantum-xdr", {}),
    "three tiers": ("dgx-h100", 64, "quantum-ndr", {"tiers": 3}),
    "rails apart": ("dgx-h100", 16, "quantum-ndr", {"style": "rail-only"}),
    "names with blanks": ("gb200-nvl72-tray", 18, "quantum-ndr", {}),
}

Links = dict[tuple[str, int], tuple[str, int]]
"""(name, port number) -> (name, port number) at the far end; every link stands twice."""


@pytest.fixture(scope="module", params=PLANS)
def plan(request: pytest.FixtureRequest, plan_of: Callable[..., Plan]) -> Plan:
    node, count, family, more = PLANS[request.param]
    return plan_of(node, count, family, **more)


@pytest.fixture(scope="module")
def texts(plan: Plan) -> dict[str, str]:
    return {name: data.decode("ascii") for name, data in infiniband.files(plan).items()}


def tails(plan: Plan) -> dict[int, str]:
    """Plane -> what stands in the names of its files."""
    planes = plan.topology.fabrics["compute"].planes
    return {plane: f"-p{plane}" if planes > 1 else "" for plane in range(planes)}


def named_ports(plan: Plan) -> dict[tuple[str, str], tuple[str, int]]:
    """(device, port) of ports.csv -> name and number: a twin cage has ports 2n-1 and 2n, an adapter has one port."""
    role = dict(plan.topology.devices.select("device", "role").iter_rows())
    found = {}
    for device, port, os_name in tables.ports(plan).select("device", "port", "os_name").iter_rows():
        if role[device] in ("node", "ufm"):
            found[device, port] = f"{device} {os_name.partition('/')[0] or port.replace(' ', '_')}", 1
        else:
            cage, child = re.findall(r"\d+", port)[-2:]
            found[device, port] = device, 2 * int(cage) - 2 + int(child)
    return found


def planned(plan: Plan, plane: int) -> Links:
    named = named_ports(plan)
    rows = tables.ports(plan).filter(pl.col("plane") == plane).select("device", "port", "peer_device", "peer_port").iter_rows()
    return {named[device, port]: named[peer, peer_port] for device, port, peer, peer_port in rows}


def records(text: str) -> dict[str, list[str]]:
    """Node id -> the lines of its record in a netlist, from vendid on."""
    found = {}
    for block in text.split("\n\n")[1:]:
        lines = block.strip().splitlines()
        assert [line.partition("=")[0] for line in lines[:3]] == ["vendid", "devid", "sysimgguid"]
        header = re.match(r'(?:Switch|Ca)\t\d+ "([SH]-[0-9a-f]{16})"\t\t# ".{1,64}"', lines[4])
        assert header
        assert header[1] not in found
        found[header[1]] = lines
    return found


def netlist_links(text: str) -> tuple[Links, dict[str, str]]:
    """Links by description, and node id -> description."""
    description = {node: re.findall(r'# "(?:MF0;)?([^":]+)', lines[4])[0] for node, lines in records(text).items()}
    links = {}
    for node, lines in records(text).items():
        for line in lines[5:]:
            port, peer, peer_port, seen = re.fullmatch(r'\[(\d+)\]\S*\t"([SH]-[0-9a-f]{16})"\[(\d+)\]\S*\t\t# (?:lid 0 lmc 0 )?"(.*)" lid 0 4x[NX]DR', line).groups()
            assert (description[node], int(port)) not in links
            assert seen.removeprefix("MF0;").partition(":")[0] == description[peer]
            links[description[node], int(port)] = description[peer], int(peer_port)
    return links, description


def test_the_netlist_has_every_link_of_the_plan_and_no_other(plan: Plan, texts: dict[str, str]) -> None:
    for plane, tail in tails(plan).items():
        links, _ = netlist_links(texts[f"fabric{tail}.ibnet"])
        assert links == planned(plan, plane)
        assert {peer: end for end, peer in links.items()} == links


def test_the_topo_file_has_every_cable_of_the_plan_and_its_types_have_every_port(plan: Plan, texts: dict[str, str]) -> None:
    types = {text.split()[1]: set(re.findall(r"^\d+ -> (\S+)$", text, re.MULTILINE)) for name, text in texts.items() if name.endswith(".ibnl")}
    for plane, tail in tails(plan).items():
        links: Links = {}
        switch, kind = "", ""
        for line in texts[f"fabric{tail}.topo"].splitlines():
            if port := re.fullmatch(r"\t(\S+) -4x-> (\S+) (\S+) (\S+)", line):
                assert port[1] in types[kind]
                assert port[4] in types[port[2]]
                adapter, _, number = port[4].rpartition("/")
                links[switch, int(port[1][1:])] = f"{port[3]} {adapter}".strip(), int(number[1:])
            elif line and not line.startswith("#"):
                kind, switch = line.split()
        assert links == {end: peer for end, peer in planned(plan, plane).items() if " " not in end[0]}


def test_type_files_hold_one_type_each_in_ibdms_grammar(texts: dict[str, str]) -> None:
    names = []
    for text in (text for name, text in texts.items() if name.endswith(".ibnl")):
        head, *nodes = text.split("\n\n")
        assert re.fullmatch(r"TOPSYSTEM [A-Z]\w+", head)
        names.append(head)
        for node in nodes:
            first, *ports = node.splitlines()
            assert re.fullmatch(r"NODE (SW \d+ [\w-]+ U1|CA 1 [\w-]+ [A-Za-z][\w./:-]+)", first)
            assert len(ports) == int(first.split()[2])
    assert len(names) == len(set(names))


def test_roots_are_the_top_switches_and_compute_ports_those_of_gpus(plan: Plan, texts: dict[str, str]) -> None:
    devices = plan.topology.devices.filter("present")
    top = next(role for role in ("core", "spine", "leaf") if role in devices["role"])
    for plane, tail in tails(plan).items():
        listed = {kind: re.findall(r"^0x([0-9a-f]{16}) # (.+)$", texts[f"{kind}{tail}.conf"], re.MULTILINE) for kind in ("root_guids", "cn_guids")}
        guid = {name: node[2:] for node, name in netlist_links(texts[f"fabric{tail}.ibnet"])[1].items()}
        assert [name for _, name in listed["root_guids"]] == devices.filter((pl.col("role") == top) & (pl.col("plane") == plane))["device"].to_list()
        assert all(guid[name] == own for own, name in listed["root_guids"])
        gpus = {name for name, _ in planned(plan, plane) if " " in name and not name.startswith("ufm")}
        assert {name for _, name in listed["cn_guids"]} == gpus
        assert all(int(guid[name], 16) + 1 == int(own, 16) for own, name in listed["cn_guids"])
        assert ("no fat tree" in texts[f"root_guids{tail}.conf"]) == (top == "leaf")


def test_the_name_map_names_every_guid_once(plan: Plan, texts: dict[str, str]) -> None:
    listed = re.findall(r'^0x([0-9a-f]{16}) "(.+)"$', texts["node-name-map"], re.MULTILINE)
    nodes = {node[2:]: name for tail in tails(plan).values() for node, name in netlist_links(texts[f"fabric{tail}.ibnet"])[1].items()}
    assert len(listed) == len(nodes)
    assert dict(listed) == nodes


def test_guids_are_unique_lie_16_apart_and_are_given_out_locally(plan: Plan) -> None:
    ends = link_ends(plan, "compute")
    nodes = ends.unique("guid")
    assert nodes.n_unique(["device", "adapter"]) == nodes.height
    assert all(int(guid, 16) % 16 == 0 and guid.startswith("02") for guid in nodes["guid"])
    hosts = ends.filter(~pl.col("switch"))
    assert hosts["port_guid"].n_unique() == hosts.height


def test_lines_fit_ibsim_and_no_port_line_has_an_equals_sign(texts: dict[str, str]) -> None:
    for text in (text for name, text in texts.items() if name.endswith(".ibnet")):
        assert max(map(len, text.splitlines())) < 255
        assert not [line for line in text.splitlines() if line.startswith("[") and "=" in line]


def test_files_name_the_plan_where_comments_are_allowed_and_write_knows_them_all(plan: Plan, texts: dict[str, str]) -> None:
    assert set(texts) <= set(NAMES) <= FILE_NAMES
    assert all(f"of {plan.design.name}, compute" in text.splitlines()[0] for name, text in texts.items() if not name.endswith(".ibnl"))
    assert {name: data.decode() for name, data in render(plan, ["infiniband"]).items() if name in NAMES} == texts


def test_growth_changes_no_guid(catalog: Catalog) -> None:
    found = []
    for count in (20, 40, 64):
        grown = make_plan(parse_design(f"nodes: {{model: dgx-h100, count: {count}, grow_to: 64}}\nfabrics: {{compute: {{family: quantum-ndr}}}}\n"), catalog)
        found.append(dict(link_ends(grown, "compute").select("name", "guid").iter_rows()))
    small, middle, full = found
    assert len(small) < len(middle) < len(full)
    assert small.items() <= middle.items() <= full.items()


def test_names_are_those_the_hardware_answers(plan_of: Callable[..., Plan], catalog: Catalog) -> None:
    dgx = infiniband.files(plan_of("dgx-h100", 16, "quantum-ndr"))["fabric.ibnet"].decode()
    assert '# "MF0;leaf-su0-r0-1:MQM9700/U1" enhanced port 0 lid 0 lmc 0' in dgx
    assert '# "gpu-001 mlx5_11"' in dgx
    assert "devid=0xd2f2" in dgx
    assert "devid=0x1021" in dgx
    xdr = infiniband.files(plan_of("dgx-b300", 40, "quantum-xdr"))["fabric.ibnet"].decode()
    assert '# "gpu-001 OSFP1" lid 0 4xXDR' in xdr
    assert "U1 to U4" in xdr.partition("\n\n")[0]
    assert hardware(catalog.switches["nvidia-q3400-ra"]) == "Q3400_RA"
    assert [word_of(text) for text in ("Left Bay OSFP P3", "1", "A")] == ["Left_Bay_OSFP_P3", "P1", "PA"]


def test_ports_of_a_split_cage_leave_room_for_those_of_a_more_split_one(plan_of: Callable[..., Plan], catalog: Catalog) -> None:
    profile = plan_of("dgx-h100", 16, "quantum-ndr").topology.profiles["leaf"]
    group = catalog.switches["nvidia-qm9700"].cages[0]
    twin = profile.cages[1]
    quad = replace(profile.cages[2], mode=group.modes[1], ports=4)
    mixed = replace(profile, cages={1: twin, 2: quad})
    assert [switch_port(mixed, use, child) for use in (twin, quad) for child in range(use.ports)] == [1, 3, 5, 6, 7, 8]
    assert (switch_ports(profile), switch_ports(mixed)) == (64, 128)


def test_a_model_that_is_run_in_two_ways_has_two_types(plan_of: Callable[..., Plan], catalog: Catalog) -> None:
    plan = plan_of("dgx-h100", 16, "quantum-ndr")
    mode = catalog.switches["nvidia-qm9700"].cages[0].modes[1]
    spine = plan.topology.profiles["spine"]
    split = replace(spine, cages={cage: replace(use, mode=mode, ports=4) for cage, use in spine.cages.items()})
    odd = replace(plan, topology=replace(plan.topology, profiles={**plan.topology.profiles, "spine": split}))
    files = infiniband.files(odd)
    assert files["leaf.ibnl"].startswith(b"TOPSYSTEM MQM9700\n\nNODE SW 64 ")
    assert files["spine.ibnl"].startswith(b"TOPSYSTEM MQM9700_2\n\nNODE SW 128 ")
    assert b"\nMQM9700_2 spine-01\n" in files["fabric.topo"]
    assert "spine.ibnl" not in infiniband.files(plan)


def test_every_kind_of_node_has_a_type_and_only_gpus_are_compute_ports(catalog: Catalog) -> None:
    text = "nodes: {model: dgx-h100, count: 16}\nmore_nodes:\n  - {model: storage-server, count: 8, name: sto}\nfabrics: {compute: {family: quantum-ndr}}\n"
    plan = make_plan(parse_design(text), catalog)
    files = infiniband.files(plan)
    assert set(files) <= set(NAMES)
    links, _ = netlist_links(files["fabric.ibnet"].decode())
    assert links == planned(plan, 0)
    assert [name for name in files if name.endswith(".ibnl")] == ["node.ibnl", "node-1.ibnl", "leaf.ibnl"]
    assert b" HCA_STORAGE_SERVER sto-001 " in files["fabric.topo"]
    assert files["cn_guids.conf"].count(b"0x") == 128


def test_an_ethernet_fabric_is_refused_when_asked_for_and_left_out_otherwise(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of("hgx-b300", 4, "spectrum-x")
    with pytest.raises(DesignError) as caught:
        render(plan, ["infiniband"])
    assert [(p.level, p.what) for p in caught.value.problems] == [("error", "nvidia-sn5600 speaks Ethernet, the format infiniband is for InfiniBand fabrics")]
    heard: list[Problem] = []
    assert not set(render(plan, left_out=heard.append)) & set(NAMES)
    assert not [problem for problem in heard if problem.rule == "infiniband"]


def test_a_subnet_with_more_ports_than_addresses_is_refused(plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(infiniband, "LIDS_MAX", 133)
    with pytest.raises(DesignError, match="134 switches and host ports in one subnet, which has 133 unicast LIDs"):
        infiniband.files(plan_of("dgx-h100", 16, "quantum-ndr"))
    monkeypatch.setattr(infiniband, "DESCRIPTION_BYTES_MAX", 20)
    with pytest.raises(DesignError, match="'MF0;leaf-su0-r0-1:MQM9700/U1' has more than the 20 bytes"):
        infiniband.files(plan_of("dgx-h100", 16, "quantum-ndr"))


def test_planes_share_no_subnet_and_a_plane_is_counted_alone(plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("hgx-b300", 16, "quantum-ndr", planes=2)
    ends = link_ends(plan, "compute")
    assert ends.group_by("subnet").agg(pl.col("plane").n_unique())["plane"].to_list() == [1, 1]
    monkeypatch.setattr(infiniband, "LIDS_MAX", 134)
    assert infiniband.files(plan)


def test_the_plan_folder_takes_the_files(plan_of: Callable[..., Plan], tmp_path: Path) -> None:
    from railplan.outputs.write import write_plan

    plan = plan_of("hgx-h100", 8, "quantum-ndr")
    write_plan(render(plan, ["infiniband"]), tmp_path / "plan")
    write_plan(render(plan, ["infiniband"]), tmp_path / "plan")
    assert {path.name for path in (tmp_path / "plan").iterdir()} == {"design.yaml", "summary.json", *infiniband.files(plan)}
