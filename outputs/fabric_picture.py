"""fabric.dot and fabric.svg: the fabric as boxes and bundles of links, nodes at the bottom, spines on top.

Graphviz places boxes of fixed size without any text, so that the picture does not depend on the fonts of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import DEFAULTS, Options
from .fabric_colours import fill_of, wire_colour, wire_dash
from .fabric_drawing import FRAME, Placed, box_size, draw, grid_columns
from .fabric_groups import Box, Sketch, sketch
from .svg import RULE, Point, escape, ink_on

if TYPE_CHECKING:
    import pygraphviz  # type: ignore[import-untyped]

    from ..plan import Plan

LABEL = 90.0
"""Room between two switches that are joined, for the words on their line."""


def files(plan: Plan, options: Options = DEFAULTS) -> dict[str, bytes]:
    """Draw fabric.dot and fabric.svg of the compute fabric."""
    drawing = sketch(plan, next(iter(plan.topology.fabrics)))
    return {"fabric.dot": _dot(drawing).to_string().encode(), "fabric.svg": draw(drawing, _place(drawing))}


def _graph(drawing: Sketch) -> pygraphviz.AGraph:
    """Boxes in their frames, and wires from the upper to the lower box; never strict, for two speeds make two edges."""
    import pygraphviz

    graph = pygraphviz.AGraph(strict=False, directed=False, name="fabric")
    for box in drawing.boxes:
        graph.add_node(box.name)
    for number, frame in enumerate(dict.fromkeys(box.frame for box in drawing.boxes)):
        graph.add_subgraph([box.name for box in drawing.boxes if box.frame == frame], name=f"cluster_{number}", label=frame)
    for number, wire in enumerate(drawing.wires):
        level = {"constraint": "false"} if wire.tier == "inter-switch" else {}
        graph.add_edge(wire.b, wire.a, key=str(number), **level)
    graph.graph_attr.update(ordering="out", ranksep=f"{_rank_gap(drawing):.2f}", nodesep="0.15")
    return graph


def _rank_gap(drawing: Sketch) -> float:
    """Inches between two tiers: more above a wide row, whose lines would lie flat across each other's labels."""
    widest = max(sum(box.role == role for box in drawing.boxes) for role in ("leaf", "spine"))
    return min(2.4, 1.2 + 0.12 * widest)


def _dot(drawing: Sketch) -> pygraphviz.AGraph:
    """Write for anybody's Graphviz: labels, colours, counts; no positions."""
    graph = _graph(drawing)
    rows = "".join(f"<tr><td>{words}</td></tr>" for words in (f"<b>{escape(drawing.title)}</b>", *(escape(fact) for fact in drawing.facts)))
    graph.graph_attr.update(label=f'<<table border="0">{rows}</table>>', labelloc="t", bgcolor="white", fontname="Helvetica,Arial,sans-serif")
    graph.node_attr.update(shape="box", style="filled", fontname="Helvetica,Arial,sans-serif", fontsize="10")
    graph.edge_attr.update(fontname="Helvetica,Arial,sans-serif", fontsize="8")
    for cluster in graph.subgraphs():
        cluster.graph_attr.update(label=f"<{escape(cluster.graph_attr['label'])}>", color=RULE, style="rounded")
    for box in drawing.boxes:
        fill = fill_of(box)
        lines = "<br/>".join(escape(words) for words in box.lines)
        if box.cells:
            width = grid_columns(box)
            cells = [f'<td border="1">{escape(name)}</td>' for name in box.cells]
            grid = "".join(f"<tr>{''.join(cells[i : i + width])}</tr>" for i in range(0, len(cells), width))
            lines = f'<table border="0" cellspacing="3"><tr><td colspan="{width}">{lines}</td></tr>{grid}</table>'
        graph.get_node(box.name).attr.update(label=f"<{lines}>", fillcolor=fill, fontcolor=ink_on(fill))
    for number, wire in enumerate(drawing.wires):
        graph.get_edge(wire.b, wire.a, key=str(number)).attr.update(label=wire.label, color=wire_colour(wire), penwidth="1.2", style="dashed" if wire_dash(wire) else "solid")
    return graph


def _place(drawing: Sketch) -> dict[str, Placed]:
    """Let Graphviz place boxes of fixed size without any text; y grows downwards from 0."""
    graph = _graph(drawing)
    graph.node_attr.update(shape="box", fixedsize="true")
    joined = {name for wire in drawing.wires if wire.tier == "inter-switch" and wire.a != wire.b for name in (wire.a, wire.b)}
    sizes = {box.name: box_size(box) for box in drawing.boxes}
    rooms = {name: width + (LABEL if name in joined else 0) for name, (width, _) in sizes.items()}
    for name, (_, height) in sizes.items():
        graph.get_node(name).attr.update(label="", width=f"{rooms[name] / 72:.4f}", height=f"{height / 72:.4f}")
    for cluster in graph.subgraphs():
        cluster.graph_attr.update(label="", margin=f"{2 * FRAME:g}")
    graph.layout(prog="dot")
    middles: dict[str, Point] = {}
    for box in drawing.boxes:
        x, y = graph.get_node(box.name).attr["pos"].split(",")
        middles[box.name] = (float(x), float(y))
    middles |= _in_order(drawing.boxes, middles, rooms)
    top = max(middles[name][1] + sizes[name][1] / 2 for name in middles)
    left = min(middles[name][0] - sizes[name][0] / 2 for name in middles)
    return {box.name: Placed(box, round(middles[box.name][0] - left, 2), round(top - middles[box.name][1], 2), *sizes[box.name]) for box in drawing.boxes}


def _in_order(boxes: Sequence[Box], middles: dict[str, Point], rooms: dict[str, float]) -> dict[str, Point]:
    """Put the boxes of a frame and role in their own order, in the same stretch; Graphviz may rotate them."""
    moved: dict[str, Point] = {}
    for key in dict.fromkeys((box.frame, box.role) for box in boxes):
        names = [box.name for box in boxes if (box.frame, box.role) == key]
        left = min(middles[n][0] - rooms[n] / 2 for n in names)
        right = max(middles[n][0] + rooms[n] / 2 for n in names)
        gap = (right - left - sum(rooms[n] for n in names)) / max(1, len(names) - 1)
        for name in names:
            moved[name] = (left + rooms[name] / 2, middles[name][1])
            left += rooms[name] + gap
    return moved
