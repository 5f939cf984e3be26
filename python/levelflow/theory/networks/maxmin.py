"""Max-min fair rates by water filling (Bertsekas and Gallager, Data Networks, section 6.5.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.networks.filling import fill
from levelflow.theory.networks.routes import Routes, read_capacities, read_crossings
from levelflow.theory.validate import explained, read_each, read_numbers

#: Relative difference below which rates belong to the same bottleneck level.
SAME = 1e-9


@explained
def maxmin(routes: Routes, capacities: ArrayLike, weights: ArrayLike = 1.0) -> Floats:
    """Returns the rate of each flow in the (weighted) max-min fair allocation.

    Rates are in the unit of the capacities. With weights, rate divided by weight is max-min fair. A flow with weight 3
    counts as three flows, and gets the sum of their rates.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link.
        weights: for all flows or per flow.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a weight is not positive and finite.

    >>> maxmin([[0, 1], [0], [1]], [10.0, 4.0]).tolist()
    [2.0, 8.0, 2.0]
    """
    return rates_and_bottlenecks(routes, capacities, weights)[0]


@explained
def bottlenecks(routes: Routes, capacities: ArrayLike, weights: ArrayLike = 1.0) -> Ints:
    """Returns the link that limits each flow in the allocation of `maxmin`; among several, the lowest index.

    >>> bottlenecks([[0, 1], [0], [1]], [10.0, 4.0]).tolist()
    [1, 0, 1]
    """
    return rates_and_bottlenecks(routes, capacities, weights)[1]


@explained
def rates_and_bottlenecks(routes: Routes, capacities: ArrayLike, weights: ArrayLike = 1.0) -> tuple[Floats, Ints]:
    """Returns the results of `maxmin` and `bottlenecks`."""
    capacity = read_capacities(capacities)
    weight = read_each("weight", weights, len(routes))
    crossings = read_crossings(routes, capacity.size)

    def level(rising: Floats, taken: Floats) -> Floats:
        return np.maximum(capacity - taken, 0.0) / rising

    levels, limits = fill(crossings, capacity.size, weight[crossings[0]], level)
    return levels * weight, limits


@explained
def depth(rates: ArrayLike) -> int:
    """Returns the number of bottleneck levels of max-min fair rates, which is the number of different rates.

    Raises:
        ParameterError: if there is no rate, or a rate is negative, infinite or NaN.

    >>> depth([2.0, 8.0, 2.0])
    2
    """
    ascending = np.sort(read_numbers("rate", rates, closed=True), axis=None)
    return 1 + int((np.diff(ascending) > SAME * ascending[1:]).sum())


@explained
def unfairness(routes: Routes, capacities: ArrayLike, rates: ArrayLike, weights: ArrayLike = 1.0) -> Floats:
    """Returns each flow's relative distance from having a bottleneck.

    The level of a flow is its rate divided by its weight. A bottleneck of a flow is a full link on which no flow has a
    higher level. Feasible rates are max-min fair if and only if every flow has a bottleneck. All values are then 0.
    Otherwise, the value of a flow is the smallest deficit over its links. The deficit on a link is the larger of two
    fractions: the unused fraction of the capacity, and the fraction by which the flow is below the highest level on the
    link.

    >>> unfairness([[0], [0]], [10.0], [4.0, 6.0]).round(3).tolist()
    [0.333, 0.0]
    """
    capacity = read_capacities(capacities)
    flow, link, starts = read_crossings(routes, capacity.size)
    rate = read_each("rate", rates, len(routes), closed=True)
    level = (rate / read_each("weight", weights, len(routes)))[flow]
    used = np.bincount(link, weights=rate[flow], minlength=capacity.size)
    highest = np.zeros(capacity.size)
    np.maximum.at(highest, link, level)
    unused = 1 - np.divide(used, capacity, out=np.ones_like(used), where=capacity > 0)
    below = 1 - np.divide(level, highest[link], out=np.ones_like(level), where=highest[link] > 0)
    lacking: Floats = np.minimum.reduceat(np.maximum(unused[link], below), starts[:-1])
    return np.maximum(lacking, 0.0)
