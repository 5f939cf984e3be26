"""Numbers that a model is defined for; others are refused in one line: what, where, and what is allowed."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from levelflow.theory.errors import ParameterError, TheoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

#: No quantity is larger, and none that is divided by smaller: squares and ratios remain numbers.
LARGEST = 1e150
#: Whole numbers up to this are different numbers.
LARGEST_WHOLE = 2**53


def read_array(name: str, values: ArrayLike) -> Floats:
    """Returns an array of real numbers, of any shape and size, as a copy.

    Raises:
        ParameterError: if it is none.
    """
    try:
        array = np.array(values)
        return array.astype(np.float64, casting="unsafe" if array.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError):
        raise ParameterError(f"{name} {values!r} is not allowed; needs numbers") from None


def read_numbers(
    name: str, values: ArrayLike, low: float = 0.0, high: float = np.inf, *, closed: bool = False
) -> Floats:
    """Returns finite numbers between bounds, above 0 by default, of any shape but empty.

    Args:
        name: how the error calls them.
        values: the numbers.
        low: what they must be above.
        high: what they may at most be.
        closed: whether they may be `low`, too.

    Raises:
        ParameterError: if they are not.

    >>> read_numbers("capacity", [1.0, -2.0])
    Traceback (most recent call last):
    levelflow.theory.errors.ParameterError: capacity 1: -2.0 is not allowed; needs a finite number > 0
    """
    value = read_array(name, values)
    if not value.size:
        raise ParameterError(f"an empty {name} is not allowed; needs at least one number")
    return _within(name, value, low, high, closed)


def read_each(
    name: str, values: ArrayLike, count: int, low: float = 0.0, high: float = np.inf, *, closed: bool = False
) -> Floats:
    """Returns finite numbers between bounds, one for each of so many things; one number is for all.

    Raises:
        ParameterError: if one does not lie there, or there are not as many.
    """
    value = read_array(name, values)
    if value.shape not in {(), (count,)}:
        raise ParameterError(f"{name} of shape {value.shape} is not allowed; needs one number, or {count}")
    return np.full(count, _within(name, value, low, high, closed))


def read_number(name: str, value: float, low: float = 0.0, high: float = np.inf, *, closed: bool = False) -> float:
    """Returns one finite number between bounds.

    Raises:
        ParameterError: if it does not lie there.
    """
    array = read_array(name, value)
    if array.ndim:
        raise ParameterError(f"{name} of shape {array.shape} is not allowed; needs one number")
    return float(_within(name, array, low, high, closed))


def read_whole(name: str, values: ArrayLike, least: int = 0) -> Ints:
    """Returns whole numbers of at least `least`, of any shape.

    Raises:
        ParameterError: if they are not.
    """
    value = read_array(name, values)
    _refuse(name, value, (value >= least) & (value == np.round(value)), f"a whole number >= {least}")
    _refuse(name, value, value <= LARGEST_WHOLE, f"a whole number from {least} to {LARGEST_WHOLE}")
    return value.astype(np.int64)


def positive(**values: ArrayLike) -> None:
    """Raises a ParameterError unless all numbers are finite and above 0."""
    for name, value in values.items():
        read_numbers(name, value)


def not_negative(**values: ArrayLike) -> None:
    """Raises a ParameterError unless all numbers are finite and at least 0."""
    for name, value in values.items():
        read_numbers(name, value, closed=True)


def whole(least: int, **values: ArrayLike) -> None:
    """Raises a ParameterError unless all numbers are whole and at least `least`."""
    for name, value in values.items():
        read_whole(name, value, least)


def share(**values: ArrayLike) -> None:
    """Raises a ParameterError unless all numbers are between 0 and 1, both allowed."""
    for name, value in values.items():
        read_numbers(name, value, high=1, closed=True)


def explained(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Returns a function whose arrays, if numpy cannot compute with them, are refused by name.

    What is computed element by element needs no look at its shapes beforehand, which would cost as much as the work.

    Raises:
        ParameterError: if what is annotated as a number is none or an array, or what is annotated as `ArrayLike` or
            `Numbers` holds something else, nothing, or does not fit the shape of the others.
    """

    @wraps(function)
    def guarded(*given: Given.args, **named: Given.kwargs) -> Answer:
        try:
            return function(*given, **named)
        except TheoryError:
            raise
        except (TypeError, ValueError, IndexError):
            _explain(function, signature(function).bind(*given, **named).arguments)
            raise

    return guarded


def _explain(function: Callable[..., object], given: dict[str, object]) -> None:
    """Raises a ParameterError if an argument holds no numbers, or arrays differ in shape."""
    kinds = {name: str(known.annotation).split(" | ")[0] for name, known in signature(function).parameters.items()}
    known = {name: value for name, value in given.items() if value is not None}
    for name, value in known.items():
        if kinds[name] in {"float", "int"}:
            array = read_array(name, value)  # type: ignore[arg-type]
            if array.ndim:
                raise ParameterError(f"{name} of shape {array.shape} is not allowed; needs one number")
    arrays = {
        name: read_array(name, value)  # type: ignore[arg-type]
        for name, value in known.items()
        if kinds[name] in {"ArrayLike", "Numbers"}
    }
    for name, array in arrays.items():
        if not array.size:
            raise ParameterError(f"an empty {name} is not allowed; needs at least one number")
    shapes = ", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
    if shapes:
        raise ParameterError(f"{shapes} do not go together; needs numbers, or arrays whose shapes fit each other")


def _within(name: str, value: Floats, low: float, high: float, closed: bool) -> Floats:
    fits = np.isfinite(value) & (low <= value if closed else low < value) & (value <= high)
    above = "" if low == -np.inf else f" {'>=' if closed else '>'} {low:g}"
    below = "" if high == np.inf else f"{' and' if above else ''} <= {high:g}"
    between = closed and above and below
    _refuse(name, value, fits, f"a number from {low:g} to {high:g}" if between else f"a finite number{above}{below}")
    size, least = np.abs(value), 0.0 if closed or low else 1 / LARGEST
    _refuse(name, value, (least <= size) & (size <= LARGEST), f"a size of {least:g} to {LARGEST:g}")
    return value


def _refuse(name: str, value: Floats, fits: NDArray[np.bool_], allowed: str) -> None:
    if not fits.all():
        where = np.argwhere(~fits)[0].tolist()
        place = f" {', '.join(map(str, where))}:" if where else ""
        raise ParameterError(f"{name}{place} {value[tuple(where)]} is not allowed; needs {allowed}")
