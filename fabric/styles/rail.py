r"""Rail: GPU k of every node of an SU on one leaf, spines above; planes are separate copies.

spine-01          spine-02          every leaf to every spine, the same number of links
  | \______________ / |
  |  ____________/\  |
leaf-su0-r0       leaf-su0-r1       one leaf for each rail and SU
  |    \___________/  |
  |  ____/    \____   |
gpu-001           gpu-002           rail 0 to leaf r0, rail 1 to leaf r1
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...problems import Problem
from ..design import FabricSpec
from ..modes import Parts
from ..ports import port_count
from ..sizing import Size, fits, largest_su, largest_uplinks, least_uplinks, multiple, spine_ports
from . import single


def size(spec: FabricSpec, parts: Parts, nodes: int, at: str) -> tuple[Size | None, list[Problem]]:
    rails, per_gpu = parts.node.gpus, parts.ports_per_gpu
    one = single.size(spec, parts, nodes, at)
    if one[0] and spec.tiers in ("auto", 1) and spec.rails_per_leaf in ("auto", rails) and spec.nodes_per_su in ("auto", "max") and not spec.spines_per_plane:
        return one
    if spec.tiers == 1:
        return one
    if spec.tiers == 3:
        return None, [_needs_three(spec, parts, nodes, at, asked=True)]
    shares = [r for r in range(rails // 2 or 1, 0, -1) if rails % r == 0] if spec.rails_per_leaf == "auto" else [spec.rails_per_leaf]
    for share in shares:
        ports_per_node = share * per_gpu
        plain = largest_su(spec, parts, ports_per_node, Fraction(1))
        widest = largest_su(spec, parts, ports_per_node, spec.oversubscription)
        if share != shares[-1] and nodes + (1 if spec.ufm_links else 0) > plain:
            continue
        if spec.nodes_per_su in ("auto", "max"):
            choices = dict.fromkeys([widest] if spec.nodes_per_su == "max" else [plain, widest])
        else:
            if int(spec.nodes_per_su) > widest:
                return None, [_su_too_large(spec, parts, share, widest, at)]
            choices = {int(spec.nodes_per_su): None}
        for per_su in choices:
            if per_su == 0:
                continue
            size, problems = _two_tiers(spec, parts, nodes, share, per_su, at)
            if size or problems:
                return size, problems
    return None, [_needs_three(spec, parts, nodes, at, asked=False)]


def _two_tiers(spec: FabricSpec, parts: Parts, nodes: int, share: int, per_su: int, at: str) -> tuple[Size | None, list[Problem]]:
    """Size with SUs of `per_su` nodes; (None, []) when two tiers are too small for that."""
    ports_per_node = share * parts.ports_per_gpu
    per_pod = parts.node.gpus // share
    down = per_su * ports_per_node
    gives_way = False
    if spec.ufm_links:
        problems = _ufm_ports(spec, per_pod, ports_per_node)
        if problems:
            return None, [Problem(p.rule, f"{at}.{p.where}", p.what, p.why, p.fix) for p in problems]
        extra = down + ports_per_node
        gives_way = not fits(spec, parts, extra, least_uplinks(parts, down, spec.oversubscription))
        down = down if gives_way else extra
        if gives_way and per_su == 1:
            return None, [Problem("ufm", f"{at}.ufm_links", "an SU of one node has no position to give to UFM links", fix="remove ufm_links or use a larger switch")]
    pods = -(-(nodes + (1 if gives_way else 0)) // per_su)
    leaves = pods * per_pod
    radix = spine_ports(spec, parts)
    least = least_uplinks(parts, per_su * ports_per_node, spec.oversubscription)
    last_nodes = nodes + (1 if gives_way else 0) - (pods - 1) * per_su
    last_least = least if spec.partial_su == "full" else least_uplinks(parts, last_nodes * ports_per_node, spec.oversubscription)
    uplinks = _Uplinks(least, largest_uplinks(spec, parts, down), last_least, leaves, per_pod, radix)
    found = uplinks.fewest()
    if found is None:
        return None, []
    spines, up, last = found
    problems = []
    if spec.spines_per_plane:
        wanted = uplinks.with_spines(spec.spines_per_plane)
        if wanted is None:
            return None, [_uneven(spec, uplinks, at)]
        spines, (up, last) = spec.spines_per_plane, wanted
    if gives_way and (nodes - 1) // per_su + 1 < pods:
        what = f"{nodes} nodes and the UFM position fill {pods} SUs of {per_su}; {pods * per_su - per_su - 1} nodes would need one SU less"
        problems.append(Problem("ufm-su", f"{at}.ufm_links", what, "one node position gives way to the UFM links", "plan one node less, or move UFM elsewhere", "warning"))
    return Size("rail", 2, per_su, pods, share, per_pod, down, up, last, spines, gives_way), problems


@dataclass(frozen=True)
class _Uplinks:
    least: int
    most: int
    last_least: int
    leaves: int
    last_leaves: int
    radix: int

    def with_spines(self, spines: int) -> tuple[int, int] | None:
        """(uplinks, uplinks of the last SU) that share `spines` evenly and fit them; None if none do."""
        up = multiple(self.least, spines)
        last = min(up, multiple(self.last_least, spines))
        if up > self.most or (self.leaves - self.last_leaves) * up + self.last_leaves * last > spines * self.radix:
            return None
        return up, last

    def fewest(self) -> tuple[int, int, int] | None:
        """(spines, uplinks, uplinks of the last SU) with the fewest spines."""
        for spines in range(1, self.most + 1):
            found = self.with_spines(spines)
            if found:
                return spines, *found
        return None


def _ufm_ports(spec: FabricSpec, leaves_per_pod: int, ports_per_node: int) -> list[Problem]:
    if spec.ufm_links > leaves_per_pod * ports_per_node:
        what = f"{spec.ufm_links} UFM links, but one node position has {leaves_per_pod * ports_per_node} leaf ports"
        return [Problem("ufm", "ufm_links", what, fix=f"use at most {leaves_per_pod * ports_per_node}")]
    return []


def _uneven(spec: FabricSpec, uplinks: _Uplinks, at: str) -> Problem:
    asked = spec.spines_per_plane or 0
    fits = [d for d in range(1, uplinks.most + 1) if uplinks.with_spines(d)]
    near = sorted(sorted(fits, key=lambda d: abs(d - asked))[:4])
    up = multiple(uplinks.least, asked)
    if up > uplinks.most:
        why = f"a leaf has {uplinks.least} uplinks" + (f" and up to {uplinks.most}" if uplinks.most > uplinks.least else "") + f", which is no multiple of {asked}"
    else:
        why = f"{uplinks.leaves} leaves with {up} uplinks need {uplinks.leaves * up} spine ports, {asked} spines have {asked * uplinks.radix}"
    return Problem(
        "spine-count",
        f"{at}.spines_per_plane",
        f"{asked} spines per plane cannot spread the uplinks evenly",
        why,
        f"use {', '.join(map(str, near))}, or leave spines_per_plane out",
    )


def _su_too_large(spec: FabricSpec, parts: Parts, share: int, widest: int, at: str) -> Problem:
    ports = port_count(parts.leaf, parts.down)
    what = f"{spec.nodes_per_su} nodes per SU, but a leaf of {ports} ports carries {widest} with {share * parts.ports_per_gpu} ports each and its uplinks"
    return Problem("su-size", f"{at}.nodes_per_su", what, fix=f"use 1 to {widest}, auto, or a higher oversubscription" if widest else "choose a switch with more ports")


def _needs_three(spec: FabricSpec, parts: Parts, nodes: int, at: str, asked: bool) -> Problem:
    rails, per_gpu, radix = parts.node.gpus, parts.ports_per_gpu, spine_ports(spec, parts)
    share = 1 if spec.rails_per_leaf == "auto" else spec.rails_per_leaf
    per_su = largest_su(spec, parts, share * per_gpu, spec.oversubscription)
    pods = radix * share // rails
    carried = pods * per_su * rails * per_gpu
    ports = port_count(parts.leaf, parts.down)
    if asked:
        return Problem(
            "tiers",
            f"{at}.tiers",
            "tiers 3 is not planned by this version",
            f"two tiers of {parts.leaf.model} carry {carried:,} ports",
            "set tiers: auto or 2, or plan pods of that size",
        )
    what = f"{nodes * rails * per_gpu:,} GPU ports, but two tiers of a {ports}-port switch carry {carried:,}"
    if spec.oversubscription == 1 and share == 1 and spec.nodes_per_su in ("auto", "max"):
        why = f"two non-blocking tiers end at {ports} x {radix} / 2"
    else:
        why = f"a spine of {radix} ports joins at most {radix} leaves: {pods} SUs of {per_su} nodes"
    fix = f"three tiers would carry it, which this version does not plan: use at most {pods * per_su:,} nodes, more planes, or choose a switch with more ports"
    return Problem("two-tiers-end", at, what, why, fix)
