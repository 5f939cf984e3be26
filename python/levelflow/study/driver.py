"""Execution of a study's schedule on a pool, with storage, progress and interruption."""

from __future__ import annotations

import math
import queue
from typing import TYPE_CHECKING

from levelflow._core import ScenarioError
from levelflow.ending import handled
from levelflow.study.schedule import Failed, Measured, Run, Schedule
from levelflow.study.store import Failure, Writer
from levelflow.study.task import DIGEST, Row, Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from levelflow.study.plan import Plan
    from levelflow.study.pools import Pool
    from levelflow.study.store import Cache, Store

#: Time between two checks for an interruption while all runs are in flight, s.
POLL_S = 0.2


class Driver:
    """Executes the missing runs of a study on a pool and stores their rows."""

    def __init__(self, plan: Plan, pool: Pool, store: Store, cache: Cache) -> None:
        self.plan, self.pool, self.store, self.cache = plan, pool, store, cache
        self.writer = Writer(store, cache)
        self.schedule = Schedule(len(plan.design), plan.replications, store.runs(plan.replications.metric))
        self.interrupted = False

    def execute(self, progress: Callable[[float, float], None]) -> list[Failure]:
        """Executes the missing runs and returns the failed ones.

        Raises:
            KeyboardInterrupt: On Ctrl-C or SIGTERM, after the finished runs were stored.
        """
        with handled(self._interrupt):
            try:
                while not (self.interrupted or self.schedule.is_complete):
                    if self.schedule.in_flight < self.pool.room and (run := self.schedule.next()):
                        self._start(run)
                    elif self.schedule.in_flight:
                        self._collect()
                    progress(self.schedule.finished, self.schedule.total)
            finally:
                self.writer.flush()
                failures = [self._failure(*failed) for failed in sorted(self.schedule.failures.items())]
                self.store.write_failures(failures)
        if self.interrupted:
            raise KeyboardInterrupt
        return failures

    def _start(self, run: Run) -> None:
        """Submits a run to the pool. A run in the cache finishes immediately, and an invalid run fails."""
        seed = self.plan.seed + run.replication
        try:
            text = self.plan.scenario(run.point).set("seed", seed).to_json()
        except ScenarioError as error:
            self.schedule.result(run, Failed(str(error), may_retry=False))
            return
        task = Task(run, seed, text, self.plan.warm_up)
        if (rows := self.cache.get(task.key)) is None:
            self.pool.submit(task)
        else:
            self._finish(task, rows, is_cached=True)

    def _collect(self) -> None:
        """Receives the outcome of a run from the pool, or returns after `POLL_S`."""
        try:
            task, outcome = self.pool.done.get(timeout=POLL_S)
        except queue.Empty:
            return
        if isinstance(outcome, Failed):
            self.schedule.result(task.run, outcome)
        else:
            self._finish(task, outcome, is_cached=False)

    def _finish(self, task: Task, rows: list[Row], is_cached: bool) -> None:
        self.writer.add(task, rows, is_cached)
        values = {row.metric: math.nan if row.value is None else row.value for row in rows if row.of == "run"}
        self.schedule.result(task.run, Measured(values.get(self.plan.replications.metric, math.nan), values[DIGEST]))

    def _failure(self, run: Run, reason: str) -> Failure:
        point, replication = run
        seed = self.plan.seed + replication
        return {"point": point, "replication": replication, "seed": seed, "why": reason.splitlines()[0]}

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        self.interrupted = True  # only a flag, since an exception raised inside Polars would make Polars panic
