"""The lines of a topology.conf as Slurm's parser takes them: joined, without comments, split into key=value.

What stops the parser is a flaw; the line is then read as it was meant, so that later checks say no more than they must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..problems import Level, Problem, did_you_mean
from .hostlist import short

SWITCH, BLOCK, SIZES = "SwitchName", "BlockName", "BlockSizes"
KEYS: Mapping[str, tuple[str, ...]] = {SWITCH: ("Nodes", "Switches", "LinkSpeed"), BLOCK: ("Nodes",), SIZES: ()}
"""Key that begins a line -> the keys that may follow it."""

EVERY_KEY = {key.lower(): key for first, more in KEYS.items() for key in (first, *more)}
PAIR = re.compile(r'\s*([A-Za-z0-9_.]+)\s*[-+*/]?=\s*("[^"]*"|\S*)')
WORD = re.compile(r"\s*(\S+)")
COMMA = re.compile(r"\s+,")
NEXT_PAIR = re.compile(rf"({'|'.join(EVERY_KEY)})\s*=", re.IGNORECASE)
LOOKALIKES = {ord(c): plain for plain, group in (("-", "\u2010\u2011\u2012\u2013\u2014\u2212"), (" ", "\u00a0\u2007\u202f"), ('"', "\u201c\u201d")) for c in group}
"""What word processors make of a dash, a blank and quotes."""

COMMENT = re.compile(r"(?<!\\)#")
STOPS = "slurmctld stops when it starts"
TEARING = frozenset(
    {
        "encoding",
        "characters",
        "syntax",
        "comment",
        "unknown-key",
        "key-twice",
        "empty-value",
        "hostlist",
        "lost-prefix",
        "too-many-nodes",
        "name-list",
        "duplicate",
        "both",
        "neither",
    }
)
"""Rules after which some names are missing here, so that what the file as a whole lacks cannot be told."""


@dataclass(frozen=True)
class Flaw:
    """Something wrong at a line, counted from 1; 0 stands for the file as a whole."""

    line: int
    rule: str
    what: str
    why: str = ""
    fix: str = ""
    level: Level = "error"

    def problem(self, file: str) -> Problem:
        """The flaw as a problem of a file."""
        return Problem(self.rule, f"{file}:{self.line}" if self.line else file, _shown(self.what), self.why, _shown(self.fix), self.level)


@dataclass(frozen=True)
class Entry:
    """One line: the key it begins with, its value, and the values of the keys that follow, by their usual spelling."""

    line: int
    key: str
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


def _shown(text: str) -> str:
    """The text without characters that would steer a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def read_lines(data: bytes) -> tuple[list[Entry], list[Flaw]]:
    """Entries in file order, and what Slurm's parser would refuse or silently lose."""
    flaws: list[Flaw] = []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        return [], [
            Flaw(1, "encoding", "is not plain text (UTF-16, or zero bytes)", "Slurm drops the rest of a line after a zero byte", "save the file as UTF-8 without a mark, or ASCII")
        ]
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        flaws.append(Flaw(1, "byte-order-mark", "begins with a UTF-8 byte order mark", f"Slurm takes it for part of the first key: {STOPS}", "save the file as UTF-8 without it"))
    entries: list[Entry] = []
    for line, text in _whole_lines(data.decode("utf-8", "replace"), flaws):
        if text.split(maxsplit=1)[0].lower() == "include":
            flaws.append(Flaw(line, "include", f"{short(text.strip())} is not followed", "only this file is read here", "check that file as well", "warning"))
            continue
        strange = sorted({c for c in text if not c.isascii() or not (c.isprintable() or c in "\t\r")})
        if strange:
            fix = "write plain ASCII: - for a dash, a plain blank, straight quotes"
            flaws.append(Flaw(line, "characters", f"holds {', '.join(f'U+{ord(c):04X}' for c in strange[:5])}", "Slurm takes it for part of a name", fix))
            text = text.translate(LOOKALIKES)
        pairs = list(_pairs(line, text, flaws))
        entry = _entry(line, pairs, flaws)
        if entry:
            entries.append(entry)
    return entries, flaws


def _whole_lines(text: str, flaws: list[Flaw]) -> Iterator[tuple[int, str]]:
    """Lines that say something: continued ones joined, comments gone, escapes undone; with the number of the first."""
    begun, kept = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        comment = COMMENT.search(line)
        if comment:
            word = re.match(r"\S*", line[comment.start() - len(re.split(r"\s", line[: comment.start()])[-1]) :])
            if word and re.search(r"[\w.-]#[\w.-]", word[0]):
                what = f"# in {short(word[0])!r} begins a comment"
                flaws.append(Flaw(number, "comment", what, "Slurm drops the rest of the line", "put a blank before #, or take it out of the name"))
            line = line[: comment.start()]
        line = line.rstrip()
        begun = begun or number
        if line.endswith("\\"):
            kept += line[:-1]
            continue
        whole = re.sub(r"\\(.)", r"\1", kept + line)
        if whole.strip():
            yield begun, whole
        begun, kept = 0, ""
    if kept.strip():
        yield begun, kept


def _pairs(line: int, text: str, flaws: list[Flaw]) -> Iterator[tuple[str, str]]:
    """(key, value) in order; lists torn by blanks are put together again."""
    text = text.rstrip()
    at, strays = 0, []
    while at < len(text):
        found = PAIR.match(text, at)
        if not found:
            word = WORD.match(text, at)
            strays.append(word[1] if word else "")
            at = word.end() if word else len(text)
            continue
        key, value, at = found[1], found[2], found.end()
        if not value.startswith('"') and NEXT_PAIR.match(value):
            value, at = "", found.start(2)
        value, at, torn = _together(value, text, at)
        if torn:
            flaws.append(Flaw(line, "blank-in-list", f"blanks inside the list of {key}", f"Slurm ends the value at a blank: {STOPS}", "write lists without blanks"))
        value = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
        if '"' in value:
            flaws.append(Flaw(line, "syntax", f"{key} has a quote inside its value", STOPS, "remove the quotes"))
            value = value.replace('"', "")
        yield key, value
    if strays:
        more = f" (nor {len(strays) - 1:,} more words)" if len(strays) > 1 else ""
        flaws.append(Flaw(line, "syntax", f"{short(strays[0])!r} is not key=value{more}", STOPS, "remove it, or put # before it"))


def _together(value: str, text: str, at: int) -> tuple[str, int, bool]:
    """The value with the pieces that blanks tore off it, where it ends, and whether there were any."""
    parts = [value]
    opened = value.count("[") - value.count("]")
    while (parts[-1].endswith(",") or opened > 0 or COMMA.match(text, at)) and not PAIR.match(text, at) and (piece := WORD.match(text, at)):
        parts.append(piece[1])
        opened += piece[1].count("[") - piece[1].count("]")
        at = piece.end()
    return "".join(parts), at, len(parts) > 1


def _entry(line: int, pairs: list[tuple[str, str]], flaws: list[Flaw]) -> Entry | None:
    """The entry of one line; None when it does not begin with a key that begins lines."""
    if not pairs:
        return None
    key, name = EVERY_KEY.get(pairs[0][0].lower(), pairs[0][0]), pairs[0][1]
    if key not in KEYS:
        fix = f"begin the line with {SWITCH}=" if key.lower() in EVERY_KEY else did_you_mean(key, KEYS)
        flaws.append(Flaw(line, "unknown-key", f"line begins with {short(key)}", f"{STOPS} at an unknown key, and at one in the wrong place", fix))
        return None
    if not name:
        flaws.append(Flaw(line, "empty-value", f"{key} has no value", "Slurm takes the word after it as the value", "name it"))
        return None
    fields: dict[str, str] = {}
    for word, value in pairs[1:]:
        more = EVERY_KEY.get(word.lower(), word)
        if more not in KEYS[key]:
            known = more in EVERY_KEY.values()
            fix = "begin a new line for it" if more in KEYS else f"{more} does not go with {key}: remove it" if known else did_you_mean(word, KEYS[key])
            flaws.append(Flaw(line, "unknown-key", f"{short(more)} cannot stand in a line of {key}", f"{STOPS} at an unknown key", fix))
            if more in KEYS:
                break
            continue
        if more in fields:
            flaws.append(Flaw(line, "key-twice", f"{more} stands twice", "Slurm keeps the last value only", "join the two lists with a comma"))
        fields[more] = value
    return Entry(line, key, name, fields)
