"""How long the large questions take: `levelflow theory bench`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from levelflow.theory.networks.assignment import assign, bottleneck_sets, random_routes
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.utility import optimum
from levelflow.theory.stability.delay_batches import are_stable, experiment
from levelflow.theory.stability.scaled_norm import scaled_norm
from levelflow.theory.validate import explained, whole

RUNS = 3
SEED = 1
#: What the two large questions may take, s.
MAXMIN_LIMIT = 1.0
DELAYS_LIMIT = 60.0


class Row(NamedTuple):
    """One measurement.

    Attributes:
        what: the question.
        size: how large it is.
        seconds: how long the fastest run took.
        cpu: processor time of the run that took least, s.
        limit: what it may take, s; None where nothing is promised.
    """

    what: str
    size: str
    seconds: float
    cpu: float
    limit: float | None = None


@explained
def fastest(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Returns the least time and the least processor time of so many runs, s."""
    whole(1, runs=runs)
    took, cpu = [], []
    for _ in range(runs):
        start, used = time.perf_counter(), time.process_time()
        work()
        took.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return min(took), min(cpu)


@explained
def maxmin_large(flows: int = 10_000, links: int = 1_000, hops: int = 5) -> list[Row]:
    """Measures max-min fair rates of many flows over random links, their bottlenecks, and the order of links."""
    whole(1, flows=flows, links=links, hops=hops)
    random = np.random.default_rng(SEED)
    routes, capacities = random_routes(random, flows, links, hops, hops), random.uniform(1, 100, links)
    rates = maxmin(routes, capacities)
    sets = bottleneck_sets(routes, capacities, rates)
    size = f"{flows:,} flows over {hops} of {links:,} links"
    return [
        Row("max-min fair rates", size, *fastest(lambda: maxmin(routes, capacities)), MAXMIN_LIMIT),
        Row("all bottlenecks, a proof", size, *fastest(lambda: bottleneck_sets(routes, capacities, rates))),
        Row("order of links", size, *fastest(lambda: assign(routes, [own[0] for own in sets], links).layers())),
    ]


@explained
def utility_large(flows: int = 2_000, links: int = 200, hops: int = 5) -> list[Row]:
    """Measures utility-optimal rates of many flows over random links."""
    whole(1, flows=flows, links=links, hops=hops)
    random = np.random.default_rng(SEED)
    routes, capacities = random_routes(random, flows, links, hops, hops), random.uniform(1, 100, links)
    size = f"{flows:,} flows over {hops} of {links:,} links"
    return [Row("proportionally fair rates", size, *fastest(lambda: optimum(routes, capacities)))]


@explained
def delays_large(count: int = 10_000, draws: int = 100) -> list[Row]:
    """Measures the random experiment of Zhang 2008, fig 12, and the verdict of each matrix under each of its draws."""
    whole(1, count=count, draws=draws)
    random = np.random.default_rng(SEED)
    matrices, delays = random.uniform(-1.5, 1.5, (count, 2, 2)), random.integers(1, 31, (count, draws, 2))
    size = f"{count:,} random 2x2 matrices, {draws} delays each"
    return [
        Row("figure 12", size, *fastest(lambda: experiment(SEED, count, draws=draws)), DELAYS_LIMIT),
        Row("every matrix under every delay", size, *fastest(lambda: are_stable(matrices, delays)), DELAYS_LIMIT),
    ]


@explained
def norm_large(size: int = 60) -> list[Row]:
    """Measures the scaled norm of one large matrix, with its two proofs."""
    whole(1, size=size)
    matrix = np.random.default_rng(SEED).standard_normal((size, size))
    return [Row("scaled norm, from both sides", f"a matrix of {size} rows", *fastest(lambda: scaled_norm(matrix)))]


def rows() -> Iterator[Row]:
    """Measures everything."""
    for measure in (maxmin_large, delays_large, utility_large, norm_large):
        yield from measure()
