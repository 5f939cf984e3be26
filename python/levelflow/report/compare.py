"""Two results of the same flows beside each other: a simulation and a real network, two laws, two seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from levelflow._core import ScenarioError
from levelflow.report.plots import entries, of_links, rate_column
from levelflow.report.summary import is_listed
from levelflow.report.tables import Table, fairness_of, percent, rate, settling, size, time
from levelflow.style import COLOURS, GREY, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from levelflow.results import Result

#: Facts of each flow in the output for programs.
FACTS = ("law", "rate_bps", "delivered_bps", "share_bps", "distance", "loss")
DASHES: dict[str, Any] = {"linestyle": (0, (4, 2)), "alpha": 0.75}


@dataclass(frozen=True)
class Pair:
    """Two results with the same flow entries.

    Attributes:
        results: the two.
        names: what to call them.
    """

    results: tuple[Result, Result]
    names: tuple[str, str]

    @property
    def flows(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The summaries of each flow entry."""
        first, second = ({flow["name"]: flow for flow in result.summary["flows"]} for result in self.results)
        return [(flow, second[name]) for name, flow in first.items()]

    @property
    def links(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The summaries of each link that both have."""
        first, second = ({link["name"]: link for link in result.summary["links"]} for result in self.results)
        return [(link, second[name]) for name, link in first.items() if name in second]


def pair(first: Result, second: Result) -> Pair:
    """Puts two results beside each other.

    Raises:
        ScenarioError: if they have different flow entries, or one was killed and has no summary.
    """
    for result in (first, second):
        where = result.path or "a result"
        if not result.summary:
            raise ScenarioError(f"{where}: has no summary; its run was killed, let it end")
        if "settled" not in result.summary:
            raise ScenarioError(f"{where}: its summary is that of an older version; run it again")
    flows = [sorted(flow["name"] for flow in result.scenario["flows"]) for result in (first, second)]
    if flows[0] != flows[1]:
        listed = " and ".join(", ".join(names) or "none" for names in flows)
        raise ScenarioError(f"compare: the results have different flows, {listed}; both need the same names")
    return Pair((first, second), _names(first, second))


def _names(first: Result, second: Result) -> tuple[str, str]:
    """Returns what tells the results apart: where they ran, or else their directories."""
    one, two = ("network" if "network" in result.manifest else "simulator" for result in (first, second))
    if one != two:
        return one, two
    folders = [result.path.name for result in (first, second) if result.path]
    return (folders[0], folders[1]) if len(set(folders)) == 2 else (f"{one} 1", f"{two} 2")


def flow_table(both: Pair) -> Table:
    """Returns head and rows: what each flow got in the steady window of each result, and what its packets waited.

    The waits are round trips less the base round trip, so they hold both directions and the time of sending.
    """
    one, two = both.names
    head = ["flow", "law", f"delivered, {one}", two, f"{two}/{one}", f"wait p50, {one}", two]
    head += [f"wait p99, {one}", two, f"lost, {one}", two]
    rows = []
    for first, second in both.flows:
        got = [flow["delivered_bps"] for flow in (first, second)]
        waits = [
            [time(_wait(flow, result, key)) for flow, result in zip((first, second), both.results, strict=True)]
            for key in ("p50", "p99")
        ]
        ratio = "-" if None in got or not got[0] else f"{got[1] / got[0]:.3f}"
        laws = first["law"] if first["law"] == second["law"] else f"{first['law']}, {second['law']}"
        losses = [percent(flow["loss"]) for flow in (first, second)]
        rows.append([first["name"], laws, rate(got[0]), rate(got[1]), ratio, *waits[0], *waits[1], *losses])
    return head, rows


def _wait(flow: dict[str, Any], result: Result, key: str) -> float | None:
    base = next(spec["base_rtt_s"] for spec in result.scenario["flows"] if spec["name"] == flow["name"])
    return None if flow["rtt_s"] is None or base is None else max(0.0, flow["rtt_s"][key] - base)


def link_table(both: Pair) -> Table:
    """Returns head and rows: utilisation, queues and drops of each link over the whole of each run."""
    one, two = both.names
    head = ["link", f"utilisation, {one}", two, f"queueing delay p50, {one}", two, f"queueing delay p99, {one}", two]
    head += [f"longest queue, {one}", two, f"drops, {one}", two]
    rows = []
    for links in both.links:
        row = [links[0]["name"], *(percent(link["utilisation"]) for link in links)]
        for key in ("p50", "p99"):
            row += [time(link["queue_ms"][key] / 1e3) for link in links]
        row += [size(link["queue_bytes"]["max"]) for link in links]
        rows.append([*row, *(f"{link['dropped_packets']:,}" for link in links)])
    return head, rows


def totals_table(both: Pair) -> Table:
    """Returns head and rows: fairness, distance from the reference and settling of each result as a whole."""
    first, second = (result.summary for result in both.results)
    rows = [
        [fairness_of(first), *(_number(summary["jain_of_shares"]) for summary in (first, second))],
        [
            f"distance from {first['reference']} at worst",
            percent(first["distance_max"]),
            percent(second["distance_max"]),
        ],
        ["settled after the last arrival or departure", *(settling(summary) for summary in (first, second))],
        ["packets dropped at queues", *(f"{_drops(summary):,}" for summary in (first, second))],
    ]
    return ["", *both.names], rows


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _drops(summary: dict[str, Any]) -> int:
    return sum(link["dropped_packets"] for link in summary["links"])


def data(both: Pair) -> dict[str, Any]:
    """Returns what the tables say as plain data, for programs; rates in bit/s, times in seconds."""
    flows = []
    for first, second in both.flows:
        row: dict[str, Any] = {"name": first["name"]}
        for name, flow, result in zip(both.names, (first, second), both.results, strict=True):
            row[name] = {key: flow[key] for key in FACTS}
            row[name] |= {f"wait_{key}_s": _wait(flow, result, key) for key in ("p50", "p99")}
        flows.append(row)
    keys = ("jain", "jain_of_shares", "distance_max", "settling_s", "settled", "reference")
    whole = {
        name: {key: result.summary[key] for key in keys} | {"dropped_packets": _drops(result.summary)}
        for name, result in zip(both.names, both.results, strict=True)
    }
    return {"flows": flows, "whole": whole}


@mpl.rc_context(STYLE)
def picture(both: Pair) -> Figure:
    """Draws rates and queues of both against time: the first in lines, the second in dashes of the same colours."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    rates, queues = figure.subplots(2, 1, sharex=True)
    title = f"{both.results[0].scenario['name']}: {both.names[0]} in lines, {both.names[1]} in dashes"
    rates.set(title=title, ylabel="rate per flow (Mb/s)")
    colours = _colours([flow["name"] for flow, _ in both.flows])
    for result, style in zip(both.results, ({"linestyle": "-"}, DASHES), strict=True):
        for flow, own in entries(result):
            column = rate_column(flow) if is_listed(flow) else "delivered_bps"
            label = f"{flow['name']} ({flow['law']})"
            _curve(rates, own["t"], own[column] / own["active"] / 1e6, label, colours[flow["name"]], style)
    queues.set(ylabel="queue, largest in each sample (kB)", xlabel="time (s)")
    shown = {name for result in both.results for name, _, _ in of_links(result, "queue_max_bytes", 1e-3)}
    colours = _colours(sorted(shown))
    for result, style in zip(both.results, ({"linestyle": "-"}, DASHES), strict=True):
        for name, t, y in of_links(result, "queue_max_bytes", 1e-3):
            _curve(queues, t, y, name, colours[name], style)
    for axes in (rates, queues):
        axes.margins(x=0.01)
        axes.set_ylim(bottom=0)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return figure


def _colours(names: list[str]) -> dict[str, str]:
    few = len(names) <= len(COLOURS)
    return {name: COLOURS[number] if few else GREY for number, name in enumerate(names)}


def _curve(axes: Axes, t: Any, y: Any, label: str, colour: str, style: dict[str, Any]) -> None:
    named = style["linestyle"] == "-" and colour != GREY
    width = 0.5 if colour == GREY else 1.4
    axes.plot(t, y, label=label if named else None, color=colour, linewidth=width, **style)
