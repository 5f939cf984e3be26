"""Plot elements that several figures use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from levelflow.measure import rates
from levelflow.measure.series import ALL, Array, Window
from levelflow.reproduce.verdict import allowed, listed
from levelflow.reproduce.wording import Unit, expected, unit_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from levelflow.reproduce.figure import Figure
    from levelflow.reproduce.verdict import Value
    from levelflow.results import Result
    from levelflow.style import Look

#: Colour of expected values, which no curve has, and id of their labels.
EXPECTED, EXPECTED_ID = "#B0126E", "expected"
#: Fraction of the panel width beyond which labels are right-aligned.
LATE = 0.5


def draw_rates(
    panels: Any,
    results: Iterable[Result],
    titles: Iterable[str],
    names: Sequence[str] | None = None,
    window: Window = ALL,
    **style: Any,
) -> None:
    """Draws the rates of the named flows, or of all flows, over time: one panel per result."""
    for axes, result, title in zip(np.ravel(panels), results, titles, strict=True):
        for name in names or result.flows["flow"].unique(maintain_order=True):
            t, rate = rates.rate_series(result.flows, name, window)
            axes.plot(t, rate / 1e6, label=name, **style)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title)


def draw_expected(
    axes: Any,
    figure: Figure,
    check: str,
    over: Window | Sequence[Window] | None = None,
    *,
    scale: float = 1.0,
    shift: float = 0.0,
    along: str = "y",
) -> None:
    """Draws a line, a tolerance band and a label for each expected value of a check.

    Lines are solid if the paper prints the number, and dashed if it is derived or inferred.

    Args:
        axes: Panel; its axis limits must be final.
        figure: Figure.
        check: Name of the check, such as `"rcp-fig3[0]"`. The check expects one number or several.
        over: Window along the drawn line in which the check applies, or one window per number; by default the whole
            axis. A window with equal start and end is a point.
        scale: Factor that converts the metric to the unit of the axis.
        shift: Offset that is added on the axis, such as the start time of a measured duration.
        along: "y" or "x", the axis that shows the metric.
    """
    stated = figure.claim.checks[check]
    numbers: list[Any] = listed(cast("Value", stated.value))
    ranges: list[Any] = [tuple(numbers)] if stated.op == "between" else [(number,) for number in numbers]
    windows: list[Any] = [over] if over is None or np.ndim(over) == 1 else list(over)
    count = max(len(ranges), len(windows))
    ranges, windows = (items * count if len(items) == 1 else items for items in (ranges, windows))
    slack = stated.tol_rel or 0.0, stated.tol_abs or 0.0
    for named, window in zip(ranges, windows, strict=True):
        edges = [edge for number in named for edge in allowed(stated.op, number, *slack)]
        if stated.op == "between":
            edges = [allowed(">=", named[0], *slack)[0], allowed("<=", named[1], *slack)[1]]
        lines = [shift + scale * number for number in named]
        band = [shift + scale * edge for edge in edges if np.isfinite(edge)]
        _mark(axes, lines, (min(lines + band), max(lines + band)), window, along, solid=stated.basis == "text")
    first = shift + scale * max(ranges[0])
    unit = unit_named(stated.metric) if shift or along == "x" else Unit("", scale)
    _annotate(axes, f"{check}: {expected(stated, unit)}", first, windows[0], along)


def _mark(
    axes: Any, lines: Sequence[float], band: tuple[float, float], window: Window | None, along: str, *, solid: bool
) -> None:
    style: Look = {"color": EXPECTED, "linewidth": 1, "linestyle": "-" if solid else (0, (4, 2))}
    shade: Look = {"color": EXPECTED, "alpha": 0.12, "linewidth": 0}
    upright = along == "x"
    if window is None:
        (axes.axvspan if upright else axes.axhspan)(*band, **shade)
        for line in lines:
            (axes.axvline if upright else axes.axhline)(line, **style)
    elif window[0] == window[1]:
        places = [(line, window[0]) if upright else (window[0], line) for line in lines]
        axes.plot(*zip(*places, strict=True), "D", color=EXPECTED, markersize=5, fillstyle="none")
        (axes.hlines if upright else axes.vlines)(window[0], *band, **style)
    else:
        (axes.fill_betweenx if upright else axes.fill_between)(window, *band, **shade)
        (axes.vlines if upright else axes.hlines)(lines, *window, **style)


def _annotate(axes: Any, text: str, place: float, window: Window | None, along: str) -> None:
    """Writes a label at the start of a line; right-aligned at its end if the line starts beyond `LATE`."""
    upright = along == "x"
    across = axes.get_xaxis_transform() if upright else axes.get_yaxis_transform()
    start, end = (0.0, 1.0) if window is None else window
    spot = (place, start) if upright else (start, place)
    turned = upright and start != end
    axes.autoscale_view()
    shown = axes.transAxes.inverted().transform((across if window is None else axes.transData).transform(spot))
    late = turned if window is None else shown[int(turned)] > LATE
    inwards = -2 if late else 2
    said = axes.annotate(
        text,
        ((place, end) if upright else (end, place)) if late else spot,
        xytext=(2, inwards) if turned else (inwards, 1),
        xycoords=across if window is None else "data",
        textcoords="offset points",
        rotation=90 if turned else 0,
        horizontalalignment="right" if late and not turned else "left",
        verticalalignment="top" if late and turned else "bottom",
        annotation_clip=True,
        color=EXPECTED,
        fontsize=6.5,
        gid=EXPECTED_ID,
    )
    said.set_in_layout(False)


def draw_seeds(axes: Any, curves: Iterable[tuple[Any, Any]], label: str | None = None, **style: Any) -> None:
    """Draws the median and the range over seeds, from one curve per seed."""
    x, values = _on_one_grid(curves)
    (line,) = axes.plot(x, np.nanmedian(values, axis=0), label=label, **style)
    _fill(axes, x, values, line.get_color())


def draw_band(axes: Any, curves: Iterable[tuple[Any, Any]], color: Any) -> None:
    """Draws the range over seeds as a band, from one curve per seed."""
    _fill(axes, *_on_one_grid(curves), color)


def _on_one_grid(curves: Iterable[tuple[Any, Any]]) -> tuple[Array, Array]:
    """Returns all x values of the curves, and each curve interpolated at these values; NaN outside a curve's range."""
    known = [(np.asarray(x, float), np.asarray(y, float)) for x, y in curves]
    grid = np.unique(np.concatenate([x for x, _ in known]))
    return grid, np.array([np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in known])


def _fill(axes: Any, x: Array, values: Array, color: Any) -> None:
    axes.fill_between(x, np.nanmin(values, axis=0), np.nanmax(values, axis=0), color=color, alpha=0.25, linewidth=0)
