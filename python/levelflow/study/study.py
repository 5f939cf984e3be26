"""A study as a whole: makes the runs that are missing, keeps them, and says what they come to."""

from __future__ import annotations

import json
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
from levelflow.report import files
from levelflow.scenario import nearest
from levelflow.study import reading
from levelflow.study.pools import Pool, pool
from levelflow.study.statistics import Interval, interval
from levelflow.study.store import Cache, Store, cache_file
from levelflow.study.task import METRICS, Row, Task, engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from levelflow.picture import Picture
    from levelflow.study.plan import Plan

#: Seconds of finished runs that may be lost when the process is killed.
FLUSH_EVERY_S = 2.0
FLUSH_RUNS = 2000


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
        self.values: dict[int, dict[int, float]] = {}
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
            known = self.store.rows().filter(of="run", metric=metric).select("point", "replication", "value")
            for point, replication, value in known.iter_rows():
                self.values.setdefault(point, {})[replication] = np.nan if value is None else value
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
            value = next((row[4] for row in rows if row[0] == "run" and row[3] == metric), None)
            self.values.setdefault(task.point, {})[task.replication] = np.nan if value is None else value
        if len(self.fresh) >= FLUSH_RUNS or time.monotonic() - self.flushed > FLUSH_EVERY_S:
            self._flush()
        self._ended(task.point)

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
            values = [self.values.get(point, {}).get(replication, np.nan) for replication in range(count)]
            enough = interval(values).is_within(rule.width, rule.relative)
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

    @property
    def seeds_change_nothing(self) -> bool:
        """Whether there are several replications and nothing is drawn at random, or all come out the same."""
        runs = self.rows.filter(of="run")
        if runs["replication"].n_unique() > 1 and not runs.filter(metric="random")["value"].cast(pl.Boolean).any():
            return True
        found = runs.group_by("point", "metric").agg(pl.col("value").n_unique(), pl.len())
        several = found.filter(pl.col("len") > 1)
        return bool(several.height and (several["value"] == 1).all())

    def summary(self, metric: str) -> pl.DataFrame:
        """One row per point: the axes, `mean`, half the 95 % interval of Student's t (`half`), and `runs`.

        Raises:
            ScenarioError: if there is no such metric.
        """
        rows = []
        for (point,), own in self.rows.filter(of="run", metric=_known(metric)).group_by("point", maintain_order=True):
            one = interval(own["value"].drop_nulls().to_numpy())
            rows.append({**self.plan.design.point(int(point))[0], "mean": one.mean, "half": one.half, "runs": one.runs})
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

        Runs are paired: the same other axes and the same seed. With several other points, over all of them.

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
        first, second = (table.filter(pl.col(axis) == value).select(columns) for value in (a, b))
        both = first.join(second, on=others, suffix="_b").drop_nulls()
        means = both.with_columns(d=pl.col(metric) - pl.col(f"{metric}_b")).group_by("replication").agg(pl.mean("d"))
        return interval(means.sort("replication")["d"].to_numpy())


def _known(metric: str) -> str:
    if metric not in METRICS:
        raise ScenarioError(f"no metric {metric!r}; {nearest(metric, list(METRICS))}")
    return metric
