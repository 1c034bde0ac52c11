"""What Slurm's readers accept, by release; tried with the real programs where a package has them."""

from __future__ import annotations

import re

from ..problems import DesignError, Problem, did_you_mean

RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11")
"""Releases whose rules are known; later ones are taken to keep the rules of the last."""

OLDEST = (22, 5)

TAIL_FROM = (23, 11)
"""From here a hostlist may have text after its last bracket."""

BLOCK_FROM = (24, 5)
"""From here topology/block reads BlockSizes."""

YAML_FROM = (25, 5)
"""From here topology.yaml is read, instead of topology.conf, and a switch may be empty."""

NAME_MAX = 64
"""Longest SwitchName (HOST_NAME_MAX)."""

PASSES_MAX = 21
"""Passes in which the tree plugin resolves children that stand after their parents; 22 stop it (tried with 22.05)."""

SWITCHES_SLOW = 1000
"""The distance table is cubic: about 1 s at 1,000 switches, 5 to 9 s at 2,000."""


def release(text: str) -> tuple[int, int]:
    """(year, month) of a release such as 23.11 or 23.11.4; raises DesignError for anything else, and below 22.05."""
    found = re.fullmatch(r"([0-9]{2})\.([0-9]{2})(\.[0-9]+)?", text.strip())
    if not found:
        raise DesignError([Problem("slurm-version", "--slurm-version", f"{text!r} is not a release of Slurm", fix=did_you_mean(text, RELEASES, 1))])
    number = (int(found[1]), int(found[2]))
    if number < OLDEST:
        raise DesignError([Problem("slurm-version", "--slurm-version", f"rules of Slurm {text} are not known", "22.05 is the oldest that was tried", "use 22.05 or later")])
    return number
