"""Dependency graphs of bottleneck assignments (Zhang 2008, figure 30)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import networkx as nx
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from levelflow.picture import Picture
from levelflow.style import COLOURS, GREY, STYLE, Look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from levelflow.theory.networks.assignment import Assignment

FORWARD, CIRCULAR = COLOURS[0], COLOURS[1]
#: Height of a text row, width of a box, space between boxes, and distance of columns, in units of the picture.
ROW, WIDTH, GAP, STEP = 1.0, 2.0, 0.9, 4.0
#: Inches per unit.
INCHES = 0.42
#: Largest number of flow names in a box.
MOST_ROWS = 8
#: Legend above a graph; height of the legend and smallest width of the picture, inches.
LEGEND = (
    "Links, and the flows that each limits.\n"
    "Arrow: that flow also crosses the other link, and disturbs its flows.\n"
    "Blue: the left one settles first. Red: around a cycle."
)
HEAD, NARROWEST = 0.7, 5.0
#: Text size in points, and number of letters above which a name is printed in a smaller size.
SIZE, LETTERS = 10.0, 9


@dataclass(frozen=True, eq=False)
class _Box:
    """Box of a link: strongly connected component of the graph, middle of the upper edge, and the row of each flow."""

    part: int
    x: float
    top: float
    rows: dict[int, int]

    @property
    def height(self) -> float:
        return ROW * (2 + max(self.rows.values()))

    def row(self, flow: int) -> float:
        return self.top - ROW * (self.rows[flow] + 1.5)


def dependency_graph(
    assignment: Assignment, flows: Sequence[str] | None = None, links: Sequence[str] | None = None
) -> Picture:
    """Draws the disturbances between flows, as a dependency graph.

    A box represents a link, and lists the flows whose bottleneck is this link. An arrow leads from a flow to another
    link that the flow crosses, where it disturbs every flow in the box. Links settle from left to right, except for
    links on a cycle, which are connected by red arrows.

    Args:
        assignment: the bottleneck of each flow.
        flows: names of the flows.
        links: names of the links.

    >>> from levelflow.theory.networks.assignment import assign
    >>> figure = dependency_graph(assign([[0, 1], [1], [1, 2], [2]], [0, 1, 1, 2]))
    """
    width, height = _extent(_boxes(assignment))
    wide, tall = max(width * INCHES, NARROWEST), height * INCHES
    figure = Picture(figsize=(wide, tall + HEAD))
    parts: Any = figure.subfigures(2, 1, height_ratios=(HEAD, tall))
    head, graph = parts
    with mpl.rc_context(STYLE):
        head.text(0.1 / wide, 0.9, LEGEND, va="top", fontsize=9, linespacing=1.3)
    draw_dependencies(graph, assignment, flows, links)
    return figure


def draw_dependencies(
    canvas: FigureBase, assignment: Assignment, flows: Sequence[str] | None = None, links: Sequence[str] | None = None
) -> None:
    """Draws a `dependency_graph` on an empty figure or subfigure of any size."""
    boxes = _boxes(assignment)
    width, height = _extent(boxes)
    with mpl.rc_context(STYLE):
        axes = canvas.add_axes((0.0, 0.0, 1.0, 1.0), frameon=False)
        axes.set(xlim=(-STEP / 2, width - STEP / 2), ylim=(-height / 2, height / 2), xticks=[], yticks=[])
        axes.set_aspect("equal")
        for link, box in boxes.items():
            _draw_box(axes, box, links[link] if links else f"link {link}", flows)
        drawn = set()
        for link, box in boxes.items():
            for flow in assignment.unresponsive(link).tolist():
                own = boxes[int(assignment.bottlenecks[flow])]
                if (own, own.row(flow), box) not in drawn:
                    drawn.add((own, own.row(flow), box))
                    _draw_arrow(axes, own, flow, box)


def _extent(boxes: dict[int, _Box]) -> tuple[float, float]:
    """Returns the width and height of the picture."""
    width = max((box.x for box in boxes.values()), default=0.0) + STEP
    return width, 2 * max((max(box.top, box.height - box.top) for box in boxes.values()), default=1.0) + ROW


def _boxes(assignment: Assignment) -> dict[int, _Box]:
    """Returns link positions.

    Layers are in topological order. A cycle of `n` links is drawn on `ceil(sqrt(n))` columns.
    """
    parts = nx.condensation(assignment.precedence)
    boxes, column = {}, 0
    for layer in nx.topological_generations(parts):
        groups = [(part, sorted(parts.nodes[part]["members"])) for part in layer]
        width = max(math.isqrt(len(links) - 1) + 1 for _, links in groups)
        for offset in range(width):
            found = {}
            for part, link in [(part, link) for part, links in groups for link in links[offset::width]]:
                rows = {flow: min(row, MOST_ROWS) for row, flow in enumerate(assignment.responsive(link).tolist())}
                found[link] = _Box(part, (column + offset) * STEP, 0.0, rows)
            top = (sum(box.height + GAP for box in found.values()) - GAP) / 2
            for link, box in found.items():
                boxes[link] = replace(box, top=top)
                top -= box.height + GAP
        column += width
    return boxes


def _draw_box(axes: Axes, box: _Box, name: str, flows: Sequence[str] | None) -> None:
    corner = (box.x - WIDTH / 2, box.top - box.height)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            WIDTH,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.2",
            facecolor="white",
            edgecolor=GREY,
            zorder=2,
        )
    )
    style: Look = {"ha": "center", "va": "center", "zorder": 3}
    axes.text(box.x, box.top - 0.55 * ROW, name, weight="bold", size=_size(name), **style)
    for flow, row in box.rows.items():
        if row < MOST_ROWS:
            own = flows[flow] if flows else f"flow {flow}"
            axes.text(box.x, box.row(flow), own, size=_size(own), **style)
        elif row == MOST_ROWS and flow == min(other for other, at in box.rows.items() if at == row):
            more = f"and {len(box.rows) - MOST_ROWS} more"
            axes.text(box.x, box.row(flow), more, color=GREY, size=_size(more), **style)


def _size(name: str) -> float:
    return SIZE * min(1.0, LETTERS / max(len(name), 1))


def _draw_arrow(axes: Axes, start: _Box, flow: int, end: _Box) -> None:
    """Draws an arrow from the row of a flow to the nearest edge of a box."""
    same, forward = start.x == end.x, start.x < end.x
    side = WIDTH / 2 if forward or same else -WIDTH / 2
    tail = (start.x + side, start.row(flow))
    upper = end.top > start.top
    head = (end.x + (side if same else -side), end.top - (end.height - 0.5 * ROW if same and upper else 0.5 * ROW))
    bend = min(0.5, STEP / (1 + abs(head[1] - tail[1]))) * (1 if upper else -1) if same else 0.08
    axes.add_patch(
        FancyArrowPatch(
            tail,
            head,
            arrowstyle="-|>",
            mutation_scale=9,
            connectionstyle=f"arc3,rad={bend}",
            color=CIRCULAR if start.part == end.part else FORWARD,
            linewidth=1.2,
            shrinkA=0,
            shrinkB=1,
            zorder=1,
        )
    )
