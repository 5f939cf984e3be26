"""Verifies MKC on one link: eigenvalues, conditions, and roots and iterations under random delays."""

from itertools import islice

import numpy as np

from levelflow.reproduce import Against
from levelflow.reproduce.verdict import Noted
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.paths import paths

RANDOM = 1
SYSTEMS, QUICK_SYSTEMS, DRAWS, LONGEST = 200, 100, 3, 50
ITERATED = 4
C = 10.0
#: Rates, gain, price and slope of EMKC with C = 10, alpha/beta = 5 and beta = 2.1.
TWO_FLOWS = np.array([10.0, 10.0]), 2.1, 0.5, 10.0 / 20.0**2

#: Prices as functions of the load, with their derivatives.
PRICES = (
    (lambda load: 1 - C / load, lambda load: C / load**2),
    (lambda load: (load - C) / (2 * C), lambda _: 1 / (2 * C)),
    (lambda load: (load / C) ** 3 - 1, lambda load: 3 * load**2 / C**3),
)


def at_rest(kind, flows, ratio):
    """Rates, price and slope of the price at the equilibrium of `flows` flows, where `ratio` is alpha/beta."""
    price, slope = PRICES[kind]
    rates = mkc.fixed_point(price, ratio, flows)
    return rates, float(price(rates.sum())), float(slope(rates.sum()))


def equal_flows(rng):
    """Random flows with equal gains. The conditions of theorem 7 hold about as often as they fail."""
    kind, flows = rng.integers(len(PRICES)), int(rng.integers(2, 21))
    ratio = C / flows * rng.uniform(0.1, 5)
    rates, price, slope = at_rest(kind, flows, ratio)
    return kind, ratio, (rates, rng.uniform(0.1, 4) / (price + slope * rates.sum()), price, slope)


def theorem_7():
    """Compares two results with closed forms: the Jacobian of eq 65 by differences, and the final rates of an
    iteration.
    """
    rng = np.random.default_rng(RANDOM)
    flows, ratio, beta, symmetric, eigenvalues, ends = 5, 1.3, 0.3, [], [], []
    for kind, (price, _) in enumerate(PRICES):
        rates, p, slope = at_rest(kind, flows, ratio)
        # Differences in the imaginary direction lose no digits.
        moved = [rates + 1e-20j * unit for unit in np.eye(flows)]
        differences = np.array([(x + ratio * beta - beta * price(x.sum()) * x).imag / 1e-20 for x in moved]).T
        if not np.allclose(differences, mkc.jacobian(rates, beta, p, slope), rtol=1e-9, atol=0):
            raise ValueError("the Jacobian is not the derivative")
        symmetric.append(np.allclose(differences, differences.T, rtol=1e-12, atol=0))
        expected = sorted([1 - beta * p] * (flows - 1) + [1 - beta * p - beta * flows * rates[0] * slope])
        eigenvalues.append((np.linalg.eigvalsh(differences), expected))
        start = rates * rng.uniform(0.5, 1.5, flows)
        went = mkc.iterate(paths([[0]] * flows, 1), start, 1000, price, (ratio * beta, beta))
        ends.append((went.rates[-1], [ratio / went.signals[-1, 0]] * flows))
    return {
        "jacobian_symmetric": symmetric,
        "eigenvalues": Against(*np.concatenate(eigenvalues, axis=1)),
        "fixed_point_rate": Against(*np.concatenate(ends, axis=1)),
    }


def iteration_returns(rng, kind, ratio, delays, system):
    """True if the iteration of eq 61 more than halves a small deviation from equilibrium."""
    rates, beta, *_ = system
    forward = rng.integers(0, delays[:, None])
    start = rates * (1 + 1e-6 * rng.uniform(-1, 1, rates.size))
    network = paths([[0]] * rates.size, 1, delays, forward)
    went = mkc.iterate(network, start, 40 * LONGEST, PRICES[kind][0], (ratio * beta, beta))
    return bool(np.abs(went.rates[-LONGEST:] - rates).max() < 0.5 * np.abs(start - rates).max())


def systems():
    """Yields the condition and the stability under several draws of delays, for random systems.

    All systems are at least 1 % away from the bounds. In the first draw, the delays of all flows are one step. The
    equations of the first systems that are at least 10 % away from the bounds are also iterated.
    """
    rng, iterated = np.random.default_rng(RANDOM), 0
    while True:
        kind, ratio, system = equal_flows(rng)
        flows = system[0].size
        found = mkc.theorem_7(flows, system[0][0], *system[1:])
        if abs(found.distance) < 0.01:
            continue
        several = [np.ones(flows, dtype=int), *rng.integers(1, LONGEST + 1, (DRAWS, flows))]
        stable = [mkc.unstable_roots(delays, *system) == 0 for delays in several]
        if iterated < ITERATED and abs(found.distance) > 0.1:
            iterated += 1
            for delays, before in zip(several[:2], stable[:2], strict=True):
                if iteration_returns(rng, kind, ratio, delays, system) != before:
                    raise ArithmeticError(f"roots and iteration do not agree: {system}, {delays}")
        yield found, stable


def corollary_3(found):
    """Agreement of the condition with stability: fraction of draws of delays, and fraction of systems under all draws.

    The first fraction omits the first draw of each system, whose delays are equal.
    """
    single = [verdict == condition.holds for condition, stable in found for verdict in stable[1:]]
    enough = np.mean([all(stable) for condition, stable in found if condition.holds])
    return {
        "verdict_agreement": Noted(np.mean(single), f"of systems that meet the condition, {enough:.0%} are stable"),
        "agreement_under_all_delays": np.mean([all(stable) == condition.holds for condition, stable in found]),
        "unstable_roots_of_the_counterexample": [mkc.unstable_roots(delays, *TWO_FLOWS) for delays in ([1, 2], [1, 1])],
    }


def theorem_8(count):
    """Theorem 8, with one gain per flow: both orders of the scaling, and unstable systems that meet the condition."""
    rng = np.random.default_rng(RANDOM)
    symmetric, counterexamples, admitted = [], 0, 0
    while admitted < count:
        kind, flows = rng.integers(len(PRICES)), int(rng.integers(2, 21))
        rates, price, slope = at_rest(kind, flows, C / flows * rng.uniform(0.1, 5, flows))
        beta = rng.uniform(0.05, rng.uniform(0.1, 2.2), flows) / (price + slope * rates.sum())
        system = rates, beta, price, slope
        scale = np.sqrt(beta * rates)
        printed = mkc.jacobian(*system) * scale[:, None] / scale
        symmetric.append((is_symmetric(mkc.symmetric(*system)), is_symmetric(printed)))
        if mkc.theorem_8(*system).holds:
            admitted += 1
            delays = [np.ones(flows), *rng.integers(1, LONGEST + 1, (DRAWS, flows))]
            counterexamples += any(mkc.unstable_roots(several, *system) for several in delays)
    inverse, direct = zip(*symmetric, strict=True)
    return {
        "similar_matrix_symmetric[W=diag(beta_x)^-0.5]": all(inverse) and not any(direct),
        "counterexamples": counterexamples,
        "similar_matrix_symmetric[W=diag(beta_x)^0.5]": all(direct),
    }


def is_symmetric(matrix):
    return bool(np.abs(matrix - matrix.T).max() < 1e-12)


def measure(figure):
    count = figure.draws(SYSTEMS, quick=QUICK_SYSTEMS)
    figure.found = list(islice(systems(), count))
    return {
        "mkc-thm7": theorem_7(),
        "mkc-cor3": corollary_3(figure.found),
        "mkc-thm8": theorem_8(count),
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for label, mark, wanted in (
        ("stable under all delays drawn", "o", all),
        ("stable under some", "D", lambda stable: any(stable) and not all(stable)),
        ("under none", "x", lambda stable: not any(stable)),
    ):
        points = np.array([condition.values for condition, stable in figure.found if wanted(stable)])
        axes.plot(*points.T, mark, markersize=4, label=label)
    axes.plot([0, 2, 2, 0, 0], [0, 0, 2, 2, 0], color="black", linewidth=1, label="eq 66 and 67")
    axes.set(xlabel="beta p*", ylabel="beta p* + beta N x* p'", title="MKC under delays of 1 to 50 steps")
