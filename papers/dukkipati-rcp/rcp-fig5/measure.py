"""Figure 5, and the influence of the initial rate R(0): 150 Mb/s, 100 ms, load 0.7."""

import math
from itertools import combinations

from dukkipati_models.arrivals import LINK, OneLink
from levelflow.measure import completions, series
from levelflow.reproduce import Noted, Seeds
from levelflow.reproduce.drawing import draw_expected, draw_seeds

PLAN = OneLink(150e6, 0.1, 0.7, 30)
PRINTED = 0.05  # R(0)/C
STARTS = (0.01, PRINTED, 0.5, 1.0)
WARM_UP = 10.0  # s
SEEDS = 5


def measure(figure):
    duration = 200 if figure.full else 100
    seeds = figure.seeds(SEEDS, quick=1)
    by_seed = figure.runs([scenario(duration, seed, PRINTED) for seed in seeds])
    by_start = figure.runs([scenario(duration, 1, start) for start in STARTS])
    deep = figure.runs([unlimited(scenario(duration, seed, PRINTED)) for seed in seeds])
    figure.count = len(seeds)
    shares, deep_shares = ([offered(run) for run in runs] for runs in (by_seed, deep))
    lowest = ", ".join(f"{share.min():.3f}" for share in deep_shares)
    return {
        "rcp-fig5": {
            "rate_over_capacity_max": Seeds([float(share.max()) for share in shares]),
            "rate_over_capacity_min": Noted(
                Seeds([float(share.min()) for share in shares]), f"with an unlimited buffer: {lowest}"
            ),
            "rate_over_capacity_range_decades": Seeds([math.log10(share.max() / share.min()) for share in shares]),
        },
        "rcp-insensitive-to-initial-rate": {
            "afct_ratio": [
                completions.afct_ratio(a.completions, b.completions, window=(WARM_UP, duration))
                for a, b in combinations(by_start, 2)
            ]
        },
    }


def scenario(duration, seed, start):
    return PLAN.scenario(duration, seed).law("rcp", initial=start)


def unlimited(scenario):
    scenario.raw["link"][0]["buffer"] = "unlimited"
    return scenario


def offered(run):
    """R/C after the start."""
    return series.link_series(run.links, LINK, "signal", (WARM_UP, math.inf))[1] / PLAN.capacity


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    offered = [series.link_series(run.links, LINK, "signal") for run in figure.results[: figure.count]]
    draw_seeds(left, [(t, rate / PLAN.capacity) for t, rate in offered], linewidth=0.8)
    left.set(xlabel="time (s)", ylabel="R/C", yscale="log", title=f"Figure 5; seeds: {figure.count}")
    for start, run in zip(STARTS, figure.results[figure.count :], strict=False):
        t, rate = series.link_series(run.links, LINK, "signal", (0, 2 * WARM_UP))
        right.semilogy(t, rate / PLAN.capacity, label=f"R(0) = {start:g} C")
    right.set(xlabel="time (s)", title="same arrivals, other R(0)")
    draw_expected(left, figure, "rcp-fig5[0]")
    draw_expected(left, figure, "rcp-fig5[1]")
