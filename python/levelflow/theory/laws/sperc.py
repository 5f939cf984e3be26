"""s-PERC (Jose et al. 2019): a flow sends at the smallest allocation on its path.

    b_l = (C - sum of x satisfied at l) / (flows of l that are not satisfied)

`b_l` is the allocation of link `l`, and `x` is the rate of a flow. A flow is satisfied at a link that allows the flow a
higher rate than another link of its path. Rates are in any common unit; `C` is `gamma` times the capacity. In a round,
each flow updates every hop of its path.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.competition import Competition
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.maxmin import depth, maxmin
from levelflow.theory.networks.routes import Routes, read_capacities, read_crossings
from levelflow.theory.record import MAX_MIN, NotSupported, Theory
from levelflow.theory.validate import explained, whole
from levelflow.theory.verdict import Port, Verdict, each_port

#: Largest number of rounds until a bottleneck level settles, with control packets (Jose et al. 2019).
ROUNDS = 6


class Hops:
    """State per link and per crossing. A crossing is a flow at one hop of its path.

    Attributes:
        limits: limit that a link sets for a flow; infinite before the first update, and while other hops ignore it.
        allocations: allocation of a link to a flow; infinite before the first update.
        satisfied: True if another link limits the flow to a lower rate.
        counted: True if the link has counted the flow.
        most: `MaxSat` of each link, and its value after the next reset.
    """

    def __init__(self, targets: Floats, link: Ints) -> None:
        self.targets, self.link = targets, link
        self.limits, self.allocations = np.full((2, link.size), np.inf)
        self.satisfied, self.counted = np.zeros((2, link.size), dtype=bool)
        self.most = np.zeros((2, targets.size))

    def update(self, hop: int, elsewhere: float) -> None:
        """Updates one crossing, given the limit that the other hops of the path set for the flow."""
        here = self.link[hop]
        others = (self.link == here) & self.counted
        others[hop] = False
        taken = self.allocations[others & self.satisfied].sum()
        limit = max(self.targets[here] - taken, 0.0) / (1 + np.count_nonzero(others & ~self.satisfied))
        self.counted[hop], self.satisfied[hop] = True, limit > elsewhere
        self.allocations[hop] = min(limit, elsewhere)
        self.limits[hop] = np.inf if self.most[0, here] > limit else limit
        if limit > elsewhere:
            self.most[:, here] = np.maximum(self.most[:, here], elsewhere)


@explained
def iterate(
    routes: Routes, targets: ArrayLike, rounds: int, rng: np.random.Generator, *, timeout: int = 1, split: bool = True
) -> Floats:
    """Returns the rates by round and flow. Round 0 is the state before the first update: infinite rates.

    Args:
        routes: per flow, the indices of the links that it crosses, in order.
        targets: `C`, per link.
        rounds: number of rounds; in each round, flows update their hops, one flow after another.
        rng: random generator for the order of flows in each round.
        timeout: number of rounds between two resets of `MaxSat`.
        split: True if each hop has its own packet, which carries limits of the previous round (crates/laws/src/sperc).
            False if one control packet updates all hops (the paper). At each hop, this packet carries the limits that
            earlier hops computed in the same round.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a number of rounds is not a whole number, or out of range.

    >>> iterate([[0, 1], [0], [1]], [10.0, 4.0], 12, np.random.default_rng(1))[-1].tolist()
    [2.0, 8.0, 2.0]
    """
    whole(0, rounds=rounds)
    whole(1, timeout=timeout)
    target = read_capacities(targets)
    _, link, starts = read_crossings(routes, target.size)
    hops = Hops(target, link)
    rates = np.full((rounds + 1, starts.size - 1), np.inf)
    for number in range(1, rounds + 1):
        for flow in rng.permutation(starts.size - 1):
            path = slice(starts[flow], starts[flow + 1])
            carried = hops.limits[path].copy() if split else hops.limits[path]
            for at in range(carried.size):
                hops.update(starts[flow] + at, np.delete(carried, at).min(initial=np.inf))
        if number % timeout == 0:
            hops.most = np.stack([hops.most[1], np.zeros(target.size)])
        rates[number] = np.minimum.reduceat(hops.allocations, starts[:-1])
    return rates


@explained
def rounds(routes: Routes, targets: ArrayLike) -> int:
    """Returns an upper bound of the rounds until rates are max-min fair: six per bottleneck level.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.

    >>> rounds([[0, 1], [0], [1]], [10.0, 4.0])
    12
    """
    return ROUNDS * depth(maxmin(routes, targets))


@explained
def equilibrium(routes: Routes, targets: ArrayLike, *, counts: ArrayLike = 1.0) -> Equilibrium:
    """Returns the equilibrium: max-min fair rates. A link that limits no flow allows its spare capacity.

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


def _judge(port: Port) -> Verdict:
    return Verdict(
        True,
        np.inf,
        ROUNDS * float(port.delays.max()),
        "each level of bottlenecks settles within six rounds, whatever the delays (Jose et al. 2019): proven for "
        "control packets that update all hops, tested for updates hop by hop (crates/laws/src/sperc/README.md)",
        "other traffic, which routers do not count, or lost updates",
    )


THEORY = Theory(
    fluid=NotSupported("its routers remember labels and allocations of flows, not loads"),
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=each_port(_judge),
    region=NotSupported("it has no gain"),
    nyquist=NotSupported("it has no linear loop: allocations change by labels"),
)
