"""Figure 2: C/R follows the number of flows that have data to send."""

import numpy as np

from dukkipati_models.arrivals import LINK, PACKET, OneLink
from levelflow.measure import completions, queues, series
from levelflow.reproduce import Seeds

#: The printed load of 8 is impossible. These plans have a load of 0.8. One has a tenth of the arrivals, and the other
#: ten times the capacity.
PLAN, OTHER = OneLink(10e6, 0.05, 0.8, 25), OneLink(100e6, 0.05, 0.8, 25)
#: Arrival rate in the caption.
PRINTED_ARRIVALS = 400  # 1/s
DURATION = 100  # s
WIDTH = 1.0  # s


def measure(figure):
    runs = figure.runs([PLAN.scenario(DURATION, seed) for seed in figure.seeds(5)])
    return {
        "rcp-fig2": {
            "n_estimate_rel_error": Seeds([error(run, PLAN) for run in runs]),
            "correlation_n_estimate": Seeds([correlation(run, PLAN) for run in runs]),
            "offered_load": PRINTED_ARRIVALS * 8 * PACKET * PLAN.mean / PLAN.capacity,
        }
    }


def counted(run):
    """Sample times, and number of flows with data to send or in flight."""
    t, _ = series.link_series(run.links, LINK, "signal")
    return t, completions.transferring(run.completions, t)


def error(run, plan):
    """Mean deviation of rho C/R (load, capacity, offered rate) from the number of flows, relative to this number."""
    return queues.n_estimate_error(run.links, LINK, plan.load * plan.capacity, counted(run), WIDTH)


def correlation(run, plan):
    t, rate = series.link_series(run.links, LINK, "signal")
    estimate, actual = (series.window_means(t, x, WIDTH) for x in (plan.capacity / rate, counted(run)[1]))
    return series.correlation(estimate, actual)


def plot(figure, canvas):
    axes = canvas.subplots(1, 2)
    second = figure.runs([OTHER.scenario(DURATION)])[0]
    for ax, plan, run in zip(axes, (PLAN, OTHER), (figure.results[0], second), strict=True):
        t, rate = series.link_series(run.links, LINK, "signal")
        seconds = np.arange(DURATION - 1)
        ax.plot(seconds, series.window_means(t, counted(run)[1], WIDTH), label="flows with data")
        ax.plot(seconds, series.window_means(t, plan.capacity / rate, WIDTH), label="C/R")
        ax.set(xlabel="time (s)", ylim=(0, None), title=f"{plan.capacity / 1e6:g} Mb/s, {plan.arrivals:g} flows/s")
