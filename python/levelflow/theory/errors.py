"""What is wrong with a question that has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class TheoryError(ValueError):
    """Input for which a model is not defined; one line: what, where and what is allowed."""


class ParameterError(TheoryError):
    """A parameter outside the range in which a model is defined."""


def positive(what: str, values: ArrayLike) -> NDArray[np.float64]:
    """Returns one or more parameters as an array.

    Raises:
        ParameterError: if one is not a finite number above 0.
    """
    numbers = np.asarray(values, dtype=np.float64)
    bad = numbers[~(np.isfinite(numbers) & (numbers > 0))]
    if bad.size:
        raise ParameterError(f"{what} {bad.flat[0]} is not allowed; needs a finite number > 0")
    return numbers
