"""Propositions 1 and 2, corollary 1: users that weigh utility against losses converge to the team optimum."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog, minimize

from kunniyur_models.fluid import nash, random_network, run
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws.ks import Users, best
from levelflow.theory.queues.marking import excess_share, mm1b_loss

#: Experiment 1: packets per 0.02 s.
ROUTES, CAPACITIES = [[0, 1], [0], [1]], np.array([156.25, 78.125])
USERS = Users(exponents=[0.5, 0.0, 1.0])
BETA = 0.5
LARGE = 5e3, 5e4
DIGITS = 9  # decimal places to which limits are rounded
LINKS, NUMBER = 4, 6  # links and users of the random networks
STARTS = 0.1, 5.0


def equilibrium():
    """Proposition 1: compares best replies from random starts with the solution of the program."""
    games = random_network(LINKS, NUMBER, seed=1, batch=(10, 1))
    starts = np.random.default_rng(1).uniform(*STARTS, (10, 100, NUMBER))
    away = np.abs(nash(games, starts) / games.rest() - 1).max(axis=-1)
    return {"solution_rel_difference": away.max(), "starts_with_other_limit": int((away.max(axis=0) > 1e-5).sum())}


def buffers():
    """Section II: verifies that a large M/M/1/B queue loses the load that exceeds the capacity."""
    loads = np.array([0.5, 0.9, 1.1, 2.0])
    scaled = np.array([1.1, 0.9])
    above, below = np.abs(mm1b_loss(scaled, 10 * 10) - excess_share(1.0, scaled))
    return {
        "abs_error[rho = 1.1, K = 10]": above,
        "abs_error[rho = 0.9, K = 10]": below,
        "limit": Against(
            np.round(mm1b_loss(loads, 10 * 10**5), DIGITS).tolist(), np.round(excess_share(1.0, loads), DIGITS).tolist()
        ),
    }


def excess(beta):
    rates = best(ROUTES, CAPACITIES, USERS, beta).rates
    return float((rates[0] + rates[1]) / CAPACITIES[0] - 1)


def hard():
    """Corollary 1: a large beta makes capacities hard; log users are proportionally fair, -1/x users minimise delay."""
    first, second = (excess(beta) for beta in LARGE)
    limit = second - (first - second) / (LARGE[1] / LARGE[0] - 1)
    return {
        "constraint_excess_over_c[beta = 0.5, link 1]": excess(BETA),
        "constraint_excess_over_c[beta -> infinity]": abs(round(limit, DIGITS)),
        "proportional_fair_when": "all log" if proportional(0.0) and not proportional(1.0) else "",
        "min_potential_delay_when": "all -1/x" if least_delay(1.0) and not least_delay(0.0) else "",
    }


def shares(exponent):
    """Returns the rates of equal users with hard capacities on a random network."""
    network = random_network(LINKS, NUMBER, seed=2)
    routes = [np.flatnonzero(column).tolist() for column in network.crossings.T]
    return network, best(routes, network.capacities, Users(exponents=exponent)).rates


def proportional(exponent):
    """Returns True if no feasible rates have a larger sum of relative differences."""
    network, rates = shares(exponent)
    other = linprog(-1 / rates, A_ub=network.crossings, b_ub=network.capacities)
    return bool(-other.fun <= NUMBER * (1 + 1e-6))


def least_delay(exponent):
    """Returns True if no feasible rates have a smaller sum of 1/x."""
    network, rates = shares(exponent)
    room = {"type": "ineq", "fun": lambda x: network.capacities - network.crossings @ x}
    other = minimize(lambda x: (1 / x).sum(), rates / 2, constraints=room, bounds=[(1e-3, None)] * NUMBER, tol=1e-12)
    return bool(other.success and (1 / rates).sum() <= other.fun * (1 + 1e-6))


def controllers():
    """Proposition 2: runs random networks from two starts each, and verifies that the objective never decreases."""
    networks = random_network(LINKS, NUMBER, seed=3, batch=(20, 2))
    gains = 10 ** np.random.default_rng(3).uniform(-1.0, 1.0, (20, 1, NUMBER))
    kept = np.where(np.arange(NUMBER) % 2, 0.95, 1.0)
    networks = replace(networks, users=replace(networks.users, kept=kept, gains=gains))
    start = np.random.default_rng(3).uniform(*STARTS, (20, 2, NUMBER))
    states = run(networks, start, 300.0, step=0.02, every=50).states
    worth = networks.worth(states)
    if np.diff(worth, axis=0).min() < -1e-9 * np.abs(worth).max():
        raise ArithmeticError("the objective fell on the way")
    return np.abs(states[-1] / networks.rest() - 1).max()


def measure(figure):
    return {
        "ks-prop1": equilibrium(),
        "ks-mm1b-limit": buffers(),
        "ks-corollary1": hard(),
        "ks-prop2": {"solution_rel_difference": controllers()},
        "ks-exp1-nlp": {
            **{f"rate_user{i}": rate for i, rate in enumerate(best(ROUTES, CAPACITIES, USERS).rates)},
            "rates_penalty_form": best(ROUTES, CAPACITIES, USERS, BETA).rates.tolist(),
        },
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    network = random_network(LINKS, NUMBER, seed=5)
    for start, line in ((0.2, "-"), (12.0, "--")):
        went = run(network, [start] * NUMBER, 50.0, step=0.01)
        for number in range(NUMBER):
            left.plot(went.times[1:], went.states[1:, number], line, color=f"C{number}", lw=1)
    left.set(xscale="log", yscale="log", xlabel="time", ylabel="rate", title="Six users, each from two starts")
    betas = np.geomspace(0.1, 1e4, 20)
    right.loglog(betas, [excess(beta) for beta in betas])
    right.plot(BETA, excess(BETA), "o", label="beta = 0.5")
    right.set(
        xlabel="beta", ylabel="load of link 1 above its capacity, share", title="Corollary 1: capacities become hard"
    )
    draw_expected(right, figure, "ks-corollary1[0]", (BETA, BETA))
