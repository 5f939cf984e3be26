"""FAST: each flow keeps a fixed number of packets queued.

Rates maximise the sum of `log x`, weighted by these numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.competition import Competition, of_flows, packet_sizes
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes
from levelflow.theory.networks.utility import optimum
from levelflow.theory.record import UTILITY, Theory
from levelflow.theory.validate import explained


@explained
def equilibrium(routes: Routes, capacities: ArrayLike, *, backlogs: ArrayLike, counts: ArrayLike = 1.0) -> Equilibrium:
    """Returns the equilibrium of FAST and Vegas. A flow keeps `x q` bits queued; `q` is its path's queueing delay.

    Args:
        routes: for each route, the indices of its links.
        capacities: per link.
        backlogs: bits that a flow keeps queued, for all flows or per route; for Vegas, a value between the thresholds.
        counts: number of flows that each route represents.

    >>> equilibrium([[0]], [8e6], backlogs=24e3, counts=2).queues.round(3).tolist()
    [48000.0]
    """
    found = RoutedFlows(routes, capacities, counts)
    kept = found.each("backlog", backlogs)
    best = optimum(routes, found.capacity, weights=kept * found.counts)
    rates = best.rates / found.counts
    missing = np.append(np.abs(rates * found.total(best.prices) / kept - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing, best.prices * found.capacity)


def _in_scenario(found: Competition) -> Equilibrium:
    backlogs = packet_sizes(found) * of_flows(found, "alpha")
    return equilibrium(found.routes, found.available, backlogs=backlogs, counts=found.counts)


THEORY = Theory(
    fluid="delay_based:Fast", reference=UTILITY, equilibrium=equilibrium, in_scenario=_in_scenario, signal="delay"
)
