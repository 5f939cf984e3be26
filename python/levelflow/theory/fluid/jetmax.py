"""JetMax: the delay-difference equations of Zhang 2008, chapter VI, with the choice of bottlenecks.

    x(n) = (1 - tau) x(n-D) + tau g(n - D_back)         g = (gamma C - u)/N,  price 1 - gamma C/y       (133-135, 150)

The bottleneck of a flow is the link of its path with the largest price. If the largest price is 0, the bottleneck is
the link with the smallest share (136). `D` is the time of one step. This time is the round trip, plus the interval over
which a router measures. If senders skip the interval that mixes old and new packets, this interval is added. Routers
count proposed rates. A flow raises its rate only if, one step later, no router of its path finds that proposals exceed
the capacity. A flow lowers its rate immediately. The equations hold at all times, as if several senders with
interleaved steps shared the flow. Not modelled: timeouts, packets of other sizes, and the single price in a header. A
flow here receives all prices of its path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.fluid.law import BEFORE, SIGNALS, Feedback, Law, Load, Routers, Table, flag, number
from levelflow.theory.fluid.topology import Flow, Parameters
from levelflow.theory.laws import emkc, jetmax

#: Consecutive intervals without a signal from the bottleneck after which a sender changes its bottleneck.
PATIENCE = 8
#: Largest price that packets cannot distinguish from 0. If proposals converge to the capacity, the price converges to 0
#: from above.
UNSEEN = 1e-3
#: Price of an idle link.
EMPTY = -1e6


class JetMaxRouters(Routers):
    """Routers that announce price, remaining capacity for responsive flows, and number of responsive flows.

    The sender computes the share. Routers do not, because the mean of a share over a time bin would be wrong if a flow
    arrives within this bin.
    """

    SIGNAL_COUNT = 3

    def __init__(self, parameters: Table, capacity: Floats) -> None:
        super().__init__(parameters, capacity)
        self.target = parameters["gamma"] * capacity

    def first(self) -> Floats:
        """Returns the signals of an empty link."""
        return np.array([np.full_like(self.target, EMPTY), self.target, np.zeros_like(self.target)])

    def advance(self, load: Load) -> Floats:
        """Returns the signals of a step, computed from the proposed rates and bottlenecks of arriving flows."""
        assert isinstance(load.senders, JetMax)
        responsive = load.senders.responsive(load.path.flow) & (load.own > 0)
        count = load.sum(responsive.astype(np.float64))
        proposed = load.rate + load.sum(load.proposed - load.own)
        others = proposed - load.sum(np.where(responsive, load.proposed, 0.0))
        price = np.maximum(emkc.price(proposed, self.target), EMPTY)
        return np.array([price, self.target - others, count])


def shares(feedback: Feedback) -> Floats:
    """Returns the fair share at each crossing (eq 133); infinite if a link has no responsive flow."""
    _, left, count = feedback.signals
    return jetmax.fair_share(left, np.zeros_like(left), np.where(count > 0, np.maximum(count, 1.0), 0.0))


class JetMax(Law):
    """Sender that steps towards the share of its bottleneck."""

    PARAMETERS: ClassVar[Parameters] = {"gamma": 1.0, "interval": 0.1, "settle": "per-adjustment"}
    tau = number(0.6)
    initial = number(40e3, "initial_rate")
    floor = number(1e3, "min_rate")
    zero = number(0.05, "eps_p")
    near = number(0.05, "eps_s")
    approves = number(0.0, "eps_a")
    asks = flag(True, "propose")
    ONLY: ClassVar[Parameters] = {"ignore": True}
    FEEDBACK = frozenset({BEFORE, SIGNALS})
    ROUTERS = JetMaxRouters
    PROPOSES = True

    def __init__(self, flows: Sequence[Flow], each_loss: bool) -> None:
        super().__init__(flows, each_loss)
        self.skips = self.parameters.are("settle", "per-adjustment")
        #: Per flow, the crossing at its bottleneck, or -1 before the first signal; time of this choice, s.
        self.bottleneck = np.full(self.base.size, -1)
        self.since = np.zeros(self.base.size)
        #: Per flow, the crossing that the signals suggest as bottleneck, and the time in s until which the flow may
        #: keep another one.
        self.suggested = np.full(self.base.size, -1)
        self.patience = np.zeros(self.base.size)

    def lags(self, intervals: Floats) -> tuple[Floats, Sequence[Floats]]:
        """Returns the age of signals (one interval) and the time of a step (a round trip plus one or two intervals)."""
        self.interval, self.lag = intervals, self.base + intervals * np.where(self.skips, 2, 1)
        return intervals, (self.lag,)

    def responsive(self, flow: Ints) -> Bools:
        """Returns True for each crossing that is the bottleneck of its flow in `flow`."""
        return np.arange(flow.size) == self.bottleneck[flow]

    def rate(self, state: Floats, feedback: Feedback) -> Floats:
        """Returns the rate by eq 134 from the approved rate.

        A flow keeps its rate until its bottleneck has signalled.
        """
        (sent,), proposed = feedback.before, feedback.proposed
        share = shares(feedback)[self.bottleneck]
        known = (self.bottleneck >= 0) & (feedback.now > self.since + self.lag) & np.isfinite(share)
        approved = feedback.path.most(feedback.signals[0]) <= self.approves + UNSEEN
        reference = np.where(approved | ~self.asks, proposed, sent)
        wanted = np.maximum(jetmax.sender(reference, share, self.tau), self.floor)
        # Flows without a known share keep their rate and their proposal.
        kept, asked = (np.where(values > 0, values, self.initial) for values in (sent, proposed))
        self.proposals = np.where(known, wanted, np.maximum(kept, asked))
        moved = np.where(self.asks, np.minimum(wanted, np.maximum(reference, self.floor)), wanted)
        return np.where(known, moved, kept)

    def settle(self, state: Floats, feedback: Feedback) -> Floats:
        """Changes to the bottleneck that the path suggests, under the conditions of the packet law.

        A flow that has just changed waits for the first signal of its new bottleneck, unless a link is overloaded.
        """
        price, share = feedback.signals[0], shares(feedback)
        best, weight = self._suggested(feedback, price, share)
        now, since = self.bottleneck, feedback.now - self.since
        self.patience = np.where(best == self.suggested, self.patience, feedback.now + PATIENCE * self.interval)
        self.suggested = best
        overloaded, own_zero = weight[best] > 0, weight[now] == 0
        rests = np.abs(feedback.before[0] - share[now]) <= self.near * share[now]
        signalled = since > self.lag
        ties = own_zero & ~overloaded
        wins = np.where(signalled, np.where(ties, rests, share[best] < share[now]), overloaded)
        wins = (wins & ~(ties & np.isinf(share[best]))) | (feedback.now > self.patience)
        moves = (feedback.age > self.base) & (best != now) & ((now < 0) | (wins & (since > self.base)))
        self.bottleneck = np.where(moves, best, now)
        self.since = np.where(moves, feedback.now, self.since)
        return state

    def _suggested(self, feedback: Feedback, price: Floats, share: Floats) -> tuple[Ints, Floats]:
        """Returns the crossing that limits each flow most (eq 136), and the prices, with small prices set to 0.

        Among links with price 0, a link without responsive flows is preferred if it alone refuses the proposals.
        """
        flow, starts = feedback.path.flow, feedback.path.starts
        weight = np.where(np.abs(price) <= self.zero[flow], 0.0, price)
        largest = np.where(feedback.path.runs, weight, -np.inf)
        among = largest == np.maximum.reduceat(largest, starts)[flow]
        refuses = feedback.path.runs & (price > UNSEEN)
        alone = refuses & np.isinf(share) & (np.add.reduceat(refuses.astype(np.int64), starts)[flow] == 1)
        smallest = np.where(among, np.where(alone, -np.inf, share), np.inf)
        chosen = among & (smallest == np.minimum.reduceat(smallest, starts)[flow])
        return np.minimum.reduceat(np.where(chosen, np.arange(flow.size), flow.size), starts), weight
