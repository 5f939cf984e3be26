"""Exponential MKC: max-min Kelly control whose price is a link's signed loss rate (Zhang 2008, chapter V.2.4 to V.3).

    x_i(n) = x_i(n - D_i) + alpha - beta eta_i x_i(n - D_i),   eta_i: the largest price of the path    (61, 62)
    p = (y - C) / y                                                                                     (85)

Flow `i` has the rate `x_i` and a round trip of `D_i` steps. A link has the price `p`, the load `y` and the capacity
`C`. Rates and capacities are in any common unit. `alpha` is in the same unit, per step; `beta` is the gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.competition import of_flows
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.equilibrium import FULL, Equilibrium, RoutedFlows
from levelflow.theory.networks.filling import fill
from levelflow.theory.networks.routes import FixedPoint, read_capacities, read_crossings
from levelflow.theory.record import MAX_MIN, NotSupported, Pairs, Theory
from levelflow.theory.validate import explained, finite, read_each, read_number
from levelflow.theory.verdict import NEAR, Verdict, each_port

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats, Ints
    from levelflow.theory.competition import Competition
    from levelflow.theory.networks.paths import Paths, Run
    from levelflow.theory.networks.routes import Routes
    from levelflow.theory.verdict import Port

#: Largest number of rounds, and relative tolerance, of the iteration that makes losses consistent with the loads
#: after lossy links.
MOST_ROUNDS, SAME = 200, 1e-12


@explained
def price(load: ArrayLike, capacity: ArrayLike) -> Floats:
    """Returns the price of links, the signed loss rate `1 - C/y` (eq 85); minus infinity without load."""
    load, capacity = np.asarray(load, dtype=np.float64), np.asarray(capacity, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(load == 0, -np.inf, 1 - capacity / load)


@explained
def iterate(
    network: Paths,
    start: ArrayLike,
    steps: int,
    capacities: ArrayLike,
    gains: tuple[ArrayLike, ArrayLike],
    offset: ArrayLike = 0.0,
) -> Run:
    """Iterates EMKC over a network.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        capacities: per link.
        gains: `alpha` and `beta`, each for all flows or per flow.
        offset: offset added to link prices, for all links or per link.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        ParameterError: if there is not one finite rate per flow, or a number is not allowed.
    """
    capacity = read_capacities(capacities)
    added = read_each("offset", offset, capacity.size, -np.inf)
    return mkc.iterate(network, start, steps, lambda load: price(load, capacity) + added, gains)


@explained
def fixed_point(
    routes: Routes, capacities: ArrayLike, alpha_over_beta: ArrayLike, *, thinned: bool = False
) -> FixedPoint:
    """Returns the fixed point of EMKC in a network.

    A flow that receives the price `p` keeps the rate `alpha / (beta p)`. Consider a link that limits `N` flows with
    equal `alpha/beta`, and carries an additional load `u` of other flows. The rate `x` of the limited flows satisfies
    `x (1 - C / (N x + u)) = alpha/beta`. For `u = 0`, this gives `x = C/N + alpha/beta` (eq 87).

    The link with the lowest `x` fixes the rates of its flows, independently of all other links. For other links, these
    flows are a constant load, so rates there are higher. The procedure repeats with the remaining links, as for max-min
    rates. The fixed point is unique, because each round has only one lowest rate. Signals are prices, `1 - C/y`: below
    0 for links with spare capacity, minus infinity for idle links.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link.
        alpha_over_beta: for all flows or per flow, above 0, in the unit of the capacities.
        thinned: True if a link drops its excess load, and the next link of a route receives less. In the equations of
            the paper, the next link also receives the excess. Rates are sending rates.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a ratio is not positive and finite.

    >>> fixed_point([[0], [0]], [500.0], 10 / 0.9).rates.round(1).tolist()
    [261.1, 261.1]
    """
    capacity = read_capacities(capacities)
    crossings = read_crossings(routes, capacity.size)
    flow, link, starts = crossings
    ratio = read_each("alpha over beta", alpha_over_beta, len(routes))
    arriving = np.ones(flow.size)
    for _ in range(MOST_ROUNDS if thinned else 1):
        levels, limits = fill(crossings, capacity.size, ratio[flow] * arriving, lambda z, u: _level(capacity, z, u))
        rates = levels * ratio
        loads = np.bincount(link, weights=rates[flow] * arriving, minlength=capacity.size).astype(np.float64)
        before, arriving = arriving, _arriving(link, starts, capacity, loads)
        if np.abs(arriving - before).max(initial=0.0) < SAME:
            break
    return FixedPoint(rates, price(loads, capacity), limits)


def _level(capacity: Floats, rising: Floats, taken: Floats) -> Floats:
    """Returns the root above 0 of `W z^2 + (u - C - W) z - u`. Rates are `z` times `alpha/beta`, the price is `1/z`."""
    room = capacity + rising - taken
    root = np.hypot(room, 2 * np.sqrt(rising) * np.sqrt(taken))
    return np.where(room > 0, (room + root) / (2 * rising), 2 * taken / (root - room))


def _arriving(link: Ints, starts: Ints, capacity: Floats, loads: Floats) -> Floats:
    """Returns the fraction of a flow's rate that arrives at each link of its route, if full links drop the excess."""
    kept = np.minimum(1.0, np.divide(capacity, loads, out=np.ones(loads.size), where=loads > 0))
    place = np.arange(link.size) - np.repeat(starts[:-1], np.diff(starts))
    share = np.ones(link.size)
    for hop in range(1, int(place.max(initial=0)) + 1):
        here = np.flatnonzero(place == hop)
        share[here] = share[here - 1] * kept[link[here - 1]]
    return share


def loss(flows: float, capacity: float, alpha_over_beta: float) -> float:
    """Returns the equilibrium price of one link, `N alpha / (C beta + N alpha)` (corollary 4).

    >>> round(loss(4, 500.0, 10 / 0.9), 4)
    0.0816
    """
    read_number("flows", flows, closed=True)
    extra = flows * read_number("alpha over beta", alpha_over_beta)
    return extra / (read_number("capacity", capacity, closed=True) + extra)


def lossless(flows: float, capacity: float, alpha_over_beta: float) -> float:
    """Returns the offset of a link's price with which the load equals the capacity, `N alpha / (beta C)` (V.3.3).

    If flows with other bottlenecks cross the link, `C` is the capacity minus the load of these flows.
    """
    read_number("flows", flows, closed=True)
    return flows * read_number("alpha over beta", alpha_over_beta) / read_number("capacity", capacity)


@explained
def aggregate(step: ArrayLike, start: float, limit: float, beta: float) -> Floats:
    """Returns the total rate of all flows on one link, `X* + (1 - beta)^n (X(0) - X*)` (eq 102, 106).

    Args:
        step: `n`, in round trips, which are equal for all flows.
        start: total rate at step 0.
        limit: `X*`, the total rate at equilibrium, `C + N alpha/beta`.
        beta: gain.

    >>> aggregate([0, 1, 2], 2.0, 10.0, 0.5).tolist()
    [2.0, 6.0, 8.0]
    """
    finite(step=step, start=start, limit=limit, beta=beta)
    return limit + (1 - beta) ** np.asarray(step) * (start - limit)


def steps_to_fairness(flows: int, capacity: float, alpha: float, beta: float, eps: float) -> float:
    """Returns the number of steps until the smallest rate is within `eps` of the largest, from one active flow.

    The number is `(C + N alpha/beta) (ln N - ln eps) / (N alpha)` (eq 108), for `N alpha` far below `C`. Differences
    shrink by the factor `1 - N alpha / X*` per step.

    >>> round(steps_to_fairness(2, 1000.0, 10.0, 0.5, 0.01), 1)
    275.5
    """
    added = read_number("flows", flows) * read_number("alpha", alpha)
    total = read_number("capacity", capacity) + added / read_number("beta", beta)
    return total * float(np.log(flows / read_number("eps", eps, 0, 1))) / added


@explained
def lemma_14(start: float, factor: float, inputs: ArrayLike) -> Floats:
    """Returns bounds on `x_n = a_n x_(n-1) + v_n`, by step (eq 93-94). They converge to 0 if `v_n` does.

    Args:
        start: `x_0`.
        factor: bound of all `|a_n|`, below 1.
        inputs: `v_1`, `v_2`, ...

    >>> lemma_14(1.0, 0.5, [1.0, 0.0, 0.0]).tolist()
    [1.0, 1.5, 0.75, 0.375]
    """
    sizes = [abs(start)]
    for size in np.abs(np.asarray(inputs, dtype=np.float64)):
        sizes.append(read_number("factor", factor, closed=True, high=1) * sizes[-1] + float(size))
    return np.array(sizes)


@explained
def equilibrium(
    routes: Routes,
    capacities: ArrayLike,
    *,
    alpha_over_beta: ArrayLike,
    counts: ArrayLike = 1.0,
    thinned: bool = False,
) -> Equilibrium:
    """Returns the equilibrium of EMKC: the rates `alpha / (beta p)`, where `p` is the largest price of a path (eq. 86).

    Args:
        routes: for each route, the indices of its links.
        capacities: per link.
        alpha_over_beta: for all flows or per route, bit/s.
        counts: number of flows that each route represents.
        thinned: True if data lost at a link does not reach the next link. The paper's equations ignore this loss.

    >>> equilibrium([[0]], [500.0], alpha_over_beta=10 / 0.9, counts=2).rates.round(1).tolist()
    [261.1]
    """
    found = RoutedFlows(routes, capacities, counts)
    ratio = found.each("alpha over beta", alpha_over_beta)
    point = fixed_point(routes, found.capacity, ratio * found.counts, thinned=thinned)
    rates = point.rates / found.counts
    with np.errstate(divide="ignore"):
        loads = np.where(point.signals == -np.inf, 0.0, found.capacity / (1 - point.signals))
    queues = np.where(point.signals > FULL, np.inf, 0.0)
    missing = np.abs(ratio / rates - found.largest(point.signals))
    if not thinned:
        arriving = found.loads(rates)
        missing = np.append(missing, np.abs(loads - arriving) / np.maximum(arriving, found.capacity))
    losses = np.maximum(point.signals, 0.0)
    return Equilibrium(rates, loads, point.signals, point.bottlenecks, losses, queues, float(missing.max(initial=0.0)))


def _in_scenario(found: Competition) -> Equilibrium:
    ratio = np.divide(of_flows(found, "alpha"), of_flows(found, "beta"))
    return equilibrium(found.routes, found.available, alpha_over_beta=ratio, counts=found.counts, thinned=True)


def _judge(port: Port) -> Verdict:
    """Decides stability by theorem 9: `0 < beta < 2` for any delays. Differences shrink by `1 - beta p` per step."""
    beta = port.of_sender("beta")
    price = port.of_sender("alpha") / beta / port.rates.max()
    shrink = max(abs(1 - beta), abs(1 - beta * price))
    step = port.delays.max() + port.of_router("interval")
    return Verdict(
        beta < 2,
        2 / beta,
        float(np.log(NEAR) / np.log(shrink) * step),
        f"0 < beta = {beta:g} < 2, whatever the delays (Zhang 2008, theorem 9)",
        "beta of 2 or more",
    )


def _step(rates: Floats, capacity: float, gains: dict[str, float]) -> Floats:
    """Steps two flows without delay."""
    return mkc.sender(rates, price(rates.sum(), np.array(capacity)), gains["alpha"], gains["beta"])


THEORY = Theory(
    fluid="mkc:Emkc",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    judge=each_port(_judge),
    region=NotSupported("delays do not matter; beta from 0 to 2 is stable"),
    phase=Pairs({"alpha": 2.0, "beta": 0.5}, {"alpha": 100.0, "beta": 2.0}, _step),
)
