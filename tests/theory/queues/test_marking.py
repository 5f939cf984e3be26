"""Marking levels, compared with their conditions and with other methods of computation."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp

from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.networks.utility import optimum
from levelflow.theory.queues.marking import (
    LevelError,
    alone_on_a_link,
    excess_paid,
    excess_share,
    level_change,
    marking_levels,
)


@st.composite
def problems(draw):
    links = draw(st.integers(1, 6))
    routes = draw(st.lists(st.lists(st.integers(0, links - 1), min_size=1, max_size=4), min_size=1, max_size=8))
    each = {"min_size": len(routes), "max_size": len(routes)}
    return {
        "routes": routes,
        "capacities": np.array(draw(st.lists(st.floats(1, 100), min_size=links, max_size=links))),
        "weights": np.array(draw(st.lists(st.floats(0.1, 10), **each))),
        "exponents": np.array(draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), **each))),
    }


def highest_price(problem, rooms):
    """Solves each link separately by the interior-point method, and returns the level of each link."""
    prices = np.zeros(len(rooms))
    for link, room in enumerate(rooms):
        own = [n for n, route in enumerate(problem["routes"]) if link in route]
        if own:
            alone = [[0] * problem["routes"][n].count(link) for n in own]
            wants = {name: problem[name][own] for name in ("weights", "exponents")}
            prices[link] = optimum(alone, [room], **wants).prices[0]
    return prices


@examples(50)
@given(problems(), st.floats(0, 0.9), st.floats(1.01, 100))
def test_levels_are_those_at_which_each_link_alone_would_be_full(problem, foreign, more):
    rooms = problem["capacities"] * (1 - foreign)
    prices = highest_price(problem, rooms)
    beta = more * max(prices.max(), 1e-3)
    levels = marking_levels(**problem, beta=beta, unresponsive=foreign * problem["capacities"])
    assert levels == pytest.approx(rooms * (1 - prices / beta), rel=1e-6)


@examples(50)
@given(problems(), st.floats(1.01, 100))
def test_no_link_of_a_network_loses_anything_at_these_levels(problem, more):
    beta = more * highest_price(problem, problem["capacities"]).max()
    levels = marking_levels(**problem, beta=beta)
    best = optimum(
        problem["routes"], levels, weights=problem["weights"], exponents=problem["exponents"], penalty=beta
    ).rates
    loads = np.zeros(levels.size)
    for rate, route in zip(best, problem["routes"], strict=True):
        np.add.at(loads, route, rate)
    assert (loads <= problem["capacities"] * (1 + 1e-8)).all()


@pytest.mark.parametrize("size", [50, 200])
def test_no_link_of_a_large_network_loses_anything(size):
    random = np.random.default_rng(size)
    routes = [random.choice(size, random.integers(1, 6), replace=False).tolist() for _ in range(size)]
    users = {"weights": random.uniform(0.5, 2, size), "exponents": random.choice([0.0, 0.5, 1.0, 2.0], size)}
    capacities = random.uniform(10, 50, size)
    levels = marking_levels(routes, capacities, beta=5.0, **users)
    rates = optimum(routes, levels, penalty=5.0, **users).rates
    loads = np.zeros(size)
    for rate, route in zip(rates, routes, strict=True):
        loads[route] += rate
    assert (loads <= capacities * (1 + 1e-8)).all()
    assert loads.max() > levels.min()


def test_log_users_of_one_link_exceed_its_level_by_one_over_beta_each():
    assert marking_levels([[0]] * 30, [100.0], beta=0.5) == pytest.approx([100 - 30 / 0.5])
    # The corrected eq 35 is the same equation, for the capacity that peaks of short flows leave.
    assert marking_levels([[0]] * 30, [100.0], beta=0.5, unresponsive=20.0) == pytest.approx([80 - 30 / 0.5])


def test_eq_27_holds_with_equality():
    weights, nu, capacity, beta = np.array([0.3, 1.0, 2.0]), np.array([0.0, 1.0, 2.0]), 7.0, 1.5
    level = marking_levels([[0]] * 3, [capacity], beta=beta, weights=weights, exponents=nu)[0]
    left = (weights * np.where(nu > 0, nu, 1) / beta * capacity / (capacity - level)) ** (1 / (nu + 1))
    assert left.sum() == pytest.approx(capacity)


def test_a_link_without_users_marks_what_foreign_loads_leave():
    assert marking_levels([[1]], [4.0, 5.0], beta=1.0, unresponsive=[1.0, 0.0])[0] == 3.0


def test_too_many_users_have_no_level():
    assert marking_levels([[0]] * 50, [100.0], beta=0.5) == pytest.approx([0], abs=1e-9)
    with pytest.raises(LevelError, match=r"link 0: no marking level .* price of 0.51, so beta 0.5 is too low"):
        marking_levels([[0]] * 51, [100.0], beta=0.5)


def test_levels_of_experiment_3_of_kunniyur_and_srikant():
    # 300 users send packets of 32 B. With beta = 0.5, a level exists in units of 1 s, but not in units of 20 ms.
    routes, exponents = [[0, 1]] * 100 + [[0]] * 100 + [[1]] * 100, ([0.0] * 50 + [1.0] * 50) * 3
    users = {"routes": routes, "exponents": exponents}
    capacities = np.array([2e6, 1e6]) / 256
    with pytest.raises(LevelError, match=r"link 0: .* price of 1\.396"):
        marking_levels(**users, capacities=0.02 * capacities, beta=0.5)
    with pytest.raises(LevelError, match=r"link 1: .* price of 3\.763"):
        marking_levels(**users, capacities=0.02 * capacities, beta=3.75)
    assert marking_levels(**users, capacities=capacities, beta=0.5) / capacities == pytest.approx(
        [0.971, 0.940], abs=5e-4
    )


@pytest.mark.parametrize(("level", "load"), [(2.0, 5.0), (2.0, 2.0), (2.0, 1.0), (0.0, 3.0), (1.0, 1.0 + 1e-9)])
def test_the_excess_price_is_the_integral_of_the_excess_share(level, load):
    integral = quad(lambda y: float(excess_share(level, y)), 0, load, points=[level] if 0 < level < load else None)[0]
    assert excess_paid(level, load) == pytest.approx(integral, abs=1e-12)


@pytest.mark.parametrize(("start", "level"), [(1.0, 10.0), (10.0, 10.0), (30.0, 10.0), (2.0, 0.5)])
def test_users_alone_on_a_link_go_as_their_equation_says(start, level):
    times = np.linspace(0, 20, 50)
    exact = solve_ivp(
        lambda t, y: 1.5 - 0.7 * max(y[0] - level, 0), (0, 20), [start], t_eval=times, rtol=1e-9, atol=1e-9
    )
    assert alone_on_a_link(times, start, level, 1.5, 0.7) == pytest.approx(exact.y[0], rel=1e-6)


def test_a_level_stays_between_nothing_and_its_target():
    levels, loads = np.array([0.0, 0.0, 9.0, 9.0, 4.0]), np.array([12.0, 5.0, 12.0, 5.0, 5.0])
    assert level_change(levels, loads, 9.0, 0.5).tolist() == [0.0, 2.0, -1.5, 0.0, 2.0]


@pytest.mark.parametrize(
    ("error", "line", "change"),
    [
        (ParameterError, "beta 0.0 is not allowed; needs a finite number > 0", {"beta": 0}),
        (ParameterError, "beta nan", {"beta": np.nan}),
        (ParameterError, "exponent 1: -1.0 is not allowed; needs a finite number >= 0", {"exponents": [0, -1]}),
        (ParameterError, r"exponent of shape \(3,\)", {"exponents": [0, 1, 2]}),
        (
            CapacityError,
            "link 1: unresponsive load 1.0 is not allowed; needs a number from 0 to below 1.0",
            {"unresponsive": [0, 1]},
        ),
        (CapacityError, "link 0: unresponsive load", {"unresponsive": -1}),
        (CapacityError, "link 0: unresponsive load", {"unresponsive": np.nan}),
        (CapacityError, "link 1: capacity inf", {"capacities": [1, np.inf]}),
        (ParameterError, "weight 1: 0.0", {"weights": [1, 0]}),
        (RouteError, "flow 0 crosses no link", {"routes": [[], [0]]}),
    ],
)
def test_invalid_problems_are_rejected(error, line, change):
    with pytest.raises(error, match=line) as refused:
        marking_levels(**{"routes": [[0], [1]], "capacities": [1, 1], "beta": 100.0} | change)
    assert "\n" not in str(refused.value)
