"""What a study came to, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelflow.study.study import StudyResult

TRANSFERS = ("fct_mean_s", "fct_p99_s", "throughput_bps")
FLOWS = ("throughput_bps", "jain_of_shares", "queue_mean_ms")


def metrics(found: StudyResult) -> tuple[str, ...]:
    """Returns which metrics to show: those asked for, or the usual ones of transfers or of long flows."""
    if found.plan.metrics:
        return found.plan.metrics
    ended = found.rows.filter(of="run", metric="transfers")["value"].sum()
    return TRANSFERS if ended else FLOWS


def table(found: StudyResult) -> tuple[list[str], list[list[str]]]:
    """Returns head and rows: a row per point."""
    shown = metrics(found)
    axes = [axis.name for axis in found.plan.design.axes]
    summaries = [found.summary(metric).to_dicts() for metric in shown]
    rows = []
    for own in zip(*summaries, strict=True):
        cells = [_number(own[0][axis]) for axis in axes]
        rows.append([*cells, str(max(one["runs"] for one in own)), *map(_interval, own)])
    return [*axes, "runs", *shown], rows


def _interval(one: dict[str, Any]) -> str:
    if one["runs"] == 0:
        return "-"
    return f"{one['mean']:.4g}" if one["runs"] == 1 else f"{one['mean']:.4g} ± {one['half']:.2g}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
