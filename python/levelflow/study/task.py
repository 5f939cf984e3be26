"""Single runs of a study, local or remote. The input is a scenario as text, and the output is rows of metrics."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow import _core
from levelflow.measure import delays, samples, transfers
from levelflow.measure.intervals import mser5
from levelflow.scenario import Scenario
from levelflow.theory.competition import in_force

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from levelflow.results import Result
    from levelflow.study.schedule import Run

#: Version of the metrics below. Cached runs of other versions are ignored.
VERSION = 3
#: Quantile levels at which the distribution of completion times is stored.
QUANTILE_LEVELS = (*(number / 40 for number in range(41)), 0.99, 0.999)
#: Number of bins per decade of the transfer size.
BINS_PER_DECADE = 3
#: Name of the digest metric, and its number of hexadecimal digits, which a float represents exactly.
DIGEST, DIGEST_DIGITS = "digest", 13
#: Statistics of completion times and slowdowns: the mean and quantiles.
SPREAD_STATISTICS = ("mean", *transfers.QUANTILES)
#: Rate metrics of a flow entry.
RATE_METRICS = ("throughput_bps", "goodput_bps", "sending_rate_bps", "law_rate_bps")
#: Metrics of a transfer-size bin.
SIZE_METRICS = ("started", "transfers", "fct_mean_s", "fct_p50_s", "fct_p99_s", "slowdown_p50", "slowdown_p99")
#: Metrics of a whole run for tables and pictures, with their descriptions.
METRICS = {
    "throughput_bps": "throughput of all flows",
    "goodput_bps": "goodput of all flows",
    "jain": "Jain's index of throughputs",
    "jain_of_shares": "Jain's index of throughput over fair share",
    "distance_max": "largest distance of a throughput from its reference",
    "settling_s": "settling time",
    "utilisation": "utilisation of the busiest link",
    "queue_mean_ms": "mean queueing delay, worst link",
    "queue_p50_ms": "median queueing delay, worst link, warm-up included",
    "queue_p99_ms": "99th percentile of the queueing delay, worst link, warm-up included",
    "queue_max_ms": "longest queueing delay, warm-up included",
    "backlog_max_bytes": "largest backlog",
    "dropped_packets": "packets dropped at queues",
    "started": "transfers started",
    "transfers": "transfers finished",
    "aborted": "transfers aborted",
    "unfinished": "transfers unfinished at the end",
    "missing_share": "share of the bytes of transfers that did not finish",
    "fct_mean_s": "completion time, mean",
    "fct_p50_s": "completion time, median",
    "fct_p95_s": "completion time, 95th percentile",
    "fct_p99_s": "completion time, 99th percentile",
    "fct_p999_s": "completion time, 99.9th percentile",
    "slowdown_mean": "slowdown, mean",
    "slowdown_p50": "slowdown, median",
    "slowdown_p95": "slowdown, 95th percentile",
    "slowdown_p99": "slowdown, 99th percentile",
    "slowdown_p999": "slowdown, 99.9th percentile",
}


@cache
def engine() -> str:
    """Returns the digest of the engine's binary on this machine. Results of different engines are not mixed."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]


class Row(NamedTuple):
    """Value of a metric of a run.

    Attributes:
        of: Subject of the metric: run, flow, link, cdf, size or warning.
        name: Name of the flow or link, or text of the warning; "" for other subjects.
        at: Quantile level of a cdf, or transfer size in bytes; None for other subjects.
        metric: Name of the metric.
        value: Value of the metric; None if the run has no value.
    """

    of: str
    name: str
    at: float | None
    metric: str
    value: float | None


@dataclass(frozen=True)
class Task:
    """Input of a run.

    Attributes:
        run: Point and replication.
        seed: Seed of the run.
        text: Scenario as canonical JSON, including the seed and the contents of files.
        warm_up: "auto", or the fraction of the run that is excluded at its start.
    """

    run: Run
    seed: int
    text: str
    warm_up: str | float

    @property
    def key(self) -> str:
        """Cache key of the result: digest of scenario, engine, warm-up and metrics version."""
        words = [VERSION, engine(), self.warm_up, self.text]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def prepare() -> None:
    """Imports the modules of a run in advance."""
    import levelflow.results
    import levelflow.running  # noqa: F401 - import in advance


def measure(text: str, warm_up: str | float, build: str, progress: Callable[[float], None] | None = None) -> list[Row]:
    """Simulates a scenario and returns rows of metrics.

    Raises:
        ScenarioError: If the scenario is invalid or needs too much memory, or `build` is not the build of this machine.
    """
    if build != _core.build():
        raise _core.ScenarioError(f"this worker has levelflow {_core.build()}; the study needs {build}")
    scenario = Scenario("", "")
    scenario.raw = json.loads(text)
    result = scenario.run(progress=progress or False)
    return list(_rows(result, warm_up))


def _rows(result: Result, warm_up: str | float) -> list[Row]:
    end = float(result.manifest["simulated_s"])
    window = (_begin(result, warm_up, end), end)
    rows = _flow_rows(result, window)
    per_link, worst = _link_rows(result, window)
    counted = result.transfers.filter(result.transfers["start_s"] >= window[0])
    summary = result.summary
    whole = {name: summary[name] for name in ("jain", "jain_of_shares", "distance_max", "settling_s")}
    whole |= {
        metric: math.fsum(row.value or 0.0 for row in rows if row.of == "flow" and row.metric == metric)
        for metric in ("throughput_bps", "goodput_bps")
    }
    whole |= {
        **worst,
        "dropped_packets": sum(link["dropped_packets"] for link in summary["links"]),
        "warm_up_s": window[0],
        **_times(transfers.summary(counted)),
    }
    rows += per_link + [Row("run", "", None, metric, value) for metric, value in whole.items()]
    rows += [Row("warning", text, None, "warning", 1.0) for text in summary["warnings"]]
    plain = [_plain(row) for row in [*rows, *_distribution(counted)]]
    return [*plain, Row("run", "", None, DIGEST, _digest(plain))]


def _plain(row: Row) -> Row:
    """Returns the row with a plain float as its value, or None if the value is not finite."""
    return row._replace(value=None if row.value is None or not math.isfinite(row.value) else float(row.value))


def _digest(rows: list[Row]) -> float:
    """Returns the digest of the rows of a run."""
    text = json.dumps(rows).encode()
    return float(int(hashlib.sha256(text).hexdigest()[:DIGEST_DIGITS], 16))


def _flow_rows(result: Result, window: tuple[float, float]) -> list[Row]:
    means = {row["flow"]: row for row in samples.means(result.flows, ["flow"], RATE_METRICS, window).to_dicts()}
    ended_of, none_ended = result.transfers.partition_by("flow", as_dict=True), result.transfers.clear()
    rows: list[Row] = []
    for flow in result.summary["flows"]:
        name = flow["name"]
        own = ended_of.get((name,), none_ended)
        values = {
            **{metric: means.get(name, {}).get(metric) for metric in RATE_METRICS},
            "distance": flow["distance"],
            "loss": flow["loss"],
            **_times(transfers.summary(own.filter(own["start_s"] >= window[0]))),
        }
        rows += [Row("flow", name, None, metric, value) for metric, value in values.items()]
    return rows


def _link_rows(result: Result, window: tuple[float, float]) -> tuple[list[Row], dict[str, float]]:
    """Returns the rows of all links, and for each metric the maximum over links."""
    own_of = samples.inside(result.links, window).partition_by("link", as_dict=True)
    sent = dict(samples.means(result.links, ["link"], ["throughput_bps"], window).iter_rows())
    states = in_force(result.scenario, *window)["links"]
    rows: list[Row] = []
    worst: dict[str, float] = {}
    for link, state in zip(result.summary["links"], states, strict=True):
        name, whole = link["name"], link["queueing_delay_s"]
        own = own_of.get((name,), result.links.clear())
        delay = {
            "queue_mean_ms": delays.mean(own),
            "queue_p50_ms": whole["p50"] if whole else None,
            "queue_p99_ms": whole["p99"] if whole else None,
            "queue_max_ms": whole["max"] if whole else None,
        }
        shown = {"utilisation": sent.get(name, 0.0) / (state["service_bps"] or math.inf)}
        shown |= {metric: 1e3 * value for metric, value in delay.items() if value is not None}
        shown["backlog_max_bytes"] = float(own["backlog_max_bytes"].max() or 0)  # type: ignore[arg-type] # a number
        worst |= {metric: max(value, worst.get(metric, value)) for metric, value in shown.items()}
        values = shown | {"dropped_packets": link["dropped_packets"]}
        rows += [Row("link", name, None, metric, value) for metric, value in values.items()]
    return rows, worst


def _times(found: transfers.TransferSummary | None) -> dict[str, float | None]:
    """Returns the metrics of a set of transfers from their summary."""
    counts: dict[str, float | None] = {
        "started": found["started"] if found else 0,
        "transfers": found["finished"] if found else 0,
        "aborted": found["aborted"] if found else 0,
        "unfinished": found["unfinished"] if found else 0,
        "missing_share": found["missing_share"] if found else None,
    }
    spreads = {"fct": (found and found["fct_s"], "_s"), "slowdown": (found and found["slowdown"], "")}
    return counts | {
        f"{kind}_{level}{unit}": None if spread is None else spread[level]  # type: ignore[literal-required]
        for kind, (spread, unit) in spreads.items()
        for level in SPREAD_STATISTICS
    }


def _distribution(counted: pl.DataFrame) -> list[Row]:
    """Returns rows of completion-time quantiles, then rows of completion times and slowdowns per size bin."""
    ended = transfers.finished(counted)
    if ended.is_empty():
        return []
    times = ended["fct_s"].to_numpy()
    quantiles = {level: float(np.quantile(times, level, method="inverted_cdf")) for level in QUANTILE_LEVELS}
    rows = [Row("cdf", "", level, "fct_s", quantile) for level, quantile in quantiles.items()]
    place = np.floor(BINS_PER_DECADE * np.log10(counted["bytes"].to_numpy()) + 1e-9).astype(int)
    for kind in np.unique(place).tolist():
        found = _times(transfers.summary(counted.filter(place == kind)))
        at = 10 ** ((kind + 0.5) / BINS_PER_DECADE)
        rows += [Row("size", "", at, metric, found[metric]) for metric in SIZE_METRICS]
    return rows


def _begin(result: Result, warm_up: str | float, end: float) -> float:
    """Returns the end of the warm-up, s."""
    if not isinstance(warm_up, str):
        return warm_up * end
    begin = 0.0
    for table, key, column in ((result.flows, "flow", "throughput_bps"), (result.links, "link", "backlog_bytes")):
        times = table["t"].unique().sort()
        entries = table.height // max(times.len(), 1)
        sums = table.sort("t", key)[column].cast(float).to_numpy().reshape(-1, entries).sum(axis=1)
        if cut := mser5(sums):
            begin = max(begin, float(times[cut - 1]))
    return begin
