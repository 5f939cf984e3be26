"""XCP: routers grant throughput to flows and reclaim throughput.

    phi = alpha d (C - y) - beta q,   h = max(0, gamma y d - |phi|)          Katabi, Handley, Rohrs 2002, section 3.5

`y` is the load of a link, `q` its queue, and `N` its number of flows. The control interval `d` is the mean round trip.
In each interval, a router grants `h + phi+` to flows in equal parts, and reclaims `h + phi-` in proportion to their
rates. Per unit of time, a flow of rate `x` gains `(h + phi+)/(d^2 N) - (h + phi-)/(d^2 y) x` bit/s at each router. The
smallest gain of the path counts. A single router follows the fluid model of section 4 of the paper, `y' = (phi/d)/d`.
The queue is the persistent queue. The window of a flow changes per second by its gain times its round trip. Not
modelled: control intervals, and the state of pools between intervals.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.jumps import Jumps
from levelflow.theory.fluid.law import LOSSES, SIGNALS, Feedback, Load, Routers, Table
from levelflow.theory.fluid.topology import Parameters

#: Initial window, packets.
FIRST_WINDOW = 2.0
WINDOW = 2


class XcpRouters(Routers):
    """Routers that announce the gain of each flow, bit/s per s, and its loss per unit of rate, 1/s."""

    SIGNAL_COUNT = 2

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.alpha, self.beta, self.gamma = (parameters[name] for name in ("alpha", "beta", "gamma"))
        self.shortest, self.longest = parameters["shortest_interval"], parameters["longest_interval"]
        self.interval = parameters["initial_interval"]
        self.largest = parameters.are("rtt", "max")

    def first(self) -> Floats:
        """Returns the signals of an idle link: nothing granted and nothing reclaimed."""
        return np.zeros((2, self.capacity.size))

    def advance(self, load: Load) -> Floats:
        """Returns the parts of `phi` and `h` that are granted and reclaimed."""
        here = load.own > 0
        count = load.sum(here.astype(np.float64))
        rtt = np.where(here, np.minimum(load.rtt[load.path.flow], self.longest[load.path.link]), 0.0)
        mean = np.divide(load.sum(rtt), count, out=self.interval.copy(), where=count > 0)
        length = np.where(self.largest & (count > 0), load.most(rtt), mean)
        self.interval = length = np.clip(length, self.shortest, self.longest)
        phi = self.alpha * length * (self.capacity - load.rate) - self.beta * load.queue
        shuffled = np.maximum(self.gamma * load.rate * length - np.abs(phi), 0.0)
        given = (shuffled + np.maximum(phi, 0.0)) / length**2
        taken = (shuffled + np.maximum(-phi, 0.0)) / length**2
        own = load.sum(load.own)
        return np.array(
            [
                np.divide(given, count, out=np.zeros_like(given), where=count > 0),
                np.divide(taken, own, out=np.zeros_like(taken), where=own > 0),
            ]
        )


class Xcp(Jumps):
    """Sender with a window that follows the feedback. A loss halves the window."""

    PARAMETERS: ClassVar[Parameters] = {
        "alpha": 0.4,
        "beta": 0.226,
        "gamma": 0.1,
        "rtt": "mean",
        "initial_interval": 0.05,
        "shortest_interval": 0.001,
        "longest_interval": 1.0,
    }
    FEEDBACK = frozenset({SIGNALS, LOSSES})
    HANDSHAKE = True
    ROUTERS = XcpRouters

    def start(self) -> Floats:
        """Returns the initial window, in bits."""
        return np.array([np.zeros(self.base.size), np.full(self.base.size, -1.0), FIRST_WINDOW * self.packet])

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate, a window per round trip."""
        return np.maximum(state[WINDOW], self.packet) / feedback.rtt

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change by the smallest gain of the path, and the mean effect of losses."""
        slope = np.zeros_like(state)
        gain, part = feedback.signals
        rate = self.rate(state, feedback)
        slope[WINDOW] = feedback.path.least(gain - part * rate[feedback.path.flow]) * feedback.rtt
        return slope + self.jumps(state, feedback)

    def cut(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the state with half the window."""
        after = state.copy()
        after[WINDOW] = state[WINDOW] / 2
        return after

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Keeps the window at one packet or above."""
        state = super().settle(state, feedback)
        state[WINDOW] = np.maximum(state[WINDOW], self.packet)
        return state
