"""The numbers of laws, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.checked import positive
from levelflow.theory.errors import TheoryError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from levelflow.theory.network import Floats


class LawError(TheoryError):
    """A parameter, rate or delay with which a law is not defined."""


def read_number(name: str, value: float, low: float = 0.0, high: float = np.inf, *, closed: bool = False) -> float:
    """Returns a number that lies between bounds.

    Args:
        name: how the error calls it.
        value: the number.
        low: what it must be above.
        high: what it may at most be; never infinite.
        closed: whether it may be `low`, too.

    Raises:
        LawError: if it does not.
    """
    if not (np.isfinite(value) and (low <= value if closed else low < value) and value <= high):
        raise LawError(f"{name} {value} is not allowed; needs a finite number {_range(low, high, closed)}")
    return float(value)


def read_each(
    name: str, values: ArrayLike, count: int, low: float = 0.0, high: float = np.inf, *, closed: bool = False
) -> Floats:
    """Returns numbers that lie between bounds, one for each of so many things; one number is for all.

    Raises:
        LawError: if one does not, or there are not as many.
    """
    array = np.array(values, dtype=np.float64)
    if array.shape not in {(), (count,)}:
        raise LawError(f"{name} of shape {array.shape} is not allowed; needs one number, or {count}")
    value = np.full(count, array)
    fits = np.isfinite(value) & (low <= value if closed else low < value) & (value <= high)
    if not fits.all():
        bad = int(np.argmin(fits))
        raise LawError(f"{name} {bad}: {value[bad]} is not allowed; needs a finite number {_range(low, high, closed)}")
    return value


def read_positive(name: str, values: ArrayLike) -> Floats:
    """Returns numbers above 0 as an array, of any shape but empty.

    Raises:
        LawError: if one is not finite or not above 0.
    """
    positive(LawError, **{name: values})
    return np.array(values, dtype=np.float64)


def _range(low: float, high: float, closed: bool) -> str:
    above = "" if low == -np.inf else f"{'>=' if closed else '>'} {low:g}"
    return above if high == np.inf else f"{above} and <= {high:g}"
