"""For which two parameters a law is stable on one link: a curve and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from levelflow.theory.arrays import Floats

#: Points of a curve.
POINTS = 300


class Region(NamedTuple):
    """Where a law is stable.

    Attributes:
        labels: of the two parameters.
        curves: boundaries, by what they are; stable below them.
        head: what the columns of the table are.
        rows: of the table.
        note: how to read it.
        logarithmic: whether the second parameter goes over decades.
    """

    labels: tuple[str, str]
    curves: dict[str, tuple[Floats, Floats]]
    head: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    note: str
    logarithmic: bool = False
