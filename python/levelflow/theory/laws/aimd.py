"""Rate-based AIMD (Zhang 2008, eq. 114-120): adds `alpha` per round trip, and removes the fraction `cut` at a loss.

Rates and capacities are in any common unit. `cut` is the `beta` of eq 114.
"""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.record import Pairs, Theory
from levelflow.theory.validate import explained, positive, read_number


@explained
def step(rates: Floats, capacity: float, alpha: float, cut: float, *, pause: bool) -> Floats:
    """Returns the rates of flows on one link one round trip later (eq 114). A loss affects all flows.

    Args:
        rates: rate of each flow.
        capacity: capacity of the link.
        alpha: rate added per round trip.
        cut: fraction of the rate that a loss removes.
        pause: True if rates do not increase in the round trip of a loss. Eq 114 does not specify this.

    >>> step(np.array([2.0, 6.0]), 7.0, 1.0, 0.5, pause=True).tolist()
    [1.0, 3.0]
    """
    positive(capacity=capacity)
    if rates.sum() <= capacity:
        return rates + alpha
    return (1 - cut) * rates + (0.0 if pause else alpha)


def steps_to_fairness(flows: int, capacity: float, alpha: float, cut: float, eps: float) -> float:
    """Returns the number of steps until the smallest rate is within `eps` of the largest, from one active flow.

    If `N alpha` is far below `C`, a cycle has `cut C / (N alpha)` increases and one loss. The loss multiplies
    differences by `1 - cut`. EMKC with `beta = cut` takes `-ln(1 - cut) / cut` times as many steps (corollary 6).

    >>> round(steps_to_fairness(2, 1000.0, 10.0, 0.5, 0.01), 1)
    198.7
    """
    added = read_number("flows", flows) * read_number("alpha", alpha)
    cycle = read_number("cut", cut, 0, 1) * read_number("capacity", capacity) / added + 1
    return cycle * float(np.log(flows / read_number("eps", eps, 0, 1)) / -np.log1p(-cut))


def _step(rates: Floats, capacity: float, gains: dict[str, float]) -> Floats:
    """Steps two flows without delay."""
    return step(rates, capacity, gains["alpha"], gains["beta"], pause=True)


THEORY = Theory(fluid="rates:Aimd", phase=Pairs({"alpha": 2.0, "beta": 0.5}, {"alpha": 100.0, "beta": 1.0}, _step))
