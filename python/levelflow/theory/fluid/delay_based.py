"""Window laws that react to delay: Vegas, FAST and TCP-LP.

    vegas   W' = (clip(alpha - w, 0, 1) - clip(w - beta, 0, 1))/RTT,   w = W (1 - base/RTT)   Low, Peterson, Wang 2002
    fast    W' = min(W, gamma (alpha - w))/RTT                                               Wei, Jin, Low, Hegde 2006

`w` is the number of packets that a flow keeps queued, and `base` is the shortest round trip so far. A flow that starts
while other flows keep packets queued counts the queueing delay of these packets as propagation. If `w` is less than a
packet beyond a threshold, this model of Vegas steps by the difference, whereas the packet law steps by a whole packet
or not at all. Losses halve windows.
"""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import Feedback, number, reached
from levelflow.theory.fluid.windows import SLOW, WINDOW, NewReno

#: Time of events that have not happened, in s before the start.
LONG_AGO = 1e9


class Vegas(NewReno):
    """Keeps `alpha` to `beta` packets queued."""

    alpha = number(2.0)
    beta = number(4.0)
    gamma = number(1.0)

    def doubling(self) -> float:
        """Returns the growth per ACKed packet in slow start. The window doubles in every second round trip."""
        return float(np.log(2) / 2 * np.sqrt(2))

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK: the step per round trip, divided by the ACKs of a round trip."""
        waiting = self.waiting(state, feedback)
        step = np.clip(self.alpha - waiting, 0.0, 1.0) - np.clip(waiting - self.beta, 0.0, 1.0)
        return step / state[WINDOW]

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Ends slow start when `gamma` packets are queued. The window is then at most the pipe plus one packet."""
        state = super().settle(state, feedback)
        full = (state[SLOW] > 0) & (self.waiting(state, feedback) > self.gamma) & (feedback.acked > 0)
        pipe = feedback.acked * self.shortest(state, feedback) + 1
        state[WINDOW] = np.where(full, np.minimum(state[WINDOW], pipe), state[WINDOW])
        state[SLOW] = np.where(full, 0.0, state[SLOW])
        return state


class Fast(NewReno):
    """Keeps `alpha` packets queued. Not modelled: the average over round trips."""

    alpha = number(20.0)
    part = number(0.5, "gamma")

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth per ACK: the step per round trip, divided by the ACKs of a round trip."""
        window = state[WINDOW]
        return np.minimum(window, self.part * (self.alpha - self.waiting(state, feedback))) / window

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Ends slow start when `alpha` packets are queued."""
        state = super().settle(state, feedback)
        full = (self.waiting(state, feedback) >= self.alpha) & (feedback.acked > 0)
        state[SLOW] = np.where(full, 0.0, state[SLOW])
        return state


class Lp(NewReno):
    """Reno with a cut in half at each congestion indication: a delay above a threshold (Kuzmanovic, Knightly 2003).

    A second indication within the inference phase reduces the window to 1.
    """

    delta = number(0.15)
    phase = number(3.0, "inference")
    OWN = 4
    SMOOTH, LONGEST, LAST, INFERENCE = 5, 6, 7, 8
    #: Weight of one ACK in the average round trip.
    GAIN = 1 / 8

    def start(self) -> Floats:
        """Returns the initial windows, before any indication."""
        state = super().start()
        state[self.LAST] = -LONG_AGO
        return state

    def growth(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the growth of Reno; 0 in the inference phase."""
        return np.where(feedback.now < state[self.INFERENCE], 0.0, super().growth(state, feedback))

    def own_change(self, state: Floats, feedback: Feedback, slope: Floats) -> None:
        """Updates the average round trip with each ACK."""
        gain = reached(-np.log1p(-self.GAIN) * feedback.acked, feedback.step)
        slope[self.SMOOTH] = gain * (feedback.waits - state[self.SMOOTH])

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Reacts to congestion indications after slow start, at most once per round trip."""
        state = super().settle(state, feedback)
        state[self.SMOOTH] = np.where(state[self.SMOOTH] > 0, state[self.SMOOTH], feedback.waits)
        state[self.LONGEST] = np.maximum(state[self.LONGEST], feedback.waits)
        shortest = self.shortest(state, feedback)
        threshold = shortest + self.delta * (state[self.LONGEST] - shortest)
        above = np.minimum(state[self.SMOOTH], feedback.waits) > threshold
        news = feedback.now - state[self.LAST] >= feedback.waits
        signalled = (state[SLOW] == 0) & above & news & (feedback.acked > 0)
        again = feedback.now < state[self.INFERENCE]
        lower = np.where(again, 1.0, np.maximum(state[WINDOW] / 2, 1.0))
        state[WINDOW] = np.where(signalled, lower, state[WINDOW])
        state[self.LAST] = np.where(signalled, feedback.now, state[self.LAST])
        state[self.INFERENCE] = np.where(
            signalled, feedback.now + self.phase * state[self.SMOOTH], state[self.INFERENCE]
        )
        return state
