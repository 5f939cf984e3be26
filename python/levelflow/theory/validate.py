"""Checks of numbers. Error messages give the name, the value and the allowed range in one line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.errors import ParameterError, TheoryError

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

#: Largest magnitude of a quantity. Its inverse bounds divisors, so squares and ratios stay finite.
LARGEST = 1e150
#: Largest whole number. Up to this limit, floats represent all whole numbers exactly.
LARGEST_WHOLE = 2**53
#: Largest number of characters of a value in an error message.
LONGEST_SHOWN = 60


def read_array(name: str, values: ArrayLike) -> Floats:
    """Returns an array of real numbers of any shape and size, as a copy.

    Raises:
        ParameterError: if the values are not real numbers.
    """
    try:
        array = np.array(values)
        objects = array.dtype.kind == "O"
        if objects and any(value is None or isinstance(value, str) for value in array.flat):
            raise TypeError
        return array.astype(np.float64, casting="unsafe" if objects else "same_kind")
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} {shown(values)} is not allowed; needs numbers") from None


def shown(value: object) -> str:
    """Returns the text of a value in an error message: one line, shortened if it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def read_numbers(
    name: str, values: ArrayLike, low: float = 0.0, high: float = np.inf, *, closed: bool = False
) -> Floats:
    """Returns a non-empty array of finite numbers between bounds; by default above 0.

    Args:
        name: name in error messages.
        values: numbers to check.
        low: bound that the numbers must exceed.
        high: largest allowed number.
        closed: True if `low` itself is allowed.

    Raises:
        ParameterError: if a number is not in this range.

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
    """Returns finite numbers between bounds, one per item. A single number is used for all items.

    Raises:
        ParameterError: if a number is outside the bounds, or there are too few or too many numbers.
    """
    value = read_array(name, values)
    if value.shape not in {(), (count,)}:
        raise ParameterError(f"{name} of shape {value.shape} is not allowed; needs one number, or {count}")
    return np.full(count, _within(name, value, low, high, closed))


def read_number(name: str, value: float, low: float = 0.0, high: float = np.inf, *, closed: bool = False) -> float:
    """Returns one finite number between bounds.

    Raises:
        ParameterError: if the number is outside the bounds.
    """
    array = read_array(name, value)
    if array.ndim:
        raise ParameterError(f"{name} of shape {array.shape} is not allowed; needs one number")
    return float(_within(name, array, low, high, closed))


def read_whole(name: str, values: ArrayLike, least: int = 0) -> Ints:
    """Returns whole numbers of at least `least`, of any shape.

    Raises:
        ParameterError: if a number is not whole, or is too small.
    """
    value = read_array(name, values)
    _refuse(name, value, (value >= least) & (value == np.round(value)), f"a whole number >= {least}")
    _refuse(name, value, value <= LARGEST_WHOLE, f"a whole number from {least} to {LARGEST_WHOLE}")
    return value.astype(np.int64)


def finite(**values: ArrayLike) -> None:
    """Raises a ParameterError unless all numbers are finite."""
    for name, value in values.items():
        read_numbers(name, value, -np.inf)


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


class _ShapeError(ParameterError):
    """Arrays of shapes that numpy cannot combine."""


def explained(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """Returns a function whose errors name the argument that numpy cannot use.

    Checks before each call would take as long as the elementwise work, so arguments are checked only after an error.

    Raises:
        ParameterError: if an argument does not match its annotation (numbers, whole numbers, tuples of them, routes,
            words), or if the shapes of arrays do not fit.
    """
    kinds = {name: str(known.annotation) for name, known in signature(function).parameters.items()}
    names = list(kinds)
    required = frozenset(name for name, kind in kinds.items() if "None" not in kind and _checks(kind))

    @wraps(function)
    def guarded(*given: Given.args, **named: Given.kwargs) -> Answer:
        for value in (*given, *named.values()):
            if value is None:
                _refuse_none(required, dict(zip(names, given, strict=False)) | named)
                break
        try:
            return function(*given, **named)
        except TheoryError as error:
            if isinstance(error, _ShapeError):  # raised by a nested call, with names that the caller does not use
                _explain(kinds, signature(function).bind(*given, **named).arguments)
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            _explain(kinds, signature(function).bind(*given, **named).arguments)
            raise

    return guarded


def _refuse_none(required: Collection[str], given: dict[str, object]) -> None:
    """Raises a ParameterError if a required number is None, which numpy converts to NaN."""
    for name, value in given.items():
        if value is None and name in required:
            raise ParameterError(f"{name} None is not allowed; needs a value")


def _explain(kinds: dict[str, str], given: dict[str, object]) -> None:
    """Raises a ParameterError if an argument does not match its kind, or if arrays differ in shape."""
    known = {name: value for name, value in given.items() if value is not None}
    for name, value in known.items():
        check = _checks(kinds[name])
        if check:
            check(name, value, kinds[name])
    arrays = {name: np.shape(value) for name, value in known.items() if _checks(kinds[name]) is _need_array}  # type: ignore[call-overload]
    shapes = ", ".join(f"{name} of shape {shape}" for name, shape in arrays.items())
    if shapes:
        together = "do not go together" if len(arrays) > 1 else "does not go with the rest"
        raise _ShapeError(f"{shapes} {together}; needs numbers, or arrays whose shapes fit each other")


def _checks(kind: str) -> Callable[[str, object, str], None] | None:
    """Returns the check for arguments with the annotation `kind`."""
    return next((check for start, check in _CHECKS.items() if kind.startswith(start)), None)


def _need_number(name: str, value: object, kind: str) -> None:
    array = read_array(name, value)  # type: ignore[arg-type]
    if array.ndim:
        raise ParameterError(f"{name} of shape {array.shape} is not allowed; needs one number")
    if kind.startswith("int") and not hasattr(value, "__index__"):
        raise ParameterError(f"{name} {shown(value)} is not allowed; needs a whole number")


def _need_array(name: str, value: object, _: str) -> None:
    if not (isinstance(value, complex) or (isinstance(value, np.ndarray) and value.dtype.kind == "c")):
        value = read_array(name, value)  # type: ignore[arg-type]
    if not np.size(value):
        raise ParameterError(f"an empty {name} is not allowed; needs at least one number")


def _need_tuple(name: str, value: object, kind: str) -> None:
    count = 0 if "..." in kind else kind.count(",") + 1
    if not isinstance(value, tuple | list) or (count and len(value) != count):
        raise ParameterError(f"{name} {shown(value)} is not allowed; needs {count or 'a tuple of'} numbers")
    for place, part in enumerate(value):
        if "int" in kind:
            _need_number(f"{name} {place}", part, "int")
        read_array(f"{name} {place}", part)


def _need_list(name: str, value: object, _: str) -> None:
    array = read_array(name, value)  # type: ignore[arg-type]
    if array.ndim != 1 or not array.size:
        raise ParameterError(f"{name} {shown(value)} is not allowed; needs a list of numbers")


def _need_routes(name: str, value: object, _: str) -> None:
    routes = value if isinstance(value, Sequence) else [value]
    if not all(
        isinstance(route, Sequence | np.ndarray) and all(hasattr(link, "__index__") for link in route)
        for route in routes
    ):
        raise ParameterError(f"{name} {shown(value)} are not allowed; needs a list of links per flow")


def _need_word(name: str, value: object, _: str) -> None:
    if not isinstance(value, str):
        raise ParameterError(f"{name} {shown(value)} is not allowed; needs a word")


#: Check of an argument, by the first characters of its annotation.
_CHECKS: dict[str, Callable[[str, object, str], None]] = {
    "float": _need_number,
    "int": _need_number,
    "ArrayLike": _need_array,
    "Numbers": _need_array,
    "tuple[": _need_tuple,
    "Sequence[int": _need_list,
    "Sequence[float": _need_list,
    "Routes": _need_routes,
    "str": _need_word,
    "Literal": _need_word,
    "Control": _need_word,
}


def _within(name: str, value: Floats, low: float, high: float, closed: bool) -> Floats:
    least = 0.0 if closed or low else 1 / LARGEST
    smallest, largest = (value.min(initial=np.inf), value.max(initial=-np.inf)) if value.ndim else (float(value),) * 2
    above_low = low <= smallest if closed else low < smallest
    if above_low and (least or -LARGEST) <= smallest and largest <= min(high, LARGEST):
        return value
    size = np.abs(value)
    fits = (low <= value if closed else low < value) & (value <= high)
    above = "" if low == -np.inf else f" {'>=' if closed else '>'} {low:g}"
    below = "" if high == np.inf else f"{' and' if above else ''} <= {high:g}"
    between = closed and above and below
    _refuse(
        name,
        value,
        fits & np.isfinite(value),
        f"a number from {low:g} to {high:g}" if between else f"a finite number{above}{below}",
    )
    _refuse(name, value, (least <= size) & (size <= LARGEST), f"a size of {least:g} to {LARGEST:g}")
    return value


def _refuse(name: str, value: Floats, fits: Bools, allowed: str) -> None:
    if not fits.all():
        where = np.argwhere(~fits)[0].tolist()
        place = f" {', '.join(map(str, where))}:" if where else ""
        raise ParameterError(f"{name}{place} {value[tuple(where)]} is not allowed; needs {allowed}")
