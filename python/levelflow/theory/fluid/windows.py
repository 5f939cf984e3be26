"""Window laws: their common base class, and laws whose growth and cut depend on the window alone.

      x = W/RTT(t),  W' = growth per ACK * ACKs/s, minus the cuts by losses    (Misra, Gong, Towsley 2000)

Slow start doubles the window in each round trip, even with delayed ACKs, until the first loss or the threshold. Not
modelled: timeouts, HyStart, the round trip after a loss without window growth, whole packets, and pacing. A window
never falls below 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.jumps import Jumps
from levelflow.theory.fluid.law import ACKS, LOSSES, WAITS, Feedback, flag, number
from levelflow.theory.fluid.topology import Flow, Parameters

#: State components after those of `Jumps`: window in packets; 1 in slow start; shortest round trip so far, s.
WINDOW, SLOW, SHORTEST, OWN = 2, 3, 4, 5
#: Growth per acknowledged packet in slow start. ACKs are for packets of the previous round trip. The rate was then half
#: of the current rate, so a factor of 2 compensates for this.
DOUBLING = 2 * np.log(2)
NEVER = 1e9


class Windows(Jumps):
    """A law with a congestion window."""

    PARAMETERS: ClassVar[Parameters] = {"ecn": False, "delayed_ack": True}
    first = number(10.0, "initial_window")
    threshold = number(NEVER, "initial_ssthresh")
    starts_slowly = flag(True, "slow_start")
    limit = number(NEVER, "window_limit")
    FEEDBACK = frozenset({LOSSES, ACKS, WAITS})
    HANDSHAKE = True
    #: Number of state components that a law adds.
    OWN: ClassVar[int] = 0

    def start(self) -> Floats:
        """Returns the initial windows."""
        state = np.zeros((OWN + self.OWN, self.base.size))
        state[1] = -1.0
        state[WINDOW] = np.minimum(self.first, self.limit)
        state[SLOW] = self.starts_slowly
        state[SHORTEST] = np.inf
        return state

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate, a window per round trip."""
        return np.minimum(np.maximum(state[WINDOW], 1.0), self.limit) * self.packet / feedback.rtt

    @abstractmethod
    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth of the window per ACK after slow start."""

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Writes the change per second of each additional component of the law, without losses."""

    @abstractmethod
    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the window after a loss."""

    def own_cut(self, state: Floats, feedback: Feedback, after: Floats) -> None:
        """Writes the additional components of the law after a loss."""

    def doubling(self) -> float:
        """Returns the growth per acknowledged packet in slow start."""
        return DOUBLING

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change of the state: growth by ACKs, and the mean effect of losses."""
        slope = np.zeros_like(state)
        slow, calm = state[SLOW] > 0, feedback.now < state[1]
        growth = np.where(slow, self.doubling(), self.growth(state, feedback))
        slope[WINDOW] = np.where(calm, 0.0, growth * feedback.acked)
        self.own_change(state, feedback, slope)
        return slope + self.jumps(state, feedback)

    def cut(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state after a loss, which also ends slow start."""
        after = state.copy()
        after[WINDOW] = np.minimum(np.maximum(self.kept(state, feedback), 2.0), state[WINDOW])
        after[SLOW] = 0.0
        self.own_cut(state, feedback, after)
        return after

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Applies losses, the shortest round trip, the slow-start threshold, and limits."""
        state = super().settle(state, feedback)
        state[SHORTEST] = np.where(feedback.acked > 0, np.minimum(state[SHORTEST], feedback.waits), state[SHORTEST])
        state[SLOW] = np.where(state[WINDOW] >= self.threshold, 0.0, state[SLOW])
        state[WINDOW] = np.minimum(np.maximum(state[WINDOW], 1.0), self.limit)
        return state

    def shortest(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the shortest round trip so far of each flow, s."""
        return np.where(np.isfinite(state[SHORTEST]), state[SHORTEST], feedback.waits)

    def waiting(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns a flow's estimate of the number of its queued packets."""
        return state[WINDOW] * (1 - self.shortest(state, feedback) / feedback.waits)


class NewReno(Windows):
    """`W' = acks/W - W/2 (1 - e^-m)/RTT`."""

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK, which adds 1 packet per round trip."""
        return 1 / state[WINDOW]

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns half the window."""
        return state[WINDOW] / 2


class Reno(NewReno):
    """NewReno that can react twice in a round trip."""

    def reactions(self, signalled: Floats, rtt: Floats) -> Floats:
        """Returns the reactions per second. Only the first two losses of a round trip count."""
        mean = signalled * rtt
        return (2 - (2 + mean) * np.exp(-mean)) / rtt


class Scalable(NewReno):
    """`W' = 0.01 acks - W/8 (1 - e^-m)/RTT` (Kelly 2003)."""

    step = number(0.01)
    part = number(0.125, "cut")
    low = number(16.0, "low_window")
    floor = flag(False, "reno_floor")

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns a constant growth per ACK above the low window."""
        reno = super().growth(state, feedback)
        step = np.where(self.floor, np.maximum(self.step, reno), self.step)
        return np.where(state[WINDOW] < self.low, reno, step)

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns a constant fraction of the window above the low window."""
        return state[WINDOW] * np.where(state[WINDOW] < self.low, 0.5, 1 - self.part)


class HighSpeed(NewReno):
    """Reno whose growth and cut depend on the window (RFC 3649, section 5)."""

    low = number(38.0, "low_window")
    high = number(83000.0, "high_window")
    low_p = number(1e-3)
    high_p = number(1e-7)
    least = number(0.1, "high_decrease")

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.power = np.log(self.high_p / self.low_p) / np.log(self.high / self.low)

    def part(self, window: Floats) -> Floats:
        """Returns the fraction of the window that a loss removes."""
        along = np.log(np.clip(window, self.low, self.high) / self.low) / np.log(self.high / self.low)
        return 0.5 + (self.least - 0.5) * along

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK for which the mean window is `0.12/p^0.835`."""
        window = state[WINDOW]
        part = self.part(window)
        loss = self.low_p * (window / self.low) ** self.power
        return np.where(window <= self.low, 1.0, np.maximum(window**2 * loss * 2 * part / (2 - part), 1.0)) / window

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the window after a loss."""
        return state[WINDOW] * (1 - self.part(state[WINDOW]))


class Westwood(NewReno):
    """Reno with a cut to `B RTT_min`. `B` averages the ACK rate: `B' = (acks - B)/8RTT` (Grieco, Mascolo 2004)."""

    OWN = 1
    BANDWIDTH = 5
    #: Weight of a sample; there is one sample per round trip.
    GAIN = 1 / 8

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Updates the filter of the ACK rate."""
        gain = -np.log1p(-self.GAIN) / feedback.waits
        slope[self.BANDWIDTH] = gain * (feedback.acked - state[self.BANDWIDTH])

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the estimated bandwidth-delay product; half the window before the first estimate."""
        bandwidth = state[self.BANDWIDTH]
        return np.where(bandwidth > 0, bandwidth * self.shortest(state, feedback), state[WINDOW] / 2)

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Uses the first sample as the first estimate."""
        state = super().settle(state, feedback)
        first = (feedback.acked > 0) & (feedback.age < 2 * feedback.rtt)
        state[self.BANDWIDTH] = np.where(first, feedback.acked, state[self.BANDWIDTH])
        return state


class Dctcp(NewReno):
    """Reno with a cut by the factor `1 - alpha/2`.

    `alpha` averages the fraction `F` of marked packets: `alpha' = g (F - alpha)/RTT` (Alizadeh, Javanmard, Prabhakar
    2011).
    """

    PARAMETERS: ClassVar[Parameters] = {"ecn": True}
    gain = number(0.0625)
    OWN = 1
    ALPHA = 5

    def start(self) -> Floats:
        """Returns the initial windows, with `alpha` 1."""
        state = super().start()
        state[self.ALPHA] = 1.0
        return state

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Updates the average fraction of marks."""
        share = np.divide(feedback.marked, feedback.acked, out=np.zeros_like(feedback.marked), where=feedback.acked > 0)
        slope[self.ALPHA] = self.gain * (np.minimum(share, 1.0) - state[self.ALPHA]) / feedback.waits

    def kept(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the window times `1 - alpha/2` for marks and times 1/2 for losses, averaged by their rates."""
        signalled = self.signalled(feedback)
        marks = np.divide(feedback.marked, signalled, out=np.zeros_like(signalled), where=signalled > 0)
        return state[WINDOW] * (1 - (marks * state[self.ALPHA] + 1 - marks) / 2)
