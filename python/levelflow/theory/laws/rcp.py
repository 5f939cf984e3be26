"""RCP on one link: equilibrium, linear stability in closed form, fluid model (Dukkipati et al. 2005, section IV).

Rates and capacities are in bit/s, queues in bits, times in s. The linear model depends only on `x = w d0`, frequency
times round trip. It does not depend on the capacity, the number of flows or the round trip separately.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.competition import Competition
from levelflow.theory.laws.shared import explicit
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes
from levelflow.theory.record import MAX_MIN, Loops, Plane, Portrait, Theory, Trajectories
from levelflow.theory.region import POINTS, Region
from levelflow.theory.stability.equations import Past, Trajectory, integrate
from levelflow.theory.stability.loops import Loop
from levelflow.theory.stability.quasi import QuasiPolynomial
from levelflow.theory.validate import explained, finite, not_negative, positive, read_number

#: Padé's approximation of e^-s of order 2 over 2: numerator and denominator (Dukkipati 2005, footnote 11).
PADE = (np.array([1 / 12, -1 / 2, 1.0]), np.array([1 / 12, 1 / 2, 1.0]))
#: Initial states of phase portraits, as R / C and q / (C d0), for 10 flows (Dukkipati 2005, section IV-F).
STARTS = tuple((gamma, queue) for gamma in (0.5, 0.1, 0.01) for queue in (2.0, 0.0))
#: Initial state that is the equilibrium.
EQUILIBRIUM = (0.1, 0.0)
#: Steps between samples for the convergence test. A round number could sample only some phases of an oscillation.
SPARSE = 13
#: Bound of |R N / C - 1| and q / (C d0) in the last tenth of a settled run.
WITHIN = 0.02
#: Steps between the samples of a phase portrait.
EVERY = 3
#: Values of beta in the table of the stable region, one per row.
BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55)


@dataclass(frozen=True)
class Link:
    """A link and its flows. Every number may be an array.

    Attributes:
        capacity: C, bit/s.
        flows: N, number of flows.
        d0: round-trip propagation delay, s.
        interval: T, time between rate updates, s.
    """

    capacity: Numbers = 150e6
    flows: Numbers = 10
    d0: Numbers = 0.2
    interval: Numbers = 0.01

    def __post_init__(self) -> None:
        positive(**vars(self))

    @property
    def equilibrium(self) -> tuple[Numbers, Numbers]:
        """Rate and queue at equilibrium: the fair share, and an empty queue."""
        return self.capacity / self.flows, 0.0 * self.capacity / self.flows


class Slopes(NamedTuple):
    """Derivatives at the equilibrium, eq 8; all other derivatives are 0.

    Attributes:
        queue_by_rate: derivative of q' by R(t - d0).
        rate_by_rate: derivative of R' by R(t - d0), 1/s.
        rate_by_queue: derivative of R' by q, 1/s^2.
    """

    queue_by_rate: Numbers
    rate_by_rate: Numbers
    rate_by_queue: Numbers


@explained
def delay(queue: Numbers, link: Link) -> Numbers:
    """Returns the round trip including queueing delay, eq 6, s."""
    return link.d0 + queue / link.capacity


@explained
def arrivals(rate: Numbers, link: Link) -> Numbers:
    """Returns the arrival rate in bit/s at the link if routers fed back `rate` one round trip ago, eq 5."""
    return link.flows * rate


@explained
def rate_change(alpha: Numbers, beta: Numbers, before: Numbers, load: Numbers, queue: Numbers, link: Link) -> Numbers:
    """Returns R', the change of the rate, from the rate one interval ago, arrivals and queue, eq 4, bit/s^2."""
    finite(queue=queue, load=load)
    return _rate_change(alpha, beta, before, load, queue, link)


def _rate_change(alpha: Numbers, beta: Numbers, before: Numbers, load: Numbers, queue: Numbers, link: Link) -> Numbers:
    d = delay(queue, link)
    return before * (alpha * (link.capacity - load) - beta * queue / d) / (link.capacity * d)


@explained
def queue_change(load: Numbers, queue: Numbers, link: Link) -> Numbers:
    """Returns q', the change of the queue, from arrivals and queue, eq 7, bit/s; at least 0 for an empty queue."""
    growth = load - link.capacity
    return np.where(np.asarray(queue) > 0, growth, np.maximum(growth, 0.0))


@explained
def slopes(alpha: Numbers, beta: Numbers, link: Link) -> Slopes:
    """Returns the coefficients of the linear model, eq 8."""
    return Slopes(link.flows, -alpha / link.d0, -beta / (link.flows * link.d0**2))


@explained
def loop(alpha: float, beta: float, delay: float = 1.0) -> Loop:
    """Returns the open loop, eq 9, with d0 the delay: `G(s) = e^(-s d0) (alpha s d0 + beta) / (s d0)^2`.

    Raises:
        ParameterError: if a gain or the round trip is not positive and finite.

    >>> loop(0.4, 0.2).stable, loop(0.2, 0.4).stable
    (True, False)
    """
    alpha, beta, d = read_number("alpha", alpha), read_number("beta", beta), read_number("delay", delay)
    return Loop.rational([alpha / d, beta / d**2], [1, 0, 0], delay=d)


def loop_of_alpha(beta: float) -> Loop:
    """Returns `G1(s) = s e^-s / (s^2 + beta e^-s)`, with the gain alpha, time in units of d0 (Dukkipati 2005, IV-D).

    Raises:
        ParameterError: if beta is not positive and finite.
    """
    beta = read_number("beta", beta)
    return Loop(QuasiPolynomial([([1, 0], 1.0)]), QuasiPolynomial([([1, 0, 0], 0.0), ([beta], 1.0)]))


@explained
def magnitude(x: Numbers, alpha: Numbers, beta: Numbers) -> Numbers:
    """Returns |G|, eq 10."""
    positive(x=x)
    return np.hypot(beta, x * alpha) / x**2


@explained
def stable_pade(alpha: float, beta: float) -> bool:
    """Returns True if all roots are in the left half plane, with Padé's approximation of the delay."""
    positive(alpha=alpha, beta=beta)
    roots = np.roots(np.polyadd(np.polymul([1, 0, 0], PADE[1]), np.polymul([alpha, beta], PADE[0])))
    return bool(roots.real.max() < 0)


@explained
def boundary(x: Numbers, *, pade: bool = False) -> tuple[Numbers, Numbers]:
    """Returns alpha and beta with a root at `j x / d0`: `x sin(phi)` and `x^2 cos(phi)`.

    `phi` is the phase lag of the delay: `x`, or nearly `x` with Padé's approximation. The exact and the approximated
    delay have magnitude 1. From x = 0 to the x with `phi = pi/2`, the curve is the boundary of the stable region.

    >>> [round(float(gain), 4) for gain in boundary(1.0)]
    [0.8415, 0.5403]
    """
    not_negative(x=x)
    lost = 2 * np.arctan2(x / 2, 1 - x**2 / 12) if pade else x
    return x * np.sin(lost), x**2 * np.cos(lost)


def beta_limit(*, pade: bool = False) -> float:
    """Returns the smallest beta for which no alpha is stable."""
    return float(boundary(_top(pade), pade=pade)[1])


@explained
def alpha_range(beta: float, *, pade: bool = False) -> tuple[float, float] | None:
    """Returns the lower and upper limit of the stable range of alpha; None if beta is not below `beta_limit`.

    Raises:
        ParameterError: if beta is not positive and finite.

    >>> [round(end, 4) for end in alpha_range(0.3)]
    [0.3427, 1.4061]
    """
    from scipy.optimize import brentq

    positive(beta=beta)
    top = _top(pade)
    if beta >= boundary(top, pade=pade)[1]:
        return None
    spans = (0.0, top), (top, right_angle(pade=pade))
    low, high = (float(brentq(lambda x: boundary(x, pade=pade)[1] - beta, *span, xtol=1e-15)) for span in spans)
    return float(boundary(low, pade=pade)[0]), float(boundary(high, pade=pade)[0])


def right_angle(*, pade: bool = False) -> float:
    """Returns the x of the last point of `boundary`, where the phase lag of the delay is pi/2."""
    return float(np.sqrt(21.0) - 3 if pade else np.pi / 2)


def _top(pade: bool) -> float:
    """Returns the x of the largest beta on `boundary`, where the derivative of `x^2 cos(phi)` is 0."""
    from scipy.optimize import brentq

    def rise(x: float) -> float:
        lost = 2 * np.arctan2(x / 2, 1 - x**2 / 12) if pade else x
        faster = (1 + x**2 / 12) / ((1 - x**2 / 12) ** 2 + x**2 / 4) if pade else 1.0
        return float(2 * np.cos(lost) - x * np.sin(lost) * faster)

    return float(brentq(rise, 0.1, 1.5, xtol=1e-15))


def _groups(lags: Floats) -> list[tuple[float, slice]]:
    """Returns each distinct lag of a sorted list, with the slice of its cases."""
    values, firsts = np.unique(lags, return_index=True)
    return [(float(lag), slice(i, j)) for lag, i, j in zip(values, firsts, [*firsts[1:], lags.size], strict=True)]


@explained
def fluid(
    gains: tuple[ArrayLike, ArrayLike],
    start: tuple[ArrayLike, ArrayLike],
    link: Link,
    *,
    duration: float = 2000.0,
    step: float = 0.05,
    buffer: float = np.inf,
    every: int = 1,
) -> Trajectory:
    """Returns rate and queue in the fluid model, eq 4 to 7. Before the start, both are constant.

    Gains, starts and the link's numbers may be arrays, which broadcast. Cases with equal T / d0 advance together.

    Args:
        gains: gain alpha on spare capacity, and gain beta on the queue.
        start: initial rate, bit/s, and initial queue, bits.
        link: the link and its flows.
        duration: duration in round trips.
        step: step in round trips.
        buffer: largest queue, in units of C d0.
        every: number of steps between two recorded steps.

    Returns:
        Times in s, or in round trips if these differ between cases, and states of shape (times, 2, *cases).

    Raises:
        ParameterError: if a gain, a rate or the step is not positive and finite, or a queue or the duration negative.
    """
    if buffer != np.inf:
        positive(buffer=buffer)
    alpha, beta = gains
    rate, queue = start
    positive(alpha=alpha, beta=beta, rate=rate)
    not_negative(queue=queue)
    cases = np.broadcast_arrays(alpha, beta, rate, queue, link.capacity, link.flows, link.d0, link.interval)
    shape, flat = cases[0].shape, [np.ravel(case).astype(np.float64) for case in cases]
    order = np.argsort(flat[7] / flat[6], kind="stable")
    a, b, first, filled, capacity, flows, d0, interval = (case[order] for case in flat)
    groups = _groups(interval / d0)
    sorted_link = Link(capacity, flows, d0, interval)

    def change(_: float, state: Floats, past: Past) -> Floats:
        parts = [past(lag, of=which)[0] for lag, which in groups]
        before = np.concatenate(parts) if len(parts) > 1 else parts[0]
        load = arrivals(past(1.0)[0], sorted_link)
        q = state[1]
        changes = _rate_change(a, b, before, load, q, sorted_link), queue_change(load, q, sorted_link)
        return d0 * np.array(changes)

    bounds = (
        np.array([np.full(a.size, -np.inf), np.zeros(a.size)]),
        np.array([np.full(a.size, np.inf), buffer * capacity * d0]),
    )
    longest = max(1.0, groups[-1][0])
    run = integrate(change, [first, filled], duration, step=step, longest=longest, bounds=bounds, every=every)
    states = np.empty_like(run.states)
    states[..., order] = run.states
    unit = float(d0[0]) if (d0 == d0[0]).all() else 1.0
    return Trajectory(run.times * unit, states.reshape(*states.shape[:2], *shape))


@explained
def settles(run: Trajectory, link: Link, within: float = WITHIN) -> NDArray[np.bool_]:
    """Returns True for each case with R N / C near 1 and q / (C d0) near 0 throughout the last tenth of a run."""
    last = run.states[run.times >= 0.9 * run.times[-1]]
    off = np.maximum(np.abs(last[:, 0] / link.equilibrium[0] - 1), last[:, 1] / (link.capacity * link.d0))
    return off.max(axis=0) <= within


@explained
def settles_from_anywhere(
    alpha: ArrayLike,
    beta: ArrayLike,
    link: Link | None = None,
    *,
    duration: float = 2000.0,
    step: float = 0.1,
    buffer: float = 10.0,
) -> NDArray[np.bool_]:
    """Returns True, per pair of gains, if the fluid model settles from all `STARTS` except the equilibrium.

    Without a buffer limit, a small alpha lets the queue grow to thousands of C d0. Settling then takes some 10^5 round
    trips.

    Args:
        alpha: gains, of any shape; alpha, beta and the numbers of the link broadcast.
        beta: gains.
        link: the link, by default that of Dukkipati 2005; starts are relative to its fair share.
        duration: duration in round trips.
        step: step in round trips.
        buffer: largest queue, in units of C d0.

    Raises:
        ParameterError: if a gain is not positive and finite.
    """
    link = link or Link()
    one_more_axis = Link(*(np.asarray(values, dtype=np.float64)[..., None] for values in vars(link).values()))
    gains = np.asarray(alpha)[..., None], np.asarray(beta)[..., None]
    gamma, waiting = np.array([start for start in STARTS if start != EQUILIBRIUM]).T
    rate = gamma / EQUILIBRIUM[0] * one_more_axis.equilibrium[0]
    queue = waiting * one_more_axis.capacity * one_more_axis.d0
    run = fluid(gains, (rate, queue), one_more_axis, duration=duration, step=step, buffer=buffer, every=SPARSE)
    return np.asarray(settles(run, one_more_axis).all(axis=-1))


@explained
def equilibrium(routes: Routes, capacities: ArrayLike, *, counts: ArrayLike = 1.0) -> Equilibrium:
    """Returns the equilibrium. Links that limit flows are full; all other links advertise their capacity.

    >>> equilibrium([[0, 1], [0], [1]], [10.0, 4.0]).signals.tolist()
    [8.0, 2.0]
    """
    found = RoutedFlows(routes, capacities, counts)
    rates, limits = found.fair()
    advertised = found.capacity.copy()
    advertised[limits] = rates
    taken = -found.largest(-advertised)
    filled = found.loads(rates)[limits] / found.capacity[limits]
    return found.at(rates, advertised, limits, np.maximum(np.abs(taken / rates - 1), np.abs(filled - 1)))


def _in_scenario(found: Competition) -> Equilibrium:
    return equilibrium(found.routes, found.available, counts=found.counts)


def region() -> Region:
    """Returns the gains for which RCP is linearly stable, with exact and Padé's delay (Dukkipati 2005, fig 4).

    >>> [round(x, 3) for x in region().rows[2]]
    [0.3, 0.343, 1.406, 0.343, 1.416]
    """
    rows = tuple((beta, *_ends(beta, pade=False), *_ends(beta, pade=True)) for beta in BETAS)
    head = ("beta", "alpha from", "alpha to", "Padé: from", "Padé: to")
    note = f"Stable below the curve. No alpha is stable for beta above {beta_limit():.4f}."
    return Region(("alpha", "beta"), curves(), head, rows, note)


def _ends(beta: float, *, pade: bool) -> tuple[float, float]:
    return alpha_range(beta, pade=pade) or (math.nan, math.nan)


def curves() -> dict[str, tuple[Floats, Floats]]:
    """Returns the boundary of the stable region, exact and with Padé's approximation."""
    exact = np.linspace(1e-3, np.pi / 2, POINTS)
    near = np.linspace(1e-3, right_angle(pade=True), POINTS)
    return {"exact: (x sin x, x² cos x)": boundary(exact), "Padé of order 2/2": boundary(near, pade=True)}


def _portrait(gains: dict[str, float], duration: float) -> Trajectories:
    """Integrates the fluid model from each of `STARTS`. The queue cannot fall below 0."""
    link = Link()
    gamma, queue = np.array(STARTS).T
    start = gamma * link.capacity, queue * link.capacity * link.d0
    run = fluid((gains["alpha"], gains["beta"]), start, link, duration=duration, every=EVERY)
    rates, queues = run.states[:, 0] / link.equilibrium[0], run.states[:, 1] / (link.capacity * link.d0)
    settled = settles(run, link).tolist()
    return Trajectories(("R N / C", "q / (C d0)"), rates, queues, (1.0, 0.0), settled, loop(**gains).stable)


THEORY = Theory(
    fluid="rcp:Rcp",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=partial(explicit.verdicts, relative=True),
    region=Plane(region, settles=settles_from_anywhere),
    nyquist=Loops({"alpha": 0.1, "beta": 1.0}, lambda gains, delays: loop(**gains, delay=delays[0])),
    phase=Portrait({"alpha": 0.1, "beta": 1.0}, _portrait),
)
