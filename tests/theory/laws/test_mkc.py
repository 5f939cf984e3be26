"""Kelly control and MKC with delays, compared with closed forms, companion matrices and hand-written equations."""

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc, kelly
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.paths import paths, run, scattered
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.stability.delays import critical_gain

SEEDS = st.integers(0, 2**32)


def routes_of(rng, flows, links):
    return [rng.choice(links, rng.integers(1, min(links, 5) + 1), replace=False) for _ in range(flows)]


def roots(matrix, delays):
    """Returns the absolute values of the roots of det(A - diag(z^D)). The roots are the eigenvalues of the
    system whose state includes past states.
    """
    starts = np.concatenate(([0], np.cumsum(delays)))
    whole = np.eye(starts[-1], k=-1)
    whole[starts[:-1]] = 0
    whole[np.ix_(starts[:-1], starts[1:] - 1)] = matrix
    return np.abs(np.linalg.eigvals(whole))


def written_out(rng, capacity, alpha, beta, steps):
    """Iterates eq 61 and 62 with explicit lags for two flows. The first flow crosses both links."""
    x = [rng.uniform(1, 5, 2)] * 12
    for n in range(12, 12 + steps):
        near = 1 - capacity[0] / (x[n - 3 - 1][0] + x[n - 3 - 2][1])  # feedback lags: 3 steps to flow 0, 2 to flow 1
        far = 1 - capacity[1] / x[n - 1 - 3][0]
        near_1 = 1 - capacity[0] / (x[n - 2 - 1][0] + x[n - 2 - 2][1])
        x.append(
            np.array(
                [
                    x[n - 4][0] + alpha - beta * max(near, far) * x[n - 4][0],
                    x[n - 4][1] + alpha - beta * near_1 * x[n - 4][1],
                ]
            )
        )
    return np.array(x[11:])


def test_iteration_is_the_equations_written_out():
    capacity = np.array([10.0, 7.0])
    network = paths([[0, 1], [0]], 2, 4, [[1, 3], [2, 0]])
    by_hand = written_out(np.random.default_rng(1), capacity, 0.3, 0.7, 60)
    went = mkc.iterate(network, by_hand[0], 60, lambda load: emkc.price(load, capacity), (0.3, 0.7))
    assert went.rates == pytest.approx(by_hand, rel=1e-12)
    assert went.signals[-1] == pytest.approx(
        1 - capacity / [by_hand[-2, 0] + by_hand[-3, 1], by_hand[-4, 0]], rel=1e-12
    )


@examples(12)
@given(SEEDS)
def test_emkc_converges_in_networks_under_any_delays(seed):
    rng = np.random.default_rng(seed)
    links = int(rng.integers(1, 6))
    routes = routes_of(rng, int(rng.integers(1, 9)), links)
    capacities = rng.uniform(5, 20, links)
    wanted = emkc.fixed_point(routes, capacities, 2.0).rates
    network = scattered(routes, links, 4, rng)
    went = emkc.iterate(network, wanted * rng.uniform(0.9, 1.1, len(routes)), 500, capacities, (1.2, 0.6))
    assert went.rates[-1] == pytest.approx(wanted, rel=1e-4)


@examples(60)
@given(SEEDS)
def test_roots_outside_the_circle_are_those_of_a_companion_matrix(seed):
    rng = np.random.default_rng(seed)
    flows = int(rng.integers(1, 7))
    delays = rng.integers(1, 10, flows)
    system = rng.uniform(0.1, 3, flows), rng.uniform(0.05, 2, flows), rng.uniform(-0.2, 1.5), rng.uniform(0, 2) / flows
    sizes = roots(mkc.jacobian(*system), delays)
    if np.abs(sizes - 1).min() > 1e-4:
        assert mkc.unstable_roots(delays, *system) == (sizes > 1).sum()


def test_a_root_on_the_circle_is_refused():
    with pytest.raises(ParameterError, match="needs roots that are not on the unit circle"):
        mkc.unstable_roots([1, 1], [1.0, 1.0], 1.0, 0.0, 0.1)


@examples(60)
@given(SEEDS)
def test_the_values_of_theorem_7_are_one_less_the_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    flows = int(rng.integers(1, 20))
    rate, beta, price, slope = rng.uniform(0.01, 3, 4)
    found = mkc.theorem_7(flows, rate, beta, price, slope)
    matrix = mkc.jacobian([rate] * flows, beta, price, slope)
    assert np.array_equal(matrix, matrix.T)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert sorted([1 - found.values[0]] * (flows - 1) + [1 - found.values[-1]]) == pytest.approx(eigenvalues, abs=1e-9)
    assert found.holds == (np.abs(eigenvalues).max() < 1)
    assert found.distance == pytest.approx(1 - np.abs(eigenvalues).max(), abs=1e-9)


@examples(60)
@given(SEEDS)
def test_theorem_8_holds_for_stable_systems_only(seed):
    rng = np.random.default_rng(seed)
    flows = int(rng.integers(1, 15))
    rates, beta = rng.uniform(0.1, 3, flows), rng.uniform(0.05, 1.95, flows)
    price = rng.uniform(0.01, 1)
    slope = rng.uniform(0.01, 1.5) / rates.sum()
    similar = mkc.symmetric(rates, beta, price, slope)
    assert similar == pytest.approx(similar.T, rel=1e-12)
    radius = np.abs(np.linalg.eigvalsh(similar)).max()
    assert radius == pytest.approx(np.abs(np.linalg.eigvals(mkc.jacobian(rates, beta, price, slope))).max(), rel=1e-9)
    if mkc.theorem_8(rates, beta, price, slope).holds:
        assert radius < 1
        assert mkc.unstable_roots(rng.integers(1, 20, flows), rates, beta, price, slope) == 0


@pytest.mark.parametrize("price", [lambda y: 1 - 9 / y, lambda y: 0.3 * (y - 9) / 9, lambda y: (y / 9) ** 4 - 1])
def test_at_equilibrium_rate_times_price_is_the_ratio(price):
    ratio = np.array([0.5, 1.0, 2.5])
    rates = mkc.fixed_point(price, ratio, 3)
    assert rates * price(rates.sum()) == pytest.approx(ratio, rel=1e-12)


def test_a_negative_price_has_no_equilibrium():
    with pytest.raises(ParameterError, match="increases with the load"):
        mkc.fixed_point(lambda load: -1 / load, 1.0, 2)


@examples(60)
@given(SEEDS)
def test_at_kellys_equilibrium_every_flow_pays_omega_and_lemma_13_holds(seed):
    rng = np.random.default_rng(seed)
    flows, links = rng.integers(1, 201, 2)
    routes = routes_of(rng, flows, links)
    capacities, omega = 10 ** rng.uniform(-2, 3, links), 10 ** rng.uniform(-4, 2, flows)
    rates, prices, _ = kelly.fixed_point(routes, capacities, omega)
    loads = np.zeros(links)
    for route, rate in zip(routes, rates, strict=True):
        loads[route] += rate
    for route, rate, wanted in zip(routes, rates, omega, strict=True):
        assert rate * (1 - capacities[route] / loads[route]).sum() == pytest.approx(
            wanted, abs=1e-11 * rate * len(route)
        )
        assert prices[route] == pytest.approx(1 - capacities[route] / loads[route], abs=1e-12)
    sides = kelly.lemma_13(routes, capacities, omega, rates)
    used = np.unique(np.concatenate(routes))
    assert sides == pytest.approx(
        [
            sum(rate * len(route) for rate, route in zip(rates, routes, strict=True)),
            capacities[used].sum() + omega.sum(),
        ],
        rel=1e-10,
    )


def test_kelly_converges_in_a_network_and_is_clipped_at_a_floor():
    routes, capacities = [[0, 1], [0], [1, 2]], np.array([10.0, 20.0, 5.0])
    network = paths(routes, 3, [2, 1, 3], [[1, 0, 9], [0, 9, 9], [9, 2, 1]])
    wanted = kelly.fixed_point(routes, capacities, 2.0).rates
    went = kelly.iterate(network, wanted * 1.2, 500, lambda y: emkc.price(y, capacities), (0.1, 2.0))
    assert went.rates[-1] == pytest.approx(wanted, rel=1e-9)
    clipped = kelly.iterate(paths([[0]], 1, 6), [1.0], 300, lambda y: emkc.price(y, 10.0), (0.5, 1.0), floor=0.5)
    assert clipped.rates.min() == 0.5
    assert clipped.rates.max() > 20


@pytest.mark.parametrize("delay", [1, 2, 3, 4, 5, 9])
def test_one_kelly_flow_goes_as_its_roots_say(delay):
    for gain in (0.98, 1.02):
        kappa = gain * critical_gain(delay)
        assert (kelly.radius(kappa, delay) < 1) == (gain < 1)
        away = np.abs(kelly.alone(100.0, delay, (kappa, 5.0), 4000, start=104.0) - 105)
        assert (away[-20:].max() < away[:20].max()) == (gain < 1)
    # Eq 1 and 2 (`levelflow.theory.laws.kelly`) give the same rates here, because the rates stay above 0.
    network = paths([[0]], 1, delay, delay - 1)
    went = kelly.iterate(network, [104.0], 50, lambda y: emkc.price(y, 100.0), (0.3, 5.0))
    assert went.rates[:, 0] == pytest.approx(kelly.alone(100.0, delay, (0.3, 5.0), 50, start=104.0), rel=1e-9)


def test_states_of_links_are_recorded():
    went = run(paths([[0], [0]], 1), [1.0, 2.0], 3, lambda last, _, heard: last + 1, lambda y, m: (y.sum(0), m + 1))
    assert went.rates[:, 0].tolist() == [1, 2, 3, 4]
    assert went.signals[:, 0].tolist() == [3, 5, 7, 9]
    assert went.memory[:, 0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("error", "line", "call"),
    [
        (ParameterError, r"delay 0.0 is not allowed; needs a finite number >= 1", lambda: paths([[0]], 1, 0)),
        (ParameterError, r"delay 0: 1.5 is not allowed; needs a whole number >= 1", lambda: paths([[0]], 1, 1.5)),
        (
            ParameterError,
            r"flow 1: forward delay 2.0 to link 0 is not allowed; needs 0 to 1",
            lambda: paths([[0]] * 2, 1, [3, 2], 2),
        ),
        (ParameterError, r"forward delay of shape \(2,\) is not allowed", lambda: paths([[0]], 1, 3, [1, 2])),
        (ParameterError, r"flow 0: forward delay nan", lambda: paths([[0]], 1, 3, [[np.nan]])),
        (RouteError, r"flow 0 crosses no link", lambda: paths([[]], 1)),
        (
            ParameterError,
            r"start of shape \(3,\)",
            lambda: emkc.iterate(paths([[0]], 1), [1.0] * 3, 5, [1.0], (1.0, 0.5)),
        ),
        (
            ParameterError,
            r"beta -1.0 is not allowed",
            lambda: emkc.iterate(paths([[0]], 1), [1.0], 5, [1.0], (1.0, -1)),
        ),
        (ParameterError, r"rate 1: 0.0 is not allowed", lambda: mkc.jacobian([1.0, 0.0], 0.5, 0.1, 0.1)),
        (ParameterError, r"omega 0.0 is not allowed", lambda: kelly.fixed_point([[0]], [1.0], 0.0)),
        (
            ParameterError,
            r"omega is not allowed; needs a larger share",
            lambda: kelly.fixed_point([[0, 1], [0], [1]], [1, 3], 1e-40),
        ),
        (CapacityError, r"link 0: capacity nan", lambda: kelly.fixed_point([[0]], [np.nan], 1.0)),
    ],
)
def test_questions_without_an_answer_are_rejected(error, line, call):
    with pytest.raises(error, match=line) as refused:
        call()
    assert "\n" not in str(refused.value)
