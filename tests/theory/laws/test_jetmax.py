"""Equilibria of JetMax and EMKC-AVQ, and convergence to efficiency and fairness, compared with closed forms and
iteration.
"""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import aimd, emkc, emkc_avq, jetmax
from levelflow.theory.networks.fairness import fairness, steps_to_fairness, unfair
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.paths import paths, scattered

SEEDS = st.integers(0, 2**32)
RANDOM = np.random.default_rng


def routes_of(rng, flows, links):
    return [rng.choice(links, rng.integers(1, min(links, 5) + 1), replace=False) for _ in range(flows)]


def ranked(rng, routes, links):
    """Returns bottlenecks without cyclic dependencies: the first link of each route in a random order of links."""
    rank = rng.permutation(links)
    return [min(route, key=lambda link: rank[link]) for route in routes]


def fixed_point_under(network, targets, bottlenecks, survival):
    """Returns equilibrium rates from a linear system. The equation of a flow gives its share at its bottleneck."""
    arriving, chosen = survival * network.crossings, np.asarray(bottlenecks)
    at = arriving[:, chosen].T
    together = np.equal.outer(chosen, chosen)
    matrix = np.where(together, 0.0, at) + np.diag(np.where(together, at, 0.0).sum(axis=1))
    return np.linalg.solve(matrix, np.asarray(targets)[chosen])


@examples(100)
@given(SEEDS)
def test_with_counted_survivors_the_equilibrium_of_jetmax_is_max_min_fair(seed):
    rng = RANDOM(seed)
    flows, links = rng.integers(1, 61, 2)
    routes, targets = routes_of(rng, flows, links), rng.uniform(1, 100, links)
    survival = rng.uniform(0.1, 1, (flows, links))
    rates, _, limits = jetmax.fixed_point(routes, targets, survival)
    loads, highest = np.zeros(links), np.zeros(links)
    for flow, route in enumerate(routes):
        loads[route] += survival[flow, route] * rates[flow]
        highest[route] = np.maximum(highest[route], rates[flow])
    assert (loads <= targets * (1 + 1e-12)).all()
    assert loads[limits] == pytest.approx(targets[limits], rel=1e-12)
    assert rates == pytest.approx(highest[limits], rel=1e-12)
    assert fixed_point_under(paths(routes, links), targets, limits, survival) == pytest.approx(rates, rel=1e-9)


def test_without_losses_the_equilibrium_of_jetmax_is_max_min():
    rng = RANDOM(2)
    routes, targets = routes_of(rng, 40, 12), rng.uniform(1, 100, 12)
    assert np.array_equal(jetmax.fixed_point(routes, targets).rates, maxmin(routes, targets))


@examples(15)
@given(SEEDS, st.sampled_from([0.3, 0.6, 1.0, 1.6]))
def test_jetmax_converges_to_the_equilibrium_of_its_bottlenecks_under_any_delays(seed, tau):
    rng = RANDOM(seed)
    links = int(rng.integers(1, 5))
    routes = routes_of(rng, int(rng.integers(1, 9)), links)
    targets, bottlenecks = rng.uniform(5, 20, links), ranked(rng, routes, links)
    network, survival = scattered(routes, links, 4, rng), rng.uniform(0.5, 1, (len(routes), links))
    wanted = fixed_point_under(network, targets, bottlenecks, survival)
    start = rng.uniform(0, 10, len(routes))
    went = jetmax.iterate(network, start, 300, targets, tau, bottlenecks=bottlenecks, survival=survival)
    assert went.rates[-1] == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_loss_inflates_what_jetmax_senders_send():
    rates = jetmax.fixed_point([[0], [0]], [10.0], [[0.9], [0.8]]).rates
    assert rates == pytest.approx([10 / 1.7] * 2, rel=1e-14)
    assert jetmax.fixed_point([[0]], [10.0], 0.8).rates.tolist() == [12.5]


@pytest.mark.parametrize("tau", [0.05, 0.6, 0.9, 1.0, 1.4, 1.99])
@pytest.mark.parametrize("eps", [0.5, 0.01, 1e-6])
def test_steps_of_jetmax_are_those_of_its_iteration(tau, eps):
    went = jetmax.iterate(paths([[0]] * 5, 1), unfair(5, 10.0), 1600, [10.0], tau).rates
    off = np.abs(went / 2 - 1)
    for flow, start in ((0, 1), (4, 4)):
        late = np.flatnonzero(off[:, flow] > eps * (1 + 1e-9))
        assert jetmax.steps(tau, eps, start) == (late[-1] + 1 if late.size else 0)


def test_the_jacobian_of_jetmax_is_that_of_its_step():
    network, tau = paths([[0]] * 3, 1), 0.7
    columns = [jetmax.iterate(network, unit, 1, [0.0], tau).rates[1] for unit in np.eye(3)]
    assert np.array(columns) == pytest.approx((1 - tau) * np.eye(3))


def test_a_link_without_responsive_flows_offers_its_capacity():
    assert jetmax.fair_share(np.array([5.0, 5.0]), np.array([2.0, 2.0]), np.array([0.0, 2.0])).tolist() == [np.inf, 1.5]


@examples(60)
@given(SEEDS)
def test_equilibria_of_emkc_avq_are_fair_and_fill_targets_at_consistent_prices(seed):
    rng = RANDOM(seed)
    links = int(rng.integers(1, 30))
    routes, targets = routes_of(rng, int(rng.integers(1, 40)), links), rng.uniform(1, 100, links)
    rates, prices, limits = emkc_avq.fixed_point(routes, targets, 0.7)
    loads = rates @ paths(routes, links).crossings
    capacity = np.where(loads > 0, loads * np.where(loads > 0, 1 - prices, 1.0), targets)
    assert loads[limits] == pytest.approx(targets[limits], rel=1e-12)
    assert rates == pytest.approx(maxmin(routes, targets), rel=1e-12)
    assert [rate * prices[route].max() for route, rate in zip(routes, rates, strict=True)] == pytest.approx(
        [0.7] * rates.size
    )
    assert (capacity <= targets * (1 + 1e-12)).all()
    went = emkc_avq.iterate(paths(routes, links), rates, 5, targets, (0.35, 0.5, 0.1), capacity)
    assert went.rates[-1] == pytest.approx(rates, rel=1e-9)
    assert went.memory[-1] == pytest.approx(capacity, rel=1e-9, abs=1e-9)


def test_emkc_avq_converges_in_a_network_below_its_target_capacity():
    routes, targets = [[0, 1], [0], [1]], np.array([10.0, 30.0])
    network = paths(routes, 2, [3, 1, 2], [[1, 2], [0, 0], [1, 1]])
    went = emkc_avq.iterate(network, [1.0, 9.0, 2.0], 4000, targets, (0.2, 0.5, 0.2 / 3))
    assert went.rates[-1] == pytest.approx([5.0, 5.0, 25.0], rel=1e-6)
    virtual = went.rates[-1] @ network.crossings * (1 - emkc_avq.fixed_point(routes, targets, 0.4).signals)
    assert went.memory[-1] == pytest.approx(virtual, rel=1e-6)
    assert (went.memory <= targets).all()


@pytest.mark.parametrize("delay", [1, 2, 5])
@pytest.mark.parametrize(("beta", "gain"), [(0.5, 0.05), (1.5, 0.4), (1.5, 0.6), (0.5, 1.7), (1.9, 0.3)])
def test_the_sum_of_emkc_avq_rates_goes_as_its_roots_say(delay, beta, gain):
    alpha, start = 0.3, np.array([5.0, 5.0]) * (1 + 1e-6)
    network = paths([[0]] * 2, 1, delay, delay - 1)
    virtual = 10.0 * (1 - emkc_avq.fixed_point([[0]] * 2, [10.0], alpha / beta).signals)
    went = emkc_avq.iterate(network, start, 800, [10.0], (alpha, beta, gain), virtual)
    away = np.abs(went.rates.sum(axis=1) - 10)
    radius = emkc_avq.radius(beta, gain, delay)
    assert abs(radius - 1) > 0.01
    assert (away[-50:].max() < 1e-7) == (radius < 1)


@pytest.mark.parametrize("share", [0.45, 0.55])
def test_differences_between_emkc_avq_flows_die_out_if_the_share_exceeds_half_of_alpha(share):
    start = share * np.array([1 - 1e-6, 1 + 1e-6])
    virtual = 2 * share * (1 - emkc_avq.fixed_point([[0]] * 2, [2 * share], 1 / 0.3).signals)
    went = emkc_avq.iterate(paths([[0]] * 2, 1), start, 100, [2 * share], (1.0, 0.3, 0.1), virtual)
    found = emkc_avq.differences(share, 1.0)
    assert (np.abs(np.diff(went.rates[-1])) < 1e-6 * share)[0] == found.holds == (share > 0.5)
    assert found.distance == pytest.approx(2 - 1 / share)


def test_emkc_sums_follow_their_closed_form_and_settle_at_the_loss_of_corollary_4():
    delay, beta, alpha, capacity = 3, 0.4, 0.5, 10.0
    network = paths([[0]] * 4, 1, delay, 1)
    start = np.array([0.5, 1, 2, 7])
    went = emkc.iterate(network, start, 3000, [capacity], (alpha, beta))
    sums = went.rates.sum(axis=1)[::delay]
    assert sums[:50] == pytest.approx(emkc.aggregate(np.arange(50), 10.5, capacity + 4 * alpha / beta, beta), rel=1e-12)
    assert went.signals[-1] == pytest.approx([emkc.loss(4, capacity, alpha / beta)])
    offset = emkc.lossless(4, capacity, alpha / beta)
    assert emkc.iterate(network, start, 3000, [capacity], (alpha, beta), offset).signals[-1] == pytest.approx([offset])


def test_the_offset_that_avoids_loss_counts_what_others_leave():
    routes, capacities, ratio = [[0, 1], [1], [1]], [4.0, 20.0], 0.5
    offsets = [emkc.lossless(1, 4.0, ratio), emkc.lossless(2, 16.0, ratio)]
    went = emkc.iterate(paths(routes, 2), [1.0, 2.0, 3.0], 2000, capacities, (0.25, 0.5), offsets)
    assert went.rates[-1] == pytest.approx([4.0, 8.0, 8.0], rel=1e-9)


def test_emkc_is_stable_where_theorem_9_says_so():
    rest = emkc.fixed_point([[0]] * 3, [9.0], 1.0)
    for beta in (1.9, 2.1):
        network = paths([[0]] * 3, 1, 3, [[0], [1], [2]])
        went = emkc.iterate(network, rest.rates * [1.001, 1.0, 1.0], 600, [9.0], (beta, beta))
        assert (np.abs(went.rates[-1] / rest.rates - 1).max() < 1e-4) == (beta < 2)


def test_unequal_delays_may_stabilise_what_theorem_9_refuses():
    start = [4.001, 4.0, 4.0]
    ends = [
        emkc.iterate(paths([[0]] * 3, 1, delays), start, 600, [9.0], (2.1, 2.1)).rates[-1]
        for delays in ([2, 3, 4], [3, 3, 3])
    ]
    assert ends[0] == pytest.approx([4.0] * 3, rel=1e-6)
    assert np.abs(ends[1] - 4.0).max() > 0.01


@examples(50)
@given(SEEDS, st.floats(0, 0.99))
def test_sequences_of_lemma_14_stay_below_their_bound(seed, factor):
    rng = RANDOM(seed)
    inputs, x = rng.normal(size=50), [3.0]
    for scale, added in zip(rng.uniform(-factor, factor, 50), inputs, strict=True):
        x.append(scale * x[-1] + added)
    assert (np.abs(x) <= emkc.lemma_14(3.0, factor, inputs) * (1 + 1e-12)).all()


@pytest.mark.parametrize("eps", [0.1, 0.01, 0.001])
def test_the_models_of_steps_to_fairness_are_near_the_iteration(eps):
    start = unfair(2, 1000.0)
    emkc_steps = steps_to_fairness(lambda x: x + 10 - 0.5 * emkc.price(x.sum(), 1000.0) * x, start, eps)
    assert emkc.steps_to_fairness(2, 1000.0, 10.0, 0.5, eps) == pytest.approx(emkc_steps, rel=0.03)
    aimd_steps = steps_to_fairness(lambda x: aimd.step(x, 1000.0, 10.0, 0.5, pause=True), start, eps)
    assert aimd.steps_to_fairness(2, 1000.0, 10.0, 0.5, eps) == pytest.approx(aimd_steps, rel=0.03)


def test_aimd_is_faster_by_the_factor_of_corollary_6():
    ratio = emkc.steps_to_fairness(8, 1e4, 2.0, 0.3, 0.01) / aimd.steps_to_fairness(8, 1e4, 2.0, 0.3, 0.01)
    assert ratio == pytest.approx(-np.log(0.7) / 0.3, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        (
            r"flow 1: bottleneck 1 is not allowed",
            lambda: jetmax.iterate(paths([[0, 1], [0]], 2), [1, 1], 1, [1, 1], 0.5, bottlenecks=[1, 1]),
        ),
        (
            r"flow 0: bottleneck -1 is not allowed",
            lambda: jetmax.iterate(paths([[0]], 1), [1], 1, [1], 0.5, bottlenecks=[-1]),
        ),
        (
            r"survival 0.0 is not allowed; needs a finite number > 0 and <= 1",
            lambda: jetmax.fixed_point([[0]], [1], 0.0),
        ),
        (r"survival of shape \(2,\) is not allowed", lambda: jetmax.fixed_point([[0]], [1], [0.5, 0.5])),
        (r"tau 2.0 is not allowed", lambda: jetmax.steps(2.0, 0.01)),
        (r"tau nan is not allowed", lambda: jetmax.iterate(paths([[0]], 1), [1], 1, [1], np.nan)),
        (r"target 0: 0.0 is not allowed", lambda: emkc_avq.fixed_point([[0]], [0.0], 1.0)),
        (r"delay 1.5 is not allowed; needs a whole number >= 1", lambda: emkc_avq.radius(0.5, 0.1, 1.5)),
        (r"share 0.0 is not allowed", lambda: emkc_avq.differences(0, 1.0)),
        (r"cut 1.5 is not allowed", lambda: aimd.steps_to_fairness(2, 1.0, 0.1, 1.5, 0.1)),
        (r"eps 0.0 is not allowed", lambda: emkc.steps_to_fairness(2, 1.0, 0.1, 0.5, 0.0)),
        (r"not reached within 10 steps", lambda: steps_to_fairness(lambda x: x, [1.0, 2.0], 0.1, most=10)),
    ],
)
def test_questions_without_an_answer_are_rejected(line, call):
    with pytest.raises(ParameterError, match=line) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_fairness_is_the_smallest_rate_over_the_largest():
    assert fairness([2.0, 3.0, 8.0]) == 0.25
    assert unfair(3, 6.0).tolist() == [0, 0, 6]
