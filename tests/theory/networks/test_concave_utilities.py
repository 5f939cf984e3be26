"""Mixtures of utilities and arbitrary concave utilities, compared with cvxpy and the Karush-Kuhn-Tucker conditions."""

import warnings

import cvxpy
import numpy as np
import pytest
from conftest import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st
from test_utility import incidence

from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.assignment import random_routes
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.networks.utility import UtilityError, optimum, optimum_of
from levelflow.theory.queues.marking import excess_paid

SEEDS = st.integers(0, 2**32)


def network(random, flows, links):
    routes = random_routes(random, flows, links, 1, min(links, 5))
    return routes, random.uniform(1, 100, links)


def best_by_cvxpy(routes, capacities, utility, penalty, costs=0.0):
    matrix = incidence(routes, len(capacities))
    rates = cvxpy.Variable(len(routes))
    if penalty is None:
        within = [matrix @ rates <= capacities, rates >= 0]
        paid = 0.0
    else:
        # beta int_0^y (y - C)^+ / y dy = beta (s - C - C log(s / C)) with s = max(y, C)
        above = cvxpy.Variable(len(capacities))
        within = [above >= matrix @ rates, above >= capacities, rates >= 0]
        paid = penalty * cvxpy.sum(above - cvxpy.multiply(capacities, cvxpy.log(above)))
    problem = cvxpy.Problem(cvxpy.Maximize(utility(rates) - costs * cvxpy.sum(rates) - paid), within)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assume(problem.status == cvxpy.OPTIMAL)  # otherwise cvxpy reports a possibly wrong solution
    return rates.value


@examples(60)
@given(SEEDS, st.sampled_from([None, 0.3, 5.0]))
def test_mixtures_of_log_and_power_have_the_rates_of_cvxpy(seed, penalty):
    random = np.random.default_rng(seed)
    flows = random.integers(1, 8)
    routes, capacities = network(random, flows, random.integers(1, 5))
    weights = random.uniform(0.1, 10, (3, flows)) * (random.random((3, flows)) < [[1], [0.7], [0.7]])
    costs = random.uniform(0, 0.1)

    def utility(x):
        powers = weights[1] @ cvxpy.inv_pos(x) + weights[2] @ cvxpy.power(x, -2)
        return weights[0] @ cvxpy.log(x) - powers

    found = optimum(routes, capacities, weights=weights, exponents=[[0], [1], [2]], costs=costs, penalty=penalty)
    assert found.rates == pytest.approx(best_by_cvxpy(routes, capacities, utility, penalty, costs), rel=1e-3)


@examples(60)
@given(SEEDS, st.sampled_from([None, 0.3, 5.0]))
def test_utilities_with_an_end_or_a_finite_beginning_have_the_rates_of_cvxpy(seed, penalty):
    random = np.random.default_rng(seed)
    flows = random.integers(2, 8)
    routes, capacities = network(random, flows, random.integers(1, 5))
    first, enough, weights = np.arange(flows) % 2 == 0, random.uniform(1, 60, flows), random.uniform(0.1, 10, flows)

    def marginal(x):  # derivatives of log(1 + x) and -(x - enough)^2 / 20
        return np.where(first, weights / (1 + x), (enough - x) / 10)

    def utility(x):
        return (weights * first) @ cvxpy.log1p(x) - (~first / 20) @ cvxpy.square(x - enough)

    def worth(x):
        load = incidence(routes, len(capacities)) @ x
        paid = 0.0 if penalty is None else penalty * excess_paid(capacities, load).sum()
        return utility(x).value - paid

    found = optimum_of(marginal, routes, capacities, penalty=penalty)
    expected = np.maximum(best_by_cvxpy(routes, capacities, utility, penalty), 0.0)
    assert worth(found.rates) >= worth(expected) - 1e-6  # cvxpy's optimum is slightly worse and differs slightly
    assert found.rates == pytest.approx(expected, rel=1e-3, abs=1e-1)


@examples(40)
@given(SEEDS, st.integers(1, 200), st.integers(1, 200), st.sampled_from([None, 0.1, 10.0]))
def test_mixtures_in_large_networks_meet_the_conditions_of_optimality(seed, flows, links, penalty):
    random = np.random.default_rng(seed)
    routes, capacities = network(random, flows, links)
    weights, exponents = random.uniform(0.1, 10, (2, flows)), random.choice([0, 0.5, 1, 2], (2, flows))
    costs = random.choice([0, 0.1], flows)
    matrix = incidence(routes, links)

    def marginal(x):
        return (weights * np.where(exponents > 0, exponents, 1) * x ** (-exponents - 1)).sum(axis=0)

    found = optimum(routes, capacities, weights=weights, exponents=exponents, costs=costs, penalty=penalty)
    paid = matrix.T @ found.prices + costs
    room = capacities if penalty is None else capacities / (1 - found.prices / penalty)
    load = matrix @ found.rates
    assert (found.prices >= 0).all()
    assert marginal(found.rates) == pytest.approx(paid, rel=1e-9)
    assert (load <= room * (1 + 1e-9)).all()
    assert found.prices @ np.abs(room - load) <= 1e-8 * (found.rates @ paid)
    # The same utility, given by its derivative.
    again = optimum_of(marginal, routes, capacities, costs=costs, penalty=penalty)
    assert again.rates == pytest.approx(found.rates, rel=1e-7)
    assert again.residuals.worst <= 1e-9


@examples(40)
@given(SEEDS, st.integers(1, 200), st.integers(1, 200), st.sampled_from([None, 0.1, 10.0]))
@example(596, 1, 199, None)  # the demand of the only flow is 0 at the initial price
def test_any_utilities_in_large_networks_meet_the_conditions_of_optimality(seed, flows, links, penalty):
    random = np.random.default_rng(seed)
    routes, capacities = network(random, flows, links)
    enough, height = random.uniform(0.1, 30, flows), random.uniform(0.01, 10, flows)
    matrix = incidence(routes, links)

    def marginal(x):
        return height * (1 - x / enough)

    found = optimum_of(marginal, routes, capacities, penalty=penalty)
    paid = matrix.T @ found.prices
    room = capacities if penalty is None else capacities / (1 - found.prices / penalty)
    load = matrix @ found.rates
    some = found.rates > 1e-9
    wanted = enough * np.maximum(1 - paid / height, 0)
    assert (found.prices >= 0).all()
    assert found.rates == pytest.approx(wanted, rel=1e-8, abs=1e-8)
    assert (paid[~some] >= height[~some] * (1 - 1e-9)).all()
    assert (load <= room * (1 + 1e-9)).all()
    assert found.prices @ np.abs(room - load) <= 1e-7 * (enough @ height)


def test_a_mixture_on_one_link_in_closed_form():
    # log x - w/x: 1/x + w/x^2 = q, so x = (1 + sqrt(1 + 4 q w)) / (2 q).
    w, q = np.array([0.0, 1.0, 10.0]), 0.25
    rates = (1 + np.sqrt(1 + 4 * q * w)) / (2 * q)
    found = optimum([[0]] * 3, [rates.sum()], weights=[[1, 1, 1], w], exponents=[[0], [1]])
    assert found.rates == pytest.approx(rates)
    assert found.prices == pytest.approx([q])


def test_one_term_is_no_mixture():
    routes, capacities = [[0, 1], [0], [1]], [3e9, 2e9]
    alone = optimum(routes, capacities, weights=[1, 2, 3], exponents=[0, 1, 2])
    mixture = optimum(routes, capacities, weights=[[1, 0, 0], [0, 2, 3]], exponents=[[5, 0, 0], [0, 1, 2]][::-1][::-1])
    assert mixture.rates[1:] == pytest.approx(
        optimum(routes, capacities, weights=[1, 2, 3], exponents=[5, 1, 2]).rates[1:]
    )
    assert (
        optimum(routes, capacities, weights=[[1, 2, 3]], exponents=[[0, 1, 2]]).rates.tolist() == alone.rates.tolist()
    )


def test_links_of_satisfied_users_have_price_zero():
    found = optimum_of(lambda x: 3.0 - x, [[0], [0]], [10.0])
    assert found.rates == pytest.approx([3, 3])
    assert found.prices == pytest.approx([0], abs=1e-9)


@pytest.mark.parametrize(
    ("error", "line", "call"),
    [
        (
            UtilityError,
            r"flow 0: U' rises from .* to .*; needs a concave utility",
            lambda: optimum_of(np.sqrt, [[0]], [1]),
        ),
        (
            UtilityError,
            "flow 1: U' rises",
            lambda: optimum_of(lambda x: np.array([1 / x[0], 2 + np.sin(x[1])]), [[0], [0]], [1]),
        ),
        (UtilityError, "U' is nowhere above 0", lambda: optimum_of(lambda x: -x, [[0]], [1])),
        (UtilityError, r"is not a number", lambda: optimum_of(lambda x: x * np.nan, [[0]], [1])),
        (UtilityError, r"shape \(\) for 1 flows; needs one each", lambda: optimum_of(lambda x: 1.0, [[0]], [1])),
        (ParameterError, r"cost -1.0", lambda: optimum_of(lambda x: 1 / x, [[0]], [1], costs=-1)),
        (ParameterError, r"penalty nan", lambda: optimum_of(lambda x: 1 / x, [[0]], [1], penalty=np.nan)),
        (CapacityError, r"link 0: capacity 0", lambda: optimum_of(lambda x: 1 / x, [[0]], [0])),
        (RouteError, r"flow 0 crosses no link", lambda: optimum_of(lambda x: 1 / x, [[]], [1])),
        (ParameterError, r"flow 1: all weights are 0", lambda: optimum([[0]] * 2, [1], weights=[[1, 0], [1, 0]])),
        (ParameterError, r"weight 0, 1: -1.0", lambda: optimum([[0]] * 2, [1], weights=[[1, -1], [1, 0]])),
        (
            ParameterError,
            r"exponent 1, 0: nan",
            lambda: optimum([[0]], [1], weights=[[1], [1]], exponents=[[0], [np.nan]]),
        ),
        (UtilityError, r"needs terms by flows", lambda: optimum([[0]], [1], weights=[[1, 1]])),
        (UtilityError, r"needs terms by flows", lambda: optimum([[0]], [1], weights=[[1], [1]], exponents=[0, 1])),
    ],
)
def test_invalid_utilities_are_rejected(error, line, call):
    with pytest.raises(error, match=line) as refused:
        call()
    assert "\n" not in str(refused.value)
