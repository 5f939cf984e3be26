"""Equilibrium of flows in a network, with its residual, and tools that laws use to find their equilibrium.

A route represents `counts` equal flows; `rates` are rates of a single flow. Rates, capacities and loads are in bit/s,
times in s, packets in bits. `residual` is the relative error in the law's own equations, evaluated from rates, loads
and signals. `theory/laws/<law>.py` defines the equilibrium of each law, and the signal of the law's links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.networks.maxmin import rates_and_bottlenecks
from levelflow.theory.networks.routes import CapacityError, Routes, read_capacities, read_crossings
from levelflow.theory.queues.marking import excess_share
from levelflow.theory.validate import read_each

#: Relative overload beyond which a link counts as overloaded.
FULL = 1e-9


@dataclass(frozen=True)
class Equilibrium:
    """Equilibrium rates of a law.

    Attributes:
        rates: sending rate of one flow of each route.
        loads: arrival rate at each link.
        signals: per link, the signal of its router or queue.
        bottlenecks: per route, the link that limits its flows. It is the tightest link, or the link with the largest
            price. Among several such links, the lowest index.
        losses: per link, the fraction of the load that is lost.
        queues: per link, bits. Infinite if losses persist, because any buffer is then full. NaN if the law does not
            determine the queue.
        residual: relative error in the equations of the law.
    """

    rates: Floats
    loads: Floats
    signals: Floats
    bottlenecks: Ints
    losses: Floats
    queues: Floats
    residual: float


class RoutedFlows:
    """Routes over links, and the number of flows that each route represents."""

    def __init__(self, routes: Routes, capacities: ArrayLike, counts: ArrayLike) -> None:
        self.routes = routes
        self.capacity = read_capacities(capacities)
        self.flow, self.link, self.starts = read_crossings(routes, self.capacity.size)
        if not self.capacity[self.link].all():
            empty = self.link[np.argmin(self.capacity[self.link])]
            raise CapacityError(f"link {empty}: capacity 0 is not allowed; needs a number > 0 where flows cross it")
        self.counts = read_each("count", counts, len(routes))

    def each(self, name: str, values: ArrayLike) -> Floats:
        """Returns one number above 0 per route."""
        return read_each(name, values, len(self.routes))

    def sums(self, values: Floats) -> Floats:
        """Returns, for each link, the sum of the values of its crossings."""
        return np.bincount(self.link, weights=values, minlength=self.capacity.size).astype(np.float64)

    def loads(self, rates: Floats) -> Floats:
        """Returns the arrival rate at each link."""
        return self.sums((rates * self.counts)[self.flow])

    def largest(self, signals: Floats) -> Floats:
        """Returns the largest signal on each route."""
        return signals[self.dearest(signals)]

    def dearest(self, signals: Floats) -> Ints:
        """Returns the link with the largest signal on each route."""
        order = np.lexsort((self.link, -signals[self.link], self.flow))
        return self.link[order][self.starts[:-1]]

    def total(self, signals: Floats) -> Floats:
        """Returns the sum of the signals on each route."""
        return np.bincount(self.flow, weights=signals[self.link], minlength=len(self.routes)).astype(np.float64)

    def fair(self, weights: Floats | float = 1.0) -> tuple[Floats, Ints]:
        """Returns max-min fair rates of single flows, and the link that limits each route."""
        total = self.counts * weights
        rates, limits = rates_and_bottlenecks(self.routes, self.capacity, total)
        return rates / self.counts, limits

    def at(
        self, rates: Floats, signals: Floats, limits: Ints, missing: Floats, queues: Floats | None = None
    ) -> Equilibrium:
        """Returns the equilibrium. If no queues are given, each queue is either full or empty."""
        loads = self.loads(rates)
        if queues is None:
            queues = np.where(loads > self.capacity * (1 + FULL), np.inf, 0.0)
        losses = np.where(queues == np.inf, excess_share(self.capacity, loads), 0.0)
        return Equilibrium(rates, loads, signals, limits, losses, queues, float(np.max(missing, initial=0.0)))

    def by_price(self, rates: Floats, prices: Floats, missing: Floats, queues: Floats | None = None) -> Equilibrium:
        """Returns the equilibrium of a law whose flows follow the largest price on their path."""
        return self.at(rates, prices, self.dearest(prices), missing, queues)
