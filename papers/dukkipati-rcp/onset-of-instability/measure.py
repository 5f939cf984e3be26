from itertools import pairwise

import numpy as np

from dukkipati_models.onset import ALPHAS, onsets, stability
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws import rcp

PRINTED = (0.1, 0.4, 0.6)


def linear_region(beta):
    """Values of alpha on the grid for which the linear model is stable."""
    low, high = rcp.alpha_range(beta) or (0.0, 0.0)
    return [a for a in ALPHAS if low < a < high]


def contains_linear(figure, betas):
    points = []
    for b in betas:
        alphas = linear_region(b)
        points += [(a, b) for a in (alphas if figure.full else alphas[:1] + alphas[-1:])]
    return all(stability(figure, points).values())


def measure(figure):
    found = figure.onsets = onsets(figure)
    named = stability(figure, [(1.3, 0.1), (1.0, 0.4), (0.9, 0.6), (0.5, 0.8), (0.5, 1.0)])
    falls = all(later <= earlier for earlier, later in pairwise(found.values()))
    return {
        "rcp-fig37": {"alpha_onset": found[0.1], "stable": named[1.3, 0.1]},
        "rcp-fig38": {"alpha_onset": found[0.4], "stable": named[1.0, 0.4]},
        "rcp-fig39": {"alpha_onset": found[0.6], "stable": named[0.9, 0.6]},
        "rcp-fig40": {
            "alpha_onset": [found[b] for b in PRINTED],
            "alpha_onset_monotone": "non-increasing in beta" if falls else "rises somewhere",
            "stable": [named[0.5, 0.8], named[0.5, 1.0]],
            "region_contains_linear": contains_linear(figure, list(found)),
        },
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    axes.plot(list(figure.onsets.values()), list(figure.onsets), "o-", label="onset in packet runs")
    axes.plot(*rcp.boundary(np.linspace(0, rcp.right_angle(), 200)), "--", label="linear model")
    axes.set(xlabel="alpha", ylabel="beta", xlim=(0, 2), ylim=(0, 1.1), title="RCP: stable left of the curve")
    for check, beta in zip(("rcp-fig37[0]", "rcp-fig38[0]", "rcp-fig39[0]"), PRINTED, strict=True):
        draw_expected(axes, figure, check, (beta, beta), along="x")
