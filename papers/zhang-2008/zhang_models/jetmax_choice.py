"""JetMax in a network whose flows select their bottlenecks (Zhang 2008, sections VI.5.1, 5.3 and 6.4).

    g+ = (gamma C - u+) / N        p+ = 1 - gamma C / y+            (150)
    wanted = (1 - tau) x + tau g+ of the bottleneck                 (134)

Senders decrease at once. An increase is first proposed: the loads `u+` and `y+` include proposed rates. The rate
increases when no link of the path has `p+` above 0. A flow moves to the link with the largest `p+` on its path. Among
links with `p+` near 0, a flow near equilibrium moves to the link with the smallest `g+` (135, 136). In both cases, the
flow moves only if the new link has a smaller `g+` than its bottleneck. For a link without responsive flows, `g+` is the
rate that this flow would get. Feedback is immediate. In each step, only a random half of the flows may move.

Without proposals, rates follow a value of `g` that the next moves change, and flows repeat the same moves for ever. If
all flows may move at once, one or two of 1000 networks (50 flows over 10 links) still do not converge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc
from levelflow.theory.networks.routes import Routes, crossing_matrix, read_capacities
from levelflow.theory.validate import explained, read_each, read_number

#: Largest price that counts as 0. Such a price approves proposals. Without this tolerance, loads that still decrease
#: would block all increases. A flow whose proposal is rejected receives a larger price, so it cannot wait for ever.
ZERO = 1e-3
#: Largest relative change of a rate at equilibrium.
STILL = 1e-13
#: Smallest rate, relative to the smallest target.
LEAST = 1e-9
#: Fraction of the flows that may move in a step.
READY = 0.5


class Settled(NamedTuple):
    """Rates and bottlenecks at the end of an iteration.

    Attributes:
        rates: rate of each flow.
        bottlenecks: bottleneck of each flow.
        steps: number of steps until nothing changes; -1 if changes continue.
    """

    rates: Floats
    bottlenecks: Ints
    steps: int


@explained
def settle(
    routes: Routes,
    targets: ArrayLike,
    start: ArrayLike,
    tau: float = 0.6,
    *,
    near: float = 0.05,
    zero: float = ZERO,
    ready: float = READY,
    most: int = 5000,
    seed: int = 1,
) -> Settled:
    """Iterates JetMax until nothing changes.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        targets: `gamma C`, per link, above 0.
        start: rates, per flow, above 0.
        tau: gain, at most 1; no rate then becomes negative.
        near: largest relative distance of a rate from `g` that counts as equilibrium.
        zero: largest size of a price that counts as 0.
        ready: fraction of the flows that may move in a step, at most 1.
        most: largest number of steps.
        seed: seed of the random choice of flows that may move.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a target, a rate or a number is not above 0.

    >>> settle([[0, 1], [0], [1]], [10.0, 4.0], [1.0, 1.0, 1.0]).rates.round(9).tolist()
    [2.0, 8.0, 2.0]
    """
    target = read_capacities(targets)
    crossings = crossing_matrix(routes, target.size)
    if not target[crossings.any(axis=0)].all():
        raise ParameterError("a target of 0 is not allowed; needs a number > 0 on each link that a flow crosses")
    rate = read_each("start", start, len(routes))
    gain, ready = read_number("tau", tau, high=1.0), read_number("ready", ready, high=1.0)
    read_number("zero", zero)
    who, random = np.arange(len(routes)), np.random.default_rng(seed)
    least = LEAST * target.min(initial=np.inf)
    elsewhere = np.where(crossings > 0, 0.0, -np.inf)
    proposed, chosen, still = rate.copy(), (emkc.price(rate @ crossings, target) + elsewhere).argmax(axis=1), 0
    for step in range(1, most + 1):
        before, load = rate, proposed @ crossings
        price = emkc.price(load, target)
        share = _shares(crossings, proposed, load, target, chosen)
        approved = (price + elsewhere).max(axis=1) <= zero
        rate = np.where(approved, proposed, rate)
        better = _move(elsewhere, np.where(np.abs(price) <= zero, 0.0, price), share, chosen, rate, near)
        moved = np.where(random.random(who.size) < ready, better, chosen)
        wanted = (1 - gain) * rate + gain * np.maximum(share[who, moved], least)
        rate, proposed = np.minimum(rate, wanted), wanted
        at_rest = np.array_equal(better, chosen) and (np.abs(proposed - before) <= STILL * rate).all()
        still, chosen = still + 1 if at_rest else 0, moved
        if still > 1:
            return Settled(rate, chosen, step)
    return Settled(rate, chosen, -1)


def _shares(crossings: Floats, proposed: Floats, load: Floats, target: Floats, chosen: Ints) -> Floats:
    """Returns `g` for each flow (rows) and link (columns)."""
    times = crossings[np.arange(chosen.size), chosen]
    own = np.bincount(chosen, times * proposed, target.size)
    number = np.bincount(chosen, times, target.size)
    left = target - (load - own)
    return np.where(number > 0, left / np.maximum(number, 1.0), left + proposed[:, None])


def _move(elsewhere: Floats, price: Floats, share: Floats, chosen: Ints, rate: Floats, near: float) -> Ints:
    """Returns the bottleneck to which each flow would move. `elsewhere` is -inf at links that a flow does not cross."""
    who = np.arange(chosen.size)
    largest = price + elsewhere
    among = largest == largest.max(axis=1, keepdims=True)
    best = np.where(among, share, np.inf).argmin(axis=1)
    own, other = share[who, chosen], share[who, best]
    rests = np.abs(rate - own) <= near * np.abs(own)
    moves = (other < own) & (rests | (price[best] > price[chosen]))
    return np.where(moves, best, chosen)
