"""Convergence of rates step by step (Zhang 2008, figure 14).

Rates and capacities are in any common unit, delays in steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import GREY
from levelflow.theory.laws import kelly
from levelflow.theory.validate import explained, finite, positive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.figure import Figure, FigureBase
    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats

    #: Function from the rates of flows on one link to the next rates.
    Step = Callable[[Floats], Floats]

#: Number of arrows along each side of a phase plane, and length of the longest arrow relative to the arrow spacing.
ARROWS, LENGTH = 15, 0.9


@explained
def phase_plane(step: Step, capacity: float, starts: ArrayLike, steps: int = 200) -> Figure:
    """Draws a phase plane: the rates of two flows on one link, without delay.

    Dots are steps of the trajectories from the starts, and arrows point to the next step. On the diagonal, rates are
    equal. On the falling line, the link is full.

    Args:
        step: maps the two rates to the next two rates.
        capacity: capacity of the link.
        starts: pairs of initial rates.
        steps: number of steps.
    """
    finite(starts=starts)
    positive(capacity=capacity)
    paths = [_path(step, start, steps) for start in np.atleast_2d(np.array(starts, dtype=np.float64))]
    top = 1.05 * max(capacity, *(float(path.max()) for path in paths))
    places = (np.arange(ARROWS) + 0.5) * top / ARROWS
    grid = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    moves = np.array([step(point) - point for point in grid])
    longest = np.hypot(*moves.T).max()
    # Arrows are drawn with square roots of lengths, so that short moves remain visible.
    sizes = np.sqrt(np.hypot(*moves.T) / longest)[:, None]
    arrows = moves / np.maximum(np.hypot(*moves.T), longest * 1e-12)[:, None] * sizes * LENGTH * top / ARROWS
    with drawn_on(None, 5, 5) as figure:
        axes = figure.subplots()
        axes.quiver(*grid.T, *arrows.T, angles="xy", scale_units="xy", scale=1, color=GREY, alpha=0.6, width=0.003)
        axes.plot([0, top], [0, top], color=GREY, linestyle="--", linewidth=1, label="equal rates")
        axes.plot([0, capacity], [capacity, 0], color="black", linewidth=1, label="full link")
        for path in paths:
            axes.plot(*path.T, ".-", markersize=4, linewidth=1)
        axes.set(xlabel="rate of flow 1", ylabel="rate of flow 2", xlim=(0, top), ylim=(0, top), aspect="equal")
        axes.set_title("rates of two flows, step by step")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure


@explained
def kelly_delays(
    capacity: float, gains: tuple[float, float], delays: Sequence[int], canvas: FigureBase | None = None
) -> FigureBase:
    """Draws the rate of one flow of classic Kelly control with several delays (figure 14).

    Args:
        capacity: capacity of the flow's link.
        gains: `kappa` and `omega`.
        delays: round trips in steps; 1 means no delay.
        canvas: an empty figure to draw on. By default, a new figure.
    """
    with drawn_on(canvas, 8, 5) as figure:
        panels = figure.subplots(-(-len(delays) // 2), 2, squeeze=False).flat
        for axes, delay in zip(panels, delays, strict=False):
            axes.plot(kelly.alone(capacity, delay, gains, 80))
            axes.axhline(capacity + gains[1], color=GREY, linestyle="--", linewidth=1, zorder=0)
            radius = kelly.radius(gains[0], delay)
            axes.set(title=f"D = {delay}: largest root {radius:.3f}", xlabel="step", ylabel="rate")
    return figure


def _path(step: Step, start: Floats, steps: int) -> Floats:
    rates = [start]
    for _ in range(steps):
        rates.append(step(rates[-1]))
    return np.array(rates)
