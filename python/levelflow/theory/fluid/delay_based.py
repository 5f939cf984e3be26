"""Window laws that listen to delay: Vegas, FAST and TCP-LP.

    vegas   W' = (clip(alpha - w, 0, 1) - clip(w - beta, 0, 1))/RTT,   w = W (1 - base/RTT)   Low, Peterson, Wang 2002
    fast    W' = min(W, gamma (alpha - w))/RTT                                               Wei, Jin, Low, Hegde 2006

`w` is what a flow keeps in queues, packets, and `base` the shortest round trip that it has seen: a flow that starts
while others keep packets there takes their delay for a part of its path. Within a packet of its thresholds, Vegas
steps by what is missing, where the packet law steps by a whole one or not at all. Losses halve windows.
"""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import Heard, number, reached
from levelflow.theory.fluid.windows import SLOW, WINDOW, NewReno

#: Time of what has not happened, s before the start.
LONG_AGO = 1e9


class Vegas(NewReno):
    """Keeps `alpha` to `beta` packets in queues."""

    alpha = number(2.0)
    beta = number(4.0)
    gamma = number(1.0)

    def doubling(self) -> float:
        """Slow start doubles in every other round trip."""
        return float(np.log(2) / 2 * np.sqrt(2))

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns the step of a round trip per ACK."""
        waiting = self.waiting(state, heard)
        step = np.clip(self.alpha - waiting, 0.0, 1.0) - np.clip(waiting - self.beta, 0.0, 1.0)
        return step / state[WINDOW]

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Slow start ends where `gamma` packets wait, with what the pipe holds and one."""
        state = super().settle(state, heard)
        full = (state[SLOW] > 0) & (self.waiting(state, heard) > self.gamma) & (heard.acked > 0)
        pipe = heard.acked * self.shortest(state, heard) + 1
        state[WINDOW] = np.where(full, np.minimum(state[WINDOW], pipe), state[WINDOW])
        state[SLOW] = np.where(full, 0.0, state[SLOW])
        return state


class Fast(NewReno):
    """Keeps `alpha` packets in queues; left out: that round trips are averaged."""

    alpha = number(20.0)
    part = number(0.5, "gamma")

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns the step of a round trip per ACK."""
        window = state[WINDOW]
        return np.minimum(window, self.part * (self.alpha - self.waiting(state, heard))) / window

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Slow start ends where `alpha` packets wait."""
        state = super().settle(state, heard)
        full = (self.waiting(state, heard) >= self.alpha) & (heard.acked > 0)
        state[SLOW] = np.where(full, 0.0, state[SLOW])
        return state


class Lp(NewReno):
    """Reno that halves as soon as delays pass a threshold (Kuzmanovic, Knightly 2003); each indication at once.

    An indication within the inference phase after another takes the window to 1.
    """

    delta = number(0.15)
    phase = number(3.0, "inference")
    OWN = 4
    SMOOTH, LONGEST, LAST, INFERENCE = 5, 6, 7, 8
    #: Weight of an ACK in the average round trip.
    GAIN = 1 / 8

    def start(self) -> Floats:
        """Returns first windows, without an indication."""
        state = super().start()
        state[self.LAST] = -LONG_AGO
        return state

    def growth(self, state: Floats, heard: Heard) -> Floats:
        """Returns Reno's, but nothing in the inference phase."""
        return np.where(heard.now < state[self.INFERENCE], 0.0, super().growth(state, heard))

    def own_change(self, state: Floats, heard: Heard, slope: Floats) -> None:
        """The average over ACKs."""
        gain = reached(-np.log1p(-self.GAIN) * heard.acked, heard.step)
        slope[self.SMOOTH] = gain * (heard.waits - state[self.SMOOTH])

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Indications, from the end of slow start on, at most one in a round trip."""
        state = super().settle(state, heard)
        state[self.SMOOTH] = np.where(state[self.SMOOTH] > 0, state[self.SMOOTH], heard.waits)
        state[self.LONGEST] = np.maximum(state[self.LONGEST], heard.waits)
        shortest = self.shortest(state, heard)
        threshold = shortest + self.delta * (state[self.LONGEST] - shortest)
        above = np.minimum(state[self.SMOOTH], heard.waits) > threshold
        news = heard.now - state[self.LAST] >= heard.waits
        signalled = (state[SLOW] == 0) & above & news & (heard.acked > 0)
        again = heard.now < state[self.INFERENCE]
        lower = np.where(again, 1.0, np.maximum(state[WINDOW] / 2, 1.0))
        state[WINDOW] = np.where(signalled, lower, state[WINDOW])
        state[self.LAST] = np.where(signalled, heard.now, state[self.LAST])
        state[self.INFERENCE] = np.where(signalled, heard.now + self.phase * state[self.SMOOTH], state[self.INFERENCE])
        return state
