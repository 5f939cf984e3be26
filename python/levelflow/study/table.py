"""What a study came to, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from levelflow.study.statistics import Interval

if TYPE_CHECKING:
    from levelflow.study.study import StudyResult

#: Values of an axis that are compared in pairs.
MOST_COMPARED = 12
TRANSFERS = ("fct_mean_s", "fct_p99_s", "throughput_bps")
FLOWS = ("throughput_bps", "jain_of_shares", "queue_mean_ms")


def metrics(found: StudyResult) -> tuple[str, ...]:
    """Returns which metrics to show: those asked for, or the usual ones of transfers or of long flows."""
    if found.plan.metrics:
        return found.plan.metrics
    ended = found.rows.filter(of="run", metric="transfers")["value"].sum()
    return TRANSFERS if ended else FLOWS


def unit(metric: str) -> tuple[str, float]:
    """Returns a metric with the unit in which it is shown, and by what its values are multiplied for that."""
    return (metric.removesuffix("_bps") + ", Mb/s", 1e-6) if metric.endswith("_bps") else (metric, 1.0)


def axis_label(metric: str) -> str:
    """Returns what an axis of a metric says, below a title that names it: the unit, or the metric if it has none."""
    name, _ = unit(metric)
    units = {"_s": "s", "_ms": "ms", "packets": "packets", "Mb/s": "Mb/s"}
    return next((short for end, short in units.items() if name.endswith(end)), name)


def table(found: StudyResult) -> tuple[list[str], list[list[str]]]:
    """Returns head and rows: a row per point."""
    shown = metrics(found)
    axes = [axis.name for axis in found.plan.design.axes]
    summaries = [found.summary(metric).to_dicts() for metric in shown]
    rows = []
    for own in zip(*summaries, strict=True):
        cells = [_number(own[0][axis]) for axis in axes]
        estimates = [Interval(one["mean"], one["half"], one["runs"]) for one in own]
        rows.append([*cells, str(max(one.runs for one in estimates)), *map(_interval, estimates, shown)])
    return [*axes, "runs", *(unit(metric)[0] for metric in shown)], rows


def differences(found: StudyResult) -> tuple[str, list[str], list[list[str]]] | None:
    """Returns title, head and rows: how far each value of the first axis of names is from the first one.

    None where no axis has several names, or there is one run of each point.
    """
    counted = found.table
    named = [axis for axis in found.plan.design.axes if not counted[axis.name].dtype.is_numeric()]
    several = next((axis for axis in named if 2 <= counted[axis.name].n_unique() <= MOST_COMPARED), None)
    if several is None or counted["replication"].n_unique() < 2:
        return None
    first, *others = dict.fromkeys(several.labels)
    shown = metrics(found)
    rows = []
    for other in others:
        pairs = [found.compare(metric, several.name, other, first) for metric in shown]
        rows.append([str(other), *map(_interval, pairs, shown)])
    head = [several.name, *(unit(metric)[0] for metric in shown)]
    return f"Paired differences from {first}", head, rows


def _interval(one: Interval, metric: str) -> str:
    if one.runs == 0:
        return "-"
    _, factor = unit(metric)
    mean = f"{one.mean * factor:.4g}"
    return mean if one.runs == 1 else f"{mean} ± {one.half * factor:.2g}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
