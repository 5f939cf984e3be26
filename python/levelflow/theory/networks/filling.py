"""Water filling: the levels of all flows rise together until links stop them, beginning with the lowest link level."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.validate import explained, whole


class Filled(NamedTuple):
    """Result of water filling.

    Attributes:
        levels: final level of each flow.
        bottlenecks: per flow, the link that stopped its level; among several, the lowest index.
    """

    levels: Floats
    bottlenecks: Ints


@explained
def fill(
    crossings: tuple[Ints, Ints, Ints], links: int, loads: Floats, level: Callable[[Floats, Floats], Floats]
) -> Filled:
    """Raises the levels of all flows until links have stopped every flow.

    Args:
        crossings: result of `levelflow.theory.networks.routes.read_crossings`.
        links: number of links.
        loads: per crossing, the load that the flow puts on the link at level 1; above 0.
        level: returns the level at which each link stops its flows. Its arguments are the load of rising flows at level
            1, and the load of stopped flows, per link. This level must not decrease when some flows stop at a lower
            level. For links without rising flows, any value is allowed.
    """
    flow, link, starts = crossings
    whole(int(link.max(initial=-1)) + 1, links=links)
    order = np.argsort(link, kind="stable")
    by_link = flow[order]
    edges = np.searchsorted(link[order], np.arange(links + 1))
    rising = np.bincount(link, weights=loads, minlength=links).astype(np.float64)
    taken = np.zeros(links)
    levels = np.full(starts.size - 1, np.nan)
    limits = np.full(starts.size - 1, -1, dtype=np.int64)
    risen = -np.inf
    while (rising > 0).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            stops = np.where(rising > 0, level(rising, taken), np.inf)
        tight = int(np.argmin(stops))
        here = by_link[edges[tight] : edges[tight + 1]]
        settled = np.unique(here[limits[here] < 0])
        risen = max(risen, stops[tight])  # rounding errors of a small remainder could lower the level
        levels[settled] = risen
        limits[settled] = tight
        entries = _ranges(starts, settled)
        np.add.at(taken, link[entries], risen * loads[entries])
        # Sums are recomputed, because a difference of very unequal loads may consist only of rounding errors.
        touched = np.unique(link[entries])
        there = _ranges(edges, touched)
        left = np.where(limits[by_link[there]] < 0, loads[order[there]], 0.0)
        sizes = edges[touched + 1] - edges[touched]
        rising[touched] = np.add.reduceat(left, sizes.cumsum() - sizes)
    return Filled(levels, limits)


def _ranges(starts: Ints, chosen: Ints) -> Ints:
    """Returns the positions from `starts[i]` to `starts[i + 1]` for each chosen `i`, concatenated."""
    sizes = starts[chosen + 1] - starts[chosen]
    return np.repeat(starts[chosen + 1] - sizes.cumsum(), sizes) + np.arange(sizes.sum())
