"""Confidence intervals of means over independent runs, and the end of a warm-up."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Number of samples per batch in MSER-5 (White 1997).
BATCH = 5


class Interval(NamedTuple):
    """Mean over independent runs, with half the width of its confidence interval.

    Attributes:
        mean: mean of the known values; NaN without known values.
        half: half the width of the confidence interval; NaN with fewer than two values.
        runs: number of known values.
        missing: number of runs without a value.
    """

    mean: float
    half: float
    runs: int
    missing: int = 0

    def is_within(self, width: float, relative: bool) -> bool:
        """Returns True if `half` is at most `width`, or at most `width` times the mean if `relative`."""
        return self.half <= width * (abs(self.mean) if relative else 1.0)


def interval(values: npt.ArrayLike, confidence: float = 0.95) -> Interval:
    """Returns the mean of independent values and its interval by Student's t. Non-finite values count as missing.

    Identical runs are not independent, so callers must pass each distinct run only once.

    >>> one = interval([1.0, 2.0, 3.0, math.nan])
    >>> round(one.mean, 3), round(one.half, 3), one.runs, one.missing
    (2.0, 2.484, 3, 1)
    """
    every = np.asarray(values, dtype=np.float64)
    found = every[np.isfinite(every)]
    missing = int(every.size - found.size)
    if not found.size:
        return Interval(math.nan, math.nan, 0, missing)
    mean = math.fsum(found) / found.size
    if found.size == 1:
        return Interval(mean, math.nan, 1, missing)
    spread = math.sqrt(math.fsum((found - mean) ** 2) / (found.size - 1))
    half = student(found.size - 1, confidence) * spread / math.sqrt(found.size)
    return Interval(mean, half, int(found.size), missing)


@cache
def student(degrees: int, confidence: float) -> float:
    """Returns the t for which a variable with Student's distribution is within -t to t with probability `confidence`.

    The probability is a finite sum in `atan(t / sqrt(degrees))` (Abramowitz and Stegun 1964, eq 26.7.3 and 26.7.4).
    Bisection finds t. SciPy has this function, but an import of SciPy takes longer than a small run.

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
    """Returns the number of warm-up samples by MSER-5: a multiple of five, at most half of all samples.

    This number minimises the standard error of the mean of the remaining samples, in batches of five.

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
