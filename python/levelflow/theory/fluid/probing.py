"""Window laws that remember the last loss: BIC, CUBIC and H-TCP.

Each loss resets what they remember, so in the mean the time since the last loss is `s' = 1 - lambda s`, and the
window at which it came `W_max' = lambda (W - W_max)`, `lambda` reactions to losses per second (Vardoyan, Hollot,
Towsley 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import Heard, flag, number
from levelflow.theory.fluid.topology import Flow
from levelflow.theory.fluid.windows import NEVER, WINDOW, Windows


class Bic(Windows):
    """Binary search for the window of the last loss; steps beyond grow with the distance (Xu, Harfoush, Rhee 2004)."""

    low = number(14.0, "low_window")
    fastest = number(32.0, "s_max")
    slowest = number(0.01, "s_min")
    part = number(0.125, "cut")
    search = number(2.0)
    fast = flag(True, "fast_convergence")
    OWN = 1
    MAX = 5

    def start(self) -> Floats:
        """Returns first windows, of which no loss is known."""
        state = super().start()
        state[self.MAX] = NEVER
        return state

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns the step of a round trip per ACK; beyond the maximum steps of 1, 2, 4 are the distance and 1."""
        window, most = state[WINDOW], state[self.MAX]
        search = np.clip((most - window) / self.search, self.slowest, self.fastest)
        probe = np.clip(window - most + 1, 1.0, self.fastest)
        return np.where(window < self.low, 1.0, np.where(window < most, search, probe)) / window

    def kept(self, state: Floats, heard: Heard) -> Floats:
        """Returns 7/8; half of a low window."""
        return state[WINDOW] * np.where(state[WINDOW] < self.low, 0.5, 1 - self.part)

    def own_cut(self, state: Floats, heard: Heard, after: Floats) -> None:
        """The window becomes the maximum, or less where it did not reach the last one."""
        window = state[WINDOW]
        shrinks = self.fast & (window <= state[self.MAX] - 1) & (state[self.MAX] < NEVER)
        after[self.MAX] = np.where(shrinks, window * (1 - self.part / 2), window)


class Cubic(Windows):
    """The window follows `c (s - K)^3 + W_max`, or Reno's where that is larger (RFC 9438)."""

    beta = number(0.7)
    c = number(0.4)
    fast = flag(True, "fast_convergence")
    OWN = 4
    SINCE, MAX, K, RENO = 5, 6, 7, 8
    #: Largest growth in a round trip (section 4.2).
    FASTEST = 1.5

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.reno = 3 * (1 - self.beta) / (1 + self.beta)

    def start(self) -> Floats:
        """Returns first windows, around which the curve is flat."""
        state = super().start()
        state[self.MAX] = state[self.RENO] = state[WINDOW]
        return state

    def curve(self, state: Floats, later: Floats | float = 0.0) -> Floats:
        """Returns `W_cubic` now or later (eq 1)."""
        return self.c * (state[self.SINCE] + later - state[self.K]) ** 3 + state[self.MAX]

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns what leads to the curve in a round trip, or to where Reno would be."""
        window, reno = state[WINDOW], state[self.RENO]
        target = np.clip(self.curve(state, heard.waits), window, self.FASTEST * window)
        friendly = np.maximum(reno - window, 0.0) + self._reno(state)
        catches = self.curve(state) < reno
        return np.where(catches & (reno >= window), friendly, np.where(catches, 0.0, target - window)) / window

    def _reno(self, state: Floats) -> Floats:
        """Returns Reno's growth per round trip: 1 from the last window on (section 4.3)."""
        return np.where(state[self.RENO] < state[self.MAX], self.reno, 1.0)

    def own_change(self, state: Floats, heard: Heard, slope: Floats) -> None:
        """Time, and where Reno would be."""
        slope[self.SINCE] = 1.0
        slope[self.RENO] = self._reno(state) * heard.acked / state[WINDOW]

    def kept(self, state: Floats, heard: Heard) -> Floats:
        """Returns 0.7."""
        return state[WINDOW] * self.beta

    def own_cut(self, state: Floats, heard: Heard, after: Floats) -> None:
        """A new curve."""
        window = state[WINDOW]
        shrinks = self.fast & (window <= state[self.MAX] - 1)
        after[self.MAX] = np.where(shrinks, window * (1 + self.beta) / 2, window)
        after[self.K] = np.cbrt((after[self.MAX] - after[WINDOW]) / self.c)
        after[self.SINCE], after[self.RENO] = 0.0, after[WINDOW]


class Htcp(Windows):
    """Growth by the time since the last loss, cut by the share of the queue in the round trip.

    Source: draft-leith-tcp-htcp-06. Left out: that a change of throughput makes the cut a half.
    """

    delta = number(1.0, "delta_l")
    scales = flag(False, "rtt_scaling")
    OWN = 3
    SINCE, LONGEST, BETA = 5, 6, 7
    #: Smallest and largest part that a loss leaves; round trip that scaling refers to, s, and its limits.
    LEAST, MOST, REFERENCE, RATIO = 0.5, 0.8, 0.1, (0.1, 2.0)

    def start(self) -> Floats:
        """Returns first windows."""
        state = super().start()
        state[self.BETA] = self.LEAST
        return state

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns `2 (1 - beta) alpha` per round trip."""
        late = np.maximum(state[self.SINCE] - self.delta, 0.0)
        alpha = 1 + 10 * late + (late / 2) ** 2
        ratio = np.clip(self.shortest(state, heard) / self.REFERENCE, *self.RATIO)
        alpha = np.where(self.scales, np.maximum(alpha * ratio, 1.0), alpha)
        return 2 * (1 - state[self.BETA]) * alpha / state[WINDOW]

    def own_change(self, state: Floats, heard: Heard, slope: Floats) -> None:
        """Time."""
        slope[self.SINCE] = 1.0

    def _beta(self, state: Floats, heard: Heard) -> Floats:
        longest = np.maximum(state[self.LONGEST], heard.waits)
        return np.clip(self.shortest(state, heard) / longest, self.LEAST, self.MOST)

    def kept(self, state: Floats, heard: Heard) -> Floats:
        """Returns `RTT_min/RTT_max`, within limits."""
        return state[WINDOW] * self._beta(state, heard)

    def own_cut(self, state: Floats, heard: Heard, after: Floats) -> None:
        """Time and the longest round trip begin anew."""
        after[self.SINCE], after[self.LONGEST] = 0.0, heard.waits
        after[self.BETA] = self._beta(state, heard)

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Keeps the longest round trip; time begins with the first ACK."""
        state = super().settle(state, heard)
        state[self.LONGEST] = np.maximum(state[self.LONGEST], np.where(heard.acked > 0, heard.waits, 0.0))
        state[self.SINCE] = np.where(heard.age < self.base, 0.0, state[self.SINCE])
        return state
