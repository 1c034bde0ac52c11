"""Checks of the block form of topology.conf: blocks of nodes, and the block sizes that jobs are planned in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .slurm_lines import BLOCK, SIZES, STOPS, TEARING, Entry, Flaw
from .slurm_node_lint import Members, node_flaws, some, spell
from .slurm_rules import BLOCK_FROM


def block_flaws(entries: Sequence[Entry], known: Mapping[str, str] | None, version: tuple[int, int], torn: bool) -> list[Flaw]:
    """Flaws of the block form; `entries` are the lines of BlockName and BlockSizes, some of them `torn`."""
    blocks, sizes = [e for e in entries if e.key == BLOCK], [e for e in entries if e.key == SIZES]
    flaws: list[Flaw] = []
    if version < BLOCK_FROM:
        why = f"topology/block with BlockSizes came with {BLOCK_FROM[0]}.{BLOCK_FROM[1]:02d}; topology/tree stops at BlockName"
        flaws.append(Flaw(blocks[0].line, "block-form", "blocks before Slurm 24.05", why, "use the tree form, or a later Slurm and --slurm-version"))
    first: dict[str, int] = {}
    for entry in blocks:
        if first.setdefault(entry.name, entry.line) != entry.line:
            flaws.append(Flaw(entry.line, "duplicate", f"{some([entry.name])} is already defined in line {first[entry.name]}", STOPS, "give it another name"))
        if not entry.fields.get("Nodes"):
            flaws.append(Flaw(entry.line, "neither", f"{some([entry.name])} has no Nodes", STOPS, "list its nodes, or remove the line"))
    members, misspelt = spell(((e, e.fields["Nodes"]) for e in blocks if e.fields.get("Nodes")), known, version)
    for extra in sizes[1:]:
        flaws.append(Flaw(extra.line, "key-twice", "BlockSizes stands twice", "Slurm keeps the last one only", "write one list"))
    torn = torn or any(flaw.rule in TEARING for flaw in [*flaws, *misspelt])
    return [*flaws, *misspelt, *_sizes(sizes, members), *node_flaws(members, known, "block", torn)]


def _sizes(sizes: Sequence[Entry], members: Members) -> Iterator[Flaw]:
    """Sizes that are not the base times powers of two, and blocks below the base."""
    if not sizes:
        yield Flaw(0, "block-sizes", "no BlockSizes", "Slurm then plans in the size of the first block", "add BlockSizes= with the nodes of a whole block", "warning")
        base = len(members[0][1]) if members else 0
    else:
        last, parts = sizes[-1], sizes[-1].name.split(",")
        numbers = [int(part) for part in parts if re.fullmatch(r"[0-9]{1,9}", part)]
        base = numbers[0] if numbers else 0
        if len(numbers) < len(parts) or 0 in numbers:
            yield Flaw(last.line, "block-sizes", f"BlockSizes={some([last.name])} is not a list of sizes", STOPS, "write numbers of nodes, such as 18,72")
        elif any(n % base or (n // base).bit_count() != 1 for n in numbers) or sorted(set(numbers)) != numbers:
            yield Flaw(
                last.line,
                "block-sizes",
                f"BlockSizes={last.name}",
                f"each size is {base} times a power of two, ascending: {STOPS}",
                f"write {base},{base * 2},{base * 4} or fewer of them",
            )
    for entry, names in members:
        if names and len(set(names)) < base:
            yield Flaw(
                entry.line, "small-block", f"{some([entry.name])} has {len(set(names))} nodes, the base size is {base}", STOPS, "lower the base size, or leave the block out"
            )
