"""Rate-based AIMD (Zhang 2008, eq. 114-120): `alpha` more per round trip, and the part `cut` less per loss.

Rates and capacities are in any one unit. `cut` is the part that is removed, the `beta` of eq 114.
"""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.record import Pairs, Theory
from levelflow.theory.validate import explained, positive, read_number


@explained
def step(rates: Floats, capacity: float, alpha: float, cut: float, *, pause: bool) -> Floats:
    """Returns the rates of flows on one link a round trip later (eq 114); all see the loss when they exceed it.

    Args:
        rates: per flow.
        capacity: of the link.
        alpha: what is added per round trip.
        cut: part that a loss removes.
        pause: whether the round trip of a loss goes without the increase, which eq 114 leaves open.

    >>> step(np.array([2.0, 6.0]), 7.0, 1.0, 0.5, pause=True).tolist()
    [1.0, 3.0]
    """
    positive(capacity=capacity)
    if rates.sum() <= capacity:
        return rates + alpha
    return (1 - cut) * rates + (0.0 if pause else alpha)


def steps_to_fairness(flows: int, capacity: float, alpha: float, cut: float, eps: float) -> float:
    """Returns in how many steps the smallest rate is within `eps` of the largest, from one flow having all (eq 115).

    Cycles of `cut C / (N alpha)` increases and one loss, each of which shrinks differences to `1 - cut`; for `N alpha`
    far below `C`. EMKC with `beta = cut` takes `-ln(1 - cut) / cut` times as many (corollary 6).

    >>> round(steps_to_fairness(2, 1000.0, 10.0, 0.5, 0.01), 1)
    198.7
    """
    added = read_number("flows", flows) * read_number("alpha", alpha)
    cycle = read_number("cut", cut, 0, 1) * read_number("capacity", capacity) / added + 1
    return cycle * float(np.log(flows / read_number("eps", eps, 0, 1)) / -np.log1p(-cut))


def _step(rates: Floats, capacity: float, gains: dict[str, float]) -> Floats:
    """Two flows without delay."""
    return step(rates, capacity, gains["alpha"], gains["beta"], pause=True)


THEORY = Theory(fluid="rates:Aimd", phase=Pairs({"alpha": 2.0, "beta": 0.5}, {"alpha": 100.0, "beta": 1.0}, _step))
