"""Networks as the models of this package take them: routes over links of given capacities, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.errors import TheoryError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Complexes = NDArray[np.complex128]
    Numbers = Any  # a number, or an array of them
    Routes = Sequence[Sequence[int]]


class NetworkError(TheoryError):
    """A network on which fair rates are not defined."""


class CapacityError(NetworkError):
    """A capacity that is negative, infinite or not a number."""


class RouteError(NetworkError):
    """A flow that crosses no link, or a link that does not exist."""


class Rest(NamedTuple):
    """Where the flows of a law rest.

    Attributes:
        rates: per flow, as sent, in the unit of the capacities.
        signals: per link, what its router says there: a price or a rate, as the law's `rest` tells.
        bottlenecks: per flow, the link that limits it; the lowest index where several do.
    """

    rates: Floats
    signals: Floats
    bottlenecks: Ints


def read_capacities(capacities: ArrayLike) -> Floats:
    """Returns capacities as an array.

    Raises:
        CapacityError: if one is negative, infinite or NaN.
    """
    capacity = np.array(capacities, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(capacity) & (capacity >= 0)))
    if bad.size:
        raise CapacityError(f"link {bad[0]}: capacity {capacity[bad[0]]} is not allowed; needs a finite number >= 0")
    return capacity


def read_crossings(routes: Routes, links: int) -> tuple[Ints, Ints, Ints]:
    """Returns flow and link of every crossing, and where the crossings of each flow start.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.
    """
    lengths = np.array([len(route) for route in routes], dtype=np.int64)
    if not lengths.all():
        raise RouteError(f"flow {np.argmin(lengths)} crosses no link, so nothing limits it")
    flow = np.repeat(np.arange(lengths.size), lengths)
    link = np.fromiter((index for route in routes for index in route), dtype=np.int64, count=flow.size)
    bad = np.flatnonzero((link < 0) | (link >= links))
    if bad.size:
        raise RouteError(f"flow {flow[bad[0]]}: there is no link {link[bad[0]]}; links are 0 to {links - 1}")
    return flow, link, np.concatenate(([0], lengths.cumsum()))


def crossing_matrix(routes: Routes, links: int) -> Floats:
    """Returns how often each flow crosses each link, flows by links.

    Raises:
        RouteError: if a flow crosses no link or an unknown one.

    >>> crossing_matrix([[0, 1], [1]], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    flow, link, _ = read_crossings(routes, links)
    matrix = np.zeros((len(routes), links))
    np.add.at(matrix, (flow, link), 1.0)
    return matrix
