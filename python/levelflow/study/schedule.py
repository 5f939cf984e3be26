"""Order of the runs of a study, with retries, the stopping rule and failures.

A schedule uses no process, clock or file. Its caller executes the runs and reports their outcomes in any order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from levelflow.measure.intervals import interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from levelflow.study.plan import Replications


class Run(NamedTuple):
    """Run of a study: the number of its point and the number of its replication, both from 0."""

    point: int
    replication: int


class Measured(NamedTuple):
    """Outcome of a finished run.

    Attributes:
        value: Metric of the stopping rule; NaN if the run has no value.
        digest: Digest of all results. Runs with the same digest are equal.
    """

    value: float
    digest: float


class Failed(NamedTuple):
    """Outcome of a failed run; `may_retry` is True if the same run may succeed later."""

    reason: str
    may_retry: bool


@dataclass
class _Point:
    """State of the stopping rule at a point: number of replications, number of finished replications, outcomes."""

    count: int
    finished: int = 0
    measured: list[Measured] = field(default_factory=list)


class Schedule:
    """Runs of a study in the order of their execution.

    The minimum number of replications of every point is executed first. Retries and additional replications follow.
    The outcomes alone determine the runs; the order in which runs finish has no effect on them.

    Args:
        points: Number of points.
        rule: Number of replications per point.
        kept: Outcomes of runs that are already stored, and are not repeated.

    Attributes:
        finished: Number of finished or failed runs, including stored ones.
        total: Number of runs, without replications that the stopping rule may still add.
        in_flight: Number of runs that `next` returned and that have no outcome yet.
        failures: Reasons of failed runs.
    """

    def __init__(self, points: int, rule: Replications, kept: Mapping[Run, Measured]) -> None:
        self.finished, self.total, self.in_flight = 0, points * rule.least, 0
        self.failures: dict[Run, str] = {}
        self._rule, self._kept = rule, kept
        self._planned = (Run(point, replication) for point in range(points) for replication in range(rule.least))
        self._added: deque[Run] = deque()
        self._retried: set[Run] = set()
        self._points: dict[int, _Point] = {}

    @property
    def is_complete(self) -> bool:
        """True if all runs have finished or failed."""
        return self.finished == self.total

    def next(self) -> Run | None:
        """Returns the next run to execute; None if every remaining run is in flight."""
        while run := next(self._planned, None) or (self._added.popleft() if self._added else None):
            if run not in self._kept:
                self.in_flight += 1
                return run
            self._finish(run, self._kept[run])
        return None

    def result(self, run: Run, outcome: Measured | Failed) -> None:
        """Reports the outcome of a run. A failed run is repeated once if it may be retried."""
        self.in_flight -= 1
        if isinstance(outcome, Measured):
            self._finish(run, outcome)
        elif outcome.may_retry and run not in self._retried:
            self._retried.add(run)
            self._added.append(run)
        else:
            self.failures[run] = outcome.reason
            self._finish(run, None)

    def _finish(self, run: Run, measured: Measured | None) -> None:
        self.finished += 1
        if not self._rule.metric:
            return
        point = self._points.setdefault(run.point, _Point(self._rule.least))
        point.finished += 1
        point.measured += [measured] if measured else []
        if point.finished == point.count:
            further = additional(self._rule, point.count, point.measured)
            self._added += [Run(run.point, point.count + number) for number in range(further)]
            point.count += further
            self.total += further


def additional(rule: Replications, count: int, measured: list[Measured]) -> int:
    """Returns the number of replications that the stopping rule adds to the first `count` replications of a point.

    Equal runs count once in the confidence interval. No replication is added if all runs are equal: the scenario is
    deterministic, and other seeds give no information.
    """
    distinct = {digest: value for value, digest in measured}
    is_deterministic = len(measured) > 1 and len(distinct) == 1
    if is_deterministic or interval(list(distinct.values())).is_within(rule.width, rule.relative):
        return 0
    return min(max(1, count // 5), rule.most - count)
