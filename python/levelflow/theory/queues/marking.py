"""Links that lose or mark the load above a level, and marking levels that avoid losses.

In the fluid model of Kunniyur and Srikant (2003, sections II and V), a link of capacity `C` and load `y` loses the
fraction `(y - C)^+ / y`. A link with a marking level `C~ <= C` marks the fraction `(y - C~)^+ / y`, like a virtual
queue of capacity `C~`. This link loses no packet while the marked users keep `y <= C`.

A level without losses can be chosen for each link separately. Consider the users of a link as if no other link limited
them. They fill the link exactly at some price `q` per unit of rate. The level must therefore be such that `beta` times
the fraction marked at `y = C` equals `q`. Other links on the paths only reduce the rates of users (propositions 3 to
5). Rates and loads have the unit of the capacities.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints, Numbers
from levelflow.theory.errors import ConvergenceError, TheoryError
from levelflow.theory.networks.routes import CapacityError, Routes, read_capacities, read_crossings
from levelflow.theory.validate import explained, finite, positive, read_each, whole

#: Largest number of Newton steps, and relative change of a price below which the search ends.
MOST_STEPS, CLOSE = 100, 1e-12
#: Bounds of loads. With them, a load of 0 has no loss, and an infinite load is lost entirely.
SMALLEST, LARGEST = float(np.finfo(np.float64).smallest_subnormal), float(np.finfo(np.float64).max)


class LevelError(TheoryError):
    """Link for which no marking level prevents losses, or numbers that determine no level."""


@explained
def excess_share(level: Numbers, load: Numbers) -> Floats:
    """Returns the fraction of a load that is lost or marked, `(y - C)^+ / y`, elementwise; 0 for no load.

    This fraction is the limit of the loss rate of an M/M/1/B queue whose rates and buffer grow together (section II).

    >>> excess_share(90.0, [0.0, 80.0, 100.0]).tolist()
    [0.0, 0.0, 0.1]
    """
    load = np.asarray(load, dtype=np.float64)
    excess = np.fmax(load - level, 0.0)
    return np.asarray(np.fmin(excess, LARGEST) / np.fmin(np.fmax(load, SMALLEST), LARGEST))


@explained
def excess_paid(level: Numbers, load: Numbers) -> Floats:
    """Returns `int_0^y (u - C)^+ / u du = y - C - C log(y/C)` above the level, 0 below, elementwise.

    >>> excess_paid(1.0, [0.5, 1.0, np.e]).round(6).tolist()
    [0.0, 0.0, 0.718282]
    """
    finite(level=level, load=load)
    level = np.asarray(level, dtype=np.float64)
    excess = np.maximum(np.asarray(load, dtype=np.float64) - level, 0.0)
    relative = np.divide(excess, level, out=np.zeros_like(excess), where=level > 0)
    return np.asarray(excess - level * np.log1p(relative))


@explained
def marking_levels(
    routes: Routes,
    capacities: ArrayLike,
    *,
    beta: float,
    weights: ArrayLike = 1.0,
    exponents: ArrayLike = 0.0,
    unresponsive: ArrayLike = 0.0,
) -> Floats:
    """Returns, per link, the highest level at which users just fill this link if no other link limits them.

    With these levels, no link of the network loses packets at the optimum (proposition 3, eq 27, with equality). Loads
    that do not react to marks use the capacity first. If no loss is allowed at any time, their peak load counts
    (proposition 4). If only the mean load must not exceed the capacity, their mean load counts (proposition 5). Eq 35
    and 39 are read with the fraction marked at `C - xi`, because the proofs need this fraction. In eq 35, the missing
    factor `beta` is added.

    Args:
        routes: per flow, the indices of the links that it crosses.
        capacities: per link.
        beta: price of a mark.
        weights: `w/beta_r`, for all flows or per flow.
        exponents: `nu`, for all flows or per flow: 0 is `log x`, above 0 is `-1/x^nu`.
        unresponsive: `xi`, for all links or per link. For proposition 4, all users must have the utility `log x`.

    Raises:
        LevelError: if the users of a link would overload it even if it marked all packets.
        ParameterError: if `beta` is not above 0, or an exponent is negative, infinite or NaN.
        CapacityError: if a capacity is not a finite number, or `xi` uses a whole capacity.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a weight is not positive and finite.
        ConvergenceError: if the numbers differ by more than floating point can represent.

    >>> marking_levels([[0]] * 20, [100.0], beta=0.5).round(6).tolist()
    [60.0]
    """
    capacity = read_capacities(capacities)
    flow, link, _ = read_crossings(routes, capacity.size)
    weight = read_each("weight", weights, len(routes))
    exponent = read_each("exponent", exponents, weight.size, closed=True)
    positive(beta=beta)
    room = capacity - np.asarray(unresponsive, dtype=np.float64)
    bad = np.flatnonzero(~((room > 0) & (room <= capacity)))
    if bad.size:
        raise CapacityError(
            f"link {bad[0]}: unresponsive load {capacity[bad[0]] - room[bad[0]]} is not allowed; "
            f"needs a number from 0 to below {capacity[bad[0]]}"
        )
    prices = _prices_alone(flow, link, np.log(room), weight, exponent)
    bad = np.flatnonzero(prices > beta)
    if bad.size:
        raise LevelError(
            f"link {bad[0]}: no marking level prevents losses; its users fill it at a price of {prices[bad[0]]:.6g}, "
            f"so beta {beta:.6g} is too low"
        )
    return room * (1 - prices / beta)


def _prices_alone(flow: Ints, link: Ints, log_room: Floats, weight: Floats, exponent: Floats) -> Floats:
    """Returns the price at which users fill each link if they pay for no other link; 0 without users.

    The logarithm of the load is a convex and decreasing function of the logarithm of the price. Newton's method
    therefore finds the price from below.
    """
    crossing, times = np.unique(flow * log_room.size + link, return_counts=True)
    flow, link = np.divmod(crossing, log_room.size)
    used = np.unique(link)
    falls = 1 / (exponent[flow] + 1)
    wanted = np.log(weight[flow] * np.where(exponent[flow] > 0, exponent[flow], 1.0) / times) * falls + np.log(times)
    price = np.zeros(log_room.size)
    for _ in range(MOST_STEPS):
        with np.errstate(divide="ignore"):
            parts = wanted - falls * price[link]
            largest = np.full(price.size, -np.inf)
            np.maximum.at(largest, link, parts)
            parts = np.exp(parts - largest[link])
            total = np.bincount(link, parts, minlength=price.size)[used]
        steepness = np.bincount(link, parts * falls, minlength=price.size)[used] / total
        step = (largest[used] + np.log(total) - log_room[used]) / steepness
        price[used] += step
        if (np.abs(step) <= CLOSE).all():
            prices = np.zeros(log_room.size)
            prices[used] = np.exp(price[used])
            return prices
    raise ConvergenceError(f"no prices were found within {MOST_STEPS} steps; the numbers differ by too much")


@explained
def alone_on_a_link(times: ArrayLike, start: float, level: float, weight: float, beta: float) -> Floats:
    """Returns the total rate of users with utility `log x` that one link alone limits (eq 32, summed).

    `y' = w - beta (y - C~)^+` grows linearly up to the level and then decays to `C~ + w/beta`. In a network, the total
    rate on this link never exceeds this rate from the same start, for any other links and flows (lemma 1).

    Args:
        times: times in s or any unit, at least 0.
        start: total rate at time 0.
        level: `C~`.
        weight: sum of `w/beta_r` over the users, with gains of 1.
        beta: price of a mark.

    >>> alone_on_a_link([0.0, 1.0, 2.0, 99.0], 8.0, 10.0, 2.0, 1.0).round(4).tolist()
    [8.0, 10.0, 11.2642, 12.0]
    """
    positive(weight=weight, beta=beta)
    finite(start=start, level=level)
    time = np.asarray(times, dtype=np.float64)
    reached = max(level - start, 0.0) / weight
    limit = level + weight / beta
    since = np.maximum(time - reached, 0.0)
    later = limit + (max(start, level) - limit) * np.exp(-beta * since)
    return np.asarray(np.where(time < reached, start + weight * time, later))


@explained
def level_change(level: Numbers, load: Numbers, target: Numbers, gain: Numbers) -> Floats:
    """Returns `C~' = a (gamma C - y)`: a link adapts its level without information on its users (section V-D).

    The level does not fall below 0, and does not rise above the target `gamma C`. The load converges to the target if a
    level for this load exists. Otherwise the level converges to 0.

    >>> level_change([5.0, 0.0, 9.0], [10.0, 10.0, 8.0], 9.0, 0.5).tolist()
    [-0.5, 0.0, 0.0]
    """
    level = np.asarray(level, dtype=np.float64)
    change = gain * (np.asarray(target, dtype=np.float64) - load)
    low, high = np.where(level <= 0, 0.0, -np.inf), np.where(level >= target, 0.0, np.inf)
    return np.asarray(np.minimum(np.maximum(change, low), high))


def mm1b_loss(load: ArrayLike, places: ArrayLike) -> Floats:
    """Returns the loss rate of an M/M/1/b queue, `(1-u) u^b / (1-u^{b+1})`, or `1/(b+1)` at `u = 1`.

    Args:
        load: `u`, offered load divided by the capacity. The utilisation is `u (1 - loss)`.
        places: `b`, including the packet in transmission.

    Raises:
        ParameterError: if a load is not positive and finite, or a number of places is fractional or negative.

    >>> mm1b_loss([0.5, 1.0, 2.0], 2).round(6).tolist()
    [0.142857, 0.333333, 0.571429]
    """
    positive(load=load)
    whole(0, places=places)
    u, b = np.broadcast_arrays(np.asarray(load, dtype=np.float64), np.asarray(places, dtype=np.float64))
    # Powers of at most 1 cannot overflow: u^b for loads below 1, and 1 for loads above 1.
    down = -np.abs(np.log(u))
    with np.errstate(invalid="ignore"):
        part = np.where(down == 0, 1 / (b + 1), np.expm1(down) / np.expm1(down * (b + 1)))
    return np.where(u < 1, np.exp(down * b), 1.0) * part
