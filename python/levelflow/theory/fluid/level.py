"""Level: routers count flows over an interval and announce the level that fills the link (`theory.laws.level`).

      h <- max((C - sum of e below h) / (flows not below h), C / flows),  u = h or an upper bound of the solution
      b <- the smaller of the last two u; if that is near b, b moves a quarter of the way

Symbols are those of `theory.laws.level`. An interval is evaluated when the next interval ends. A sender lowers its rate
immediately. It requests increases, and raises its rate by the part that all routers grant. Requests that arrive in the
same step share the spare capacity. Routers immediately use the levels that a sender has received. Not modelled:
timeouts, pauses, and packets. Flows are therefore counted exactly, and all intervals have the length of the parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.fluid.law import SIGNALS, Feedback, Law, Load, Routers, Table, number
from levelflow.theory.fluid.topology import Flow, Parameters
from levelflow.theory.laws import level

#: Relative difference between two steps above which a level counts as changing.
SAME = 1e-9


class LevelRouters(Routers):
    """Routers that announce the level, and the capacity that they can grant to a request."""

    SIGNAL_COUNT = 2

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.target = parameters["gamma"] * capacity
        self.admissible = (self.target + capacity) / 2
        self.interval = parameters["interval"]
        self.level, self.spare = self.target.copy(), self.admissible.copy()
        self.bound = self.target.copy()
        self.sums = _Sums(self.target)
        #: Sums of the previous interval.
        self.last = _Sums(self.target)
        self.elapsed = np.zeros(capacity.size)
        #: Increases granted in this interval and in the previous interval.
        self.granted = np.zeros((2, capacity.size))
        self.other = np.zeros(capacity.size)
        #: Proposals of the last step, by crossing.
        self.before = np.zeros(0)

    def first(self) -> Floats:
        """Returns the signals of a link that has not counted any flow."""
        return np.array([self.level, self.spare])

    def advance(self, load: Load) -> Floats:
        """Adds one step to the sums, grants requests, and evaluates the intervals that end with the step."""
        assert isinstance(load.senders, Level)
        level_now, part = self.level, self._grant(load)
        present = (load.own > 0).astype(np.float64)
        seen = level.census(load.senders.elsewhere, self.sums.threshold, load.path.link, present)
        self.sums.add(seen, load.step, load.rate - load.sum(load.own), load.sum(load.proposed))
        self.elapsed += load.step
        self._close(self.elapsed > self.interval - load.step / 2)
        return np.array([level_now, part])

    def _grant(self, load: Load) -> Floats:
        """Grants requests, which are proposals that have increased. Returns the largest increase per request."""
        if not self.before.size:
            self.before = np.zeros_like(load.proposed)
        increase = np.maximum(load.proposed - self.before, 0.0)
        self.before = load.proposed.copy()
        requests = load.sum((increase > 0).astype(np.float64))
        part = self.spare / np.maximum(requests, 1.0)
        taken = load.sum(np.minimum(increase, part[load.path.link]))
        self.spare = self.spare - taken
        self.granted[0] += taken
        return part

    def _close(self, ends: Bools) -> None:
        seen, other, proposed = self.last.means()
        counted = self.last.time > 0
        decayed = np.maximum(other, self.other - (self.other - other) * level.DECAY)
        self.other = np.where(ends & counted, decayed, self.other)
        threshold, bound = level.update(np.maximum(self.target - self.other, 0.0), seen)
        self.level = np.where(ends & counted, level.smoothed(self.level, self.bound, bound), self.level)
        self.bound = np.where(ends & counted, bound, self.bound)
        spare = np.maximum(self.admissible - self.other - proposed - self.granted.sum(axis=0), 0.0)
        self.spare = np.where(ends, spare, self.spare)
        self.granted = np.where(ends, [np.zeros_like(spare), self.granted[0]], self.granted)
        self.last.take(self.sums, ends)
        self.sums.clear(ends, np.where(counted, threshold, self.target))
        self.elapsed = np.where(ends, 0.0, self.elapsed)


class _Sums:
    """Counts of links during an interval, integrated over time."""

    def __init__(self, threshold: Floats) -> None:
        self.threshold = threshold.copy()
        #: Integrals over time of: 1; flows; flows below the threshold; rates that other links allow these flows; other
        #: traffic; proposals.
        self.totals = np.zeros((6, threshold.size))
        self.largest, self.least = np.zeros(threshold.size), np.full(threshold.size, np.inf)

    @property
    def time(self) -> Floats:
        """Time covered by the sums, s."""
        return self.totals[0]

    def add(self, seen: level.Census, step: float, other: Floats, proposed: Floats) -> None:
        """Adds one step."""
        self.totals += step * np.array([np.ones_like(other), seen.flows, seen.few, seen.below, other, proposed])
        self.largest, self.least = np.maximum(self.largest, seen.largest), np.minimum(self.least, seen.least)

    def means(self) -> tuple[level.Census, Floats, Floats]:
        """Returns the mean census, and the means of other traffic and of proposals in bit/s."""
        flows, few, below, other, proposed = self.totals[1:] / np.maximum(self.time, 1e-300)
        return level.Census(flows, few, below, self.largest, self.least), other, proposed

    def take(self, other: _Sums, where: Bools) -> None:
        """Copies the values of `other` at some links."""
        self.threshold = np.where(where, other.threshold, self.threshold)
        self.totals = np.where(where, other.totals, self.totals)
        self.largest = np.where(where, other.largest, self.largest)
        self.least = np.where(where, other.least, self.least)

    def clear(self, where: Bools, threshold: Floats) -> None:
        """Resets the sums of some links."""
        fresh = _Sums(threshold)
        self.take(fresh, where)


class Level(Law):
    """Sender. State: rate, proposal, and time of the request in flight."""

    PARAMETERS: ClassVar[Parameters] = {"gamma": 0.95, "interval": 0.1}
    initial = number(40e3, "initial_rate")
    least = number(1e3, "min_rate")
    FEEDBACK = frozenset({SIGNALS})
    ROUTERS = LevelRouters
    PROPOSES = True

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.sent, self.wanted = self.initial.copy(), self.initial.copy()
        #: Time of the request in flight; infinite without a request.
        self.since = np.full(self.base.size, np.inf)
        #: Last stable level at each crossing, and minimum of the levels at the other crossings of the path.
        self.known = self.elsewhere = np.zeros(0)

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns zero lags; proposals are read when they arrive."""
        return np.zeros(self.base.size), (np.zeros(self.base.size),)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Lowers the rate immediately. Requests increases, and raises the rate by the granted part."""
        levels = self._levels(feedback)
        lowest = np.maximum(feedback.path.least(levels), self.least)
        spare = feedback.path.least(feedback.signals[1])
        knows = feedback.age > feedback.rtt
        answered = feedback.now >= self.since + feedback.rtt
        self.sent = np.where(answered, np.minimum(self.wanted, self.sent + spare), self.sent)
        self.wanted = np.where(answered, self.sent, self.wanted)
        self.since = np.where(answered, np.inf, self.since)
        self.wanted = np.where(knows, np.minimum(self.wanted, lowest), self.wanted)
        self.sent = np.minimum(self.sent, self.wanted)
        increase = np.minimum(lowest - self.sent, spare)
        asks = knows & np.isinf(self.since) & ~answered & (increase > SAME * self.sent)
        self.wanted = np.where(asks, self.sent + increase, self.wanted)
        self.since = np.where(asks, feedback.now, self.since)
        self.proposals = self.wanted
        return self.sent

    def _levels(self, feedback: Feedback) -> Floats:
        """Returns the levels that senders receive. Interpolated values are omitted, because no packet carries them."""
        now, path = feedback.signals[0], feedback.path
        if not self.known.size:
            self.known, self.before = now.copy(), now
        steady = np.abs(now - self.before) <= SAME * np.abs(now)
        self.known, self.before = np.where(steady & path.runs, now, self.known), now
        levels = np.where(path.runs, self.known, np.inf)
        knows = (feedback.age > feedback.rtt)[path.flow]
        others = level.elsewhere(levels, path.flow, path.starts)
        self.elsewhere = np.where(knows, others, self.sent[path.flow])
        return levels
