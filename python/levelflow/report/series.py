"""Data series for the figures and the page of a result: curves, limits and units."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from levelflow import _core
from levelflow.measure import samples
from levelflow.measure.windows import is_listed
from levelflow.style import COLOURS
from levelflow.theory.competition import in_force
from levelflow.theory.references import reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from levelflow.records import FlowRecord, LinkRecord, QueueRecord
    from levelflow.rundata import RunData

Array = np.ndarray[Any, np.dtype[np.float64]]
Unit = tuple[str, float]

#: Limit on named curves. With more curves, all are grey except for `NAMED_OF_MANY` links.
MOST_LINES = len(COLOURS)
NAMED_OF_MANY = 5
#: Curves of queues are grey if their peak delay is below this fraction of the largest peak.
SHORT = 0.02
#: Number of time bins in a picture of losses.
BARS = 120
#: Multiples of a unit, largest first. A picture uses the largest multiple that does not exceed its highest value.
RATES: tuple[Unit, ...] = (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0))
TIMES: tuple[Unit, ...] = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
SIZES: tuple[Unit, ...] = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
MBPS, MS = ("Mb/s", 1e6), ("ms", 1e-3)
AMOUNT = re.compile(r"([\d.]+) (packets?|[kMGT]?B)")
BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


@dataclass(frozen=True)
class Curve:
    """Values against time.

    Attributes:
        name: Name of the flow entry or link.
        label: Text of the legend.
        t: Times, s.
        y: Values in the unit of the panel; NaN in gaps.
        band: Times, and lowest and highest values over the flows of a group; None for no band.
    """

    name: str
    label: str
    t: Array
    y: Array
    band: tuple[Array, Array, Array] | None = None


@dataclass(frozen=True)
class Panel:
    """Data of one plot against time.

    Attributes:
        title: Title.
        quantity: Quantity on the y axis.
        unit: Name of the unit, and its size in base units.
        curves: Named curves.
        others: Curves drawn in grey.
        others_label: Text of the legend for the grey curves.
        steps: Reference rates or queue limits as step curves, each named like the curve that it refers to.
        steps_label: Text of the legend for the step curves.
        bytes_per_unit: Backlog in bytes that corresponds to one unit of delay; None if it differs between named curves.
        nothing: Message if there are no curves.
    """

    title: str
    quantity: str
    unit: Unit
    curves: list[Curve]
    others: list[Curve] = field(default_factory=list)
    others_label: str = ""
    steps: list[Curve] = field(default_factory=list)
    steps_label: str = ""
    bytes_per_unit: float | None = None
    nothing: str = ""

    @property
    def top(self) -> float:
        """Highest value that the picture must show, in the unit of the panel."""
        shown = [*self.curves, *self.others]
        peaks = [peak(curve.y) for curve in shown] + [peak(curve.band[2]) for curve in shown if curve.band]
        highest = max(peaks, default=0.0)
        # Fair rates and buffers far above all curves may lie outside the picture.
        ends = [end for curve in self.steps if (end := last(curve.y)) <= 2 * highest]
        return float(max([highest, *ends]))

    @property
    def above(self) -> str:
        """Legend text with the range of the buffer limits, if every limit lies above the picture; empty otherwise."""
        levels = sorted({float(np.nanmin(curve.y)) for curve in self.steps if np.isfinite(curve.y).any()})
        if self.quantity != "queueing delay" or not levels or levels[0] <= self.top:
            return ""
        low, high = (f"{level:.3g}" for level in (levels[0], levels[-1]))
        return f" {low if low == high else f'{low} to {high}'} {self.unit[0]}, above"


def peak(values: Array) -> float:
    """Returns the largest finite value; 0 if there is none."""
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else 0.0


def last(values: Array) -> float:
    """Returns the last finite value; NaN if there is none."""
    known = values[np.isfinite(values)]
    return float(known[-1]) if known.size else np.nan


def unit_of(highest: float, units: Sequence[Unit]) -> Unit:
    """Returns the largest unit that does not exceed the value; the base unit for a value of 0."""
    if highest <= 0:
        return next(unit for unit in units if unit[1] == 1)
    return next((unit for unit in units if highest >= unit[1] * (1 - 1e-9)), units[-1])


def each_rate(result: RunData) -> list[Curve]:
    """Returns the throughput of each flow entry, in bit/s: the mean per flow, or the total of the transfers."""
    return [_rate(result, flow, own) for flow, own in entries(result)]


def each_queue(result: RunData) -> list[Curve]:
    """Returns the longest queueing delay per sample, in seconds, of each link with any queueing.

    The delay is 0 in samples without a backlog. Samples in which packets wait but none starts transmission are gaps.
    """
    idle = pl.when(pl.col("backlog_max_bytes") == 0).then(0.0)
    delays = result.links.with_columns(delay=idle.otherwise(pl.col("queueing_delay_max_s")))
    known = replace(result, links=delays.with_columns(pl.col("delay").fill_nan(None)))
    return [_curve(name, name, own["t"], own["delay"]) for name, own in of_links(known, "delay")]


def service(link: LinkRecord, times: Array) -> Array:
    """Returns the mean service rate of a link in the samples that end at `times`, in bit/s; NaN instead of 0."""
    if not link["changes"]:
        return np.full(len(times), float(link["service_bps"]))
    begins = np.array([0.0, *(change["at_s"] for change in link["changes"])])
    rates = np.array([link["service_bps"], *(change["service_bps"] for change in link["changes"])])
    sent = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(begins))])

    def until(t: Array) -> Array:
        place = np.searchsorted(begins, t, side="right") - 1
        return np.asarray(sent[place] + rates[place] * (t - begins[place]))

    starts = np.concatenate([[0.0], times[:-1]])
    mean = (until(times) - until(starts)) / np.maximum(times - starts, 1e-12)
    return np.where(mean > 0, mean, np.nan)


def rates(result: RunData, unit: Unit | None = None) -> Panel:
    """Returns throughput (per flow, or of all transfers) and, if known, reference rate of each flow entry."""
    curves = each_rate(result)
    listed = {flow["name"] for flow in result.scenario["flows"] if is_listed(flow)}
    label = ""
    steps: list[Curve] = []
    if listed and len(curves) <= MOST_LINES:
        label, steps = _ideal(result, {curve.name for curve in curves} & listed)
    unit = unit or unit_of(max((peak(curve.y) for curve in curves), default=0), RATES)
    curves, steps = (_in(unit, some) for some in (curves, steps))
    title = "throughput per flow" if listed else "throughput of all transfers"
    panel = Panel(title, "throughput", unit, curves, steps=steps, steps_label=label, nothing="nothing arrived")
    if len(curves) > MOST_LINES:
        panel = replace(panel, curves=[_median(curves)], others=curves, others_label=f"{len(curves)} flows")
    return panel


def round_trips(result: RunData) -> Panel:
    """Returns the mean round-trip time of each flow entry in each sample, as measured by ACKs."""
    curves = [_curve(flow["name"], _label(flow), own["t"], own["rtt_s"]) for flow, own in entries(result)]
    curves = [curve for curve in curves if peak(curve.y)]
    unit = unit_of(max((peak(curve.y) for curve in curves), default=0), TIMES)
    curves = _in(unit, curves)
    panel = Panel("round trips, mean in each sample", "round trip", unit, curves, nothing="no ACK came back")
    if len(curves) > MOST_LINES:
        panel = replace(panel, curves=[_median(curves)], others=curves, others_label=f"{len(curves)} flows")
    return panel


def queues(result: RunData, unit: Unit | None = None) -> Panel:
    """Returns the longest queueing delay per sample of each link with any queueing.

    If there are many links, only those with the largest mean delays are named: they are the bottlenecks.
    """
    links = {link["name"]: link for link in result.scenario["links"]}
    curves = each_queue(result)
    longest = max((peak(curve.y) for curve in curves), default=0)
    unit = unit or unit_of(longest, TIMES)
    shown = {curve.name for curve in curves if peak(curve.y) >= SHORT * longest}
    if len(shown) > MOST_LINES:
        delays = {link["name"]: link["queueing_delay_s"] for link in result.summary.get("links", [])}
        mean = {one.name: (delays.get(one.name) or {"mean": float(np.nanmean(one.y))})["mean"] for one in curves}
        shown = set(sorted(shown, key=lambda name: -mean[name])[:NAMED_OF_MANY])
    named = _in(unit, [curve for curve in curves if curve.name in shown])
    others = _in(unit, [curve for curve in curves if curve.name not in shown])
    many = "1 other link" if len(others) == 1 else f"{len(others)} other links"
    plain = all(keeps_order(links[name]) for name in shown)
    capacities = {links[name]["service_bps"] for name in shown} if plain else set()
    unknown = not curves and bool(result.links["backlog_max_bytes"].max())
    return Panel(
        "queueing delay, longest in each sample",
        "queueing delay",
        unit,
        named,
        others=others,
        others_label=many if others else "",
        steps=_in(unit, [limit for name in links if name in shown if (limit := _buffer(result, links[name]))]),
        steps_label="buffer",
        bytes_per_unit=capacities.pop() * unit[1] / 8 if len(capacities) == 1 else None,
        nothing="the kernel's queues do not report delays" if unknown else "no queue ever formed",
    )


def keeps_order(link: LinkRecord) -> bool:
    """Returns True if delay is proportional to backlog: a single FIFO, constant capacity, no shaper."""
    (discipline,) = link["queue"]
    return not link["changes"] and discipline not in _several_or_shaped()


@cache
def _several_or_shaped() -> frozenset[str]:
    """Returns the queue disciplines with several queues, or that shape or police below the line rate."""
    disciplines: list[QueueRecord] = json.loads(_core.queues())
    rated = {queue["name"] for queue in disciplines if any(row["name"] == "rate" for row in queue["params"])}
    return frozenset(rated | {queue["name"] for queue in disciplines if queue["schedules"]})


def utilisation(result: RunData) -> Panel:
    """Returns the utilisation of each link in each sample."""
    links = {link["name"]: link for link in result.scenario["links"]}
    curves = [
        _curve(name, name, own["t"], own["throughput_bps"] / service(links[name], own["t"].to_numpy()) * 100)
        for name, own in of_links(result, "throughput_bps")
    ]
    busiest = sorted(curves, key=lambda curve: -float(np.nanmean(curve.y)))
    named = busiest if len(curves) <= MOST_LINES else busiest[:NAMED_OF_MANY]
    others = busiest[len(named) :]
    label = f"{len(others)} other links" if others else ""
    return Panel(
        "utilisation of links", "utilisation", ("%", 0.01), named, others, label, nothing="no link sent anything"
    )


def losses(result: RunData) -> Panel:
    """Returns the fraction of arriving bytes that each queue dropped, in equal time bins; omits bins without drops.

    The time of a bin is its middle.
    """
    span = max(float(result.manifest["simulated_s"]) / BARS, float(result.scenario["sample_s"]))
    curves = []
    for name, own in of_links(result, "dropped"):
        t = own["t"].to_numpy()
        place = np.minimum((t / span - 1e-9).astype(int), BARS)
        arrived = np.bincount(place, own["arrival_bps"].to_numpy() * np.diff(t, prepend=0.0) / 8)
        dropped = np.bincount(place, own["dropped_bytes"].to_numpy())
        lossy = dropped > 0
        middle = np.asarray((np.flatnonzero(lossy) + 0.5) * span, dtype=np.float64)
        shares: Array = 100 * np.minimum(dropped[lossy] / np.maximum(arrived[lossy], dropped[lossy]), 1.0)
        curves.append(Curve(name, name, middle, shares))
    worst = sorted(curves, key=lambda curve: -float(curve.y.sum()))
    named = worst if len(curves) <= MOST_LINES else worst[:NAMED_OF_MANY]
    others = worst[len(named) :]
    label = f"{len(others)} other links" if others else ""
    title = f"dropped at the queue, share of what arrived in {span:.3g} s"
    return Panel(title, "loss", ("%", 0.01), named, others, label, nothing="no queue dropped a packet")


def entries(result: RunData) -> Iterator[tuple[FlowRecord, pl.DataFrame]]:
    """Yields each flow entry with the samples during which it had active flows."""
    active = result.flows.filter(pl.col("active") > 0).partition_by("flow", as_dict=True)
    for flow in result.scenario["flows"]:
        own = active.get((flow["name"],))
        if own is not None:
            yield flow, own


def of_links(result: RunData, column: str) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yields the name and the samples of each link with a nonzero value in the column."""
    for (name,), own in result.links.partition_by("link", as_dict=True, maintain_order=True).items():
        if own[column].max():
            yield str(name), own


def _rate(result: RunData, flow: FlowRecord, own: pl.DataFrame) -> Curve:
    if not is_listed(flow):
        return _curve(flow["name"], f"{_label(flow)}, all", own["t"], own["throughput_bps"])
    label = _label(flow) if flow["count"] == 1 else f"{_label(flow)}, mean of {flow['count']}"
    curve = _curve(flow["name"], label, own["t"], own["throughput_bps"] / own["active"])
    members = result.members
    if members.is_empty() or flow["count"] == 1:
        return curve
    each = members.filter(pl.col("flow").cast(pl.String) == flow["name"])
    if each.is_empty():
        return curve
    span = each.group_by("t").agg(low=pl.col("throughput_bps").min(), high=pl.col("throughput_bps").max()).sort("t")
    return replace(curve, band=(span["t"].to_numpy(), span["low"].to_numpy(), span["high"].to_numpy()))


def _label(flow: FlowRecord) -> str:
    return f"{flow['name']} ({flow['law']})"


def _curve(name: str, label: str, t: pl.Series, y: pl.Series) -> Curve:
    return Curve(name, label, *gaps(t.to_numpy(), y.cast(pl.Float64).to_numpy()))


def gaps(t: Array, y: Array) -> tuple[Array, Array]:
    """Inserts a NaN where samples are missing, so that lines have gaps there."""
    if t.size < 3:
        return t, y
    steps = np.diff(t)
    missing = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1
    return np.insert(t, missing, t[missing - 1]), np.insert(y, missing, np.nan)


def _in(unit: Unit, curves: Iterable[Curve]) -> list[Curve]:
    def scaled(curve: Curve) -> Curve:
        band = curve.band and (curve.band[0], curve.band[1] / unit[1], curve.band[2] / unit[1])
        return replace(curve, y=curve.y / unit[1], band=band)

    return [scaled(curve) for curve in curves]


def _median(curves: list[Curve]) -> Curve:
    times = np.unique(np.concatenate([curve.t for curve in curves]))
    table = np.full((len(curves), times.size), np.nan)
    for row, curve in zip(table, curves, strict=True):
        known = np.isfinite(curve.y)
        row[np.searchsorted(times, curve.t[known])] = curve.y[known]
    some = np.isfinite(table).any(axis=0)
    return Curve("", "their median", *gaps(times[some], np.nanmedian(table[:, some], axis=0)))


def _buffer(result: RunData, link: LinkRecord) -> Curve | None:
    """Returns the queueing delay of a full buffer.

    Returns None if the buffer has no limit, packet sizes are mixed, or the link has several queues.
    """
    (discipline,) = link["queue"]
    if discipline in _several_or_shaped():
        return None
    found = AMOUNT.fullmatch(str(link["buffer"]))
    own = result.links.filter(pl.col("link").cast(pl.String) == link["name"])
    limit = own["buffer_packets"].to_numpy() if "buffer_packets" in own.columns else np.full(own.height, np.nan)
    sizes = {flow["packet_bytes"] for flow in result.scenario["flows"] if link["name"] in flow["path"]}
    if np.isfinite(limit).any() and len(sizes) == 1:
        limit = limit * sizes.pop()
    elif found and found[2] in BYTES:
        limit = np.full(own.height, float(found[1]) * BYTES[found[2]])
    else:
        return None
    times = own["t"].to_numpy()
    return _steps(link["name"], times, limit * 8 / service(link, times))


def _steps(name: str, t: Array, y: Array) -> Curve:
    """Returns a curve that is constant over each sample; `t` are the ends of the samples."""
    starts = np.concatenate([[0.0], t[:-1]])
    same = (y[1:] == y[:-1]) | (np.isnan(y[1:]) & np.isnan(y[:-1]))
    first = np.concatenate([[True], ~same])
    last = np.concatenate([~same, [True]])
    corners = np.column_stack([starts[first], t[last]]).ravel()
    return Curve(name, "", corners, np.repeat(y[first], 2))


def _ideal(result: RunData, names: set[str]) -> tuple[str, list[Curve]]:
    """Returns the name of a run's reference, and the reference rates of the entries `names`, in bit/s.

    Reference rates change with the set of active flows and with links. The returned name is the name of the last
    reference.
    """
    every = [flow["name"] for flow in result.scenario["flows"]]
    table = result.flows.pivot(on="flow", on_columns=every, index="t", values="active", aggregate_function="first")
    table = table.sort("t").fill_null(0)
    times = table["t"].to_numpy()
    changes = {change["at_s"] for link in result.scenario["links"] for change in link["changes"]}
    changes |= {plan["from_s"] for flow in result.scenario["flows"] for plan in flow.get("plans", ())}
    begins = np.array([0.0, *sorted(changes - {0.0})])
    phase = np.searchsorted(begins, times, side="left") - 1
    states, which = np.unique(np.column_stack([phase, table.select(every)]), axis=0, return_inverse=True)
    delivered = dict(samples.means(result.flows, ["flow"], ["throughput_bps"], (0.0, math.inf)).iter_rows())
    sending = {
        number: delivered[flow["name"]]
        for number, flow in enumerate(result.scenario["flows"])
        if flow.get("application") and flow["name"] in delivered
    }
    known = [
        reference(in_force(result.scenario, begins[int(number)]), active, sending)
        for number, *active in states.tolist()
    ]
    steps = []
    for number, name in enumerate(every):
        shares = np.array([np.nan if one.rates[number] is None else one.rates[number] for one in known], float)
        if name in names:
            steps.append(_steps(name, times, shares[which.ravel()]))
    return known[which.ravel()[-1]].name, steps
