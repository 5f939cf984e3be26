"""Page of a run: one self-contained HTML file that is readable without its script."""

from __future__ import annotations

import importlib.resources
import shlex
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from levelflow.law import LAW_FILES
from levelflow.report import network, series
from levelflow.report.tables import html_table, rate, tables, time, verdict
from levelflow.report.transfers import HIGH, LOW, transfers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from levelflow.report.series import Array, Curve, Panel
    from levelflow.report.transfers import Transfers
    from levelflow.rundata import RunData

#: Width and height of a plot in SVG units; the page stretches the plot.
WIDE, HIGH_UNITS = 10_000, 1_000
#: Limits on the points of one curve, and of all grey curves together.
POINTS, GREY_POINTS = 3_000, 30_000
TICKS_X, TICKS_Y = 8, 5
OF_FLOWS = ("throughput", "round trip")
TABLES = ("flows.parquet", "links.parquet", "transfers.parquet", "members.parquet", "summary.json", "manifest.json")


def page(result: RunData, command: str = "") -> str:
    """Returns the page of a finished run; ``command`` is the command line of the run."""
    scenario, manifest = result.scenario, result.manifest
    about = manifest["raw"].get("description", "")
    facts = f"{manifest['simulated_s']:g} s simulated, seed {manifest['seed']}, {manifest['status']}; "
    facts += f"Levelflow {manifest['build']}"
    body = [
        f"<header><h1>{escape(scenario['name'])}</h1>",
        f"<p>{escape(about)}</p>" if about else "",
        f"<p class=verdict>{escape(verdict(result.summary))}</p>{_warnings(result)}",
        f"<p class=quiet>{escape(facts)}</p></header>",
        _section("Against time", _against_time(result)),
        _section("Completion times", _transfers(result)),
        _section("Network", network.drawing(result)),
        _section("Numbers", _tables(result)),
        _section("Run it again", _rerun_section(result, command)),
    ]
    style, script = (_file(name) for name in ("page.css", "page.js"))
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(scenario['name'])} - Levelflow</title>\n<style>\n{style}</style>\n"
        f"<main>{''.join(body)}</main>\n<script>\n{script}</script>\n</html>\n"
    )


def _file(name: str) -> str:
    return importlib.resources.files("levelflow.report").joinpath(name).read_text(encoding="utf-8")


def _section(title: str, body: str) -> str:
    return f"\n<section><h2>{title}</h2>{body}</section>" if body else ""


def _against_time(result: RunData) -> str:
    shown = [draw(result) for draw in (series.rates, series.round_trips, series.queues, series.losses)]
    shown = [panel for panel in shown if panel.curves] or shown[:1]
    names = [flow["name"] for flow in result.scenario["flows"]]
    options = "".join(f"<option>{escape(name)}</option>" for name in names)
    controls = (
        "<form class=controls hidden><label>Flow <select name=flow><option value=''>all</option>"
        f"{options}</select></label><button type=button name=whole disabled>Whole time</button>"
        "<output name=at></output>"
        "<span class=quiet>Point at a plot for its values; drag across it to zoom; arrow keys, + and - do the same."
        "</span></form><p class=spoken role=status></p>"
    )
    end = float(result.manifest["simulated_s"])
    return controls + "".join(_plot(panel, end, number) for number, panel in enumerate(shown))


def _plot(panel: Panel, end: float, number: int) -> str:
    """Returns a panel as a stretchable SVG chart; axis numbers are HTML text outside the SVG."""
    ticks = nice(0.0, 1.05 * panel.top or 1.0, TICKS_Y)
    top = max(1.05 * panel.top, ticks[-1]) or 1.0
    bars = panel.quantity == "loss"
    place = {curve.name: slot for slot, curve in enumerate(panel.curves)}

    def path(curve: Curve, kind: str, most: int = POINTS) -> str:
        x, y = thinned(curve.t / end * WIDE, (1 - curve.y / top) * HIGH_UNITS, most)
        d = (_stems if bars else _line)(x, y)
        return f"<path class='{kind}' data-name='{escape(curve.name)}' d='{d}'/>"

    most = min(POINTS, GREY_POINTS // max(len(panel.others), 1))
    paths = [path(curve, "other", most) for curve in panel.others]
    paths += [_band(curve, end, top, slot) for slot, curve in enumerate(panel.curves) if curve.band]
    paths += [path(curve, f"step c{place.get(curve.name, 0) % 7}") for curve in panel.steps]
    paths += [path(curve, f"curve c{slot % 7} d{slot % 4}") for slot, curve in enumerate(panel.curves)]
    label = f"{panel.title} ({panel.unit[0]})"
    return Chart(
        f"p{number}",
        label,
        _description(panel),
        f"class='time{' losses' if bars else ''}' data-unit='{panel.unit[0]}' data-top='{top:.6g}' "
        f"data-end='{end:.9g}' "
        f"data-bytes='{panel.bytes_per_unit or 0:.9g}' data-of={'flows' if panel.quantity in OF_FLOWS else 'links'}",
        _legend(panel),
        "".join(paths),
        [(tick / top, f"{tick:g}") for tick in ticks],
        [(tick / end, f"{tick:g}") for tick in nice(0.0, end, TICKS_X)],
        "time (s)",
        _second_axis(panel, top),
    ).html()


@dataclass(frozen=True)
class Chart:
    """Stretchable SVG chart; axis numbers are HTML text outside the SVG.

    The field after `under` is the HTML of a second axis.

    Attributes:
        name: Id of the HTML element.
        label: Title.
        description: Text alternative.
        attributes: Further attributes of the HTML element.
        legend: Legend as HTML.
        paths: Curves as SVG.
        ticks_y: Positions (0 to 1) and texts of the ticks of the y axis.
        ticks_x: Positions (0 to 1) and texts of the ticks of the x axis.
        under: Label of the x axis.
    """

    name: str
    label: str
    description: str
    attributes: str
    legend: str
    paths: str
    ticks_y: list[tuple[float, str]]
    ticks_x: list[tuple[float, str]]
    under: str
    beside: str = ""

    def html(self) -> str:
        """Returns the figure."""
        grid = "".join(f"M0 {(1 - y) * HIGH_UNITS:.1f}H{WIDE}" for y, _ in self.ticks_y)
        lines = f"<path class='grid' d='{grid}'/>"
        y = "".join(f"<span style='bottom:{100 * place:.2f}%'>{text}</span>" for place, text in self.ticks_y)
        x = "".join(f"<span style='left:{100 * place:.2f}%'>{text}</span>" for place, text in self.ticks_x)
        name, label = self.name, escape(self.label)
        return (
            f"<figure id={name} {self.attributes}><figcaption><h3>{label}</h3>{self.legend}</figcaption>"
            f"<div class=box><svg viewBox='0 0 {WIDE} {HIGH_UNITS}' preserveAspectRatio=none role=img "
            f"aria-labelledby='{name}-t {name}-d'><title id={name}-t>{label}</title>"
            f"<desc id={name}-d>{escape(self.description)}</desc>{lines}{self.paths}</svg>"
            f"<div class=y aria-hidden=true>{y}</div>{self.beside}<div class=x aria-hidden=true>{x}</div></div>"
            f"<p class=under aria-hidden=true>{escape(self.under)}</p></figure>"
        )


def _legend(panel: Panel) -> str:
    items = [
        f"<li data-name='{escape(curve.name)}'>{_swatch(f'curve c{slot % 7} d{slot % 4}')}{escape(curve.label)}"
        "<output></output></li>"
        for slot, curve in enumerate(panel.curves)
    ]
    if panel.others:
        items.append(f"<li>{_swatch('other')}{panel.others_label}</li>")
    if any(np.isfinite(curve.y).any() for curve in panel.steps):
        items.append(f"<li>{_swatch('step')}{panel.steps_label}{panel.above}</li>")
    return f"<ul class=legend>{''.join(items)}</ul>"


def _swatch(kind: str) -> str:
    return f"<svg class=swatch viewBox='0 0 24 10' aria-hidden=true><path class='{kind}' d='M0 5H24'/></svg>"


def _description(panel: Panel) -> str:
    """Returns the text alternative of a panel: the largest and the last value of each curve."""
    words = []
    for curve in panel.curves:
        known = curve.y[np.isfinite(curve.y)]
        if known.size:
            words.append(f"{curve.label}: at most {known.max():.3g}, at the end {known[-1]:.3g} {panel.unit[0]}")
    return "; ".join(words) or panel.nothing


def _second_axis(panel: Panel, top: float) -> str:
    """Returns the right-hand axis of a delay panel, in bytes; empty if delay is not proportional to bytes."""
    if not panel.bytes_per_unit:
        return ""
    most = top * panel.bytes_per_unit
    name, factor = series.unit_of(most, series.SIZES)
    ticks = nice(0.0, most / factor, TICKS_Y)
    texts = [f"{tick:g}" for tick in ticks[:-1]] + [f"{ticks[-1]:g} {name}"]
    spans = "".join(
        f"<span style='bottom:{100 * tick * factor / most:.2f}%'>{text}</span>"
        for tick, text in zip(ticks, texts, strict=True)
    )
    return f"<div class='y right' aria-hidden=true>{spans}</div>"


def nice(low: float, high: float, most: int) -> list[float]:
    """Returns at most `most` + 1 round numbers from `low` to `high`, in equal steps.

    >>> nice(0.0, 10.0, 5)
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(float(power * factor) for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{step * number:.9g}") for number in range(first, last + 1)]


def decades(low: float, high: float) -> list[float]:
    """Returns the powers of ten between two numbers. If there are few, also returns their multiples by 2 and 5."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    many = len(powers) > 3
    found = [10.0**power * factor for power in powers for factor in ((1,) if many else (1, 2, 5))]
    return [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def _line(x: Array, y: Array) -> str:
    parts, start = [], True
    for px, py in zip(np.round(x, 1).tolist(), np.round(y, 1).tolist(), strict=True):
        if np.isnan(py):
            start = True
            continue
        parts.append(f"{'M' if start else ''}{px:g},{py:g}")
        start = False
    return " ".join(parts)


def _stems(x: Array, y: Array) -> str:
    return "".join(f"M{px:.1f},{HIGH_UNITS} {px:.1f},{py:.1f}" for px, py in zip(x, y, strict=True))


def _band(curve: Curve, end: float, top: float, slot: int) -> str:
    if curve.band is None:
        return ""
    t, low, high = curve.band
    x = np.concatenate([t, t[::-1]]) / end * WIDE
    edges = (thinned(t / end * WIDE, (1 - side / top) * HIGH_UNITS) for side in (low, high))
    (x0, y0), (x1, y1) = edges
    d = _line(np.concatenate([x0, x1[::-1]]), np.concatenate([y0, y1[::-1]])) if x.size else ""
    return f"<path class='band c{slot % 7}' data-name='{escape(curve.name)}' d='{d}Z'/>"


def thinned(x: Array, y: Array, most: int = POINTS) -> tuple[Array, Array]:
    """Divides a long curve into equal parts and keeps the first, lowest and highest point of each part, and gaps."""
    if x.size <= most:
        return x, y
    each = -(-x.size // max(most // 3, 1))
    padded = np.pad(y, (0, -x.size % each), mode="edge").reshape(-1, each)
    starts = np.arange(0, x.size, each)
    lowest = np.where(np.isnan(padded), np.inf, padded).argmin(axis=1)
    highest = np.where(np.isnan(padded), -np.inf, padded).argmax(axis=1)
    gap = np.isnan(padded).argmax(axis=1)  # index of the first NaN
    kept = np.unique(np.concatenate([starts, starts + lowest, starts + highest, starts + gap, [x.size - 1]]))
    kept = kept[kept < x.size]
    return x[kept], y[kept]


def _transfers(result: RunData) -> str:
    shown = transfers(result)
    if not shown:
        return ""
    unit = series.unit_of(max(float(np.median(each.times)) for each in shown), series.TIMES)
    plots = [_distribution(shown, unit)]
    if sized := [each for each in shown if np.ptp(each.size) > 0]:
        plots = [_against_size(sized, unit), _slowdowns(sized), *plots]
    return f"<div class=pair>{''.join(plots)}</div>"


def _scale(low: float, high: float) -> Callable[[Array], Array]:
    """Returns a function from values to positions between 0 and 1 on a logarithmic axis."""
    return lambda values: np.log(values / low) / np.log(high / low)


@dataclass(frozen=True)
class _BySize:
    """Logarithmic axes for curves against size; `x` and `y` are the ranges of the axes."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def around(cls, xs: Array, ys: Array) -> _BySize:
        """Returns axes that contain the values."""
        (left, right), (low, high) = ((float(v.min()) / 1.1, float(v.max()) * 1.1) for v in (xs, ys))
        return cls((left, right), (low, high))

    def path(self, kind: str, x: Array, y: Array, close: str = "") -> str:
        """Returns a curve as SVG."""
        line = _line(_scale(*self.x)(x) * WIDE, (1 - _scale(*self.y)(y)) * HIGH_UNITS)
        return f"<path class='{kind}' d='{line}{close}'/>"

    def ticks(self, of: tuple[float, float]) -> list[tuple[float, str]]:
        """Returns tick positions and tick texts for an axis with the range `of`."""
        place = _scale(*of)
        return [(float(place(np.array(tick))), f"{tick:,g}") for tick in decades(*of)]


def _legend_items(shown: Sequence[Transfers], *more: tuple[str, str]) -> str:
    items = [(f"curve c{slot % 7} d{slot % 4}", each.label) for slot, each in enumerate(shown)]
    listed = "".join(f"<li>{_swatch(kind)}{escape(label)}</li>" for kind, label in (*items, *more))
    return f"<ul class=legend>{listed}</ul>"


def _against_size(shown: Sequence[Transfers], unit: tuple[str, float]) -> str:
    sizes = series.unit_of(max(float(np.median(each.size)) for each in shown), series.SIZES)
    xs = np.concatenate([np.concatenate([each.size, each.points[0]]) for each in shown]) / sizes[1]
    ys = np.concatenate([np.concatenate([each.low, each.high, each.ideal, each.points[1]]) for each in shown]) / unit[1]
    axes = _BySize.around(xs, ys)
    paths = []
    for slot, each in enumerate(shown):
        x, around = each.size / sizes[1], np.concatenate([each.size, each.size[::-1]]) / sizes[1]
        paths += [
            axes.path(f"band c{slot % 7}", around, np.concatenate([each.low, each.high[::-1]]) / unit[1], "Z"),
            axes.path(f"step c{slot % 7}", x, each.ideal / unit[1]),
            axes.path(f"step dotted c{slot % 7}", x, each.sharing / unit[1]),
            axes.path(f"curve c{slot % 7} d{slot % 4}", x, each.median / unit[1]),
        ]
    more = [("step", "ideal")]
    if any(np.isfinite(each.sharing).any() for each in shown):
        more.append(("step dotted", "processor sharing"))
    return Chart(
        "size",
        f"completion time ({unit[0]}) against size: median, and {100 * LOW:g} to {100 * HIGH:g} %",
        "; ".join(
            f"{each.label}: {time(each.median[0])} for the smallest, {time(each.median[-1])} for the largest"
            for each in shown
        )
        + f". Band: from {LOW:.0%} to {HIGH:.0%} of the transfers of a size.",
        "class=still",
        _legend_items(shown, *more),
        "".join(paths),
        axes.ticks(axes.y),
        axes.ticks(axes.x),
        f"size ({sizes[0]})",
    ).html()


def _slowdowns(shown: Sequence[Transfers]) -> str:
    sizes = series.unit_of(max(float(np.median(each.size)) for each in shown), series.SIZES)
    xs = np.concatenate([each.size for each in shown]) / sizes[1]
    axes = _BySize.around(xs, np.concatenate([np.concatenate([e.slowdown, e.slowdown_late]) for e in shown]))
    paths = []
    for slot, each in enumerate(shown):
        x = each.size / sizes[1]
        paths += [
            axes.path(f"step c{slot % 7}", x, each.slowdown_late),
            axes.path(f"curve c{slot % 7} d{slot % 4}", x, each.slowdown),
        ]
    medians = (f"{e.label}: {e.slowdown[0]:.3g} for the smallest, {e.slowdown[-1]:.3g} for the largest" for e in shown)
    return Chart(
        "slowdown",
        "slowdown against size: median, and 99th percentile",
        "; ".join(medians),
        "class=still",
        _legend_items(shown, ("step", "99th percentile")),
        "".join(paths),
        axes.ticks(axes.y),
        axes.ticks(axes.x),
        f"size ({sizes[0]})",
    ).html()


def _distribution(shown: Sequence[Transfers], unit: tuple[str, float]) -> str:
    times = np.concatenate([each.times for each in shown]) / unit[1]
    low, high = float(times.min()) / 1.1, float(times.max()) * 1.1
    x_of = _scale(low, high)
    paths = []
    for slot, each in enumerate(shown):
        line = _line(x_of(each.times / unit[1]) * WIDE, (1 - each.shares) * HIGH_UNITS)
        paths.append(f"<path class='curve c{slot % 7} d{slot % 4}' d='{line}'/>")
    return Chart(
        "cdf",
        "finished, of all transfers (%)",
        "; ".join(f"{each.label}: half within {time(float(np.median(each.times)))}" for each in shown),
        "class=still",
        _legend_items(shown),
        "".join(paths),
        [(share / 100, str(share)) for share in range(0, 101, 20)],
        [(float(x_of(np.array(tick))), f"{tick:,g}") for tick in decades(low, high)],
        f"completion time ({unit[0]})",
    ).html()


def _warnings(result: RunData) -> str:
    return "".join(f"<p>Warning: {escape(line)}</p>" for line in result.summary["warnings"])


def _tables(result: RunData) -> str:
    return "".join(html_table(*table, caption) for caption, table in tables(result.summary))


def _rerun_section(result: RunData, command: str) -> str:
    import tomli_w

    raw = {"name": result.scenario["name"], **result.manifest["raw"]}
    own = raw.pop(LAW_FILES, [])
    text = tomli_w.dumps(raw)
    laws = [word for law in own for word in ("--law-file", law["name"])]
    seed = str(result.manifest["seed"])
    saved = shlex.join(["levelflow", "run", f"{result.scenario['name']}.toml", "--seed", seed, *laws])
    codes = "".join(
        f"<details><summary>{escape(law['name'])}</summary><pre><code>{escape(law['source'])}</code></pre></details>"
        for law in own
    )
    first = f"<pre><code>{escape(command)}</code></pre><p>or save the scenario below, and run</p>" if command else ""
    here = [name for name in TABLES if result.path is None or (result.path / name).exists()]
    links = ", ".join(f'<a href="{name}">{name}</a>' for name in here)
    capacity = ", ".join(sorted({rate(link["capacity_bps"]) for link in result.scenario["links"]}))
    return (
        f"{first}<pre><code>{escape(saved)}</code></pre><details><summary>The scenario, with links of {capacity}"
        f"</summary><pre><code>{escape(text)}</code></pre></details>{codes}"
        f"<p>Data in the directory of this page: {links}.</p>"
    )
