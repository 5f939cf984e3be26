"""Studies and their results: means with confidence intervals, paired differences and pictures."""

from __future__ import annotations

import math
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl

from levelflow._core import ScenarioError
from levelflow.measure.intervals import Interval, interval
from levelflow.report.warned import tally
from levelflow.study import reading
from levelflow.study.driver import Driver
from levelflow.study.pools import Pool, pool
from levelflow.study.store import Cache, Failure, Store, cache_file
from levelflow.study.task import DIGEST, METRICS, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from levelflow.picture import Picture
    from levelflow.study.design import Label
    from levelflow.study.plan import Plan

#: Metrics that are quantiles of a histogram, and the relative width of the bins of this histogram.
QUANTILE_METRICS = ("queue_p50_ms", "queue_p99_ms")
QUANTILE_RESOLUTION = 1 / 64


class Study:
    """Replicated runs of a design over scenarios.

    Args:
        tables: Contents of a STUDY.toml as a dictionary.
        name: Name of the study if `tables` contains no name.

    Raises:
        ScenarioError: If the study is invalid. The message has one line per mistake.
    """

    def __init__(self, tables: Mapping[str, object], name: str = "study") -> None:
        self.plan = reading.plan(tables, Path(), name)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a STUDY.toml.

        Raises:
            ScenarioError: If the file is unreadable or invalid. The message has one line per mistake.
        """
        study = cls.__new__(cls)
        study.plan = reading.read(Path(path))
        return study

    def run(
        self,
        out: Path | str | None = None,
        *,
        scheduler: str | Pool = "processes",
        workers: int | None = None,
        replace: bool = False,
        cache: bool = True,
        progress: Callable[[float, float], None] | None = None,
    ) -> StudyResult:
        """Executes the runs that the results directory does not contain yet.

        Args:
            out: Results directory, `results/NAME` by default. Runs of this study in the directory are not repeated.
            scheduler: "processes", "threads", the address of a Dask scheduler such as "tcp://host:8786", or a pool
                that the caller closes.
            workers: Number of parallel runs on this machine; by default the number of processors.
            replace: True to overwrite another study in the directory.
            cache: True to use the cache of runs in `~/.cache/levelflow`, which all studies share.
            progress: Callback with the number of finished runs and the total number of runs.

        Raises:
            ScenarioError: If the directory contains other files than this study, or the scheduler is unreachable.
            KeyboardInterrupt: On Ctrl-C, after the finished runs were stored.
        """
        path = Path(out or Path("results") / self.plan.name)
        store = Store(path, {**self.plan.identity(), "engine": engine()}, replace)
        runs = Cache(cache_file() if cache else None)
        try:
            own = closing(pool(scheduler, workers)) if isinstance(scheduler, str) else nullcontext(scheduler)
            with own as executor:
                failures = Driver(self.plan, executor, store, runs).execute(progress or (lambda _done, _of: None))
            return StudyResult(self.plan, store.rows(), tuple(failures), path)
        finally:
            runs.close()
            store.close()


@dataclass(frozen=True)
class StudyResult:
    """Results of a study.

    Attributes:
        plan: Plan of the study.
        rows: One row per run and value. The columns are `point` and `replication` (both from 0), `seed`, and the
            attributes of `levelflow.study.task.Row`.
        failures: Failed runs, each with `point`, `replication`, `seed` and the reason `why`.
        path: Results directory.
    """

    plan: Plan
    rows: pl.DataFrame
    failures: tuple[Failure, ...]
    path: Path

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
        """Rows of `table` without duplicates, which are runs that equal an earlier run of the same point."""
        return self.table.unique(subset=["point", DIGEST], keep="first", maintain_order=True)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the runs with the number of affected runs, and warnings about seeds with equal runs."""
        lines_of = self.rows.filter(of="warning").group_by("point", "replication", maintain_order=True).agg("name")
        quiet: list[list[str]] = [[]] * (self.table.height - lines_of.height)
        lines = tally([*lines_of["name"].to_list(), *quiet])
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

    def plot(self, kind: str = "response", metric: str = "", width: str = "screen") -> Picture:
        """Draws a picture.

        Kinds "response" and "map" show a metric. The other kinds are "completion times", "completion by size" and
        "slowdown by size". The width is "screen", or "column" or "page" of a paper.

        Raises:
            ScenarioError: If the kind, the metric or the width does not exist.
        """
        from levelflow.study import pictures
        from levelflow.study.table import metrics

        return pictures.draw(self, kind, metric or metrics(self)[0], width)

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
