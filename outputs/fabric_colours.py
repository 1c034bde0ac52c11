"""What the colours and dashes of the fabric picture mean: light hues are rails, dark ones with a dash are planes."""

from __future__ import annotations

from .fabric_groups import ROLES, Box, Sketch, Wire
from .svg import PLANE_COLOURS, PLANE_DASHES, RAIL_COLOURS, ROLE_COLOURS, YELLOW, Mark, line, rect, spans

LEAF = "#ffedc2"
"""Fill of a leaf that serves several rails; a strip below shows which."""
ROLE_WORDS = {"node": "GPU node", "ufm": "UFM server", "core": "core switch"}
SAMPLE = 30.0
"""Length of a line in the legend."""


def fill_of(box: Box) -> str:
    if box.role == "leaf" and len(box.rails) == 1:
        return RAIL_COLOURS[box.rails[0] % len(RAIL_COLOURS)]
    if box.role == "spine" and box.plane >= 0:
        return plane_colour(box.plane)
    return LEAF if box.role == "leaf" else ROLE_COLOURS[box.role]


def plane_colour(plane: int) -> str:
    return PLANE_COLOURS[max(plane, 0) % len(PLANE_COLOURS)]


def wire_colour(wire: Wire) -> str:
    """Colour of a wire: its first rail's below leaves of some rails, else its plane's; yellow darkened to be seen on white."""
    if wire.tier == "node-leaf" and wire.rails:
        colour = RAIL_COLOURS[wire.rails[0] % len(RAIL_COLOURS)]
        return "#b3a500" if colour == YELLOW else colour
    return plane_colour(wire.plane)


def wire_dash(wire: Wire) -> str:
    """Dash of a wire: its plane's, on every tier."""
    return PLANE_DASHES[max(wire.plane, 0) % len(PLANE_DASHES)]


def legend_entries(drawing: Sketch) -> list[tuple[str | Mark, str]]:
    """Every fill and every kind of line that is drawn, with its meaning."""
    roles = [role for role in ROLES if any(box.role == role for box in drawing.boxes)]
    entries: list[tuple[str | Mark, str]] = [(ROLE_COLOURS[role], ROLE_WORDS[role]) for role in roles if role in ROLE_WORDS]
    leaves = [box for box in drawing.boxes if box.role == "leaf"]
    railed = {wire.rails: wire for wire in drawing.wires if wire.tier == "node-leaf" and wire.rails}
    if any(fill_of(box) == LEAF for box in leaves):
        entries.append((LEAF, "leaf, its rails in the strip below" if any(len(box.rails) > 1 for box in leaves) else "leaf"))
    single = {box.rails[0] for box in leaves if len(box.rails) == 1}
    for rail in sorted({rail for box in leaves for rail in box.rails}):
        words = f"rail {rail}" + (": leaf" if rail in single else "") + (" and its lines" if rail in single and (rail,) in railed else "")
        entries.append((RAIL_COLOURS[rail % len(RAIL_COLOURS)], words))
    entries += [(_sample(wire_colour(wire)), f"lines of rails {spans(rails)}") for rails, wire in sorted(railed.items()) if len(rails) > 1]
    return entries + _plane_entries(drawing, "spine" in roles)


def _plane_entries(drawing: Sketch, spines: bool) -> list[tuple[str | Mark, str]]:
    planes = sorted({wire.plane for wire in drawing.wires if wire.plane >= 0})
    if len(planes) > 1:
        what = "spines and lines of " if spines else "lines of "
        return [(_sample(plane_colour(plane), PLANE_DASHES[plane % len(PLANE_DASHES)], boxed=spines), f"{what}plane {plane}") for plane in planes]
    plain = [wire for wire in drawing.wires if not wire.rails or wire.tier != "node-leaf"]
    entries: list[tuple[str | Mark, str]] = [(plane_colour(0), "spine")] if spines else []
    if any(wire.tier == "inter-switch" for wire in plain):
        entries.append((_sample(plane_colour(0)), "lines between switches"))
    elif plain:
        tiers = dict.fromkeys(wire.tier for wire in plain)
        entries.append((_sample(plane_colour(0)), f"lines {' and '.join(tiers)}"))
    return entries


def _sample(colour: str, dash: str = "", boxed: bool = False) -> Mark:
    """A line as drawn, behind the box that has its colour."""
    start = 16.0 if boxed else 0.0
    box = [rect((0, 0), (12, 12), colour)] if boxed else []
    return Mark(start + SAMPLE, (*box, line((start, 6), (start + SAMPLE, 6), colour, thick=1.8, dash=dash)))
