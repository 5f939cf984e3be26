"""What replications say: intervals, paired differences, where a warm-up ends."""

from __future__ import annotations

import math
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
    from scipy.special import stdtrit

    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    if not found.size:
        return Interval(math.nan, math.nan, 0)
    if found.size == 1:
        return Interval(float(found[0]), math.nan, 1)
    t = float(stdtrit(found.size - 1, (1 + confidence) / 2))
    return Interval(float(found.mean()), t * float(found.std(ddof=1)) / math.sqrt(found.size), int(found.size))


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
