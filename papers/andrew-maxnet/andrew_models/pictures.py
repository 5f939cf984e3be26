"""How algorithm 3 bounds the gain of MaxNet (Andrew et al., figures 10 and 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from levelflow.style import COLOURS, GREY, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from levelflow.theory.laws.shared.maxnet_stability import Line

#: Points of a curve; how many curves of other delays; how far they are apart.
POINTS, CURVES, APART = 3000, 9, 0.72
#: What is shown, in units of 1/alpha_max.
LEFT, RIGHT, BELOW, ABOVE = -1.9, 0.7, -2.0, 0.9


def construction(line: Line) -> Figure:
    """Draws spiral, tail and the line above both, whose crossing with the real axis is the largest gain (figure 10).

    The spiral S is `F(jw, tau_bar)` for `w > w_low`, the tail T is `F(j w_low, tau)` for `tau < tau_bar`.

    Args:
        line: what `Compensator.line` returns.

    >>> from levelflow.theory.laws.shared.maxnet_stability import Compensator
    >>> figure = construction(Compensator(eta=0.7, alpha_t=0.1).line(3.0))
    """
    figure = Figure(figsize=(5.5, 5.0), layout="constrained")
    with mpl.rc_context(STYLE):
        draw_construction(figure.subplots(), line)
    return figure


def family(line: Line) -> Figure:
    """Draws the curves of `F` for delays below the bound, tails and spirals apart: all stay below the line (figure 11).

    Args:
        line: what `Compensator.line` returns.

    >>> from levelflow.theory.laws.shared.maxnet_stability import Compensator
    >>> figure = family(Compensator(eta=0.7, alpha_t=0.1).line(3.0))
    """
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    with mpl.rc_context(STYLE):
        tails, spirals = figure.subplots(1, 2)
        draw_tails(tails, line)
        draw_spirals(spirals, line)
    return figure


def draw_construction(axes: Axes, line: Line) -> None:
    """Draws the picture of `construction` on axes."""
    _frame(axes, line)
    _draw_line(axes, line)
    axes.plot(-1 / line.alpha_max, 0, "o", color=COLOURS[6], markersize=5)
    axes.annotate(
        f"alpha_max = {line.alpha_max:.3f}",
        (-1 / line.alpha_max, 0),
        xytext=(6, -16),
        textcoords="offset points",
        ha="left",
    )
    own = line.compensator
    axes.set_title(f"tau_bar = {line.longest:g} s\neta = {own.eta:g}, alpha T = {own.alpha_t:g} s")
    axes.legend(loc="lower right")


def draw_tails(axes: Axes, line: Line) -> None:
    """Draws the curves of shorter delays from `w_low` to where each is first real."""
    _frame(axes, line)
    _draw_line(axes, line)
    for delay in line.longest * APART ** np.arange(1, CURVES + 1):
        _draw_curve(axes, line, delay, line.frequency, line.compensator.lowest_real(delay))
    axes.set_title("tails of shorter delays,\nw > w_low")


def draw_spirals(axes: Axes, line: Line) -> None:
    """Draws the curves of shorter delays from where each is first real."""
    _frame(axes, line)
    _draw_line(axes, line)
    for delay in line.longest * APART ** np.arange(1, CURVES + 1):
        low = line.compensator.lowest_real(delay)
        _draw_curve(axes, line, delay, low, 20 * low)
    axes.set_title("spirals of shorter delays")


def _frame(axes: Axes, line: Line) -> None:
    """Draws spiral and tail of the longest delay, and the real axis."""
    own, tau = line.compensator, line.longest
    spiral = own.response(line.frequency * np.geomspace(1, 40, POINTS), tau)
    tail = own.response(line.frequency, tau * np.geomspace(1e-6, 1, POINTS))
    axes.axhline(0, color=COLOURS[6], linewidth=0.6)
    axes.plot(spiral.real, spiral.imag, color=COLOURS[0], label="spiral S")
    axes.plot(tail.real, tail.imag, color=COLOURS[1], label="tail T")
    unit = 1 / line.alpha_max
    axes.set(xlim=(LEFT * unit, RIGHT * unit), ylim=(BELOW * unit, ABOVE * unit), xlabel="Re F", ylabel="Im F")
    axes.set_aspect("equal")


def _draw_line(axes: Axes, line: Line) -> None:
    x = np.array([LEFT, RIGHT]) / line.alpha_max
    axes.plot(x, line.gamma * (x + 1 / line.alpha_max), color=GREY, label="line L")


def _draw_curve(axes: Axes, line: Line, delay: float, low: float, high: float) -> None:
    if low < high:
        values = line.compensator.response(np.geomspace(low, high, POINTS), delay)
        axes.plot(values.real, values.imag, color=COLOURS[2], linewidth=0.7)
