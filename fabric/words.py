"""Words and ratios that a design is written in: host names, families, oversubscription."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

WORD = r"[a-z]([a-z0-9-]*[a-z0-9])?"
HOST_NAME = f"^{WORD}$"
Family = Literal["spectrum-x", "tomahawk-6", "tomahawk-5", "quantum-ndr", "quantum-xdr"]


def host_word(value: Any) -> Any:
    """Refuse names that shells, spreadsheets, Slurm or DNS would trip over."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text | quote it")
    if not re.fullmatch(WORD, value) or len(value) > 24:
        bad = sorted({c for c in value if not re.match(r"[a-z0-9-]", c)})
        why = f": {' '.join(repr(c) for c in bad)} not allowed" if bad else ""
        raise ValueError(f"{value!r} is not a host name word{why} | use 1 to 24 of a-z, 0-9 and -, starting with a letter and not ending in -")
    return value


def ratio(value: Any) -> Any:
    """Read an oversubscription: 2, 3.5, "2:1" or "7:2"; the result is down bandwidth over up bandwidth."""
    fix = "write 1 for non-blocking, or 2, 3.5, 2:1"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError(f"{value!r} is not an oversubscription | {fix}")
    text = f"{value.numerator}:{value.denominator}" if isinstance(value, Fraction) else str(value).replace(" ", "")
    down, _, up = text.partition(":")
    if len(text) > 24 or not re.fullmatch(r"\d+(\.\d+)?(:\d+(\.\d+)?)?", text) or not Fraction(up or "1"):
        raise ValueError(f"{str(value)[:24]!r} is not an oversubscription | {fix}")
    result = Fraction(down) / Fraction(up or "1")
    if result < 1:
        raise ValueError(f"{value} is below 1: more uplinks than ports below them carry nothing | {fix}")
    if result > 1000:
        raise ValueError(f"{value} is above 1000 | {fix}")
    return result


Ratio = Annotated[
    Fraction,
    BeforeValidator(ratio),
    PlainSerializer(lambda r: int(r) if r.denominator == 1 else (float(r) if Fraction(str(float(r))) == r else f"{r.numerator}:{r.denominator}"), return_type=int | float | str),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 1}, {"type": "string", "pattern": r"^\d+(\.\d+)?(:\d+(\.\d+)?)?$"}]}),
]
HostWord = Annotated[str, BeforeValidator(host_word), WithJsonSchema({"type": "string", "pattern": HOST_NAME, "maxLength": 24})]
