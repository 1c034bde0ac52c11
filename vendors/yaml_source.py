"""YAML with positions: every value knows its line, duplicate keys and tabs are refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..problems import DesignError, Problem, did_you_mean

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Loc = tuple[str | int, ...]
MAX_BYTES = 8_000_000
VALUES_MAX = 500_000
Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Source:
    """Plain data read from one YAML text, with the line (from 1) of every key and list item."""

    name: str
    data: Any
    lines: dict[Loc, int] = field(default_factory=dict)
    included: dict[Loc, Source] = field(default_factory=dict)
    """Places whose value stands in a file of its own."""
    labels: dict[Loc, str] = field(default_factory=dict)
    """Places that have a name instead of a line, such as command-line flags."""

    def where(self, loc: Loc) -> str:
        """Return `file:line` of the deepest known part of `loc`."""
        for end in range(len(loc), -1, -1):
            if loc[:end] in self.included:
                return self.included[loc[:end]].where(loc[end:])
            if loc[:end] in self.labels:
                return self.labels[loc[:end]]
            if loc[:end] in self.lines:
                return f"{self.name}:{self.lines[loc[:end]]}"
        return self.name


def read_yaml(path: Path, rule: str = "file") -> Source:
    """Read one YAML file; raises DesignError when it can't be read, is empty, too large or malformed."""
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise DesignError([Problem(rule, str(path), "is a directory, not a file", fix="name the YAML file inside it")]) from None
    except FileNotFoundError:
        siblings = [p.name for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        fix = did_you_mean(path.name, siblings) if siblings else "write a first design with `railplan new`"
        raise DesignError([Problem(rule, str(path), "there is no such file", fix=fix)]) from None
    except OSError as error:
        raise DesignError([Problem(rule, str(path), f"cannot be read: {error.strerror}", fix="mend its permissions or path")]) from None
    if len(raw) > MAX_BYTES:
        raise DesignError([Problem(rule, str(path), f"is {len(raw):,} bytes; more than {MAX_BYTES:,} is not a design", fix="name the right file")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DesignError([Problem(rule, str(path), f"is not UTF-8 text (byte {error.start})", fix="save it as UTF-8")]) from None
    return parse_yaml(text, str(path), rule)


def parse_yaml(text: str, name: str, rule: str = "yaml") -> Source:
    """Parse YAML text into plain data with positions; raises DesignError with the line of each fault."""
    problems: list[Problem] = []
    if not text.strip():
        raise DesignError([Problem(rule, name, "is empty", fix=_first(rule))])
    tabs = [n for n, line in enumerate(text.splitlines(), 1) if "\t" in line[: len(line) - len(line.lstrip())]]
    if tabs:
        raise DesignError([Problem(rule, f"{name}:{n}", "a tab in the indentation", "YAML indents with spaces only", "replace the tab by spaces") for n in tabs])
    try:
        root = yaml.compose(text, Loader=Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        what = str(getattr(error, "problem", None) or error).split("\n")[0]
        raise DesignError([Problem(rule, f"{name}{line}", f"is not valid YAML: {what}", fix="mend the syntax at that line")]) from None
    except RecursionError:
        raise DesignError([Problem(rule, name, "is nested too deep", fix="a design needs a handful of levels")]) from None
    if root is None:
        raise DesignError([Problem(rule, name, "holds only comments", fix=_first(rule))])
    lines: dict[Loc, int] = {(): root.start_mark.line + 1}
    data = _plain(root, (), lines, problems, name, rule, frozenset())
    if problems:
        raise DesignError(problems)
    return Source(name, data, lines)


def _guide(rule: str) -> str:
    """Where a reader finds what a field takes."""
    return "the shipped parts of its kind show what it takes" if rule == "catalog" else "see the field reference (fabric/DESIGN.md) or `railplan schema` for what it takes"


def _first(rule: str) -> str:
    """What to write in place of an empty file."""
    return "remove it, or copy a part file of the shipped catalog" if rule == "catalog" else "write a first design with `railplan new`"


def _plain(node: Any, loc: Loc, lines: dict[Loc, int], problems: list[Problem], name: str, rule: str, above: frozenset[int]) -> Any:
    if len(lines) > VALUES_MAX:
        raise DesignError([Problem(rule, name, f"holds more than {VALUES_MAX:,} values once its aliases are written out", fix="remove the aliases")])
    if id(node) in above:
        problems.append(Problem(rule, f"{name}:{node.start_mark.line + 1}", "an alias that contains itself", fix="remove the alias"))
        return None
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                problems.append(Problem(rule, f"{name}:{line}", "a key that is a list or mapping", fix="keys are plain words"))
                continue
            key = key_node.value
            if key in result:
                first = lines[(*loc, key)]
                problems.append(Problem(rule, f"{name}:{line}", f"key {key!r} stands twice (first in line {first})", "the second would silently win", "keep one"))
                continue
            lines[(*loc, key)] = line
            result[key] = _plain(value_node, (*loc, key), lines, problems, name, rule, above | {id(node)})
        return result
    if isinstance(node, yaml.SequenceNode):
        items = []
        for i, child in enumerate(node.value):
            lines[(*loc, i)] = child.start_mark.line + 1
            items.append(_plain(child, (*loc, i), lines, problems, name, rule, above | {id(node)}))
        return items
    return _scalar(node, problems, name, rule)


def _scalar(node: Any, problems: list[Problem], name: str, rule: str) -> Any:
    tag = node.tag.rsplit(":", 1)[-1]
    text = node.value
    try:
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() in ("true", "yes", "on")
        if tag == "int" and re.fullmatch(r"[+-]?(0|[1-9][0-9_]{0,30})", text):  # else text: YAML 1.1 would read 2:1 as 121 and 010 as 8
            return int(text.replace("_", ""))
        if tag == "float" and text.lower().lstrip("+-") in (".nan", ".inf"):
            problems.append(Problem(rule, f"{name}:{node.start_mark.line + 1}", f"{text} is not a finite number", fix="write a number"))
            return None
        if tag == "float" and ":" not in text:
            return float(text.replace("_", ""))
    except ValueError:
        problems.append(Problem(rule, f"{name}:{node.start_mark.line + 1}", f"{text!r} is not a number", fix="quote it if it is text"))
        return None
    if tag in ("str", "int", "float", "timestamp"):
        return text
    problems.append(Problem(rule, f"{name}:{node.start_mark.line + 1}", f"tag {node.tag!r} has no meaning here", fix="write plain values"))
    return None


def validate(model: type[Model], source: Source, rule: str = "design") -> Model:
    """Build `model` from a source; raises DesignError with file and line of every field that is wrong."""
    if not isinstance(source.data, dict):
        raise DesignError([Problem(rule, source.where(()), "is not a mapping of fields", fix="write `field: value` lines")])
    try:
        return model.model_validate(source.data)
    except ValidationError as error:
        problems = [_problem(model, source, detail, rule) for detail in error.errors()]
        raise DesignError(sorted(problems, key=lambda p: _line_of(p.where))) from None


def _line_of(where: str) -> tuple[str, int]:
    """Sort key of `file:line`."""
    name, _, line = where.rpartition(":")
    return (name, int(line)) if line.isdigit() else (where, 0)


def _problem(model: type[BaseModel], source: Source, detail: ErrorDetails, rule: str) -> Problem:
    loc: Loc = tuple(detail["loc"])
    dotted = ".".join(str(part) for part in loc) or "the file"
    where = source.where(loc)
    if detail["type"] == "extra_forbidden":
        known = _fields_at(model, loc[:-1])
        return Problem(rule, where, f"unknown field {dotted!r}", fix=did_you_mean(str(loc[-1]), known))
    if detail["type"] == "missing":
        return Problem(
            rule,
            where,
            f"{dotted} is missing",
            fix="add it; the shipped parts of its kind show what it takes" if rule == "catalog" else "add it; `railplan schema` and the field reference tell what it takes",
        )
    message = detail["msg"].removeprefix("Value error, ")
    what, _, fix = message.partition(" | ")
    value = detail["input"]
    shown = f" (given: {value!r})" if isinstance(value, str | int | float | bool) or value is None else ""
    if detail["type"] == "value_error":
        return Problem(rule, where, f"{dotted}: {what}", fix=fix)
    if detail["type"] == "literal_error":
        fix = did_you_mean(str(value), [word.strip("'") for word in re.findall(r"'[^']+'|\d+", what)])
    return Problem(
        rule,
        where,
        f"{dotted}: {what[:1].lower()}{what[1:]}{shown}",
        fix=fix or ("the shipped parts of its kind show what it takes" if rule == "catalog" else "see the field reference for what it takes"),
    )


def _fields_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """Names of the fields the model knows at a place in the document, aliases included."""
    schema = model.model_json_schema()
    defs = schema.get("$defs", {})

    def resolve(part: dict[str, Any]) -> list[dict[str, Any]]:
        if "$ref" in part:
            return resolve(defs[part["$ref"].rsplit("/", 1)[-1]])
        found = [inner for key in ("anyOf", "oneOf", "allOf") for option in part.get(key, []) for inner in resolve(option)]
        return found or [part]

    here = resolve(schema)
    for step in loc:
        there: list[dict[str, Any]] = []
        for part in here:
            if isinstance(step, int) and isinstance(part.get("items"), dict):
                there += resolve(part["items"])
            elif step in part.get("properties", {}):
                there += resolve(part["properties"][step])
            elif isinstance(part.get("additionalProperties"), dict):
                there += resolve(part["additionalProperties"])
        here = there or here
    return [name for part in here for name in part.get("properties", {})]
