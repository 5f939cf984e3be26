"""Pictures of a study: metrics over its axes with their intervals, completion times by share and by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl

from levelflow._core import ScenarioError
from levelflow.picture import Picture
from levelflow.report import plots
from levelflow.scenario import nearest
from levelflow.study.statistics import Interval, interval
from levelflow.study.table import axis_label, metrics, unit
from levelflow.study.task import METRICS
from levelflow.style import WIDTHS, style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from levelflow.study.study import StudyResult

#: Lines and maps of one picture; more values of an axis are taken in the mean.
MOST_LINES, MOST_MAPS = 7, 4
#: A range from which on an axis is logarithmic.
WIDE = 30.0
KINDS = ("response", "map", "completion times", "completion by size")


def write(found: StudyResult, kinds: Sequence[str] = ("png",), width: str = "screen") -> list[Path]:
    """Writes the pictures that this study has into its directory, as each kind; returns their paths."""
    numeric, _ = _axes(found)
    drawn = {f"response-{metric}": ("response", metric) for metric in metrics(found)}
    if len(numeric) > 1:
        drawn |= {f"map-{metric}": ("map", metric) for metric in metrics(found)}
    if found.rows.filter(of="cdf").height:
        drawn |= {"completion-times": ("completion times", ""), "completion-by-size": ("completion by size", "")}
    written = []
    for name, (kind, metric) in drawn.items():
        figure = draw(found, kind, metric, width)
        for ending in kinds:
            written.append(found.path / f"{name}.{ending}")
            plots.save(figure, written[-1])
    return written


def draw(found: StudyResult, kind: str, metric: str = "", width: str = "screen") -> Picture:
    """Draws a picture of a study.

    Args:
        found: its result.
        kind: one of `KINDS`: a metric over the axis with most numbers; its mean over two such axes; the distribution of
            completion times; their mean by size.
        metric: of the first two kinds, one of `METRICS`.
        width: "screen", or for a paper "column" (3.4 in) or "page" (7 in) with letters of 8 pt.

    Raises:
        ScenarioError: if there is no such picture, metric or width.
    """
    if kind not in KINDS:
        raise ScenarioError(f"plot: no picture {kind!r}; {nearest(kind, list(KINDS))}")
    if kind in {"response", "map"} and metric not in METRICS:
        raise ScenarioError(f"plot: no metric {metric!r}; {nearest(metric, list(METRICS))}")
    if width not in WIDTHS:
        raise ScenarioError(f"plot: no width {width!r}; {nearest(width, list(WIDTHS))}")
    with mpl.rc_context(style(width)):
        return _drawn(found, kind, metric, width)


def _drawn(found: StudyResult, kind: str, metric: str, width: str) -> Picture:
    numeric, others = _axes(found)
    lines = next((name for name in others if found.table[name].n_unique() <= MOST_LINES), None)
    if kind == "map":
        if len(numeric) < 2:
            raise ScenarioError("plot: a map needs two axes of numbers")
        figure = Picture(figsize=(WIDTHS[width], 0.56 * WIDTHS[width]), layout="constrained")
        _maps(figure, found, metric, (numeric[0], numeric[1]), lines)
        return figure
    figure, columns = plots.figure_of(1, width)
    axes: Any = columns[0]
    if kind == "response":
        _response(axes, found, metric, numeric[0] if numeric else None, lines)
    elif kind == "completion times":
        _completions(axes, found, lines, "cdf")
    else:
        _completions(axes, found, lines, "size")
    plots.arranged(figure, columns, width)
    return figure


def _axes(found: StudyResult) -> tuple[list[str], list[str]]:
    """The axes of numbers, that with most values first, and the others; of one value, none."""
    table = found.table
    several = [axis.name for axis in found.plan.design.axes if table[axis.name].n_unique() > 1]
    numeric = [name for name in several if table[name].dtype.is_numeric()]
    numeric.sort(key=lambda name: -table[name].n_unique())
    return numeric, [name for name in several if name not in numeric]


def _estimates(found: StudyResult, metric: str, by: list[str]) -> list[tuple[list[Any], Interval]]:
    """Values of some axes with the mean of a metric over the others; replications are independent, points are not."""
    table = found.table.select(*by, "replication", metric).drop_nulls()
    each = table.group_by(*by, "replication", maintain_order=True).agg(pl.mean(metric))
    groups = each.group_by(by, maintain_order=True) if by else [((), each)]
    return [(list(values), interval(own[metric].to_numpy())) for values, own in groups]


def _response(axes: Any, found: StudyResult, metric: str, along: str | None, lines: str | None) -> None:
    _, factor = unit(metric)
    axes.set_title(METRICS[metric])
    axes.set_ylabel(axis_label(metric))
    if along is None:
        rows = _estimates(found, metric, [lines] if lines else [])
        for number, (_, one) in enumerate(rows):
            axes.errorbar(number, factor * one.mean, factor * one.half, fmt="o", capsize=4, **_colour(number))
        axes.set_xticks(range(len(rows)), [str(values[0]) if values else "" for values, _ in rows])
        axes.set_xlim(-0.7, len(rows) - 0.3)
        return
    curves: dict[Any, list[tuple[float, Interval]]] = {}
    for values, one in _estimates(found, metric, [along, *([lines] if lines else [])]):
        curves.setdefault(values[1] if lines else None, []).append((values[0], one))
    for number, (label, points) in enumerate(curves.items()):
        points.sort(key=lambda point: point[0])
        x = np.array([x for x, _ in points])
        mean = factor * np.array([one.mean for _, one in points])
        half = factor * np.array([one.half for _, one in points])
        axes.plot(x, mean, marker="o", markersize=4, label=_label(lines, label), **plots.look(number))
        low = np.maximum(mean - half, 0)  # no metric is negative
        axes.fill_between(x, low, mean + half, alpha=0.2, linewidth=0, **_colour(number))
    axes.set_xlabel(along)
    if _is_wide(found.table[along]):
        plots.logarithmic(axes, "x")


def _maps(figure: Any, found: StudyResult, metric: str, along: tuple[str, str], panels: str | None) -> None:
    values = found.table[panels].unique(maintain_order=True).to_list()[:MOST_MAPS] if panels else [None]
    rows = _estimates(found, metric, [*along, *([panels] if panels else [])])
    name, factor = unit(metric)
    every = [factor * one.mean for _, one in rows]
    for axes, value in zip(figure.subplots(1, len(values), squeeze=False).flat, values, strict=True):
        own = {(x, y): factor * one.mean for (x, y, *panel), one in rows if panel in ([], [value])}
        across, up = (sorted({key[place] for key in own}) for place in (0, 1))
        grid = [[own.get((x, y), np.nan) for x in across] for y in up]
        shown = axes.imshow(grid, origin="lower", aspect="auto", cmap="cividis", vmin=min(every), vmax=max(every))
        axes.set_xticks(range(len(across)), [f"{x:.4g}" for x in across], rotation=45)
        axes.set_yticks(range(len(up)), [f"{y:.4g}" for y in up])
        axes.set_xlabel(along[0])
        axes.set_ylabel(along[1])
        axes.set_title("" if value is None else str(value))
        axes.grid(visible=False)
    figure.colorbar(shown, ax=figure.axes, label=f"{METRICS[metric]} ({name})")


def _completions(axes: Any, found: StudyResult, lines: str | None, of: str) -> None:
    labels = found.table.select("point", *([lines] if lines else [])).unique(maintain_order=True)
    rows = found.rows.filter(of=of).join(labels, on="point")
    parts = rows.group_by(lines, maintain_order=True) if lines else [((None,), rows)]
    for number, ((label,), own) in enumerate(parts):
        times = own.filter(pl.col("metric").str.starts_with("fct"))
        if of == "size":
            counts = own.filter(metric="transfers").select("point", "replication", "at", weight="value")
            times = times.join(counts, on=["point", "replication", "at"])
            mean = (pl.col("value") * pl.col("weight")).sum() / pl.col("weight").sum()
        else:
            mean = pl.col("value").mean()
        curve = times.group_by("at").agg(mean=mean, low=pl.min("value"), high=pl.max("value")).sort("at")
        x, y = (curve["at"], curve["mean"]) if of == "size" else (curve["mean"], curve["at"])
        axes.plot(x, y, label=_label(lines, label), **plots.look(number))
        band = axes.fill_between if of == "size" else axes.fill_betweenx
        band(curve["at"], curve["low"], curve["high"], alpha=0.15, linewidth=0, **_colour(number))
    if of == "size":
        axes.set_title("mean of each size over runs, and their range")
        axes.set_xlabel("size of the transfer, bytes")
        axes.set_ylabel("mean completion time, s")
        plots.logarithmic(axes, "x", "y")
    else:
        axes.set_title("mean of each share over runs, and their range")
        axes.set_xlabel("completion time, s")
        axes.set_ylabel("share of transfers")
        plots.logarithmic(axes, "x")


def _label(axis: str | None, value: Any) -> str | None:
    """What a line is called: a word by itself, a number with its axis."""
    return value if axis is None or isinstance(value, str) else f"{axis} = {value}"


def _is_wide(values: pl.Series) -> bool:
    found = values.to_numpy()
    return bool(found.min() > 0 and found.max() / found.min() >= WIDE)


def _colour(number: int) -> dict[str, Any]:
    return {"color": plots.look(number)["color"]}
