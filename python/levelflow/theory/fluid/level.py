"""Level: routers count flows over an interval and announce the level that fills the link (`theory.laws.level`).

      h <- max((C - sum of e below h) / (flows not below h), C / flows),  u = h or an upper bound of the solution
      b <- the smaller of the last two u; if that is near b, b moves a quarter of the way

Symbols are those of `theory.laws.level`. An interval is evaluated when the next interval ends. A sender lowers its rate
immediately. It raises its rate to its proposal after routers have evaluated an interval with the proposal, if no router
refuses. Routers immediately use the levels that a sender has received. Not modelled: timeouts, and packets. Flows are
therefore counted exactly.
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
#: Longest inter-packet time of slow senders (level/params.rs), if `interval` is shorter, s.
LONGEST_GAP_S = 0.5


class LevelRouters(Routers):
    """Routers that announce the level, 1 if proposals exceed the capacity, and the longest of three intervals."""

    SIGNAL_COUNT = 3

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.target = parameters["gamma"] * capacity
        self.shortest, self.packet_s = parameters["interval"], 8 * parameters["max_packet"] / capacity
        #: Lengths of this interval and of the two previous intervals.
        self.intervals = np.tile(level.control_interval(self.shortest, self.packet_s, np.zeros(capacity.size)), (3, 1))
        self.level, self.refuses = self.target.copy(), np.zeros(capacity.size)
        self.bound = self.target.copy()
        self.sums = _Sums(self.target)
        #: Sums of the previous interval.
        self.last = _Sums(self.target)
        self.elapsed = np.zeros(capacity.size)

    def first(self) -> Floats:
        """Returns the signals of a link that has not counted any flow."""
        return np.array([self.level, self.refuses, level.announced(self.intervals.max(axis=0))])

    def advance(self, load: Load) -> Floats:
        """Adds one step to the sums, and evaluates the intervals that end with it."""
        assert isinstance(load.senders, Level)
        signals = self.first()
        present = (load.own > 0).astype(np.float64)
        seen = level.census(load.senders.elsewhere, self.sums.threshold, load.path.link, present)
        self.sums.add(seen, load.step, load.rate - load.sum(load.own), load.sum(load.proposed))
        self.elapsed += load.step
        self._close(self.elapsed > self.intervals[0] - load.step / 2)
        return signals

    def _close(self, ends: Bools) -> None:
        seen, other, proposed = self.last.means()
        threshold, bound = level.update(np.maximum(self.target - other, 0.0), seen)
        counted = self.last.time > 0
        self.level = np.where(ends & counted, level.smoothed(self.level, self.bound, bound), self.level)
        self.bound = np.where(ends & counted, bound, self.bound)
        self.refuses = np.where(ends & counted, proposed + other > self.capacity, self.refuses)
        next_one = level.control_interval(self.shortest, self.packet_s, seen.flows)
        self.intervals = np.where(ends, [next_one, *self.intervals[:2]], self.intervals)
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
    """Sender. State: rate, proposal, and time of the proposal."""

    PARAMETERS: ClassVar[Parameters] = {"gamma": 0.95, "max_packet": 1500.0}
    initial = number(40e3, "initial_rate")
    least = number(1e3, "min_rate")
    interval = number(0.1)
    smallest = number(52.0, "min_packet")
    many = number(10.0, "packets_per_interval")
    FEEDBACK = frozenset({SIGNALS})
    ROUTERS = LevelRouters
    PROPOSES = True

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.sent, self.wanted = self.initial.copy(), self.initial.copy()
        self.since = np.full(self.base.size, np.nan)
        #: Last stable level at each crossing, and minimum of the levels at the other crossings of the path.
        self.known = self.elsewhere = np.zeros(0)

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns lags of 0, since senders use no past rates except proposals, which routers read when they arrive."""
        return np.zeros(self.base.size), (np.zeros(self.base.size),)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Lowers the rate immediately. Raises it when routers have evaluated the proposal and none has refused it."""
        levels = self._levels(feedback)
        longest = np.maximum(self.interval, feedback.path.most(feedback.signals[2]))
        gap = np.maximum(self.interval, np.minimum(longest, LONGEST_GAP_S))
        floor = np.where(self.many > 0, np.maximum(self.least, 8 * self.smallest / gap), self.least)
        lowest = np.maximum(feedback.path.least(levels), floor)
        self.since = np.where(np.isnan(self.since) & (feedback.age > 0), feedback.now, self.since)
        knows = feedback.age > feedback.rtt
        decided = knows & (feedback.now >= self.since + level.DECIDED * longest + feedback.rtt)
        accepted = decided & (feedback.path.most(feedback.signals[1]) < 0.5)
        self.sent = np.where(accepted, self.wanted, self.sent)
        rises = knows & (lowest > self.wanted) & (decided | (self.wanted <= self.sent))
        self.wanted = np.where(rises | (knows & (lowest < self.wanted)), lowest, self.wanted)
        self.since = np.where(rises, feedback.now, self.since)
        self.sent = np.minimum(self.sent, self.wanted)
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
        self.elsewhere = np.where(knows, level.elsewhere(levels, path.flow, path.starts), np.inf)
        return levels
