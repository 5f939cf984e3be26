"""Where flows of one law come to rest in a network, law by law.

A route stands for `counts` equal flows; `rates` are those of one of them. Rates, capacities and loads are in bit/s,
times in s, packets in bits. Every answer carries its proof: `residual` is what is missing, as a share, in the law's own
equations, evaluated from rates, loads and signals.

| law | rests at | signal of a link |
|---|---|---|
| jetmax | max-min fair rates | fair share, bit/s |
| rcp | max-min fair rates | advertised rate, bit/s |
| maxnet | max-min fair rates, weighted by `x_max` | price, s |
| xcp | constrained max-min rates: links where some flows are limited elsewhere are not full | largest rate, bit/s |
| emkc | rates above max-min by about `alpha/beta` | signed loss |
| emkc_avq | max-min fair rates | price |
| kelly | rates that pay the sum of signed losses | signed loss |
| ks | the largest total utility less what is lost or marked | share that is lost or marked |
| reno, tfrc | the largest total utility `-1/x`, weighted by packet over round trip, squared | share that is lost |
| vegas, fast | the largest total utility `log x`, weighted by the backlog | queueing delay, s |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc as emkc_law
from levelflow.theory.laws import emkc_avq as emkc_avq_law
from levelflow.theory.laws import jetmax as jetmax_law
from levelflow.theory.laws import kelly as kelly_law
from levelflow.theory.laws import xcp as xcp_law
from levelflow.theory.networks.maxmin import rates_and_bottlenecks
from levelflow.theory.networks.routes import CapacityError, read_capacities, read_crossings
from levelflow.theory.networks.utility import optimum
from levelflow.theory.queues.marking import excess_share
from levelflow.theory.validate import explained, read_each, read_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats, Ints
    from levelflow.theory.networks.routes import Routes

#: Of `x = (s/d) sqrt(A/p)`, the rate of TCP and TFRC at a share of losses.
SQUARE_ROOT = 1.5
#: A link is overloaded beyond this share of its capacity.
FULL = 1e-9


@dataclass(frozen=True)
class Equilibrium:
    """Where flows rest.

    Attributes:
        rates: of one flow of each route, as sent.
        loads: per link, what arrives.
        signals: per link, what its router says or its queue tells; see the table of the module.
        bottlenecks: per route, the link that limits its flows: the tightest, or that of the largest price; the lowest
            index where several are.
        losses: per link, the share of the load that does not fit.
        queues: per link, bits; infinite where losses last, so that any buffer is full; NaN where the law leaves them
            open.
        residual: what is missing in the equations of the law, as a share.
    """

    rates: Floats
    loads: Floats
    signals: Floats
    bottlenecks: Ints
    losses: Floats
    queues: Floats
    residual: float


class _Network:
    """Routes over links, and how many flows each stands for."""

    def __init__(self, routes: Routes, capacities: ArrayLike, counts: ArrayLike) -> None:
        self.routes = routes
        self.capacity = read_capacities(capacities)
        self.flow, self.link, self.starts = read_crossings(routes, self.capacity.size)
        if not self.capacity[self.link].all():
            empty = self.link[np.argmin(self.capacity[self.link])]
            raise CapacityError(f"link {empty}: capacity 0 is not allowed; needs a number > 0 where flows are to rest")
        self.counts = read_each("count", counts, len(routes))

    def each(self, name: str, values: ArrayLike) -> Floats:
        """Returns one number above 0 per route."""
        return read_each(name, values, len(self.routes))

    def sums(self, values: Floats) -> Floats:
        """Returns the sum of values of crossings for each link."""
        return np.bincount(self.link, weights=values, minlength=self.capacity.size).astype(np.float64)

    def loads(self, rates: Floats) -> Floats:
        """Returns what arrives at each link."""
        return self.sums((rates * self.counts)[self.flow])

    def largest(self, signals: Floats) -> Floats:
        """Returns the largest signal on each route."""
        return signals[self.dearest(signals)]

    def dearest(self, signals: Floats) -> Ints:
        """Returns the link of the largest signal on each route."""
        order = np.lexsort((self.link, -signals[self.link], self.flow))
        return self.link[order][self.starts[:-1]]

    def total(self, signals: Floats) -> Floats:
        """Returns the sum of the signals on each route."""
        return np.bincount(self.flow, weights=signals[self.link], minlength=len(self.routes)).astype(np.float64)

    def fair(self, weights: Floats | float = 1.0) -> tuple[Floats, Ints]:
        """Returns max-min fair rates of one flow, and the link that limits each."""
        total = self.counts * weights
        rates, limits = rates_and_bottlenecks(self.routes, self.capacity, total)
        return rates / self.counts, limits

    def at(
        self, rates: Floats, signals: Floats, limits: Ints, missing: Floats, queues: Floats | None = None
    ) -> Equilibrium:
        """Returns the answer; where nothing is said of queues they are full or empty."""
        loads = self.loads(rates)
        if queues is None:
            queues = np.where(loads > self.capacity * (1 + FULL), np.inf, 0.0)
        losses = np.where(queues == np.inf, excess_share(self.capacity, loads), 0.0)
        return Equilibrium(rates, loads, signals, limits, losses, queues, float(np.max(missing, initial=0.0)))

    def by_price(self, rates: Floats, prices: Floats, missing: Floats, queues: Floats | None = None) -> Equilibrium:
        """Returns the answer for a law that listens to prices."""
        return self.at(rates, prices, self.dearest(prices), missing, queues)


@explained
def jetmax(routes: Routes, targets: ArrayLike, *, counts: ArrayLike = 1.0, survival: ArrayLike = 1.0) -> Equilibrium:
    """JetMax (theorem 16; with losses on the way, eq. 151).

    Args:
        routes: per entry, the indices of the links that it crosses.
        targets: `gamma C`, per link.
        counts: how many flows each route stands for.
        survival: what share of a flow's packets gets as far as a link; one number, or routes by links. Loads are what
            arrives then.

    Raises:
        NetworkError: if a target or route is not allowed.
        ParameterError: if another number is not.

    >>> jetmax([[0, 1], [0], [1]], [10.0, 4.0], counts=[1, 3, 1]).rates.round(6).tolist()
    [2.0, 2.666667, 2.0]
    """
    found = _Network(routes, targets, counts)
    rest = jetmax_law.rest(routes, targets, survival, found.counts)
    arriving = np.broadcast_to(survival, (len(routes), found.capacity.size))[found.flow, found.link]
    loads = found.sums((rest.rates * found.counts)[found.flow] * arriving)
    over = np.max(excess_share(found.capacity, loads), initial=0.0)
    missing = np.append(np.abs(rest.rates / rest.signals[rest.bottlenecks] - 1), over)
    empty = np.zeros(loads.size)
    return Equilibrium(rest.rates, loads, rest.signals, rest.bottlenecks, empty, empty, float(missing.max()))


@explained
def rcp(routes: Routes, capacities: ArrayLike, *, counts: ArrayLike = 1.0) -> Equilibrium:
    """RCP: a link that limits flows is full, others advertise their capacity; a flow takes the least on its path.

    >>> rcp([[0, 1], [0], [1]], [10.0, 4.0]).signals.tolist()
    [8.0, 2.0]
    """
    found = _Network(routes, capacities, counts)
    rates, limits = found.fair()
    advertised = found.capacity.copy()
    advertised[limits] = rates
    taken = -found.largest(-advertised)
    filled = found.loads(rates)[limits] / found.capacity[limits]
    return found.at(rates, advertised, limits, np.maximum(np.abs(taken / rates - 1), np.abs(filled - 1)))


def maxnet(
    routes: Routes,
    capacities: ArrayLike,
    *,
    counts: ArrayLike = 1.0,
    mu: ArrayLike = 1.0,
    x_max: ArrayLike = 1e15,
    scale: float = 0.4,
) -> Equilibrium:
    """MaxNet: a flow demands `x_max e^(-q/T)` at the largest price `q` of its path (Andrew et al., eq. 7).

    Args:
        routes: per entry, the indices of the links that it crosses.
        capacities: per link, above 0.
        counts: how many flows each route stands for.
        mu: for all links or per link: what part of the capacity it aims at.
        x_max: demand at price 0, for all flows or per route. A link that limits nobody has the price `D^-1(C)` of the
            smallest of them.
        scale: `T`, s.

    >>> maxnet([[0], [0]], [8e6], x_max=[1e14, 3e14]).rates.round(-3).tolist()
    [2000000.0, 6000000.0]
    """
    capacity = read_each("capacity", capacities, np.size(capacities))
    found = _Network(routes, capacity * read_each("mu", mu, capacity.size, high=1.0), counts)
    most, steep = found.each("x_max", x_max), read_number("scale", scale)
    rates, limits = found.fair(most)
    prices = steep * np.log(np.min(most, initial=np.inf) / capacity) if routes else np.zeros(capacity.size)
    prices[limits] = steep * np.log(most / rates)
    wanted = most * np.exp(-found.largest(prices) / steep)
    filled = found.loads(rates)[limits] / found.capacity[limits]
    return found.at(rates, prices, limits, np.maximum(np.abs(wanted / rates - 1), np.abs(filled - 1)))


@explained
def xcp(
    routes: Routes,
    capacities: ArrayLike,
    *,
    counts: ArrayLike = 1.0,
    alpha: float = xcp_law.ALPHA,
    gamma: float = xcp_law.GAMMA,
) -> Equilibrium:
    """XCP (Low, Andrew, Wydrowski 2005). `counts` are whole numbers: links count flows.

    >>> xcp([[0, 1], [0], [1]], [10.0, 4.0]).rates.round(3).tolist()
    [2.0, 7.173, 2.0]
    """
    found = _Network(routes, capacities, counts)
    number = np.round(found.counts).astype(np.int64)
    if (number != found.counts).any():
        raise ParameterError(f"count {found.counts[number != found.counts][0]} is not allowed; XCP needs whole numbers")
    every = [route for route, times in zip(routes, number, strict=True) for _ in range(times)]
    rest = xcp_law.rest(every, found.capacity, alpha=alpha, gamma=gamma)
    first = np.cumsum(number) - number
    told = xcp_law.offers(every, found.capacity, rest.rates, alpha=alpha, gamma=gamma)
    return found.at(rest.rates[first], rest.signals, rest.bottlenecks[first], np.abs(told / rest.rates))


@explained
def emkc(
    routes: Routes,
    capacities: ArrayLike,
    *,
    alpha_over_beta: ArrayLike,
    counts: ArrayLike = 1.0,
    thinned: bool = False,
) -> Equilibrium:
    """EMKC: a flow rests at `alpha / (beta p)`, `p` the largest signed loss of its path (eq. 86).

    Args:
        routes: per entry, the indices of the links that it crosses.
        capacities: per link.
        alpha_over_beta: for all flows or per route, bit/s.
        counts: how many flows each route stands for.
        thinned: whether what a link loses is missing at the next one; the equations of the paper let it pass.

    >>> emkc([[0]], [500.0], alpha_over_beta=10 / 0.9, counts=2).rates.round(1).tolist()
    [261.1]
    """
    found = _Network(routes, capacities, counts)
    ratio = found.each("alpha over beta", alpha_over_beta)
    rest = emkc_law.rest(routes, found.capacity, ratio * found.counts, thinned=thinned)
    rates = rest.rates / found.counts
    with np.errstate(divide="ignore"):
        loads = np.where(rest.signals == -np.inf, 0.0, found.capacity / (1 - rest.signals))
    queues = np.where(rest.signals > FULL, np.inf, 0.0)
    missing = np.abs(ratio / rates - found.largest(rest.signals))
    if not thinned:
        arriving = found.loads(rates)
        missing = np.append(missing, np.abs(loads - arriving) / np.maximum(arriving, found.capacity))
    losses = np.maximum(rest.signals, 0.0)
    return Equilibrium(rates, loads, rest.signals, rest.bottlenecks, losses, queues, float(missing.max(initial=0.0)))


def emkc_avq(routes: Routes, targets: ArrayLike, *, alpha_over_beta: ArrayLike, counts: ArrayLike = 1.0) -> Equilibrium:
    """EMKC with adaptive virtual queues: links that limit flows carry `gamma C`, their `target` (eq. 130).

    >>> emkc_avq([[0]], [10.0], alpha_over_beta=0.4, counts=2).signals.tolist()
    [0.08]
    """
    found = _Network(routes, targets, counts)
    ratio = found.each("alpha over beta", alpha_over_beta)
    rest = emkc_avq_law.rest(routes, found.capacity, ratio * found.counts)
    rates = rest.rates / found.counts
    limits = rest.bottlenecks
    filled = found.loads(rates)[limits] / found.capacity[limits]
    heard = found.largest(rest.signals)
    return found.at(rates, rest.signals, limits, np.maximum(np.abs(heard * rates / ratio - 1), np.abs(filled - 1)))


@explained
def kelly(routes: Routes, capacities: ArrayLike, *, omega: ArrayLike, counts: ArrayLike = 1.0) -> Equilibrium:
    """Classic Kelly control: `x sum p = omega` with `p = (y - C)/y`, below 0 where links have room (eq. 55-58).

    >>> kelly([[0, 1]], [10.0, 100.0], omega=2.0).rates.round(9).tolist()
    [56.0]
    """
    found = _Network(routes, capacities, counts)
    wanted = found.each("omega", omega)
    rest = kelly_law.rest(routes, found.capacity, wanted * found.counts)
    rates = rest.rates / found.counts
    prices = emkc_law.price(found.loads(rates), found.capacity)
    terms = found.total(np.abs(prices)) + wanted / rates
    return found.at(rates, prices, rest.bottlenecks, np.abs(found.total(prices) - wanted / rates) / terms)


@explained
def ks(
    routes: Routes,
    levels: ArrayLike,
    *,
    weights: ArrayLike,
    exponents: ArrayLike,
    costs: ArrayLike = 0.0,
    counts: ArrayLike = 1.0,
    capacities: ArrayLike | None = None,
) -> Equilibrium:
    """Users of Kunniyur and Srikant: `w U'(x) = c + sum p` with `p = (y - L)^+/y` (eq. 4 and 42).

    Args:
        routes: per entry, the indices of the links that it crosses.
        levels: per link, the load from which it loses or marks.
        weights: `w/(beta_r beta)`, for all flows or per route, for rates in bit/s.
        exponents: `nu`, for all flows or per route.
        costs: what a unit of rate costs besides: `(1 - alpha)/alpha` where losses at random count.
        counts: how many flows each route stands for.
        capacities: per link, where levels are those of marks; what exceeds them is lost.

    >>> ks([[0]], [90.0], weights=2.0, exponents=0.0, counts=20).loads.round(6).tolist()
    [130.0]
    """
    found = _Network(routes, levels if capacities is None else capacities, counts)
    level = read_capacities(levels)
    weight, exponent = found.each("weight", weights), read_each("exponent", exponents, len(routes), closed=True)
    cost = read_each("cost", costs, len(routes), closed=True)
    best = optimum(
        routes, level, weights=weight * found.counts ** (1 + exponent), exponents=exponent, costs=cost, penalty=1.0
    )
    rates = best.rates / found.counts
    wanted = weight * np.where(exponent > 0, exponent, 1.0) * rates ** (-exponent - 1)
    missing = np.append(np.abs(wanted / (cost + found.total(best.prices)) - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing)


def reno(
    routes: Routes,
    capacities: ArrayLike,
    *,
    rtts: ArrayLike,
    packets: ArrayLike,
    lost: ArrayLike = 0.0,
    counts: ArrayLike = 1.0,
) -> Equilibrium:
    """TCP and TFRC, `x = (s/d) sqrt(1.5/p)`: the sum of losses `p` is whatever keeps rates within capacities.

    Args:
        routes: per entry, the indices of the links that it crosses.
        capacities: per link.
        rtts: round-trip time, s, for all flows or per route; the base one leaves queueing out.
        packets: bits a packet, for all flows or per route.
        lost: share that wires lose, for all flows or per route.
        counts: how many flows each route stands for.

    >>> reno([[0], [0]], [9e6], rtts=[0.04, 0.08], packets=8000).rates.round().tolist()
    [6000000.0, 3000000.0]
    """
    found = _Network(routes, capacities, counts)
    steps = found.each("packet", packets) / found.each("rtt", rtts)
    wires = read_each("lost", lost, len(routes), high=1.0, closed=True)
    best = optimum(
        routes, found.capacity, weights=SQUARE_ROOT * (steps * found.counts) ** 2, exponents=1.0, costs=wires
    )
    rates = best.rates / found.counts
    told = steps * np.sqrt(SQUARE_ROOT / (wires + found.total(best.prices)))
    missing = np.append(np.abs(rates / told - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing, np.full(found.capacity.size, np.nan))


@explained
def fast(routes: Routes, capacities: ArrayLike, *, backlogs: ArrayLike, counts: ArrayLike = 1.0) -> Equilibrium:
    """FAST and Vegas: a flow keeps so many bits in queues, `x q` with the sum `q` of queueing delays on its path.

    Args:
        routes: per entry, the indices of the links that it crosses.
        capacities: per link.
        backlogs: bits that a flow keeps, for all flows or per route; Vegas rests between two thresholds.
        counts: how many flows each route stands for.

    >>> fast([[0]], [8e6], backlogs=24e3, counts=2).queues.round(3).tolist()
    [48000.0]
    """
    found = _Network(routes, capacities, counts)
    kept = found.each("backlog", backlogs)
    best = optimum(routes, found.capacity, weights=kept * found.counts)
    rates = best.rates / found.counts
    missing = np.append(np.abs(rates * found.total(best.prices) / kept - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing, best.prices * found.capacity)


#: Laws whose links say a rate; those of the others charge a price.
RATES = frozenset({"jetmax", "rcp", "xcp"})

#: By law; `tfrc` and `vegas` are as `reno` and `fast`.
LAWS: dict[str, Callable[..., Equilibrium]] = {
    "jetmax": jetmax,
    "rcp": rcp,
    "maxnet": maxnet,
    "xcp": xcp,
    "emkc": emkc,
    "emkc_avq": emkc_avq,
    "kelly": kelly,
    "ks": ks,
    "reno": reno,
    "tfrc": reno,
    "vegas": fast,
    "fast": fast,
}
