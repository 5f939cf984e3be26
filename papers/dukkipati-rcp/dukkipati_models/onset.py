"""Gains at which packet runs of RCP with long flows become unstable (section IV-E)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.measure import grid, onset, series

if TYPE_CHECKING:
    from collections.abc import Iterable

    from levelflow.reproduce.figure import Figure
    from levelflow.results import Result

#: Path of the scenario, relative to a figure's folder.
SCENARIO = "../onset-of-instability/scenario.toml"
LINK = "R1->R2"
C = 150e6  # bit/s
#: Phases: time window of the last 5 s of a phase, and number of flows.
PHASES = (((35.0, 40.0), 5), ((95.0, 100.0), 10), ((135.0, 140.0), 5))
WITHIN = 0.05
ALPHAS = grid(0.1, 2.0, 0.1)
BETAS = grid(0.1, 1.0, 0.1)
QUICK_BETAS = [0.1, 0.4, 0.6, 1.0]


def settles(result: Result) -> bool:
    """True if the offered rate stays near its equilibrium at the end of each phase."""
    for window, flows in PHASES:
        _, rate = series.link_series(result.links, LINK, "signal", window)
        if np.abs(rate * flows / C - 1).max() >= WITHIN:
            return False
    return True


def stability(figure: Figure, points: Iterable[tuple[float, float]]) -> dict[tuple[float, float], bool]:
    """Returns, for each (alpha, beta), True if the packet run with these gains is stable."""
    points = list(points)
    runs = figure.runs([figure.scenario({"law.rcp.alpha": a, "law.rcp.beta": b}, name=SCENARIO) for a, b in points])
    return {point: settles(result) for point, result in zip(points, runs, strict=True)}


def onsets(figure: Figure) -> dict[float, float]:
    """Returns the smallest unstable alpha, by beta. The full tier runs the whole grid. The quick tier bisects for some
    values of beta.
    """
    return _scanned(figure) if figure.full else _bisected(figure)


def _scanned(figure: Figure) -> dict[float, float]:
    stable = stability(figure, [(a, b) for b in BETAS for a in ALPHAS])
    return {b: onset(ALPHAS, {a: stable[a, b] for a in ALPHAS}.__getitem__) for b in BETAS}


def _bisected(figure: Figure) -> dict[float, float]:
    """Bisects alpha for all values of beta at once. This assumes a single change from stable to unstable."""
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
