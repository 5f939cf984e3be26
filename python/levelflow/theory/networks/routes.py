"""Routes over links with given capacities, as used by the models of this package, and checks of both."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.errors import TheoryError
from levelflow.theory.validate import explained, read_array, read_number

Routes = Sequence[Sequence[int]]


class NetworkError(TheoryError):
    """A network on which fair rates are not defined."""


class CapacityError(NetworkError):
    """A capacity that is negative, infinite or not a number."""


class RouteError(NetworkError):
    """A flow that crosses no link, or a link that does not exist."""


class FixedPoint(NamedTuple):
    """Rates at a fixed point of the equations of a law.

    Attributes:
        rates: sending rate of each flow, in the unit of the capacities.
        signals: per link, the signal of its router. The law's `fixed_point` defines the signal as a price or a rate.
        bottlenecks: per flow, the link that limits it. Among several, the lowest index.
    """

    rates: Floats
    signals: Floats
    bottlenecks: Ints


def read_capacities(capacities: ArrayLike) -> Floats:
    """Returns capacities as an array.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN, or there is a single number for all links.
        ParameterError: if capacities are not numbers.
    """
    capacity = read_array("capacity", capacities)
    if not capacity.ndim:
        raise CapacityError(f"capacity {capacity} for all links is not allowed; needs one per link")
    bad = np.argwhere(~(np.isfinite(capacity) & (capacity >= 0)))
    if bad.size:
        value = capacity[tuple(bad[0])]
        raise CapacityError(f"link {bad[0, -1]}: capacity {value} is not allowed; needs a finite number >= 0")
    return capacity


@explained
def read_crossings(routes: Routes, links: int) -> tuple[Ints, Ints, Ints]:
    """Returns the flow and the link of every crossing, and the index of each flow's first crossing.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.
    """
    read_number("number of links", links, closed=True)
    try:
        lengths = np.array([len(route) for route in routes], dtype=np.int64)
        link = np.array([index(link) for route in routes for link in route], dtype=np.int64)
    except TypeError:
        raise RouteError("routes are not lists of links; needs whole numbers per flow") from None
    if not lengths.all():
        raise RouteError(f"flow {np.argmin(lengths)} crosses no link, so nothing limits it")
    flow = np.repeat(np.arange(lengths.size), lengths)
    bad = np.flatnonzero((link < 0) | (link >= links))
    if bad.size:
        raise RouteError(f"flow {flow[bad[0]]}: there is no link {link[bad[0]]}; links are 0 to {links - 1}")
    return flow, link, np.concatenate(([0], lengths.cumsum()))


@explained
def crossing_matrix(routes: Routes, links: int) -> Floats:
    """Returns the number of times that each flow crosses each link, flows by links.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.

    >>> crossing_matrix([[0, 1], [1]], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    flow, link, _ = read_crossings(routes, links)
    matrix = np.zeros((len(routes), links))
    np.add.at(matrix, (flow, link), 1.0)
    return matrix
