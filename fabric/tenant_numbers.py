"""Numbers of tenants: VLAN and VNI on Ethernet, PKey on InfiniBand, given by the design or by the place in the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..problems import Problem
from .tenant_spec import PKEYS, VNIS, TenantSpec

RULE = "tenant-number"

AUTOMATIC: Mapping[str, Mapping[str, range]] = {
    "ethernet": {"vlan": range(101, 3600), "vni": range(10_101, VNIS.stop)},
    "infiniband": {"pkey": PKEYS},
}
"""Protocol -> kind of number -> those given to tenants without one. Cumulus Linux keeps VLANs from 3600 (4.3) or 3725 (5.x) to 3999."""

CUMULUS_VLANS = range(3725, 4000)
"""VLANs that Cumulus Linux 5 reserves unless told otherwise (NVIDIA, Reserved VLAN Range and Limitations)."""

WORDS = {"vlan": "VLAN", "vni": "VNI", "pkey": "PKey"}
SPEAKS = {"ethernet": "Ethernet", "infiniband": "InfiniBand"}

Numbers = dict[str, int]


def number_tenants(tenants: Sequence[TenantSpec], protocol: str) -> tuple[list[Numbers], list[Problem]]:
    """(kind -> number of every tenant, problems); a tenant added at the end changes no number of another."""
    numbers: list[Numbers] = [{} for _ in tenants]
    problems = _of_the_other_protocol(tenants, protocol)
    for kind, free in AUTOMATIC[protocol].items():
        taken: dict[int, int] = {}
        upcoming = iter(free)
        for i, tenant in enumerate(tenants):
            given = getattr(tenant, kind)
            number = next((n for n in upcoming if n not in taken), None) if given is None else given
            if number is None:
                what = f"no {WORDS[kind]} is left for {tenant.name!r}: {shown(kind, free[0])} to {shown(kind, free[-1])} are taken"
                problems.append(Problem(RULE, f"tenants.{i}", what, fix=f"give it a {kind} of its own, or have fewer tenants"))
                break
            if number in taken:
                problems.append(_twice(tenants, taken[number], i, kind, number))
            taken.setdefault(number, i)
            numbers[i][kind] = number
    return numbers, problems


def shown(kind: str, number: int) -> str:
    """A number as people write it: 101, 0x0001."""
    return f"{number:#06x}" if kind == "pkey" else str(number)


def cumulus_warnings(numbers: Sequence[Numbers], tenants: Sequence[TenantSpec]) -> list[Problem]:
    """A warning for each VLAN that Cumulus Linux keeps for itself."""
    why = f"Cumulus Linux 5 keeps {CUMULUS_VLANS[0]} to {CUMULUS_VLANS[-1]} for itself and does not notice the overlap"
    fix = f"choose a VLAN below {CUMULUS_VLANS[0]}, or move the reserved range of every switch"
    return [
        Problem(RULE, f"tenants.{i}.vlan", f"VLAN {own['vlan']} of {tenant.name} is reserved by Cumulus Linux", why, fix, "warning")
        for i, (tenant, own) in enumerate(zip(tenants, numbers, strict=True))
        if own.get("vlan") in CUMULUS_VLANS
    ]


def _of_the_other_protocol(tenants: Sequence[TenantSpec], protocol: str) -> list[Problem]:
    """Numbers that this kind of fabric does not know."""
    found = []
    for other in AUTOMATIC.keys() - {protocol}:
        for i, tenant in enumerate(tenants):
            for kind in AUTOMATIC[other]:
                if getattr(tenant, kind) is not None:
                    what = f"a {WORDS[kind]} is for {SPEAKS[other]}, the compute fabric speaks {SPEAKS[protocol]}"
                    found.append(Problem(RULE, f"tenants.{i}.{kind}", what, fix=f"remove it, or give {' and '.join(AUTOMATIC[protocol])}"))
    return found


def _twice(tenants: Sequence[TenantSpec], first: int, second: int, kind: str, number: int) -> Problem:
    name, word = tenants[first].name, f"{WORDS[kind]} {shown(kind, number)}"
    what, where = f"{word} is that of tenant {name} already", f"tenants.{second}.{kind}"
    if getattr(tenants[first], kind) is not None:
        return Problem(RULE, where, what, fix="choose another")
    return Problem(RULE, where, what, f"{name} has it by its place in the list", f"choose another, or give {name} a {kind} of its own")
