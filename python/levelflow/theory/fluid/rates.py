"""Senders that set a rate: CBR, AIMD on rates, and TFRC.

    aimd   x' = alpha/RTT,  a loss leaves the fraction `keep`                   Zhang 2008, eq 19, 114
    tfrc   x = s / (R sqrt(2p/3) + 12 R sqrt(3p/8) p (1 + 32 p^2)),             RFC 5348, section 3.1
           at most twice the receive rate

In TFRC, `s` is the packet size, `R` is the round trip, and `1/p` is an average number of packets between two losses.
Each interval between losses has a weight of one sixth, like the newest of eight intervals in the packet law. The open
interval is included if it increases the average.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.jumps import CALM, Jumps
from levelflow.theory.fluid.law import ACKS, LOSSES, WAITS, Feedback, Law, number
from levelflow.theory.fluid.topology import Flow, Parameters

RATE = 2


class Cbr(Law):
    """Sender with a constant rate."""

    constant = number(1e6, "rate")

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate."""
        return self.constant


class Aimd(Jumps):
    """Rate that grows by a constant per round trip. After a loss, a fraction of the rate remains."""

    PARAMETERS: ClassVar[Parameters] = {"ecn": False}
    alpha = number(10e3)
    keep = number(0.5)
    initial = number(100e3, "initial_rate")
    floor = number(1e3, "min_rate")
    FEEDBACK = frozenset({LOSSES, WAITS})

    def start(self) -> Floats:
        """Returns the initial rates."""
        return np.array([np.zeros(self.base.size), np.full(self.base.size, -1.0), self.initial])

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state."""
        return state[RATE]

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth, and the mean effect of losses."""
        slope = np.zeros_like(state)
        slope[RATE] = self.alpha / feedback.waits
        return slope + self.jumps(state, feedback)

    def cut(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state after a loss."""
        after = state.copy()
        after[RATE] = np.maximum(self.keep * state[RATE], self.floor)
        return after


class Tfrc(Jumps):
    """TFRC. Additional state: slow-start rate, mean and open loss interval in packets, mean round trip in s."""

    PARAMETERS: ClassVar[Parameters] = {"ecn": False}
    FEEDBACK = frozenset({LOSSES, ACKS, WAITS})
    HANDSHAKE = True
    MEAN, OPEN, SMOOTH = 3, 4, 5
    #: Weight of a round trip in the mean round trip, and of a loss interval in the mean loss interval.
    RTT_GAIN, NEWEST = 0.1, 1 / 6
    #: Initial window, bytes (section 4.2); longest time between two packets, s.
    FIRST, SLOWEST = 4380.0, 64.0

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        size = self.packet / 8
        self.first = 8 * np.clip(self.FIRST, 2 * size, 4 * size) / self.base

    def start(self) -> Floats:
        """Returns the initial rate, one initial window per round trip."""
        state = np.zeros((6, self.base.size))
        state[CALM], state[RATE], state[self.SMOOTH] = -1.0, self.first, self.base
        return state

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate of the equation, at most twice the receive rate; slow start before the first loss."""
        interval = np.maximum(state[self.MEAN], state[self.MEAN] + self.NEWEST * (state[self.OPEN] - state[self.MEAN]))
        wanted = packets_per_rtt(1 / np.maximum(interval, 1.0)) * self.packet / state[self.SMOOTH]
        known = np.where(feedback.age > feedback.rtt, 2 * feedback.acked * self.packet, np.inf)
        rate = np.where(self.is_fresh(state), np.minimum(state[RATE], np.maximum(known, self.first)), wanted)
        return np.maximum(np.where(self.is_fresh(state), rate, np.minimum(rate, known)), self.packet / self.SLOWEST)

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the changes of the slow-start rate, the open interval and the mean round trip."""
        slope = np.zeros_like(state)
        slope[RATE] = np.log(2) * state[RATE] / feedback.waits
        slope[self.OPEN] = self.rate(state, feedback) / self.packet
        slope[self.SMOOTH] = self.RTT_GAIN * (feedback.waits - state[self.SMOOTH]) / feedback.waits
        return slope + self.jumps(state, feedback)

    def cut(self, state: Floats, feedback: Feedback) -> Floats:
        """Adds the open interval to the mean. At the first loss, the mean matches the current rate (section 6.3.1)."""
        after = state.copy()
        first = self.is_fresh(state)
        explained = 1 / loss_rate(feedback.acked * feedback.waits) if first.any() else state[self.MEAN]
        moved = state[self.MEAN] + self.NEWEST * (state[self.OPEN] - state[self.MEAN])
        after[self.MEAN] = np.where(first, explained, moved)
        after[self.OPEN] = 0.0
        return after

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Limits the slow-start rate to twice the receive rate."""
        state = super().settle(state, feedback)
        known = np.where(feedback.age > feedback.rtt, 2 * feedback.acked * self.packet, np.inf)
        state[RATE] = np.minimum(state[RATE], np.maximum(known, self.first))
        return state


def packets_per_rtt(p: Floats) -> Floats:
    """Returns the throughput of TCP in packets per round trip, for a loss event rate above 0 (RFC 5348, section 3.1).

    >>> packets_per_rtt(np.array([0.01])).round(2).tolist()
    [11.23]
    """
    timeouts = 12 * np.sqrt(3 * p / 8) * p * (1 + 32 * p**2)
    return 1 / (np.sqrt(2 * p / 3) + timeouts)


def loss_rate(packets: Floats) -> Floats:
    """Returns the loss event rate at which TCP sends a given number of packets per round trip, by bisection."""
    low, high = np.full_like(packets, 1e-8), np.ones_like(packets)
    for _ in range(40):
        middle = np.sqrt(low * high)
        fast = packets_per_rtt(middle) > packets
        low, high = np.where(fast, middle, low), np.where(fast, high, middle)
    return high
