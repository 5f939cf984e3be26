"""Where a parameter stops being stable, on a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def grid(low: float, high: float, step: float) -> list[float]:
    """The values low, low + step, ... high, each rounded to the digits of the step."""
    digits = max(0, -math.floor(math.log10(step)) + 1)
    return [round(low + i * step, digits) for i in range(round((high - low) / step) + 1)]


def onset(values: Sequence[float], stable: Callable[[float], bool]) -> float:
    """The smallest value that is not stable; infinite when all are. Values ascend."""
    return next((value for value in values if not stable(value)), math.inf)


def last_stable(values: Sequence[float], stable: Callable[[float], bool]) -> float:
    """The value before the onset; minus infinity when the first is already unstable. Values ascend."""
    first = onset(values, stable)
    return max((value for value in values if value < first), default=-math.inf)
