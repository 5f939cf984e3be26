"""s-PERC (Jose et al. 2019): a flow takes the least allocation of its path.

    b_l = (C - sum of x satisfied at l) / (flows of l that are not)

A flow is satisfied at a link that allows it more than the others do. Rates are in any one unit; `C` is `gamma` times
the capacity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.competition import Competition
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes
from levelflow.theory.record import MAX_MIN, NotSupported, Theory
from levelflow.theory.validate import explained


@explained
def equilibrium(routes: Routes, targets: ArrayLike, *, counts: ArrayLike = 1.0) -> Equilibrium:
    """s-PERC: max-min fair; a link that limits no flow allows what is left.

    >>> equilibrium([[0, 1], [0], [1]], [10.0, 4.0]).signals.tolist()
    [8.0, 2.0]
    """
    found = RoutedFlows(routes, targets, counts)
    rates, limits = found.fair()
    limited = limits[found.flow] == found.link
    flows = found.counts[found.flow]
    taken = found.sums(np.where(limited, 0.0, flows * rates[found.flow]))
    unsatisfied = found.sums(np.where(limited, flows, 0.0))
    allowed = (found.capacity - taken) / np.where(unsatisfied > 0, unsatisfied, 1.0)
    missing = np.where(limited, np.abs(allowed[found.link] / rates[found.flow] - 1), 0.0)
    overdrawn = np.where(unsatisfied[found.link] > 0, 1 - allowed[found.link] / rates[found.flow], 0.0)
    return found.at(rates, allowed, limits, np.maximum(missing, overdrawn))


def _in_scenario(found: Competition) -> Equilibrium:
    return equilibrium(found.routes, found.available, counts=found.counts)


THEORY = Theory(
    fluid=NotSupported("its routers remember labels and allocations of flows, not loads"),
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=NotSupported(
        "it has no gain; the paper bounds the rounds to the equilibrium, six for each level of bottlenecks, for "
        "control packets that update all hops, which is not proven for updates hop by hop"
    ),
    region=NotSupported("it has no gain"),
    nyquist=NotSupported("it has no linear loop: allocations change by labels"),
)
