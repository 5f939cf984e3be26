"""Theory compared with other methods: winding numbers, delay equations, linear programs, systems of equations."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve, linprog, minimize

from levelflow.laws import Router, Sender
from levelflow.theory.laws import maxnet, rcp, xcp
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.utility import optimum
from levelflow.theory.queues.marking import mm1b_loss


def roots_to_the_right(polynomial, alpha, beta, real=1e-7, far=60.0, points=60_000):
    """Zeros of s^2 + polynomial e^-s with a positive real part, by the argument principle on a half disc."""
    side = real + 1j * np.linspace(far, -far, points)
    arc = real + far * np.exp(1j * np.linspace(-np.pi / 2, np.pi / 2, points // 4))
    s = np.concatenate([side, arc])
    values = s**2 + polynomial(s, alpha, beta) * np.exp(-s)
    return round(np.diff(np.unwrap(np.angle(values))).sum() / (2 * np.pi))


def linear(s, alpha, beta):
    return alpha * s + beta


def edge(stable, inside, outside):
    """End of a stable interval, by bisection."""
    for _ in range(24):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return inside


@pytest.mark.parametrize("beta", [0.05, 0.3, 0.5])
def test_the_ends_of_rcps_stable_range_are_where_roots_cross_the_axis(beta):
    def stable(alpha):
        return roots_to_the_right(linear, alpha, beta) == 0

    ends = edge(stable, 1.0, 0.0), edge(stable, 1.0, 2.0)
    assert rcp.alpha_range(beta) == pytest.approx(ends, rel=2e-5)


def test_the_largest_beta_of_rcp_is_where_no_alpha_is_stable():
    limit = rcp.beta_limit()
    alphas = np.linspace(0.8, 1.0, 9)
    assert any(roots_to_the_right(linear, alpha, 0.999 * limit) == 0 for alpha in alphas)
    assert all(roots_to_the_right(linear, alpha, 1.001 * limit) > 0 for alpha in alphas)


def test_the_margins_of_rcp_are_those_of_its_equation():
    alpha, beta, d0 = 0.4, 0.3, 0.1

    def response(w):  # (alpha s + beta) e^-s / s^2 with time in units of d0
        return (alpha * 1j * w + beta) * np.exp(-1j * w) / (1j * w) ** 2

    crossing = brentq(lambda w: abs(response(w)) - 1, 0.1, 3.0)
    turned = brentq(lambda w: np.arctan(alpha * w / beta) - w, 0.1, 1.5)  # phase of -pi
    margins = rcp.loop(alpha, beta, d0).margins
    phase = np.arctan(alpha * crossing / beta) - crossing
    assert margins.gain == pytest.approx(1 / abs(response(turned)), rel=1e-9)
    assert (margins.phase, margins.delay) == pytest.approx((phase, phase / crossing * d0), rel=1e-7)


@pytest.mark.parametrize(("factor", "grows"), [(0.98, False), (1.02, True)])
def test_rcp_as_a_delay_equation_grows_beyond_its_gain_margin(factor, grows):
    gain, step = factor * rcp.loop(0.4, 0.3).margins.gain, 1e-3
    lag = round(1 / step)
    rate, queue = np.zeros(200 * lag), 0.0  # deviations, with time in units of d0; the queue is linear
    rate[:lag] = 1.0
    for n in range(lag, rate.size):
        rate[n] = rate[n - 1] - step * gain * (0.4 * rate[n - lag] + 0.3 * queue)
        queue += step * rate[n - lag]
    early, late = (np.abs(rate[k * lag : (k + 20) * lag]).max() for k in (60, 180))
    assert bool(late > early) == grows


def test_xcp_is_stable_up_to_pi_over_four_root_two():
    def stable(alpha):
        return roots_to_the_right(linear, alpha, alpha**2 * math.sqrt(2)) == 0

    limit = edge(stable, 0.3, 0.9)
    assert limit == pytest.approx(math.pi / (4 * math.sqrt(2)), rel=2e-5)
    assert xcp.balanced(limit).item() == pytest.approx(limit**2 * math.sqrt(2))


@pytest.mark.parametrize("averaged", [False, True])
def test_the_gains_of_maxnets_region_solve_the_equation_of_a_root_on_the_axis(averaged):
    scale, share = 0.4, 0.9

    def equation(unknown, eta):
        alpha, w = unknown
        s = 1j * w
        loop = share * alpha * np.exp(-s) / s * (s + eta) / (s + eta * alpha * scale)
        value = loop / (1 + s if averaged else 1) + 1
        return value.real, value.imag

    rows = [(row[0], row[4 if averaged else 2]) for row in maxnet.region(scale=scale, delay=1.0, share=share).rows]
    inside = [(eta, gain) for eta, gain in rows if gain < 0.999 * np.pi / 2]
    assert len(inside) >= 3
    for eta, gain in inside:
        starts = ((gain, w) for w in np.linspace(0.2, 2.5, 24))
        solutions = [fsolve(equation, start, args=(eta,), full_output=True) for start in starts]
        found = [x for x, _, status, _ in solutions if status == 1 and x[1] > 0]
        assert min(abs(x[0] / gain - 1) for x in found) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_max_min_rates_solve_a_sequence_of_linear_programs(seed):
    rng = np.random.default_rng(seed)
    routes = [rng.choice(3, rng.integers(1, 4), replace=False).tolist() for _ in range(8)]
    capacities = rng.uniform(1, 10, 3)
    crosses = np.array([[link in route for route in routes] for link in range(3)], dtype=float)
    fixed: dict[int, float] = {}
    while len(fixed) < 8:
        free = [i for i in range(8) if i not in fixed]
        left = capacities - sum((crosses[:, i] * x for i, x in fixed.items()), np.zeros(3))
        load = crosses[:, free].sum(axis=1)
        lowest = linprog([-1.0], A_ub=load[:, None], b_ub=left).x[0]
        full = load * lowest >= left - 1e-9
        fixed |= {i: lowest for i in free if (crosses[:, i].astype(bool) & full).any()}
    assert maxmin(routes, capacities) == pytest.approx([fixed[i] for i in range(8)], rel=1e-9)


@pytest.mark.parametrize("nu", [0.0, 1.0, 2.0])
def test_optimal_rates_are_those_of_a_general_optimiser(nu):
    rng = np.random.default_rng(7)
    routes = [rng.choice(3, rng.integers(1, 4), replace=False).tolist() for _ in range(8)]
    capacities = rng.uniform(1, 10, 3)
    crosses = np.array([[link in route for route in routes] for link in range(3)], dtype=float)

    def loss(x):
        return -np.log(x).sum() if nu == 0 else (x**-nu).sum()

    def slope(x):
        return -1 / x if nu == 0 else -nu * x ** (-nu - 1)

    room = {"type": "ineq", "fun": lambda x: capacities - crosses @ x, "jac": lambda _: -crosses}
    start = np.full(8, 0.5 * (capacities / crosses.sum(axis=1)).min())
    options = {"maxiter": 1000, "ftol": 1e-15}
    best = minimize(
        loss, start, jac=slope, constraints=room, bounds=[(1e-4, None)] * 8, method="SLSQP", options=options
    )
    found = optimum(routes, capacities, exponents=[nu] * 8).rates
    assert loss(found) == pytest.approx(best.fun, rel=1e-9)
    assert found == pytest.approx(best.x, rel=1e-4)


@pytest.mark.parametrize(("load", "places"), [(0.5, 3), (0.95, 12), (1.0, 5), (1.3, 8)])
def test_mm1b_losses_are_those_of_the_chain(load, places):
    chain = np.zeros((places + 1, places + 1))
    for n in range(places):
        chain[n, n + 1], chain[n + 1, n] = load, 1.0
    chain -= np.diag(chain.sum(axis=1))
    stationary = np.linalg.lstsq(np.vstack([chain.T, np.ones(places + 1)]), np.eye(places + 2)[-1], rcond=None)[0]
    assert mm1b_loss(load, places) == pytest.approx(stationary[-1], rel=1e-9)


def test_the_price_code_of_maxnet_has_the_step_and_the_floor_of_its_definition():
    t, x_max = 0.4, 1e15  # s, bit/s
    assert Router("maxnet", 1e9).signal == pytest.approx(t * math.log(x_max / 1e9), abs=2**-19)

    def rate(code):
        sender = Sender("maxnet", packet_bytes=1)
        header = sender.send(0.0, 0, 1500)[:5] + code.to_bytes(3, "big")
        sender.feedback(1.0, 0, 0.1, header, "data")
        return sender.proposal_bps

    steps = [rate(code) / rate(code + 1) - 1 for code in (10**6, 2 * 10**6, 3 * 10**6)]
    assert steps == pytest.approx([math.expm1(2**-19 / t)] * 3, rel=1e-6)
