"""Steps to fairness of EMKC and AIMD from the maximally unfair start, synchronous and undelayed."""

import math

import numpy as np

ALPHA, BETA = 10.0, 0.5  # kb/s per step
CAPACITIES = (1e3, 1e4, 1e5)  # kb/s
EPSILONS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def theta(capacity, flows, eps, alpha=ALPHA, beta=BETA):
    """Steps to eps-fairness by theorem 12 (eq 108)."""
    return (capacity + flows * alpha / beta) * (math.log(flows) - math.log(eps)) / (flows * alpha)


def emkc(x, capacity, alpha, beta):
    return x + alpha - beta * (1 - capacity / x.sum()) * x


def aimd(x, capacity, alpha, beta):
    """Eq 114: an increase per RTT, and a decrease in the RTT that finds the link full."""
    return x + alpha if x.sum() < capacity else (1 - beta) * x + alpha


def steps(law, capacity, flows, eps, alpha=ALPHA, beta=BETA):
    """Steps until min x / max x >= 1 - eps (eq 107), one flow starting with the whole link."""
    x = np.zeros(flows)
    x[-1] = capacity
    count = 0
    while x.min() < (1 - eps) * x.max():
        x = law(x, capacity, alpha, beta)
        count += 1
    return count


def users(capacity):
    return math.ceil(capacity / 500)


def ratio(capacity, flows, alpha=ALPHA, eps=1e-9):
    """Steps of EMKC over steps of AIMD; ``eps`` is so small that whole steps hardly round the ratio."""
    return steps(emkc, capacity, flows, eps, alpha) / steps(aimd, capacity, flows, eps, alpha)


def measure(figure):
    fixed = [steps(emkc, capacity, 2, 0.1) for capacity in CAPACITIES]
    growing = [steps(emkc, capacity, users(capacity), 0.1) for capacity in (*CAPACITIES, 1e6)]
    gaps = [abs(theta(1e3, 2, eps) / steps(emkc, 1e3, 2, eps) - 1) for eps in EPSILONS]
    apart = [abs(ratio(1e4, 2, alpha) - 1) for alpha in (10.0, 1e5, 1e6, 1e7)]
    doubled = steps(emkc, 2e4, 2, 0.1) / steps(emkc, 1e4, 2, 0.1)
    overshoot = []
    for capacity in (*CAPACITIES, 1e6):
        x = np.full(2, capacity / 2)
        for _ in range(200):
            x = emkc(x, capacity, 0.01 * capacity, BETA)
        overshoot.append(x.sum() / capacity - 1)
    return {
        "emkc-thm12-fig16a": [
            theta(1e3, 2, 0.1),
            theta(1e3, 2, 0.01),
            steps(emkc, 1e3, 2, 0.1),
            steps(emkc, 1e3, 2, 0.01),
            max(gaps),
        ],
        "emkc-fig16b": [
            fixed,
            growing,
            np.polyfit(np.log(CAPACITIES), np.log(fixed), 1)[0],
            float(np.mean(np.diff(growing))),
        ],
        "emkc-aimd-cor6-fig17b": [
            [ratio(1e4, 2), ratio(1e4, users(1e4))],
            apart[0] > 0.3 and max(apart[1:]) < 0.1 and apart[-1] < 0.06,
        ],
        "emkc-convergence-theta": [abs(doubled - 2) < 0.02, float(np.ptp(overshoot)) < 1e-9],
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    eps = np.geomspace(0.001, 0.5, 25)
    left.semilogx(eps, [theta(1e3, 2, e) for e in eps], label="model, eq 108")
    left.semilogx(eps, [steps(emkc, 1e3, 2, e) for e in eps], "o", markersize=4, label="iteration")
    left.set(xlabel="eps", ylabel="steps to eps-fairness", title="fig 16(a)")
    left.legend()
    for label, flows in (("N = 2", lambda _: 2), ("N = C / 500 kb/s", users)):
        counts = [steps(emkc, capacity, flows(capacity), 0.1) for capacity in CAPACITIES]
        right.loglog([c / 1e3 for c in CAPACITIES], counts, marker="o", label=label)
    right.set(xlabel="capacity (Mb/s)", ylabel="steps to 0.1-fairness", title="fig 16(b)")
    right.legend()
