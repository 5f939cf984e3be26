"""Figures of a result: rates, queues and loss against time; as PNG files and one page that needs nothing else."""

from __future__ import annotations

import html
import io
import re
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import polars as pl
from matplotlib.figure import Figure

from levelflow.report.summary import is_listed
from levelflow.style import COLOURS, GREY, STYLE
from levelflow.theory.references import Reference, reference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes

    from levelflow.results import Result

Curve = tuple[str, pl.Series, pl.Series]

MOST_LINES = len(COLOURS)
#: What leaves the time and the version of the library out of a picture, by its kind.
UNDATED: dict[str, dict[str, None]] = {
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
#: Size of a picture and the room around its axes, inches; a legend needs as much on the right as it is wide.
SIZE = (9.0, 4.0)
LEFT, RIGHT, BOTTOM, TOP = 0.85, 0.15, 0.55, 0.35


@mpl.rc_context(STYLE)
def rates(result: Result) -> Figure:
    """Draws the rate of one flow of each entry, and dashed that of the reference where it is to be had.

    Of flows that come and go, many have nothing left to send: the rate is the one at which they are delivered.
    """
    figure, axes = _figure(f"{result.scenario['name']}: rate per flow", "rate (Mb/s)")
    shown = list(entries(result))
    _draw(axes, [(_label(flow), own["t"], own[rate_column(flow)] / own["active"] / 1e6) for flow, own in shown])
    compared = [number for number, (flow, _) in enumerate(shown) if is_listed(flow)]
    if compared and len(shown) <= MOST_LINES:
        dashes: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1, "alpha": 0.7, "zorder": 1}
        lines, (name, ideal) = list(axes.get_lines()), _ideal(result)
        peaks = [np.max(line.get_ydata()) for line in lines]
        for number in compared:
            times, fair = ideal[shown[number][0]["name"]]
            axes.plot(times, fair, color=lines[number].get_color(), **dashes)
            peaks.append(fair[-1])
        axes.plot([], [], color=GREY, label=name, **dashes)
        axes.set_ylim(top=1.08 * np.nanmax(peaks))  # an early fair rate that nobody came near may leave the picture
    return _finished(figure, axes)


@mpl.rc_context(STYLE)
def queues(result: Result) -> Figure:
    """Draws the largest queue of each sample, per link that ever had one."""
    figure, axes = _figure(f"{result.scenario['name']}: queues, largest in each sample", "queue (kB)")
    _draw(axes, of_links(result, "queue_max_bytes", 1e-3), "no queue ever formed")
    return _finished(figure, axes)


@mpl.rc_context(STYLE)
def losses(result: Result) -> Figure:
    """Draws the largest share of arrivals that each queue dropped in an interval of its router, or in a sample."""
    title = f"{result.scenario['name']}: dropped at the queue, largest share in each sample"
    figure, axes = _figure(title, "loss (% of arrivals)")
    _draw(axes, of_links(result, "peak_loss", 100), "no queue dropped a packet")
    return _finished(figure, axes)


FIGURES = {"rates": rates, "queues": queues, "losses": losses}


@mpl.rc_context(STYLE)
def write(result: Result) -> list[Path]:
    """Writes a PNG per figure and `report.html` into the result's directory; returns their paths."""
    if result.path is None:
        raise ValueError("a result in memory has no directory for pictures; run with out=...")
    written, drawings = [], []
    for name, draw in FIGURES.items():
        figure = draw(result)
        target = result.path / f"{name}.png"
        save(figure, target)
        written.append(target)
        drawings.append(svg(figure, name))
    page = result.path / "report.html"
    page.write_text(_page(result, drawings), encoding="utf-8")
    return [*written, page]


@mpl.rc_context(STYLE)
def svg(figure: Figure, name: str) -> str:
    """Returns a figure as an SVG element to put into a page; equal figures give equal text.

    Its ids begin with the name, so that a page may hold several figures; its text is text.
    """
    buffer = io.StringIO()
    _save(figure, buffer, format="svg", metadata=UNDATED["svg"])
    text = buffer.getvalue()
    return re.sub(r'(\bid="|="#|url\(#)', rf"\g<1>{name}-", text[text.index("<svg") :])


def save(figure: Figure, target: Path) -> None:
    """Writes a figure as the picture that the ending of the name says; equal figures give equal files.

    Raises:
        OSError: if the file cannot be written.
        ValueError: if its name does not end in a kind of picture.
    """
    if not target.suffix:
        raise ValueError("needs the ending of a kind of picture, such as .png, .svg or .pdf")
    with mpl.rc_context(STYLE):
        _save(figure, target, metadata=UNDATED.get(target.suffix.removeprefix(".").lower()))


def _save(figure: Figure, target: Path | io.StringIO, **options: Any) -> None:
    with _any_sign():
        figure.savefig(target, **options)


@contextmanager
def _any_sign() -> Iterator[None]:
    """Lets a name hold any sign; where no font has it, a box stands for it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def _figure(title: str, label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=SIZE)
    axes = figure.add_subplot()
    axes.set(title=title, xlabel="time (s)", ylabel=label)
    return figure, axes


def _draw(axes: Axes, curves: list[Curve], nothing: str = "nothing was sent") -> None:
    """Draws curves in colours with names, or, where they are many, in grey with their mean."""
    if not curves:
        axes.text(0.5, 0.5, nothing, transform=axes.transAxes, ha="center", color=GREY)
        axes.set(xticks=[], yticks=[])
    if len(curves) <= MOST_LINES:
        for label, t, y in curves:
            axes.plot(t, y, label=label)
        return
    for _, t, y in curves:
        axes.plot(t, y, color=GREY, linewidth=0.5, alpha=0.35)
    axes.plot([], [], color=GREY, linewidth=0.8, label=f"{len(curves)} curves")
    times, place = np.unique(np.concatenate([t for _, t, _ in curves]), return_inverse=True)
    total = np.bincount(place, weights=np.concatenate([y for _, _, y in curves]))
    axes.plot(times, total / np.bincount(place), color=COLOURS[0], label="their mean")


def _finished(figure: Figure, axes: Axes) -> Figure:
    axes.margins(x=0.01)
    axes.set_ylim(bottom=0)
    width, height = SIZE
    right = RIGHT
    if axes.get_legend_handles_labels()[1]:
        legend = axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
        with _any_sign():
            right += legend.get_window_extent().width / figure.dpi  # far cheaper than a layout, which draws all twice
    figure.subplots_adjust(LEFT / width, BOTTOM / height, max(1 - right / width, 0.5), 1 - TOP / height)
    return figure


def entries(result: Result) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Yields each flow entry with its samples while flows of it were active."""
    active = result.flows.filter(pl.col("active") > 0).partition_by("flow", as_dict=True)
    for flow in result.scenario["flows"]:
        own = active.get((flow["name"],))
        if own is not None:
            yield flow, own


def rate_column(flow: dict[str, Any]) -> str:
    """Returns the column that shows the rate of an entry's flows."""
    return "rate_bps" if is_listed(flow) else "delivered_bps"


def _label(flow: dict[str, Any]) -> str:
    many = {None: ", mean", 1: ""}.get(flow["count"], f", mean of {flow['count']}")
    return f"{flow['name']} ({flow['law']}{many}{'' if is_listed(flow) else ', delivered'})"


def of_links(result: Result, column: str, factor: float) -> list[Curve]:
    """Returns a curve per link whose column is ever above 0."""
    return [
        (name, own["t"], own[column] * factor)
        for (name,), own in result.links.partition_by("link", as_dict=True, maintain_order=True).items()
        if own[column].max()
    ]


def _ideal(result: Result) -> tuple[str, dict[str, tuple[list[float], list[float]]]]:
    """Returns the reference of a run and each entry's rate in it, Mb/s, against time.

    It is constant while the same flows are active. Where its name changes with them, it is called by the last.
    """
    names = [flow["name"] for flow in result.scenario["flows"]]
    table = result.flows.pivot(on="flow", on_columns=names, index="t", values="active", aggregate_function="first")
    table = table.sort("t").fill_null(0)
    known: dict[tuple[float, ...], Reference] = {}
    state: tuple[float, ...] = ()
    curves: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    for t, *row in table.iter_rows():
        state = tuple(row)
        if state not in known:
            known[state] = reference(result.scenario, state)
        for name, share in zip(names, known[state].rates, strict=True):
            curves[name][0].append(t)
            curves[name][1].append(np.nan if share is None else share / 1e6)
    return known[state].name, curves


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{name}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
svg {{ width: 100%; height: auto }} h1 {{ margin-bottom: 0 }} .quiet {{ color: #666; margin-top: 0 }}
table {{ border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }}
th, td {{ padding: .25rem .8rem; text-align: right; border-bottom: 1px solid #ddd }}
th:first-child, td:first-child {{ text-align: left }} .wide {{ overflow-x: auto }}
</style>
<h1>{name}</h1>
<p class="quiet">{about}</p>
{body}
"""


def _page(result: Result, drawings: list[str]) -> str:
    from levelflow.report.tables import flow_table, link_table, verdict

    scenario, manifest = result.scenario, result.manifest
    about = (
        f"{manifest['raw'].get('description', '')}. {manifest['simulated_s']:g} s simulated, seed {manifest['seed']}, "
        f"levelflow {manifest['build']}, {manifest['status']}. {verdict(result.summary)}"
    )
    body = drawings + [_html_table(*table) for table in (flow_table(result.summary), link_table(result.summary))]
    return PAGE.format(name=html.escape(scenario["name"]), about=html.escape(about.lstrip(". ")), body="\n".join(body))


def _html_table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
    title = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    return f'<div class="wide"><table><tr>{title}</tr>' + "".join(f"<tr>{x}</tr>" for x in lines) + "</table></div>"
