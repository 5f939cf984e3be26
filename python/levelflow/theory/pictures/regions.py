"""Stable region of a loop in a plane of two parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.picture import drawn_on
from levelflow.style import COLOURS, GREY
from levelflow.theory.laws import rcp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats

    Curves = Mapping[str, tuple[Floats, Floats]]


class Tried(NamedTuple):
    """Points of a grid at which stability was tested.

    Attributes:
        x: values of the first parameter.
        y: values of the second parameter.
        stable: True where a point is stable; indexed by y, then x.
    """

    x: Sequence[float]
    y: Sequence[float]
    stable: ArrayLike


def region(
    boundaries: Curves,
    labels: tuple[str, str],
    tried: Tried | None = None,
    canvas: FigureBase | None = None,
) -> FigureBase:
    """Draws boundaries of stable regions and, if points are given, the stability of these points.

    Args:
        boundaries: curves by name; on each, a root is on the imaginary axis.
        labels: names of the two parameters.
        tried: points to draw, filled if stable, crosses otherwise.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> curve = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    >>> region({"theory": curve}, ("alpha", "beta")).axes[0].get_xlabel()
    'alpha'
    """
    with drawn_on(canvas, 6, 4.5) as figure:
        axes = figure.subplots()
        _draw(axes, boundaries, labels, tried)
        _legend(axes)
    return figure


def rcp_region(
    tried: Tried | None = None, simulated: Mapping[float, float] | None = None, canvas: FigureBase | None = None
) -> FigureBase:
    """Draws RCP's stable region, exact and with Padé's approximation, and other results (Dukkipati 2005, fig 44).

    Args:
        tried: gains alpha and beta for which the fluid model was integrated.
        simulated: smallest unstable alpha in simulations, for each beta.
        canvas: an empty figure to draw on. By default, a new figure.

    >>> rcp_region().axes[0].get_ylabel()
    'beta'
    """
    with drawn_on(canvas, 6, 4.5) as figure:
        axes = figure.subplots()
        _draw(axes, rcp.curves(), ("alpha", "beta"), tried)
        axes.lines[-1].set_linestyle("--")
        if simulated:
            axes.plot(
                list(simulated.values()), list(simulated), "s", color="black", markersize=5, label="simulated onset"
            )
        axes.set_title("RCP: linearly stable below the curve")
        _legend(axes)
    return figure


def _legend(axes: Axes) -> None:
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=9)  # below the axes


def _draw(axes: Axes, boundaries: Curves, labels: tuple[str, str], tried: Tried | None) -> None:
    if tried is not None:
        x, y = np.meshgrid(tried.x, tried.y)
        stable = np.asarray(tried.stable, dtype=bool)
        axes.plot(x[stable], y[stable], "o", color=COLOURS[2], markersize=3, label="settles")
        axes.plot(x[~stable], y[~stable], "x", color=GREY, markersize=3, label="does not")
    for (name, curve), colour in zip(boundaries.items(), COLOURS, strict=False):
        axes.plot(*curve, color=colour, label=name)
    axes.set(xlabel=labels[0], ylabel=labels[1])
