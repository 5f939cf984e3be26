"""Classic Kelly control in discrete steps, with prices summed over the path (Zhang 2008, chapters II.1.1 and V.1).

    x_i(n) = x_i(n - 1) + kappa_i (omega_i - x_i(n - D_i) sum_j mu_j(n - backward delay from j))    (1)
      mu_j(n) = p_j(load of link j)                                    (2)
    p = (y - C) / y                                                                                  (53, 55)

Flow `i` has the rate `x_i`, the gain `kappa_i`, the payment `omega_i` and a round trip of `D_i` steps. Link `j` has the
price `mu_j`, the load `y` and the capacity `C`. Rates, capacities and `omega` are in any common unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.competition import Competition, of_flows
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws.emkc import price
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.paths import Paths, Run, run
from levelflow.theory.networks.routes import FixedPoint, Routes, crossing_matrix, read_capacities, read_crossings
from levelflow.theory.record import UTILITY, Plane, Theory
from levelflow.theory.region import Region
from levelflow.theory.stability import equations
from levelflow.theory.stability.delays import critical_gain, kelly_roots
from levelflow.theory.validate import explained, read_each, read_number, read_whole, shown
from levelflow.theory.verdict import FACTORS, NEAR, Port, Verdict, each_port, margin_of, times_larger

#: Largest residual of a fixed point, and limit on the steps of Newton's method.
TOLERANCE, MOST_STEPS = 1e-13, 200
#: Constants of Newton's method: largest relative decrease of a rate in one step; fraction of the predicted improvement
#: below which a step is halved; tolerance for rounding; shortest step.
SHORT_OF_ZERO, GAIN, ROUNDING, SHORTEST = 0.99, 0.1, 1e-15, 1e-12


def sender(last: Floats, reference: Floats, price: Floats, kappa: Floats | float, omega: Floats | float) -> Floats:
    """Returns the next rate (eq 1).

    Args:
        last: rate one step ago.
        reference: rate one round trip ago.
        price: sum of the prices of the path at `reference`; minus infinity without load. The product `x p` then counts
            as 0.
        kappa: gain.
        omega: payment of the flow.
    """
    paid = np.where(price == -np.inf, 0.0, price)
    return last + kappa * (omega - reference * paid)


@explained
def iterate(
    network: Paths,
    start: ArrayLike,
    steps: int,
    price: Callable[[Floats], Floats],
    gains: tuple[ArrayLike, ArrayLike],
    floor: float = -np.inf,
) -> Run:
    """Iterates eq 1 and 2 over a network.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        price: maps the loads of all links to their prices.
        gains: `kappa` and `omega`, each for all flows or per flow.
        floor: smallest rate; none by default, as in linear analysis.

    Raises:
        ParameterError: if there is not one finite rate per flow, or a number is not allowed.
    """
    if floor != -np.inf:
        read_number("floor", floor, -np.inf)
    flows = len(network.crossings)
    kappa, omega = read_each("kappa", gains[0], flows), read_each("omega", gains[1], flows, closed=True)

    def senders(last: Floats, reference: Floats, heard: Floats) -> Floats:
        total = np.where(network.crosses, network.crossings * heard, 0.0).sum(axis=1)
        return np.maximum(sender(last, reference, total, kappa, omega), floor)

    def routers(received: Floats, memory: Floats) -> tuple[Floats, Floats]:
        return price(received.sum(axis=0)), memory

    return run(network, start, steps, senders, routers)


@explained
def alone(
    capacity: float,
    delay: int,
    gains: tuple[float, float],
    steps: int,
    *,
    start: float = 0.0,
    floor: float = -np.inf,
) -> Floats:
    """Returns the rate of one flow on one link, by step. The rate converges to `C + omega` (eq 54).

    The rate is `x(n) = x(n-1) + kappa omega - kappa (x(n-D) - C)`: eq 1 and 53 for rates above 0.

    Args:
        capacity: capacity of the link.
        delay: round trip, steps; 1 means no delay.
        gains: `kappa` and `omega`.
        steps: number of steps.
        start: rate at step 0 and before.
        floor: smallest rate; none by default.

    >>> alone(1000.0, 1, (0.5, 10.0), 4).tolist()
    [0.0, 505.0, 757.5, 883.75, 946.875]
    """
    read_whole("delay", read_number("delay", delay), 1)
    if np.shape(gains) != (2,):
        raise ParameterError(f"gains {shown(gains)} are not allowed; needs two numbers")
    kappa, omega = read_number("kappa", gains[0], -np.inf), read_number("omega", gains[1], -np.inf)
    capacity, start = read_number("capacity", capacity, closed=True), read_number("start", start, -np.inf)
    if floor != -np.inf:
        read_number("floor", floor, -np.inf)

    def update(_: int, past: Callable[[int], Floats]) -> Floats:
        return np.maximum(past(1) + kappa * omega - kappa * (past(delay) - capacity), floor)

    return equations.iterate(update, start, steps, longest=delay).states


def radius(kappa: float, delay: int) -> float:
    """Returns the largest modulus of a root of `z^D - z^(D-1) + kappa`, for one flow with the price of eq 53.

    The flow is stable if the modulus is below 1, that is, for `kappa` below `stability.delays.critical_gain` (eq 3).

    Raises:
        ParameterError: if the gain is not finite, or the delay is not a whole number of at least 1.

    >>> [round(radius(0.5, delay), 4) for delay in (1, 2, 3, 4)]
    [0.5, 0.7071, 0.9406, 1.0242]
    """
    read_number("kappa", kappa, -np.inf)
    return float(abs(kelly_roots(kappa, delay)[0]))


@explained
def fixed_point(routes: Routes, capacities: ArrayLike, omega: ArrayLike) -> FixedPoint:
    """Returns the fixed point of flows that pay the sum of the signed loss rates on their paths (eq 57-58).

    Every network has exactly one fixed point: the maximum of the strictly concave `sum_i (omega_i log x_i - M_i x_i) +
    sum_j C_j log y_j`, where `M_i` is the number of links on the path of flow `i`. Newton's method finds this maximum.
    Signals are prices, like those of `emkc.fixed_point`. The bottleneck of a flow is the link to which it pays most.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link.
        omega: for all flows or per flow, above 0, in the unit of the capacities.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if an `omega` is not positive and finite, or too small relative to the capacities for floating
            point.

    >>> fixed_point([[0, 1]], [10.0, 100.0], 2.0).rates.round(9).tolist()
    [56.0]
    """
    capacity = read_capacities(capacities)
    crossings = crossing_matrix(routes, capacity.size)
    wanted = read_each("omega", omega, len(routes))
    if not len(routes):
        return FixedPoint(np.zeros(0), price(np.zeros(capacity.size), capacity), np.zeros(0, dtype=np.int64))
    unit = max(float(capacity.max()), float(wanted.max()))
    rates = unit * _solve(crossings[:, crossings.any(axis=0)], capacity[crossings.any(axis=0)] / unit, wanted / unit)
    prices = price(rates @ crossings, capacity)
    return FixedPoint(rates, prices, np.where(crossings > 0, prices, -np.inf).argmax(axis=1))


def lemma_13(routes: Routes, capacities: ArrayLike, omega: ArrayLike, rates: ArrayLike) -> tuple[float, float]:
    """Returns both sides of eq 56: `sum_i M_i x_i` and `sum_j C_j + sum_i omega_i`, over links in use.

    >>> lemma_13([[0, 1]], [10.0, 100.0], 2.0, [56.0])
    (112.0, 112.0)
    """
    capacity = read_capacities(capacities)
    flow, link, _ = read_crossings(routes, capacity.size)
    rate = read_each("rate", rates, len(routes))
    wanted = read_each("omega", omega, len(routes))
    return float(rate[flow].sum()), float(capacity[np.unique(link)].sum() + wanted.sum())


def _solve(crossings: Floats, capacity: Floats, wanted: Floats) -> Floats:
    """Returns the rates at which the gradient of the objective of `fixed_point` is 0.

    The solver computes `s` in `x = x0 (1 + s)`. The entries of gradient and Hessian then have similar magnitudes.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.special import xlogy

    lengths = crossings.sum(axis=1)
    # Start: each link is shared equally, which satisfies eq 56.
    rates: Floats = (wanted + crossings @ (capacity / crossings.sum(axis=0))) / lengths

    def value(rates: Floats) -> float:
        return float(lengths @ rates - wanted @ np.log(rates) - xlogy(capacity, rates @ crossings).sum())

    for _ in range(MOST_STEPS):
        loads = rates @ crossings
        gradient = lengths * rates - wanted - rates * (crossings @ (capacity / loads))
        if np.abs(gradient / (lengths * rates)).max() <= TOLERANCE:
            return rates
        shares = rates[:, None] * crossings / loads
        hessian = np.diag(wanted) + shares * capacity @ shares.T
        try:
            step = -np.asarray(cho_solve(cho_factor(hessian), gradient))
        except np.linalg.LinAlgError:
            break
        part, promised = min(1.0, SHORT_OF_ZERO / max(-step.min(), SHORT_OF_ZERO)), -float(gradient @ step)
        enough = value(rates) * (1 + ROUNDING)
        while part > SHORTEST and value(rates * (1 + part * step)) > enough - GAIN * part * promised:
            part /= 2
        rates = rates * (1 + part * step)
    raise ParameterError("omega is not allowed; needs a larger share of the capacities")


@explained
def equilibrium(routes: Routes, capacities: ArrayLike, *, omega: ArrayLike, counts: ArrayLike = 1.0) -> Equilibrium:
    """Returns the equilibrium: `x sum p = omega` with `p = (y - C)/y`, below 0 if capacity is spare (eq 55-58).

    >>> equilibrium([[0, 1]], [10.0, 100.0], omega=2.0).rates.round(9).tolist()
    [56.0]
    """
    found = RoutedFlows(routes, capacities, counts)
    wanted = found.each("omega", omega)
    point = fixed_point(routes, found.capacity, wanted * found.counts)
    rates = point.rates / found.counts
    prices = price(found.loads(rates), found.capacity)
    terms = found.total(np.abs(prices)) + wanted / rates
    return found.at(rates, prices, point.bottlenecks, np.abs(found.total(prices) - wanted / rates) / terms)


def _in_scenario(found: Competition) -> Equilibrium:
    return equilibrium(found.routes, found.available, omega=of_flows(found, "omega"), counts=found.counts)


def _judge(port: Port) -> Verdict:
    """Decides stability by the roots of `z^D - z^(D-1) + kappa sum_i w_i M_i z^(D - D_i)` (Zhang 2008, eq 3).

    With the price `(y - C)/y`, each of the `M_i` links adds `p + y p' = 1` to the left side of eq 3. This also applies
    to links that are not full.
    """
    kappa = port.of_sender("kappa")
    steps = 1 + np.ceil(np.round(port.delays / port.of_router("interval"), 6)).astype(int)
    longest = int(steps.max())
    hops = 1.0 if port.hops is None else port.hops

    def largest_root(gain: float) -> float:
        closed = np.zeros(longest + 1)
        closed[:2] = 1.0, -1.0
        np.add.at(closed, steps, gain * port.weights * hops)
        return float(np.abs(np.roots(closed)).max())

    here = largest_root(kappa)
    margin = margin_of(np.array([largest_root(kappa * factor) < 1 for factor in [*FACTORS, 1.0]]))
    return Verdict(
        here < 1,
        margin,
        float(np.log(NEAR) / np.log(here) * port.of_router("interval")) if here < 1 else None,
        f"kappa = {kappa:g}, {steps.min()} to {longest} steps of delay: the largest root is {here:.4g} "
        "(Zhang 2008, eq 3)",
        times_larger("kappa", margin) + ", or longer delays" if here < 1 else "",
    )


@explained
def region(delays: Sequence[int] = (1, 2, 3, 5, 10, 30)) -> Region:
    """Returns the gain below which Kelly control is stable with equal delays, by delay (Zhang 2008, eq 3).

    Raises:
        ParameterError: if a delay is not a whole number of at least 1.

    >>> [round(x, 3) for x in region([2, 3]).rows[1]]
    [3.0, 0.618, 0.524]
    """
    rows = tuple((float(delay), critical_gain(delay), math.pi / (2 * delay)) for delay in delays)
    columns = np.array(rows).T
    curves = {
        "2 sin(pi / (2 (2D - 1)))": (columns[0], columns[1]),
        "pi / (2D), in continuous time": (columns[0], columns[2]),
    }
    head = ("delay D", "gain up to", "in continuous time")
    return Region(("delay D (steps)", "gain"), curves, head, rows, "Stable below the curve.", logarithmic=True)


THEORY = Theory(
    fluid="mkc:Kelly",
    reference=UTILITY,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    judge=each_port(_judge),
    region=Plane(region, ("delays",)),
)
