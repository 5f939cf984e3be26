"""RCP: routers offer the same rate to all flows.

    R' = R/(C d) (alpha (C - y) - beta q/d)                       Dukkipati, McKeown, eq 2 and 4

`R` is the rate that a router offers, `y` its load, and `q` its queue. `d` is the mean round trip of the arrivals,
including queueing. A sender immediately uses the smallest `R` of its path that it receives. The model has an interval
`T` of 0, and averages round trips without lag.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.fluid.law import SIGNALS, Feedback, Law, Load, Routers, Table
from levelflow.theory.fluid.topology import Parameters
from levelflow.theory.laws import rcp

#: Lower bound of the round trip without queueing, s.
SHORTEST = 1e-6
#: Longest time between two packets of a sender, s.
SLOWEST = 10.0


class RcpRouters(Routers):
    """Routers that announce the rate that they offer."""

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.alpha, self.beta = parameters["alpha"], parameters["beta"]
        self.largest = parameters.are("rtt", "max")
        self.floor = 8 * parameters["min_per_rtt"]
        self.offered = parameters["initial"] * capacity
        self.rtt = parameters["initial_rtt"]

    def first(self) -> Floats:
        """Returns the initial offers."""
        return self.offered[None, :]

    def advance(self, load: Load) -> Floats:
        """Updates the offers by the exponential of the integral of eq 4. Offers therefore stay above 0 for any step."""
        rtt = load.rtt[load.path.flow]
        own = load.sum(load.own)
        mean = np.divide(load.sum(load.own * rtt), own, out=self.rtt.copy(), where=own > 0)
        most = load.most(np.where(load.own > 0, rtt, 0.0))
        self.rtt = np.where(self.largest & (own > 0), most, mean)
        link = rcp.Link(self.capacity, 1.0, np.maximum(self.rtt - load.queue / self.capacity, SHORTEST))
        growth: Floats = rcp.rate_change(self.alpha, self.beta, 1.0, load.rate, load.queue, link)
        moved = self.offered * np.exp(load.step * growth)
        moved = np.clip(moved, np.minimum(self.floor / self.rtt, self.capacity), self.capacity)
        middle, self.offered = (self.offered + moved) / 2, moved
        return middle[None, :]


class Rcp(Law):
    """Sender that uses the smallest offer of its path."""

    PARAMETERS: ClassVar[Parameters] = {
        "alpha": 0.1,
        "beta": 1.0,
        "initial": 0.05,
        "initial_rtt": 0.1,
        "min_per_rtt": 10.0,
        "rtt": "mean",
    }
    ONLY: ClassVar[Parameters] = {"loss_aware": False}
    FEEDBACK = frozenset({SIGNALS})
    HANDSHAKE = True
    ROUTERS = RcpRouters

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the smallest offer received, at least one packet per `SLOWEST`."""
        return np.maximum(feedback.path.least(feedback.signals[0]), self.packet / SLOWEST)
