"""EMKC with an adaptive virtual queue (Zhang 2008, eq. 130): links reduce a virtual capacity until the load fits.

    V(n) = min(V(n - 1) + gain (gamma C - y(n)), gamma C)    gain = tau Delta / D_max    (130)
    p(n) = (y(n) - V(n)) / y(n)

A link has the virtual capacity `V`, the load `y` and the price `p`. Steps are the routers' intervals, of length
`Delta`. `D_max` is the largest round trip, and `target` is `gamma C`. Rates are in any common unit; `alpha` is in the
same unit, per step. Virtual capacities may be negative, and prices above 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.competition import Competition, of_flows
from levelflow.theory.laws import emkc
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.maxmin import rates_and_bottlenecks
from levelflow.theory.networks.paths import Paths, Run, run
from levelflow.theory.networks.routes import FixedPoint, Routes, read_capacities, read_crossings
from levelflow.theory.record import MAX_MIN, Plane, Theory
from levelflow.theory.region import Region
from levelflow.theory.stability.conditions import Condition, between
from levelflow.theory.validate import explained, read_each, read_number, whole
from levelflow.theory.verdict import FACTORS, NEAR, Port, Verdict, each_port, margin_of, times_larger

#: Smallest gain, largest gain and number of gains in the search for the first unstable gain.
TRIED_GAINS = 1e-6, 1e3, 55
#: Values of beta in the table of the stable region, one per row.
GAINS = (0.1, 0.25, 0.5, 1.0, 1.5, 1.9)


def virtual(before: Floats, load: Floats, target: Floats | float, gain: Floats | float) -> Floats:
    """Returns the next virtual capacity, from the previous one and the load (eq 130)."""
    return np.minimum(before + gain * (target - load), target)


@explained
def iterate(
    network: Paths,
    start: ArrayLike,
    steps: int,
    targets: ArrayLike,
    gains: tuple[ArrayLike, ArrayLike, ArrayLike],
    first: ArrayLike | None = None,
) -> Run:
    """Iterates EMKC-AVQ over a network. The state of links is their virtual capacity.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        targets: `gamma C`, per link.
        gains: `alpha` and `beta`, each for all flows or per flow, and `tau Delta / D_max`, for all links or per link.
        first: virtual capacities before step 0; the targets by default.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        ParameterError: if there is not one finite rate per flow, or a number is not allowed.
    """
    target = read_capacities(targets)
    flows = len(network.crossings)
    alpha, beta = read_each("alpha", gains[0], flows, closed=True), read_each("beta", gains[1], flows)
    gain = read_each("gain", gains[2], target.size)

    def senders(_: Floats, reference: Floats, heard: Floats) -> Floats:
        return mkc.sender(reference, mkc.largest(network, heard), alpha, beta)

    def routers(received: Floats, memory: Floats) -> tuple[Floats, Floats]:
        load = received.sum(axis=0)
        capacity = virtual(memory, load, target, gain)
        return emkc.price(load, capacity), capacity

    return run(network, start, steps, senders, routers, target if first is None else first)


@explained
def fixed_point(routes: Routes, targets: ArrayLike, alpha_over_beta: ArrayLike) -> FixedPoint:
    """Returns the fixed point. Links that limit flows carry their target, at the price `alpha / (beta x)`.

    Rates are max-min fair, weighted by `alpha/beta` if that differs between flows. Signals are prices `p`, minus
    infinity for idle links. The virtual capacity of a link is its load times `1 - p`.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        targets: `gamma C`, per link, above 0.
        alpha_over_beta: for all flows or per flow, above 0, in the unit of the targets.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a target or ratio is not positive and finite.

    >>> fixed_point([[0], [0]], [10.0], 0.4)
    FixedPoint(rates=array([5., 5.]), signals=array([0.08]), bottlenecks=array([0, 0]))
    """
    target = read_each("target", targets, np.size(targets))
    ratio = read_each("alpha over beta", alpha_over_beta, len(routes))
    rates, limits = rates_and_bottlenecks(routes, target, ratio)
    flow, link, _ = read_crossings(routes, target.size)
    loads = np.bincount(link, weights=rates[flow], minlength=target.size)
    prices = emkc.price(loads, target)
    prices[limits] = ratio / rates
    return FixedPoint(rates, prices, limits)


def differences(share: float, alpha: float) -> Condition:
    """Returns the condition under which differences between flows on one link decay (eq 66): `0 < beta p < 2`.

    At equilibrium, `beta p = alpha / x`, so the fair share `x` must exceed `alpha / 2`. A price that is a loss rate is
    below 1, so any `beta` below 2 satisfies the condition.

    >>> differences(0.1, 0.2).holds
    False
    """
    return between(read_number("alpha", alpha, closed=True) / read_number("share", share))


@explained
def polynomial(beta: float, gain: float, delay: int) -> Floats:
    """Returns the coefficients, highest first, of the characteristic polynomial of the total rate, for equal delays.

    The polynomial is `(z^D - (1 - beta)) (z - 1) + beta gain z`. Near the equilibrium, total rate `X` and virtual
    capacity `V` follow `X(n) = (1 - beta) X(n - D) + beta V(n - backward delay)` and `V(n) = V(n - 1) - gain X(n -
    forward delay)`.

    >>> polynomial(0.5, 0.1, 2).tolist()
    [1.0, -1.0, -0.45, 0.5]
    """
    whole(1, delay=delay)
    kept, felt = 1 - read_number("beta", beta), beta * read_number("gain", gain)
    coefficients = np.zeros(delay + 2)
    coefficients[0] += 1.0
    coefficients[1] -= 1.0
    coefficients[-2] -= kept - felt
    coefficients[-1] += kept
    return coefficients


@explained
def radius(beta: float, gain: float, delay: int) -> float:
    """Returns the largest modulus of a root of `polynomial`. The total rate is stable if this modulus is below 1."""
    return float(np.abs(np.roots(polynomial(beta, gain, delay))).max())


@explained
def largest_gain(beta: float, delay: int) -> float:
    """Returns the gain `tau Delta / D_max` below which the total rate is stable; 0 if no gain is stable.

    Args:
        beta: gain of the senders.
        delay: round trip, steps.

    Raises:
        ParameterError: if `beta` is not a finite number above 0, or the delay is not a whole number of at least 1.

    >>> largest_gain(0.5, 1), round(largest_gain(0.5, 10), 4)
    (6.0, 0.1972)
    """
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        return radius(beta, float(np.exp(log)), delay) - 1

    tried = np.log(np.geomspace(*TRIED_GAINS))
    unstable = [excess(log) >= 0 for log in tried]
    if unstable[0] or not any(unstable):
        return 0.0 if unstable[0] else np.inf
    first = int(np.argmax(unstable))
    return round(float(np.exp(brentq(excess, tried[first - 1], tried[first], xtol=1e-12))), 9)


def equilibrium(
    routes: Routes, targets: ArrayLike, *, alpha_over_beta: ArrayLike, counts: ArrayLike = 1.0
) -> Equilibrium:
    """Returns the equilibrium. Links that limit flows carry their target, `gamma C` (eq. 130).

    >>> equilibrium([[0]], [10.0], alpha_over_beta=0.4, counts=2).signals.tolist()
    [0.08]
    """
    found = RoutedFlows(routes, targets, counts)
    ratio = found.each("alpha over beta", alpha_over_beta)
    point = fixed_point(routes, found.capacity, ratio * found.counts)
    rates = point.rates / found.counts
    limits = point.bottlenecks
    filled = found.loads(rates)[limits] / found.capacity[limits]
    heard = found.largest(point.signals)
    return found.at(rates, point.signals, limits, np.maximum(np.abs(heard * rates / ratio - 1), np.abs(filled - 1)))


def _in_scenario(found: Competition) -> Equilibrium:
    ratio = np.divide(of_flows(found, "alpha"), of_flows(found, "beta"))
    targets = np.where(found.available > 0, found.available, 1.0)  # any positive number, for links without flows
    return equilibrium(found.routes, targets, alpha_over_beta=ratio, counts=found.counts)


def _judge(port: Port) -> Verdict:
    """Decides stability of the total rate by eq 130 with 61, and of differences by eq 66 with `beta p = alpha/x`."""
    alpha, beta, interval, delay = (
        port.of_sender("alpha"),
        port.of_sender("beta"),
        port.of_router("interval"),
        port.delays.max(),
    )
    steps = int(1 + np.ceil(round(delay / interval, 6)))
    gain = port.of_router("tau") * interval / delay
    radii = [radius(beta, gain * factor, steps) for factor in [*FACTORS, 1.0]]
    share = float(port.rates.min())
    equal = differences(share, alpha).holds
    slowest = max(radii[-1] ** steps, abs(1 - alpha / port.rates.max()))
    stable = radii[-1] < 1 and equal
    why = f"the largest root of the sum of rates is {radii[-1]:.4g}, and fair shares are "
    return Verdict(
        stable,
        margin_of(np.array(radii) < 1) if equal else 2 * share / alpha,
        float(np.log(NEAR) / np.log(slowest) * (delay + interval)) if stable else None,
        why + f"{'above' if equal else 'not above'} alpha/2 (Zhang 2008, eq 61, 66, 130)",
        f"{times_larger('tau', margin_of(np.array(radii) < 1))}, or shares below alpha/2" if stable else "",
    )


@explained
def region(delays: Sequence[int] = (2, 5, 10)) -> Region:
    """Returns the largest stable gains of the virtual capacity, by `beta`, for delays in steps (eq 130).

    Raises:
        ParameterError: if a delay is not a whole number of at least 1.

    >>> [round(x, 3) for x in region().rows[2]]
    [0.5, 1.5, 0.432, 0.197]
    """
    betas = np.linspace(0.02, 1.98, 50)
    curves = {f"D = {d} steps": (betas, np.array([largest_gain(beta, d) for beta in betas])) for d in delays}
    rows = tuple((beta, *(largest_gain(beta, d) for d in delays)) for beta in GAINS)
    head = ("beta", *(f"D = {d}: gain up to" for d in delays))
    return Region(
        ("beta", "gain tau Delta / D_max"), curves, head, rows, "Stable below the curves, for beta below 2.", True
    )


THEORY = Theory(
    fluid="mkc:EmkcAvq",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    judge=each_port(_judge),
    region=Plane(region, ("delays",)),
)
