"""Fluid model of MaxNet in a network with delays: prices, queues and states of sources.

The rate of a flow arrives at a link after the forward delay, and the price of the link arrives at the flow after the
backward delay. Flows have windows: with a queueing delay of `wait`, they send at `x tau/(tau + wait)`. The model
ignores that a link changes the rates that arrive at later links. It also ignores the queueing delay of prices.
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

#: Duration of MaxStart's ramp from the initial rate to the demand at the price, in round-trip times (section IV-B).
RAMP = 2.0


@dataclass(frozen=True)
class Network:
    """Flows over links.

    Attributes:
        routes: Indices of the links of each flow.
        capacities: Capacity of each link, bit/s.
        delays: Round-trip time of each flow, s.
        there: Delay from the sender of each flow to each link of its route, s. The default 0 puts the whole delay on
            the return path.

    Raises:
        CapacityError: If a capacity is not a finite number above 0.
        RouteError: If a flow crosses no link or an unknown one.
        ParameterError: If a round-trip time is not a finite number above 0, or a delay to a link is negative or longer
            than the round-trip time.
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
        """Delay from the sender to the link, s, with one element per pair of a flow and a link of its route."""
        if self.there is None:
            return np.zeros(sum(len(route) for route in self.routes))
        return np.array([way for ways in self.there for way in ways], dtype=np.float64)


class Start(NamedTuple):
    """Initial state of a run.

    Attributes:
        rates: Rates of existing flows, bit/s. By default the demand at the prices of their paths.
        prices: Prices of links, s. By default the lowest prices.
        since: Start time of each flow, s; 0 by default. Before the start, a flow sends nothing, and its state follows
            the price.
        ramp: True if flows that start after time 0 use MaxStart. Such a flow starts at the spare capacity of its path.
            Its rate then grows linearly to its demand. False if such flows start at their demand.
    """

    rates: ArrayLike | None = None
    prices: ArrayLike | None = None
    since: ArrayLike | None = None
    ramp: bool = False


class Run(NamedTuple):
    """Trajectory of a run. The first axis is time.

    Attributes:
        times: Times, s.
        rates: Sending rates of flows, bit/s.
        prices: Prices of links, s.
        queues: Backlogs of links, bits.
        states: States `xi` of flows.
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
    """Integrates MaxNet's equations in a network.

    Args:
        network: Flows and links.
        duration: Duration, s.
        step: Integration step, a small fraction of the shortest delay, s.
        law: Parameters.
        start: Initial state.
        cross: Unresponsive load of links in bit/s, as a function of time in s.
        every: Number of integration steps per recorded step.

    Raises:
        ParameterError: If the length of an array is wrong, or a number is not allowed.

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
    """Right-hand side of the equations. It stores the past rates and prices that are still in flight."""

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
        feedback = np.maximum.reduceat(prices[self.link], self.starts)
        rates = maxnet.demand(feedback, law) if start.rates is None else read_each("rate", start.rates, flows)
        # Equation (6a), solved for `xi`.
        states = np.log(rates / law.x_max) + law.alpha * feedback / self.delay
        states = np.where(self.since > 0, maxnet.source_at_rest(feedback, self.delay, law), states)
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
        """Allocates the array of recorded rates."""
        self.every = every
        self.rates = np.empty((round(duration / self.step) // max(every, 1) + 1, self.delay.size))

    def change(self, t: float, state: Floats, _past: Past) -> Floats:
        """Returns the derivatives of prices, queues and states. Calls are in order of time, with two calls for each
        time.
        """
        links = self.capacity.size
        prices, queues, states = state[:links], state[links : 2 * links], state[2 * links :]
        later = t > self.time + self.step / 2
        _next(self.signalled, prices[self.link], later)
        feedback = np.maximum.reduceat(self.signalled(self.back), self.starts)
        wait = np.add.reduceat((queues / self.capacity)[self.link], self.starts)
        rates = self._opened(t, maxnet.rate(states, feedback, self.delay, self.law)) * self.delay / (self.delay + wait)
        _next(self.sent, rates[self.flow], later)
        self.time = t
        self._keep(t, rates)
        load = np.bincount(self.link, weights=self.sent(self.there), minlength=links)
        self.load = load if self.cross is None else load + np.asarray(self.cross(t))
        moved = maxnet.source_change(states, feedback, self.delay, self.law)
        if t < self.latest:
            # The state of a flow that has not started follows the demand curve at the price that the flow receives.
            follows = (maxnet.source_at_rest(feedback, self.delay, self.law) - states) / (2 * self.step)
            moved = np.where(t < self.since, follows, moved)
        return np.concatenate(
            [
                maxnet.price_change(self.load, queues, self.capacity, self.law),
                maxnet.queue_change(self.load, self.capacity),
                moved,
            ]
        )

    def _opened(self, t: float, wanted: Floats) -> Floats:
        """Returns the rates of started flows. New flows begin with the ramp of MaxStart."""
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
