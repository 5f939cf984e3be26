"""Speed at which rates become equal if all flows step at the same time (Zhang 2008, chapter V.3.2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.errors import ParameterError
from levelflow.theory.validate import explained, positive, read_each, read_number, read_numbers, whole


@explained
def fairness(rates: ArrayLike) -> float:
    """Returns the smallest rate divided by the largest (eq 107).

    >>> fairness([1.0, 4.0])
    0.25
    """
    rate = read_numbers("rate", rates, closed=True)
    positive(largest_rate=rate.max())
    return float(rate.min() / rate.max())


@explained
def unfair(flows: int, capacity: float) -> Floats:
    """Returns the initial rates of theorem 12: the last flow has the whole link."""
    whole(1, flows=flows)
    positive(capacity=capacity)
    rates = np.zeros(flows)
    rates[-1] = capacity
    return rates


@explained
def steps_to_fairness(step: Callable[[Floats], Floats], start: ArrayLike, eps: float, most: int = 1_000_000) -> int:
    """Returns the number of steps until the smallest rate is within `eps` of the largest.

    Args:
        step: maps rates to the next rates.
        start: initial rates.
        eps: largest relative difference, above 0.
        most: largest number of steps.

    Raises:
        ParameterError: if `eps` is not allowed, or the rates are not fair after `most` steps.

    >>> steps_to_fairness(lambda x: (x + x.mean()) / 2, [0.0, 1.0], 0.1)
    5
    """
    least = 1 - read_number("eps", eps, high=1)
    rates = read_each("start", start, np.size(start), -np.inf)
    for count in range(most + 1):
        if rates.min() >= least * rates.max():
            return count
        rates = step(rates)
    raise ParameterError(f"eps {eps} is not reached within {most} steps; needs a law whose rates become equal")
