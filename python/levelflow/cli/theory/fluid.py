"""`levelflow theory fluid`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import click

from levelflow.cli.choosing import PATH, choose, scenario_argument, set_option
from levelflow.cli.theory.shared import json_option, out_option

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure

    from levelflow.records import ScenarioRecord
    from levelflow.results import Result
    from levelflow.theory.arrays import Floats
    from levelflow.theory.fluid import FluidRun
    from levelflow.theory.pictures.fluid import Packets

#: Smallest number of samples of a run. A shorter `sample` in the scenario gives more samples.
SAMPLES = 500


class FluidFlow(TypedDict):
    """Mean rate of a flow entry."""

    name: str
    law: str
    flows: int | None
    throughput_bps: float
    packets_throughput_bps: NotRequired[float | None]
    """Mean throughput in the packet result that is compared with the fluid model."""


class FluidLink(TypedDict):
    """Mean load, losses and queue of a link."""

    name: str
    load_bps: float
    utilisation: float
    backlog_bytes: float
    loss: float
    signalled: float
    packets_backlog_bytes: NotRequired[float | None]
    """Mean backlog in the packet result that is compared with the fluid model."""


class FluidFacts(TypedDict):
    """Means over a window."""

    window_s: list[float]
    flows: list[FluidFlow]
    links: list[FluidLink]


@click.command(epilog='Example: levelflow theory fluid two-flows --until "5 s" --out fluid.png')
@scenario_argument
@set_option
@click.option("--until", metavar="TIME", help="Duration of the integration [default: that of the scenario].")
@click.option("--step", metavar="TIME", help="Integration step [default: a twentieth of the shortest round trip].")
@click.option(
    "--each-loss",
    is_flag=True,
    help="React to each loss, as in a network of few flows [default: to the mean of many losses].",
)
@click.option("--beside", type=PATH, metavar="RESULT", help="A result directory of the same scenario to compare with.")
@out_option
@json_option
def fluid(
    scenario: str,
    changes: tuple[str, ...],
    until: str | None,
    step: str | None,
    each_loss: bool,
    beside: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Integrate the fluid model of each law, a set of differential equations, on the whole network.

    It prints means over the last fifth of the time since the last flow started or stopped. Flows that arrive at random
    and transfers have no fluid model.
    """
    from levelflow.cli.theory.shared import reply
    from levelflow.theory.fluid import from_scenario, simulate
    from levelflow.theory.units import time

    resolved = choose(scenario, changes).resolve()
    duration = resolved["duration_s"] if until is None else time(until)
    every = min(resolved["sample_s"], duration / SAMPLES)
    network = from_scenario(resolved)
    run = simulate(network, duration, None if step is None else time(step), every=every, each_loss=each_loss)
    result = None if beside is None else _load(beside, resolved)
    entries = _by_entry(resolved, run)
    data = _data(resolved, entries, _window(resolved, duration), result)

    def draw() -> Figure:
        from levelflow.theory.pictures.fluid import rates_and_queues

        return rates_and_queues(entries, None if result is None else _packets(result), resolved["name"])

    reply(as_json, data, lambda: _show(data), out, draw)


def _load(path: Path, resolved: ScenarioRecord) -> Result:
    from levelflow.results import Result
    from levelflow.theory.fluid import FluidError

    try:
        result = Result.load(path)
    except (ValueError, OSError):
        raise FluidError(f"{path}: not a result directory") from None
    for kind, known, own in (
        ("flows", result.scenario["flows"], resolved["flows"]),
        ("links", result.scenario["links"], resolved["links"]),
    ):
        if [one["name"] for one in known] != [one["name"] for one in own]:
            raise FluidError(f"{path}: a result of other {kind}; needs one of this scenario")
    return result


def _by_entry(resolved: ScenarioRecord, run: FluidRun) -> FluidRun:
    """Returns the run with one delivered rate per flow entry, the sum over its flows, as in packet results."""
    import numpy as np

    from levelflow.theory.fluid.conversion import count_of

    counts = [count_of(entry) for entry in resolved["flows"]]
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    names = [entry["name"] for entry in resolved["flows"]]
    return dataclasses.replace(run, flows=names, delivered=np.add.reduceat(run.delivered, starts, axis=1))


def _packets(result: Result) -> Packets:
    from levelflow.theory.pictures.fluid import Packets

    def columns(table: Any, key: str, value: str) -> dict[str, Floats]:
        return {str(name): own[value].to_numpy() for (name,), own in table.group_by(key, maintain_order=True)}

    times = result.links["t"].unique(maintain_order=True).to_numpy()
    rates = columns(result.flows, "flow", "throughput_bps")
    return Packets(times, rates, columns(result.links, "link", "backlog_bytes"))


def _window(resolved: ScenarioRecord, duration: float) -> tuple[float, float]:
    from levelflow.measure.windows import steady_window

    changes = [time for flow in resolved["flows"] for time in (flow["start_s"], flow["stop_s"]) if time is not None]
    return steady_window(max((time for time in changes if time < duration), default=0.0), duration)


def _data(resolved: ScenarioRecord, run: FluidRun, window: tuple[float, float], result: Result | None) -> FluidFacts:
    rates, loads = run.mean(run.delivered, *window), run.mean(run.loads, *window)
    queues, losses = run.mean(run.queues, *window), run.mean(run.losses, *window)
    signalled = run.mean(run.signalled, *window)
    crossed = {name for flow in resolved["flows"] for name in flow["path"]}
    flows: list[FluidFlow] = [
        {"name": flow["name"], "law": flow["law"], "flows": flow["count"], "throughput_bps": float(rate)}
        for flow, rate in zip(resolved["flows"], rates, strict=True)
    ]
    links: list[FluidLink] = [
        {
            "name": link["name"],
            "load_bps": float(load),
            "utilisation": float((load - loss) / link["capacity_bps"]),
            "backlog_bytes": round(float(queue), 3),
            "loss": float(loss / load) if load else 0.0,
            "signalled": float(share),
        }
        for link, load, queue, loss, share in zip(resolved["links"], loads, queues, losses, signalled, strict=True)
        if link["name"] in crossed
    ]
    if result is not None:
        rate_of = _means(result.flows, "flow", "throughput_bps", window)
        backlog_of = _means(result.links, "link", "backlog_bytes", window)
        for flow in flows:
            flow["packets_throughput_bps"] = rate_of.get(flow["name"])
        for link in links:
            link["packets_backlog_bytes"] = backlog_of.get(link["name"])
    return {"window_s": list(window), "flows": flows, "links": links}


def _means(table: pl.DataFrame, key: str, column: str, window: tuple[float, float]) -> dict[str, float]:
    """Returns the mean of a column of packet results in the window, by name of the flow or link."""
    from levelflow.measure.samples import means

    return {str(name): value for name, value in means(table, [key], [column], window).iter_rows()}


def _show(data: FluidFacts) -> None:
    from levelflow.cli.show import show_table
    from levelflow.report.tables import percent, rate, size

    start, end = data["window_s"]
    head, rows = ["flow", "law", "flows", "arrives", "of packets"], []
    for row in data["flows"]:
        cells = [row["name"], row["law"], str(row["flows"]), rate(row["throughput_bps"])]
        rows.append([*cells, rate(row["packets_throughput_bps"])] if "packets_throughput_bps" in row else cells)
    show_table(f"Flows, {start:.4g} to {end:.4g} s", head[: len(rows[0])], rows)
    head, rows = ["link", "load", "utilisation", "lost", "signalled", "queue", "of packets"], []
    for one in data["links"]:
        shares = [percent(one["utilisation"]), percent(one["loss"]), percent(one["signalled"])]
        cells = [one["name"], rate(one["load_bps"]), *shares, size(one["backlog_bytes"])]
        rows.append([*cells, size(one["packets_backlog_bytes"])] if "packets_backlog_bytes" in one else cells)
    show_table(f"Links, {start:.4g} to {end:.4g} s", head[: len(rows[0])], rows)
