"""Panels that many figures show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.measure import rates
from levelflow.measure.series import ALL, Window

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
    """Draws a curve per seed as their median and the band between the lowest and the highest."""
    known = [(np.asarray(x, float), np.asarray(y, float)) for x, y in curves]
    grid = np.unique(np.concatenate([x for x, _ in known]))
    values = np.array([np.interp(grid, x, y, left=np.nan, right=np.nan) for x, y in known])
    (line,) = axes.plot(grid, np.nanmedian(values, axis=0), label=label, **style)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    axes.fill_between(grid, low, high, color=line.get_color(), alpha=0.25, linewidth=0)
