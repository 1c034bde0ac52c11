"""The reference page of the design file, generated from the JSON Schema so that it cannot go stale."""

from __future__ import annotations

from typing import Any

from .design import Design

TITLE = """# Every field of the design file

Generated from the schema that `railplan schema` prints; do not edit by hand. Give the schema to your editor and it
completes and checks the file as you type. Fields without a default must be given.
"""


def reference_page() -> str:
    """Markdown with one table for each section of the design file."""
    schema = Design.model_json_schema()
    defs = schema.get("$defs", {})
    lines = [TITLE]
    _section(lines, "(top level)", schema, defs, [])
    return "\n".join(lines)


def _section(lines: list[str], path: str, part: dict[str, Any], defs: dict[str, Any], done: list[str]) -> None:
    lines += [f"## {path}", "", part.get("description", "").split("\n")[0], "", "| field | takes | default | meaning |", "|---|---|---|---|"]
    below: list[tuple[str, dict[str, Any]]] = []
    for name, field in part["properties"].items():
        takes, inner = _takes(field, defs)
        if inner is not None:
            below.append((name if path == "(top level)" else f"{path}.{name}", inner))
        default = "" if name in part.get("required", []) else _default(field)
        lines.append(f"| `{name}` | {takes} | {default} | {field.get('description', '')} |".replace(" |  |", " | |"))
    lines.append("")
    for name, inner in below:
        _section(lines, name, inner, defs, done)
    if isinstance(part.get("additionalProperties"), dict):
        _section(lines, f"{path}.NAME", _takes(part["additionalProperties"], defs)[1] or {}, defs, done)


def _takes(field: dict[str, Any], defs: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """(what the field takes, the section it opens)."""
    if "$ref" in field:
        inner = defs[field["$ref"].rsplit("/", 1)[-1]]
        return "a section, below", inner
    if "anyOf" in field:
        options = [_takes(option, defs) for option in field["anyOf"]]
        return " or ".join(dict.fromkeys(text for text, _ in options if text != "nothing")), next((inner for _, inner in options if inner), None)
    if "const" in field or "enum" in field:
        return ", ".join(f"`{v}`" for v in field.get("enum", [field.get("const")])), None
    kind = field.get("type")
    if kind == "array":
        text, inner = _takes(field.get("items", {}), defs)
        return (f"a list of {text}" if inner is None else "a list, below"), inner
    if kind == "object":
        text, inner = _takes(field.get("additionalProperties", {}), defs)
        names = ", ".join(f"`{n}`" for n in field.get("propertyNames", {}).get("enum", [field.get("propertyNames", {}).get("const", "name")]))
        return (f"{names}: {text}" if inner is None else f"sections by name ({names}), below"), inner
    words = {"integer": "whole number", "number": "number", "string": "text", "boolean": "yes or no", "null": "nothing"}
    text = words.get(str(kind), "value")
    low, high = field.get("minimum", field.get("exclusiveMinimum")), field.get("maximum")
    if low is not None or high is not None:
        above = "more than " if "exclusiveMinimum" in field else ""
        text += f" ({above}{low if low is not None else ''}{f' to {high:,}' if high is not None else ' and more'})".replace("more than 0 and more", "more than 0")
    return text, None


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if value is None or isinstance(value, dict | list):
        return "none"
    return f"`{value}`"
