"""Phase portraits: two components of a state drawn against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import GREY
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from levelflow.theory.arrays import Floats


@explained
def phase_portrait(
    x: Floats, y: Floats, equilibrium: tuple[float, float], labels: tuple[str, str], canvas: FigureBase | None = None
) -> FigureBase:
    """Draws trajectories, with dots at their starts, and the expected equilibrium.

    Args:
        x: first component, with a row per time and a column per case.
        y: second component, in the same layout.
        equilibrium: equilibrium values of both components.
        labels: names of both components.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> import numpy as np
    >>> spiral = np.exp(-np.linspace(0, 9, 90))[:, None]
    >>> len(phase_portrait(spiral, -spiral, (0.0, 0.0), ("x", "y")).axes[0].lines)
    4
    """
    with drawn_on(canvas, 5, 4) as figure:
        axes = figure.subplots()
        for index in range(x.shape[1]):
            (line,) = axes.plot(x[:, index], y[:, index], linewidth=1)
            axes.plot(x[0, index], y[0, index], "o", color=line.get_color(), markersize=4)
            _arrow(axes, x[:, index], y[:, index], line.get_color())
        axes.plot(*equilibrium, "+", color="black", markersize=12, markeredgewidth=2, linestyle="", label="equilibrium")
        axes.plot([], [], "o", color=GREY, markersize=4, label="start")
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.legend()
    return figure


def _arrow(axes: Axes, x: Floats, y: Floats, colour: str) -> None:
    """Draws an arrow in the direction of time at the middle of a curve."""
    ways = np.hypot(np.diff(x) / max(float(np.ptp(x)), 1e-12), np.diff(y) / max(float(np.ptp(y)), 1e-12)).cumsum()
    middle = int(np.searchsorted(ways, ways[-1] / 2))
    if ways[-1] > 0 and middle + 1 < len(x):
        arrow = {"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x[middle + 1], y[middle + 1]), (x[middle], y[middle]), arrowprops=arrow)
