"""Compares iterations of EMKC (eq 61-62, price 1 - C/X) with the closed forms."""

import numpy as np

from levelflow.reproduce import Against
from levelflow.theory.laws import emkc
from levelflow.theory.networks.paths import paths, scattered

RANDOM = 1  # seed of the delays, starts and sequences
STEPS = 1000
LONGEST_DELAY = 8


def one_link(start, capacity, gains, delay=1, steps=STEPS, offset=0.0):
    """Rates by step and flow, with equal delays."""
    network = paths([[0]] * len(start), 1, delay)
    return emkc.iterate(network, start, steps, [capacity], gains, offset).rates


def law():
    """Verifies that eq 61-62 reduce to eq 65 without delays, and that a less congested link changes nothing."""
    rng = np.random.default_rng(RANDOM)
    start, capacity, alpha, beta = rng.uniform(1, 5, 3), 10.0, 0.2, 0.5
    x = start
    expected = [x]
    for _ in range(200):
        x = x + alpha - beta * (1 - capacity / x.sum()) * x
        expected.append(x)
    undelayed = np.allclose(one_link(start, capacity, (alpha, beta), steps=200), expected, rtol=1e-12)

    forward = np.array([[1, 3], [2, 0]])
    runs = [
        emkc.iterate(paths(routes, 2, [5, 4], forward), [1.0, 8.0], 500, [10.0, 30.0], (alpha, beta)).rates
        for routes in ([[0, 1], [0]], [[0], [0]])
    ]
    return {"undelayed_equivalence": undelayed, "only_most_congested_link_counts": np.array_equal(*runs)}


def local():
    """Theorem 9: finds the fixed point, and verifies that small deviations disappear only for beta below 2."""
    rng = np.random.default_rng(RANDOM)
    capacity, flows, alpha = 10.0, 4, 2.0
    routes = [[0]] * flows

    def ends(beta, deviation, network):
        fixed = emkc.fixed_point(routes, [capacity], alpha / beta).rates
        start = fixed * (1 + deviation * rng.uniform(-1, 1, flows))
        return emkc.iterate(network, start, STEPS, [capacity], (alpha, beta)).rates / fixed

    def stable(beta):
        """True if a small deviation disappears under each of several delays, which include equal delays."""
        several = [paths(routes, 1, 3, 1), *(scattered(routes, 1, LONGEST_DELAY, rng) for _ in range(2))]
        return all(np.abs(ends(beta, 1e-4, network)[-LONGEST_DELAY:] - 1).max() < 1e-5 for network in several)

    beta = 0.5
    fixed = capacity / flows + alpha / beta
    rates = fixed * ends(beta, 0.5, scattered(routes, 1, LONGEST_DELAY, rng))[-1]
    return {
        "x_star": Against(rates, [fixed] * flows),
        "X_star": Against(rates.sum(), capacity + flows * alpha / beta),
        "stable[beta_0.05..1.95]": [stable(beta) for beta in (0.05, 0.5, 1.0, 1.5, 1.95)],
        "stable[beta_2.05]": stable(2.05),
    }


def globally():
    """Theorems 10-11 and lemmas 14-15: runs with a constant delay from any start."""
    rng = np.random.default_rng(RANDOM)
    capacity, flows, alpha, beta, delay = 10.0, 5, 0.5, 0.5, 4
    fixed = capacity + flows * alpha / beta

    def run(beta):
        return one_link(rng.uniform(0.01, capacity, flows), capacity, (alpha, beta), delay)

    x = run(beta)
    total = x.sum(axis=1)[::delay][:60]
    closed = emkc.aggregate(np.arange(total.size), total[0], fixed, beta)
    limits = np.array([run(beta)[-1] for _ in range(5)]).ravel()

    a, v = rng.uniform(-0.95, 0.95, 3000), rng.uniform(-1, 1, 3000) / np.arange(1, 3001)
    sequence = [100.0]
    for factor, added in zip(a, v, strict=True):
        sequence.append(factor * sequence[-1] + added)
    bound = emkc.lemma_14(100.0, 0.95, v)
    return {
        "aggregate_closed_form_error": np.abs(total / closed - 1).max(),
        "loss_limit": Against(1 - capacity / x[-1].sum(), emkc.loss(flows, capacity, alpha / beta)),
        "individual_limits_from_random_starts": Against(limits, [capacity / flows + alpha / beta] * limits.size),
        "lemma14_geq_bound": bool((np.abs(sequence) <= bound * (1 + 1e-12)).all() and bound[-1] < 0.01),
        "stable[beta_2.1]": bool(np.abs(run(2.1)[-1].sum() / (capacity + flows * alpha / 2.1) - 1) < 1),
    }


def efficiency():
    """Lemma 16: verifies that each delay multiplies the deviation of the aggregate by 1 - beta."""
    capacity, alpha, betas = 8.0, 1.0, (0.5, 0.9, 1.0, 1.5)  # whole numbers: beta = 1 reaches its fixed point exactly
    deviations = {}
    for beta in betas:
        total = one_link([1.0, 3.0], capacity, (alpha, beta), steps=12).sum(axis=1)
        deviations[beta] = total - (capacity + 2 * alpha / beta)
    fixed = capacity + 2 * alpha / 0.9
    total = one_link([0.005 * fixed] * 2, capacity, (alpha, 0.9), steps=9).sum(axis=1)
    return {
        "ratio_per_delay": Against([d[1] / d[0] for d in deviations.values()], [1 - beta for beta in betas]),
        "monotonic[beta<=1]": [bool(np.all(np.diff(deviations[beta]) >= -1e-12)) for beta in (0.5, 0.9, 1.0)],
        "sign_alternates[1<beta<2]": bool(np.all(deviations[1.5][1:] * deviations[1.5][:-1] < 0)),
        "steps_to_99pct[beta=0.9]": int(np.argmax(total >= 0.99 * fixed)),
    }


def loss():
    """Section V.3.3: computes the price at equilibrium, and the offset that removes the loss."""

    def price(capacity, flows, alpha, beta, offset=0.0):
        x = one_link([capacity / flows] * flows, capacity, (alpha, beta), steps=400, offset=offset)
        return 1 - capacity / x[-1].sum()

    scaled = [price(500.0 * k, 4 * k, 10.0, 0.9) for k in (1, 4, 16, 64)]
    offset = price(500.0, 4, 10.0, 0.9, offset=emkc.lossless(4, 500.0, 10.0 / 0.9))
    return {
        "p_star[C=500,_N=4,_alpha=10,_beta=0.9]": scaled[0],
        "p_star_constant_for_N_proportional_C": np.ptp(scaled) < 1e-9,
        "loss_with_offset": offset,
    }


def measure(figure):
    return {
        "mkc-eq61-62": law(),
        "emkc-thm9": local(),
        "emkc-global-lemmas": globally(),
        "emkc-lemma16-efficiency": efficiency(),
        "emkc-loss-scaling": loss(),
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for beta in (0.5, 0.9, 1.0, 1.5):
        total = one_link([1.0, 3.0], 8.0, (1.0, beta), steps=15).sum(axis=1)
        axes.plot(total / (8.0 + 2 / beta), marker="o", markersize=3, label=f"beta = {beta}")
    axes.set(xlabel="control step", ylabel="aggregate rate / X*", title="EMKC: convergence to efficiency")
