"""Problems: what a stage found wrong, where, why, and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: `where` is `file:line` or a device, cable or field; `rule` is a stable short id."""

    rule: str
    where: str
    what: str
    why: str = ""
    fix: str = ""
    level: Level = "error"

    def __str__(self) -> str:
        lines = [f"{self.where}  {self.what}" if self.where else self.what]
        if self.why:
            lines.append(f"    why  {self.why}")
        if self.fix:
            lines.append(f"    fix  {self.fix}")
        return "\n".join(lines)


class DesignError(Exception):
    """All problems of one stage; `problems` is never empty and holds at least one error."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        if not self.problems:
            raise ValueError("a DesignError needs at least one problem")
        super().__init__("\n".join(str(p) for p in self.problems))


def raise_errors(problems: Iterable[Problem]) -> list[Problem]:
    """Raise one DesignError if any of the problems is an error; otherwise return the warnings and notes."""
    found = list(problems)
    if any(p.level == "error" for p in found):
        raise DesignError(found)
    return found


def did_you_mean(name: str, known: Iterable[str], n: int = 3) -> str:
    """Return `did you mean a, b?` with the nearest known names, or a list of some known ones."""
    names = sorted(set(known))
    folded = {k.lower(): k for k in names}
    near = difflib.get_close_matches(name.lower(), list(folded), n=n, cutoff=0.6)
    if near:
        return "did you mean " + ", ".join(folded[k] for k in near) + "?"
    if not names:
        return "none is known"
    shown = ", ".join(names[:8])
    return f"known: {shown}" + (f" and {len(names) - 8} more" if len(names) > 8 else "")
