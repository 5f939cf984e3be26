"""Verifies classic Kelly control in steps: eq 1-2 and 54 iterated, their roots, and the equilibria of networks."""

import numpy as np

from levelflow.reproduce import Against
from levelflow.theory.laws import emkc, kelly
from levelflow.theory.networks.paths import paths
from levelflow.theory.pictures.convergence import kelly_delays

RANDOM = 1
NETWORKS = 200
C, KAPPA, OMEGA = 1000.0, 0.5, 10.0  # Mb/s
DELAYS = (1, 2, 3, 4, 5)
STEPS = 600


def equations():
    """Eq 1-2 written out for two users. A single user on a link has its equilibrium at C + omega."""
    rng = np.random.default_rng(RANDOM)
    kappa, omega, capacity = np.array([0.1, 0.05]), np.array([3.0, 5.0]), np.array([10.0, 40.0])
    network = paths([[0, 1], [1]], 2, [4, 3], [[1, 3], [0, 2]])
    start = rng.uniform(4, 9, 2)
    went = kelly.iterate(network, start, 50, lambda load: emkc.price(load, capacity), (kappa, omega)).rates

    x = [start] * 10
    for n in range(10, 60):
        first = 1 - capacity[0] / x[n - 4][0]  # price of 3 steps ago, for data of 1 step earlier
        second = 1 - capacity[1] / (x[n - 4][0] + x[n - 3][1])  # price of 1 step ago, for data of 3 and 2 steps earlier
        paid = np.array([x[n - 4][0] * (first + second), x[n - 3][1] * second])
        x.append(x[n - 1] + kappa * (omega - paid))
    alone = kelly.iterate(paths([[0]], 1, 3, 1), [500.0], STEPS, lambda load: emkc.price(load, C), (KAPPA, OMEGA))
    return {
        "reference_rate_is_previous_step": np.allclose(went, x[9:], rtol=1e-12, atol=0),
        "fixed_point_single_flow_mbps": Against(alone.rates[-1, 0], C + OMEGA),
    }


def one_flow():
    """Fig 14: eq 54 from 0. The flow is stable if it ends within 1 % of C + omega."""
    ends = {delay: kelly.alone(C, delay, (KAPPA, OMEGA), STEPS)[-1] for delay in DELAYS}
    stable = [delay for delay, end in ends.items() if abs(end / (C + OMEGA) - 1) < 0.01]
    return {
        "fixed_point_mbps": ends[1],
        **{f"spectral_radius[D={delay}]": kelly.radius(KAPPA, delay) for delay in (1, 2, 3, 4)},
        "stable_set_of_D": stable,
    }


def network(rng):
    """Random users and links. Each link has a user."""
    while True:
        users, links = rng.integers(1, 41, 2)
        routes = rng.random((users, links)) < rng.uniform(0.1, 0.9)
        if routes.any(axis=0).all() and routes.any(axis=1).all():
            return [np.flatnonzero(route) for route in routes], 10 ** rng.uniform(0, 3, links), 10 ** rng.uniform(-2, 2)


def lemma_13():
    """Equilibria by Newton's method, certified by a residual, in random networks and on two links in series."""
    rng = np.random.default_rng(RANDOM)
    errors = []
    for _ in range(NETWORKS):
        routes, capacities, omega = network(rng)
        resting = kelly.equilibrium(routes, capacities, omega=omega)
        if resting.residual > 1e-10:
            raise ArithmeticError("the rates are not in equilibrium")
        left, right = kelly.lemma_13(routes, capacities, omega, resting.rates)
        errors.append(abs(left / right - 1))
    rate = kelly.fixed_point([[0, 1]], [10.0, 100.0], 1.0).rates[0]
    return {
        "identity_rel_error": max(errors),
        "slow_link_overflows_and_fast_link_underused": bool(abs(rate - 55.5) < 1e-9 and 10 < rate < 100),
    }


def measure(figure):
    return {"kelly-eq1-2-discrete": equations(), "kelly-fig14": one_flow(), "kelly-lemma13": lemma_13()}


def plot(figure, canvas):
    kelly_delays(C, (KAPPA, OMEGA), DELAYS[:4], canvas)
