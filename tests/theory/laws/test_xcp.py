"""XCP's equilibrium: its feedback is zero, and the equations of motion converge to it from any initial rates."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import xcp
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.stability.equations import integrate


@st.composite
def networks(draw, most=8):
    links = draw(st.integers(1, most))
    route = st.lists(st.integers(0, links - 1), min_size=1, max_size=links, unique=True)
    routes = draw(st.lists(route, min_size=1, max_size=2 * most))
    capacities = draw(st.lists(st.floats(0.1, 1e3), min_size=links, max_size=links))
    return routes, capacities


@examples(300)
@given(networks(), st.floats(0.05, 2.0), st.floats(0.01, 1.0))
def test_at_equilibrium_xcp_feedback_is_zero(network, alpha, gamma):
    routes, capacities = network
    rates = xcp.fixed_point(routes, capacities, alpha=alpha, gamma=gamma).rates
    change = xcp.offers(routes, capacities, rates, alpha=alpha, gamma=gamma)
    assert np.abs(change).max() <= 1e-7 * max(capacities)
    assert np.abs(change / rates).max() < 1e-6


@examples(300)
@given(networks())
def test_bottlenecks_carry_at_least_four_fifths_and_no_link_is_overloaded(network):
    routes, capacities = network
    rest = xcp.fixed_point(routes, capacities)
    load = np.zeros(len(capacities))
    for route, rate in zip(routes, rest.rates, strict=True):
        load[route] += rate
    shares = load / capacities
    assert shares.max() <= 1 + 1e-9
    assert shares[rest.bottlenecks].min() >= 0.8 - 1e-9
    assert np.isfinite(rest.signals[rest.bottlenecks]).all()
    assert rest.rates == pytest.approx([rest.signals[route].min() for route in routes])


@pytest.mark.parametrize("seed", range(20))
def test_large_networks_converge(seed):
    random = np.random.default_rng(seed)
    flows, links = random.integers(1, 201, 2).tolist()
    routes = [random.choice(links, random.integers(1, min(links, 5) + 1), replace=False).tolist() for _ in range(flows)]
    capacities = 10 ** random.uniform(6, 10, links)
    rates = xcp.fixed_point(routes, capacities).rates
    assert np.abs(xcp.offers(routes, capacities, rates) / rates).max() < 1e-6


def test_one_link_is_shared_evenly_and_used_in_full():
    assert xcp.fixed_point([[0]] * 5, [10.0]).rates == pytest.approx([2.0] * 5)


@pytest.mark.parametrize("seed", range(4))
def test_the_equations_of_motion_converge_to_the_equilibrium_from_any_start(seed):
    random = np.random.default_rng(seed)
    routes = [random.choice(4, random.integers(1, 4), replace=False).tolist() for _ in range(7)]
    capacities = random.uniform(1, 10, 4)
    went = integrate(
        lambda t, x, past: xcp.offers(routes, capacities, x), random.uniform(0.01, 5, 7), 4000.0, step=0.5, every=8000
    )
    assert went.states[-1] == pytest.approx(xcp.fixed_point(routes, capacities).rates, rel=1e-3)


@pytest.mark.parametrize("flows", [10, 100, 1000])
def test_a_share_of_the_max_min_rate_can_be_as_small_as_one_likes(flows):
    # The second link limits the sum of all flows except the last to 0.9. The last flow could use the remaining 0.1.
    routes = [[0, 1]] * flows + [[0]]
    fair = maxmin(routes, [1.0, 0.9])[-1]
    got = xcp.fixed_point(routes, [1.0, 0.9]).rates[-1]
    assert fair == pytest.approx(0.1)
    assert got < 2 * 0.9 / flows


def test_the_share_falls_with_what_is_shuffled():
    routes, capacities = [[0, 1]] * 50 + [[0]], [1.0, 0.9]
    rates = [xcp.fixed_point(routes, capacities, gamma=gamma).rates[-1] for gamma in (0.4, 0.2, 0.1, 0.07)]
    fair = maxmin(routes, capacities)[-1]
    assert rates == sorted(rates)
    assert rates[-1] < fair


@pytest.mark.parametrize(
    ("error", "arguments", "options"),
    [
        (CapacityError, ([[0]], [-1.0]), {}),
        (CapacityError, ([[0]], [np.nan]), {}),
        (RouteError, ([[]], [1.0]), {}),
        (RouteError, ([[2]], [1.0]), {}),
        (ParameterError, ([[0]], [1.0]), {"alpha": 0.0}),
        (ParameterError, ([[0]], [1.0]), {"gamma": np.inf}),
    ],
)
def test_bad_questions_get_a_typed_exception(error, arguments, options):
    with pytest.raises(error):
        xcp.fixed_point(*arguments, **options)
    with pytest.raises(error):
        xcp.offers(*arguments, [1.0], **options)


def test_rates_that_are_nothing_or_missing_are_refused():
    with pytest.raises(ParameterError, match=r"rate 0: 0\.0 is not allowed"):
        xcp.offers([[0]], [1.0], [0.0])
    with pytest.raises(ParameterError, match=r"rate of shape \(1,\)"):
        xcp.offers([[0], [0]], [1.0], [1.0])
