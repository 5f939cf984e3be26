"""One run of a study, wherever it is made: a scenario as text in, rows of metrics out."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelflow import _core
from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from levelflow.results import Result

#: Of what is measured below; what other versions measured is not taken from the cache.
VERSION = 2
#: Levels at which completion times are kept, for distributions.
LEVELS = (*(number / 40 for number in range(41)), 0.99, 0.999)
#: Bins of sizes of transfers, per decade.
BINS = 3
QUANTILES = (0.5, 0.9, 0.99)
#: Of a whole run: metrics that tables and pictures can show, and what they mean.
METRICS = {
    "throughput_bps": "data delivered, all flows",
    "jain": "Jain's index of rates",
    "jain_of_shares": "Jain's index of rates over fair shares",
    "distance_max": "largest distance of a rate from its reference",
    "settling_s": "time to settle",
    "utilisation": "utilisation of the busiest link",
    "queue_mean_ms": "mean queueing delay, worst link",
    "queue_p50_ms": "queueing delay of packets, median, worst link, warm-up included",
    "queue_p99_ms": "queueing delay of packets, 99th percentile, worst link, warm-up included",
    "queue_max_ms": "longest queueing delay",
    "dropped_packets": "packets dropped in queues",
    "transfers": "transfers that ended",
    "fct_mean_s": "completion time, mean",
    "fct_p50_s": "completion time, median",
    "fct_p90_s": "completion time, 90th percentile",
    "fct_p99_s": "completion time, 99th percentile",
    "slowdown_mean": "completion time over the least one, mean",
}


@cache
def engine() -> str:
    """Returns the digest of the engine on this machine: results of one are not mixed with those of another."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]


#: What it is of, its name, where (size in bytes, or level), metric, value.
Row = tuple[str, str, float | None, str, float | None]


@dataclass(frozen=True)
class Task:
    """A run to be made.

    Attributes:
        point: its number, from 0.
        replication: its number, from 0.
        text: the scenario as canonical JSON, seed and contents of files included.
        warm_up: "auto", or a share of the run that is left out.
    """

    point: int
    replication: int
    text: str
    warm_up: str | float

    @property
    def key(self) -> str:
        """Of what comes out: digest of scenario, engine and measurement."""
        words = [VERSION, engine(), self.warm_up, self.text]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()


def prepare() -> None:
    """Imports what a run needs, before there is one."""
    import levelflow.results
    import levelflow.running
    import levelflow.theory.competition
    import levelflow.theory.queues.bounds  # noqa: F401 - all for later


def measure(text: str, warm_up: str | float, build: str, tell: Callable[[float], None] | None = None) -> list[Row]:
    """Simulates a scenario and returns rows of metrics.

    Raises:
        ScenarioError: if it is not allowed, needs too much memory, or another build of Levelflow is asked for.
    """
    if build != _core.build():
        raise _core.ScenarioError(f"this worker has levelflow {_core.build()}; the study runs on {build}")
    scenario = Scenario.__new__(Scenario)
    scenario.raw, scenario.origin, scenario._file = json.loads(text), None, ""
    result = scenario.run(progress=tell or False)
    return list(_rows(result, warm_up))


def _rows(result: Result, warm_up: str | float) -> list[Row]:
    import polars as pl

    from levelflow.theory.competition import in_force
    from levelflow.theory.queues.bounds import slowdowns

    end = float(result.manifest["simulated_s"])
    begin = _begin(result, warm_up, end)
    flows = result.flows.filter(pl.col("t") > begin).group_by("flow").agg(pl.col("rate_bps", "delivered_bps").mean())
    means = {str(row["flow"]): row for row in flows.to_dicts()}
    links = result.links.filter(pl.col("t") > begin)
    queues = links.group_by("link").agg(pl.col("queue_bytes", "throughput_bps").mean(), pl.col("queue_max_bytes").max())
    found = {str(row["link"]): row for row in queues.to_dicts()}
    ended = result.completions.with_columns(slowdown=slowdowns(result.completions, result.scenario))
    ended = ended.filter(pl.col("start_s") >= begin)
    ended_of, none_ended = ended.partition_by("flow", as_dict=True), ended.clear()
    rows: list[Row] = []
    for flow in result.summary["flows"]:
        own = means.get(flow["name"], {})
        values = {
            "rate_bps": own.get("rate_bps"),
            "delivered_bps": own.get("delivered_bps"),
            "distance": flow["distance"],
            "loss": flow["loss"],
            **_times(ended_of.get((flow["name"],), none_ended)),
        }
        rows += [("flow", flow["name"], None, metric, value) for metric, value in values.items()]
    worst: dict[str, float] = {}
    mean_capacities = in_force(result.scenario, begin, end)["links"]
    for link, resolved, mean in zip(result.summary["links"], result.scenario["links"], mean_capacities, strict=True):
        own, to_ms = found.get(link["name"], {}), 8e3 / resolved["capacity_bps"]
        changes = bool(resolved.get("changes"))  # then bytes say nothing of times, and those of the whole run count
        waits = link["queue_ms"]
        shown = {
            "utilisation": (own.get("throughput_bps") or 0) / (mean["capacity_bps"] or math.inf),
            "queue_mean_ms": waits["mean"] if changes else (own.get("queue_bytes") or 0) * to_ms,
            "queue_p50_ms": waits["p50"],
            "queue_p99_ms": waits["p99"],
            "queue_max_ms": waits["max"] if changes else (own.get("queue_max_bytes") or 0) * to_ms,
        }
        worst = {metric: max(value, worst.get(metric, 0.0)) for metric, value in shown.items()}
        values = shown | {"dropped_packets": link["dropped_packets"]}
        rows += [("link", link["name"], None, metric, value) for metric, value in values.items()]
    whole = {name: result.summary[name] for name in ("jain", "jain_of_shares", "distance_max", "settling_s")}
    whole |= {
        "throughput_bps": sum(row["delivered_bps"] or 0 for row in means.values()),
        **worst,
        "dropped_packets": sum(link["dropped_packets"] for link in result.summary["links"]),
        "warm_up_s": begin,
        "random": float(result.summary["random"]),
        **_times(ended),
    }
    rows += [("run", "", None, metric, value) for metric, value in whole.items()]
    return [_plain(row) for row in [*rows, *_distribution(ended)]]


def _plain(row: Row) -> Row:
    *where, value = row
    return (*where, None if value is None or not math.isfinite(value) else float(value))  # type: ignore[return-value] # as many


def _times(ended: pl.DataFrame) -> dict[str, Any]:
    times = ended["fct_s"]
    return {
        "transfers": ended.height,
        "fct_mean_s": times.mean(),
        **{f"fct_p{100 * level:g}_s": times.quantile(level) for level in QUANTILES},
        "slowdown_mean": ended["slowdown"].mean(),
    }


def _distribution(ended: pl.DataFrame) -> list[Row]:
    """Completion times at levels, and in bins of sizes."""
    import polars as pl

    if ended.is_empty():
        return []
    rows: list[Row] = [("cdf", "", level, "fct_s", ended["fct_s"].quantile(level, "linear")) for level in LEVELS]
    bins = (pl.col("bytes").log10() * BINS).floor()
    for place, fct, count in (
        ended.group_by(bins.alias("bin")).agg(pl.col("fct_s").mean(), pl.len()).sort("bin").iter_rows()
    ):
        at = 10 ** ((place + 0.5) / BINS)
        rows += [("size", "", at, "fct_mean_s", fct), ("size", "", at, "transfers", count)]
    return rows


def _begin(result: Result, warm_up: str | float, end: float) -> float:
    """Returns when what counts begins, s."""
    if not isinstance(warm_up, str):
        return warm_up * end
    import polars as pl

    from levelflow.study.statistics import mser5

    begin = 0.0
    for table, column in ((result.flows, "delivered_bps"), (result.links, "queue_bytes")):
        series = table.group_by("t").agg(pl.col(column).sum()).sort("t")
        if cut := mser5(series[column].to_numpy()):
            begin = max(begin, float(series["t"][cut - 1]))
    return begin
