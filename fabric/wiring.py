"""What the tables are made from: device numbers, which leaf and spine stand where, and the ports handed out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from .design import Design, FabricSpec, NodesSpec
from .modes import Parts
from .ports import Assignment, Port, Want, assign
from .sizing import Block, Size, leaf_wants
from .tiers import spine_uplinks, spine_wants

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class NodeBlock:
    """One kind of node with its leaves: sizes, first numbers, and the ports of its leaves."""

    spec: NodesSpec
    parts: Parts
    size: Block
    uplinks: int
    last_uplinks: int
    first_node: int
    first_leaf: int
    first_pod: int
    profile: str
    """Suffix of the profiles of its nodes and leaves: "" for the first kind."""
    leaf_ports: Assignment

    @property
    def positions(self) -> Ints:
        """Position of every node counted over its SUs: one is skipped where UFM takes a place."""
        number = np.arange(self.size.nodes, dtype=np.int64)
        return number + (self.size.ufm_gives_way & (number >= self.size.per_su - 1))

    @property
    def built_pods(self) -> int:
        """SUs of the block that hold a present node."""
        return int(self.positions[self.spec.count - 1]) // self.size.per_su + 1

    def leaf_dev(self, pod: Ints, plane: Ints, leaf: Ints) -> Ints:
        """Device number of leaf `leaf` of SU `pod` (both counted within the block) in a plane."""
        return np.asarray(self.first_leaf + (pod * self.parts.planes + plane) * self.size.leaves_per_pod + leaf)


@dataclass(frozen=True)
class Wiring:
    """One fabric as it will be tabled."""

    design: Design
    name: str
    spec: FabricSpec
    size: Size
    blocks: tuple[NodeBlock, ...]
    spine_ports: Assignment | None
    core_ports: Assignment | None

    @property
    def parts(self) -> Parts:
        """Parts of the first kind of node; switches and planes are those of all kinds."""
        return self.blocks[0].parts

    @property
    def planes(self) -> int:
        """Planes of the fabric."""
        return self.parts.planes

    @cached_property
    def leaves(self) -> pl.DataFrame:
        """Every leaf of one plane: block, pod (in its block), row, side, up, group (spine group), place in the group."""
        tables = []
        first_group = 0
        for i, block in enumerate(self.blocks):
            size = block.size
            pod, row, side = (a.ravel() for a in np.meshgrid(np.arange(size.pods), np.arange(size.rows), np.arange(size.sides), indexing="ij"))
            rows = size.rows if self.size.by_rail else 1
            over = pod // self.size.sus_per_group if self.size.sus_per_group else np.zeros_like(pod)
            group = first_group + over * rows + (row if self.size.by_rail else 0)
            tables.append(
                pl.DataFrame(
                    {"block": np.full_like(pod, i), "pod": pod, "row": row, "side": side, "up": np.where(pod == size.pods - 1, block.last_uplinks, block.uplinks), "group": group}
                )
            )
            if self.size.sus_per_group:
                first_group = int(group.max()) + 1
        return pl.concat(tables).with_columns(pl.int_range(pl.len()).over("group").alias("place"))

    @cached_property
    def groups(self) -> pl.DataFrame:
        """Every spine group of one plane: group, block, first and last SU, row, links to each of its spines, uplinks of a spine."""
        if not self.size.spines:
            return pl.DataFrame(schema={"group": pl.Int64, "block": pl.Int64, "pod": pl.Int64, "last_pod": pl.Int64, "row": pl.Int64, "down": pl.Int64, "up": pl.Int64})
        found = self.leaves.group_by("group").agg(
            pl.col("block").first(), pl.col("pod").min(), pl.col("pod").max().alias("last_pod"), pl.col("row").min(), (pl.col("up").sum() // self.size.spines).alias("down")
        )
        up = [spine_uplinks(down, self.size.cores, self.spec.core_oversubscription) if self.size.cores else 0 for down in found["down"].to_list()]
        return found.with_columns(pl.Series("up", up, dtype=pl.Int64)).sort("group")

    @property
    def first_spine(self) -> int:
        """Device number of the first spine."""
        last = self.blocks[-1]
        return last.first_leaf + self.planes * last.size.leaves

    @property
    def spines(self) -> int:
        """Spines of one plane."""
        return self.groups.height * self.size.spines

    @property
    def first_core(self) -> int:
        """Device number of the first core."""
        return self.first_spine + self.planes * self.spines

    @property
    def cores(self) -> int:
        """Cores of one plane."""
        return self.size.spines * self.size.cores

    @property
    def first_ufm(self) -> int:
        """Device number of the first UFM server."""
        return self.first_core + self.planes * self.cores

    @property
    def ufm_servers(self) -> int:
        """UFM servers: two links each, in every plane (a plane is a subnet of its own)."""
        return self.planes * -(-self.spec.ufm_links // 2)


def hand_out(design: Design, name: str, spec: FabricSpec, parts: Sequence[Parts], size: Size) -> Wiring:
    """Number the devices and give every kind of switch its ports."""
    blocks: list[NodeBlock] = []
    first_node, first_pod = 0, 0
    first_leaf = sum(group.final_count for group in design.node_groups)
    for i, (group, own, block, up, last) in enumerate(zip(design.node_groups, parts, size.blocks, size.uplinks, size.last_uplinks, strict=True)):
        ports = assign(own.leaf, leaf_wants(spec, own, block.down_ports, up))
        if ports is None:
            raise RuntimeError("sizing accepted leaf ports that cannot be handed out")
        blocks.append(NodeBlock(group, own, block, up, last, first_node, first_leaf, first_pod, f"-{i}" if i else "", ports))
        first_node += group.final_count
        first_leaf += own.planes * block.leaves
        first_pod += block.pods
    first = parts[0]
    spine = assign(first.spine, spine_wants(spec, first, size.spine_down, size.spine_up)) if size.spines else None
    plain = Wiring(design, name, spec, size, tuple(blocks), spine, None)
    core_load = int(plain.groups["up"].sum()) // size.cores if size.cores else 0
    core = assign(first.core, [Want(first.up, core_load)]) if size.cores else None
    if (size.spines and spine is None) or (size.cores and core is None):
        raise RuntimeError("sizing accepted spine or core ports that cannot be handed out")
    return Wiring(design, name, spec, size, tuple(blocks), spine, core)


def cages_and_children(ports: Sequence[Port]) -> tuple[Ints, Ints]:
    """Columns of a list of ports."""
    table = np.array(ports, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def grid(*sizes: int) -> tuple[Ints, ...]:
    """All index combinations, the last index running fastest."""
    return tuple(a.ravel() for a in np.meshgrid(*(np.arange(s, dtype=np.int64) for s in sizes), indexing="ij"))


def rail_names(block: Block) -> list[str]:
    """Rails of every row of leaves, as `0+1+2+3`."""
    share = block.rails_per_leaf
    return ["+".join(str(r) for r in range(first, first + share)) for first in range(0, block.rails, share)]
