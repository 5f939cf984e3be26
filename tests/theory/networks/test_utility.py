import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from levelflow.theory.errors import ParameterError
from levelflow.theory.networks import utility
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.networks.utility import optimum

PARKING_LOT = [[0, 1, 2], [0], [1], [2]]
#: Kunniyur and Srikant, experiment 1. The flow with the utility -1/sqrt(x) crosses both links. The flows with the
#: utilities log x and -1/x cross one link each. Rates are in packets per 0.02 s.
EXPERIMENT_1 = {"routes": [[0, 1], [0], [1]], "capacities": [156.25, 78.125], "exponents": [0.5, 0, 1]}


@st.composite
def problems(draw):
    links = draw(st.integers(1, 6))
    route = st.lists(st.integers(0, links - 1), min_size=1, max_size=links)
    routes = draw(st.lists(route, min_size=1, max_size=8))
    each = {"min_size": len(routes), "max_size": len(routes)}
    return {
        "routes": routes,
        "capacities": np.array(draw(st.lists(st.floats(0.1, 1e3), min_size=links, max_size=links))),
        "weights": np.array(draw(st.lists(st.floats(0.1, 10), **each))),
        "exponents": np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), **each))),
    }


def test_many_crossings_of_a_flow_make_no_difference(monkeypatch):
    rng = np.random.default_rng(1)
    routes = [rng.choice(12, 8, replace=False).tolist() for _ in range(40)]
    capacities, exponents = rng.uniform(1, 10, 12), rng.choice([0.0, 1.0, 2.0], 40)
    listed = optimum(routes, capacities, exponents=exponents)
    monkeypatch.setattr(utility, "MOST_PAIRS", 0)
    sparse = optimum(routes, capacities, exponents=exponents)
    assert sparse.rates == pytest.approx(listed.rates, rel=1e-9)


def incidence(routes, links):
    matrix = np.zeros((links, len(routes)))
    for flow, route in enumerate(routes):
        for link in route:
            matrix[link, flow] += 1
    return matrix


def slope(problem, rates):
    nu = problem["exponents"]
    return problem["weights"] * np.where(nu > 0, nu, 1) * rates ** (-nu - 1)


@examples(300)
@given(problems(), st.floats(0, 1), st.none() | st.floats(0.01, 100))
def test_rates_and_prices_meet_the_conditions_of_karush_kuhn_and_tucker(problem, cost, penalty):
    matrix = incidence(problem["routes"], len(problem["capacities"]))
    best = optimum(**problem, costs=cost, penalty=penalty)
    room = problem["capacities"] if penalty is None else problem["capacities"] / (1 - best.prices / penalty)
    load = matrix @ best.rates
    assert (best.prices >= 0).all()
    assert (load <= room * (1 + 1e-9)).all()
    assert slope(problem, best.rates) == pytest.approx(matrix.T @ best.prices + cost, rel=1e-9)
    paid = best.rates @ (matrix.T @ best.prices + cost)
    assert best.prices @ np.abs(room - load) <= 1e-8 * paid
    assert best.residuals.worst <= 1e-9


@examples(100)
@given(problems())
def test_no_feasible_rates_are_better_to_first_order(problem):
    # If the objective is concave, x is optimal if and only if it maximises the objective's tangent at x. This is a
    # linear program.
    matrix = incidence(problem["routes"], len(problem["capacities"]))
    rates = optimum(**problem).rates
    gain = slope(problem, rates) * rates
    best = linprog(-gain / gain.sum(), A_ub=matrix * rates / problem["capacities"][:, None], b_ub=np.ones(len(matrix)))
    assert -best.fun == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("nu", [0.0, 0.5, 1.0, 3.0, 64.0])
def test_on_one_link_rates_go_with_a_power_of_the_weights(nu):
    weights = np.array([1.0, 2.0, 5.0])
    wanted = weights ** (1 / (nu + 1))
    assert optimum([[0]] * 3, [3e6], weights=weights, exponents=nu).rates == pytest.approx(3e6 * wanted / wanted.sum())


@pytest.mark.parametrize("nu", [0.0, 1.0, 2.0])
def test_parking_lot(nu):
    # The long flow pays three equal prices, and each other flow pays one.
    ratio = 3 ** (1 / (nu + 1))
    assert optimum(PARKING_LOT, [4.0] * 3, exponents=nu).rates == pytest.approx(
        4 * np.array([1, ratio, ratio, ratio]) / (1 + ratio)
    )


def test_experiment_1_of_kunniyur_and_srikant():
    def excess(x):
        return 0.5 * x**-1.5 - 1 / (156.25 - x) - 1 / (78.125 - x) ** 2

    x = brentq(excess, 1, 70, xtol=1e-12)
    rates = optimum(**EXPERIMENT_1).rates
    assert rates == pytest.approx([x, 156.25 - x, 78.125 - x], rel=1e-9)
    assert rates.round(2).tolist() == [16.56, 139.69, 61.57]


def test_tcp_beside_other_utilities_in_kunniyur_and_srikant():
    both = optimum([[0]] * 100, [300.0], exponents=[1] * 50 + [0] * 50).rates
    assert both == pytest.approx([2.0] * 50 + [4.0] * 50)
    both = optimum([[0]] * 100, [300.0], exponents=[1] * 50 + [2] * 50).rates
    assert [both[0].round(2), both[-1].round(2)] == [3.24, 2.76]


def test_log_users_exceed_a_marking_level_by_one_over_the_penalty_each():
    assert optimum([[0]] * 20, [90.0], penalty=0.5).rates.sum() == pytest.approx(90 + 20 / 0.5)


@pytest.mark.parametrize("beta", [0.5, np.log(2)])
def test_a_tcp_user_with_random_loss(beta):
    kept, delay = 0.95, 1.3
    user = {"weights": [1 / (kept * delay**2)], "exponents": 1, "costs": beta * (1 - kept) / kept, "penalty": beta}
    assert optimum([[0]], [1e3], **user).rates == pytest.approx(1 / (np.sqrt(beta * (1 - kept)) * delay))
    alone = optimum([[0]], [50.0], weights=[delay**-2], exponents=1, penalty=beta).rates
    assert alone == pytest.approx((50 + np.sqrt(50**2 + 4 / (beta * delay**2))) / 2)


def test_a_large_penalty_makes_capacities_hard():
    hard = optimum(**EXPERIMENT_1).rates
    away = [np.abs(optimum(**EXPERIMENT_1, penalty=beta).rates / hard - 1).max() for beta in (0.5, 5, 50, 5e3, 5e6)]
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-6


@examples(50)
@given(problems(), st.sampled_from([8.0, 32.0]))
def test_a_large_exponent_brings_the_smallest_rate_near_that_of_max_min(problem, nu):
    # The optimum x minimises sum x^-nu, so x_min^-nu <= n m_min^-nu with the max-min rates m.
    routes, capacities = problem["routes"], problem["capacities"]
    least = optimum(routes, capacities, exponents=nu).rates.min()
    fair = maxmin(routes, capacities).min()
    assert len(routes) ** (-1 / nu) * fair * (1 - 1e-9) <= least <= fair * (1 + 1e-9)


def test_a_price_is_what_a_unit_of_capacity_would_add():
    capacities = np.array([10.0, 6.0, 4.0])

    def utility(capacities):
        rates = optimum(PARKING_LOT, capacities, exponents=[0, 1, 2, 0.5]).rates
        return np.log(rates[0]) - 1 / rates[1] - 1 / rates[2] ** 2 - 1 / rates[3] ** 0.5

    prices = optimum(PARKING_LOT, capacities, exponents=[0, 1, 2, 0.5]).prices
    step = 1e-3 * np.eye(3)
    gains = [(utility(capacities + step[link]) - utility(capacities - step[link])) / 2e-3 for link in range(3)]
    assert prices == pytest.approx(gains, rel=1e-4)


def test_the_unit_of_rate_does_not_matter():
    small = optimum(PARKING_LOT, [3.0, 2.0, 1.8], exponents=2, weights=[1, 2, 3, 4])
    large = optimum(PARKING_LOT, [3e14, 2e14, 1.8e14], exponents=2, weights=[1, 2, 3, 4])
    assert large.rates == pytest.approx(1e14 * small.rates)
    assert large.prices == pytest.approx(1e-42 * small.prices, rel=1e-6)


def test_unused_links_have_price_zero_and_empty_networks_no_rates():
    assert optimum([[1]], [0.0, 5.0]).prices.tolist() == [0.0, pytest.approx(0.2)]
    assert optimum([], [1.0]).rates.size == 0


@pytest.mark.parametrize(
    ("error", "line", "change"),
    [
        (CapacityError, r"link 0: capacity -1.0 is not allowed; needs a finite number >= 0", {"capacities": [-1, 1]}),
        (CapacityError, r"link 1: capacity nan", {"capacities": [1, np.nan]}),
        (
            CapacityError,
            r"link 1: capacity 0 is not allowed; a rate of 0 has no finite utility",
            {"capacities": [1, 0]},
        ),
        (RouteError, r"flow 1 crosses no link", {"routes": [[0], []]}),
        (ParameterError, r"weight 0: 0.0", {"weights": [0, 1]}),
        (ParameterError, r"exponent 1: -2.0 is not allowed; needs a finite number >= 0", {"exponents": [1, -2]}),
        (ParameterError, r"exponent of shape \(3,\)", {"exponents": [1, 2, 3]}),
        (ParameterError, r"cost 0: nan", {"costs": [np.nan, 0]}),
        (ParameterError, r"penalty 0.0 is not allowed; needs a finite number > 0", {"penalty": 0}),
    ],
)
def test_invalid_problems_are_rejected(error, line, change):
    with pytest.raises(error, match=line) as refused:
        optimum(**{"routes": [[0], [1]], "capacities": [1, 1]} | change)
    assert "\n" not in str(refused.value)
