"""Utility-optimal rates of a network (Kelly, Maulloo, Tan 1998; Kunniyur and Srikant 2003, eq. 3 to 8).

The rates `x` maximise

    sum_i w_i U_i(x_i) - c_i x_i    subject to  y = A x <= C                           hard capacities
    sum_i w_i U_i(x_i) - c_i x_i - beta sum_l int_0^{y_l} (y - C_l)^+ / y dy           a penalty on loss

where `U_i` is `log x` for exponent 0 (proportional fairness) and `-1/x^nu` for exponent `nu` above 0 (1: minimum
potential delay; to infinity: max-min). At the optimum each flow pays the sum `q_i` of the prices of its links,
`w_i U_i'(x_i) = q_i + c_i`, and a link has a price only where it is full, or, with the penalty, `beta (y - C)^+ / y`.

Given prices, rates follow in closed form, so only prices are sought, by a primal-dual interior-point method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from levelflow.theory.network import CapacityError, NetworkError, read_capacities, read_crossings, read_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from levelflow.theory.network import Floats, Routes

#: Residuals of an optimum.
TOLERANCE = 1e-10
MOST_STEPS = 500
#: Where, of what full links earn, a step aims at.
AIM = 0.1
#: A step goes at most this part of the way to where a price or a slack would be 0.
SHORT_OF_ZERO = 0.99
#: A step that lowers the residual by less than this part of its length is halved, until it is too short to matter.
DESCENT, SHORTEST = 0.01, 1e-15
#: Prices of full links that the same flows cross are not unique; this tells them apart.
SEPARATE = 1e-13
#: The logarithms of numbers lie within this; so many halvings find one to a fifth.
LARGEST_LOG, HALVINGS = 700.0, 13
#: Load of the fullest link at the first prices, over the one at which it would have them.
FIRST_LOAD = 0.5


class UtilityError(NetworkError):
    """A utility that is not increasing and concave, a cost below 0, or a penalty that is not above 0."""


class ConvergenceError(ArithmeticError):
    """Prices that floating point cannot find, as where weights differ by hundreds of decades."""


@dataclass(frozen=True)
class Residuals:
    """How far rates and prices are from the conditions of Karush, Kuhn and Tucker; all are shares of 1.

    Attributes:
        stationarity: over flows, the largest `|w U'(x) / (q + c) - 1|`.
        overload: over links, the largest `y / Y - 1`, at least 0; `Y` is the load at which the link has its price, or
            the capacity if those are hard.
        slackness: over links, the largest of what is unused, `1 - y / Y`; a link of small price counts at most with its
            largest share in what a flow pays.
    """

    stationarity: float
    overload: float
    slackness: float

    @property
    def worst(self) -> float:
        """The largest of them."""
        return max(self.stationarity, self.overload, self.slackness)


@dataclass(frozen=True)
class Optimum:
    """Optimal rates.

    Attributes:
        rates: per flow, in the unit of the capacities.
        prices: per link, in utility per unit of rate.
        residuals: of the conditions of optimality at these rates and prices.
    """

    rates: Floats
    prices: Floats
    residuals: Residuals


def optimum(
    routes: Routes,
    capacities: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    exponents: ArrayLike = 0.0,
    costs: ArrayLike = 0.0,
    penalty: float | None = None,
) -> Optimum:
    """Returns the rates of largest total utility, and the prices at which each flow wants its rate.

    Args:
        routes: per flow, the indices of the links that it crosses; a link that is crossed twice counts twice.
        capacities: per link, in any unit of rate; where links mark, the load at which they begin.
        weights: `w`, per flow; 1 each by default.
        exponents: `nu`, for all flows or per flow: 0 is `log x`, above 0 is `-1/x^nu`.
        costs: `c`, for all flows or per flow: what a unit of rate costs besides its links. Losses at random, with
            probability `1 - a`, are a cost of `beta (1 - a) / a` and weights `w / a`.
        penalty: `beta`; without it, capacities are hard.

    Raises:
        CapacityError: if a capacity is not a finite number, or 0 on a link that a flow crosses.
        RouteError: if a flow crosses no link or an unknown one.
        WeightError: if a weight is not positive and finite.
        UtilityError: if an exponent or a cost is negative, infinite or NaN, or the penalty is not above 0.
        ConvergenceError: if the numbers differ by more than floating point can hold.

    >>> optimum([[0, 1], [0], [1]], [3.0, 3.0]).rates.round(6).tolist()
    [1.0, 2.0, 2.0]
    """
    capacity = read_capacities(capacities)
    flow, link, _ = read_crossings(routes, capacity.size)
    count = len(routes)
    exponent = _per_flow("exponent", exponents, count)
    weight = read_weights(weights, count)
    cost = _per_flow("cost", costs, count)
    if penalty is not None and not (np.isfinite(penalty) and penalty > 0):
        raise UtilityError(f"penalty {penalty} is not allowed; needs a finite number > 0")
    crossed, row = np.unique(link, return_inverse=True)
    if not capacity[crossed].all():
        empty = crossed[np.argmin(capacity[crossed])]
        raise CapacityError(f"link {empty}: capacity 0 is not allowed; a rate of 0 has no finite utility")
    if not count:
        return Optimum(np.zeros(0), np.zeros(capacity.size), Residuals(0.0, 0.0, 0.0))
    available = capacity[crossed]
    typical = np.log(available).mean()
    earnings = np.log(weight) + np.log(np.where(exponent > 0, exponent, 1.0)) - exponent * typical
    largest = earnings.max()
    with np.errstate(all="ignore"):
        problem = _Problem(
            share=csr_array((np.exp(typical) / capacity[link], (row, flow)), shape=(crossed.size, count)),
            wanted=earnings - largest,
            order=1 + exponent,
            cost=np.exp(np.log(cost) + typical - largest),
            limit=np.exp(np.log(available * (np.inf if penalty is None else penalty)) - largest),
        )
        state, residuals = problem.solve()
        prices = np.zeros(capacity.size)
        prices[crossed] = np.exp(np.log(state.earned) + largest) / available
    return Optimum(state.rates * np.exp(typical), prices, residuals)


@dataclass(frozen=True)
class _State:
    """What follows from a guess."""

    #: What each link earns: price times capacity.
    earned: Floats
    #: What each flow pays for a unit of rate.
    paid: Floats
    rates: Floats
    #: Load at which a link has its price, and load, over the capacity.
    room: Floats
    load: Floats


@dataclass(frozen=True)
class _Problem:
    """A problem whose units are a typical capacity and what the keenest flow would pay for it: numbers near 1.

    The guess is `t` per link: `beta (y - C)^+`, what the load costs above the capacity. The link has then room for
    `1 + t / limit` capacities, with `limit = beta C`, and earns `t` over that. With hard capacities the limit is
    infinite, and `t` is what the link earns.
    """

    #: Links by flows: how often they cross, over the capacity.
    share: csr_array
    #: Per flow, the logarithm of `w U'(1)`.
    wanted: Floats
    #: `nu + 1`: if what a flow pays grows by a small share, its rate falls by that share over the order.
    order: Floats
    cost: Floats
    limit: Floats

    def at(self, guess: Floats) -> _State:
        room = 1 + guess / self.limit
        earned = guess / room
        paid = self.share.T @ earned + self.cost
        rates = np.exp((self.wanted - np.log(paid)) / self.order)
        return _State(earned, paid, rates, room, self.share @ rates)

    def solve(self) -> tuple[_State, Residuals]:
        """Follows the path on which guess times slack is the same on every link, to where it is nothing."""
        guess = self.first()
        state = self.at(guess)
        slack = state.room - state.load
        for _ in range(MOST_STEPS):
            residuals = self.residuals(state)
            if residuals.worst <= TOLERANCE:
                return state, residuals
            aim = AIM * float(np.mean(guess * slack))
            by_guess, by_slack = self.direction(guess, slack, state, aim)
            before = _distance(guess, slack, state, aim)
            part = min(1.0, SHORT_OF_ZERO / max(np.max(-by_guess / guess), np.max(-by_slack / slack), SHORT_OF_ZERO))
            while True:
                moved, left = guess + part * by_guess, slack + part * by_slack
                state = self.at(moved)
                if _distance(moved, left, state, aim) <= (1 - DESCENT * part) * before or part < SHORTEST:
                    break
                part /= 2
            guess, slack = moved, left
        raise ConvergenceError(f"no prices were found within {MOST_STEPS} steps; the numbers differ by too much")

    def first(self) -> Floats:
        """Returns equal guesses at which every link has room to spare."""
        low, high = -LARGEST_LOG, LARGEST_LOG
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            state = self.at(np.full(self.limit.size, np.exp(middle)))
            if np.max(state.load / state.room) > FIRST_LOAD:
                low = middle
            else:
                high = middle
        return np.full(self.limit.size, np.exp(high))

    def direction(self, guess: Floats, slack: Floats, state: _State, aim: float) -> tuple[Floats, Floats]:
        """Returns Newton's step towards guess times slack = aim and slack = room - load.

        Scaled by the root of the guess, the matrix is symmetric, positive definite and made of shares of 1.
        """
        root = np.sqrt(guess)
        matrix = self.share.multiply(root[:, None]).multiply(np.sqrt(state.rates / (self.order * state.paid))[None, :])
        system = (matrix @ matrix.T).toarray()
        diagonal = np.diag_indices_from(system)
        system[diagonal] += (slack + guess / self.limit) * state.room**2
        system[diagonal] *= 1 + SEPARATE
        excess = slack - (state.room - state.load)
        try:
            step = cho_solve(cho_factor(system), root * (aim / guess - slack + excess))
        except (LinAlgError, ValueError):
            raise ConvergenceError("no prices were found; the numbers differ by too much") from None
        by_guess: Floats = root * step * state.room**2
        return by_guess, (aim - guess * slack - slack * by_guess) / guess

    def residuals(self, state: _State) -> Residuals:
        """Evaluates the conditions of optimality."""
        entries = self.share.tocoo()
        link, flow = entries.coords
        decisive = np.zeros_like(state.load)
        np.maximum.at(decisive, link, entries.data * state.earned[link] / state.paid[flow])
        filled = state.load / state.room
        wanted = np.exp(self.wanted - self.order * np.log(state.rates))
        return Residuals(
            stationarity=float(np.max(np.abs(wanted / state.paid - 1))),
            overload=max(float(np.max(filled)) - 1, 0.0),
            slackness=float(np.max(np.minimum(np.abs(1 - filled), decisive))),
        )


def _distance(guess: Floats, slack: Floats, state: _State, aim: float) -> float:
    """Returns the length of what `direction` brings to 0; infinite where numbers overflow."""
    length = float(
        np.hypot(np.linalg.norm((slack + state.load) / state.room - 1), np.linalg.norm(guess * slack / aim - 1))
    )
    return length if np.isfinite(length) else np.inf


def _per_flow(what: str, values: ArrayLike, flows: int) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape not in {(), (flows,)}:
        raise UtilityError(f"{array.size} {what}s for {flows} flows; needs one, or one each")
    value = np.full(flows, array)
    bad = np.flatnonzero(~(np.isfinite(value) & (value >= 0)))
    if bad.size:
        raise UtilityError(f"flow {bad[0]}: {what} {value[bad[0]]} is not allowed; needs a finite number >= 0")
    return value
