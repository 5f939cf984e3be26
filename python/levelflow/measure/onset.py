"""Stability limit of a parameter, searched on a grid of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence


def grid(low: float, high: float, step: float) -> list[float]:
    """Returns the values low, low + step, ..., high, each rounded to the digits of `step`."""
    digits = max(0, -math.floor(math.log10(step)) + 1)
    return [round(low + i * step, digits) for i in range(round((high - low) / step) + 1)]


def onset(values: Sequence[float], stable: Callable[[float], bool]) -> float:
    """Returns the smallest unstable value; infinity if all are stable. `values` must be in ascending order."""
    return next((value for value in values if not stable(value)), math.inf)


def last_stable(values: Sequence[float], stable: Callable[[float], bool]) -> float:
    """Returns the last value before the first unstable value; minus infinity if all are unstable. `values` ascend."""
    first = onset(values, stable)
    return max((value for value in values if value < first), default=-math.inf)
