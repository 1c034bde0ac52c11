"""Slurm hostlists: gpu-[001-032] for gpu-001 to gpu-032; `expand(fold(names))` gives the names back in order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby, pairwise, product
from math import prod

NODES_MAX = 65_536
"""Most nodes Slurm manages (MAX_SLURM_NODES)."""

RANGE_MAX = 64 * 1024
"""Most names that Slurm expands from one range (MAX_RANGE of its hostlist)."""

WORD_MAX = 1 << 19
"""Most names of one word that are spelled out here, far above what Slurm manages."""

DIGITS_MAX = 9
"""Longer numbers are spelled out; Slurm reads a number into a machine word."""

NUMBERED = re.compile(rf"^(.*?)([0-9]{{1,{DIGITS_MAX}}})$", re.DOTALL)
FORBIDDEN = re.compile(r"[\s,\[\]=#]|^$")
RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


class HostlistError(ValueError):
    """A hostlist that Slurm refuses or reads as something else: `what` is wrong, and the way out."""

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(f"not a hostlist: {what}")


def fold(names: Iterable[str]) -> str:
    """Fold names, in the order given, into a hostlist that every Slurm reads.

    Only numbers of equal width at the end of a name share a bracket, for zero padding is significant.
    Raises ValueError for names that Slurm reads as something else.
    """
    split = [_split(name) for name in names]
    words = []
    for (prefix, width), group in groupby(split, key=lambda part: (part[0], len(part[1]))):
        numbers = [digits for _, digits in group]
        if not width:
            words += [prefix] * len(numbers)
        elif len(numbers) == 1:
            words.append(prefix + numbers[0])
        else:
            words.append(f"{prefix}[{','.join(_ranges(numbers, width))}]")
    return ",".join(words)


def expand(text: str, tail: bool = False) -> list[str]:
    """Names of a hostlist in order; `tail` allows text after the last bracket, as Slurm does from 23.11.

    Raises HostlistError when it is malformed, or when a word of it names more than half a million nodes.
    """
    return [name for word in words(text) for name in expand_word(word, tail)]


def words(text: str) -> list[str]:
    """Split a hostlist at its commas outside brackets; raises HostlistError for open brackets and empty words."""
    found = re.findall(r"(?:\[[^\[\]]*\]|[^,\[\]])+|,", text)
    if "".join(found) != text:
        raise HostlistError(f"brackets in {short(text)!r} do not match", "close each [ with one ], without brackets inside")
    if text and (found[0] == "," or found[-1] == "," or any(a == b == "," for a, b in pairwise(found))):
        raise HostlistError(f"a comma of {short(text)!r} has no name beside it", "remove the comma, or add the name that is missing")
    return [word for word in found if word != ","]


def expand_word(word: str, tail: bool = False) -> list[str]:
    """Names of one word, such as a[1-2]b[01-10]; raises HostlistError as `expand` does."""
    parts = re.split(r"\[([^\[\]]*)\]", word)
    plain, brackets = parts[::2], [_checked(inside, word) for inside in parts[1::2]]
    strange = sorted({c for text in plain if text for c in FORBIDDEN.findall(text)})
    if strange:
        raise HostlistError(f"{short(word)!r} has {' '.join(map(repr, strange))} in a name", "write names of letters, digits, - and _")
    if brackets and plain[-1] and not tail:
        raise HostlistError(f"{short(word)!r} has text after its last bracket", "spell the names out, or ask for the rules of Slurm 23.11 or later")
    if prod(sum(last - first + 1 for first, last, _ in bracket) for bracket in brackets) > WORD_MAX:
        raise HostlistError(f"{short(word)!r} names more than {WORD_MAX:,} nodes; Slurm manages {NODES_MAX:,}", "list the nodes that exist")
    columns = [[f"{number:0{width}d}" for first, last, width in bracket for number in range(first, last + 1)] for bracket in brackets]
    return ["".join(text + number for text, number in zip(plain, (*chosen, ""), strict=True)) for chosen in product(*columns)]


def short(text: str) -> str:
    """The text, or the beginning of a long one, for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _checked(inside: str, word: str) -> list[tuple[int, int, int]]:
    """(first, last, width) of each range between two brackets; the first number sets the width."""
    ranges = []
    for part in inside.split(","):
        found = RANGE.fullmatch(part)
        if not found:
            raise HostlistError(f"{short(part)!r} in {short(word)!r} is not a range", "write numbers and first-last, parted by commas, without spaces")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise HostlistError(f"range {part} in {short(word)!r} runs backwards", f"write {found[2]}-{found[1]}")
        if last - first >= RANGE_MAX:
            raise HostlistError(f"range {part} in {short(word)!r} has {last - first + 1:,} names, Slurm expands {RANGE_MAX:,}", "list the nodes that exist")
        ranges.append((first, last, len(found[1])))
    return ranges


def _split(name: str) -> tuple[str, str]:
    """(prefix, digits at the end), digits "" when there are none."""
    if FORBIDDEN.search(name):
        raise ValueError(f"{name!r} cannot stand in a hostlist")
    found = NUMBERED.match(name)
    return (found[1], found[2]) if found and not found[1][-1:].isdecimal() else (name, "")


def _ranges(digits: list[str], width: int) -> list[str]:
    """Ascending runs as first-last, other numbers alone."""
    runs: list[tuple[int, int]] = []
    for number in map(int, digits):
        if runs and number == runs[-1][1] + 1 and number - runs[-1][0] < RANGE_MAX:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return [f"{first:0{width}d}" if first == last else f"{first:0{width}d}-{last:0{width}d}" for first, last in runs]
