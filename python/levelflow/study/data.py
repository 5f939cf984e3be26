"""Rows of a finished study, and statistics over them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from levelflow._core import ScenarioError
from levelflow.measure.intervals import Interval, interval
from levelflow.report.warned import tally
from levelflow.study.task import DIGEST, METRICS
from levelflow.words import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from levelflow.study.design import Label
    from levelflow.study.plan import Plan
    from levelflow.study.store import Failure

#: Metrics that are quantiles of a histogram, and the relative width of the bins of this histogram.
QUANTILE_METRICS = ("queue_p50_ms", "queue_p99_ms")
QUANTILE_RESOLUTION = 1 / 64


@dataclass(frozen=True)
class StudyData:
    """Rows of a study, and the statistics over them.

    Attributes:
        plan: Plan of the study.
        rows: One row per run and value. The columns are `point` and `replication` (both from 0), `seed`, and the
            attributes of `levelflow.study.task.Row`.
        failures: Failed runs, each with `point`, `replication`, `seed` and the reason `why`.
        path: Results directory.
        faults: Warnings about the execution of the runs.
    """

    plan: Plan
    rows: pl.DataFrame
    failures: tuple[Failure, ...]
    path: Path
    faults: tuple[str, ...] = ()

    @cached_property
    def table(self) -> pl.DataFrame:
        """Table with one row per run. The columns are the axes, `point`, `replication`, `seed` and the metrics."""
        runs = self.rows.filter(of="run").pivot("metric", index=["point", "replication", "seed"], values="value")
        points = runs["point"].unique().sort()
        labels = [{"point": point, **self.plan.design.point(point)[0]} for point in points]
        named = pl.DataFrame(labels, schema_overrides={"point": pl.UInt32}, infer_schema_length=None)
        return named.join(runs, on="point", how="right", maintain_order="right") if labels else runs

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """Rows of `table` without duplicates. A duplicate is a run that equals an earlier run of the same point."""
        return self.table.unique(subset=["point", DIGEST], keep="first", maintain_order=True)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the runs with the number of affected runs, and warnings about seeds with equal runs."""
        lines_of = self.rows.filter(of="warning").group_by("point", "replication", maintain_order=True).agg("name")
        quiet: list[list[str]] = [[]] * (self.table.height - lines_of.height)
        lines = [*self.faults, *tally([*lines_of["name"].to_list(), *quiet])]
        counts = self.table.group_by("point", maintain_order=True).agg(pl.len(), pl.col(DIGEST).n_unique().alias("own"))
        equal = counts.filter(pl.col("own") < pl.col("len"))
        if equal.height == counts.height and bool((equal["own"] == 1).all()):
            return [*lines, "all seeds give the same run; one replication is enough"]
        for point, count, own in equal.iter_rows():
            where = ", ".join(f"{name} {value}" for name, value in self.plan.design.point(point)[0].items())
            lines.append(f"{where}: {count} seeds give {own} different run{'s' * (own > 1)}; means use only these")
        return lines

    def summary(self, metric: str) -> pl.DataFrame:
        """Returns one row per point: its axis values, `mean`, `half`, `runs` and `missing`.

        `mean` is the mean over distinct runs, and `runs` their number.
        `half` is the half-width of Student's 95 % interval, or the resolution of the metric if that is larger.
        `missing` is the number of distinct runs without a value of the metric. For example, a run that does not settle
        has no settling time. `mean` excludes these runs.

        Raises:
            ScenarioError: If the metric does not exist.
        """
        rows = []
        for (point,), own in self.distinct.group_by("point", maintain_order=True):
            one = interval(own[_known(metric)].cast(pl.Float64).fill_null(np.nan).to_numpy())
            one = _resolved(metric, one, abs(one.mean))
            rows.append({**self.plan.design.point(int(point))[0], **one._asdict()})
        return pl.DataFrame(rows, infer_schema_length=None)

    def compare(self, metric: str, axis: str, a: Label, b: Label) -> Interval:
        """Returns the paired difference of a metric between two values of an axis, `a` minus `b`.

        Two runs form a pair if they have the same seed and the same values of all other axes. Each seed contributes the
        mean difference over its pairs. A seed with a run that lacks the metric is excluded. Seeds with equal runs count
        once.

        Raises:
            ScenarioError: If the metric, the axis or a value does not exist.
        """
        names = [each.name for each in self.plan.design.axes]
        if axis not in names:
            raise ScenarioError(f"compare: no axis {axis!r}; {nearest(axis, names)}")
        table = self.table
        for value in (a, b):
            if value not in table[axis].to_list():
                known = [str(one) for one in table[axis].unique(maintain_order=True)]
                raise ScenarioError(f"compare: {axis} has no value {value!r}; {nearest(str(value), known)}")
        others = [name for name in names if name != axis] + ["replication"]
        columns = [*others, _known(metric)]
        columns += [DIGEST]
        first, second = (table.filter(pl.col(axis) == value).select(columns) for value in (a, b))
        both = first.join(second, on=others, suffix="_b").sort(*others)
        # Seeds whose pairs of runs are equal at all points count once.
        pairs = both.group_by("replication", maintain_order=True).agg(DIGEST, f"{DIGEST}_b", metric, f"{metric}_b")
        pairs = pairs.unique(subset=[DIGEST, f"{DIGEST}_b"], keep="first", maintain_order=True)
        found = interval([_mean_difference(x, y) for x, y in pairs.select(metric, f"{metric}_b").iter_rows()])
        sizes = [abs(value) for values in pairs[metric].to_list() for value in values if value is not None]
        return _resolved(metric, found, max(sizes, default=0.0))


def _resolved(metric: str, one: Interval, size: float) -> Interval:
    """Returns the interval. For quantile metrics, `half` is at least the width of the histogram bin at `size`."""
    if metric not in QUANTILE_METRICS or math.isnan(one.half):
        return one
    return one._replace(half=max(one.half, size * QUANTILE_RESOLUTION))


def _known(metric: str) -> str:
    if metric not in METRICS:
        raise ScenarioError(f"no metric {metric!r}; {nearest(metric, list(METRICS))}")
    return metric


def _mean_difference(first: list[float | None], second: list[float | None]) -> float:
    """Returns the mean of the pairwise differences, `first` minus `second`; NaN if a value is missing."""
    pairs = list(zip(first, second, strict=True))
    if any(x is None or y is None for x, y in pairs):
        return math.nan
    return math.fsum((x or 0.0) - (y or 0.0) for x, y in pairs) / len(pairs)
