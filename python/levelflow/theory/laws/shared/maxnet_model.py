"""MaxNet: demand, equilibrium and equations of motion (Andrew et al., "MaxNet: theory and implementation").

A link integrates its relative overload into a price `p`. A flow receives the largest price `q` of its path:

    p' = (y + Q/T_0 - mu C)/C           p >= p_min = D^-1(C)                 (3), figure 3
    x  = x_max e^(xi - alpha q/tau)                                          (6a)
    xi' = (alpha eta/tau^2) (D^-1(x) - q)                                    (6b)

At equilibrium, every flow is on one demand curve, `x = D(q) = x_max e^(-q/T)` (7). Equal prices then imply equal rates,
so rates are max-min fair, with links filled to the fraction `mu`. A link has the load `y` and the queue `Q`. A flow has
the rate `x`, the round trip `tau` and the state `xi`; `Parameters` describes all other symbols. Prices and delays are
in s, rates in bit/s, queues in bits.

`maxnet_stability` shows for which delays this equilibrium is stable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import CapacityError, Routes, read_capacities, read_crossings
from levelflow.theory.validate import explained, read_each, read_number, read_numbers

#: Difference of bottleneck prices, relative to `T`, below which prices count as equal.
EQUAL = 1e-9


@dataclass(frozen=True)
class Parameters:
    """Parameters shared by all flows and links of a network. Defaults are the values of sections VI and VII-A.

    Attributes:
        x_max: demand at price 0, bit/s.
        scale: `T`, the price increase that divides the demand by e, s.
        alpha: loop gain, at most pi/2.
        eta: relative speed at which a flow converges to the demand curve.
        mu: target utilisation of links, at most 1.
        drain: `T_0`, s. A queue is counted as the extra load that fills it in this time.

    Raises:
        ParameterError: if a parameter is out of range.
    """

    x_max: float = 1e15
    scale: float = 0.4
    alpha: float = 0.66
    eta: float = 0.06
    mu: float = 0.9
    drain: float = 0.13

    def __post_init__(self) -> None:
        for name in ("x_max", "scale", "eta", "drain"):
            read_number(name, getattr(self, name))
        read_number("alpha", self.alpha, high=np.pi / 2)
        read_number("mu", self.mu, high=1.0)


PAPER = Parameters()


@explained
def demand(price: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the equilibrium rate of a flow, `D(q) = x_max e^(-q/T)` (7), bit/s.

    >>> demand([0.0, 5.526204]).round(-6).tolist()
    [1000000000000000.0, 1000000000.0]
    """
    return law.x_max * np.exp(-np.asarray(price, dtype=np.float64) / law.scale)


def price_of(rate: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the price in s at which a rate is the demand, `D^-1(x) = T ln(x_max/x)` (8).

    Raises:
        ParameterError: if a rate is not a finite number above 0.
    """
    return law.scale * np.log(law.x_max / read_numbers("rate", rate))


def floor(capacity: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the smallest price of a link, `p_min = D^-1(C)` (section VI), s. At this price a flow sends at `C`.

    Raises:
        ParameterError: if a capacity is not a finite number above 0.

    >>> floor(1e9).round(6).item()
    5.526204
    """
    return price_of(read_numbers("capacity", capacity), law)


@explained
def static_demand(price: ArrayLike, delay: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the rate of a flow without `xi`, `x_max e^(-alpha q/tau)` (5), bit/s; fair only for equal delays."""
    return rate(0.0, price, delay, law)


def steepest(rate: ArrayLike, delay: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns `-alpha x/tau`, the steepest slope that a demand function may have at a rate (4), bit/s^2.

    The paper prints this value as an upper bound of the slope, which is negative. In fact, the slope must not be
    steeper than this value, because only a low loop gain is stable.
    """
    return -law.alpha * read_numbers("rate", rate) / read_numbers("delay", delay)


def overload(flows: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the largest overload that one more flow causes, relative to the capacity: `(1 + 1/N) mu - 1`, at least 0.

    The new flow reaches the rate of the `N` existing flows, `mu C/N`. These flows receive the new price later, by up to
    the longest round-trip time. There is no overload for `N >= mu/(1 - mu)` (section VII-A.3).

    Raises:
        ParameterError: if a number of flows is not above 0.

    >>> overload([1, 2, 9]).round(9).tolist()
    [0.8, 0.35, 0.0]
    """
    count = read_numbers("number of flows", flows)
    return np.maximum((law.mu * count + law.mu - count) / count, 0.0)


def equilibrium(
    routes: Routes,
    capacities: ArrayLike,
    *,
    counts: ArrayLike = 1.0,
    mu: ArrayLike = 1.0,
    x_max: ArrayLike = 1e15,
    scale: float = 0.4,
) -> Equilibrium:
    """Returns the equilibrium: a flow demands `x_max e^(-q/T)` at the largest price `q` of its path (eq. 7).

    Args:
        routes: for each route, the indices of its links.
        capacities: per link, above 0.
        counts: number of flows that each route represents.
        mu: target utilisation, for all links or per link.
        x_max: demand at price 0, for all flows or per route. A link that limits no flow has the price `D^-1(C)` for
            the smallest `x_max`.
        scale: `T`, s.

    >>> equilibrium([[0], [0]], [8e6], x_max=[1e14, 3e14]).rates.round(-3).tolist()
    [2000000.0, 6000000.0]
    """
    capacity = read_each("capacity", capacities, np.size(capacities))
    found = RoutedFlows(routes, capacity * read_each("mu", mu, capacity.size, high=1.0), counts)
    most, steep = found.each("x_max", x_max), read_number("scale", scale)
    rates, limits = found.fair(most)
    prices = steep * np.log(np.min(np.asarray(x_max, dtype=np.float64)) / capacity)
    prices[limits] = steep * np.log(most / rates)
    wanted = most * np.exp(-found.largest(prices) / steep)
    filled = found.loads(rates)[limits] / found.capacity[limits]
    return found.at(rates, prices, limits, np.maximum(np.abs(wanted / rates - 1), np.abs(filled - 1)))


@dataclass(frozen=True)
class FixedPoint:
    """Equilibrium of MaxNet in a network.

    Attributes:
        rates: per flow, bit/s.
        prices: per link, s. Links that limit no flow have the smallest price.
        bottlenecks: per flow, the link that limits it.
        shares: per flow, its fraction of the capacity of its bottleneck.
        separate: True if all bottlenecks have different prices. Only then, the largest price of a path has a
            derivative. Only then, a network is stable if each of its links is stable.
    """

    rates: Floats
    prices: Floats
    #: Largest price on the path of each flow, s.
    heard: Floats
    bottlenecks: Ints
    shares: Floats
    separate: bool

    def states(self, delays: ArrayLike, law: Parameters = PAPER) -> Floats:
        """Returns `xi` of each flow, `q (alpha/tau - 1/T)`, for round-trip times in s."""
        return source_at_rest(self.heard, read_numbers("delay", delays), law)


@explained
def fixed_point(routes: Routes, capacities: ArrayLike, law: Parameters = PAPER) -> FixedPoint:
    """Returns the equilibrium rates and prices: max-min fair for links of `mu C` each, for any delays.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link, bit/s.
        law: parameters of the law.

    Raises:
        CapacityError: if a capacity is not a finite number above 0.
        RouteError: if a flow crosses no link or an unknown one.

    >>> fixed_point([[0, 1], [0], [1]], [10e6, 4e6]).rates.tolist()
    [1800000.0, 7200000.0, 1800000.0]
    """
    capacity = read_capacities(capacities)
    if not capacity.all():
        raise CapacityError(f"link {np.argmin(capacity)}: capacity 0 is not allowed; its price would be infinite")
    flow, link, _ = read_crossings(routes, capacity.size)
    found = equilibrium(routes, capacity, mu=law.mu, x_max=law.x_max, scale=law.scale)
    rates, limits, prices = found.rates, found.bottlenecks, found.signals
    heard = prices[limits]
    tight = np.sort(prices[np.unique(limits)])
    separate = bool((np.diff(tight) > EQUAL * law.scale).all())
    times = np.bincount(flow, weights=link == limits[flow], minlength=rates.size)
    return FixedPoint(rates, prices, heard, limits, times * rates / capacity[limits], separate)


@explained
def rate(state: ArrayLike, price: ArrayLike, delay: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns the rate of a flow, `x_max e^(xi - alpha q/tau)` (6a), bit/s."""
    tau = read_numbers("delay", delay)
    return law.x_max * np.exp(np.asarray(state) - law.alpha * np.asarray(price) / tau)


@explained
def source_change(state: ArrayLike, price: ArrayLike, delay: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns `xi'` of a flow (6b with 9; figure 2), 1/s."""
    tau = read_numbers("delay", delay)
    wanted = (law.scale * law.alpha / tau - 1) * np.asarray(price) - law.scale * np.asarray(state)
    return law.alpha * law.eta / tau**2 * wanted


@explained
def source_at_rest(price: ArrayLike, delay: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns `xi` of a flow on the demand curve, `q (alpha/tau - 1/T)`."""
    return np.asarray(price) * (law.alpha / read_numbers("delay", delay) - 1 / law.scale)


@explained
def price_change(load: ArrayLike, queue: ArrayLike, capacity: ArrayLike, law: Parameters = PAPER) -> Floats:
    """Returns `p'` of a link (3), dimensionless.

    The queue counts as load, because windows limit arrivals to the departures. Without windows, flows would send `y +
    Q/tau`. Figure 3 adds the rate `Q/T_0` to the volume of arrivals in an interval. The term is therefore read as
    `Q dt_p/T_0`, which is a volume.
    """
    limit = read_numbers("capacity", capacity)
    return (np.asarray(load) + np.asarray(queue) / law.drain) / limit - law.mu


@explained
def queue_change(load: ArrayLike, capacity: ArrayLike) -> Floats:
    """Returns `Q'` of a link, bit/s; an empty queue stays empty while the value is negative."""
    return np.asarray(load, dtype=np.float64) - np.asarray(capacity)


@explained
def advertised(price: ArrayLike, delay: float, gain: float) -> Floats:
    """Returns the rate of an RCP link without its queue term, relative to price 0: `R = e^(-alpha p/tau)` (17).

    With equal delays and `mu = 1`, this change of variables turns the price (3) into RCP's rate (16), `R(t + dt) = R(t)
    (1 + dt alpha (C - y)/(tau C))`, if `ln(1 + x)` is replaced by `x`.
    """
    return np.exp(-read_numbers("gain", gain) * np.asarray(price, dtype=np.float64) / read_numbers("delay", delay))
