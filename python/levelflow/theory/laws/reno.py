"""TCP Reno: rates maximise the sum of `-w/x`, with `w` proportional to `(packet size/round trip)^2`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.competition import Competition, delivered_shares, packet_sizes, round_trips
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes
from levelflow.theory.networks.utility import optimum
from levelflow.theory.record import UTILITY, Theory
from levelflow.theory.validate import explained, read_each

#: Factor 1.5 in `x = (s/d) sqrt(1.5/p)`, the rate of TCP and TFRC at loss rate p.
SQUARE_ROOT = 1.5


@explained
def equilibrium(
    routes: Routes,
    capacities: ArrayLike,
    *,
    rtts: ArrayLike,
    packets: ArrayLike,
    lost: ArrayLike = 0.0,
    counts: ArrayLike = 1.0,
) -> Equilibrium:
    """Returns the equilibrium `x = (s/d) sqrt(1.5/p)`, with loss rates `p` that keep rates within capacities.

    Args:
        routes: for each route, the indices of its links.
        capacities: per link.
        rtts: round-trip time, s, for all flows or per route; base round-trip times exclude queueing.
        packets: packet size, bits, for all flows or per route.
        lost: fraction of packets lost on wires, for all flows or per route.
        counts: number of flows that each route represents.

    >>> equilibrium([[0], [0]], [9e6], rtts=[0.04, 0.08], packets=8000).rates.round().tolist()
    [6000000.0, 3000000.0]
    """
    found = RoutedFlows(routes, capacities, counts)
    steps = found.each("packet", packets) / found.each("rtt", rtts)
    wires = read_each("lost", lost, len(routes), high=1.0, closed=True)
    best = optimum(
        routes, found.capacity, weights=SQUARE_ROOT * (steps * found.counts) ** 2, exponents=1.0, costs=wires
    )
    rates = best.rates / found.counts
    predicted = steps * np.sqrt(SQUARE_ROOT / (wires + found.total(best.prices)))
    missing = np.append(np.abs(rates / predicted - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing, np.full(found.capacity.size, np.nan))


def in_scenario(found: Competition) -> Equilibrium | None:
    """Returns the equilibrium with base round-trip times, which exclude queueing delays."""
    rtts = round_trips(found)
    if rtts is None:
        return None
    lost = 1 - delivered_shares(found)
    return equilibrium(
        found.routes, found.available, rtts=rtts, packets=packet_sizes(found), lost=lost, counts=found.counts
    )


THEORY = Theory(fluid="windows:Reno", reference=UTILITY, equilibrium=equilibrium, in_scenario=in_scenario)
