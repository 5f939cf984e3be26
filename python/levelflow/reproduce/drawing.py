"""Panels that many figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.measure import rates
from levelflow.measure.series import ALL, Array, Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from levelflow.results import Result


def draw_rates(
    panels: Any,
    results: Iterable[Result],
    titles: Iterable[str],
    names: Sequence[str] | None = None,
    window: Window = ALL,
    **style: Any,
) -> None:
    """Draws the rates of the named flows, or of all, over time: a panel for each result."""
    for axes, result, title in zip(np.ravel(panels), results, titles, strict=True):
        for name in names or result.flows["flow"].unique(maintain_order=True):
            t, rate = rates.rate_series(result.flows, name, window)
            axes.plot(t, rate / 1e6, label=name, **style)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title)


def draw_seeds(axes: Any, curves: Iterable[tuple[Any, Any]], label: str | None = None, **style: Any) -> None:
    """Draws a curve per seed as their median, where all have values, and the band from the lowest to the highest."""
    x, values = _on_one_grid(curves)
    (line,) = axes.plot(x, np.median(values, axis=0), label=label, **style)
    _fill(axes, x, values, line.get_color())


def draw_band(axes: Any, curves: Iterable[tuple[Any, Any]], color: Any) -> None:
    """Draws the band between the lowest and the highest of curves, one per seed."""
    _fill(axes, *_on_one_grid(curves), color)


def _on_one_grid(curves: Iterable[tuple[Any, Any]]) -> tuple[Array, Array]:
    """All places where a curve has a value, and the values of each curve there; NaN beyond its ends."""
    known = [(np.asarray(x, float), np.asarray(y, float)) for x, y in curves]
    grid = np.unique(np.concatenate([x for x, _ in known]))
    return grid, np.array([np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in known])


def _fill(axes: Any, x: Array, values: Array, color: Any) -> None:
    axes.fill_between(x, np.nanmin(values, axis=0), np.nanmax(values, axis=0), color=color, alpha=0.25, linewidth=0)
