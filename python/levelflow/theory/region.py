"""Stable region of a law on one link in the plane of two parameters, as curves and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from levelflow.theory.arrays import Floats

#: Number of points of a curve.
POINTS = 300


class Region(NamedTuple):
    """A stable region in the plane of two parameters.

    Attributes:
        labels: names of the two parameters.
        curves: boundaries by name; points below a boundary are stable.
        head: column titles of the table.
        rows: rows of the table.
        note: explanation below the table.
        logarithmic: True if the axis of the second parameter is logarithmic.
    """

    labels: tuple[str, str]
    curves: dict[str, tuple[Floats, Floats]]
    head: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    note: str
    logarithmic: bool = False
