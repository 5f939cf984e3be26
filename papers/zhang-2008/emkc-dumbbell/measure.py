"""Measures EMKC over one bottleneck: RTTs from 10 ms to 1 s, and senders behind routers with different intervals."""

import itertools
import math

import numpy as np

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Against

FLOWS = ("x1", "x2", "x3", "x4")
EVENTS = (0.0, 10.0, 40.0, 120.0, 200.0)  # joins of figure 21 and the end of the run, s
SIG_EVENTS = (0.0, 5.0, 15.0, 30.0, 50.0)
STEP = 0.2  # s
SIG_C, SIG_ALPHA, BETA = 10e6, 100e3, 0.9


def monotonic(flows, name, events):
    return all(rates.monotonic(flows, name, window) for window in itertools.pairwise(events))


def heterogeneous(figure):
    flows = figure.run(scenario="heterogeneous.toml").flows
    windows = list(itertools.pairwise(SIG_EVENTS))
    sums = [sum(rates.steady_rate(flows, x, *window) for x in FLOWS[: n + 1]) for n, window in enumerate(windows)]
    t, x1 = rates.rate_series(flows, "x1", (6.0, 15.0))
    gap = x1 - rates.rate_series(flows, "x2", (6.0, 15.0))[1]
    decay = math.exp(np.polyfit(t, np.log(gap), 1)[0] * STEP)
    ids = {router for x in FLOWS for router in rates.bottleneck_sequence(flows, x, 0.08)}
    return {
        "time_to_99pct_efficiency_s[first_flow]": rates.time_to_efficiency(flows, ["x1"], SIG_C, *windows[0]),
        "monotonic[x1]": monotonic(flows, "x1", SIG_EVENTS),
        "aggregate_mbps[N=1..4]": [total / 1e6 for total in sums],
        "fairness_gap_decay_per_step": Against(decay, 1 - 2 * SIG_ALPHA / (SIG_C + 2 * SIG_ALPHA / BETA)),
        "bottleneck_sequence[all]": sorted(ids),
    }


def measure(figure):
    flows = figure.run().flows
    windows = list(itertools.pairwise(EVENTS))
    fair = dict.fromkeys(("x1", "x2"), 261100000.0)
    return {
        "emkc-fig21": {
            "time_to_99pct_efficiency_s[x1_alone]": rates.time_to_efficiency(flows, ["x1"], 500e6, *windows[0]),
            **{
                f"steady_rate_mbps[N={n}]": [rates.steady_rate(flows, x, *window) / 1e6 for x in FLOWS[:n]]
                for n, window in enumerate(windows, 1)
            },
            "time_to_99pct_fairness_s[after_x2_joins]": rates.time_to_fairness(flows, fair, *windows[1], within=0.01),
            "monotonic[x1..x4]": [monotonic(flows, x, EVENTS[n:]) for n, x in enumerate(FLOWS)],
        },
        "emkc-sig-fig12": heterogeneous(figure),
    }


def plot(figure, canvas):
    draw_rates(canvas.subplots(1, 2), figure.results, ("fig 21(b)", "fig 12 of the SIGCOMM paper"), FLOWS)
    for number, window in enumerate(itertools.pairwise(EVENTS), 1):
        draw_expected(canvas.axes[0], figure, f"emkc-fig21[{number}]", series.steady(*window))
    draw_expected(canvas.axes[0], figure, "emkc-fig21[5]", shift=EVENTS[1], along="x")
