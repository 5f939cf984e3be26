"""What `levelflow buffers` draws: utilisation, loss and queueing delay of every way against its buffer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from levelflow.buffers.candidates import BEST, BUFFER_ALGORITHMS
from levelflow.buffers.choice import order
from levelflow.style import COLOURS, STYLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from levelflow.buffers.choice import Question, Row

#: What is drawn: its key in `Use` and in `Targets`, its label, and its unit in parts of what is measured.
PANELS = (
    ("utilisation", "utilisation", "utilisation (%)", 100.0),
    ("loss", "loss", "loss (%)", 100.0),
    ("wait", "delay", "mean queueing delay (ms)", 1e3),
)


@mpl.rc_context(STYLE)
def picture(asked: Question, rows: Sequence[Row]) -> Figure:
    """Draws a point with its 95 % intervals for each way that has a buffer in packets, and the targets as lines."""
    shown = [row for row in order(rows) if row.line and not math.isnan(row.line.used.buffer)]
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharex=True)
    for axes, (key, target, label, unit) in zip(panels, PANELS, strict=True):
        for number, row in enumerate(shown):
            _point(axes, row, key, unit, COLOURS[number % len(COLOURS)])
        wanted = unit * getattr(asked.targets, target)
        if wanted:
            axes.axhline(wanted, color="black", linewidth=1, linestyle=(0, (4, 2)))
        axes.set(xscale="log", xlabel="buffer (packets)", title=label)
        axes.set_ylim(bottom=0)
    figure.suptitle(f"{asked.link}: targets dashed")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0, fontsize=8)
    return figure


def _point(axes: Axes, row: Row, key: str, unit: float, colour: str) -> None:
    if row.line is None:
        return
    used, half = row.line.used, row.line.half
    marker = "*" if row.name == BEST else "s" if row.name in BUFFER_ALGORITHMS else "o"
    x, y = used.buffer, unit * getattr(used, key)
    dx, dy = min(half.buffer, 0.9 * x), unit * getattr(half, key)
    size = 10 if row.name == BEST else 5
    axes.errorbar(
        x, y, dy, dx, marker=marker, markersize=size, color=colour, linestyle="", label=row.name, elinewidth=1
    )
