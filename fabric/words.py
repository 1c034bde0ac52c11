"""Words that stand in host names and in the files of other programs."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

WORD = r"[a-z]([a-z0-9-]*[a-z0-9])?"
HOST_NAME = f"^{WORD}$"


def host_word(value: Any) -> Any:
    """Refuse names that shells, spreadsheets, Slurm or DNS would trip over."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text | quote it")
    if not re.fullmatch(WORD, value) or len(value) > 24:
        bad = sorted({c for c in value if not re.match(r"[a-z0-9-]", c)})
        why = f": {' '.join(repr(c) for c in bad)} not allowed" if bad else ""
        raise ValueError(f"{value!r} is not a host name word{why} | use 1 to 24 of a-z, 0-9 and -, starting with a letter and not ending in -")
    return value


HostWord = Annotated[str, BeforeValidator(host_word), WithJsonSchema({"type": "string", "pattern": HOST_NAME, "maxLength": 24})]
