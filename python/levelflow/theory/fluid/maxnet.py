"""MaxNet: links integrate their excess load into a price; flows follow the largest price of their path.

    p' = (y - mu C + Q/T0)/C,  p >= p_min                                    Andrew et al., eq 3 and fig 3
    x  = x_max exp(xi - alpha q/tau),  xi' = (alpha eta/tau^2) (T ln(x_max/x) - q)                   eq 6, 7

`y` is the load of a link, and `Q` its queue. `tau` is the round trip without queueing. `q` is the largest price of the
path, which the receiver averages over a round trip. A window `tau x` without pacing sends `x tau/RTT`. A flow starts at
the spare capacity of its path. Over two round trips, its rate moves linearly to the rate for its price (MaxStart). Not
modelled: rounding to packets and to header fields.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import SIGNALS, Feedback, Law, Load, Routers, Table, flag, number, reached
from levelflow.theory.fluid.topology import Parameters

LARGEST_PRICE = 16.0
#: Round trips in which a new flow reaches the rate for its price.
RAMP = 2.0
PRICE, START, XI = range(3)


class MaxNetRouters(Routers):
    """Routers that announce their price and their spare capacity, the start rate of new flows."""

    SIGNAL_COUNT = 2

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.mu, self.t0 = parameters["mu"], parameters["t0"]
        self.least = np.maximum(parameters["t"] * np.log(parameters["x_max"] / capacity), 0.0)
        self.price = self.least.copy()

    def first(self) -> Floats:
        """Returns the signals of an idle link."""
        return np.array([self.price, self._room()])

    def _room(self) -> Floats:
        return (self.mu + (1 - self.mu) / 4) * self.capacity

    def advance(self, load: Load) -> Floats:
        """Integrates the excess load into the price."""
        excess = (load.rate + load.queue / self.t0) / self.capacity - self.mu
        moved = np.clip(self.price + load.step * excess, self.least, LARGEST_PRICE)
        middle, self.price = (self.price + moved) / 2, moved
        return np.array([middle, np.maximum(self._room() - load.rate, 0.0)])


class MaxNet(Law):
    """Sender. State: averaged price, start rate, and `xi`."""

    PARAMETERS: ClassVar[Parameters] = {"t0": 0.13, "mu": 0.9}
    most = number(1e15, "x_max")
    t = number(0.4)
    alpha = number(0.66)
    eta = number(0.06)
    ramps = flag(True, "max_start")
    paced = flag(False)
    FEEDBACK = frozenset({SIGNALS})
    HANDSHAKE = True
    ROUTERS = MaxNetRouters

    def start(self) -> Floats:
        """Returns the initial state, for flows that have received no signal."""
        return np.zeros((3, self.base.size))

    def demand(self, state: Floats) -> Floats:
        """Returns the demand by eq 6a at the flow's price, bit/s. It uses logarithms, because both terms are large."""
        wanted: Floats = np.exp(
            np.minimum(np.log(self.most) + state[XI] - self.alpha * state[PRICE] / self.base, 709.0)
        )
        return np.minimum(wanted, self.most)

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the demand or, during MaxStart, the interpolated rate."""
        wanted = self.demand(state)
        part = np.where(self.ramps, np.clip((feedback.age - feedback.rtt) / (RAMP * self.base), 0.0, 1.0), 1.0)
        target = state[START] + part * (wanted - state[START])
        target = np.maximum(target, self.packet / self.base)
        return np.where(self.paced, target, target * self.base / feedback.rtt)

    def change(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the change of the averaged price, and of `xi` by eq 6b."""
        price, _ = feedback.signals
        slope = np.zeros_like(state)
        slope[PRICE] = (feedback.path.most(price) - state[PRICE]) * reached(1 / self.base, feedback.step)
        distance = self.t * (self.alpha * state[PRICE] / self.base - state[XI]) - state[PRICE]
        slope[XI] = distance / self.t * reached(self.alpha * self.eta * self.t / self.base**2, feedback.step)
        return slope

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Starts new flows at the spare capacity, with the `xi` for the first price."""
        new = feedback.age < self.base
        price, spare = feedback.signals
        first = feedback.path.most(price)
        state[PRICE] = np.where(new, first, state[PRICE])
        state[XI] = np.where(new, self.alpha * first / self.base - first / self.t, state[XI])
        state[START] = np.where(feedback.age < feedback.step, feedback.path.least(spare), state[START])
        return state
