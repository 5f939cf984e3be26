"""Numbers that a model is defined for; others are refused in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from levelflow.theory.errors import TheoryError
    from levelflow.theory.network import Floats


def positive(error: type[TheoryError], **values: ArrayLike) -> None:
    """Raises the error unless all values are finite and above 0.

    >>> from levelflow.theory.errors import TheoryError
    >>> positive(TheoryError, capacity=[1.0, -2.0])
    Traceback (most recent call last):
    levelflow.theory.errors.TheoryError: capacity -2.0 is not allowed; needs a finite number > 0
    """
    _need(error, "a finite number > 0", lambda x: np.isfinite(x) & (x > 0), values)


def at_least(error: type[TheoryError], least: float, **values: ArrayLike) -> None:
    """Raises the error unless all values are finite and not below `least`."""
    _need(error, f"a finite number >= {least:g}", lambda x: np.isfinite(x) & (x >= least), values)


def not_negative(error: type[TheoryError], **values: ArrayLike) -> None:
    """Raises the error unless all values are finite and at least 0."""
    at_least(error, 0, **values)


def within(error: type[TheoryError], low: float, high: float, **values: ArrayLike) -> None:
    """Raises the error unless all values are between two numbers, both allowed."""
    _need(error, f"a number from {low:g} to {high:g}", lambda x: (x >= low) & (x <= high), values)


def share(error: type[TheoryError], **values: ArrayLike) -> None:
    """Raises the error unless all values are between 0 and 1, both allowed."""
    within(error, 0, 1, **values)


def count(error: type[TheoryError], least: int, **values: ArrayLike) -> None:
    """Raises the error unless all values are whole numbers of at least `least`."""
    _need(error, f"a whole number >= {least}", lambda x: np.isfinite(x) & (x >= least) & (x == np.round(x)), values)


def _need(
    error: type[TheoryError], allowed: str, holds: Callable[[Floats], NDArray[np.bool_]], values: dict[str, ArrayLike]
) -> None:
    for name, given in values.items():
        value = np.asarray(given, dtype=np.float64)
        bad = value[~holds(value)]
        if bad.size or not value.size:
            what = f"{name} {bad.flat[0]}" if bad.size else f"an empty {name}"
            raise error(f"{what} is not allowed; needs {allowed}")
