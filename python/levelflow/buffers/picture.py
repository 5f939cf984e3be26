"""Picture of `levelflow buffers`: a row per candidate, with its buffer, unused capacity, loss and delay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.ticker import LogLocator

from levelflow.buffers.candidates import BEST, BUFFER_ALGORITHMS
from levelflow.buffers.choice import order
from levelflow.picture import Picture
from levelflow.report.plots import logarithmic
from levelflow.style import COLOURS, STYLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from levelflow.buffers.candidates import Targets
    from levelflow.buffers.choice import Question, Row

#: Panels: label, attribute of `Use`, its conversion to the axis, and the target on the axis.
PANELS: tuple[tuple[str, str, Callable[[float], float], Callable[[Targets], float | None]], ...] = (
    ("buffer (packets)", "buffer", lambda x: x, lambda _: None),
    ("unused (%)", "utilisation", lambda x: 100 * (1 - x), lambda t: t.utilisation and 100 * (1 - t.utilisation)),
    ("loss (%)", "loss", lambda x: 100 * x, lambda t: t.loss and 100 * t.loss),
    ("mean queueing delay (ms)", "wait", lambda x: 1e3 * x, lambda t: t.delay and 1e3 * t.delay),
)
#: Height of a row, height of the other parts, and width of the picture, inches.
ROW, REST, WIDTH = 0.26, 1.3, 10.0
#: Decades below its largest value that a panel shows. Smaller values are hollow points at the left edge of the panel.
DECADES = 4.0


@mpl.rc_context(STYLE)
def picture(asked: Question, rows: Sequence[Row]) -> Picture:
    """Draws a point with its 95 % interval for each candidate that was run, and shades ranges that meet a target.

    All axes are logarithmic. The best fixed buffer is a star, algorithms are squares, rules are dots.
    """
    shown = [row for row in order(rows) if row.line]
    figure = Picture(figsize=(WIDTH, REST + ROW * len(shown)), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, (label, key, show, target) in zip(panels, PANELS, strict=True):
        values = [show(getattr(row.line.used, key)) for row in shown if row.line]
        wanted = target(asked.targets)
        edge = _edge([value for value in (*values, wanted or 0.0) if not math.isnan(value)])
        logarithmic(axes, "x")
        axes.xaxis.set_major_locator(LogLocator(numticks=3))
        for place, (row, value) in enumerate(zip(shown, values, strict=True)):
            half = abs(show(getattr(row.line.half, key)) - show(0.0)) if row.line else 0.0
            if not math.isnan(value):  # NaN: no limit, or a limit in bytes
                _point(axes, row, place, (value, half), edge)
        if wanted:
            axes.axvspan(edge / 2, wanted, color=COLOURS[2], alpha=0.12, linewidth=0)
            axes.axvline(wanted, color=COLOURS[2], linewidth=1, linestyle=(0, (4, 2)))
        axes.set(xlabel=label, xlim=(edge / 1.3, None), ylim=(len(shown) - 0.4, -0.6))
        axes.grid(visible=True, axis="y", alpha=0.25)
    panels[0].set_yticks(range(len(shown)), [row.name for row in shown])
    kinds = "Star: best fixed buffer; squares: algorithms; dots: rules; hollow: below the axis"
    title = f"{asked.link}: targets are met in green areas. {kinds}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def _edge(values: Sequence[float]) -> float:
    """Returns the left end of a panel."""
    most = max(values, default=0.0) or 1.0
    least = min((value for value in values if value > 0), default=most)
    return max(least, most / 10**DECADES) / 2


def _point(axes: Axes, row: Row, place: int, measured: tuple[float, float], edge: float) -> None:
    value, half = measured
    kind = 0 if row.name == BEST else 1 if row.name in BUFFER_ALGORITHMS else 2
    seen = value >= edge
    low, high = min(half, value - edge) if seen else 0.0, half if seen else 0.0
    axes.errorbar(
        [value if seen else edge],
        [place],
        xerr=[[max(low, 0.0)], [high]],
        marker="*so"[kind],
        markersize=(11, 5, 5)[kind],
        color=COLOURS[(1, 3, 0)[kind]],
        fillstyle="full" if seen else "none",
        elinewidth=1,
        linestyle="",
    )
