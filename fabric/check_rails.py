"""Checks of rails and planes: GPU k of an SU on one leaf, node n on one port number, planes that share no switch."""

from __future__ import annotations

import numpy as np
import polars as pl

from ..problems import Problem
from ..vendors.models import Node
from .check_report import device_name, end_links, findings, link_name, port_name
from .topology import Profile, Topology

SERVES = pl.when(pl.col("gpu") >= 0).then("gpu").otherwise("rail")
"""GPU index of a link; of nodes without GPUs, the number of the NIC."""


def rails_are_pure(topology: Topology) -> list[Problem]:
    """GPU k of every node of an SU lands on one leaf of each plane (dual-tor: on a pair), and a node's links stay in its SU."""
    problems: list[Problem] = []
    pods, devices = topology.devices["pod"], topology.devices["device"]
    for fabric, spec in topology.design.rails.items():
        wanted = 2 if spec.style == "dual-tor" else 1
        links = end_links(topology, fabric).with_columns(serves=SERVES)
        links = links.with_columns(pod=pods.gather(links["a_dev"]))
        split = links.group_by("pod", "plane", "serves").agg(pl.col("b_dev").unique().sort()).filter(pl.col("b_dev").list.len() > wanted).sort("pod", "plane", "serves")
        problems += findings(
            split,
            "rail-split",
            lambda r: f"SU {r['pod']} plane {r['plane']} rail {r['serves']}",
            lambda r, wanted=wanted: f"the nodes of this rail land on {len(r['b_dev'])} leaves ({', '.join(devices[d] for d in r['b_dev'][:4])}), they belong on {wanted}",  # type: ignore[misc]
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


ALL_RAILS = ("tor", "single", "chassis", "dual-tor")
"""Styles that put all rails of a node on one leaf of each plane, or on one pair."""


def nodes_keep_to_their_leaf(topology: Topology) -> list[Problem]:
    """Style tor, single, chassis: all links of a node in a plane end on one leaf; dual-tor: those of each NIC on both of a pair alike."""
    problems: list[Problem] = []
    for fabric, spec in topology.design.rails.items():
        if spec.style not in ALL_RAILS:
            continue
        dual = spec.style == "dual-tor"
        links, key = end_links(topology, fabric), ["a_dev", "plane", *(["rail"] if dual else [])]
        each = links.group_by(*key, "b_dev").len().group_by(key).agg(leaves=pl.len(), least=pl.col("len").min(), most=pl.col("len").max())
        problems += findings(
            each.filter((pl.col("leaves") != (2 if dual else 1)) | (pl.col("least") != pl.col("most"))).sort(key),
            "dual-tor" if dual else "tor-split",
            lambda r: device_name(topology, r["a_dev"]) + (f" rail {r['rail']}" if "rail" in r else ""),
            lambda r: f"its links in plane {r['plane']} end on {r['leaves']} leaves, {r['least']} to {r['most']} on each",
            "with its ports on both leaves of the pair a NIC outlives either" if dual else "one switch in the rack carries all rails of its nodes",
            "cable one half of the ports to each leaf of the pair" if dual else "cable all rails of the node to the leaf of its rack",
        )
    return problems


def rail_names_tell_the_truth(topology: Topology) -> list[Problem]:
    """The `rail` of a leaf names exactly the rails it serves, and that of a link the GPU's index where it serves one."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        links = end_links(topology, fabric).with_columns(serves=SERVES)
        served = links.group_by(pl.col("b_dev").alias("dev")).agg(pl.col("serves").unique().sort())
        leaves = topology.devices.filter((pl.col("role") == "leaf") & (pl.col("fabric") == fabric) & pl.col("present")).select("dev", "device", "rail")
        told = leaves.join(served, on="dev", how="left").with_columns(truth=pl.col("serves").cast(pl.List(pl.String)).list.join("+").fill_null("none"))
        problems += findings(
            told.filter(pl.col("truth") != pl.col("rail")).sort("dev"),
            "rail-name",
            lambda r: str(r["device"]),
            lambda r: f"says rail {r['rail'] or 'none'}, its links serve rail {r['truth']}",
            "names, labels and Slurm's topology are made of the rail",
            "name the leaf after the rails that land on it",
        )
        problems += findings(
            links.filter((pl.col("gpu") >= 0) & (pl.col("rail") != pl.col("gpu"))).sort("link"),
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
    """For one GPU (or NIC) and plane, every node of a kind uses the same ports of its NIC."""
    problems: list[Problem] = []
    key = ["profile", "gpu", "rail", "plane"]
    for fabric in topology.fabrics:
        links = _with_profile(topology, fabric)
        taken = links.group_by(key).agg(ports=pl.struct("a_cage", "a_child").n_unique())
        each = links.group_by(*key, "a_dev").len().group_by(key).agg(each=pl.col("len").max())
        problems += findings(
            taken.join(each, on=key).filter(pl.col("ports") > pl.col("each")).sort(key),
            "nodes-alike",
            lambda r: (f"GPU {r['gpu']}" if r["gpu"] >= 0 else f"NIC {r['rail']}") + f" plane {r['plane']}",
            lambda r: f"the nodes use {r['ports']} different ports of their NIC, one node uses {r['each']}",
            "crews cable every node by one picture",
            "use the same node port for the same GPU and plane on every node",
        )
    return problems


def _with_profile(topology: Topology, fabric: str) -> pl.DataFrame:
    links = end_links(topology, fabric)
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
        links = end_links(topology, fabric).with_columns(place=pl.col("b_cage").cast(pl.Int64) * 1024 + pl.col("b_child"))
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
    """Every GPU (nodes without: every NIC) of every node has the same number of ports in every plane."""
    problems: list[Problem] = []
    for fabric in topology.fabrics:
        planes = switch_planes(topology, fabric)
        links = end_links(topology, fabric).filter(pl.col("plane").is_between(0, planes - 1))
        if links.is_empty() or planes < 2:
            continue
        gpus = int(links["rail"].to_numpy().max()) + 1
        slot = (links["a_dev"].to_numpy().astype(np.int64) * gpus + links["rail"].to_numpy()) * planes + links["plane"].to_numpy()
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
