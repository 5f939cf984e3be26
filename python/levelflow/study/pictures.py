"""Pictures of a study: metrics over its axes, completion-time distributions, and completion times by transfer size.

The x axis shows one numeric study axis. A second study axis has one line per value. The other study axes have one panel
per combination of values. A band is the 95 % confidence interval over distinct runs, which differ only in their seeds.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import numpy as np
import polars as pl

from levelflow._core import ScenarioError
from levelflow.measure.intervals import Interval, interval
from levelflow.picture import Picture
from levelflow.report import plots
from levelflow.study.table import axis_label, metrics, unit
from levelflow.study.task import METRICS
from levelflow.style import WIDTHS, style
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from matplotlib.axes import Axes

    from levelflow.study.data import StudyData

#: Limits on the numbers of lines per panel, panels per picture and panels per row.
MAX_LINES, MAX_PANELS, MAX_PANEL_COLUMNS = 7, 12, 3
#: Minimum ratio of the largest to the smallest value on a logarithmic axis.
MIN_LOG_RATIO = 30.0
KINDS = ("response", "map", "completion times", "completion by size", "slowdown by size")
#: Markers of lines, which distinguish them in black-and-white print.
MARKERS = "osD^vP*"
#: Metrics of the thick and the thin line, by kind of picture.
SIZE_KINDS = {"completion by size": ("fct_p50_s", "fct_p99_s"), "slowdown by size": ("slowdown_p50", "slowdown_p99")}


class Roles(NamedTuple):
    """Roles of the axes of a study in a picture.

    Attributes:
        along: Numeric study axis on the x axis; None if there is none.
        lines: Study axis with one line per value; None if there is none.
        panels: Study axes with one panel per combination of values.
    """

    along: str | None
    lines: str | None
    panels: tuple[str, ...]


def write(found: StudyData, kinds: Sequence[str] = ("png",), width: str = "screen") -> list[Path]:
    """Writes all pictures of a study into its directory, in each file format of `kinds`. Returns the paths."""
    drawn = {f"response-{metric}": ("response", metric) for metric in metrics(found)}
    if len(_several(found)[0]) > 1:
        drawn |= {f"map-{metric}": ("map", metric) for metric in metrics(found)}
    if found.rows.filter(of="cdf").height:
        drawn |= {kind.replace(" ", "-"): (kind, "") for kind in KINDS[2:]}
    written = []
    for name, (kind, metric) in drawn.items():
        figure = draw(found, kind, metric, width)
        for ending in kinds:
            written.append(found.path / f"{name}.{ending}")
            plots.save(figure, written[-1])
    return written


def draw(found: StudyData, kind: str, metric: str = "", width: str = "screen") -> Picture:
    """Draws a picture of a study.

    Args:
        found: Results of the study.
        kind: One of `KINDS`. "response" shows a metric over the numeric axis with the most values, and "map" shows the
            mean of the metric over two such axes. The other kinds show the distribution of completion times, and the
            median and 99th percentile of completion times or slowdowns by transfer size.
        metric: One of `METRICS`, for the first two kinds.
        width: "screen", or for a paper "column" (3.4 in) or "page" (7 in) in 8 pt type.

    Raises:
        ScenarioError: If the kind, the metric or the width does not exist.
    """
    if kind not in KINDS:
        raise ScenarioError(f"plot: no picture {kind!r}; {nearest(kind, list(KINDS))}")
    if kind in {"response", "map"} and metric not in METRICS:
        raise ScenarioError(f"plot: no metric {metric!r}; {nearest(metric, list(METRICS))}")
    if width not in WIDTHS:
        raise ScenarioError(f"plot: no width {width!r}; {nearest(width, list(WIDTHS))}")
    with mpl.rc_context(style(width)):
        if kind == "map":
            return _maps(found, metric, width)
        numeric, _ = _several(found)
        roles = _roles(found, numeric[0] if kind == "response" and numeric else None)
        return _panels(found, kind, metric, roles, width)


def _several(found: StudyData) -> tuple[list[str], list[str]]:
    """Returns the numeric axes by descending number of values, and the other axes. Omits axes with a single value."""
    table = found.table
    several = [axis.name for axis in found.plan.design.axes if table[axis.name].n_unique() > 1]
    numeric = [name for name in several if table[name].dtype.is_numeric()]
    numeric.sort(key=lambda name: -table[name].n_unique())
    return numeric, [name for name in several if name not in numeric]


def _roles(found: StudyData, along: str | None) -> Roles:
    numeric, others = _several(found)
    left = [name for name in (*others, *numeric) if name != along]
    lines = next((name for name in left if found.table[name].n_unique() <= MAX_LINES), None)
    return Roles(along, lines, tuple(name for name in left if name != lines))


def _panels(found: StudyData, kind: str, metric: str, roles: Roles, width: str) -> Picture:
    values = [found.table[name].unique(maintain_order=True).to_list() for name in roles.panels]
    every = list(itertools.product(*values))
    shown = every[:MAX_PANELS]
    beside = 1 if width == "column" else min(len(shown), MAX_PANEL_COLUMNS)
    rows = -(-len(shown) // beside)
    wide = WIDTHS[width]
    each = wide * (0.72 if width == "column" else 0.5 if beside == 1 else 0.62) / max(beside, 1)
    figure = Picture(figsize=(wide, rows * each + 0.5), layout="constrained")
    grid: list[Axes] = list(np.ravel(figure.subplots(rows, beside, sharex=True, sharey=True, squeeze=False)))
    for axes, panel in itertools.zip_longest(grid, shown):
        if panel is None:
            axes.set_visible(False)
            continue
        own = found.distinct
        for name, value in zip(roles.panels, panel, strict=True):
            own = own.filter(pl.col(name) == value)
        _draw_panel(axes, found, own, kind, metric, roles)
        axes.set_title(", ".join(_label(*pair) for pair in zip(roles.panels, panel, strict=True)), fontsize="medium")
    for axes in grid[: len(shown)]:
        axes.label_outer()
    handles, labels = grid[0].get_legend_handles_labels()
    if labels:
        columns = max(1, round(wide / plots.LEGEND_COLUMN))
        figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False)
    if len(every) > len(shown):
        figure.supxlabel(f"{len(shown)} of {len(every)} panels", fontsize="small", ha="right", x=1.0)
    return figure


def _draw_panel(axes: Axes, found: StudyData, own: pl.DataFrame, kind: str, metric: str, roles: Roles) -> None:
    if kind == "response":
        _response(axes, own, metric, roles)
    elif kind == "completion times":
        _distribution(axes, found, own, roles)
    else:
        _by_size(axes, found, own, kind, roles)


def _lines(own: pl.DataFrame, lines: str | None) -> Iterator[tuple[int, str | None, pl.DataFrame]]:
    parts = own.group_by(lines, maintain_order=True) if lines else [((None,), own)]
    for number, ((value,), part) in enumerate(parts):
        yield number, None if lines is None else _label(lines, value), part


def _response(axes: Axes, own: pl.DataFrame, metric: str, roles: Roles) -> None:
    _, factor = unit(metric)
    axes.set_ylabel(axis_label(metric))
    parts = list(_lines(own, roles.lines))
    if roles.along is None:
        for number, _, part in parts:
            one = _estimate(part[metric])
            bar = 0.0 if np.isnan(one.half) else factor * one.half
            marker = MARKERS[number % len(MARKERS)]
            axes.errorbar(number, factor * one.mean, bar, fmt=marker, capsize=4, color=plots.colour(number))
        axes.set_xticks(range(len(parts)), [label or "" for _, label, _ in parts])
        axes.set_xlim(-0.7, len(parts) - 0.3)
        return
    for number, label, part in parts:
        points = sorted((value, _estimate(at[metric])) for (value,), at in part.group_by(roles.along))
        x = np.array([value for value, _ in points])
        mean, half = (factor * np.array([getattr(one, key) for _, one in points]) for key in ("mean", "half"))
        axes.plot(x, mean, marker=MARKERS[number % len(MARKERS)], markersize=4, label=label, **plots.look(number))
        low = np.maximum(mean - half, 0)  # no metric is negative
        axes.fill_between(x, low, mean + half, alpha=0.2, linewidth=0, color=plots.colour(number))
    axes.set_xlabel(roles.along)
    if _is_wide(own[roles.along]):
        plots.logarithmic(axes, "x")


def _estimate(values: pl.Series) -> Interval:
    return interval(values.cast(pl.Float64).fill_null(np.nan).to_numpy())


def _curves(found: StudyData, part: pl.DataFrame, of: str, metric: str) -> tuple[npt.NDArray[np.float64], ...]:
    """Returns x values, means of a metric over the runs at each x value, and lower and upper 95 % bounds."""
    runs = part.select("point", "replication")
    rows = found.rows.filter(of=of, metric=metric).join(runs, on=["point", "replication"], maintain_order="left")
    places = sorted(set(rows["at"].to_list()))
    each = [_estimate(rows.filter(pl.col("at") == at)["value"]) for at in places]
    mean, half = (np.array([getattr(one, key) for one in each]) for key in ("mean", "half"))
    known = np.nan_to_num(half)
    return np.array(places), mean, np.maximum(mean - known, 0), mean + known


def _distribution(axes: Axes, found: StudyData, own: pl.DataFrame, roles: Roles) -> None:
    for number, label, part in _lines(own, roles.lines):
        shares, mean, low, high = _curves(found, part, "cdf", "fct_s")
        shares = shares * float(part["transfers"].sum()) / float(part["started"].sum())
        axes.plot(mean, shares, label=label, **plots.look(number))
        axes.fill_betweenx(shares, low, high, alpha=0.15, linewidth=0, color=plots.colour(number))
    axes.set_xlabel("completion time (s)")
    axes.set_ylabel("fraction of started transfers")
    plots.logarithmic(axes, "x")


def _by_size(axes: Axes, found: StudyData, own: pl.DataFrame, kind: str, roles: Roles) -> None:
    middle, late = SIZE_KINDS[kind]
    for number, label, part in _lines(own, roles.lines):
        sizes, mean, low, high = _curves(found, part, "size", middle)
        axes.plot(sizes / 1e3, mean, label=label, **plots.look(number))
        axes.fill_between(sizes / 1e3, low, high, alpha=0.15, linewidth=0, color=plots.colour(number))
        sizes, mean, *_ = _curves(found, part, "size", late)
        axes.plot(sizes / 1e3, mean, linewidth=0.8, color=plots.colour(number))
    axes.plot([], [], color="none", label="thin: 99th percentile")
    axes.set_xlabel("size (kB)")
    axes.set_ylabel("slowdown, median" if kind.startswith("slowdown") else "completion time, median (s)")
    plots.logarithmic(axes, "x", "y")


def _maps(found: StudyData, metric: str, width: str) -> Picture:
    numeric, others = _several(found)
    if len(numeric) < 2:
        raise ScenarioError("plot: a map needs two axes of numbers")
    along = (numeric[0], numeric[1])
    panels = (*others, *numeric[2:])
    table = found.distinct
    groups = table.group_by(*along, *panels, maintain_order=True)
    _, factor = unit(metric)
    rows = {key: factor * _estimate(own[metric]).mean for key, own in groups}
    values = list(dict.fromkeys(key[2:] for key in rows))[:MAX_PANELS]
    beside = min(len(values), MAX_PANEL_COLUMNS)
    deep = -(-len(values) // beside)
    figure = Picture(figsize=(WIDTHS[width], 0.56 * WIDTHS[width] * max(1, deep / 1.5)), layout="constrained")
    for axes, value in itertools.zip_longest(np.ravel(figure.subplots(deep, beside, squeeze=False)), values):
        if value is None:
            axes.set_visible(False)
            continue
        own = {key[:2]: mean for key, mean in rows.items() if key[2:] == value}
        across, up = (sorted({key[place] for key in own}) for place in (0, 1))
        cells = [[own.get((x, y), np.nan) for x in across] for y in up]
        shown = axes.imshow(
            cells, origin="lower", aspect="auto", cmap="cividis", vmin=min(rows.values()), vmax=max(rows.values())
        )
        axes.set_xticks(range(len(across)), [f"{x:.4g}" for x in across], rotation=45)
        axes.set_yticks(range(len(up)), [f"{y:.4g}" for y in up])
        axes.set_xlabel(along[0])
        axes.set_ylabel(along[1])
        axes.set_title(", ".join(_label(*pair) for pair in zip(panels, value, strict=True)))
        axes.grid(visible=False)
    figure.colorbar(shown, ax=figure.axes, label=axis_label(metric))
    return figure


def _label(axis: str, value: object) -> str:
    """Returns the label of a line or a panel: a text value itself, or a number as `axis = value`."""
    if isinstance(value, str):
        return value
    return f"{axis} = {value:g}" if isinstance(value, float) else f"{axis} = {value}"


def _is_wide(values: pl.Series) -> bool:
    found = values.to_numpy()
    return bool(found.min() > 0 and found.max() / found.min() >= MIN_LOG_RATIO)
