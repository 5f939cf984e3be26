"""Utility-optimal rates of a network (Kelly, Maulloo, Tan 1998; Kunniyur and Srikant 2003, eq. 3 to 8).

The rates `x` maximise

    sum_i w_i U_i(x_i) - c_i x_i    subject to  y = A x <= C                           hard capacities
    sum_i w_i U_i(x_i) - c_i x_i - beta sum_l int_0^{y_l} (y - C_l)^+ / y dy           a penalty on loss

where `U_i` is `log x` for exponent 0 (proportional fairness) and `-1/x^nu` for exponent `nu` above 0. `nu = 1` is
minimum potential delay fairness, and `nu` to infinity is max-min fairness. `U_i` may also be a sum of such terms, or
any concave function. At the optimum, each flow pays the sum `q_i` of the prices of its links, `w_i U_i'(x_i) = q_i +
c_i`. With hard capacities, only full links have a price. With the penalty, the price is `beta (y - C)^+ / y`.

Prices determine the rate of each flow (`levelflow.theory.networks.demand`). A primal-dual interior-point method
therefore searches only the prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.errors import ConvergenceError, ParameterError
from levelflow.theory.networks.demand import HIGHEST, LOWEST, Falling, Powers
from levelflow.theory.networks.routes import CapacityError, NetworkError, read_capacities, read_crossings
from levelflow.theory.validate import explained, not_negative, positive, read_array, read_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from levelflow.theory.arrays import Floats, Ints
    from levelflow.theory.networks.demand import Demand
    from levelflow.theory.networks.routes import Routes

#: Largest residual of an accepted optimum.
TOLERANCE = 1e-10
MOST_STEPS = 500
#: Product of guess and slack (see `_Problem`) that a Newton step aims at, relative to the mean product.
AIM = 0.1
#: Largest fraction of its distance to 0 that a price or slack covers in one step.
SHORT_OF_ZERO = 0.99
#: Relative decrease of the residual per step length, below which the step is halved; shortest step.
DESCENT, SHORTEST = 0.01, 1e-15
#: Consecutive steps without progress after which the search ends. This happens where demand jumps.
MOST_STUCK = 10
#: Largest number of listed pairs of crossings. For more pairs, a sparse product takes less memory.
MOST_PAIRS = 2_000_000
#: Regularisation that makes prices unique if the same flows cross several full links.
SEPARATE = 1e-13
#: Bound of logarithms, and number of bisections that determine a logarithm to within 0.2.
LARGEST_LOG, HALVINGS = 700.0, 13
#: Load of the fullest link at the first prices, relative to the load at which the link would have its price.
FIRST_LOAD = 0.5
#: Number of rates at which marginal utilities are evaluated, and relative increase above which they are rejected.
PROBES, RISES = 225, 1e-9


class UtilityError(NetworkError):
    """A utility that is not increasing and concave, a negative cost, or a penalty that is not above 0."""


@dataclass(frozen=True)
class Residuals:
    """Violations of the Karush-Kuhn-Tucker conditions by rates and prices, all relative.

    Attributes:
        stationarity: over flows, the largest `|w U'(x) / (q + c) - 1|`. If `U` is not a sum of powers, the smaller of
            this number and the relative difference between rate and demand.
        overload: over links, the largest `y / Y - 1`, at least 0. `Y` is the load at which the link has its price, or
            the capacity if capacities are hard.
        slackness: over links, the largest unused fraction, `|1 - y / Y|`. For a link with a small price, the effect of
            this price replaces the fraction if it is smaller. The effect is the largest fraction of a flow's price that
            the link contributes, or the resulting relative change of the flow's rate if that is smaller.
    """

    stationarity: float
    overload: float
    slackness: float

    @property
    def worst(self) -> float:
        """Largest of the three residuals."""
        return max(self.stationarity, self.overload, self.slackness)


@dataclass(frozen=True)
class Optimum:
    """Optimal rates and prices.

    Attributes:
        rates: per flow, in the unit of the capacities.
        prices: per link, in utility per unit of rate.
        residuals: violations of the optimality conditions at these rates and prices.
    """

    rates: Floats
    prices: Floats
    residuals: Residuals


@explained
def optimum(
    routes: Routes,
    capacities: ArrayLike,
    *,
    weights: ArrayLike = 1.0,
    exponents: ArrayLike = 0.0,
    costs: ArrayLike = 0.0,
    penalty: float | None = None,
) -> Optimum:
    """Returns the rates that maximise total utility, and the prices at which flows demand these rates.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        capacities: per link, in any unit of rate. For a link that marks packets, the load above which it marks.
        weights: `w`, for all flows or per flow. For sums of terms, an array of terms by flows; some may be 0.
        exponents: `nu`, for all flows or per flow: `log x` for 0, `-1/x^nu` above 0. For sums of terms, an array of
            terms by 1 or terms by flows.
        costs: `c`, for all flows or per flow: cost per unit of rate, added to the prices of links. Random losses with
            probability `1 - a` correspond to a cost of `beta (1 - a) / a` and weights `w / a`.
        penalty: `beta`; without it, capacities are hard.

    Raises:
        CapacityError: if a capacity is not a finite number, or 0 on a link that a flow crosses.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a weight or the penalty is not positive and finite, or an exponent or a cost is negative,
            infinite or NaN.
        ConvergenceError: if the numbers differ by more orders of magnitude than floating point can represent.

    >>> optimum([[0, 1], [0], [1]], [3.0, 3.0]).rates.round(6).tolist()
    [1.0, 2.0, 2.0]
    >>> mixture = optimum([[0]] * 2, [2.0], weights=[[1, 0], [1, 2]], exponents=[[0], [1]])  # log x - 1/x, and -2/x
    >>> mixture.rates.round(6).tolist()
    [1.0, 1.0]
    """
    from scipy.special import logsumexp

    weight, exponent = _terms(weights, exponents, len(routes))

    def demand(typical: float) -> tuple[Powers, float]:
        orders = np.where(exponent > 0, exponent, 1.0)
        heights = np.log(weight) + np.log(orders) - exponent * typical
        largest = float(logsumexp(heights, axis=0).max())
        return Powers(heights - largest, 1 + exponent), largest

    return _solve(routes, capacities, costs, penalty, demand)


@explained
def optimum_of(
    marginal: Callable[[Floats], ArrayLike],
    routes: Routes,
    capacities: ArrayLike,
    *,
    costs: ArrayLike = 0.0,
    penalty: float | None = None,
) -> Optimum:
    """Returns the optimum for any concave utilities, which are given by their derivatives.

    Args:
        marginal: maps the rates of all flows to `U'(x)` of each flow. `U'(x)` decreases in `x`. It is at most 0 for
            rates that a flow does not demand at any price. A rate below 1e-12 of a typical capacity counts as 0.
        routes: as for `optimum`.
        capacities: per link, as for `optimum`.
        costs: for all flows or per flow, as for `optimum`.
        penalty: `beta`; without it, capacities are hard.

    Raises:
        UtilityError: if `U'` increases, is not a number, is nowhere above 0, or is not one number per flow.
        NetworkError: as for `optimum`.
        ConvergenceError: if no prices were found. This can happen if `U'` is constant over some rates. The optimum is
            then not unique.

    >>> log_or_less = optimum_of(lambda x: np.array([1, 3]) / (1 + x), [[0], [0]], [2.0])  # log(1 + x), 3 log(1 + x)
    >>> log_or_less.rates.round(6).tolist()
    [0.0, 2.0]
    """

    def demand(typical: float) -> tuple[Falling, float]:
        return _falling(marginal, len(routes), typical)

    return _solve(routes, capacities, costs, penalty, demand)


def _solve(
    routes: Routes,
    capacities: ArrayLike,
    costs: ArrayLike,
    penalty: float | None,
    demand: Callable[[float], tuple[Demand, float]],
) -> Optimum:
    """Scales a problem, solves it, and scales the solution back.

    `demand` maps the logarithm of the unit of rate to the demand of flows, and to the logarithm of the unit of price.
    """
    capacity = read_capacities(capacities)
    flow, link, _ = read_crossings(routes, capacity.size)
    count = len(routes)
    cost = read_each("cost", costs, count, closed=True)
    if penalty is not None:
        positive(penalty=penalty)
    crossed, row = np.unique(link, return_inverse=True)
    if not capacity[crossed].all():
        empty = crossed[np.argmin(capacity[crossed])]
        raise CapacityError(f"link {empty}: capacity 0 is not allowed; a rate of 0 has no finite utility")
    if not count:
        return Optimum(np.zeros(0), np.zeros(capacity.size), Residuals(0.0, 0.0, 0.0))
    available = capacity[crossed]
    typical = float(np.log(available).mean())
    crossing, of_crossing = np.unique(row * count + flow, return_inverse=True)
    with np.errstate(all="ignore"):
        wanted, largest = demand(typical)
        problem = _Problem(
            *np.divmod(crossing, count),
            share=_sums(of_crossing, np.exp(typical) / capacity[link], crossing.size),
            demand=wanted,
            cost=np.exp(np.log(cost) + typical - largest),
            limit=np.exp(np.log(available * (np.inf if penalty is None else penalty)) - largest),
        )
        state, residuals = problem.solve()
        prices = np.zeros(capacity.size)
        prices[crossed] = np.exp(np.log(state.earned) + largest) / available
    return Optimum(state.rates * np.exp(typical), prices, residuals)


@dataclass(frozen=True)
class _State:
    """Quantities that follow from a guess of `_Problem`."""

    #: Revenue of each link: price times capacity.
    earned: Floats
    #: Price that each flow pays per unit of rate.
    paid: Floats
    rates: Floats
    #: Relative increase of the paid price per relative decrease of the rate.
    steepness: Floats
    #: Load at which a link has its price, and actual load, both relative to the capacity.
    room: Floats
    load: Floats


@dataclass(frozen=True)
class _Problem:
    """Problem scaled to values near 1.

    The scales are a typical capacity, and the largest price that a flow would pay at a rate of this capacity.

    The guess is one number `t` per link: `beta (y - C)^+`, the cost of the load above the capacity. With `limit = beta
    C`, the link has its price at a load of `room = 1 + t / limit` capacities. Its revenue is `t / room`. The slack of a
    link is `room` minus its actual load. With hard capacities, the limit is infinite, and `t` is the revenue of the
    link.
    """

    #: Link and flow of each crossing, and number of crossings divided by the capacity. Sorted by link, then by flow.
    link: Ints
    flow: Ints
    share: Floats
    demand: Demand
    cost: Floats
    limit: Floats

    @cached_property
    def pairs(self) -> tuple[Ints, Ints] | None:
        """All pairs of crossings of the same flow, sorted by the first crossing; None if the list would be too long."""
        counts = np.bincount(self.flow)
        others = counts[self.flow]
        if others.sum() > MOST_PAIRS:
            return None
        by_flow = np.argsort(self.flow, kind="stable")
        first = np.repeat(np.arange(self.flow.size), others)
        number = np.arange(first.size) - np.repeat(np.cumsum(others) - others, others)
        return first, by_flow[(np.cumsum(counts) - counts)[self.flow[first]] + number]

    def at(self, guess: Floats) -> _State:
        room = 1 + guess / self.limit
        earned = guess / room
        paid = _sums(self.flow, self.share * earned[self.link], self.cost.size) + self.cost
        wanted = self.demand.at(np.log(paid))
        rates = np.exp(wanted.rates)
        load = _sums(self.link, self.share * rates[self.flow], guess.size)
        return _State(earned, paid, rates, wanted.steepness, room, load)

    def solve(self) -> tuple[_State, Residuals]:
        """Follows the path on which the product of guess and slack is equal on all links, until it vanishes."""
        guess = self.first()
        state = self.at(guess)
        slack = state.room - state.load
        stuck = 0
        for _ in range(MOST_STEPS):
            residuals = self.residuals(state)
            if residuals.worst <= TOLERANCE:
                return state, residuals
            if stuck == MOST_STUCK:
                break
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
            stuck = stuck + 1 if part < SHORTEST else 0
        raise ConvergenceError("no prices were found; needs numbers that differ by less, or demand that does not jump")

    def first(self) -> Floats:
        """Returns the first guess, equal for all links, with which every link has spare capacity."""
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
        """Returns Newton's step towards `guess * slack = aim` and `slack = room - load`.

        Scaled by the root of the guess, the matrix is symmetric and positive definite, and its elements are relative.
        """
        from scipy.linalg import cho_factor, cho_solve

        root = np.sqrt(guess)
        matrix = self.share * root[self.link] * np.sqrt(state.rates / (state.steepness * state.paid))[self.flow]
        system = self.squared(matrix, guess.size)
        diagonal = np.diag_indices_from(system)
        system[diagonal] += (slack + guess / self.limit) * state.room**2
        system[diagonal] *= 1 + SEPARATE
        excess = slack - (state.room - state.load)
        try:
            step = cho_solve(cho_factor(system), root * (aim / guess - slack + excess))
        except (np.linalg.LinAlgError, ValueError):
            raise ConvergenceError("no prices were found; the numbers differ by too much") from None
        by_guess: Floats = root * step * state.room**2
        return by_guess, (aim - guess * slack - slack * by_guess) / guess

    def squared(self, matrix: Floats, links: int) -> Floats:
        """Returns the product of a links-by-flows matrix and its transpose, from its elements at the crossings."""
        if self.pairs is None:
            from scipy.sparse import csr_array

            sparse = csr_array((matrix, (self.link, self.flow)), shape=(links, self.cost.size))
            return np.asarray((sparse @ sparse.T).toarray())
        first, second = self.pairs
        place = self.link[first] * links + self.link[second]
        return _sums(place, matrix[first] * matrix[second], links**2).reshape(links, links)

    def residuals(self, state: _State) -> Residuals:
        """Returns the violations of the optimality conditions."""
        decisive = np.zeros_like(state.load)
        # Prices of flows without demand count, too, because such a flow would have demand at a price of 0.
        stiff = np.where(np.isfinite(state.steepness), np.maximum(state.steepness, 1.0), 1.0)
        np.maximum.at(decisive, self.link, self.share * state.earned[self.link] / (state.paid * stiff)[self.flow])
        filled = state.load / state.room
        return Residuals(
            stationarity=float(np.max(self.demand.misfit(np.log(state.rates), np.log(state.paid)))),
            overload=max(float(np.max(filled)) - 1, 0.0),
            slackness=float(np.max(np.minimum(np.abs(1 - filled), decisive))),
        )


def _sums(places: Ints, values: Floats, count: int) -> Floats:
    """Returns, for each index, the sum of its values."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)


def _distance(guess: Floats, slack: Floats, state: _State, aim: float) -> float:
    """Returns the length of the vector that `direction` brings to 0; infinite if numbers overflow."""
    length = float(
        np.hypot(np.linalg.norm((slack + state.load) / state.room - 1), np.linalg.norm(guess * slack / aim - 1))
    )
    return length if np.isfinite(length) else np.inf


def _terms(weights: ArrayLike, exponents: ArrayLike, flows: int) -> tuple[Floats, Floats]:
    """Returns weights and exponents as arrays, terms by flows."""
    if np.ndim(weights) < 2:
        exponent = read_each("exponent", exponents, flows, closed=True)
        return read_each("weight", weights, flows)[None, :], exponent[None, :]
    weight, raised = read_array("weight", weights), read_array("exponent", exponents)
    terms = len(weight)
    if weight.shape != (terms, flows) or raised.shape not in {(), (terms, 1), (terms, flows)} or not terms:
        raise UtilityError(
            f"weights of shape {weight.shape} and exponents of shape {raised.shape} for {flows} flows; "
            "needs terms by flows, and for exponents perhaps terms by 1"
        )
    raised = np.broadcast_to(raised, weight.shape)
    not_negative(exponent=raised, weight=weight)
    if not weight.any(axis=0).all():
        raise ParameterError(f"flow {np.argmin(weight.any(axis=0))}: all weights are 0; needs one above 0")
    return weight, raised


def _falling(marginal: Callable[[Floats], ArrayLike], flows: int, typical: float) -> tuple[Falling, float]:
    """Returns the demand of flows with the given marginal utilities, and the logarithm of a typical price.

    Raises:
        UtilityError: if the marginal utilities are not decreasing numbers.
    """
    rates = np.exp(typical + np.linspace(LOWEST, HIGHEST, PROBES))
    values = np.empty((PROBES, flows))
    for number, rate in enumerate(rates):
        found = np.asarray(marginal(np.full(flows, rate)), dtype=np.float64)
        if found.shape != (flows,):
            raise UtilityError(f"marginal utilities of shape {found.shape} for {flows} flows; needs one each")
        values[number] = found
    bad = np.argwhere(np.isnan(values))
    if bad.size:
        number, flow = bad[0]
        raise UtilityError(f"flow {flow}: U'({rates[number]:.3g}) is not a number; needs one at each rate above 0")
    rises = np.argwhere(values[1:] > values[:-1] + RISES * np.abs(values[:-1]))
    if rises.size:
        number, flow = rises[0]
        here, there = rates[number : number + 2]
        raise UtilityError(f"flow {flow}: U' rises from {here:.3g} to {there:.3g}; needs a concave utility")
    if not (values[0] > 0).all():
        raise UtilityError(f"flow {np.argmin(values[0])}: U' is nowhere above 0; needs a utility that rises at first")
    below = np.where(np.isfinite(values[: PROBES // 2 + 1]), values[: PROBES // 2 + 1], 0.0).max(axis=1)
    largest = float(np.log(below[np.flatnonzero(below > 0)[-1]])) + typical
    return Falling(lambda x: np.asarray(marginal(x)), typical, largest - typical), largest
