"""Run times of the largest models of the theory package: `python -m tools.theory_bench`."""

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

RUNS = 3
SEED = 1
#: Largest allowed run times, s.
MAXMIN_LIMIT = 1.0
DELAYS_LIMIT = 60.0


class Row(NamedTuple):
    """One run-time measurement.

    Attributes:
        what: name of the computation.
        size: size of the problem.
        seconds: wall time of the fastest run, s.
        cpu: smallest CPU time of a run, s.
        limit: largest allowed wall time, s; None without a limit.
    """

    what: str
    size: str
    seconds: float
    cpu: float
    limit: float | None = None


def fastest(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Returns the smallest wall time and the smallest CPU time of several runs, s."""
    took, cpu = [], []
    for _ in range(runs):
        start, used = time.perf_counter(), time.process_time()
        work()
        took.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return min(took), min(cpu)


def maxmin_large(flows: int = 10_000, links: int = 1_000, hops: int = 5) -> list[Row]:
    """Measures max-min fair rates of many flows over random links, their bottlenecks, and the order of links."""
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


def utility_large(flows: int = 2_000, links: int = 200, hops: int = 5) -> list[Row]:
    """Measures utility-optimal rates of many flows over random links."""
    random = np.random.default_rng(SEED)
    routes, capacities = random_routes(random, flows, links, hops, hops), random.uniform(1, 100, links)
    size = f"{flows:,} flows over {hops} of {links:,} links"
    return [Row("proportionally fair rates", size, *fastest(lambda: optimum(routes, capacities)))]


def delays_large(count: int = 10_000, draws: int = 100) -> list[Row]:
    """Measures the experiment of Zhang 2008, fig 12, and the stability of each matrix under each draw of delays."""
    random = np.random.default_rng(SEED)
    matrices, delays = random.uniform(-1.5, 1.5, (count, 2, 2)), random.integers(1, 31, (count, draws, 2))
    size = f"{count:,} random 2x2 matrices, {draws} delays each"
    return [
        Row("figure 12", size, *fastest(lambda: experiment(SEED, count, draws=draws)), DELAYS_LIMIT),
        Row("every matrix under every delay", size, *fastest(lambda: are_stable(matrices, delays)), DELAYS_LIMIT),
    ]


def norm_large(size: int = 60) -> list[Row]:
    """Measures the scaled norm of one large matrix, with proofs of both bounds."""
    matrix = np.random.default_rng(SEED).standard_normal((size, size))
    return [Row("scaled norm, from both sides", f"a matrix of {size} rows", *fastest(lambda: scaled_norm(matrix)))]


def rows() -> Iterator[Row]:
    """Yields all measurements."""
    for measure in (maxmin_large, delays_large, utility_large, norm_large):
        yield from measure()


def main() -> None:
    """Prints a table of the measurements."""
    from rich.console import Console

    from levelflow.cli.show import show_table

    with Console(stderr=True).status("measuring"):
        found = list(rows())
    cells = [
        [row.what, row.size, f"{row.seconds:.2f}", f"{row.cpu:.2f}", "" if row.limit is None else f"{row.limit:g}"]
        for row in found
    ]
    head = ["question", "size", "seconds", "CPU seconds", "at most"]
    show_table(f"Theory: the fastest of {RUNS} runs", head, cells)


if __name__ == "__main__":
    main()
