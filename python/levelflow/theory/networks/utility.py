"""Utility-optimal rates of a network (Kelly, Maulloo, Tan 1998; Kunniyur and Srikant 2003, eq. 3 to 8).

The rates `x` maximise

    sum_i w_i U_i(x_i) - c_i x_i    subject to  y = A x <= C                           hard capacities
    sum_i w_i U_i(x_i) - c_i x_i - beta sum_l int_0^{y_l} (y - C_l)^+ / y dy           a penalty on loss

where `U_i` is `log x` for exponent 0 (proportional fairness) and `-1/x^nu` for exponent `nu` above 0 (1: minimum
potential delay; to infinity: max-min), a sum of such terms, or any concave function. At the optimum each flow pays
the sum `q_i` of the prices of its links, `w_i U_i'(x_i) = q_i + c_i`, and a link has a price only where it is full, or,
with the penalty, `beta (y - C)^+ / y`.

Given prices, rates follow flow by flow (`levelflow.theory.networks.demand`), so only prices are sought, by a
primal-dual interior-point method.
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

#: Residuals of an optimum.
TOLERANCE = 1e-10
MOST_STEPS = 500
#: Where, of what full links earn, a step aims at.
AIM = 0.1
#: A step goes at most this part of the way to where a price or a slack would be 0.
SHORT_OF_ZERO = 0.99
#: A step that lowers the residual by less than this part of its length is halved, until it is too short to matter.
DESCENT, SHORTEST = 0.01, 1e-15
#: So many steps in a row that do not matter are the end, where demand jumps.
MOST_STUCK = 10
#: Pairs of crossings that are listed; beyond, a sparse product takes less memory.
MOST_PAIRS = 2_000_000
#: Prices of full links that the same flows cross are not unique; this tells them apart.
SEPARATE = 1e-13
#: The logarithms of numbers lie within this; so many halvings find one to a fifth.
LARGEST_LOG, HALVINGS = 700.0, 13
#: Load of the fullest link at the first prices, over the one at which it would have them.
FIRST_LOAD = 0.5
#: Marginal utilities are tried at so many rates, and rise if they do by more than this share.
PROBES, RISES = 225, 1e-9


class UtilityError(NetworkError):
    """A utility that is not increasing and concave, a cost below 0, or a penalty that is not above 0."""


@dataclass(frozen=True)
class Residuals:
    """How far rates and prices are from the conditions of Karush, Kuhn and Tucker; all are shares of 1.

    Attributes:
        stationarity: over flows, the largest `|w U'(x) / (q + c) - 1|`; for utilities other than sums of powers, or the
            share of the rate that would make up for it, if that is less.
        overload: over links, the largest `y / Y - 1`, at least 0; `Y` is the load at which the link has its price, or
            the capacity if those are hard.
        slackness: over links, the largest of what is unused, `1 - y / Y`; a link of small price counts at most with its
            largest share in what a flow pays, or the share of the rate that this is worth, if less.
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
    """Returns the rates of largest total utility, and the prices at which each flow wants its rate.

    Args:
        routes: per flow, the indices of the links that it crosses; a link that is crossed twice counts twice.
        capacities: per link, in any unit of rate; where links mark, the load at which they begin.
        weights: `w`, for all flows or per flow. For mixtures terms by flows, of which some may be 0.
        exponents: `nu`: 0 is `log x`, above 0 is `-1/x^nu`; for all flows or per flow, for mixtures for all flows of a
            term (terms by 1) or terms by flows.
        costs: `c`, for all flows or per flow: what a unit of rate costs besides its links. Losses at random, with
            probability `1 - a`, are a cost of `beta (1 - a) / a` and weights `w / a`.
        penalty: `beta`; without it, capacities are hard.

    Raises:
        CapacityError: if a capacity is not a finite number, or 0 on a link that a flow crosses.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a weight or the penalty is not positive and finite, or an exponent or a cost is negative,
            infinite or NaN.
        ConvergenceError: if the numbers differ by more than floating point can hold.

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
    """Returns the optimum for any concave utilities, given by their derivatives.

    Args:
        marginal: from the rates of all flows to `U'(x)` of each, element by element; it falls in `x`, and is 0 or less
            from where no more is wanted. A rate below a part of 1e12 of a typical capacity counts as 0.
        routes: as for `optimum`, like what follows.
        capacities: per link.
        costs: for all flows or per flow.
        penalty: `beta`; without it, capacities are hard.

    Raises:
        UtilityError: if `U'` rises somewhere, is not a number, is nowhere above 0, or not one number for each flow.
        NetworkError: as for `optimum`.
        ConvergenceError: if no prices were found, as can be where `U'` stays the same over some rates, so that many are
            optimal.

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
    """Scales a problem, solves it, and scales its solution back.

    `demand` takes the logarithm of the unit of rate to what flows want and the logarithm of the unit of utility.
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
    """What follows from a guess."""

    #: What each link earns: price times capacity.
    earned: Floats
    #: What each flow pays for a unit of rate.
    paid: Floats
    rates: Floats
    #: By how many small shares what a flow pays must grow for its rate to fall by one.
    steepness: Floats
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

    #: Link, flow, and how often they cross, over the capacity; in the order of links, and of flows at each.
    link: Ints
    flow: Ints
    share: Floats
    demand: Demand
    cost: Floats
    limit: Floats

    @cached_property
    def pairs(self) -> tuple[Ints, Ints] | None:
        """All pairs of crossings of the same flow, in the order of the first; None where they are too many to list."""
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
        """Follows the path on which guess times slack is the same on every link, to where it is nothing."""
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
        """Returns a matrix, of links by flows and given at the crossings, times its transpose."""
        if self.pairs is None:
            from scipy.sparse import csr_array

            sparse = csr_array((matrix, (self.link, self.flow)), shape=(links, self.cost.size))
            return np.asarray((sparse @ sparse.T).toarray())
        first, second = self.pairs
        place = self.link[first] * links + self.link[second]
        return _sums(place, matrix[first] * matrix[second], links**2).reshape(links, links)

    def residuals(self, state: _State) -> Residuals:
        """Evaluates the conditions of optimality."""
        decisive = np.zeros_like(state.load)
        # Who wants nothing would want something at a price of 0, so prices matter to it, too.
        stiff = np.where(np.isfinite(state.steepness), np.maximum(state.steepness, 1.0), 1.0)
        np.maximum.at(decisive, self.link, self.share * state.earned[self.link] / (state.paid * stiff)[self.flow])
        filled = state.load / state.room
        return Residuals(
            stationarity=float(np.max(self.demand.misfit(np.log(state.rates), np.log(state.paid)))),
            overload=max(float(np.max(filled)) - 1, 0.0),
            slackness=float(np.max(np.minimum(np.abs(1 - filled), decisive))),
        )


def _sums(places: Ints, values: Floats, count: int) -> Floats:
    """Adds up the values of each place."""
    return np.asarray(np.bincount(places, values, count), dtype=np.float64)


def _distance(guess: Floats, slack: Floats, state: _State, aim: float) -> float:
    """Returns the length of what `direction` brings to 0; infinite where numbers overflow."""
    length = float(
        np.hypot(np.linalg.norm((slack + state.load) / state.room - 1), np.linalg.norm(guess * slack / aim - 1))
    )
    return length if np.isfinite(length) else np.inf


def _terms(weights: ArrayLike, exponents: ArrayLike, flows: int) -> tuple[Floats, Floats]:
    """Returns weights and exponents, terms by flows."""
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
    """Returns the demand of flows with such marginal utilities, and the logarithm of what is a typical price.

    Raises:
        UtilityError: if they are not numbers that fall.
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
