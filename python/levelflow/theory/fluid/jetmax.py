"""JetMax: the delay-difference equations of Zhang 2008, chapter VI, with the choice of bottlenecks.

    x(n) = (1 - tau) x(n-D) + tau g(n - D_back)         g = (gamma C - u)/N,  price 1 - gamma C/y       (133-135, 150)

A flow's bottleneck is the link with the largest price on its path or, among prices of zero, the smallest share (136).
`D` is the time of one step: the round trip, the interval over which a router measures, and, where senders skip the
interval that mixes old and new packets, that one. Left out: that increases are proposed first, so flows that join a
full link overload it for a step; and the header's single price, so a flow sees the prices of its whole path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from levelflow.theory.fluid.law import BEFORE, SIGNALS, Heard, Law, Load, Routers, Table
from levelflow.theory.laws import emkc, jetmax

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.theory.fluid.network import Flags, Floats, Flow, Ints, Parameters

#: So many intervals in a row convince a sender that hears nothing of its own bottleneck.
PATIENCE = 8
#: A link's price while nothing arrives.
EMPTY = -1e6


class JetMaxRouters(Routers):
    """Tell price, what is left for responsive flows, and how many of these there are.

    The share is left to who hears it: a mean over bins in which a flow arrives counts it in part.
    """

    SAYS = 3

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.target = parameters["gamma"] * capacity

    def first(self) -> Floats:
        """Returns what an empty link says."""
        return np.array([np.full_like(self.target, EMPTY), self.target, np.zeros_like(self.target)])

    def advance(self, load: Load) -> Floats:
        """Counts the flows that arrive and take this link for their bottleneck."""
        assert isinstance(load.senders, JetMax)
        responsive = load.senders.responsive(load.path.flow) & (load.own > 0)
        count = load.sum(responsive.astype(np.float64))
        others = load.rate - load.sum(np.where(responsive, load.own, 0.0))
        price = np.maximum(emkc.price(load.rate, self.target), EMPTY)
        return np.array([price, self.target - others, count])


def shares(heard: Heard) -> Floats:
    """Returns fair shares by crossing (eq 133); infinite where a link has no responsive flow."""
    _, left, count = heard.signals
    return jetmax.fair_share(left, np.zeros_like(left), np.where(count > 0, np.maximum(count, 1.0), 0.0))


class JetMax(Law):
    """The sender: steps towards the share of its bottleneck; state: which crossing that is, and since when."""

    PARAMETERS: ClassVar[Parameters] = {
        "gamma": 1.0,
        "tau": 0.6,
        "interval": 0.1,
        "initial_rate": 40e3,
        "min_rate": 1e3,
        "eps_p": 0.05,
        "eps_s": 0.05,
        "settle": "per-adjustment",
    }
    ONLY: ClassVar[Parameters] = {"ignore": True}
    HEARS = frozenset({BEFORE, SIGNALS})
    ROUTERS = JetMaxRouters

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        names = ("tau", "initial_rate", "min_rate", "eps_p", "eps_s")
        self.tau, self.initial, self.floor, self.zero, self.near = (self.parameters[name] for name in names)
        self.skips = self.parameters.are("settle", "per-adjustment")
        self.lag = self.base
        #: Crossing that limits each flow; none before it has heard of one. Since when it does, s.
        self.bottleneck = np.full(self.base.size, -1)
        self.since = np.zeros(self.base.size)
        #: What the path suggests instead, and until when a flow may doubt it, s.
        self.suggested = np.full(self.base.size, -1)
        self.patience = np.zeros(self.base.size)
        self.interval = self.parameters["interval"]

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns one interval; and a round trip and two, or one."""
        self.interval, self.lag = intervals, self.base + intervals * np.where(self.skips, 2, 1)
        return intervals, (self.lag,)

    def responsive(self, flow: Ints) -> Flags:
        """Tells for all crossings, given their flows, which are bottlenecks."""
        responsive: Flags = np.arange(flow.size) == self.bottleneck[flow]
        return responsive

    def rate(self, state: Floats, heard: Heard) -> Floats:
        """Eq 134, once the flow has a bottleneck and its own packets have come back."""
        del state
        share = shares(heard)[self.bottleneck]
        known = (self.bottleneck >= 0) & (heard.age > self.lag + heard.step) & np.isfinite(share)
        stepped = jetmax.sender(heard.before[0], share, self.tau)
        return np.where(known, np.maximum(stepped, self.floor), self.waiting(heard))

    def waiting(self, heard: Heard) -> Floats:
        """Returns the rate of flows without a share: the first, or the last."""
        return np.where(heard.before[0] > 0, heard.before[0], self.initial)

    def settle(self, state: Floats, heard: Heard) -> Floats:
        """Follows the router that a path suggests, for one of the reasons that the packet law has."""
        price, share = heard.signals[0], shares(heard)
        best, weight = self._suggested(heard, price, share)
        now, since = self.bottleneck, heard.now - self.since
        self.patience = np.where(best == self.suggested, self.patience, heard.now + PATIENCE * self.interval)
        self.suggested = best
        overloaded, own_zero = weight[best] > 0, weight[now] == 0
        rests = np.abs(heard.before[0] - share[now]) <= self.near * share[now]
        told = since > self.lag
        wins = np.where(told, np.where(own_zero & ~overloaded, rests, share[best] < share[now]), overloaded | ~own_zero)
        wins |= heard.now > self.patience
        moves = (heard.age > self.base) & (best != now) & ((now < 0) | (wins & (since > self.base)))
        self.bottleneck = np.where(moves, best, now)
        self.since = np.where(moves, heard.now, self.since)
        return state

    def _suggested(self, heard: Heard, price: Floats, share: Floats) -> tuple[Ints, Floats]:
        """Returns the crossing that limits each flow most (eq 136), and prices, small ones as 0."""
        flow, starts = heard.path.flow, heard.path.starts
        weight = np.where(np.abs(price) <= self.zero[flow], 0.0, price)
        largest = np.where(heard.path.runs, weight, -np.inf)
        among = largest == np.maximum.reduceat(largest, starts)[flow]
        smallest = np.where(among, share, np.inf)
        chosen = np.where(
            among & (smallest == np.minimum.reduceat(smallest, starts)[flow]), np.arange(flow.size), flow.size
        )
        return np.minimum.reduceat(chosen, starts), weight
