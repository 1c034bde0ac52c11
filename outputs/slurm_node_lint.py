"""What both forms of topology.conf share in their lists of nodes: every node once, known, and spelled so that Slurm reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .hostlist import NODES_MAX, WORD_MAX, HostlistError, expand_word, fold, short, words
from .slurm_lines import Entry, Flaw
from .slurm_rules import TAIL_FROM

LIST_SHOWN = 120
"""Characters of a list of names in a message."""

Members = Sequence[tuple[Entry, Sequence[str]]]
"""Each entry with the names it lists."""

MISREAD = "Slurm refuses the list, or reads other names than were meant"
RAILS = "one SwitchName for each SU with its nodes, not one for each physical leaf"


def spell(lists: Iterable[tuple[Entry, str]], known: Mapping[str, str] | None, version: tuple[int, int]) -> tuple[Members, list[Flaw]]:
    """Expand the lists of a file, up to half a million names in all; words that are wrong are left out and become flaws."""
    flaws: list[Flaw] = []
    members: list[tuple[Entry, list[str]]] = []
    left = WORD_MAX
    for entry, text in lists:
        found: list[str] = []
        for word in _words(entry, text, flaws):
            if re.match(r"\[|[0-9]+$", word) and word not in (known or {}):
                why = "a comma outside brackets begins a new name"
                flaws.append(Flaw(entry.line, "lost-prefix", f"{short(word)!r} has lost its prefix", why, "write prefix[1-4,9] with all numbers inside one bracket"))
                continue
            try:
                names = expand_word(word, version >= TAIL_FROM)
            except HostlistError as error:
                flaws.append(Flaw(entry.line, "hostlist", error.what, MISREAD, error.fix))
                continue
            if len(names) > left:
                flaws.append(Flaw(entry.line, "too-many-nodes", f"more than {WORD_MAX:,} names up to here", f"Slurm manages {NODES_MAX:,} nodes", "list the nodes that exist"))
                return members, flaws
            left -= len(names)
            found += names
        members.append((entry, found))
    return members, flaws


def _words(entry: Entry, text: str, flaws: list[Flaw]) -> list[str]:
    """Words of a list; none when its brackets do not match, and without those that a comma too many leaves empty."""
    filled = re.sub(r",+", ",", text).strip(",")
    if filled != text:
        flaws.append(
            Flaw(entry.line, "comma", f"a comma of {short(text)!r} has no name beside it", "Slurm skips it; was a name lost?", "remove the comma, or add the name", "warning")
        )
    try:
        return words(filled)
    except HostlistError as error:
        flaws.append(Flaw(entry.line, "hostlist", error.what, MISREAD, error.fix))
        return []


def node_flaws(members: Members, known: Mapping[str, str] | None, kind: str, torn: bool) -> Iterator[Flaw]:
    """Nodes listed twice, on two entries, unknown, or, unless lists are `torn`, on none; `known` gives every node its model."""
    where: dict[str, Entry] = {}
    for entry, names in members:
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            yield Flaw(entry.line, "node-twice", f"{some(twice)} stands twice in the list of {entry.name}", "", "name each node once", "warning")
        shared: dict[str, list[str]] = {}
        for name in dict.fromkeys(names):
            if name in where:
                shared.setdefault(where[name].name, []).append(name)
            else:
                where[name] = entry
        for other, both in shared.items():
            what = f"{some(both)} on {entry.name} and on {other} (line {where[both[0]].line})"
            fix = f"keep each node on one; in a rail-optimised fabric write {RAILS}" if kind == "switch" else "keep each node in one block"
            yield Flaw(entry.line, "two-leaves" if kind == "switch" else "two-blocks", what, "Slurm loads this, and then jobs wait for nodes that are idle", fix)
    if len(where) > NODES_MAX:
        yield Flaw(0, "too-many-nodes", f"{len(where):,} nodes", f"Slurm manages {NODES_MAX:,}", "split the cluster over several controllers")
    if known is not None:
        yield from _unknown(members, known)
        yield from () if torn else _missing(where, known, kind)


def _unknown(members: Members, known: Mapping[str, str]) -> Iterator[Flaw]:
    alike: dict[str, str] = {}
    for name in known:
        alike.setdefault(_plain(name), name)
    for entry, names in members:
        strangers = [name for name in dict.fromkeys(names) if name not in known]
        if strangers:
            nearest = alike.get(_plain(strangers[0]))
            dashed = re.fullmatch(r"(.*?)([0-9]+)-([0-9]+)", strangers[0])
            fix = "remove it, or correct the name"
            if nearest:
                fix = f"write {nearest}: zeros and capitals count"
            elif dashed and dashed[1] + dashed[2] in known:
                fix = f"write {dashed[1]}[{dashed[2]}-{dashed[3]}]: a range needs brackets"
            yield Flaw(entry.line, "unknown-node", f"{entry.name} lists {some(strangers)}, unknown to the cluster", "Slurm only logs this and leaves it out", fix)


def _missing(where: Mapping[str, Entry], known: Mapping[str, str], kind: str) -> Iterator[Flaw]:
    """Nodes on no entry, model by model: a model that is missing as a whole may be meant so, as storage nodes are."""
    models: dict[str, list[str]] = {}
    for name, model in known.items():
        models.setdefault(model, []).append(name)
    for model, names in models.items():
        lost = [name for name in names if name not in where]
        if not lost:
            continue
        whole = len(lost) == len(names) and len(models) > 1
        what = f"{some(lost)}{f' ({model})' if model else ''} on no {kind}"
        why = "Slurm gives such nodes to no job that spans nodes"
        yield Flaw(0, "no-leaf" if kind == "switch" else "no-block", what, why, "add them, unless no job shall run there" if whole else "add them", "warning" if whole else "error")


def some(names: Iterable[str]) -> str:
    """Names folded, cut when long."""
    every = list(names)
    try:
        text = fold(every)
    except ValueError:
        text = ",".join(every)
    return text if len(text) <= LIST_SHOWN else f"{text[: LIST_SHOWN - 3]}... ({len(every):,} names)"


def _plain(name: str) -> str:
    """The name without capitals and without zeros before numbers."""
    return re.sub(r"0+(?=[0-9])", "", name.lower())
