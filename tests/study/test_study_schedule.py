"""Schedule of a study: order, retries, stopping rule, stored runs and failures, without processes or files."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from levelflow.study.plan import Replications
from levelflow.study.schedule import Failed, Measured, Run, Schedule

POINTS = 6
RULE = Replications(3, 40, "throughput_bps", 0.1, relative=True)


def drawn(run):
    """Returns an outcome that depends only on the run; the spread of the values grows from point to point."""
    value = np.random.default_rng([run.point, run.replication]).normal(10, 1 + run.point / 2)
    return Measured(float(value), float(100 * run.point + run.replication))


def execute(schedule, outcome=drawn, room=1, seed=0, limit=math.inf):
    """Executes up to `limit` runs, `room` at a time, which finish in random order.

    Returns outcomes by run, in start order. Runs that are in flight at the limit have no outcome, as after an
    interruption.
    """
    draw = random.Random(seed)
    started, in_flight, finished = [], [], {}
    while not schedule.is_complete and len(finished) < limit:
        while len(in_flight) < room and (run := schedule.next()):
            started.append(run)
            in_flight.append(run)
        assert schedule.in_flight == len(in_flight)
        assert in_flight or schedule.is_complete, "the schedule stalls"
        if in_flight:
            run = in_flight.pop(draw.randrange(len(in_flight)))
            finished[run] = outcome(run)
            schedule.result(run, finished[run])
    return {run: finished.get(run) for run in started}


def replications(point):
    """Returns the number of replications of a point by the definition of the stopping rule, with SciPy's interval."""
    count = RULE.least
    while count < RULE.most:
        values = [drawn(Run(point, number)).value for number in range(count)]
        low, high = stats.t.interval(0.95, count - 1, np.mean(values), stats.sem(values))
        if (high - low) / 2 <= RULE.width * abs(np.mean(values)):
            break
        count = min(count + max(1, count // 5), RULE.most)
    return count


def runs_by_rule():
    return {Run(point, number) for point in range(POINTS) for number in range(replications(point))}


def test_runs_are_ordered_by_point_and_replication():
    schedule = Schedule(2, Replications(2, 2), {})
    runs = [schedule.next() for _ in range(5)]
    assert runs == [(0, 0), (0, 1), (1, 0), (1, 1), None]
    assert (schedule.in_flight, schedule.finished, schedule.total) == (4, 0, 4)
    for run in runs[:4]:
        assert not schedule.is_complete
        schedule.result(run, drawn(run))
    assert schedule.is_complete
    assert schedule.in_flight == 0


def test_additional_replications_follow_the_minimum_of_all_points():
    started = list(execute(Schedule(POINTS, RULE, {})))
    planned = [(point, number) for point in range(POINTS) for number in range(RULE.least)]
    assert started[: len(planned)] == planned
    assert {run.replication for run in started[len(planned) :]} == set(range(RULE.least, RULE.most))


@pytest.mark.parametrize("seed", range(5))
def test_the_stopping_rule_ignores_the_order_in_which_runs_finish(seed):
    counts = [replications(point) for point in range(POINTS)]
    assert {RULE.least, RULE.most} < set(counts)
    schedule = Schedule(POINTS, RULE, {})
    assert set(execute(schedule, room=1 + 3 * seed, seed=seed)) == runs_by_rule()
    assert schedule.finished == schedule.total == sum(counts)


def test_equal_runs_get_no_further_seeds():
    assert len(execute(Schedule(1, RULE, {}), lambda run: Measured(5.0, 1.0))) == RULE.least


def test_equal_runs_count_once_in_the_interval():
    values = {0.0: 9.9, 1.0: 10.1}  # two distinct runs: the half-width is 1.27, above 10 % of 10
    found = execute(Schedule(1, RULE, {}), lambda run: Measured(values[run.replication % 2], run.replication % 2))
    assert len(found) == RULE.most


def test_a_metric_without_values_needs_all_replications():
    found = execute(Schedule(1, RULE, {}), lambda run: Measured(math.nan, float(run.replication)))
    assert len(found) == RULE.most


@pytest.mark.parametrize("seed", range(20))
def test_an_interrupted_study_executes_the_runs_that_are_missing(seed):
    whole = runs_by_rule()
    limit = random.Random(seed).randrange(len(whole))
    begun = execute(Schedule(POINTS, RULE, {}), room=7, seed=seed, limit=limit)
    kept = {run: outcome for run, outcome in begun.items() if outcome}
    assert len(kept) == limit
    schedule = Schedule(POINTS, RULE, kept)
    others = execute(schedule, room=4, seed=seed)
    assert kept.keys().isdisjoint(others)
    assert kept.keys() | others.keys() == whole
    assert schedule.finished == schedule.total == len(whole)


def test_stored_runs_beyond_those_needed_have_no_effect_on_the_stopping_rule():
    needed = replications(0)
    kept = {Run(0, number): Measured(1e6 * number, -number) for number in range(needed, RULE.most)}
    assert len(execute(Schedule(1, RULE, kept))) == needed


def test_a_complete_study_executes_no_run():
    rule = Replications(4, 4)
    schedule = Schedule(5, rule, execute(Schedule(5, rule, {})))
    assert schedule.next() is None
    assert schedule.is_complete
    assert schedule.finished == 20


def test_failed_runs_are_repeated_once_after_the_waiting_runs():
    schedule = Schedule(1, Replications(3, 3), {})
    started = []
    while run := schedule.next():
        started.append(run.replication)
        schedule.result(run, Failed("killed", may_retry=True) if run.replication < 2 else drawn(run))
    assert started == [0, 1, 2, 0, 1]
    assert schedule.failures == {(0, 0): "killed", (0, 1): "killed"}
    assert schedule.is_complete


def test_a_repeated_run_may_succeed():
    schedule = Schedule(1, Replications(1, 1), {})
    schedule.result(schedule.next(), Failed("killed", may_retry=True))
    assert not schedule.is_complete
    schedule.result(schedule.next(), drawn(Run(0, 0)))
    assert schedule.is_complete
    assert schedule.failures == {}


def test_an_invalid_run_is_not_repeated():
    schedule = Schedule(1, Replications(2, 2), {})
    schedule.result(schedule.next(), Failed("no such law", may_retry=False))
    assert schedule.next() == (0, 1)
    assert schedule.next() is None
    assert schedule.failures == {(0, 0): "no such law"}


def test_failed_runs_count_as_replications_without_a_value():
    schedule = Schedule(1, RULE, {})
    execute(schedule, lambda run: Failed("no memory", may_retry=False))
    assert schedule.failures.keys() == {(0, number) for number in range(RULE.most)}
    assert schedule.finished == schedule.total == RULE.most


def test_a_single_value_does_not_satisfy_the_stopping_rule():
    schedule = Schedule(1, Replications(2, 3, RULE.metric, RULE.width), {})
    execute(schedule, lambda run: drawn(run) if run.replication else Failed("no memory", may_retry=False))
    assert schedule.total == 3
