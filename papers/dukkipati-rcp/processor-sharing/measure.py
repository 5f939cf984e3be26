"""Processor sharing: the formula, Little's law, and an event-driven server that verifies both."""

import numpy as np

from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.queues.sharing import active_processor_sharing, completion_times, fct_processor_sharing

PACKET = 1000  # bytes
SERVED = 300_000  # flows of a server run
LOAD = 0.5
RANDOM = range(1, 6)  # seeds


def exponential(rng, count):
    return rng.exponential(1.0, count)


def pareto(rng, count, shape=2.5):
    """Sizes of mean 1. Their tail is light enough for the mean to converge within a run."""
    return (shape - 1) / shape * (1 + rng.pareto(shape, count))


def sojourn_ratio(sizes, arrivals):
    """Mean time in a processor-sharing server of rate 1, divided by E[L] / (1 - rho). The load rho is the sample's."""
    load = sizes.sum() / arrivals[-1]
    return completion_times(arrivals, sizes, capacity=8).mean() * (1 - load) / sizes.mean()


def server(law, seed):
    rng = np.random.default_rng(seed)
    return sojourn_ratio(law(rng, SERVED), np.cumsum(rng.exponential(1 / LOAD, SERVED)))


def active(capacity, rtpd, load, arrivals, packets):
    return active_processor_sharing(arrivals, rtpd, packets * PACKET, capacity, load)


def tail(packets, mean=25, shape=1.2):
    """Fraction of flows below ``packets``, and fraction of bytes in larger flows, for Pareto sizes."""
    scale = mean * (shape - 1) / shape
    return 1 - (scale / packets) ** shape, (scale / packets) ** (shape - 1)


def measure(figure):
    fct = fct_processor_sharing
    flows_below, bytes_above = tail(500)
    return {
        "ps-fct-formula": {
            "fct_ps_s[L = 2000, C = 2.4 Gb/s, RTPD 0.1, rho 0.9]": fct(0.1, 2000 * PACKET, 2.4e9, 0.9),
            "fct_ps_s[L = 2000, C = 150 Mb/s, RTPD 1.6, rho 0.9]": fct(1.6, 2000 * PACKET, 150e6, 0.9),
            "active_flows_ps[Fig 1 parameters]": active(2.4e9, 0.1, 0.9, 9000, 30),
            "active_flows_ps[Fig 7 and Fig 8 parameters]": [
                active(2.4e9, 0.1, 0.9, 10800, 25),
                active(150e6, 1.6, 0.9, 675, 25),
            ],
            "active_flows_ps[Figs 12-14 parameters]": active(2.4e9, 0.1, 0.8, 8000, 30),
            "active_flows_ps[Figs 17, 18]": [
                active(2.4e9, 0.1, 0.2, 200, 300),
                active(2.4e9, 0.1, 0.94, 995.24, 283.35),
            ],
            "ps_simulation_ratio": Seeds([[server(law, seed) for law in (exponential, pareto)] for seed in RANDOM]),
        },
        "rcp-footnote9-size-tail": {"fraction_below_500": flows_below, "byte_share_above_500": bytes_above},
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    packets = np.geomspace(1, 1e5, 100)
    for load in (0.0, 0.5, 0.9):
        axes.loglog(packets, fct_processor_sharing(0.1, packets * PACKET, 2.4e9, load), label=f"load {load:g}")
    axes.set(xlabel="flow size (packets)", ylabel="completion time (s)", title="Processor sharing, 2.4 Gb/s, 100 ms")
    draw_expected(axes, figure, "ps-fct-formula[0]", (2000, 2000))
