"""Max-min fair rates by water filling (Bertsekas and Gallager, Data Networks, section 6.5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class NetworkError(ValueError):
    """A network on which fair rates are not defined."""


class CapacityError(NetworkError):
    """A capacity that is negative, infinite or not a number."""


class RouteError(NetworkError):
    """A flow that crosses no link, or a link that does not exist."""


class WeightError(NetworkError):
    """A weight that is not a positive number, or not one weight per flow."""


def maxmin(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Returns the rate of each flow in the (weighted) max-min fair allocation.

    Rates are in the unit of the capacities. With weights, rate over weight is max-min fair: a flow of weight 3 counts
    as three flows, and its rate is the sum of theirs.

    Args:
        routes: per flow, the indices of the links that it crosses; a link that is crossed twice counts twice.
        capacities: per link.
        weights: per flow; 1 each by default.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        WeightError: if a weight is not positive and finite.

    >>> maxmin([[0, 1], [0], [1]], [10.0, 4.0]).tolist()
    [2.0, 8.0, 2.0]
    """
    return _fill(routes, capacities, weights)[0]


def bottlenecks(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None = None) -> Ints:
    """Returns the link that limits each flow in the allocation of `maxmin`; the lowest index where several do.

    >>> bottlenecks([[0, 1], [0], [1]], [10.0, 4.0]).tolist()
    [1, 0, 1]
    """
    return _fill(routes, capacities, weights)[1]


def _fill(routes: Sequence[Sequence[int]], capacities: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Ints]:
    residual = _capacities(capacities)
    weight = _weights(weights, len(routes))
    flow, link, starts = _crossings(routes, residual.size)
    order = np.argsort(link, kind="stable")
    by_link = flow[order]
    edges = np.searchsorted(link[order], np.arange(residual.size + 1))

    crossing = np.bincount(link, minlength=residual.size)
    load = np.bincount(link, weights=weight[flow], minlength=residual.size)
    rates = np.full(len(routes), np.nan)
    limits = np.full(len(routes), -1, dtype=np.int64)
    while crossing.any():
        level = np.divide(residual, load, out=np.full_like(residual, np.inf), where=crossing > 0)
        tight = int(np.argmin(level))
        here = by_link[edges[tight] : edges[tight + 1]]
        settled = np.unique(here[limits[here] < 0])
        rates[settled] = level[tight] * weight[settled]
        limits[settled] = tight
        sizes = starts[settled + 1] - starts[settled]
        entries = np.repeat(starts[settled + 1] - sizes.cumsum(), sizes) + np.arange(sizes.sum())
        gone, who = link[entries], flow[entries]
        np.subtract.at(crossing, gone, 1)
        np.subtract.at(load, gone, weight[who])
        np.subtract.at(residual, gone, rates[who])
        np.maximum(residual, 0.0, out=residual)
    return rates, limits


def _capacities(capacities: ArrayLike) -> Floats:
    capacity = np.array(capacities, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(capacity) & (capacity >= 0)))
    if bad.size:
        raise CapacityError(f"link {bad[0]}: capacity {capacity[bad[0]]} is not allowed; needs a finite number >= 0")
    return capacity


def _weights(weights: ArrayLike | None, flows: int) -> Floats:
    weight = np.ones(flows) if weights is None else np.array(weights, dtype=np.float64)
    if weight.shape != (flows,):
        raise WeightError(f"{weight.size} weights for {flows} flows; needs one each")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight > 0)))
    if bad.size:
        raise WeightError(f"flow {bad[0]}: weight {weight[bad[0]]} is not allowed; needs a finite number > 0")
    return weight


def _crossings(routes: Sequence[Sequence[int]], links: int) -> tuple[Ints, Ints, Ints]:
    """Returns flow and link of every crossing, and where the crossings of each flow start."""
    lengths = np.array([len(route) for route in routes], dtype=np.int64)
    if not lengths.all():
        raise RouteError(f"flow {np.argmin(lengths)} crosses no link, so nothing limits it")
    flow = np.repeat(np.arange(lengths.size), lengths)
    link = np.fromiter((index for route in routes for index in route), dtype=np.int64, count=flow.size)
    bad = np.flatnonzero((link < 0) | (link >= links))
    if bad.size:
        raise RouteError(f"flow {flow[bad[0]]}: there is no link {link[bad[0]]}; links are 0 to {links - 1}")
    return flow, link, np.concatenate(([0], lengths.cumsum()))
