"""YAML text under a comment that says which plan it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import yaml

from .. import __version__

if TYPE_CHECKING:
    from ..plan import Plan

Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""The C dumper where PyYAML has it: ten times as fast, the same text."""

WIDTH = 200
"""Characters before a line is folded."""


def heading(plan: Plan, what: str) -> str:
    """Comment lines that head a file: `what` it is, the plan, and who wrote it."""
    return f"# {what} of {plan.design.name}.\n# Written by railplan {__version__}.\n"


def documents(head: str, docs: Iterable[Any], flow: bool | None = False) -> bytes:
    """One or several YAML documents; `flow` None puts innermost collections on one line."""
    texts = [yaml.dump(doc, Dumper=Dumper, sort_keys=False, default_flow_style=flow, width=WIDTH, allow_unicode=True) for doc in docs]
    return (head + "---\n".join(["", *texts] if len(texts) > 1 else texts)).encode()
