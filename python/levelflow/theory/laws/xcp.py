"""XCP (Katabi, Handley, Rohrs 2002; Low, Andrew, Wydrowski, "Understanding XCP: equilibrium and fairness", 2005).

A link of capacity `C`, load `y` and no queue changes the rate of each of its `N` flows, once per mean round-trip time,
by a share of what is spare and a share of what is shuffled,

    (h + phi^+)/N - (h + phi^-) x/y      phi = alpha (C - y)      h = max(gamma y - |phi|, 0)

and a flow takes the smallest of what the links of its path offer. At rest that is 0. Flows that another link limits
leave their part of the offer unused, so the load stays below `C` where there are such flows, and a link lets no
flow have more than

    R(y) = (gamma y^2/N) / ((alpha + gamma) y - alpha C)

which is `C/N` at full load and grows without bound as the load falls to `alpha C/(alpha + gamma)`, 80 % of `C`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.errors import ParameterError, positive
from levelflow.theory.network import read_capacities, read_crossings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from levelflow.theory.network import Floats, Ints, Routes

#: Gain of the spare bandwidth, and share of the load that is shuffled (Katabi et al., sections 3.5 and 3.6).
ALPHA, GAMMA = 0.4, 0.1


@dataclass(frozen=True)
class RestPoint:
    """Where XCP settles.

    Attributes:
        rates: per flow, in the unit of the capacities.
        levels: per link, the largest rate `R` that it lets a flow have; infinite where no flow is limited.
        limits: per flow, the link that limits it.
    """

    rates: Floats
    levels: Floats
    limits: Ints


def rest_point(routes: Routes, capacities: ArrayLike, *, alpha: float = ALPHA, gamma: float = GAMMA) -> RestPoint:
    """Returns the rates at which no flow is told to change, those of constrained max-min fairness.

    The flows of the link with the lowest level settle at it. That takes load off the links on which these flows are
    limited no more, whose levels rise, and so on: as water filling, with levels that solve a quadratic equation.

    Args:
        routes: per flow, the indices of the links that it crosses; a link that is crossed twice counts twice.
        capacities: per link.
        alpha: gain of the spare bandwidth.
        gamma: share of the load that is shuffled; the larger, the further from max-min fairness.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a gain is not a finite number above 0.

    >>> rest_point([[0, 1], [0], [1]], [10.0, 4.0]).rates.round(3).tolist()
    [2.0, 7.173, 2.0]
    """
    positive("alpha", alpha)
    positive("gamma", gamma)
    capacity = read_capacities(capacities)
    flow, link, _ = read_crossings(routes, capacity.size)
    crossings = np.bincount(link, minlength=capacity.size).astype(np.float64)
    rates, limits = np.full(len(routes), np.nan), np.full(len(routes), -1, dtype=np.int64)
    levels = np.full(capacity.size, np.inf)
    while (limits < 0).any():
        open_ = limits[flow] < 0
        carried = np.bincount(link[~open_], weights=rates[flow[~open_]], minlength=capacity.size)
        remaining = np.bincount(link[open_], minlength=capacity.size).astype(np.float64)
        now = _levels(carried.astype(np.float64), remaining, crossings, capacity, alpha, gamma)
        tight = int(np.argmin(now))
        levels[tight] = now[tight]
        here = np.unique(flow[open_ & (link == tight)])
        rates[here], limits[here] = now[tight], tight
    return RestPoint(rates, levels, limits)


def offers(
    routes: Routes, capacities: ArrayLike, rates: ArrayLike, *, alpha: float = ALPHA, gamma: float = GAMMA
) -> Floats:
    """Returns by how much each flow is told to change, per mean round-trip time: 0 at rest.

    Args:
        routes: per flow, the indices of the links that it crosses.
        capacities: per link.
        rates: per flow, above 0, in the unit of the capacities.
        alpha: gain of the spare bandwidth.
        gamma: share of the load that is shuffled.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a gain or a rate is not a finite number above 0, or there is not one rate for each flow.

    >>> offers([[0], [0]], [10.0], [4.0, 6.0]).round(9).tolist()
    [0.1, -0.1]
    """
    positive("alpha", alpha)
    positive("gamma", gamma)
    capacity = read_capacities(capacities)
    flow, link, starts = read_crossings(routes, capacity.size)
    rate = positive("rate", rates)
    if rate.shape != (len(routes),):
        raise ParameterError(f"{rate.size} rates for {len(routes)} flows; needs one each")
    crossings = np.bincount(link, minlength=capacity.size)
    load = np.bincount(link, weights=rate[flow], minlength=capacity.size)
    spare = alpha * (capacity - load)
    shuffled = np.maximum(gamma * load - np.abs(spare), 0.0)
    given = (shuffled + np.maximum(spare, 0.0))[link] / crossings[link]
    taken = (shuffled + np.maximum(-spare, 0.0))[link] * rate[flow] / load[link]
    least: Floats = np.minimum.reduceat(given - taken, starts[:-1])
    return least


def _levels(
    settled: Floats, remaining: Floats, crossings: Floats, capacity: Floats, alpha: float, gamma: float
) -> Floats:
    """Returns the rates `R = R(settled + remaining R)` of the remaining flows; infinite where there are none.

    That is `a R^2 + b R = c` with `a > 0` and `c >= 0`, which has one root that is not negative; where `c = 0`, the
    larger root.
    """
    both = alpha + gamma
    a = remaining * (crossings * both - gamma * remaining)
    b = crossings * (both * settled - alpha * capacity) - 2 * gamma * settled * remaining
    c = gamma * settled**2
    root = np.sqrt(b**2 + 4 * a * c)
    # Two forms of the root, each without a difference of nearly equal numbers where it is used.
    up = np.divide(root - b, 2 * a, out=np.full_like(a, np.inf), where=(remaining > 0) & (b <= 0))
    return np.divide(2 * c, root + b, out=up, where=(remaining > 0) & (b > 0))
