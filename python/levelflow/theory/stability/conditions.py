"""Verdicts of theorems whose conditions are that numbers lie between two bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats
from levelflow.theory.validate import explained


class Condition(NamedTuple):
    """Whether a condition holds.

    Attributes:
        holds: whether all values lie strictly between the bounds.
        distance: how far the worst value is from its nearer bound; below 0 if it lies outside.
        values: what must lie between the bounds.
    """

    holds: bool
    distance: float
    values: Floats


@explained
def between(values: ArrayLike, low: float = 0.0, high: float = 2.0) -> Condition:
    """Returns whether all values lie strictly between bounds.

    >>> between([0.5, 1.75])
    Condition(holds=True, distance=0.25, values=array([0.5 , 1.75]))
    """
    value = np.atleast_1d(np.array(values, dtype=np.float64))
    distance = float(np.min(np.minimum(value - low, high - value), initial=np.inf))
    return Condition(distance > 0, distance, value)
