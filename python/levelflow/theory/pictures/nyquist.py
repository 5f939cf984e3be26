"""Nyquist curves and Bode plots of loops with pure delays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import COLOURS, GREY, LOG_STYLE
from levelflow.theory.stability.quasi import AxisError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from levelflow.theory.stability.loops import Loop

#: Half width of the plot, divided by the largest modulus among -1 and the crossings of the negative axis; bounds of the
#: half width.
ROOM, NARROWEST, WIDEST = 1.3, 1.5, 5.0
#: Decades of frequency below and above the crossings in a Bode plot.
DECADES = 1.0
POINTS = 800
#: Distance from 0, in half widths of the plot, below which the curve is not drawn.
SMALL = 0.02


def nyquist(loop: Loop, canvas: FigureBase | None = None) -> FigureBase:
    r"""Draws the Nyquist curve near -1, with its mirror image dashed, and the verdict of the criterion.

    Args:
        loop: the open loop.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> from levelflow.theory.stability.loops import Loop
    >>> nyquist(Loop.rational([1.0], [1, 0], delay=1.0)).axes[0].get_title("left")
    'around -1: 0, unstable poles: 0\nstable'
    """
    values = loop.nyquist().values
    reach = max([1.0, *(-crossing.value.real for crossing in loop.margins.phase_crossings)])
    half = float(np.clip(ROOM * reach, NARROWEST, WIDEST))
    with drawn_on(canvas, 5, 5) as figure:
        axes = figure.subplots()
        angle = np.linspace(0, 2 * np.pi, 200)
        axes.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=0.8)
        # Values near 0 are left out, because a delay winds the curve around 0 without end.
        seen = np.where(np.abs(values) < SMALL * half, np.nan, values)
        axes.plot(seen.real, seen.imag, label="L(jω), ω > 0")
        axes.plot(seen.real, -seen.imag, "--", color=COLOURS[0], linewidth=0.8, label="ω < 0")
        axes.plot(-1, 0, "+", color=COLOURS[1], markersize=12, markeredgewidth=2, linestyle="", label="-1")
        axes.locator_params(nbins=6)
        axes.set(
            xlim=(-half, half / 2), ylim=(-0.75 * half, 0.75 * half), aspect="equal", xlabel="real", ylabel="imaginary"
        )
        axes.set_title(_verdict(loop))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
    return figure


def bode(loop: Loop, canvas: FigureBase | None = None) -> FigureBase:
    """Draws magnitude and phase over frequency, and the crossings of 1 and of -180 degrees.

    Args:
        loop: the open loop.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> from levelflow.theory.stability.loops import Loop
    >>> [axes.get_ylabel() for axes in bode(Loop.rational([1.0], [1, 0], delay=1.0)).axes]
    ['magnitude', 'phase (degrees)']
    """
    margins = loop.margins
    known = [c.frequency for c in (*margins.gain_crossings, *margins.phase_crossings[:1]) if c.frequency > 0]
    scale = known or [loop.closed.reach or 1.0]
    curve = loop.bode(np.geomspace(min(scale) / 10**DECADES, max(scale) * 10**DECADES, POINTS))
    with drawn_on(canvas, 6, 5, LOG_STYLE) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        above.loglog(curve.frequencies, curve.magnitude)
        above.axhline(1, color=GREY, linewidth=0.8)
        below.semilogx(curve.frequencies, np.degrees(curve.phase), color=COLOURS[0])
        below.axhline(-180, color=GREY, linewidth=0.8)
        below.set_ylim(max(-540.0, np.degrees(curve.phase.min())) - 20, np.degrees(curve.phase.max()) + 20)
        for axes in (above, below):
            _mark(axes, [c.frequency for c in margins.gain_crossings], COLOURS[2], "|L| = 1")
            _mark(axes, [c.frequency for c in margins.phase_crossings[:1]], COLOURS[1], "phase -180°")
        above.set_ylabel("magnitude")
        above.set_title(f"phase margin {np.degrees(margins.phase):.3g} degrees\ngain margin {margins.gain:.3g}")
        above.legend(loc="lower left")
        below.set(xlabel="frequency (rad/s)", ylabel="phase (degrees)")
    return figure


def _mark(axes: Axes, frequencies: list[float], colour: str, label: str) -> None:
    for index, frequency in enumerate(frequencies):
        axes.axvline(frequency, color=colour, linestyle=":", label=None if index else label)


def _verdict(loop: Loop) -> str:
    try:
        around, poles = loop.encirclements, loop.unstable_poles
    except AxisError:
        return "through -1: on the boundary"
    return f"around -1: {around}, unstable poles: {poles}\n{'stable' if around + poles == 0 else 'unstable'}"
