"""MaxNet's equations of motion in a network with delays: prices, queues and the states of sources.

A flow hears the price of a link, and its rate arrives there, each after its part of the round-trip time. It has a
window, so while packets wait it sends `x tau/(tau + wait)`. What is left out: rates arrive at each link as they were
sent, whatever the links before did to them, and waits do not delay prices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.networks.routes import Routes, read_capacities, read_crossings
from levelflow.theory.stability.equations import Past, integrate
from levelflow.theory.validate import explained, positive, read_each, read_number, whole

#: A flow that opens with MaxStart reaches the rate of the price in so many round-trip times (section IV-B).
RAMP = 2.0


@dataclass(frozen=True)
class Network:
    """Flows over links.

    Attributes:
        routes: per flow, the indices of the links that it crosses.
        capacities: per link, bit/s.
        delays: round-trip time of each flow, s.
        there: per flow, the part of it from the sender to each link of the route, s; 0 by default, so that all the
            delay lies on the way back.

    Raises:
        CapacityError: if a capacity is not a finite number above 0.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a delay is not a finite number above 0, or a part of it negative or longer than it.
    """

    routes: Routes
    capacities: ArrayLike
    delays: ArrayLike
    there: Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        capacity = read_capacities(self.capacities)
        positive(capacity=capacity)
        flow, _, _ = read_crossings(self.routes, capacity.size)
        delay = read_each("delay", self.delays, len(self.routes))
        there = self.ways
        if there.size != flow.size:
            raise ParameterError(f"{there.size} ways there for {flow.size} crossings; needs one each")
        bad = np.flatnonzero(~((there >= 0) & (there <= delay[flow])))
        if bad.size:
            raise ParameterError(
                f"flow {flow[bad[0]]}: a way there of {there[bad[0]]} s is not allowed; needs 0 to the delay"
            )

    @property
    def ways(self) -> Floats:
        """Per crossing, the time from the sender to the link, s."""
        if self.there is None:
            return np.zeros(sum(len(route) for route in self.routes))
        return np.array([way for ways in self.there for way in ways], dtype=np.float64)


class Start(NamedTuple):
    """How a run begins.

    Attributes:
        rates: of flows that are there, bit/s; by default what they demand at the prices of their paths.
        prices: of links, s; their floors by default.
        since: when each flow sends its first data, s; until then it only listens. 0 by default.
        ramp: whether flows that come later open with MaxStart: at what is spare on their path, and along a line from
            there to what they demand. Otherwise they send what they demand at once.
    """

    rates: ArrayLike | None = None
    prices: ArrayLike | None = None
    since: ArrayLike | None = None
    ramp: bool = False


class Run(NamedTuple):
    """What happened; the first axis is time.

    Attributes:
        times: s.
        rates: what flows send, bit/s.
        prices: of links, s.
        queues: bits.
        states: `xi` of flows.
    """

    times: Floats
    rates: Floats
    prices: Floats
    queues: Floats
    states: Floats


@explained
def run(
    network: Network,
    duration: float,
    *,
    step: float,
    law: maxnet.Parameters = maxnet.PAPER,
    start: Start = Start(),  # noqa: B008
    cross: Callable[[float], ArrayLike] | None = None,
    every: int = 1,
) -> Run:
    """Follows MaxNet through a network.

    Args:
        network: flows and links.
        duration: s.
        step: s; a small part of the shortest delay.
        law: the parameters.
        start: how it begins.
        cross: unresponsive load of links, bit/s, by time in s.
        every: how many steps there are between two that are recorded.

    Raises:
        ParameterError: if there is not one number for each flow or link, or a number is not allowed.

    >>> two = run(Network([[0], [0]], [10e6], [0.05, 0.1]), 20.0, step=0.01)
    >>> (two.rates[-1] / 1e6).round(2).tolist()
    [4.5, 4.5]
    """
    whole(1, every=every)
    motion = _Motion(network, law, start, cross, read_number("step", step))
    read_number("duration", duration, closed=True)
    links, flows = motion.capacity.size, motion.delay.size
    low = np.concatenate([maxnet.floor(motion.capacity, law), np.zeros(links), np.full(flows, -np.inf)])
    motion.record(duration, every)
    went = integrate(motion.change, motion.first, duration, step=step, bounds=(low, np.inf), every=every)
    prices, queues, states = np.split(went.states, [links, 2 * links], axis=1)
    return Run(went.times, motion.rates, prices, queues, states)


class _Motion:
    """The right side of the equations, with what is on its way between flows and links, by crossing."""

    def __init__(
        self,
        network: Network,
        law: maxnet.Parameters,
        start: Start,
        cross: Callable[[float], ArrayLike] | None,
        step: float,
    ) -> None:
        self.law, self.cross, self.step, self.ramp = law, cross, step, start.ramp
        self.capacity = read_capacities(network.capacities)
        links, flows = self.capacity.size, len(network.routes)
        self.flow, self.link, starts = read_crossings(network.routes, links)
        self.starts = starts[:-1]
        self.delay = read_each("delay", network.delays, flows)
        self.since = read_each("start", 0.0 if start.since is None else start.since, flows, closed=True)
        prices = maxnet.floor(self.capacity, law)
        if start.prices is not None:
            prices = np.maximum(read_each("price", start.prices, links, -np.inf), prices)
        heard = np.maximum.reduceat(prices[self.link], self.starts)
        rates = maxnet.demand(heard, law) if start.rates is None else read_each("rate", start.rates, flows)
        # (6a) solved for xi.
        states = np.log(rates / law.x_max) + law.alpha * heard / self.delay
        states = np.where(self.since > 0, maxnet.source_at_rest(heard, self.delay, law), states)
        self.first = np.concatenate([prices, np.zeros(links), states])
        sent = np.where(self.since > 0, 0.0, rates)
        longest = float(self.delay.max())
        self.signalled = Past(prices[self.link], step, longest)
        self.sent = Past(sent[self.flow], step, longest)
        there = network.ways
        self.there, self.back = self.sent.steps(there), self.signalled.steps(self.delay[self.flow] - there)
        self.latest = float(self.since.max())
        self.load = np.bincount(self.link, weights=sent[self.flow], minlength=links)
        self.spare = np.full(flows, np.nan)
        self.time = 0.0

    def record(self, duration: float, every: int) -> None:
        """Makes room for the rates at the times that are recorded."""
        self.every = every
        self.rates = np.empty((round(duration / self.step) // max(every, 1) + 1, self.delay.size))

    def change(self, t: float, state: Floats, _past: Past) -> Floats:
        """Returns the derivatives of prices, queues and states; times come in order, each of them twice."""
        links = self.capacity.size
        prices, queues, states = state[:links], state[links : 2 * links], state[2 * links :]
        later = t > self.time + self.step / 2
        _next(self.signalled, prices[self.link], later)
        heard = np.maximum.reduceat(self.signalled(self.back), self.starts)
        wait = np.add.reduceat((queues / self.capacity)[self.link], self.starts)
        rates = self._opened(t, maxnet.rate(states, heard, self.delay, self.law)) * self.delay / (self.delay + wait)
        _next(self.sent, rates[self.flow], later)
        self.time = t
        self._keep(t, rates)
        load = np.bincount(self.link, weights=self.sent(self.there), minlength=links)
        self.load = load if self.cross is None else load + np.asarray(self.cross(t))
        moved = maxnet.source_change(states, heard, self.delay, self.law)
        if t < self.latest:
            # Who has not come yet is on the demand curve of what it hears.
            follows = (maxnet.source_at_rest(heard, self.delay, self.law) - states) / (2 * self.step)
            moved = np.where(t < self.since, follows, moved)
        return np.concatenate(
            [
                maxnet.price_change(self.load, queues, self.capacity, self.law),
                maxnet.queue_change(self.load, self.capacity),
                moved,
            ]
        )

    def _opened(self, t: float, wanted: Floats) -> Floats:
        """Returns the rates of flows that have come, on the ramp of MaxStart for a while after."""
        here = t >= self.since
        if not self.ramp or (t >= self.since + RAMP * self.delay).all():
            return np.where(here, wanted, 0.0) if t < self.latest else wanted
        new = here & np.isnan(self.spare) & (self.since > 0)
        if new.any():
            left = (self.law.mu + (1 - self.law.mu) / 4) * self.capacity - self.load
            least = np.maximum(np.minimum.reduceat(left[self.link], self.starts), 0.0)
            self.spare = np.where(new, least, self.spare)
        risen = np.clip((t - self.since) / (RAMP * self.delay), 0.0, 1.0)
        first = np.where(np.isnan(self.spare), wanted, np.minimum(self.spare, wanted))
        return np.where(here, first + risen * (wanted - first), 0.0)

    def _keep(self, t: float, rates: Floats) -> None:
        number = round(t / self.step)
        if number % self.every == 0 and number // self.every < len(self.rates):
            self.rates[number // self.every] = rates


def _next(past: Past, values: Floats, later: bool) -> None:
    if later:
        past.advance(values)
    else:
        past.replace(values)
