"""Networks as the models of this package take them: routes over links of given capacities, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.errors import TheoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Routes = Sequence[Sequence[int]]


class NetworkError(TheoryError):
    """A network on which fair rates are not defined."""


class CapacityError(NetworkError):
    """A capacity that is negative, infinite or not a number."""


class RouteError(NetworkError):
    """A flow that crosses no link, or a link that does not exist."""


class WeightError(NetworkError):
    """A weight that is not a positive number, or not one weight per flow."""


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


def read_weights(weights: ArrayLike | None, flows: int) -> Floats:
    """Returns one weight per flow, 1 by default.

    Raises:
        WeightError: if one is not positive and finite, or there is not one for each flow.
    """
    weight = np.ones(flows) if weights is None else np.array(weights, dtype=np.float64)
    if weight.shape != (flows,):
        raise WeightError(f"{weight.size} weights for {flows} flows; needs one each")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight > 0)))
    if bad.size:
        raise WeightError(f"flow {bad[0]}: weight {weight[bad[0]]} is not allowed; needs a finite number > 0")
    return weight


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
