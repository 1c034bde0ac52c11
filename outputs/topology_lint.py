"""Checks a topology.conf that people already have: what stops Slurm, and what it loads without a word to hang jobs later."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from ..problems import DesignError, Problem
from .hostlist import expand
from .slurm_block_lint import block_flaws
from .slurm_lines import BLOCK, STOPS, SWITCH, TEARING, Entry, Flaw, read_lines
from .slurm_node_lint import node_flaws, some, spell
from .slurm_rules import NAME_MAX, PASSES_MAX, SWITCHES_SLOW, YAML_FROM, release

BYTES_MAX = 64 * 1024 * 1024
"""No topology.conf is larger: 65,536 names of 64 characters are 4 MB."""

FLAWS_MAX = 1000
"""Problems told of one file; the number of the others is."""

Children = Mapping[str, Sequence[str]]
"""Switch -> the switches it lists, known or not."""


BLOCK_LINE = re.compile(rb"(?im)^\s*block(name|sizes)\s*=")
YAML_START = re.compile(rb"\s*(#[^\n]*\n\s*)*(---\s*\n\s*)?- *topology\s*:")


def lint_file(path: Path, plan: Path | None = None, nodes: str | None = None, version: str | None = None) -> list[Problem]:
    """Problems of a file, by line; raises DesignError when it, the plan folder, the host list or the release is no good.

    Without a release, block files are read as of 24.05, others as of 23.11. The nodes that must be in it come from the devices.csv of a plan folder, or from a host list.
    """
    data = _read(path)
    number = release(version if version is not None else "24.05" if BLOCK_LINE.search(data) else "23.11")
    if YAML_START.match(data):
        why, fix = "topology.yaml has another form, and this reads topology.conf", "lint the topology.conf; Slurm 25.05 and later take topology.yaml instead of it"
        raise DesignError([Problem("topology", str(path), "is a topology.yaml", why, fix)])
    known = _plan_nodes(plan) if plan else _listed(nodes) if nodes is not None else None
    return lint(data, str(path), known, number)


def lint(data: bytes, file: str, known: Mapping[str, str] | None = None, version: tuple[int, int] = (23, 11)) -> list[Problem]:
    """Problems of the bytes of a file; `known` gives every node of the cluster with its model, "" when not known."""
    entries, flaws = read_lines(data)
    switches, blocks = [e for e in entries if e.key == SWITCH], [e for e in entries if e.key == BLOCK]
    if switches and blocks:
        first = blocks[0] if blocks[0].line > switches[0].line else switches[0]
        flaws.append(
            Flaw(first.line, "two-forms", "both SwitchName and BlockName", f"a plugin reads one of them: {STOPS} at the other", "keep the tree and the blocks in two files")
        )
    torn = any(flaw.rule in TEARING for flaw in flaws)
    if not switches and not blocks and not torn:
        flaws.append(Flaw(0, "empty", "no switch and no block", "several releases of Slurm crash again and again on it", "remove the file, or list the switches"))
    elif switches:
        flaws += tree_flaws(switches, known, version, {flaw.line for flaw in flaws if flaw.rule in TEARING})
    elif blocks:
        flaws += block_flaws(entries, known, version, torn)
    flaws.sort(key=lambda flaw: flaw.line)
    if len(flaws) > FLAWS_MAX:
        flaws[FLAWS_MAX:] = [Flaw(0, "more", f"{len(flaws) - FLAWS_MAX:,} more problems", "so many say that the file is no topology.conf", "mend these first")]
    return [flaw.problem(file) for flaw in flaws]


def tree_flaws(switches: Sequence[Entry], known: Mapping[str, str] | None, version: tuple[int, int], torn: Set[int]) -> list[Flaw]:
    """Flaws of the tree form; `torn` are lines that could not be read whole."""
    by_name: dict[str, Entry] = {}
    for entry in switches:
        by_name.setdefault(entry.name, entry)
    members, misspelt = spell(((e, e.fields["Nodes"]) for e in switches if e.fields.get("Nodes") and not e.fields.get("Switches")), known, version)
    inner, more = spell(((e, e.fields["Switches"]) for e in by_name.values() if e.fields.get("Switches") and not e.fields.get("Nodes")), dict.fromkeys(by_name, ""), version)
    children: Children = {**dict.fromkeys(by_name, ()), **{e.name: names for e, names in inner}}
    flaws = [*misspelt, *more, *_alone(switches, by_name, version, torn)]
    tearing = bool(torn) or any(flaw.rule in TEARING for flaw in flaws)
    shape = [*_parents(by_name, children, tearing), *_cycles(by_name, children)]
    if not any(flaw.rule == "cycle" for flaw in shape):
        shape += _order(by_name, children)
    if not tearing and not any(flaw.level == "error" for flaw in shape):
        shape += _roots(by_name, children)
    if len(switches) > SWITCHES_SLOW:
        what = f"{len(switches):,} switches"
        why = "the table of distances is cubic in them: about 1 s at 1,000, 5 to 9 s at 2,000"
        flaws.append(Flaw(0, "many-switches", what, why, "write one SwitchName for each SU, not one for each leaf", "warning"))
    return [*flaws, *shape, *node_flaws(members, known, "switch", tearing)]


def _alone(switches: Sequence[Entry], by_name: Mapping[str, Entry], version: tuple[int, int], torn: Set[int]) -> Iterator[Flaw]:
    """What is wrong with one line by itself, and names given twice."""
    for entry in switches:
        nodes, inside = entry.fields.get("Nodes"), entry.fields.get("Switches")
        if by_name[entry.name] is not entry:
            yield Flaw(entry.line, "duplicate", f"{some([entry.name])} is already defined in line {by_name[entry.name].line}", STOPS, "give it another name, or join the two")
        if len(entry.name) > NAME_MAX:
            yield Flaw(entry.line, "long-name", f"{entry.name[:20]}... has {len(entry.name)} characters", f"a SwitchName has at most {NAME_MAX}", "shorten it")
        if re.search(r"[\[\],]", entry.name):
            yield Flaw(
                entry.line, "name-list", f"{some([entry.name])} is one name to Slurm", "SwitchName is not expanded, so its switches do not exist", "write a line for each switch"
            )
        if nodes and inside:
            yield Flaw(entry.line, "both", f"{some([entry.name])} has Nodes and Switches", STOPS, "put the nodes on a switch of their own and list that under Switches")
        if not nodes and not inside and entry.line not in torn:
            late = version >= YAML_FROM
            why = "Slurm takes it for an empty leaf" if late else f"{STOPS}, before 25.05"
            yield Flaw(entry.line, "neither", f"{some([entry.name])} has neither Nodes nor Switches", why, "list what is on it, or remove the line", "warning" if late else "error")
        speed = entry.fields.get("LinkSpeed")
        if speed is not None and not re.fullmatch(r"[0-9]+", speed):
            read = re.fullmatch(r"[0-9]+[kKmM]|UNLIMITED|INFINITE", speed)
            why = "Slurm reads it and never uses it" if read else f"it is a bare number: {STOPS}"
            yield Flaw(entry.line, "link-speed", f"LinkSpeed={some([speed])}", why, "leave LinkSpeed out, it is never used", "warning" if read else "error")


def _parents(by_name: Mapping[str, Entry], children: Children, torn: bool) -> Iterator[Flaw]:
    """Children that do not exist (unless lines are `torn`), that are listed twice, or that have two parents."""
    parent: dict[str, str] = {}
    for name, inside in children.items():
        line = by_name[name].line
        lost = [child for child in dict.fromkeys(inside) if child not in by_name]
        if lost and not torn:
            same = {known.lower(): known for known in by_name}
            near = same.get(lost[0].lower())
            fix = f"write {near}: capitals count" if near else "define it in a line of its own, or remove it"
            yield Flaw(line, "unknown-child", f"{name} lists {some(lost)}, which no line defines", STOPS, fix)
        if name in inside:
            yield Flaw(line, "cycle", f"{name} lists itself", STOPS, "remove it from its own list")
        twice = [child for child, count in Counter(inside).items() if count > 1]
        if twice:
            yield Flaw(line, "child-twice", f"{name} lists {some(twice)} twice", "", "name each switch once", "warning")
        shared: dict[str, list[str]] = {}
        for child in dict.fromkeys(inside):
            if parent.setdefault(child, name) != name and child in by_name:
                shared.setdefault(parent[child], []).append(child)
        for other, both in shared.items():
            what = f"{some(both)} below {name} and below {other} (line {by_name[other].line})"
            yield Flaw(line, "two-parents", what, "Slurm loads this and keeps the last parent: jobs are placed by half a tree", "keep each switch below one")


def _cycles(by_name: Mapping[str, Entry], children: Children) -> Iterator[Flaw]:
    """Switches that are their own ancestors, one flaw for each ring found."""
    done: set[str] = set()
    for start in children:
        path: dict[str, Iterator[str]] = {} if start in done else {start: iter(children[start])}
        while path:
            name, rest = next(reversed(path.items()))
            child = next((c for c in rest if c in children and c not in done and c != name), None)
            if child is None:
                done.add(name)
                del path[name]
            elif child in path:
                ring = [*list(path)[list(path).index(child) :], child]
                shown = " > ".join(ring if len(ring) < 8 else [*ring[:6], "...", child])
                yield Flaw(by_name[name].line, "cycle", f"switches are their own ancestors: {shown}", f'{STOPS} with "is not a tree"', f"take {child} out of the list of {name}")
            else:
                path[child] = iter(children[child])


def _order(by_name: Mapping[str, Entry], children: Children) -> Iterator[Flaw]:
    """More passes than Slurm makes, which happens when parents stand before their children in a deep tree."""
    place = {name: i for i, name in enumerate(by_name)}
    passes: dict[str, int] = {}
    stack = list(by_name)
    while stack:
        name = stack[-1]
        waiting = [c for c in children[name] if c in by_name and c not in passes and c != name]
        if name in passes or not waiting:
            passes.setdefault(name, max((passes[c] + (place[c] > place[name] and bool(children[c])) for c in children[name] if c in passes), default=1))
            stack.pop()
        else:
            stack += waiting
    worst = max(passes, key=lambda name: passes[name])
    if passes[worst] > PASSES_MAX:
        what = f"{worst} stands before switches below it, {passes[worst]} deep"
        yield Flaw(by_name[worst].line, "order", what, f"Slurm looks {PASSES_MAX} times for children defined later: {STOPS}", "write children before their parents")


def _roots(by_name: Mapping[str, Entry], children: Children) -> Iterator[Flaw]:
    """More than one switch without a parent."""
    below = {child for inside in children.values() for child in inside}
    roots = [name for name in by_name if name not in below]
    if len(roots) > 1:
        what = f"no common root: {len(roots):,} switches are below no other: {some(roots)}"
        why = "Slurm logs it at most; no job can span them"
        yield Flaw(by_name[roots[1]].line, "no-root", what, why, f"add a line such as SwitchName=top Switches={some(roots)}")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as source:
            data = source.read(BYTES_MAX + 1)
    except OSError as error:
        raise DesignError([Problem("file", str(path), f"cannot be read: {error.strerror or error}", fix="name a topology.conf")]) from None
    if len(data) > BYTES_MAX:
        raise DesignError([Problem("file", str(path), f"is larger than {BYTES_MAX >> 20} MB", "no topology.conf is", "name a topology.conf")])
    return data


def _plan_nodes(folder: Path) -> dict[str, str]:
    """Node -> model, from the devices.csv of a plan."""
    path = folder / "devices.csv"
    try:
        with path.open(encoding="utf-8", newline="") as source:
            nodes = {row["device"]: row["model"] for row in csv.DictReader(source) if row["role"] == "node"}
    except OSError as error:
        raise DesignError(
            [Problem("plan", str(path), f"cannot be read: {error.strerror or error}", fix="name a folder that `railplan plan -o` wrote, with csv among its formats")]
        ) from None
    except (ValueError, KeyError, csv.Error):
        raise DesignError([Problem("plan", str(path), "is not the devices.csv of a plan", fix="write the plan again")]) from None
    if not nodes:
        raise DesignError([Problem("plan", str(path), "names no nodes", fix="write the plan again")])
    return nodes


def _listed(text: str) -> dict[str, str]:
    if not text.strip():
        raise DesignError([Problem("hostlist", "--nodes", "names no node", fix="write a host list such as gpu-[001-128], or leave --nodes out")])
    try:
        return dict.fromkeys(expand(text, tail=True), "")
    except ValueError as error:
        fix = getattr(error, "fix", "")
        raise DesignError([Problem("hostlist", "--nodes", str(error), fix=fix)]) from None
