"""Outcome of theorems that require numbers to lie between two bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.validate import explained


class Condition(NamedTuple):
    """Outcome of a condition.

    Attributes:
        holds: True if all values lie strictly between the bounds.
        distance: distance of the worst value from its nearer bound; negative if the value is outside.
        values: values that must lie between the bounds.
    """

    holds: bool
    distance: float
    values: Floats


@explained
def between(values: ArrayLike, low: float = 0.0, high: float = 2.0) -> Condition:
    """Returns the condition that all values lie strictly between the bounds.

    >>> between([0.5, 1.75])
    Condition(holds=True, distance=0.25, values=array([0.5 , 1.75]))
    """
    value = np.atleast_1d(np.array(values, dtype=np.float64))
    distance = float(np.min(np.minimum(value - low, high - value), initial=np.inf))
    return Condition(distance > 0, distance, value)
