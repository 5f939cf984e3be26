"""Results include their proof, on thousands of random instances of 1 to 200 flows and links.

The tests verify each proof from the definition, without the code that found it.
"""

import numpy as np
import pytest
from conftest import examples
from hypothesis import example, given, reject
from hypothesis import strategies as st

from levelflow.theory.errors import ConvergenceError
from levelflow.theory.laws import emkc, emkc_avq, jetmax, kelly, xcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.networks.assignment import random_routes
from levelflow.theory.networks.maxmin import maxmin, unfairness
from levelflow.theory.networks.utility import optimum, optimum_of
from levelflow.theory.stability.delay_batches import are_stable
from levelflow.theory.stability.delay_independence import delay_margin, independence
from levelflow.theory.stability.delays import stability
from levelflow.theory.stability.loops import Loop
from levelflow.theory.stability.matrices import absolute_radius
from levelflow.theory.stability.quasi import QuasiPolynomial
from levelflow.theory.stability.scaled_norm import scaled_norm

SEEDS = st.integers(0, 2**32)
LARGEST = 200


class Case:
    """Random routes over random links. The logarithm of the number of flows is uniformly distributed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        flows, links = (int(LARGEST ** self.random.random()) for _ in range(2))
        self.routes = random_routes(self.random, flows, links, 1, min(links, 6))
        self.capacities = 10 ** self.random.uniform(-2, 3, links)
        self.flow = np.repeat(np.arange(flows), [len(route) for route in self.routes])
        self.link = np.concatenate(self.routes)
        self.flows, self.links = flows, links

    def each(self, low, high):
        return 10 ** self.random.uniform(low, high, self.flows)

    def loads(self, rates):
        return np.bincount(self.link, np.broadcast_to(rates, self.flows)[self.flow], self.links)

    def total(self, signals):
        return np.bincount(self.flow, signals[self.link], self.flows)

    def largest(self, signals):
        found = np.full(self.flows, -np.inf)
        np.maximum.at(found, self.flow, signals[self.link])
        return found


@examples(1000)
@given(SEEDS)
def test_weighted_max_min_rates_fit_and_every_flow_has_a_bottleneck(seed):
    case = Case(seed)
    weights = case.each(-2, 2)
    rates = maxmin(case.routes, case.capacities, weights)
    assert (case.loads(rates) <= case.capacities * (1 + 1e-9)).all()
    assert unfairness(case.routes, case.capacities, rates, weights).max() < 1e-9
    highest = np.zeros(case.links)
    np.maximum.at(highest, case.link, (rates / weights)[case.flow])
    full = case.loads(rates) >= case.capacities * (1 - 1e-9)
    first = (rates / weights)[case.flow] >= highest[case.link] * (1 - 1e-9)
    assert np.unique(case.flow[full[case.link] & first]).size == case.flows


@examples(300)
@given(SEEDS, st.sampled_from([None, 0.1, 10.0]))
def test_optimal_rates_and_prices_prove_each_other(seed, penalty):
    case = Case(seed)
    weights, exponents = case.each(-1, 1), case.random.choice([0.0, 0.5, 1.0, 2.0], case.flows)
    costs = case.random.choice([0.0, 0.1], case.flows)
    best = optimum(case.routes, case.capacities, weights=weights, exponents=exponents, costs=costs, penalty=penalty)
    paid = case.total(best.prices) + costs
    slope = weights * np.where(exponents > 0, exponents, 1) * best.rates ** (-exponents - 1)
    room = case.capacities if penalty is None else case.capacities / (1 - best.prices / penalty)
    load = case.loads(best.rates)
    assert (best.prices >= 0).all()
    assert (load <= room * (1 + 1e-9)).all()
    assert slope == pytest.approx(paid, rel=1e-9)
    assert (case.total(best.prices * np.abs(1 - load / room)) <= 1e-8 * paid).all()  # only full links have a price


@examples(100)
@given(SEEDS)
def test_optimal_rates_of_users_with_zero_or_bounded_demand_are_proven(seed):
    case = Case(seed)
    ends, enough, height = case.random.random(case.flows) < 0.5, case.each(-1, 2), case.each(-1, 1)

    def marginal(x):
        return np.where(ends, height * (1 - x / enough), height / (1 + x))

    try:
        best = optimum_of(marginal, case.routes, case.capacities)
    except ConvergenceError:  # expected for one of several hundred cases
        reject()
    paid, load = case.total(best.prices), case.loads(best.rates)
    sends = best.rates > 1e-9 * np.median(case.capacities)
    assert (best.prices >= 0).all()
    assert (load <= case.capacities * (1 + 1e-9)).all()
    assert marginal(best.rates)[sends] == pytest.approx(paid[sends], rel=1e-6, abs=1e-7 * height.max())
    assert (height[~sends] <= paid[~sends] * (1 + 1e-6)).all()
    assert (case.total(best.prices * np.abs(1 - load / case.capacities)) <= 1e-6 * height).all()


@examples(250)
@given(SEEDS)
@example(1754)  # a matrix whose last rows hardly affect the norm
@example(14241)
@example(24594)
def test_scaled_norm_and_absolute_radius_are_proven_from_both_sides(seed):
    random = np.random.default_rng(seed)
    size = int(40 ** random.random())
    full = random.random() < 0.5
    matrix = random.normal(size=(size, size)) * (full | (random.random((size, size)) < 0.3))
    matrix = matrix * np.exp(random.normal(0, 1, size))
    found, scale = scaled_norm(matrix), np.abs(matrix).max()
    scaled = found.weights[:, None] * matrix / found.weights
    assert np.linalg.norm(scaled, 2) == pytest.approx(found.upper)
    # If diag(A X A') >= r^2 diag(X) with X >= 0, the trace of W (A X A' - r^2 X) W is at least 0 for every W.
    assert np.linalg.eigvalsh(found.dual).min() >= -1e-9 * np.abs(found.dual).max()
    held = np.diag(found.dual) > 0
    above = np.diag(matrix @ found.dual @ matrix.T)[held] >= found.lower**2 * np.diag(found.dual)[held] * (1 - 1e-9)
    assert (held.any() and above.all()) or found.lower == 0
    assert found.gap <= 1e-5 * scale
    bound = absolute_radius(matrix)
    sums = np.abs(bound.weights[:, None] * matrix / bound.weights).sum(axis=1)
    assert sums.max() == pytest.approx(bound.upper)
    assert bound.lower <= np.abs(np.linalg.eigvals(np.abs(matrix))).max() * (1 + 1e-6) + 1e-2 * scale
    assert bound.gap <= 1e-6 * scale


def solves(matrix, delays, root, vector):
    """Returns the error of `x(n) = vector root^n` in the system, relative to the largest term."""
    left = vector * root ** delays.astype(float)
    return np.abs(left - matrix @ vector).max() / max(np.abs(left).max(), np.abs(matrix).max() * np.abs(vector).max())


@examples(500)
@given(SEEDS)
def test_a_verdict_on_delays_carries_a_root_and_the_recursion_agrees(seed):
    random = np.random.default_rng(seed)
    size = int(9 ** random.random())
    matrix = random.normal(size=(size, size)) * random.uniform(0.3, 1.5) / np.sqrt(size)
    delays = random.integers(1, 16, size)
    found = stability(matrix, delays)
    assert solves(matrix, delays, found.root, found.vector) < 1e-9
    assert np.linalg.norm(found.vector) == pytest.approx(1)
    assert found.stable == (abs(found.root) < 1)
    if abs(abs(found.root) - 1) > 1e-6:
        assert are_stable([matrix], [[delays]])[0, 0] == found.stable


@pytest.mark.parametrize("flows", [20, 60, 200])
def test_a_verdict_on_many_flows_carries_a_root(flows):
    random = np.random.default_rng(flows)
    for spread in (0.5, 1.5):
        matrix = random.normal(size=(flows, flows)) * spread / np.sqrt(flows)
        delays = random.integers(1, 3, flows)
        found = stability(matrix, delays)
        assert solves(matrix, delays, found.root, found.vector) < 1e-9
        assert found.stable == (abs(found.root) < 1) == (spread < 1)


@examples(60)
@given(SEEDS)
def test_instability_under_delays_is_proven_by_such_delays(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 5))
    matrix = random.normal(size=(size, size)) * random.uniform(0.3, 1.0) / np.sqrt(size)
    found = independence(matrix)
    if found.stable is False:
        assert abs(found.proof.root) > 1
        assert solves(matrix, found.delays, found.proof.root, found.proof.vector) < 1e-9
    elif found.stable:
        delays = random.integers(1, 40, (1, 50, size))
        assert are_stable([matrix], delays).all()
    delays = random.integers(1, 5, size)
    if stability(matrix, delays).stable:
        margin = delay_margin(matrix, delays, limit=20)
        if margin.proof is not None:
            assert abs(margin.proof.root) >= 1
            assert solves(matrix, delays + int(margin.steps) + 1, margin.proof.root, margin.proof.vector) < 1e-9


@examples(300)
@given(SEEDS)
def test_the_nyquist_curve_counts_the_roots_that_are_found(seed):
    random = np.random.default_rng(seed)
    flows = int(8 ** random.random())  # number of flows over one link, each with its own delay
    gains, delays = random.uniform(-1, 3, flows) / flows, random.choice([0.0, 1.0], flows) * random.uniform(0, 4, flows)
    poles = np.poly([0.0] * random.integers(0, 2) + random.uniform(-4, 0.5, random.integers(1, 3)).tolist())
    loop = Loop(
        QuasiPolynomial([([gain], delay) for gain, delay in zip(gains, delays, strict=True)]),
        QuasiPolynomial([(poles, 0.0)]),
    )
    for root in loop.roots:
        terms = np.append(poles * root.value ** np.arange(poles.size)[::-1], gains * np.exp(-root.value * delays))
        assert abs(terms.sum()) <= 1e-10 * np.abs(terms).sum()
    reals = np.array([root.value.real for root in loop.roots])
    if np.abs(reals).min(initial=1.0) > 1e-5:
        assert loop.unstable_roots == (reals > 0).sum()
        assert loop.stable == (not (reals > 0).any())


@examples(200)
@given(SEEDS)
def test_each_law_has_the_equilibrium_of_its_equation(seed):
    case = Case(seed)
    routes, capacities, ratio = case.routes, case.capacities, case.each(-4, 2)

    rates = jetmax.fixed_point(routes, capacities).rates
    assert unfairness(routes, capacities, rates).max() < 1e-9  # JetMax: max-min fair, and at most the targets
    assert (case.loads(rates) <= capacities * (1 + 1e-9)).all()

    found = emkc.fixed_point(routes, capacities, ratio)  # alpha = beta x times the largest loss
    losses = 1 - capacities / np.maximum(case.loads(found.rates), 1e-300)
    assert np.abs(ratio / found.rates - case.largest(losses)).max() < 1e-9

    found = emkc_avq.fixed_point(routes, capacities, ratio)
    assert case.largest(found.signals) * found.rates == pytest.approx(ratio, rel=1e-9)
    assert (case.loads(found.rates) <= capacities * (1 + 1e-9)).all()

    found = kelly.fixed_point(routes, capacities, ratio)  # omega = x times the sum of losses
    shares = capacities / np.maximum(case.loads(found.rates), 1e-300)
    # Allows for a value of 1 - C/y that is only a rounding error.
    size = case.total(1 + np.where(np.isfinite(shares), shares, 0)) + ratio / found.rates
    assert (np.abs(ratio / found.rates - case.total(1 - shares)) / size).max() < 2e-13

    found = xcp.fixed_point(routes, capacities)  # feedback is zero
    load, counts = case.loads(found.rates), np.bincount(case.link, minlength=case.links)
    spare = 0.4 * (capacities - load)
    shuffled = np.maximum(0.1 * load - np.abs(spare), 0)
    told = (shuffled + np.maximum(spare, 0))[case.link] / counts[case.link] - (shuffled + np.maximum(-spare, 0))[
        case.link
    ] * found.rates[case.flow] / load[case.link]
    least = np.full(case.flows, np.inf)
    np.minimum.at(least, case.flow, told)
    assert (np.abs(least) / found.rates).max() < 1e-6

    law = maxnet.Parameters()
    found = maxnet.fixed_point(routes, 1e6 * capacities, law)  # demand at the largest price, and mu C at bottlenecks
    assert law.x_max * np.exp(-case.largest(found.prices) / law.scale) == pytest.approx(found.rates, rel=1e-9)
    load = case.loads(found.rates) / (1e6 * capacities)
    assert load.max() <= law.mu * (1 + 1e-9)
    assert load[found.bottlenecks] == pytest.approx(law.mu)
