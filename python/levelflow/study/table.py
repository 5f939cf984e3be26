"""Tables of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from levelflow.measure.intervals import Interval, interval
from levelflow.report.tables import percent
from levelflow.study.task import METRICS

if TYPE_CHECKING:
    import polars as pl

    from levelflow.study.data import StudyData

#: Limit on the number of axis values in the table of differences.
MAX_COMPARED_VALUES = 12
#: Prefixes of metrics that exclude unfinished transfers.
TRANSFER_PREFIXES = ("fct_", "slowdown_")
#: Titles of the columns for finished transfers and for bytes of unfinished transfers.
UNFINISHED_COLUMNS = ["transfers finished", "bytes missing"]
TRANSFER_METRICS = ("fct_mean_s", "fct_p99_s", "slowdown_p99", "throughput_bps")
FLOW_METRICS = ("throughput_bps", "jain_of_shares", "queue_mean_ms")


def metrics(found: StudyData) -> tuple[str, ...]:
    """Returns the metrics to show: those of the plan, otherwise the default metrics of transfers or of long flows."""
    if found.plan.metrics:
        return found.plan.metrics
    started = found.rows.filter(of="run", metric="started")["value"].sum()
    return TRANSFER_METRICS if started else FLOW_METRICS


def unit(metric: str) -> tuple[str, float]:
    """Returns the title of a metric with its display unit, and the factor that converts values to this unit."""
    return (metric.removesuffix("_bps") + ", Mb/s", 1e-6) if metric.endswith("_bps") else (metric, 1.0)


def axis_label(metric: str) -> str:
    """Returns the label of an axis, with its unit.

    >>> axis_label("queue_p99_ms"), axis_label("throughput_bps"), axis_label("slowdown_p99")
    ('99th percentile of the queueing delay, worst link, warm-up included (ms)', 'throughput of all flows (Mb/s)', 'slowdown, 99th percentile')
    """  # noqa: E501 - the output is one line
    name, _ = unit(metric)
    units = {"_s": "s", "_ms": "ms", "_bytes": "B", "Mb/s": "Mb/s"}
    short = next((short for end, short in units.items() if name.endswith(end)), "")
    return f"{METRICS[metric]} ({short})" if short else METRICS[metric]


def table(found: StudyData) -> tuple[list[str], list[list[str]]]:
    """Returns the header and the rows of the table of means, with one row per point."""
    shown = metrics(found)
    axes = [axis.name for axis in found.plan.design.axes]
    summaries = [found.summary(metric).to_dicts() for metric in shown]
    left_out = _left_out(found) if any(metric.startswith(TRANSFER_PREFIXES) for metric in shown) else []
    rows = []
    for index, own in enumerate(zip(*summaries, strict=True)):
        cells = [_number(own[0][axis]) for axis in axes]
        estimates = [Interval(*(one[key] for key in Interval._fields)) for one in own]
        runs = str(max(one.runs + one.missing for one in estimates))
        rows.append([*cells, runs, *map(_interval, estimates, shown), *(left_out[index] if left_out else [])])
    missing = UNFINISHED_COLUMNS if left_out else []
    return [*axes, "runs", *(unit(metric)[0] for metric in shown), *missing], rows


def _left_out(found: StudyData) -> list[list[str]]:
    """Returns, for each point, the table cells of `UNFINISHED_COLUMNS` over the distinct runs."""
    return [_missing(own) for _, own in found.distinct.group_by("point", maintain_order=True)]


def _missing(runs: pl.DataFrame) -> list[str]:
    """Returns two cells: the number of finished transfers, and the mean fraction of bytes in unfinished transfers."""
    started, finished = int(runs["started"].sum()), int(runs["transfers"].sum())
    shares = runs["missing_share"].drop_nulls().to_numpy()
    return [f"{finished:,} of {started:,}", percent(interval(shares).mean) if shares.size else "-"]


def differences(found: StudyData) -> tuple[str, list[str], list[list[str]]] | None:
    """Returns title, header and rows of a table of paired differences from the first value of an axis.

    The axis is the first axis with 2 to `MAX_COMPARED_VALUES` values that are not numbers. Returns None if no axis
    qualifies or if points have only one run.
    """
    counted = found.table
    named = [axis for axis in found.plan.design.axes if not counted[axis.name].dtype.is_numeric()]
    several = next((axis for axis in named if 2 <= counted[axis.name].n_unique() <= MAX_COMPARED_VALUES), None)
    if several is None or counted["replication"].n_unique() < 2:
        return None
    first, *others = dict.fromkeys(several.labels)
    shown = metrics(found)
    leaves_out = any(metric.startswith(TRANSFER_PREFIXES) for metric in shown)
    rows = []
    for other in others:
        pairs = [found.compare(metric, several.name, other, first) for metric in shown]
        own = found.distinct.filter(found.distinct[several.name] == other)
        rows.append([str(other), *map(_interval, pairs, shown), *(_missing(own) if leaves_out else [])])
    head = [several.name, *(unit(metric)[0] for metric in shown), *(UNFINISHED_COLUMNS if leaves_out else [])]
    return f"Paired differences from {first}", head, rows


def _interval(one: Interval, metric: str) -> str:
    if one.runs == 0:
        return "-"
    _, factor = unit(metric)
    mean = f"{one.mean * factor:.4g}"
    known = mean if one.runs == 1 else f"{mean} ± {one.half * factor:.2g}"
    return f"{known} ({one.runs} of {one.runs + one.missing} runs)" if one.missing else known


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
