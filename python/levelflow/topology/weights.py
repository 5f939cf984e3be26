"""Link weights as whole numbers, with exact sums along routes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Largest link weight in a scenario.
HEAVIEST = 16_777_215


def whole(weights: Sequence[Fraction | None]) -> tuple[list[int | None], list[str]]:
    """Returns weights as whole numbers in the same proportions, and a line if they differ from the given weights.

    Sums of the whole numbers have the same order and ties as sums of the given weights. If a whole number would exceed
    `HEAVIEST`, all weights are scaled and rounded instead.

    Args:
        weights: link weights; None means the default, 1.

    >>> whole([Fraction(19, 10), None, Fraction(1, 2)])
    ([19, 10, 5], ['weights are multiplied by 10, to be whole numbers'])
    >>> whole([Fraction(3), None])
    ([3, None], [])
    """
    given = [Fraction(1) if one is None else one for one in weights]
    most = max(given, default=Fraction(1))
    factor = Fraction(math.lcm(*(one.denominator for one in given)))
    if factor == 1 and most <= HEAVIEST:
        return [None if one is None else int(one) for one in weights], []
    if factor * most > HEAVIEST:
        factor /= math.gcd(*(int(factor * one) for one in given))
    if factor * most <= HEAVIEST:
        return [int(factor * one) for one in given], [
            f"weights are multiplied by {_short(factor)}, to be whole numbers"
        ]
    scale = HEAVIEST / most
    ends = f"{_short(min(given))} to {_short(most)}"
    line = (
        f"warning: weights of {ends} do not fit into whole numbers up to {HEAVIEST} and are rounded; routes may differ"
    )
    return [max(1, round(scale * one)) for one in given], [line]


def _short(number: Fraction) -> str:
    return f"{float(number):.6g}"
