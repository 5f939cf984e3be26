"""Measures EMKC, XCP, RCP and EMKC-AVQ on T3, where receivers delay their ACKs at random.

XCP, RCP and EMKC-AVQ use the largest round trip, D_max.
"""

import math

import numpy as np

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_rates
from levelflow.reproduce.verdict import Seeds

FLOWS = ("x1", "x2")
C, SHARE = 10e6, 5e6  # bit/s
SETTLED, HALF, END = 20.0, 150.0, 300.0  # s
SPIKE = 0.2  # s, longer than any queueing delay


def calm(flows, x):
    """Swing in per cent of a flow's rate in the second half, without the 2 s that follow each delay spike."""
    _, rtt = series.flow_series(flows, x, "rtt_s", (HALF, END))
    t, rate = rates.rate_series(flows, x, (HALF, END))
    spikes = t[np.isnan(rtt) | (rtt > SPIKE)]
    since = t - np.concatenate(([-math.inf], spikes))[np.searchsorted(spikes, t, side="right")]
    return series.amplitude_pct(rate[since > 2.0])


def steady(result):
    return all(calm(result.flows, x) <= 10.0 for x in FLOWS)


def excursion(result, window):
    """Largest distance of a flow's rate from its fair share, divided by C."""
    return max(abs(rates.rate_series(result.flows, x, window)[1] - SHARE).max() for x in FLOWS) / C


def swings(result):
    return all(excursion(result, window) > 0.2 for window in ((SETTLED, HALF), (HALF, END)))


def measure(figure):
    seeds = figure.seeds(5, quick=1)
    emkc, xcp, rcp, avq = (
        figure.runs([figure.scenario(seed=seed, name=f"{law}.toml") for seed in seeds])
        for law in ("emkc", "xcp", "rcp", "emkc-avq")
    )
    return {
        "t3-fig26": {
            "stable[emkc]": Seeds([steady(r) for r in emkc]),
            "stable[xcp-dmax]": Seeds([not swings(r) for r in xcp]),
            "stable[rcp-dmax]": Seeds([not swings(r) for r in rcp]),
            "stable[emkc-avq]": Seeds([not swings(r) for r in avq]),
        }
    }


def plot(figure, canvas):
    titles = ("EMKC", "XCP with D_max", "RCP with D_max", "EMKC-AVQ")
    draw_rates(canvas.subplots(2, 2), figure.results[:: len(figure.seeds(5, quick=1))], titles, FLOWS, linewidth=0.8)
    for axes in canvas.axes:
        axes.set_ylim(0, 15)
