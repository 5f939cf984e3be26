"""Figures of a result: rates, queues, losses and completion times, for the screen and for papers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import FuncFormatter, LogLocator

from levelflow import files, picture
from levelflow._core import ScenarioError
from levelflow.measure.transfers import finished
from levelflow.picture import Picture, any_sign
from levelflow.report import series
from levelflow.report.transfers import HIGH, LOW, transfers
from levelflow.style import COLOURS, DASHES, GREY, STYLE, WIDTHS, Look, style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from levelflow.report.series import Curve, Panel, Unit
    from levelflow.report.transfers import Transfers
    from levelflow.rundata import RunData

#: Metadata that omit the date and the library version, by file format.
UNDATED: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
PANELS = {
    "rates": series.rates,
    "queues": series.queues,
    "losses": series.losses,
    "round-trips": series.round_trips,
    "utilisation": series.utilisation,
}
#: Names of all pictures; `overview` stacks the panels of `STACK`.
NAMES = (*PANELS, "transfers", "overview")
STACK = ("rates", "round-trips", "queues", "losses")
#: Aspect ratio of the axes (height over width), by the picture's width.
SHAPE = {"column": 0.52, "page": 0.34, "screen": 0.36}
#: Margins of the axes, in font sizes.
LEFT, RIGHT, BOTTOM, TOP, BETWEEN = 5.6, 1.0, 3.4, 0.7, 1.4
#: Width of a second axis, and gap between legend columns, in font sizes.
SECOND, GAP = 3.6, 1.5
POINTS_PER_INCH = 72
#: Column width of a legend that several axes share, in inches.
LEGEND_COLUMN = 2.4
DOTTED = (0, (1, 1.5))


def draw(result: RunData, what: str, width: str = "screen", *, log: bool = False) -> Picture:
    """Draws one of `NAMES`.

    Args:
        result: RunData of the run.
        what: Name of the picture.
        width: "screen", or for a paper "column" (3.4 in) or "page" (7 in) in 8 pt type without a title.
        log: True for a logarithmic y axis; axes of completion times are always logarithmic.

    Raises:
        ScenarioError: If `what` is "transfers" and no transfer finished.
    """
    if what == "transfers":
        return completion_times(result, width)
    panels = [PANELS[name](result) for name in (STACK if what == "overview" else (what,))]
    if what == "overview":
        panels = [panel for panel in panels if panel.curves] or panels[:1]
    return stacked(panels, width, log=log, name=result.scenario["name"])


def rates(result: RunData, unit: Unit | None = None, width: str = "screen") -> Picture:
    """Draws the throughput per flow of each flow entry, and the reference rate as a thin line."""
    return stacked([series.rates(result, unit)], width, name=result.scenario["name"])


def queues(result: RunData, unit: Unit | None = None, width: str = "screen") -> Picture:
    """Draws the longest queueing delay per sample of each link, and the delay of a full buffer as a thin line."""
    return stacked([series.queues(result, unit)], width, name=result.scenario["name"])


def stacked(panels: Sequence[Panel], width: str = "screen", *, log: bool = False, name: str = "") -> Picture:
    """Draws panels above each other with a common time axis."""
    with mpl.rc_context(style(width)):
        figure, columns = figure_of(len(panels), width)
        for axes, panel in zip(columns, panels, strict=True):
            show(axes, panel, log=log)
            if width == "screen":
                axes.set_title(f"{name}: {panel.title}" if panel is panels[0] else panel.title)
        columns[-1].set_xlabel("time (s)")
        arranged(figure, columns, width)
    return figure


def show(axes: Axes, panel: Panel, *, log: bool = False) -> None:
    """Draws a panel: named curves in colour, other curves in grey, references and limits as thin step lines."""
    axes.set_ylabel(f"{panel.quantity} ({panel.unit[0]})")
    bars = panel.quantity == "loss"
    for curve in panel.others:
        if bars:
            axes.vlines(curve.t, 0, curve.y, color=GREY, linewidth=0.7, alpha=0.4)
        else:
            axes.plot(curve.t, curve.y, color=GREY, linewidth=0.5, alpha=0.4)
    for number, curve in enumerate(panel.curves):
        (_stems if bars else _line)(axes, curve, number)
    if panel.others:
        axes.plot([], [], color=GREY, linewidth=0.8, label=panel.others_label)
    colours = {curve.name: colour(number) for number, curve in enumerate(panel.curves)}
    thin: Look = {"linewidth": 0.8, "zorder": 1.5}
    for curve in panel.steps:
        axes.plot(curve.t, curve.y, color=colours.get(curve.name, GREY), **thin)
    if any(np.isfinite(curve.y).any() for curve in panel.steps):
        axes.plot([], [], color=GREY, label=f"thin: {panel.steps_label}{panel.above}", **thin)
    if not panel.curves:
        axes.text(0.5, 0.5, panel.nothing, transform=axes.transAxes, ha="center", color=GREY)
        axes.set(yticks=[])
        return
    axes.margins(x=0.01)
    if log:
        logarithmic(axes, "y")
    else:
        axes.set_ylim(0, 1.08 * panel.top or 1)
    if panel.bytes_per_unit and not log:
        _bytes_axis(axes, panel)


def logarithmic(axes: Axes, *along: str) -> None:
    """Makes axes logarithmic, with plain numbers at powers of ten.

    Axes of less than two decades also have numbers at 2 and 5 times these powers.
    """
    for name in along:
        axes.set(**{f"{name}scale": "log"})
        axis = getattr(axes, f"{name}axis")
        axis.set_major_formatter(FuncFormatter(_plain))
        axis.set_minor_formatter(FuncFormatter(partial(_between, axis)))
        axis.set_minor_locator(LogLocator(subs=range(2, 10)))


def _between(axis: Axis, value: float, place: int) -> str:
    low, high = axis.get_view_interval()
    few = high < 100 * low
    return _plain(value, place) if few and f"{value:e}"[0] in "25" else ""


def _plain(value: float, _place: int) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def look(number: int) -> Look:
    """Returns colour and dashes of a line; neighbouring lines differ in both, for black-and-white print."""
    return {"color": colour(number), "linestyle": DASHES[number % len(DASHES)]}


def colour(number: int) -> str:
    """Returns the colour of a line."""
    return COLOURS[number % len(COLOURS)]


def _line(axes: Axes, curve: Curve, number: int) -> None:
    axes.plot(curve.t, curve.y, label=curve.label, zorder=2 + number / 100, **look(number))
    if curve.band:
        t, low, high = curve.band
        axes.fill_between(t, low, high, color=colour(number), alpha=0.18, linewidth=0)


def _stems(axes: Axes, curve: Curve, number: int) -> None:
    own = colour(number)
    axes.vlines(curve.t, 0, curve.y, color=own, linewidth=0.7, alpha=0.6)
    size = 1.6 * mpl.rcParams["lines.linewidth"]
    axes.plot(curve.t, curve.y, "osD^vP*"[number % 7], color=own, markersize=size, label=curve.label)


def _bytes_axis(axes: Axes, panel: Panel) -> None:
    each = panel.bytes_per_unit or 1.0
    unit = series.unit_of(panel.top * each, series.SIZES)
    per = each / unit[1]
    right = axes.secondary_yaxis("right", functions=(lambda y: np.multiply(y, per), lambda y: np.divide(y, per)))
    right.set_ylabel(f"backlog ({unit[0]})")
    right.spines["right"].set_visible(True)


def figure_of(rows: int, width: str) -> tuple[Picture, list[Axes]]:
    """Returns an empty figure with axes above each other and a common time axis."""
    figure = Picture(figsize=(WIDTHS[width], WIDTHS[width] * SHAPE[width] * rows))
    top = figure.add_subplot(rows, 1, 1)
    columns = [top, *(figure.add_subplot(rows, 1, row, sharex=top) for row in range(2, rows + 1))]
    for axes in columns[:-1]:
        axes.tick_params(labelbottom=False)
    return figure, columns


def arranged(figure: Picture, columns: Sequence[Axes], width: str) -> None:
    """Places legends above their axes. Pictures of equal width get equal margins, so that their time axes align."""
    letter = mpl.rcParams["font.size"] / POINTS_PER_INCH
    wide = WIDTHS[width]
    room = wide - (LEFT + _right(columns, width)) * letter
    heads = [_legend(axes, room, figure) + (1.7 * letter if axes.get_title("left") else 0) for axes in columns]
    plot = wide * SHAPE[width] - (BOTTOM + TOP) * letter
    total = sum(heads) + plot * len(columns) + BETWEEN * letter * (len(columns) - 1) + (BOTTOM + TOP) * letter
    figure.set_size_inches(wide, total)
    edge = total - TOP * letter
    for axes, head in zip(columns, heads, strict=True):
        edge -= head + plot
        axes.set_position((LEFT * letter / wide, edge / total, room / wide, plot / total))
        if (legend := axes.get_legend()) is not None:
            legend.set_bbox_to_anchor((0, 1 + 0.3 * letter / plot), axes.transAxes)
            axes.set_title(axes.get_title("left"), y=1.0, pad=(head - 1.4 * letter) * POINTS_PER_INCH)
        edge -= BETWEEN * letter


def _right(columns: Sequence[Axes], width: str) -> float:
    """Returns the right margin; screen pictures always reserve room for a second axis, so that time axes align."""
    return RIGHT + (SECOND if width == "screen" or any(axes.child_axes for axes in columns) else 0)


def _legend(axes: Axes, room: float, figure: Picture) -> float:
    """Places a legend above the axes in as many columns as fit, and returns the legend's height, in inches."""
    labels = axes.get_legend_handles_labels()[1]
    if not labels:
        return 0.0
    letter = mpl.rcParams["font.size"] / POINTS_PER_INCH
    place: Look = {"loc": "lower left", "borderaxespad": 0, "borderpad": 0, "labelspacing": 0.3}
    with any_sign():
        extent = axes.legend(**place).get_window_extent()  # a constrained layout draws the figure twice
    columns = int((room + GAP * letter) / (extent.width / figure.dpi + GAP * letter))
    columns = min(len(labels), max(1, columns))
    axes.legend(ncols=columns, columnspacing=GAP, **place)
    lines = -(-len(labels) // columns)
    return float(extent.height / figure.dpi / len(labels) * lines + 0.5 * letter)


def completion_times(result: RunData, width: str = "screen") -> Picture:
    """Draws completion times and slowdowns against size, and the distribution of completion times.

    The panels are side by side, or above each other in a "column".

    Raises:
        ScenarioError: If no transfer finished.
    """
    shown = transfers(result)
    if not shown:
        raise ScenarioError("plot: no picture 'transfers'; no transfer finished in this run")
    sized = [each for each in shown if np.ptp(each.size) > 0]
    count = 3 if sized else 1
    with mpl.rc_context(style(width)):
        wide, tall = WIDTHS[width], WIDTHS[width] * (0.72 if width == "column" else 0.4)
        beside = count == 1 or width != "column"
        figure = Picture(figsize=(wide, tall if beside else count * tall), layout="constrained")
        panels = np.ravel(figure.subplots(*((1, count) if beside else (count, 1))))
        unit = series.unit_of(max(float(np.median(each.times)) for each in shown), series.TIMES)
        if sized:
            sizes = series.unit_of(max(float(np.median(each.size)) for each in shown), series.SIZES)
            _against_size(panels[0], sized, unit, sizes)
            _slowdowns(panels[1], sized, sizes)
        _distribution(panels[-1], shown, unit)
        columns = max(1, round(WIDTHS[width] / LEGEND_COLUMN))
        lines = [line for axes in panels for line in axes.get_legend_handles_labels()[0]]
        named = {str(line.get_label()): line for line in reversed(lines)}
        handles, labels = list(reversed(named.values())), list(reversed(named))
        legend = figure.legend(
            handles, labels, loc="outside upper left", ncols=columns, frameon=False, alignment="left"
        )
        if width == "screen":
            legend.set_title(f"{result.scenario['name']}: transfers", FontProperties(size=11))
    return figure


def _against_size(axes: Axes, shown: Sequence[Transfers], unit: Unit, sizes: Unit) -> None:
    for number, each in enumerate(shown):
        x, drawn = each.size / sizes[1], look(number)
        axes.plot(
            each.points[0] / sizes[1], each.points[1] / unit[1], ".", color=drawn["color"], alpha=0.35, markersize=3
        )
        axes.plot(x, each.median / unit[1], label=each.label, **drawn)
        axes.fill_between(x, each.low / unit[1], each.high / unit[1], color=drawn["color"], alpha=0.18, linewidth=0)
        axes.plot(x, each.ideal / unit[1], color=drawn["color"], linewidth=0.8)
        axes.plot(x, each.sharing / unit[1], color=drawn["color"], linewidth=0.8, linestyle=DOTTED)
    axes.plot([], [], color=GREY, linewidth=0.8, label="ideal")
    if any(np.isfinite(each.sharing).any() for each in shown):
        axes.plot([], [], color=GREY, linewidth=0.8, linestyle=DOTTED, label="processor sharing")
    logarithmic(axes, "x", "y")
    axes.set(xlabel=f"size ({sizes[0]})", ylabel=f"completion time ({unit[0]})")
    axes.set_title(f"median; band: {100 * LOW:g} to {100 * HIGH:g} %", fontsize="small")


def _slowdowns(axes: Axes, shown: Sequence[Transfers], sizes: Unit) -> None:
    for number, each in enumerate(shown):
        x, drawn = each.size / sizes[1], look(number)
        axes.plot(x, each.slowdown, label=each.label, **drawn)
        axes.plot(x, each.slowdown_late, color=drawn["color"], linewidth=0.8)
    logarithmic(axes, "x", "y")
    axes.set(xlabel=f"size ({sizes[0]})", ylabel="slowdown")
    axes.set_title("median; thin: 99th percentile", fontsize="small")


def _distribution(axes: Axes, shown: Sequence[Transfers], unit: Unit) -> None:
    for number, each in enumerate(shown):
        axes.step(each.times / unit[1], 100 * each.shares, where="post", label=each.label, **look(number))
    logarithmic(axes, "x")
    axes.set(xlabel=f"completion time ({unit[0]})", ylabel="finished, of all (%)", ylim=(0, 101))
    axes.set_title("distribution", fontsize="small")


def names_of(result: RunData) -> list[str]:
    """Returns the names of a run's pictures; "losses" and "transfers" only if the run has losses or transfers."""
    lost = any(True for _ in series.of_links(result, "dropped"))
    return [
        "rates",
        "queues",
        *(["losses"] if lost else []),
        *([] if finished(result.transfers).is_empty() else ["transfers"]),
    ]


def write(
    result: RunData, kinds: Sequence[str] = ("png",), width: str = "screen", *, log: bool = False, command: str = ""
) -> list[Path]:
    """Writes pictures in each file format and `report.html` into the result's directory, and removes older pictures.

    Args:
        result: RunData of the run.
        kinds: File formats: "png", "pdf" or "svg".
        width: See `draw`.
        log: See `draw`.
        command: Command line of the run, for the page.

    Returns:
        Paths of the files.
    """
    from levelflow.report import page

    if result.path is None:
        raise ValueError("a result in memory has no directory for pictures; run with out=...")
    for old in (result.path / f"{name}.{kind}" for name in NAMES for kind in UNDATED):
        old.unlink(missing_ok=True)
    written = []
    for name in names_of(result):
        figure = draw(result, name, width, log=log)
        for kind in kinds:
            written.append(result.path / f"{name}.{kind}")
            save(figure, written[-1])
    whole = result.path / "report.html"
    files.replace(whole, page.page(result, command))
    return [*written, whole]


def save(figure: Figure, target: Path) -> None:
    """Writes a figure in the format of the file extension; equal figures give equal files.

    Raises:
        OSError: If the file is not writable.
        ValueError: If the file extension is not a picture format.
    """
    with mpl.rc_context(STYLE):
        picture.write(figure, target, metadata=UNDATED.get(target.suffix.removeprefix(".").lower()))
