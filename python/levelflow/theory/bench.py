"""How long the large questions take; rows of what, size, and the seconds of the fastest of some runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.assignment import assign, bottleneck_sets, random_routes
from levelflow.theory.maxmin import maxmin
from levelflow.theory.utility import optimum

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 3
SEED = 1


class Row(NamedTuple):
    """One measurement."""

    what: str
    size: str
    seconds: float


def fastest(work: Callable[[], object], runs: int = RUNS) -> float:
    """Returns how long the fastest of so many runs takes, s."""
    took = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def maxmin_large(flows: int = 10_000, links: int = 1_000, hops: int = 5) -> list[Row]:
    """Measures max-min fair rates of many flows over random links, their bottlenecks, and the order of links."""
    random = np.random.default_rng(SEED)
    routes, capacities = random_routes(random, flows, links, hops, hops), random.uniform(1, 100, links)
    rates = maxmin(routes, capacities)
    sets = bottleneck_sets(routes, capacities, rates)
    size = f"{flows:,} flows over {hops} of {links:,} links"
    return [
        Row("max-min fair rates", size, fastest(lambda: maxmin(routes, capacities))),
        Row("all bottlenecks, a proof", size, fastest(lambda: bottleneck_sets(routes, capacities, rates))),
        Row("order of links", size, fastest(lambda: assign(routes, [own[0] for own in sets], links).layers())),
    ]


def utility_large(flows: int = 2_000, links: int = 200, hops: int = 5) -> list[Row]:
    """Measures utility-optimal rates of many flows over random links."""
    random = np.random.default_rng(SEED)
    routes, capacities = random_routes(random, flows, links, hops, hops), random.uniform(1, 100, links)
    size = f"{flows:,} flows over {hops} of {links:,} links"
    return [Row("proportionally fair rates", size, fastest(lambda: optimum(routes, capacities)))]
