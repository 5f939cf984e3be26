"""Window laws that remember the last loss: BIC, CUBIC and H-TCP.

Each loss resets the time `s` since the last loss to 0, and sets `W_max` to the window at that loss. On average, `s' = 1
- lambda s` and `W_max' = lambda (W - W_max)`, where `lambda` is the number of reactions to losses per second (Vardoyan,
Hollot, Towsley 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import Feedback, flag, number
from levelflow.theory.fluid.topology import Flow
from levelflow.theory.fluid.windows import NEVER, WINDOW, Windows


class Bic(Windows):
    """Binary search for the window of the last loss. Above it, steps grow with the excess (Xu, Harfoush, Rhee 2004)."""

    low = number(14.0, "low_window")
    fastest = number(32.0, "s_max")
    slowest = number(0.01, "s_min")
    part = number(0.125, "cut")
    search = number(2.0)
    fast = flag(True, "fast_convergence")
    OWN = 1
    MAX = 5

    def start(self) -> Floats:
        """Returns the initial windows. The window of the last loss is not yet known."""
        state = super().start()
        state[self.MAX] = NEVER
        return state

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK. Above the last maximum, the step per round trip is 1 plus the distance to it."""
        window, most = state[WINDOW], state[self.MAX]
        search = np.clip((most - window) / self.search, self.slowest, self.fastest)
        probe = np.clip(window - most + 1, 1.0, self.fastest)
        return np.where(window < self.low, 1.0, np.where(window < most, search, probe)) / window

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns 7/8 of the window, or half of it below the low window."""
        return state[WINDOW] * np.where(state[WINDOW] < self.low, 0.5, 1 - self.part)

    def own_cut(self, state: Floats, feedback: Feedback, after: Floats) -> None:
        """Sets the maximum to the window, or to a lower value if the window did not reach the last maximum."""
        window = state[WINDOW]
        shrinks = self.fast & (window <= state[self.MAX] - 1) & (state[self.MAX] < NEVER)
        after[self.MAX] = np.where(shrinks, window * (1 - self.part / 2), window)


class Cubic(Windows):
    """CUBIC: the window follows `c (s - K)^3 + W_max`, or the window of Reno if that is larger (RFC 9438)."""

    beta = number(0.7)
    c = number(0.4)
    fast = flag(True, "fast_convergence")
    OWN = 4
    SINCE, MAX, K, RENO = 5, 6, 7, 8
    #: Largest growth factor in a round trip (section 4.2).
    FASTEST = 1.5

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.reno = 3 * (1 - self.beta) / (1 + self.beta)

    def start(self) -> Floats:
        """Returns the initial windows. The curve is flat around each initial window."""
        state = super().start()
        state[self.MAX] = state[self.RENO] = state[WINDOW]
        return state

    def curve(self, state: Floats, later: Floats | float = 0.0) -> Floats:
        """Returns `W_cubic` at the current time or `later` seconds after it (eq 1)."""
        return self.c * (state[self.SINCE] + later - state[self.K]) ** 3 + state[self.MAX]

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK with which the window reaches the curve, or Reno's estimate, in a round trip."""
        window, reno = state[WINDOW], state[self.RENO]
        target = np.clip(self.curve(state, feedback.waits), window, self.FASTEST * window)
        friendly = np.maximum(reno - window, 0.0) + self._reno(state)
        catches = self.curve(state) < reno
        return np.where(catches & (reno >= window), friendly, np.where(catches, 0.0, target - window)) / window

    def _reno(self, state: Floats) -> Floats:
        """Returns the growth of Reno's estimate per round trip: 1 above the window of the last loss (section 4.3)."""
        return np.where(state[self.RENO] < state[self.MAX], self.reno, 1.0)

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Writes the changes per second of the time since the last loss and of Reno's estimate."""
        slope[self.SINCE] = 1.0
        slope[self.RENO] = self._reno(state) * feedback.acked / state[WINDOW]

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns 0.7 of the window."""
        return state[WINDOW] * self.beta

    def own_cut(self, state: Floats, feedback: Feedback, after: Floats) -> None:
        """Starts a new curve."""
        window = state[WINDOW]
        shrinks = self.fast & (window <= state[self.MAX] - 1)
        after[self.MAX] = np.where(shrinks, window * (1 + self.beta) / 2, window)
        after[self.K] = np.cbrt((after[self.MAX] - after[WINDOW]) / self.c)
        after[self.SINCE], after[self.RENO] = 0.0, after[WINDOW]


class Htcp(Windows):
    """H-TCP: growth depends on the time since the last loss. The cut depends on `RTT_min/RTT_max`.

    Source: draft-leith-tcp-htcp-06. Not modelled: the cut to a half after a change of throughput.
    """

    delta = number(1.0, "delta_l")
    scales = flag(False, "rtt_scaling")
    OWN = 3
    SINCE, LONGEST, BETA = 5, 6, 7
    #: Smallest and largest fraction of the window after a loss; reference round trip of the scaling, s; limits of the
    #: scaling.
    LEAST, MOST, REFERENCE, RATIO = 0.5, 0.8, 0.1, (0.1, 2.0)

    def start(self) -> Floats:
        """Returns the initial windows."""
        state = super().start()
        state[self.BETA] = self.LEAST
        return state

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK, which adds `2 (1 - beta) alpha` packets per round trip."""
        late = np.maximum(state[self.SINCE] - self.delta, 0.0)
        alpha = 1 + 10 * late + (late / 2) ** 2
        ratio = np.clip(self.shortest(state, feedback) / self.REFERENCE, *self.RATIO)
        alpha = np.where(self.scales, np.maximum(alpha * ratio, 1.0), alpha)
        return 2 * (1 - state[self.BETA]) * alpha / state[WINDOW]

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Advances the time since the last loss."""
        slope[self.SINCE] = 1.0

    def _beta(self, state: Floats, feedback: Feedback) -> Floats:
        longest = np.maximum(state[self.LONGEST], feedback.waits)
        return np.clip(self.shortest(state, feedback) / longest, self.LEAST, self.MOST)

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the window times `RTT_min/RTT_max`, within limits."""
        return state[WINDOW] * self._beta(state, feedback)

    def own_cut(self, state: Floats, feedback: Feedback, after: Floats) -> None:
        """Resets the time since the last loss, and the longest round trip."""
        after[self.SINCE], after[self.LONGEST] = 0.0, feedback.waits
        after[self.BETA] = self._beta(state, feedback)

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Tracks the longest round trip. The time since the last loss starts with the first ACK."""
        state = super().settle(state, feedback)
        state[self.LONGEST] = np.maximum(state[self.LONGEST], np.where(feedback.acked > 0, feedback.waits, 0.0))
        state[self.SINCE] = np.where(feedback.age < self.base, 0.0, state[self.SINCE])
        return state
