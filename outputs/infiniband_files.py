"""Names of the InfiniBand files, spelled here alone: a plane is a subnet and has files of its own."""

from __future__ import annotations

PLANES_MAX = 4
KINDS_MAX = 10
"""Kinds of node (and so of leaf) that type files have names for."""

NODE_NAME_MAP = "node-name-map"


def of_plane(stem: str, ending: str, plane: int, planes: int) -> str:
    """`fabric.ibnet`, or `fabric-p0.ibnet` where there are several planes."""
    return f"{stem}{f'-p{plane}' if planes > 1 else ''}.{ending}"


def _every_name() -> tuple[str, ...]:
    kinds = ["", *(f"-{kind}" for kind in range(1, KINDS_MAX))]  # as profiles of a topology are called
    hosts = [*(f"node{kind}" for kind in kinds), "ufm"]
    stems = [("fabric", "ibnet"), ("root_guids", "conf"), ("cn_guids", "conf"), ("partitions", "conf"), ("fabric", "topo"), *((host, "ibnl") for host in hosts)]
    switches = [f"{role}.ibnl" for role in (*(f"leaf{kind}" for kind in kinds), "spine", "core")]
    planes = [(0, 1), *((plane, PLANES_MAX) for plane in range(PLANES_MAX))]
    return (NODE_NAME_MAP, *(of_plane(*stem, *plane) for plane in planes for stem in stems), *switches)


NAMES = _every_name()
"""Every file that the format can write."""
