"""A study as a whole: makes the runs that are missing, keeps them, and says what they come to."""

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
from levelflow.scenario import nearest
from levelflow.study import reading
from levelflow.study.pools import Pool, pool
from levelflow.study.store import Cache, Store, cache_file
from levelflow.study.task import DIGEST, METRICS, Row, Task, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from levelflow.picture import Picture
    from levelflow.study.plan import Plan

#: Seconds of finished runs that may be lost when the process is killed.
FLUSH_EVERY_S = 2.0
FLUSH_RUNS = 2000
#: Metrics that are quantiles to within a bin, and the width of a bin as a share of its value.
QUANTISED = ("queue_p50_ms", "queue_p99_ms")
QUANTILE_RESOLUTION = 1 / 64


class Study:
    """A design over scenarios, with replications.

    Args:
        tables: what a STUDY.toml says, as a dictionary.
        name: of the study, where `tables` have none.

    Raises:
        ScenarioError: if it is not allowed; in a line per mistake.
    """

    def __init__(self, tables: dict[str, Any], name: str = "study") -> None:
        self.plan = reading.plan(tables, Path(), name)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Reads a STUDY.toml.

        Raises:
            ScenarioError: if it cannot be read or is not allowed; in a line per mistake.
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
        """Makes the runs that the directory lacks.

        Args:
            out: directory; `results/NAME` by default. What it has of this study is not made again.
            scheduler: "processes", "threads", the address of a Dask scheduler, as "tcp://host:8786", or a pool,
                which stays open.
            workers: runs side by side on this machine; one per processor by default.
            replace: puts this study in place of another one.
            cache: takes and keeps equal runs of other studies, below `~/.cache/levelflow`.
            progress: receives how many runs are done, and how many there are.

        Raises:
            ScenarioError: if the directory holds something else, or no scheduler answers.
            KeyboardInterrupt: on Ctrl-C, after what was made was kept.
        """
        path = Path(out or Path("results") / self.plan.name)
        store = Store(path, {**self.plan.about(), "engine": engine()}, replace)
        kept = Cache(cache_file() if cache else None)
        try:
            with (
                nullcontext(scheduler) if not isinstance(scheduler, str) else closing(pool(scheduler, workers)) as side
            ):
                failures = _Work(self.plan, store, kept, side, progress or (lambda _done, _of: None)).made()
            return StudyResult(self.plan, store.rows(), tuple(failures), path)
        finally:
            kept.close()
            store.close()


class _Work:
    """Feeds a pool with the runs that are missing."""

    def __init__(self, plan: Plan, store: Store, kept: Cache, side: Pool, tell: Callable[[float, float], None]) -> None:
        self.plan, self.store, self.kept, self.side, self.tell = plan, store, kept, side, tell
        self.have = store.runs()
        self.values: dict[int, dict[int, tuple[float, float]]] = {}
        self.fresh: list[tuple[Task, int, list[Row]]] = []
        self.computed: list[tuple[Task, int, list[Row]]] = []
        self.failures: list[dict[str, Any]] = []
        self.more: list[tuple[int, int]] = []
        self.left: dict[int, int] = {}
        self.asked: dict[int, int] = {}
        self.again: set[tuple[int, int]] = set()
        self.flushed = time.monotonic()
        self.done, self.of = 0, len(plan.design) * plan.replications.least
        self.stopped = False

    def made(self) -> list[dict[str, Any]]:
        """Makes all runs; returns those that failed."""
        if (metric := self.plan.replications.metric) and self.have:
            known = self.store.rows().filter(pl.col("metric").is_in([metric, DIGEST]), of="run")
            for (point, replication), own in known.group_by("point", "replication", maintain_order=True):
                found = dict(own.select("metric", "value").iter_rows())
                self._note(int(point), int(replication), found.get(metric), found[DIGEST])
        before = signal.getsignal(signal.SIGINT)
        hears = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
        if hears:
            signal.signal(signal.SIGINT, self._stop)
        try:
            self._feed()
        finally:
            self._flush()
            listed = sorted(self.failures, key=lambda one: (one["point"], one["replication"]))
            files.replace(self.store.path / "failures.json", json.dumps(listed, indent=1))
            if hears:
                signal.signal(signal.SIGINT, before)
        if self.stopped:
            raise KeyboardInterrupt
        return listed

    def _stop(self, *_: Any) -> None:
        self.stopped = True  # Polars panics where Python raises in it

    def _feed(self) -> None:
        waiting, under_way = self._wanted(), 0
        while not self.stopped:
            while under_way < self.side.room and (wanted := next(waiting, None)):
                under_way += self._begin(*wanted)
            if not under_way:
                if not self.more:
                    return
                waiting = iter(self.more)
                self.more = []
                continue
            try:
                task, outcome = self.side.done.get(timeout=0.2)
            except queue.Empty:
                continue
            under_way -= 1
            if isinstance(outcome, list):
                self.computed.append((task, self.plan.seed + task.replication, outcome))
                self._take(task, outcome)
            elif outcome[1] and (task.point, task.replication) not in self.again:
                self.again.add((task.point, task.replication))
                self.side.submit(task)
                under_way += 1
            else:
                self._fail(task.point, task.replication, outcome[0])

    def _wanted(self) -> Iterator[tuple[int, int]]:
        for point in range(len(self.plan.design)):
            self.left[point] = self.plan.replications.least
            for replication in range(self.plan.replications.least):
                yield point, replication

    def _begin(self, point: int, replication: int) -> int:
        """Begins a run that is not there yet; returns how many came under way."""
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
        self.fresh.append((task, self.plan.seed + task.replication, rows))
        if metric := self.plan.replications.metric:
            found = {row[3]: row[4] for row in rows if row[0] == "run"}
            self._note(task.point, task.replication, found.get(metric), found[DIGEST])
        if len(self.fresh) >= FLUSH_RUNS or time.monotonic() - self.flushed > FLUSH_EVERY_S:
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
        """Counts a run; after the last one of a point, asks for more if its interval is too wide."""
        self.done += 1
        self.left[point] -= 1
        rule = self.plan.replications
        if not self.left[point] and rule.metric:
            count = self.asked.get(point, rule.least)
            found = self.values.get(point, {})
            distinct = {digest: value for _, (value, digest) in sorted(found.items(), reverse=True)}
            same = len(found) > 1 and len(distinct) == 1  # then more seeds bring nothing new
            enough = same or interval(list(distinct.values())).is_within(rule.width, rule.relative)
            further = 0 if enough else min(max(1, count // 5), rule.most - count)
            self.more += [(point, count + number) for number in range(further)]
            self.asked[point], self.left[point] = count + further, further
            self.of += further
        self.tell(self.done, self.of)

    def _flush(self) -> None:
        if self.fresh:
            self.store.write(self.fresh)
            self.kept.put(self.computed)
            self.fresh, self.computed = [], []
        self.flushed = time.monotonic()


@dataclass(frozen=True)
class StudyResult:
    """What a study came to.

    Attributes:
        plan: what was asked.
        rows: one row per run and value: `point` and `replication` from 0, `seed`, `of` (run, flow, link, cdf, size),
            `name` of flow or link, `at` (level of a distribution, bytes of a size), `metric`, `value`.
        failures: runs that failed: point, replication, seed, why.
        path: the directory.
    """

    plan: Plan
    rows: pl.DataFrame
    failures: tuple[dict[str, Any], ...]
    path: Path

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per run: the axes, `point`, `replication`, `seed`, and a column per metric of `METRICS`."""
        runs = self.rows.filter(of="run").pivot("metric", index=["point", "replication", "seed"], values="value")
        points = runs["point"].unique().sort()
        labels = [{"point": point, **self.plan.design.point(point)[0]} for point in points]
        named = pl.DataFrame(labels, schema_overrides={"point": pl.UInt32}, infer_schema_length=None)
        return named.join(runs, on="point", how="right", maintain_order="right") if labels else runs

    @cached_property
    def distinct(self) -> pl.DataFrame:
        """The rows of `table` without those of runs that equal one before at the same point."""
        return self.table.unique(subset=["point", DIGEST], keep="first", maintain_order=True)

    @property
    def warnings(self) -> list[str]:
        """Warnings of runs, each with its number of runs, and of equal runs."""
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
        """Returns a row per point: its axes, `mean`, `half`, `runs` and `missing`.

        `mean` is over distinct runs, `runs` their number, and `half` is half the 95 % interval of Student's t, or
        the resolution of the metric if that is more.
        `missing` is the number of distinct runs in which the metric has no value, such as the settling time of a run
        that does not settle; the mean leaves them out.

        Raises:
            ScenarioError: if there is no such metric.
        """
        rows = []
        for (point,), own in self.distinct.group_by("point", maintain_order=True):
            one = interval(own[_known(metric)].cast(pl.Float64).fill_null(np.nan).to_numpy())
            one = _resolved(metric, one, abs(one.mean))
            rows.append({**self.plan.design.point(int(point))[0], **one._asdict()})
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot(self, kind: str = "response", metric: str = "", width: str = "screen") -> Picture:
        """Draws a picture: a "response" or a "map" of a metric, "completion times", or "completion by size".

        Its width is that of a "screen", or of a "column" or a "page" of a paper.

        Raises:
            ScenarioError: if there is no such picture or metric.
        """
        from levelflow.study import pictures
        from levelflow.study.table import metrics

        return pictures.draw(self, kind, metric or metrics(self)[0], width)

    def compare(self, metric: str, axis: str, a: Any, b: Any) -> Interval:
        """Returns by how much a metric of one value of an axis exceeds that of another, with all else equal.

        Runs are paired: the same other axes and the same seed. With several other points, over all of them. A seed
        counts if all its runs have the metric, and if no other seed gives the same runs.

        Raises:
            ScenarioError: if there is no such metric, axis or value.
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
        # A pair of runs that equals another pair, at all other points, is no further one.
        pairs = both.group_by("replication", maintain_order=True).agg(DIGEST, f"{DIGEST}_b", metric, f"{metric}_b")
        pairs = pairs.unique(subset=[DIGEST, f"{DIGEST}_b"], keep="first", maintain_order=True)
        found = interval([_mean_difference(x, y) for x, y in pairs.select(metric, f"{metric}_b").iter_rows()])
        sizes = [abs(value) for values in pairs[metric].to_list() for value in values if value is not None]
        return _resolved(metric, found, max(sizes, default=0.0))


def _resolved(metric: str, one: Interval, size: float) -> Interval:
    """Returns an interval that is no narrower than a bin, for quantiles of this size."""
    if metric not in QUANTISED or math.isnan(one.half):
        return one
    return one._replace(half=max(one.half, size * QUANTILE_RESOLUTION))


def _known(metric: str) -> str:
    if metric not in METRICS:
        raise ScenarioError(f"no metric {metric!r}; {nearest(metric, list(METRICS))}")
    return metric


def _mean_difference(first: list[float | None], second: list[float | None]) -> float:
    """Returns the mean of the differences; NaN where one is not known."""
    pairs = list(zip(first, second, strict=True))
    if any(x is None or y is None for x, y in pairs):
        return math.nan
    return math.fsum((x or 0.0) - (y or 0.0) for x, y in pairs) / len(pairs)
