"""Devices, links and profiles of a sized fabric other than compute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from .access import Access, homes
from .design import switch_words
from .ports import Port, spread
from .tables import DEVICES, LINKS, NONE, frame
from .topology import CageUse, FabricFacts, Profile


def prefix(name: str, asked: str | None) -> str:
    """Begin of the cable ids of a fabric."""
    return asked or "".join(c for c in name if c.isalpha())[:3].upper().ljust(2, "X")


def leaf_profiles(access: Access) -> tuple[list[str], dict[str, Profile]]:
    """(profile of every leaf, the profiles): leaves whose cages are run alike share one; spines have `spine-NAME`."""
    names: dict[tuple[tuple[int, str, int], ...], str] = {}
    profiles: dict[str, Profile] = {}
    of_leaf = []
    for ports in access.leaf_ports:
        key = tuple((cage, use.mode.name, use.mode.lane_gbps) for cage, use in sorted(ports.cages.items()))
        if key not in names:
            names[key] = f"leaf-{access.name}-{len(names)}"
            profiles[names[key]] = Profile(names[key], access.leaf, ports.cages)
        of_leaf.append(names[key])
    if access.spine_ports is not None:
        profiles[f"spine-{access.name}"] = Profile(f"spine-{access.name}", access.spine, access.spine_ports.cages)
    return of_leaf, profiles


def switch_rows(access: Access, first: int) -> pl.DataFrame:
    """Table DEVICES of the leaves and spines, numbered from `first`."""
    leaf_word, spine_word = switch_words(access.name, access.spec)
    of_leaf, _ = leaf_profiles(access)
    width = max(2, len(str(len(access.groups))))
    names, home, present = [], [], []
    stand = homes(access)
    for group, (begin, end) in enumerate(access.groups):
        for side in range(access.sides):
            names.append(f"{leaf_word}-{group + 1:0{width}d}" + ("ab"[side] if access.sides > 1 else ""))
            home.append(stand[group])
            present.append(any(c.present for c in access.clients[begin:end]))
    spines = [f"{spine_word}-{j + 1:0{max(2, len(str(access.spines)))}d}" for j in range(access.spines)]
    count = len(names) + len(spines)
    return frame(
        DEVICES,
        {
            "dev": np.arange(first, first + count),
            "device": names + spines,
            "model": [access.leaf.model] * len(names) + [access.spine.model] * len(spines),
            "role": ["leaf"] * len(names) + ["spine"] * len(spines),
            "fabric": access.name,
            "profile": of_leaf + [f"spine-{access.name}"] * len(spines),
            "pod": NONE,
            "rail": "",
            "plane": NONE,
            "group": NONE,
            "home": home + [NONE] * len(spines),
            "index": [*range(len(names)), *range(len(spines))],
            "present": present + [True] * len(spines),
        },
    )


def link_rows(access: Access, first: int) -> pl.DataFrame:
    """Table LINKS of one fabric, numbered from 0; `first` is the number of its first leaf.

    Uplinks to another fabric are links of that fabric, where the leaves are clients.
    """
    letter = prefix(access.name, access.spec.cable_prefix)
    tables = [_client_links(access, first, f"{letter}-N")]
    if access.spines:
        tables.append(_spine_links(access, first, f"{letter}-S"))
    elif access.is_pair:
        a, b = uplink_ports(access, 0), uplink_ports(access, 1)
        tables.append(_frame(access, "inter-switch", f"{letter}-X", [(first, *pa, first + 1, *pb) for pa, pb in zip(a, b, strict=True)]))
    return pl.concat(tables)


def uplink_ports(access: Access, leaf: int) -> list[Port]:
    """Uplink ports of a leaf: the list after those of its clients."""
    group, side = divmod(leaf, access.sides)
    kinds = {s.kind for c in access.clients[slice(*access.groups[group])] for i, s in enumerate(c.sockets) if c.side(i, access.sides) == side}
    return list(access.leaf_ports[leaf].ports[len(kinds)]) if access.uplinks else []


def _client_links(access: Access, first: int, series: str) -> pl.DataFrame:
    """Every socket of every client, in client order, on the next port of its kind of its leaf."""
    rows = []
    kinds_of_rows = []
    for group, (begin, end) in enumerate(access.groups):
        members = access.clients[begin:end]
        for side in range(access.sides):
            leaf = group * access.sides + side
            wanted = sorted({s.kind for c in members for i, s in enumerate(c.sockets) if c.side(i, access.sides) == side}, reverse=True)
            ports = {kind: iter(access.leaf_ports[leaf].ports[row]) for row, kind in enumerate(wanted)}
            for number, client in enumerate(members):
                for i, socket in enumerate(client.sockets):
                    if client.side(i, access.sides) == side:
                        rows.append((begin + number, i, client.dev, socket.cage, socket.child, first + leaf, *next(ports[socket.kind])))
                        kinds_of_rows.append(socket.kind)
    order = sorted(range(len(rows)), key=lambda r: rows[r][:2])
    return _frame(access, "node-leaf", series, [rows[r][2:] for r in order], [kinds_of_rows[r] for r in order])


def _spine_links(access: Access, first: int, series: str) -> pl.DataFrame:
    """Every leaf to every spine, the same number of links to each."""
    assert access.spine_ports is not None
    each = access.uplinks // access.spines
    at_spine = spread(access.spine_ports.ports[0], [each] * access.leaves)
    rows = []
    for leaf in range(access.leaves):
        for spine, ports in enumerate(spread(uplink_ports(access, leaf), [each] * access.spines)):
            rows += [(first + leaf, *a, first + access.leaves + spine, *b) for a, b in zip(ports, at_spine[leaf], strict=True)]
    return _frame(access, "leaf-spine", series, rows)


def _frame(access: Access, tier: str, series: str, rows: Sequence[tuple[int, ...]], kinds: Sequence[tuple[int, int, int]] | None = None) -> pl.DataFrame:
    ends = np.array(rows, dtype=np.int64).reshape(-1, 6)
    kind = np.array(kinds if kinds is not None else [access.up] * len(rows), dtype=np.int64).reshape(-1, 3)
    columns = {"gbps": kind[:, 0], "lanes": kind[:, 1], "lane_gbps": kind[:, 2]}
    columns |= {name: ends[:, i] for i, name in enumerate(("a_dev", "a_cage", "a_child", "b_dev", "b_cage", "b_child"))}
    blank = {"fabric": access.name, "tier": tier, "series": series, "rail": NONE, "plane": NONE, "gpu": NONE}
    return frame(LINKS, {**blank, **columns, "link": np.arange(len(rows)), "serial": np.arange(len(rows))})


def facts(access: Access) -> FabricFacts:
    """What sizing decided."""
    return FabricFacts(
        family=access.spec.family or (access.leaf.families[0] if access.leaf.families else access.leaf.protocol),
        leaf_model=access.leaf.model,
        spine_model=access.spine.model,
        core_model=access.spine.model,
        style=access.spec.style,
        tiers=2 if access.spines else 1,
        planes=1,
        rails=0,
        rails_per_leaf=0,
        nodes_per_su=0,
        by_rail=False,
        sus_per_group=0,
        spines_per_plane=access.spines,
        uplink_gbps=access.up.gbps,
        oversubscription=access.spec.oversubscription,
        core_oversubscription=access.spec.core_oversubscription,
    )


def merged(profile: Profile, cages: dict[int, CageUse]) -> Profile:
    """A profile with more cages."""
    return Profile(profile.name, profile.part, {**profile.cages, **cages})
