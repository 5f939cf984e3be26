"""MKC and JetMax in networks: flows with a fixed bottleneck, and flows that choose their bottleneck."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc
from levelflow.theory.networks.assignment import (
    AssignmentError,
    InconsistentError,
    assign,
    by_price,
    random_consistent,
    random_routes,
    settle,
    spectral_radius,
)
from levelflow.theory.networks.maxmin import bottlenecks, maxmin
from levelflow.theory.networks.paths import paths, scattered
from zhang_models import jetmax_choice, mkc_network

SEEDS = st.integers(0, 2**32)


def drawn(seed, flows=30, links=10):
    random = np.random.default_rng(seed)
    links = int(random.integers(1, links + 1))
    routes = random_routes(random, int(random.integers(1, flows + 1)), links, 1, min(links, 4))
    return random, routes, random.uniform(1, 100, links)


@examples(100)
@given(SEEDS)
def test_with_the_bottlenecks_of_emkc_flows_have_its_equilibrium(seed):
    random, routes, capacities = drawn(seed)
    ratio = 10 ** random.uniform(-2, 1)
    resting = emkc.fixed_point(routes, capacities, ratio)
    kept = assign(routes, resting.bottlenecks, capacities.size)
    assert mkc_network.rest(kept, capacities, ratio) == pytest.approx(resting.rates)
    largest = by_price(routes, resting.signals)
    assert largest.consistent
    chosen = resting.signals[largest.bottlenecks]
    assert chosen == pytest.approx(resting.signals[kept.bottlenecks], abs=1e-12)


@examples(30)
@given(SEEDS, st.integers(1, 5))
def test_the_jacobian_and_the_lags_are_those_of_a_small_step(seed, longest):
    random, routes, capacities = drawn(seed, 8, 4)
    kept = random_consistent(random, routes)
    capacities, count = capacities[: kept.crosses.shape[1]], len(routes)
    alpha, beta = random.uniform(0.1, 1, (2, count))
    rates = mkc_network.rest(kept, capacities, alpha / beta)
    network = scattered(routes, capacities.size, longest, random)
    matrix = mkc_network.jacobian(kept, capacities, rates, beta)
    back = network.delays - network.forward[np.arange(count), kept.bottlenecks]
    lags = back[:, None] + network.forward[:, kept.bottlenecks].T
    off = rates * 1e-6 * random.uniform(-1, 1, count)
    steps = 12
    linear = np.tile(off, (steps + 10, 1))
    for n in range(10, steps + 10):
        linear[n] = (matrix * linear[n - lags, np.arange(count)]).sum(axis=1)
    went = mkc_network.iterate(network, kept, rates + off, steps - 1, capacities, (alpha, beta)).rates - rates
    assert (
        np.abs(went - linear[9:-1]).max()
        <= 1e-4 * np.abs(off).max() * max(np.abs(matrix).sum(axis=1).max(), 1) ** steps
    )


@examples(15)
@given(SEEDS)
def test_a_network_is_stable_if_its_links_are(seed):  # theorem 14
    random, routes, capacities = drawn(seed, 10, 4)
    kept = random_consistent(random, routes)
    capacities, count = capacities[: kept.crosses.shape[1]], len(routes)
    alpha, beta = random.uniform(0.1, 1, count), random.uniform(0.1, 3, count)
    rates = mkc_network.rest(kept, capacities, alpha / beta)
    radius = spectral_radius(kept, mkc_network.jacobian(kept, capacities, rates, beta))
    if abs(radius - 1) > 0.05:
        start = rates * (1 + 1e-6 * np.cos(np.arange(count)))
        ends = [
            mkc_network.iterate(network, kept, start, 700, capacities, (alpha, beta)).rates[-1] / rates - 1
            for network in (paths(routes, capacities.size), scattered(routes, capacities.size, 4, random))
        ]
        assert all(np.abs(end).max() < 1e-7 for end in ends) == (radius < 1)


@examples(100)
@given(SEEDS, st.floats(0.2, 0.99))
def test_equilibria_of_jetmax_are_max_min_fair(seed, tau):  # theorem 16
    random, routes, targets = drawn(seed, 60, 12)
    settled = jetmax_choice.settle(routes, targets, 10 ** random.uniform(-3, 2, len(routes)), tau, most=500)
    if settled.steps > 0:
        assert settled.rates == pytest.approx(maxmin(routes, targets), rel=1e-9)


def test_jetmax_converges():
    found = []
    for seed in (*range(100), 2985):  # with 2985, a price that counts as 0 could reject a proposal
        random, routes, targets = drawn(seed, 60, 12)
        found.append(jetmax_choice.settle(routes, targets, 10 ** random.uniform(-3, 2, len(routes))).steps)
    for seed in (2198, 2402):  # with these seeds, simultaneous moves of flows would cycle
        random = np.random.default_rng(seed)
        routes, targets = random_routes(random, 50, 10, 1, 5), random.uniform(1, 100, 10)
        found.append(jetmax_choice.settle(routes, targets, 10 ** random.uniform(-3, 2, 50)).steps)
    assert min(found) > 0
    assert max(found) < 200


def test_links_settle_one_after_the_other():
    fair = maxmin([[0, 1], [0], [1]], [10.0, 4.0])
    kept = assign([[0, 1], [0], [1]], bottlenecks([[0, 1], [0], [1]], [10.0, 4.0]))
    assert settle(kept, lambda link, flows, load: ([10, 4][link] - load) / flows.size).tolist() == fair.tolist()
    with pytest.raises(InconsistentError):
        settle(assign([[0, 1], [0, 1]], [0, 1]), lambda link, flows, load: 1.0)


def test_equal_prices_select_the_first_link_even_without_arrivals():
    assert by_price([[2, 1], [0, 2]], [0.5, 0.5, 0.5]).bottlenecks.tolist() == [1, 0]
    assert by_price([[1]], [0.5, -np.inf]).bottlenecks.tolist() == [1]


@pytest.mark.parametrize(
    ("error", "line", "call"),
    [
        (AssignmentError, r"prices of shape \(1, 2\)", lambda: by_price([[0], [1]], [[1, 2]])),
        (AssignmentError, r"prices of shape \(\)", lambda: by_price([[0]], 1.0)),
        (AssignmentError, r"prices of shape", lambda: by_price([[0]], [np.nan])),
        (ParameterError, "a target of 0", lambda: jetmax_choice.settle([[0]], [0.0], [1.0])),
        (ParameterError, "start", lambda: jetmax_choice.settle([[0]], [1.0], [0.0])),
        (ParameterError, "tau", lambda: jetmax_choice.settle([[0]], [1.0], [1.0], -1)),
        (ParameterError, "ready", lambda: jetmax_choice.settle([[0]], [1.0], [1.0], ready=1.5)),
        (ParameterError, "zero", lambda: jetmax_choice.settle([[0]], [1.0], [1.0], zero=-1.0)),
        (ParameterError, "alpha over beta", lambda: mkc_network.rest(assign([[0]], [0]), [1.0], 0.0)),
    ],
)
def test_undefined_results_are_rejected(error, line, call):
    with pytest.raises(error, match=line) as refused:
        call()
    assert "\n" not in str(refused.value)
