from itertools import pairwise

import numpy as np

from levelflow.measure import grid, onset, series
from levelflow.theory.laws import rcp

LINK = "R1->R2"
C = 150e6  # bit/s
#: The last 5 s of each phase, and how many flows it has.
PHASES = (((35.0, 40.0), 5), ((95.0, 100.0), 10), ((135.0, 140.0), 5))
WITHIN = 0.05
ALPHAS = grid(0.1, 2.0, 0.1)
BETAS = grid(0.1, 1.0, 0.1)
QUICK_BETAS = [0.1, 0.2, 0.4, 0.6, 0.8, 1.0]
PRINTED = (0.1, 0.4, 0.6)


def settles(result):
    for window, flows in PHASES:
        _, rate = series.link_series(result.links, LINK, "signal", window)
        if np.abs(rate * flows / C - 1).max() >= WITHIN:
            return False
    return True


def stability(figure, points):
    """Whether each (alpha, beta) is stable."""
    points = list(points)
    runs = figure.runs([figure.scenario({"law.rcp.alpha": a, "law.rcp.beta": b}) for a, b in points])
    return {point: settles(result) for point, result in zip(points, runs, strict=True)}


def onsets_scanned(figure):
    stable = stability(figure, [(a, b) for b in BETAS for a in ALPHAS])
    return {b: onset(ALPHAS, lambda a, b=b: stable[a, b]) for b in BETAS}


def onsets_bisected(figure):
    """Onset for each beta, all betas side by side, taking everything below it to be stable."""
    low, high = dict.fromkeys(QUICK_BETAS, 0), dict.fromkeys(QUICK_BETAS, len(ALPHAS) - 1)
    while open_betas := [b for b in QUICK_BETAS if low[b] < high[b]]:
        middle = {b: (low[b] + high[b]) // 2 for b in open_betas}
        stable = stability(figure, [(ALPHAS[i], b) for b, i in middle.items()])
        for b, i in middle.items():
            if stable[ALPHAS[i], b]:
                low[b] = i + 1
            else:
                high[b] = i
    return {b: ALPHAS[low[b]] for b in QUICK_BETAS}


def linear_region(beta):
    """Grid values of alpha that the linear model calls stable."""
    low, high = rcp.alpha_range(beta) or (0.0, 0.0)
    return [a for a in ALPHAS if low < a < high]


def contains_linear(figure, betas):
    points = []
    for b in betas:
        alphas = linear_region(b)
        points += [(a, b) for a in (alphas if figure.full else alphas[:1] + alphas[-1:])]
    return all(stability(figure, points).values())


def measure(figure):
    onsets = onsets_scanned(figure) if figure.full else onsets_bisected(figure)
    figure.onsets = onsets
    named = stability(figure, [(1.3, 0.1), (1.0, 0.4), (0.9, 0.6), (0.5, 0.8), (0.5, 1.0)])
    falls = all(later <= earlier for earlier, later in pairwise(onsets.values()))
    return {
        "rcp-fig37": {"alpha_onset": onsets[0.1], "stable": named[1.3, 0.1]},
        "rcp-fig38": {"alpha_onset": onsets[0.4], "stable": named[1.0, 0.4]},
        "rcp-fig39": {"alpha_onset": onsets[0.6], "stable": named[0.9, 0.6]},
        "rcp-fig40": {
            "alpha_onset": [onsets[b] for b in PRINTED],
            "alpha_onset_monotone": "non-increasing in beta" if falls else "rises somewhere",
            "stable": [named[0.5, 0.8], named[0.5, 1.0]],
            "region_contains_linear": contains_linear(figure, list(onsets)),
        },
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    onsets = figure.onsets
    axes.plot(list(onsets.values()), list(onsets), "o-", label="onset in packet runs")
    axes.plot([1.6, 1.3, 1.2], PRINTED, "kx", label="printed")
    axes.plot(*rcp.boundary(np.linspace(0, rcp.right_angle(), 200)), "--", label="linear model")
    axes.set(xlabel="alpha", ylabel="beta", xlim=(0, 2), ylim=(0, 1.1), title="RCP: stable left of the curve")
