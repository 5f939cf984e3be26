"""Figures 12 and 13: norms of random matrices and their stability under random delays."""

import numpy as np

from levelflow.reproduce import Seeds
from levelflow.theory.pictures import norms
from levelflow.theory.stability.delay_batches import experiment


def over_seeds(figure, values):
    """One `Seeds` per check, from what `values` gives for each of five seeds."""
    return [Seeds(check) for check in zip(*map(values, figure.seeds(5)), strict=True)]


def figure12(seed):
    found = experiment(seed, 3000)
    stable, two, rows = found.stable, found.norm2, found.norm_inf
    return [
        len(stable),
        stable.mean(),
        (two[stable] >= 1).mean(),
        (rows[stable] >= 1).mean(),
        ((two >= 1) & (rows >= 1))[stable].mean(),
        (two < rows)[stable].mean(),
        (two < rows)[~stable].mean(),
        int((two[~stable] < 1).sum()),
        int((rows[~stable] < 1).sum()),
        int((two < found.radius * (1 - 1e-12)).sum()),
    ]


def figure13(seed):
    found = experiment(seed, 10_000)
    stable, scaled = found.stable, found.norm_s
    return [
        len(stable),
        stable.mean(),
        scaled[stable].max(),
        scaled[~stable].min(),
        int((scaled[~stable] < 1).sum()),
        separates(experiment(seed, 10_000, 3)),
    ]


def separates(found):
    return bool(found.norm_s[~found.stable].min() > 1 and found.norm_s[found.stable].max() < 1.005)


def plain(values):
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def measure(figure):
    return {
        "mc-fig12": over_seeds(figure, lambda seed: plain(figure12(seed))),
        "mc-fig13": over_seeds(figure, lambda seed: plain(figure13(seed))),
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 8)
    upper, lower = canvas.subfigures(2, 1)
    norms.scatter(experiment(1, 3000), "norm2", upper)
    norms.scatter(experiment(1, 10_000), "norm_s", lower)
