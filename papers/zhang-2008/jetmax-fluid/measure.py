"""Compares iterations of JetMax (eq 133-134) on one link and on many with the closed forms."""

import math

import numpy as np

from levelflow.reproduce import Against
from levelflow.theory.laws import jetmax
from levelflow.theory.networks.assignment import random_consistent, random_routes
from levelflow.theory.networks.fairness import unfair
from levelflow.theory.networks.paths import paths, scattered

TAU, EPS = 0.6, 0.01
CAPACITIES = (1e6, 1e7, 1e9, 1e12, 1e18, 1e100)  # bit/s
LINKS, LONGEST = 8, 8
RANDOM = 1


def one_link(start, target, tau=TAU, steps=50):
    """Undelayed rates by step and flow."""
    return jetmax.iterate(paths([[0]] * len(start), 1), start, steps, [target], tau).rates


def steps_until(ok):
    return int(np.argmax(ok)) if ok.any() else math.inf


def resting():
    """Lemma 19, with an unresponsive flow: the other flows get (gamma C - u) / N each, and the load is gamma C."""
    capacity, gamma, unresponsive = 1e7, 0.95, 2e6
    network = paths([[0], [0], [0], [0, 1]], 2, [3, 1, 2, 4], [[1, 0], [0, 0], [1, 0], [2, 1]])
    targets = [gamma * capacity, unresponsive]
    x = jetmax.iterate(network, [0.0, 1e6, 5e6, 0.0], 400, targets, TAU, bottlenecks=[0, 0, 0, 1]).rates[-1]
    return {
        "x_star": Against(x[:3], [(gamma * capacity - unresponsive) / 3] * 3),
        "aggregate": Against(x.sum(), gamma * capacity),
    }


def deviation(rng, tau, steps):
    """Distance from equilibrium by step under random delays, in a network with a constant consistent assignment."""
    routes = random_routes(rng, 30, LINKS, 1, 4)
    bottlenecks = random_consistent(rng, routes).bottlenecks
    network = scattered(routes, LINKS, LONGEST, rng)
    # Near any equilibrium, deviations follow the same linear equations as rates on links without capacity.
    went = jetmax.iterate(network, rng.uniform(-1, 1, 30), steps, np.zeros(LINKS), tau, bottlenecks=bottlenecks)
    return np.abs(went.rates).max(axis=1)


def stability():
    """Theorem 15.

    Eigenvalues are 1 - tau. Rates are stable under any delay iff 0 < tau < 2, and monotone iff tau <= 1.
    """
    rng = np.random.default_rng(RANDOM)
    jacobian = np.array([one_link(unit, 0.0, steps=1)[1] for unit in np.eye(3)]).T
    stable = {
        tau: [bool(d[-1] < 1e-3 * d[0]) for d in (deviation(rng, tau, steps) for _ in range(2))]
        for tau, steps in ((0.1, 4000), (0.6, 1500), (1.0, 1500), (1.5, 1500), (1.95, 12_000), (2.05, 1500))
    }
    monotone = {
        tau: bool(np.all(np.diff(one_link([0.0, 9e6], 1e7, tau)[:40, 0]) >= -1e-6)) for tau in (0.1, 0.6, 1.0, 1.5, 1.9)
    }
    return {
        "single_link_jacobian": Against(jacobian.ravel(), ((1 - TAU) * np.eye(3)).ravel()),
        "stable[tau<2]": [all(stable[tau]) for tau in (0.1, 0.6, 1.0, 1.5, 1.95)],
        "stable[tau=2.05]": stable[2.05],
        "monotonic_iff_tau_in_0_1": all(monotone[tau] == (tau <= 1) for tau in monotone),
    }


def efficiency():
    """Theorem 17, eq 142: ceil(log eps / log |1 - tau|) steps from an empty link, at any capacity.

    The steps are counted in the iteration, and computed by the formula.
    """
    steps = [steps_until(one_link([0.0] * 4, c).sum(axis=1) >= (1 - EPS) * c) for c in CAPACITIES]
    return {
        "steps[eps=0.01,_tau=0.6]": [steps[0], jetmax.steps(TAU, EPS)],
        "steps_independent_of_C[up_to_1e100]": len(set(steps)) == 1,
    }


def fairness():
    """Theorem 17, eq 143-144: joiners rise from 0, and the first flow falls from the whole link."""

    def steps(flows):
        fair = 1e7 / flows
        off = np.abs(one_link(unfair(flows, 1e7), 1e7) / fair - 1)
        joiner, shrunk = off[:, 0] <= EPS, (off <= EPS * off[0]).all(axis=1)
        everyone = (off <= EPS).all(axis=1)
        return steps_until(joiner), steps_until(off[:, -1] <= EPS), steps_until(shrunk), steps_until(everyone)

    joiners, incumbents, shrunk, fair = zip(*(steps(flows) for flows in (2, 16, 1024)), strict=True)
    return {
        "steps[joiners,_any_N]": list(joiners),
        "steps[incumbent,_N=2]": incumbents[0],
        "steps[incumbent,_N=1024]": incumbents[-1],
        "steps_to_shrink_deviations_100fold": list(shrunk),
        "steps_to_99pct_fairness[N=2,_16,_1024]": list(fair),
    }


def loss():
    """Eq 151-152: a router computes N from arriving packets, so losses before the router increase equilibrium rates."""
    capacity, gamma, unresponsive, survival = 1e10, 0.95, 1e9, np.array([0.9, 0.8, 0.7])
    target = gamma * capacity - unresponsive
    network = paths([[0], [0], [0], [0, 1]], 2, [3, 1, 2, 4], [[1, 0], [0, 0], [1, 0], [2, 1]])
    arriving = np.ones((4, 2))
    arriving[:3, 0] = survival
    start, targets, limits = [0.0, 1e9, 5e9, 0.0], [gamma * capacity, unresponsive], [0, 0, 0, 1]
    x = jetmax.iterate(network, start, 400, targets, TAU, bottlenecks=limits, survival=arriving).rates[-1, :3]
    return {"x_star": Against(x, [target / (survival.mean() * 3)] * 3), "y_star": Against((x * survival).sum(), target)}


def measure(figure):
    return {
        "jetmax-lemma19": resting(),
        "jetmax-thm15": stability(),
        "jetmax-thm17-efficiency": efficiency(),
        "jetmax-thm17-fairness": fairness(),
        "jetmax-eq151": loss(),
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for flows in (2, 16, 1024):
        off = np.abs(one_link(unfair(flows, 1e7), 1e7, steps=16) * flows / 1e7 - 1)
        axes.semilogy(off[:, -1], marker="o", markersize=3, label=f"incumbent, N = {flows}")
    axes.semilogy(off[:, 0], color="black", label="joiner, any N")
    axes.axhline(EPS, color="grey", linewidth=1)
    axes.set(xlabel="control step", ylabel="relative distance from the fair rate", title="JetMax: eq 144")
