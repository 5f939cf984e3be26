"""Comparison of measured values with the expected values of a paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Scalar = bool | int | float | str
Value = Scalar | Sequence[Scalar]
#: `corrected`: the printed statement is false or inconsistent, and a corrected statement holds. `refuted`: the
#: statement is false, and the measurement is the counterexample. `undecidable`: the necessary information is not
#: available. `withdrawn`: the check could not fail, or does not measure the statement.
Verdict = Literal[
    "reproduced", "corrected", "refuted", "undecidable", "not reproduced", "error", "missing", "withdrawn"
]
#: Verdicts that count as failures of Levelflow.
FAILED: tuple[Verdict, ...] = ("not reproduced", "error")

OPERATORS = ("==", "~=", "<=", ">=", "<", ">", "between", "true", "false", "->")
#: Fraction of the seeds that must meet a bound, in addition to the median over seeds.
SEEDS_SHARE = 0.8


@dataclass(frozen=True)
class Against:
    """Measured value with a target that the paper defines by a formula or by another measurement."""

    measured: Value
    target: Value


@dataclass(frozen=True)
class Seeds:
    """Values of a stochastic run, one per seed.

    The median and the fraction `SEEDS_SHARE` of the values must meet the bound.
    """

    values: tuple[Value, ...]

    def __init__(self, values: Sequence[Value]) -> None:
        object.__setattr__(self, "values", tuple(values))


def over_seeds(runs: Iterable[Mapping[str, Value]]) -> dict[str, Seeds]:
    """Collects one `Seeds` per key; `runs` has one mapping of key to value per seed."""
    tables = list(runs)
    return {key: Seeds([table[key] for table in tables]) for key in tables[0]}


Measured = Value | Against | Seeds


@dataclass(frozen=True)
class Spread:
    """Median and range over seeds; element by element if each seed has several values.

    Attributes:
        seeds: Number of seeds.
        met: Number of seeds that meet the check.
        median: Median, which must also meet the check.
        low: Lowest value, or the alphabetically first text.
        high: Highest value, or the alphabetically last text.
    """

    seeds: int
    met: int
    median: Value
    low: Value
    high: Value


def spread(seeds: Seeds, holds: Callable[[Value], bool]) -> Spread:
    """Returns the median and the range over seeds, and the number of seeds that meet the check.

    Raises:
        ValueError: If there are no seeds.
    """
    if not seeds.values:
        raise ValueError("no seed was run")
    low, median, high = (_by_element(seeds.values, pick) for pick in (min, _middle, max))
    return Spread(len(seeds.values), sum(map(holds, seeds.values)), median, low, high)


@dataclass(frozen=True)
class Noted:
    """Measured value with a note on other measurements. The report shows the note, and no check evaluates it."""

    value: Measured
    note: str


@dataclass(frozen=True)
class Readings:
    """Values of a check under each reading of the text, by the name of the reading."""

    values: Mapping[str, Measured | Noted]


def meets(op: str, expected: Value | None, measured: Measured, tol_rel: float = 0.0, tol_abs: float = 0.0) -> bool:
    """Compares a measured value with an expected value.

    A tolerance widens an equality to both sides, and relaxes the bound of an inequality. The larger tolerance applies.
    Lists are compared element by element. If one number is expected, each element of a list is compared with it.

    Raises:
        TypeError: If the operator does not apply to the type of the measured value, or both the value and the check
            define a target.
        ValueError: If the operator is unknown, no value was measured, or two lists differ in length.
    """
    if op not in OPERATORS:
        raise ValueError(f"unknown operator {op}")
    if isinstance(measured, Against):
        if not isinstance(expected, str):
            raise TypeError(
                "the check itself states what is expected, so measure.py must not return a target (Against)"
            )
        return meets(op, measured.target, measured.measured, tol_rel, tol_abs)
    if isinstance(measured, Seeds):
        return _seeds_meet(measured, lambda value: meets(op, expected, value, tol_rel, tol_abs))
    values = listed(measured)
    if not values:
        raise ValueError("no value measured")
    if op in ("true", "false"):
        return all(_truth(value) is (op == "true") for value in values)
    if op == "between":
        low, high = _pair(expected)
        bounds = ((">=", low), ("<=", high))
        return all(_compare(side, bound, v, tol_rel, tol_abs) for v in values for side, bound in bounds)
    return _all_compare(op, expected, values, tol_rel, tol_abs)


def _all_compare(op: str, expected: Value | None, values: Sequence[Scalar], tol_rel: float, tol_abs: float) -> bool:
    if expected is None:
        raise ValueError(f"the operator {op} needs an expected value")
    if isinstance(expected, bool | int | float | str):
        return all(_compare(op, expected, value, tol_rel, tol_abs) for value in values)
    if all(isinstance(text, str) for text in expected):
        return list(values) == list(expected)
    if len(expected) != len(values):
        raise ValueError(f"{len(values)} values measured where {len(expected)} are expected")
    return all(_compare(op, e, v, tol_rel, tol_abs) for e, v in zip(expected, values, strict=True))


def _seeds_meet(seeds: Seeds, holds: Callable[[Value], bool]) -> bool:
    found = spread(seeds, holds)
    return holds(found.median) and found.met >= SEEDS_SHARE * found.seeds


def _by_element(values: Sequence[Value], pick: Callable[[Any], Any]) -> Any:
    """Applies `pick` element by element. Values with texts may differ in length, so they are compared as a whole."""
    if any(isinstance(item, str) for value in values for item in listed(value)):
        return pick(values)
    picked = [pick(column) for column in zip(*map(listed, values), strict=True)]
    return picked if isinstance(values[0], list | tuple) else picked[0]


def _middle(values: Sequence[Any]) -> Any:
    """Returns the median; for truth values and texts, the middle value in sorted order."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return statistics.median(values)
    return sorted(values)[len(values) // 2]


def listed(value: Value) -> list[Scalar]:
    """Returns the value as a list."""
    return [value] if isinstance(value, bool | int | float | str) else list(value)


def _pair(expected: Value | None) -> tuple[Scalar, Scalar]:
    if not isinstance(expected, list | tuple) or len(expected) != 2:
        raise ValueError(f"between needs two bounds, not {expected!r}")
    return expected[0], expected[1]


def _truth(value: Scalar) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"a truth value is expected, not {value!r}")
    return value


def _compare(op: str, expected: Scalar, measured: Scalar, tol_rel: float, tol_abs: float) -> bool:
    if isinstance(expected, str | bool) or isinstance(measured, str | bool):
        if type(expected) is not type(measured) or op not in ("==", "~="):
            raise TypeError(f"{measured!r} cannot be compared with {expected!r} by {op}")
        return expected == measured
    low, high = allowed(op, expected, tol_rel, tol_abs)
    if measured in {"<": (high,), ">": (low,)}.get(op, ()):
        return False
    return low <= measured <= high


def allowed(op: str, expected: float, tol_rel: float = 0.0, tol_abs: float = 0.0) -> tuple[float, float]:
    """Returns the lowest and the highest number that meet a check; `<` and `>` exclude the bound itself."""
    slack = max(tol_abs, tol_rel * abs(expected))
    low = -math.inf if op in ("<", "<=") else expected - slack
    high = math.inf if op in (">", ">=") else expected + slack
    return low, high
