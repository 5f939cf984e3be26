"""What replications say: intervals, paired differences, where a warm-up ends."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Samples of a batch of MSER-5 (White 1997).
BATCH = 5


class Interval(NamedTuple):
    """A mean and how far it may be off.

    Attributes:
        mean: of the values; nan of none.
        half: of the width of the interval; nan of fewer than two values.
        runs: so many values.
    """

    mean: float
    half: float
    runs: int

    def is_within(self, width: float, relative: bool) -> bool:
        """Whether half the interval is at most a width, or that share of the mean."""
        return self.half <= width * (abs(self.mean) if relative else 1.0)


def interval(values: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Returns the mean of independent values with its interval of Student's t; values that are not finite are left out.

    >>> one = interval([1.0, 2.0, 3.0])
    >>> round(one.mean, 3), round(one.half, 3), one.runs
    (2.0, 2.484, 3)
    """
    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    if not found.size:
        return Interval(math.nan, math.nan, 0)
    if found.size == 1:
        return Interval(float(found[0]), math.nan, 1)
    half = student(found.size - 1, confidence) * float(found.std(ddof=1)) / math.sqrt(found.size)
    return Interval(float(found.mean()), half, int(found.size))


@cache
def student(degrees: int, confidence: float) -> float:
    """Returns what Student's t of so many degrees of freedom does not exceed, either way, with a probability.

    The probability is a finite sum (Abramowitz and Stegun 1964, eq 26.7.3 and 26.7.4) in `atan(t / sqrt(degrees))`,
    which is found by halving. SciPy has it, too, but takes longer to load than a run of a small scenario.

    >>> round(student(1, 0.95), 3), round(student(30, 0.95), 3)
    (12.706, 2.042)
    """
    odd = degrees % 2
    steps = np.arange(1 + odd, degrees - 1, 2)
    factors = np.cumprod([float(degrees > 1), *(steps / (steps + 1))])
    powers = 2 * np.arange(factors.size) + odd
    low, high = 0.0, math.pi / 2
    while low < (angle := (low + high) / 2) < high:
        within = math.sin(angle) * float(factors @ math.cos(angle) ** powers)
        if odd:
            within = 2 / math.pi * (angle + within)
        low, high = (angle, high) if within < confidence else (low, angle)
    return math.sqrt(degrees) * math.tan(low)


def mser5(values: npt.ArrayLike) -> int:
    """Returns how many samples at the start are warm-up, by MSER-5: a multiple of five, at most half of them.

    What is left has the least standard error of its mean, in batches of five.

    >>> mser5([9.0] * 10 + [1.0, 2.0] * 50)
    10
    """
    series = np.asarray(values, dtype=np.float64)
    batches = series[: series.size // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    if batches.size < 2:
        return 0
    rests = range(batches.size // 2 + 1)
    errors = [float(batches[cut:].var()) / (batches.size - cut) for cut in rests]
    return BATCH * int(np.argmin(errors))
