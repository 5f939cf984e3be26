"""XCP (Katabi, Handley, Rohrs 2002): its equilibrium, which is constrained max-min fair (Low, Andrew, Wydrowski 2005).

Consider a link with capacity `C`, load `y` and an empty queue. Once per mean round-trip time, this link changes the
rate `x` of each of its `N` flows by a fraction of the spare capacity, and by a fraction of the shuffled traffic:

    (h + phi^+)/N - (h + phi^-) x/y      phi = alpha (C - y)      h = max(gamma y - |phi|, 0)

A flow uses the smallest change of its path, which is 0 at equilibrium. A flow that another link limits does not use its
part of the change at this link. With such flows, the load therefore stays below `C`. A link limits the rate of a flow
to

    R(y) = (gamma y^2/N) / ((alpha + gamma) y - alpha C)

This limit is `C/N` at full load. It grows without bound as the load decreases to `alpha C/(alpha + gamma)`, 80 % of
`C`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.competition import Competition
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import rcp
from levelflow.theory.laws.shared import explicit
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.filling import fill
from levelflow.theory.networks.routes import FixedPoint, Routes, read_capacities, read_crossings
from levelflow.theory.record import MAX_MIN, Loops, Plane, Theory
from levelflow.theory.region import POINTS, Region
from levelflow.theory.stability.loops import Loop
from levelflow.theory.units import base
from levelflow.theory.validate import explained, positive, read_each, read_number, read_numbers
from levelflow.theory.verdict import NEAR, Port, Verdict

#: Gain on the spare bandwidth, and shuffled fraction of the load (Katabi et al., sections 3.5 and 3.6).
ALPHA, GAMMA = 0.4, 0.1
#: Upper bound of alpha, `pi/(4 sqrt(2))`, for `beta = balanced(alpha)` (Katabi et al., theorem 1).
ALPHA_LIMIT = np.pi / (4 * np.sqrt(2))
#: Values of alpha in the table of the stable region, one per row.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@explained
def fixed_point(routes: Routes, capacities: ArrayLike, *, alpha: float = ALPHA, gamma: float = GAMMA) -> FixedPoint:
    """Returns the equilibrium: constrained max-min fair rates, which no signal changes.

    The flows of the link with the lowest level settle at that level. The other links of these flows then have less load
    and a higher level. The procedure repeats with the remaining links, as for max-min rates, but each level solves a
    quadratic equation. Signals are levels, that is, the largest rate `R` that a link allows; infinite at low load.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link.
        alpha: gain on the spare bandwidth.
        gamma: shuffled fraction of the load. A larger fraction increases the distance from max-min fairness.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a gain is not a finite number above 0.

    >>> fixed_point([[0, 1], [0], [1]], [10.0, 4.0]).rates.round(3).tolist()
    [2.0, 7.173, 2.0]
    """
    gains = read_number("alpha", alpha), read_number("gamma", gamma)
    capacity = read_capacities(capacities)
    flow, link, starts = read_crossings(routes, capacity.size)
    flows = np.bincount(link, minlength=capacity.size).astype(np.float64)
    filled = fill(
        (flow, link, starts),
        capacity.size,
        np.ones(flow.size),
        lambda rising, taken: _stops(taken, rising, flows, capacity, gains),
    )
    load = np.bincount(link, weights=filled.levels[flow], minlength=capacity.size)
    surplus = (alpha + gamma) * load - alpha * capacity
    levels = np.divide(gamma * load**2, flows * surplus, out=np.full(load.size, np.inf), where=surplus > 0)
    levels[load == 0] = np.where(flows > 0, 0.0, np.inf)[load == 0]
    return FixedPoint(filled.levels, levels, filled.bottlenecks)


@explained
def offers(
    routes: Routes, capacities: ArrayLike, rates: ArrayLike, *, alpha: float = ALPHA, gamma: float = GAMMA
) -> Floats:
    """Returns the signalled rate change of each flow, per mean round-trip time; 0 at equilibrium.

    Args:
        routes: per flow, the indices of the links that it crosses.
        capacities: per link.
        rates: per flow, above 0, in the unit of the capacities.
        alpha: gain on the spare bandwidth.
        gamma: shuffled fraction of the load.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a gain or a rate is not a finite number above 0, or there is not one rate for each flow.

    >>> offers([[0], [0]], [10.0], [4.0, 6.0]).round(9).tolist()
    [0.1, -0.1]
    """
    positive(alpha=alpha, gamma=gamma)
    capacity = read_capacities(capacities)
    flow, link, starts = read_crossings(routes, capacity.size)
    rate = read_each("rate", rates, len(routes))
    crossings = np.bincount(link, minlength=capacity.size)
    load = np.bincount(link, weights=rate[flow], minlength=capacity.size)
    spare = alpha * (capacity - load)
    shuffled = np.maximum(gamma * load - np.abs(spare), 0.0)
    given = (shuffled + np.maximum(spare, 0.0))[link] / crossings[link]
    taken = (shuffled + np.maximum(-spare, 0.0))[link] * rate[flow] / load[link]
    return np.minimum.reduceat(given - taken, starts[:-1])


def _stops(taken: Floats, rising: Floats, flows: Floats, capacity: Floats, gains: tuple[float, float]) -> Floats:
    """Returns the level at which each link stops its rising flows: the solution of `R = R(taken + rising R)`.

    The equation is `a R^2 + b R = c` with `a > 0` and `c >= 0`. One root is not negative; for `c = 0`, the larger root
    is returned.
    """
    alpha, gamma = gains
    a = rising * (flows * (alpha + gamma) - gamma * rising)
    b = flows * ((alpha + gamma) * taken - alpha * capacity) - 2 * gamma * taken * rising
    c = gamma * taken**2
    root = np.sqrt(b**2 + 4 * a * c)
    # Both forms of the root are equal. Each is used where it does not subtract nearly equal numbers.
    return np.where(b <= 0, (root - b) / (2 * a), 2 * c / (root + b))


def aggregate_loop(alpha: float, beta: float, delay: float = 1.0) -> Loop:
    """Returns the open loop of the total rate for equal round trips, `e^(-s d) (alpha s d + beta)/(s d)^2`.

    The loop is linear: `y' = -(alpha/d) (y(t-d) - C) - (beta/d^2) q(t-d)`, `q' = y - C` (Katabi et al., theorem 1).

    Raises:
        ParameterError: if a number is not finite, or not above 0.

    >>> [aggregate_loop(alpha, balanced(alpha)).stable for alpha in (0.55, 0.56)]
    [True, False]
    """
    return rcp.loop(alpha, beta, delay)


def balanced(alpha: ArrayLike) -> Floats:
    """Returns `beta = alpha^2 sqrt(2)`: the gain crossover is at `w d = alpha sqrt(2)`, with 45 degrees of phase lead.

    The delay reduces this phase lead by `w d`, so the loop is stable for `alpha` below `ALPHA_LIMIT`.

    >>> balanced(0.4).round(4).item()
    0.2263
    """
    return np.sqrt(2) * read_numbers("alpha", alpha) ** 2


@explained
def equilibrium(
    routes: Routes,
    capacities: ArrayLike,
    *,
    counts: ArrayLike = 1.0,
    alpha: float = ALPHA,
    gamma: float = GAMMA,
) -> Equilibrium:
    """Returns the equilibrium (Low, Andrew, Wydrowski 2005). `counts` are whole numbers, because links count flows.

    >>> equilibrium([[0, 1], [0], [1]], [10.0, 4.0]).rates.round(3).tolist()
    [2.0, 7.173, 2.0]
    """
    found = RoutedFlows(routes, capacities, counts)
    number = np.round(found.counts).astype(np.int64)
    if (number != found.counts).any():
        raise ParameterError(f"count {found.counts[number != found.counts][0]} is not allowed; XCP needs whole numbers")
    every = [route for route, times in zip(routes, number, strict=True) for _ in range(times)]
    point = fixed_point(every, found.capacity, alpha=alpha, gamma=gamma)
    first = np.cumsum(number) - number
    signalled = offers(every, found.capacity, point.rates, alpha=alpha, gamma=gamma)
    return found.at(point.rates[first], point.signals, point.bottlenecks[first], np.abs(signalled / point.rates))


def _in_scenario(found: Competition) -> Equilibrium:
    """Returns the equilibrium in a scenario with rounded counts, since links count whole flows."""
    gains = found.entries[0]["params"]
    counts = np.maximum(found.counts.round(), 1.0)
    return equilibrium(
        found.routes, found.available, counts=counts, alpha=base(gains["alpha"]), gamma=base(gains["gamma"])
    )


def _judge(ports: list[Port]) -> list[Verdict]:
    """Decides stability as for RCP. Flows become equal because each round trip shuffles `gamma` of the traffic."""
    verdicts = []
    for port, found in zip(ports, explicit.verdicts(ports, relative=False), strict=True):
        shuffled = -np.log(NEAR) / port.of_router("gamma") * port.mean_delay if port.of_router("gamma") else np.inf
        verdicts.append(replace(found, time=None if found.time is None else max(found.time, shuffled)))
    return verdicts


def region() -> Region:
    """Returns the stable region, computed from RCP's loop, and the gains of theorem 1 (Katabi et al. 2002).

    The margin is the factor by which the loop's gain may rise.

    >>> [round(x, 3) for x in region().rows[-2]]
    [0.4, 0.226, 2.428, 12.589]
    """
    proven = np.linspace(1e-3, ALPHA_LIMIT, POINTS)
    curves = rcp.curves() | {"beta = sqrt(2) alpha² (theorem 1)": (proven, balanced(proven))}
    rows = []
    for alpha in SHARES:
        beta = float(balanced(alpha))
        margins = aggregate_loop(alpha, beta).margins
        rows.append((alpha, beta, margins.gain, math.degrees(margins.phase)))
    head = ("alpha", "beta", "gain margin", "phase margin (degrees)")
    note = f"Stable below the curves. Theorem 1 requires alpha below pi / (4 sqrt(2)) = {ALPHA_LIMIT:.4f}."
    return Region(("alpha", "beta"), curves, head, tuple(rows), note)


THEORY = Theory(
    fluid="xcp:Xcp",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=_judge,
    region=Plane(region),
    nyquist=Loops({"alpha": 0.4, "beta": 0.226}, lambda gains, delays: aggregate_loop(**gains, delay=delays[0])),
)
