"""Computes steps to fairness of EMKC and AIMD. Rates start maximally unfair, and step synchronously without delay."""

import math

import numpy as np

from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Against
from levelflow.theory.laws import aimd, emkc
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks.fairness import steps_to_fairness, unfair

ALPHA, BETA = 10.0, 0.5  # kb/s per step
CAPACITIES = (1e3, 1e4, 1e5)  # kb/s
LOADS = (0.002, 20.0, 2e3, 2e6, 2e9)  # N alpha / C
EPSILONS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def by_emkc(x, capacity, alpha):
    return mkc.sender(x, emkc.price(x.sum(), capacity), alpha, BETA)


def by_aimd(x, capacity, alpha):
    """One step of AIMD. In the RTT of a loss, the decrease replaces the increase, as in eq 120."""
    return aimd.step(x, capacity, alpha, BETA, pause=True)


def steps(law, capacity, flows, eps, alpha=ALPHA):
    return steps_to_fairness(lambda x: law(x, capacity, alpha), unfair(flows, capacity), eps)


def users(capacity):
    return math.ceil(capacity / 500)


def ratio(capacity, flows, alpha=ALPHA, eps=1e-9):
    """Steps of EMKC divided by steps of AIMD. With this ``eps``, rounding to whole steps hardly changes the ratio."""
    return steps(by_emkc, capacity, flows, eps, alpha) / steps(by_aimd, capacity, flows, eps, alpha)


def ratio_of_decays(load, count=100_000):
    """Limit of `ratio` for eps to 0. The load is N alpha / C. Rates of AIMD become more equal only at losses."""
    total, losses = 1.0, 0
    for _ in range(count):
        losses += total > 1.0
        total = (1 - BETA) * total if total > 1.0 else total + load
    return losses / count * math.log1p(-BETA) / math.log1p(-load / (1 + load / BETA))


def ratio_of_cycles(load):
    """Limit of `ratio` for eps to 0 in closed form. A cycle has one increase and `losses` decreases."""
    losses = math.ceil(math.log(1 + load) / -math.log1p(-BETA))
    return losses / (losses + 1) * math.log1p(-BETA) / math.log1p(-load / (1 + load / BETA))


def model(law, eps):
    return law.steps_to_fairness(2, 1e3, ALPHA, BETA, eps)


def measure(figure):
    fixed = [steps(by_emkc, capacity, 2, 0.1) for capacity in CAPACITIES]
    growing = [steps(by_emkc, capacity, users(capacity), 0.1) for capacity in (*CAPACITIES, 1e6)]
    gaps = [abs(model(emkc, eps) / steps(by_emkc, 1e3, 2, eps) - 1) for eps in EPSILONS]
    ratios = [ratio_of_decays(load) for load in LOADS]
    apart = [abs(value - 1) for value in ratios]
    doubled = steps(by_emkc, 2e4, 2, 0.1) / steps(by_emkc, 1e4, 2, 0.1)
    overshoot = []
    for capacity in (*CAPACITIES, 1e6):
        x = np.full(2, capacity / 2)
        for _ in range(200):
            x = by_emkc(x, capacity, 0.01 * capacity)
        overshoot.append(x.sum() / capacity - 1)
    return {
        "emkc-thm12-fig16a": {
            "sim_steps[eps=0.1]": steps(by_emkc, 1e3, 2, 0.1),
            "sim_steps[eps=0.01]": steps(by_emkc, 1e3, 2, 0.01),
            "rel_gap_model_vs_sim[eps<=0.1]": max(gaps),
        },
        "emkc-fig16b": {
            "sim_steps[N=2,_C=1e3,1e4,1e5_kb/s]": fixed,
            "sim_steps[N=ceil(C/500),_C=1e3,1e4,1e5,1e6_kb/s]": growing,
            "slope_loglog[N=2]": np.polyfit(np.log(CAPACITIES), np.log(fixed), 1)[0],
            "increment_per_decade[N~C]": float(np.mean(np.diff(growing))),
        },
        "aimd-thm13-fig17a": {
            "sim_steps[eps=0.1,_0.01]": [steps(by_aimd, 1e3, 2, eps) for eps in (0.1, 0.01)],
        },
        "emkc-aimd-cor6-fig17b": {
            "ratio[beta=0.5]": [ratio(1e4, 2), ratio(1e4, users(1e4))],
            "ratio_tends_to_1_as_Nalpha_over_C_grows": all(np.diff(apart) < 0) and apart[-1] < 0.05,
            "ratio_for_large_Nalpha_over_C": Against(ratios[1:], [ratio_of_cycles(load) for load in LOADS[1:]]),
            "ratio_below_1": max(ratio_of_decays(load) for load in (1.0, 2.0, 5.0)) < 1,
        },
        "emkc-convergence-theta": {
            "doubling_C_doubles_steps": abs(doubled - 2) < 0.02,
            "overshoot_over_C_constant_when_alpha_proportional_C": float(np.ptp(overshoot)) < 1e-9,
        },
    }


def plot(figure, canvas):
    left, middle, right = canvas.subplots(1, 3)
    eps = np.geomspace(0.001, 0.5, 20)
    for name, law, by_law, mark, colour in (("EMKC", emkc, by_emkc, "o", "C0"), ("AIMD", aimd, by_aimd, "^", "C1")):
        left.semilogx(eps, [model(law, e) for e in eps], color=colour, label=f"{name}, model")
        counts = [steps(by_law, 1e3, 2, e) for e in eps]
        left.semilogx(eps, counts, mark, color=colour, markersize=4, label=f"{name}, iteration")
    for label, number, mark, colour in (("N = 2", lambda _: 2, "o", "C0"), ("N = C / 500", users, "^", "C1")):
        modelled = [emkc.steps_to_fairness(number(c), c, ALPHA, BETA, 0.1) for c in CAPACITIES]
        counts, others = (np.array([steps(law, c, number(c), 0.1) for c in CAPACITIES]) for law in (by_emkc, by_aimd))
        middle.loglog(CAPACITIES, modelled, color=colour)
        middle.loglog(CAPACITIES, counts, mark, color=colour, markersize=5, label=label)
        right.semilogx(CAPACITIES, counts / others, mark, color=colour, markersize=5, label=label)
    expected = -math.log1p(-BETA) / BETA
    left.set(xlabel="eps", ylabel="steps to eps-fairness", title="fig 16(a), 17(a)")
    middle.set(xlabel="capacity (kb/s)", ylabel="steps to 0.1-fairness, EMKC", title="fig 16(b)")
    right.set(xlabel="capacity (kb/s)", ylabel="EMKC / AIMD", ylim=(0, 1.3 * expected), title="fig 17(b)")
    draw_expected(middle, figure, "emkc-fig16b[0]", [(c, c) for c in (1e3, 1e4, 1e5)])
    draw_expected(middle, figure, "emkc-fig16b[1]", [(c, c) for c in (1e3, 1e4, 1e5, 1e6)])
    draw_expected(right, figure, "emkc-aimd-cor6-fig17b[0]")
