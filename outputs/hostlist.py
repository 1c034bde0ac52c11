"""Slurm hostlists: gpu-[001-032] for gpu-001 to gpu-032; `expand(fold(names))` gives the names back in order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

RANGE_MAX = 64 * 1024
"""Most names that Slurm expands from one range (MAX_RANGE of its hostlist)."""

DIGITS_MAX = 9
"""Longer numbers are spelled out; Slurm reads a number into a machine word."""

NUMBERED = re.compile(rf"^(.*?)([0-9]{{1,{DIGITS_MAX}}})$")
FORBIDDEN = re.compile(r"[\s,\[\]=#]|^$")
BRACKETED = re.compile(r"([^,\[\]]*)\[([^\]]*)\]")


def fold(names: Iterable[str]) -> str:
    """Fold names, in the order given, into a hostlist.

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


def expand(text: str) -> list[str]:
    """Names of a hostlist in order; raises ValueError when it is malformed."""
    names: list[str] = []
    at = 0
    while at < len(text):
        found = BRACKETED.match(text, at)
        if found:
            names += [found[1] + number for part in found[2].split(",") for number in _numbers(part)]
            at = found.end()
        else:
            word = text[at:].partition(",")[0]
            if not word or FORBIDDEN.search(word):
                raise ValueError(f"{text!r} is not a hostlist: {word!r} at {at}")
            names.append(word)
            at += len(word)
        if at < len(text):
            if text[at] != "," or at + 1 == len(text):
                raise ValueError(f"{text!r} is not a hostlist: {text[at:]!r} at {at}")
            at += 1
    return names


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


def _numbers(part: str) -> list[str]:
    found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
    if not found or (found[2] and int(found[2]) < int(found[1])):
        raise ValueError(f"{part!r} is not a range of a hostlist")
    width = len(found[1])
    return [f"{number:0{width}d}" for number in range(int(found[1]), int(found[2] or found[1]) + 1)]
