"""Studies: execution of the missing runs, storage, and evaluation of the results."""

from __future__ import annotations

import json
import math
import queue
import signal
import threading
import time
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from levelflow._core import ScenarioError
from levelflow.measure.intervals import Interval, interval
from levelflow.report import files
from levelflow.report.warned import tally
from levelflow.study import reading
from levelflow.study.pools import Pool, pool
from levelflow.study.store import Cache, Store, cache_file
from levelflow.study.task import DIGEST, METRICS, Row, Task, engine
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from levelflow.picture import Picture
    from levelflow.study.plan import Plan

#: Limits on the time between two writes, s, and on unsaved runs. A killed process loses at most the unsaved runs.
FLUSH_EVERY_S = 2.0
FLUSH_RUNS = 2000
#: Metrics that are quantiles of a histogram, and the relative width of its bins.
QUANTISED = ("queue_p50_ms", "queue_p99_ms")
QUANTILE_RESOLUTION = 1 / 64


class Study:
    """Replicated runs of a design over scenarios.

    Args:
        tables: Contents of a STUDY.toml as a dictionary.
        name: Name of the study if `tables` has none.

    Raises:
        ScenarioError: If the study is invalid; one line per mistake.
    """

    def __init__(self, tables: dict[str, Any], name: str = "study") -> None:
        self.plan = reading.plan(tables, Path(), name)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a STUDY.toml.

        Raises:
            ScenarioError: If the file is unreadable or invalid; one line per mistake.
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
        """Executes the runs that are missing in the results directory.

        Args:
            out: Results directory, `results/NAME` by default. Runs of this study in the directory are not repeated.
            scheduler: "processes", "threads", the address of a Dask scheduler such as "tcp://host:8786", or a pool,
                which the caller must close.
            workers: Number of parallel runs on this machine; by default the number of processors.
            replace: True to overwrite another study in the directory.
            cache: True to reuse equal runs of other studies, through `~/.cache/levelflow`.
            progress: Receives the number of finished runs and the total number of runs.

        Raises:
            ScenarioError: If the directory holds anything but this study, or the scheduler is unreachable.
            KeyboardInterrupt: On Ctrl-C, after the finished runs were stored.
        """
        path = Path(out or Path("results") / self.plan.name)
        store = Store(path, {**self.plan.about(), "engine": engine()}, replace)
        kept = Cache(cache_file() if cache else None)
        try:
            with (
                nullcontext(scheduler) if not isinstance(scheduler, str) else closing(pool(scheduler, workers)) as side
            ):
                failures = _Work(self.plan, store, kept, side, progress or (lambda _done, _of: None)).execute()
            return StudyResult(self.plan, store.rows(), tuple(failures), path)
        finally:
            kept.close()
            store.close()


class _Work:
    """Execution of the missing runs on a pool."""

    def __init__(
        self, plan: Plan, store: Store, kept: Cache, side: Pool, progress: Callable[[float, float], None]
    ) -> None:
        self.plan, self.store, self.kept, self.side, self.progress = plan, store, kept, side, progress
        self.have = store.runs()
        self.values: dict[int, dict[int, tuple[float, float]]] = {}
        self.unsaved: list[tuple[Task, int, list[Row]]] = []
        self.uncached: list[tuple[Task, int, list[Row]]] = []
        self.failures: list[dict[str, Any]] = []
        self.extra: list[tuple[int, int]] = []
        self.pending: dict[int, int] = {}
        self.target: dict[int, int] = {}
        self.retried: set[tuple[int, int]] = set()
        self.flushed = time.monotonic()
        self.done, self.of = 0, len(plan.design) * plan.replications.least
        self.stopped = False

    def execute(self) -> list[dict[str, Any]]:
        """Executes all runs and returns the failed ones."""
        if (metric := self.plan.replications.metric) and self.have:
            known = self.store.rows().filter(pl.col("metric").is_in([metric, DIGEST]), of="run")
            for (point, replication), own in known.group_by("point", "replication", maintain_order=True):
                found = dict(own.select("metric", "value").iter_rows())
                self._note(int(point), int(replication), found.get(metric), found[DIGEST])
        before = signal.getsignal(signal.SIGINT)
        handles_interrupt = (
            before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
        )
        if handles_interrupt:
            signal.signal(signal.SIGINT, self._stop)
        try:
            self._feed()
        finally:
            self._flush()
            listed = sorted(self.failures, key=lambda one: (one["point"], one["replication"]))
            files.replace(self.store.path / "failures.json", json.dumps(listed, indent=1))
            if handles_interrupt:
                signal.signal(signal.SIGINT, before)
        if self.stopped:
            raise KeyboardInterrupt
        return listed

    def _stop(self, *_: Any) -> None:
        self.stopped = True  # an exception raised inside Polars would make it panic

    def _feed(self) -> None:
        waiting, in_flight = self._planned(), 0
        while not self.stopped:
            while in_flight < self.side.room and (planned := next(waiting, None)):
                in_flight += self._begin(*planned)
            if not in_flight:
                if not self.extra:
                    return
                waiting = iter(self.extra)
                self.extra = []
                continue
            try:
                task, outcome = self.side.done.get(timeout=0.2)
            except queue.Empty:
                continue
            in_flight -= 1
            if isinstance(outcome, list):
                self.uncached.append((task, self.plan.seed + task.replication, outcome))
                self._take(task, outcome)
            elif outcome[1] and (task.point, task.replication) not in self.retried:
                self.retried.add((task.point, task.replication))
                self.side.submit(task)
                in_flight += 1
            else:
                self._fail(task.point, task.replication, outcome[0])

    def _planned(self) -> Iterator[tuple[int, int]]:
        for point in range(len(self.plan.design)):
            self.pending[point] = self.plan.replications.least
            for replication in range(self.plan.replications.least):
                yield point, replication

    def _begin(self, point: int, replication: int) -> int:
        """Starts a run unless it is stored, cached or invalid; returns the number of runs submitted, 0 or 1."""
        if (point, replication) in self.have:
            self._ended(point)
            return 0
        try:
            scenario = self.plan.scenario(point).set("seed", self.plan.seed + replication)
            task = Task(point, replication, scenario.to_json(), self.plan.warm_up)
        except ScenarioError as error:
            self._fail(point, replication, str(error))
            return 0
        if (rows := self.kept.get(task.key)) is not None:
            self._take(task, rows)
            return 0
        self.side.submit(task)
        return 1

    def _take(self, task: Task, rows: list[Row]) -> None:
        self.unsaved.append((task, self.plan.seed + task.replication, rows))
        if metric := self.plan.replications.metric:
            found = {row[3]: row[4] for row in rows if row[0] == "run"}
            self._note(task.point, task.replication, found.get(metric), found[DIGEST])
        if len(self.unsaved) >= FLUSH_RUNS or time.monotonic() - self.flushed > FLUSH_EVERY_S:
            self._flush()
        self._ended(task.point)

    def _note(self, point: int, replication: int, value: float | None, digest: float | None) -> None:
        known = np.nan if value is None else value
        self.values.setdefault(point, {})[replication] = (known, np.nan if digest is None else digest)

    def _fail(self, point: int, replication: int, why: str) -> None:
        seed = self.plan.seed + replication
        self.failures.append({"point": point, "replication": replication, "seed": seed, "why": why.splitlines()[0]})
        self._ended(point)

    def _ended(self, point: int) -> None:
        """Counts a finished run; after the last run of a point, adds runs if the confidence interval is too wide."""
        self.done += 1
        self.pending[point] -= 1
        rule = self.plan.replications
        if not self.pending[point] and rule.metric:
            count = self.target.get(point, rule.least)
            found = self.values.get(point, {})
            distinct = {digest: value for _, (value, digest) in sorted(found.items(), reverse=True)}
            same = len(found) > 1 and len(distinct) == 1  # the scenario is deterministic: more seeds add no information
            enough = same or interval(list(distinct.values())).is_within(rule.width, rule.relative)
            further = 0 if enough else min(max(1, count // 5), rule.most - count)
            self.extra += [(point, count + number) for number in range(further)]
            self.target[point], self.pending[point] = count + further, further
            self.of += further
        self.progress(self.done, self.of)

    def _flush(self) -> None:
        if self.unsaved:
            self.store.write(self.unsaved)
            self.kept.put(self.uncached)
            self.unsaved, self.uncached = [], []
        self.flushed = time.monotonic()


@dataclass(frozen=True)
class StudyResult:
    """Results of a study.

    Attributes:
        plan: Plan of the study.
        rows: One row per run and value. Columns: `point` and `replication` (both from 0), `seed`, `of` (run, flow,
            link, cdf, size or warning), `name` (of the flow or link, or the text of the warning), `at` (quantile level,
            or size in bytes), `metric`, `value`.
        failures: One record per failed run, with `point`, `replication`, `seed` and `why`.
        path: Results directory.
    """

    plan: Plan
    rows: pl.DataFrame
    failures: tuple[dict[str, Any], ...]
    path: Path

    @cached_property
    def table(self) -> pl.DataFrame:
        """Table with one row per run. Columns: the axes, `point`, `replication`, `seed`, and one per metric."""
        runs = self.rows.filter(of="run").pivot("metric", index=["point", "replication", "seed"], values="value")
        points = runs["point"].unique().sort()
        labels = [{"point": point, **self.plan.design.point(point)[0]} for point in points]
        named = pl.DataFrame(labels, schema_overrides={"point": pl.UInt32}, infer_schema_length=None)
        return named.join(runs, on="point", how="right", maintain_order="right") if labels else runs

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """Rows of `table` without runs that equal an earlier run of the same point."""
        return self.table.unique(subset=["point", DIGEST], keep="first", maintain_order=True)

    @property
    def warnings(self) -> list[str]:
        """Warnings of the runs, each with the number of affected runs, and warnings about seeds with equal runs."""
        lines_of = self.rows.filter(of="warning").group_by("point", "replication", maintain_order=True).agg("name")
        quiet: list[list[str]] = [[]] * (self.table.height - lines_of.height)
        lines = tally([*lines_of["name"].to_list(), *quiet])
        counts = self.table.group_by("point", maintain_order=True).agg(pl.len(), pl.col(DIGEST).n_unique().alias("own"))
        equal = counts.filter(pl.col("own") < pl.col("len"))
        if equal.height == counts.height and bool((equal["own"] == 1).all()):
            return [*lines, "all seeds give the same run, which counts once; one replication is enough"]
        for point, count, own in equal.iter_rows():
            where = ", ".join(f"{name} {value}" for name, value in self.plan.design.point(point)[0].items())
            lines.append(f"{where}: {count} seeds give {own} different run{'s' * (own > 1)}; equal runs count once")
        return lines

    def summary(self, metric: str) -> pl.DataFrame:
        """Returns one row per point: its axis values, `mean`, `half`, `runs` and `missing`.

        `mean` is the mean over distinct runs, and `runs` their number.
        `half` is the half-width of Student's 95 % interval, or the resolution of the metric if that is larger.
        `missing` is the number of distinct runs without a value of the metric, which `mean` excludes.
        For example, a run that does not settle has no settling time.

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

    def compare(self, metric: str, axis: str, a: Any, b: Any) -> Interval:
        """Returns the paired difference of a metric between two values of an axis, `a` minus `b`.

        Two runs form a pair if they have the same seed and the same values of all other axes. Each seed contributes the
        mean difference over its pairs, or nothing if one of its runs lacks the metric. Seeds with equal runs count
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
                raise ScenarioError(f"compare: {axis} is never {value!r}; {nearest(str(value), known)}")
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
    """Returns an interval; for a quantile metric of value `size`, its half-width is at least one histogram bin."""
    if metric not in QUANTISED or math.isnan(one.half):
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
