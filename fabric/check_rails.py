"""Checks of rails and planes: GPU k of an SU on one leaf, node n on one port number, planes that share no switch."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..problems import Problem
from ..vendors.models import Node
from .check_report import device_name, findings, gpu_links, link_name, port_name
from .topology import Profile, Topology


def rails_are_pure(topology: Topology) -> list[Problem]:
    """GPU k of every node of an SU lands on one leaf of each plane, and a node's links stay in its SU."""
    problems: list[Problem] = []
    pods, devices = topology.devices["pod"], topology.devices["device"]
    for fabric in topology.fabrics:
        links = gpu_links(topology, fabric)
        links = links.with_columns(pod=pods.gather(links["a_dev"]))
        split = links.group_by("pod", "plane", "gpu").agg(pl.col("b_dev").unique().sort()).filter(pl.col("b_dev").list.len() > 1).sort("pod", "plane", "gpu")
        problems += findings(
            split,
            "rail-split",
            lambda r: f"SU {r['pod']} plane {r['plane']} rail {r['gpu']}",
            lambda r: f"the nodes of this rail land on {len(r['b_dev'])} leaves ({', '.join(devices[d] for d in r['b_dev'][:4])}), they belong on 1",
            "GPUs of one index talk to each other most; on one leaf they are one hop apart",
            "cable GPU k of every node of the SU to the leaf of rail k",
        )
        away = links.filter(pl.col("pod") != pods.gather(links["b_dev"])).sort("link")
        problems += findings(
            away,
            "su",
            lambda r: link_name(topology, r),
            lambda r: f"the node is of SU {r['pod']}, the leaf of SU {pods[r['b_dev']]}",
            "an SU is the nodes that share one set of leaves",
            "cable the node to the leaves of its own SU",
        )
    return problems


def rail_names_tell_the_truth(topology: Topology) -> list[Problem]:
    """The `rail` of a leaf names exactly the GPU indices it serves, and that of a link the GPU's."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        links = gpu_links(topology, fabric)
        served = links.group_by(pl.col("b_dev").alias("dev")).agg(pl.col("gpu").unique().sort())
        leaves = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric) & pl.col("present")).select("dev", "device", "rail")
        told = leaves.join(served, on="dev", how="left").with_columns(truth=pl.col("gpu").cast(pl.List(pl.String)).list.join("+").fill_null("none"))
        problems += findings(
            told.filter(pl.col("truth") != pl.col("rail")).sort("dev"),
            "rail-name",
            lambda r: str(r["device"]),
            lambda r: f"says rail {r['rail'] or 'none'}, its links serve rail {r['truth']}",
            "names, labels and Slurm's topology are made of the rail",
            "name the leaf after the rails that land on it",
        )
        problems += findings(
            links.filter(pl.col("rail") != pl.col("gpu")).sort("link"),
            "rail-name",
            lambda r: link_name(topology, r),
            lambda r: f"is listed under rail {r['rail']}, but serves GPU {r['gpu']}",
            "a rail is the NICs of one GPU index",
            "list the link under the rail of its GPU",
        )
    return problems


def gpus_own_their_ports(topology: Topology) -> list[Problem]:
    """A link that claims to serve GPU k ends on a port of GPU k's NIC."""
    problems: list[Problem] = []
    use = ["profile", "gpu", "a_cage", "a_child"]
    for fabric in topology.fabrics:
        links = _with_profile(topology, fabric)
        seen = links.select(use).unique().sort(use)
        owner = [gpu_of_port(topology.profiles[p], cage, child) for p, _, cage, child in seen.iter_rows()]
        wrong = seen.with_columns(owner=pl.Series(owner, dtype=pl.Int32)).filter(pl.col("owner") != pl.col("gpu"))
        problems += findings(
            links.join(wrong, on=use).sort("link"),
            "gpu-port",
            lambda r: port_name(topology, r["a_dev"], r["a_cage"], r["a_child"]),
            lambda r: f"the link is said to serve GPU {r['gpu']}, the port belongs to {'GPU ' + str(r['owner']) if r['owner'] >= 0 else 'no GPU'}",
            "cage order and mlx5 numbers do not follow the GPU order",
            "take the port of the GPU from the node's port table",
        )
    return problems


def nodes_use_their_ports_alike(topology: Topology) -> list[Problem]:
    """For one GPU and plane, every node uses the same ports of its NIC."""
    problems: list[Problem] = []
    key = ["profile", "gpu", "plane"]
    for fabric in topology.fabrics:
        links = _with_profile(topology, fabric)
        taken = links.group_by(key).agg(ports=pl.struct("a_cage", "a_child").n_unique())
        each = links.group_by(*key, "a_dev").len().group_by(key).agg(each=pl.col("len").max())
        problems += findings(
            taken.join(each, on=key).filter(pl.col("ports") > pl.col("each")).sort(key),
            "nodes-alike",
            lambda r: f"GPU {r['gpu']} plane {r['plane']}",
            lambda r: f"the nodes use {r['ports']} different ports of their NIC, one node uses {r['each']}",
            "crews cable every node by one picture",
            "use the same node port for the same GPU and plane on every node",
        )
    return problems


def _with_profile(topology: Topology, fabric: str) -> pl.DataFrame:
    links = gpu_links(topology, fabric)
    return links.with_columns(profile=topology.devices["profile"].gather(links["a_dev"]))


def gpu_of_port(profile: Profile, cage: int, child: int) -> int:
    """GPU index that a node's port belongs to by the part's own port table; -1 when it is no GPU's."""
    part, use = profile.part, profile.cages.get(cage)
    if not isinstance(part, Node) or use is None:
        return -1
    connectors = sorted((p for p in part.ports if p.cage == use.label), key=lambda p: p.connector)
    row = child // use.mode.ports
    gpu = connectors[row].gpu if 0 <= row < len(connectors) else None
    return -1 if gpu is None else gpu


def a_node_has_one_port_number_on_all_its_leaves(topology: Topology) -> list[Problem]:
    """Node n sits on the same cage and port of every leaf of its SU, in all planes."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        links = gpu_links(topology, fabric).with_columns(place=pl.col("b_cage").cast(pl.Int64) * 1024 + pl.col("b_child"))
        counted = links.group_by("a_dev").agg(places=pl.col("place").n_unique(), leaves=pl.col("b_dev").n_unique(), links=pl.len())
        bad = counted.filter(pl.col("places") * pl.col("leaves") > pl.col("links")).sort("a_dev")
        problems += findings(
            bad,
            "port-number",
            lambda r: device_name(topology, r["a_dev"]),
            lambda r: f"its {r['links']} links take {r['places']} different port numbers on {r['leaves']} leaves, alike on all they would take {r['links'] // r['leaves']}",
            "crews check a rack by eye: node n is on port n of every leaf",
            "give the node the same cage and port on every leaf of its SU",
        )
    return problems


def planes_are_disjoint(topology: Topology) -> list[Problem]:
    """A switch carries links of its own plane only."""
    problems: list[Problem] = []
    switches = topology.devices.filter(pl.col("role").is_in(["leaf", "spine", "core"])).select("dev", own="plane")
    for side in "ab":
        at_switches = topology.links.join(switches.rename({"dev": "switch"}), left_on=f"{side}_dev", right_on="switch", coalesce=False)
        crossed = at_switches.filter(pl.col("plane") != pl.col("own")).sort("link")
        problems += findings(
            crossed,
            "plane-crossed",
            lambda r: link_name(topology, r),
            lambda r: f"the link is of plane {r['plane']}, {device_name(topology, r['switch'])} of plane {r['own']}",
            "planes share no switch, so that one may fail without the others",
            "cable the link to a switch of its own plane",
        )
    return problems


def every_gpu_is_alike_in_all_planes(topology: Topology) -> list[Problem]:
    """Every GPU of every node has the same number of ports in every plane."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        planes = switch_planes(topology, fabric)
        links = gpu_links(topology, fabric).filter(pl.col("plane").is_between(0, planes - 1))
        if links.is_empty() or planes < 2:
            continue
        gpus = int(links["gpu"].to_numpy().max()) + 1
        slot = (links["a_dev"].to_numpy().astype(np.int64) * gpus + links["gpu"].to_numpy()) * planes + links["plane"].to_numpy()
        counts = np.bincount(slot, minlength=topology.devices.height * gpus * planes).reshape(-1, planes)
        rows = np.flatnonzero(counts.min(axis=1) != counts.max(axis=1))
        bad = pl.DataFrame({"dev": rows // gpus, "gpu": rows % gpus, "ports": counts[rows].tolist()}, schema_overrides={"ports": pl.List(pl.Int64)})
        problems += findings(
            bad,
            "plane-uneven",
            lambda r: f"{device_name(topology, r['dev'])} GPU {r['gpu']}",
            lambda r: f"has {', '.join(f'{n} ports in plane {p}' for p, n in enumerate(r['ports']))}",
            "traffic is striped over the planes in equal parts",
            "give the GPU the same number of ports in every plane",
        )
    return problems


def switch_planes(topology: Topology, fabric: str) -> int:
    """Planes of a fabric, counted from its leaves."""
    leaves = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric))
    return leaves["plane"].n_unique()
