"""Processor sharing: the formula and an event-driven server that verifies it; the sizes of footnote 9."""

import numpy as np

from levelflow.reproduce import Seeds
from levelflow.theory.queues.sharing import completion_times, fct_processor_sharing

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
    """Mean time in a processor-sharing server of rate 1, divided by E[L] / (1 - rho). The load rho is computed from the
    sample.
    """
    load = sizes.sum() / arrivals[-1]
    return completion_times(arrivals, sizes, capacity=8).mean() * (1 - load) / sizes.mean()


def server(law, seed):
    rng = np.random.default_rng(seed)
    return sojourn_ratio(law(rng, SERVED), np.cumsum(rng.exponential(1 / LOAD, SERVED)))


def below(packets, mean=25, shape=1.2):
    """Fraction of flows below ``packets``, for Pareto sizes."""
    return 1 - (mean * (shape - 1) / shape / packets) ** shape


def drawn(packets, seed, count=1_000_000, mean=25):
    """Fraction of random Pareto sizes below ``packets``."""
    return float((mean * pareto(np.random.default_rng(seed), count, 1.2) < packets).mean())


def measure(figure):
    return {
        "ps-fct-formula": {
            "ps_simulation_ratio": Seeds([[server(law, seed) for law in (exponential, pareto)] for seed in RANDOM]),
        },
        "rcp-footnote9-size-tail": {
            "fraction_below_500": below(500),
            "fraction_below_500[a million sizes drawn, each of five seeds]": Seeds([drawn(500, n) for n in RANDOM]),
        },
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    packets = np.geomspace(1, 1e5, 100)
    for load in (0.0, 0.5, 0.9):
        axes.loglog(packets, fct_processor_sharing(0.1, packets * PACKET, 2.4e9, load), label=f"load {load:g}")
    axes.set(xlabel="flow size (packets)", ylabel="completion time (s)", title="Processor sharing, 2.4 Gb/s, 100 ms")
