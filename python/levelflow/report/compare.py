"""Comparison of results, for example of a simulation and a real network, or of laws, seeds or parameter values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import matplotlib as mpl
import numpy as np

from levelflow._core import ScenarioError
from levelflow.law import LAW_FILES
from levelflow.report import series
from levelflow.report.plots import arranged, figure_of, look
from levelflow.report.tables import (
    SIZE_COLUMNS,
    TRANSFER_COLUMNS,
    Table,
    delays,
    fairness_of,
    percent,
    rate,
    settling,
    size,
    size_cells,
    size_range,
    time,
    transfer_cells,
)
from levelflow.style import GREY, style
from levelflow.summary import FlowSummary, LinkSummary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from levelflow.measure.transfers import SizeSummary
    from levelflow.picture import Picture
    from levelflow.report.series import Curve, Panel
    from levelflow.rundata import RunData
    from levelflow.summary import Summary

#: Keys of a flow in the JSON output.
FACTS: tuple[Literal["law", "throughput_bps", "goodput_bps", "share_bps", "distance", "loss"], ...] = (
    "law",
    "throughput_bps",
    "goodput_bps",
    "share_bps",
    "distance",
    "loss",
)
#: Keys of a link in the tables.
LINK_FACTS = ("utilisation", "backlog_bytes", "dropped_packets")
#: Quantiles of the RTT excess: the round trip minus the base round trip.
EXCESSES: tuple[Literal["p50", "p99"], ...] = ("p50", "p99")
#: Limits on flow panels and link panels in a picture.
MOST_FLOWS, MOST_LINKS = 4, 2
#: Limits on the number of differences in a result's name, and on the length of the name in letters. The directory name
#: replaces longer names.
PARTS, LETTERS = 3, 44
#: Scenario keys that do not distinguish experiments.
ASIDE = ("name", "description", "seed", LAW_FILES)
#: Links have no panel if their mean queueing delay is at most this fraction of the largest mean.
QUIET = 0.1
#: Fair rates and buffers are not drawn if they exceed all curves by more than this factor.
FAR = 2


@dataclass(frozen=True)
class Comparison:
    """Results to compare.

    Attributes:
        results: Results, at least two.
        names: Names of the results.
    """

    results: tuple[RunData, ...]
    names: tuple[str, ...]

    @property
    def flows(self) -> dict[str, list[FlowSummary | None]]:
        """Summary of each flow entry in each result; None in results without it."""
        return _by_name([result.summary["flows"] for result in self.results])

    @property
    def links(self) -> dict[str, list[LinkSummary | None]]:
        """Summary of each link in each result; None in results without it."""
        return _by_name([result.summary["links"] for result in self.results])


Part = TypeVar("Part", FlowSummary, LinkSummary)


def _by_name(parts: list[list[Part]]) -> dict[str, list[Part | None]]:
    tables = [{one["name"]: one for one in own} for own in parts]
    every = dict.fromkeys(name for table in tables for name in table)
    return {name: [table.get(name) for table in tables] for name in every}


def beside(results: Sequence[RunData]) -> Comparison:
    """Returns the comparison of several results.

    Raises:
        ScenarioError: If the results have no flow entry in common, or a summary is missing or has an older format.
    """
    for result in results:
        where = result.path or "a result"
        if not result.summary:
            raise ScenarioError(f"{where}: has no summary, because its run was killed; run it again")
        if "settled" not in result.summary:
            raise ScenarioError(f"{where}: its summary is that of an older version; run it again")
        if not (_has(result.summary, "flows", FACTS) and _has(result.summary, "links", LINK_FACTS)):
            raise ScenarioError(f"{where}: its summary is damaged; run it again")
    flows = [[flow["name"] for flow in result.scenario["flows"]] for result in results]
    if not set(flows[0]).intersection(*flows[1:]):
        listed = " and ".join(", ".join(names) or "none" for names in flows)
        raise ScenarioError(f"compare: the results have no flow in common: {listed}; give flows the same names")
    return Comparison(tuple(results), names_of(results))


def _has(summary: Summary, kind: Literal["flows", "links"], keys: Sequence[str]) -> bool:
    """Returns True if a summary has a list of entries with a name and these keys."""
    found: Any = summary.get(kind)
    return isinstance(found, list) and all(isinstance(one, dict) and {"name", *keys} <= one.keys() for one in found)


def names_of(results: Sequence[RunData]) -> tuple[str, ...]:
    """Returns distinct names of the results.

    A name lists the values that differ between the results, in environment and scenario. If such names are equal or too
    long, directory names replace them.
    """
    where = ["network" if "network" in result.manifest else "simulator" for result in results]
    descriptions = [_descriptions(result) for result in results]
    differing = [
        key for key in dict.fromkeys(key for one in descriptions for key in one) if _differs(descriptions, key)
    ]
    laws = [key for key in differing if key.startswith("flow.") and key.endswith(".law")]
    folders = [result.path.name if result.path else "" for result in results]
    found = [where] if len(set(where)) > 1 else []
    if len(laws) > 1 and all(len({one.get(key) for key in laws}) == 1 for one in descriptions):
        found.append([one.get(laws[0], "none") for one in descriptions])
        differing = [key for key in differing if key not in laws]
    if not (found and _apart(found)):
        found += [[f"{key} {one.get(key, 'default')}".strip() for one in descriptions] for key in differing]
    if _apart(found) and len(found) <= PARTS and max(map(len, _joined(found))) <= LETTERS:
        return tuple(_joined(found))
    if len(set(folders)) == len(folders):
        return tuple(folders)
    return tuple(f"run {number}" for number in range(1, len(results) + 1))


def _apart(parts: list[list[str]]) -> bool:
    return bool(parts) and len(set(_joined(parts))) == len(parts[0])


def _joined(parts: list[list[str]]) -> list[str]:
    return [", ".join(words) for words in zip(*parts, strict=True)]


def _differs(descriptions: list[dict[str, str]], key: str) -> bool:
    return len({one.get(key) for one in descriptions}) > 1


def _descriptions(result: RunData) -> dict[str, str]:
    """Returns the values of a scenario by their `--set` paths; the law of a flow is reduced to its name."""
    raw, found = result.manifest["raw"], {}

    def take(key: str, value: Any) -> None:
        if isinstance(value, dict):
            if key.endswith(".law"):
                found[key] = next(iter(value), "")
            for name, part in value.items():
                take(f"{key}.{name}".lstrip("."), part)
        elif isinstance(value, list):
            for number, part in enumerate(value, 1):
                name = part.get("name", number) if isinstance(part, dict) else number
                take(f"{key}.{name}", part)
        else:
            found[key] = str(value)

    take("", {key: value for key, value in raw.items() if key not in ASIDE})
    found |= {f"{LAW_FILES}.{file['name']}": file["sha256"][:8] for file in raw.get(LAW_FILES, [])}
    return found | {"seed": str(result.manifest["seed"])}


def flow_table(both: Comparison) -> Table:
    """Returns header and rows: steady-window throughput and round trips of each flow in each result.

    `of first run` is the throughput divided by that of the first result. `RTT excess` is the round trip minus the base
    round trip: queueing and transmission in both directions.
    """
    head = ["flow", "run", "law", "throughput", "of first run", "RTT excess p50", "p99", "loss"]
    rows = []
    for name, flows in both.flows.items():
        first = flows[0]["throughput_bps"] if flows[0] else None
        shown = name
        for run, flow, result in zip(both.names, flows, both.results, strict=True):
            if flow is None:
                continue
            got = flow["throughput_bps"]
            ratio = "-" if got is None or not first else f"{got / first:.3f}"
            excess = [time(_excess(flow, result, key)) for key in EXCESSES]
            rows.append([shown, run, flow["law"], rate(got), ratio, *excess, percent(flow["loss"])])
            shown = ""
    return head, rows


def _excess(flow: FlowSummary, result: RunData, key: Literal["p50", "p99"]) -> float | None:
    base = next(spec["base_rtt_s"] for spec in result.scenario["flows"] if spec["name"] == flow["name"])
    return None if flow["rtt_s"] is None or base is None else flow["rtt_s"][key] - base


def link_table(both: Comparison) -> Table:
    """Returns header and rows: utilisation, queues and drops of each link over the whole run."""
    head = ["link", "run", "utilisation", "queueing delay p50", "p99", "max", "max backlog", "drops"]
    rows = []
    for name, links in both.links.items():
        shown = name
        for run, link in zip(both.names, links, strict=True):
            if link is None:
                continue
            backlog, drops = size(link["backlog_bytes"]["max"]), f"{link['dropped_packets']:,}"
            rows.append([shown, run, percent(link["utilisation"]), *delays(link), backlog, drops])
            shown = ""
    return head, rows


def transfer_table(both: Comparison) -> Table | None:
    """Returns header and rows: counts, completion times and slowdowns by result; None if there are no transfers."""
    found = [(name, result.summary["transfers"]) for name, result in zip(both.names, both.results, strict=True)]
    rows = [[name, *transfer_cells(one)] for name, one in found if one]
    return (["run", *TRANSFER_COLUMNS], rows) if rows else None


def size_table(both: Comparison) -> Table | None:
    """Returns header and rows: transfers by decade of size and result; None with fewer than two decades."""
    found = [(name, result.summary["transfers"]) for name, result in zip(both.names, both.results, strict=True)]
    by_size: dict[str, list[tuple[str, SizeSummary]]] = {}
    for low in sorted({one["low"] for _, each in found if each for one in each["sizes"]}):
        own = [(name, one) for name, each in found if each for one in each["sizes"] if one["low"] == low]
        by_size[size_range(low, own[0][1]["high"])] = own
    if len(by_size) < 2:
        return None
    rows = [
        ["" if place else shown, name, *size_cells(one)]
        for shown, own in by_size.items()
        for place, (name, one) in enumerate(own)
    ]
    return ["size", "run", *SIZE_COLUMNS], rows


def totals_table(both: Comparison) -> Table:
    """Returns header and rows: fairness, distance from the reference, settling time and drops of each result."""
    summaries = [result.summary for result in both.results]
    references = {summary["reference"] for summary in summaries}
    reference = f" from {references.pop()}" if len(references) == 1 else ""
    head = ["run", "fairness", f"distance{reference}", "settled after the last event", "drops"]
    rows = [
        [
            name,
            _number(summary["jain_of_shares"]),
            percent(summary["distance_max"]),
            settling(summary),
            f"{_drops(summary):,}",
        ]
        for name, summary in zip(both.names, summaries, strict=True)
    ]
    return head, rows


def fairness(both: Comparison) -> str:
    """Returns the name of the fairness index in the table of totals."""
    return fairness_of(both.results[0].summary)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _drops(summary: Summary) -> int:
    return sum(link["dropped_packets"] for link in summary["links"])


def data(both: Comparison) -> dict[str, object]:
    """Returns the contents of the tables as plain data for programs; rates in bit/s, times in seconds."""
    flows: list[dict[str, object]] = []
    for entry, summaries in both.flows.items():
        row: dict[str, object] = {"name": entry}
        for name, flow, result in zip(both.names, summaries, both.results, strict=True):
            if flow is not None:
                excess = {f"rtt_excess_{key}_s": _excess(flow, result, key) for key in EXCESSES}
                row[name] = {key: flow[key] for key in FACTS} | excess
        flows.append(row)
    return {
        "flows": flows,
        "whole": {name: _whole(own.summary) for name, own in zip(both.names, both.results, strict=True)},
    }


def _whole(summary: Summary) -> dict[str, object]:
    return {
        "jain": summary["jain"],
        "jain_of_shares": summary["jain_of_shares"],
        "distance_max": summary["distance_max"],
        "settling_s": summary["settling_s"],
        "settled": summary["settled"],
        "reference": summary["reference"],
        "dropped_packets": _drops(summary),
        "transfers": summary["transfers"],
    }


def picture(both: Comparison, width: str = "screen") -> Picture:
    """Draws flows, and the links with the longest queueing delays, against time.

    Each flow and link has a panel with a curve per result. If there are too many flows, those with the largest
    differences between results are drawn. Fair rates and buffers that are equal in all results are thin lines.
    """
    kinds = (
        ("throughput", list(_flows(both)), series.RATES, series.rates),
        ("queueing delay", list(_links(both)), series.TIMES, series.queues),
    )
    with mpl.rc_context(style(width)):
        figure, panels = figure_of(sum(len(own) for _, own, _, _ in kinds), width)
        left = iter(panels)
        for quantity, shown, units, of in kinds:
            unit = series.unit_of(max((_highest(own) for _, _, own in shown), default=0), units)
            limits = [of(result, unit) for result in both.results]
            label = f"thin: {limits[0].steps_label}"
            for name, title, own in shown:
                axes = next(left)
                for number, curve in own:
                    run = both.names[number] if axes is panels[0] else None
                    axes.plot(curve.t, curve.y / unit[1], label=run, **look(number))
                limit = _same(name, limits)
                if limit is not None and series.last(limit.y) <= FAR * _highest(own) / unit[1]:
                    axes.plot(limit.t, limit.y, color=GREY, linewidth=0.8, zorder=1.5, label=label)
                    label = ""
                axes.set_ylabel(f"{quantity} ({unit[0]})")
                axes.set_title(title)
                axes.margins(x=0.01)
                axes.set_ylim(bottom=0)
        panels[-1].set_xlabel("time (s)")
        arranged(figure, panels, width)
    return figure


Own = list[tuple[int, "Curve"]]


def _highest(own: Own) -> float:
    return max(series.peak(curve.y) for _, curve in own)


def _same(name: str, panels: Sequence[Panel]) -> Curve | None:
    """Returns the fair-rate or buffer curve of this name if it is equal in all results; None otherwise."""
    found = [curve for panel in panels for curve in panel.steps if curve.name == name and curve.y.size]
    first = found[0] if len(found) == len(panels) and len({panel.steps_label for panel in panels}) == 1 else None
    same = first is not None and all(
        np.array_equal(curve.t, first.t) and np.array_equal(curve.y, first.y, equal_nan=True) for curve in found
    )
    return first if same else None


def _flows(both: Comparison) -> Iterator[tuple[str, str, Own]]:
    curves = [{curve.name: curve for curve in series.each_rate(result)} for result in both.results]
    entries = both.flows
    names = [name for name in entries if any(name in own for own in curves)]
    if len(names) > MOST_FLOWS:
        names = sorted(names, key=lambda name: -_apart_by(entries[name]))[:MOST_FLOWS]
    for name in names:
        own = [(number, table[name]) for number, table in enumerate(curves) if name in table]
        of_many = f", one of the {len(names)} of {len(entries)} that differ most" if len(entries) > len(names) else ""
        yield name, name + of_many, own


def _apart_by(flows: list[FlowSummary | None]) -> float:
    got = [bps for flow in flows if flow and (bps := flow["throughput_bps"]) is not None]
    most = max(got, default=0.0)
    return (most - min(got)) / most if most else 0.0


def _links(both: Comparison) -> Iterator[tuple[str, str, Own]]:
    curves = [{curve.name: curve for curve in series.each_queue(result)} for result in both.results]
    longest: dict[str, float] = {}
    for table in curves:
        for name, curve in table.items():
            longest[name] = max(longest.get(name, 0.0), float(np.nanmean(curve.y)))
    waited = max(longest.values(), default=0.0)
    names = [name for name in sorted(longest, key=lambda name: -longest[name]) if longest[name] > QUIET * waited]
    for name in names[:MOST_LINKS]:
        own = [(number, table[name]) for number, table in enumerate(curves) if name in table]
        yield name, f"queueing delay at {name}", own
