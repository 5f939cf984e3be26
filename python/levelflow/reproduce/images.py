"""Pictures of a figure for the report."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text

from levelflow import style
from levelflow.report import plots
from levelflow.report.series import MBPS, MS
from levelflow.reproduce.drawing import EXPECTED_ID, draw_band

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from levelflow.keywords import Table
    from levelflow.reproduce.figure import Figure
    from levelflow.results import Result

    Plot = Callable[[Figure, Canvas], None]
    Mark = Callable[[Figure, Axes], None]

#: Size of a figure's own plot, in inches, and resolution of all pictures, in dots per inch.
SIZE = (9.0, 4.0)
DPI = 110

#: Style with math text, which the ticks of logarithmic axes need. Math text would alter a "$" in a user's name, but
#: labels in these pictures contain no names from users.
STYLE = style.STYLE | {"text.parse_math": True}


@dataclass(frozen=True)
class Picture:
    """PNG picture with its text alternative."""

    png: bytes
    alt: str


_drawing = threading.Lock()  # one thread draws at a time, since all threads share the style of matplotlib


def draw(figure: Figure, plot: Plot | None, mark: Mark | None = None) -> tuple[Picture, ...]:
    """Draws a figure with ``plot(figure, canvas)``. If ``plot`` is None, draws rates and queues of the first run.

    If `plot` adds no legend, each panel with labelled curves gets a legend. Pictures of rates and queues show a band
    over the seeds of the run, and ``mark(figure, axes)`` adds expected values to the rates.
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
        seeds = _seeds(figure.results)
        if not seeds:
            return ()
        rates = _over_seeds(partial(plots.rates, unit=MBPS), seeds)
        queues = _over_seeds(partial(plots.queues, unit=MS), seeds)
        if mark is not None:
            mark(figure, rates.axes[0])
        return (_picture(rates), _picture(queues))


def _seeds(results: Sequence[Result]) -> list[Result]:
    """Returns the first result, and the results of the same scenario with different seeds."""
    by_seed: dict[Any, Result] = {}
    for result in results:
        if _without_seed(result) == _without_seed(results[0]):
            by_seed.setdefault(result.manifest["raw"].get("seed"), result)
    return list(by_seed.values())


def _without_seed(result: Result) -> Table:
    return {key: value for key, value in result.manifest["raw"].items() if key != "seed"}


def _over_seeds(drawn: Callable[[Result], Canvas], seeds: Sequence[Result]) -> Canvas:
    """Returns the picture of the first result, with a band over all seeds around each of its named curves."""
    canvas, *others = map(drawn, seeds)
    if others:
        axes = canvas.axes[0]
        banded = False
        for line in axes.get_lines():
            same = [other for each in others for other in each.axes[0].get_lines() if _name(other) == _name(line)]
            if _name(line) and same:
                draw_band(axes, [_points(one) for one in (line, *same)], line.get_color())
                banded = True
        axes.set_ylim(top=max(each.axes[0].get_ylim()[1] for each in (canvas, *others)))
        if banded:
            _retitle(axes, f"{axes.get_title('left')}; band: {len(seeds)} seeds")
    return canvas


def _retitle(axes: Axes, title: str) -> None:
    """Changes a title, and keeps its position. `set_title` would move the title onto the legend."""
    old = axes.get_title("left")
    next(part for part in axes.get_children() if isinstance(part, Text) and part.get_text() == old).set_text(title)


def _points(line: Line2D) -> tuple[Any, Any]:
    """Returns the points of a curve without its gaps."""
    x, y = line.get_data()
    known = np.isfinite(y)
    return np.asarray(x)[known], np.asarray(y)[known]


def _name(line: Line2D) -> str:
    """Returns the name of a curve; empty if it has no name or no points."""
    name = str(line.get_label())
    return "" if name.startswith("_") or not np.size(line.get_xdata()) else name


def _picture(canvas: Canvas) -> Picture:
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return Picture(buffer.getvalue(), ". ".join(filter(None, map(_described, canvas.axes))))


def _described(axes: Axes) -> str:
    """Returns the text alternative of a panel: title, axes, labelled curves and expected values."""
    against = f"{axes.get_ylabel() or 'values'} against {axes.get_xlabel()}" if axes.get_xlabel() else axes.get_ylabel()
    labels = axes.get_legend_handles_labels()[1]
    curves = f"curves: {', '.join(labels)}" if labels else ""
    expected = ", ".join(text.get_text() for text in axes.texts if text.get_gid() == EXPECTED_ID)
    expects = f"expected: {expected}" if expected else ""
    return "; ".join(filter(None, (axes.get_title("left") or axes.get_title(), against, curves, expects)))
