"""Pictures of a figure for the report."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from levelflow import style
from levelflow.report import plots

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from levelflow.reproduce.figure import Figure

    Plot = Callable[[Figure, Canvas], None]

#: Size of a figure's own plot, inches, and the resolution of all.
SIZE = (9.0, 4.0)
DPI = 110

#: The labels are ours, and the ticks of a logarithmic axis are formulas.
STYLE = style.STYLE | {"text.parse_math": True}


@dataclass(frozen=True)
class Picture:
    """A PNG picture, and what it shows in words."""

    png: bytes
    alt: str


_drawing = threading.Lock()  # matplotlib keeps its style in one place for all threads


def draw(figure: Figure, plot: Plot | None) -> tuple[Picture, ...]:
    """Pictures: what ``plot(figure, canvas)`` draws, else rates and queues of the first run.

    Where it places no legend, each panel with labels has one.
    """
    with _drawing, mpl.rc_context(STYLE):
        if plot is not None:
            canvas = Canvas(figsize=SIZE, layout="constrained")
            plot(figure, canvas)
            if not any(axes.get_legend() for axes in canvas.axes):
                for axes in canvas.axes:
                    if axes.get_legend_handles_labels()[1]:
                        axes.legend()
            return (_picture(canvas),)
        first = figure.results[:1]
        return tuple(_picture(drawn(result)) for result in first for drawn in (plots.rates, plots.queues))


def _picture(canvas: Canvas) -> Picture:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return Picture(buffer.getvalue(), ". ".join(filter(None, map(_described, canvas.axes))))


def _described(axes: Axes) -> str:
    """A panel in words: its title, its axes and its labelled curves."""
    against = f"{axes.get_ylabel() or 'values'} against {axes.get_xlabel()}" if axes.get_xlabel() else axes.get_ylabel()
    labels = axes.get_legend_handles_labels()[1]
    curves = f"curves: {', '.join(labels)}" if labels else ""
    return "; ".join(filter(None, (axes.get_title("left") or axes.get_title(), against, curves)))
