"""What is wrong with the tenants of a design, and what their owners should know: SU borders crossed, leaves shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from ..problems import Problem, did_you_mean
from .design import Design
from .tenant_sharing import crossing
from .tenant_switches import shared_leaves

if TYPE_CHECKING:
    from .tenants import Tenant

NAMES_SHOWN = 6
SUS_SHOWN = 8


def wrong_words(design: Design) -> list[Problem]:
    """Tenants of one name, and kinds of node that there are none of."""
    problems: list[Problem] = []
    first: dict[str, int] = {}
    kinds = [group.name for group in design.node_groups]
    for i, tenant in enumerate(design.tenants):
        if first.setdefault(tenant.name, i) != i:
            what = f"two tenants are both called {tenant.name!r}"
            problems.append(Problem("tenant-name", f"tenants.{i}.name", what, fix="give them different names, or one of them the nodes of both"))
        if tenant.nodes_kind not in (None, *kinds):
            what = f"no kind of node is called {tenant.nodes_kind!r}"
            problems.append(Problem("tenant-kind", f"tenants.{i}.nodes_kind", what, fix=did_you_mean(str(tenant.nodes_kind), kinds)))
    return problems


def wrong_counts(design: Design, present: Mapping[str, int]) -> list[Problem]:
    """A problem for each kind of node that tenants want more of than `present`, kind -> nodes, has."""
    wanted: dict[str, int] = {}
    for tenant in design.tenants:
        kind = tenant.nodes_kind or design.nodes.name
        wanted[kind] = wanted.get(kind, 0) + tenant.nodes
    problems = []
    for group in design.node_groups:
        count, there = wanted.get(group.name, 0), present.get(group.name, 0)
        if count > there:
            what = f"tenants get {_nodes(count)} {group.name!r}, {there:,} are built: {count - there:,} too many"
            why = f"grow_to {group.final_count:,} is not built yet" if group.final_count > group.count else ""
            problems.append(Problem("tenant-nodes", "tenants", what, why, f"take {count - there:,} away from tenants, or raise the count of nodes"))
    return problems


def crossing_warnings(tenants: Sequence[Tenant], room: pl.DataFrame) -> list[Problem]:
    """A warning for each tenant in several SUs; `room` has kind, pod and nodes (`room`) of every SU."""
    problems: list[Problem] = []
    used: dict[int, int] = {}
    for tenant in tenants:
        for pod, count in tenant.per_su.items():
            used[pod] = used.get(pod, 0) + count
    sizes = dict(room.select("pod", "room").iter_rows())
    for (kind,), own in room.group_by("kind", maintain_order=True):
        members = [(i, tenant) for i, tenant in enumerate(tenants) if tenant.kind == kind]
        largest = max(own["room"].to_list())
        better = _better_order([tenant.nodes for _, tenant in members], own["room"].to_list())
        for i, tenant in members:
            if tenant.crosses:
                whole = all(used[pod] == sizes[pod] == count for pod, count in tenant.per_su.items())
                why, fix = _too_large(tenant.nodes, largest, whole) if tenant.nodes > largest else _no_room(tenant.nodes, largest, better)
                what = f"{tenant.name} crosses SU borders: {_places(tenant.per_su)}"
                problems.append(Problem("tenant-crosses", f"tenants.{i}", what, f"{why}; what its nodes in different SUs send each other passes the spines", fix, "warning"))
    return problems


def _better_order(wanted: Sequence[int], room: Sequence[int]) -> str:
    """What another order of the list would do, where it makes fewer tenants cross."""
    now = crossing(wanted, room)
    then, first = min((crossing(sorted(wanted, reverse=first == "largest"), room), first) for first in ("largest", "smallest"))
    return f"list the {first} tenants first: then {then or 'none'} of them cross{'es' if then == 1 else ''} SU borders, not {now}" if then < now else ""


def _too_large(nodes: int, largest: int, whole: bool) -> tuple[str, str]:
    why = f"an SU holds {_nodes(largest)}, the tenant has {nodes:,}"
    if whole:
        return f"{why}; it has its SUs alone", f"keep it, or split it into tenants of at most {_nodes(largest)}"
    return why, f"make it {nodes // largest * largest:,} or {(nodes // largest + 1) * largest:,} nodes, whole SUs, and name it early in the list; then it shares no leaf"


def _no_room(nodes: int, largest: int, better: str) -> tuple[str, str]:
    why = f"no SU has {_nodes(nodes)} left once the tenants before it in the list have theirs"
    return why, better or f"name it earlier in the list, or choose sizes of which some add up to the {_nodes(largest)} of an SU"


def sharing_notes(tenants: Sequence[Tenant], switches: pl.DataFrame, devices: pl.DataFrame) -> list[Problem]:
    """A note for each set of tenants that meet on leaves."""
    notes = []
    for numbers, leaves in shared_leaves(switches).iter_rows():
        names = [tenants[n].name for n in numbers]
        first = devices["device"][leaves[0]]
        which = f"leaf {first}" if len(leaves) == 1 else f"{len(leaves)} leaves, {first} the first"
        what = f"{_some(names, NAMES_SHOWN)} share {which}"
        notes.append(Problem("tenant-shares-leaf", "tenants", what, "their traffic meets on these switches: numbers keep it apart, not its bandwidth", level="note"))
    return notes


def _places(per_su: Mapping[int, int]) -> str:
    return _some([f"{count:,} in SU {pod}" for pod, count in per_su.items()], SUS_SHOWN, f"{_nodes(sum(per_su.values()))}, ")


def _some(words: Sequence[str], shown: int, before: str = "") -> str:
    """a, b and c; of a long list the beginning and how many more."""
    head, rest = list(words[:shown]), len(words) - shown
    last = f"{rest} more" if rest > 0 else head.pop()
    return before + (f"{', '.join(head)} and {last}" if head else last)


def _nodes(count: int) -> str:
    return f"{count:,} node{'' if count == 1 else 's'}"
