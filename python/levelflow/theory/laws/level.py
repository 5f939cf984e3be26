"""Level (crates/laws/src/level): each link announces a level, up to which its flows may raise their rates.

Link `k` announces the level `b_k`, and flow `f` has the rate `x_f`. The links other than `l` allow the flow the rate
`e_fl`. Each link has a threshold `h`. A flow is below `h` if its `e_fl` is.

    e_fl = min b_k over the other links k of the path                           (1)
    x_f  = min b_k over the path                                                (2)
    h <- max((C - sum of e below h) / (flows not below h), C / flows)           (3)
    u  = h, or an upper bound of the solution while flows are on the wrong side (4)
    b <- m, the smaller of the last two u; or b + (m - b) / 4 if |m - b| < b / 8 (5)

`target` is `C`: `gamma` times the capacity, minus other traffic. Rates are in any common unit. In a step, all links are
updated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.competition import Competition
from levelflow.theory.laws import jetmax
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.filling import fill
from levelflow.theory.networks.maxmin import SAME, depth, maxmin
from levelflow.theory.networks.paths import Paths
from levelflow.theory.networks.routes import Routes, read_capacities
from levelflow.theory.queues.marking import excess_share
from levelflow.theory.record import MAX_MIN, NotSupported, Theory
from levelflow.theory.validate import explained, read_each, whole
from levelflow.theory.verdict import Port, Verdict, each_port

#: Relative change below which a level moves slowly, and the fraction of the change that a slow step makes.
NEAR, GAIN = 0.125, 0.25
#: Delay after which a sender raises its rate (level/sender.rs): this number of intervals, plus a round trip.
DECIDED = 3.1
#: Control intervals of a link (level/params.rs): least number of the largest packets that the link can transmit, least
#: number of these packets per flow, and the longest interval that these numbers can cause, s.
PACKETS, PACKETS_PER_FLOW, LONGEST_S = 10.0, 0.125, 2.0


class Census(NamedTuple):
    """Flow counts of routers, per link. A flow is *below* if its other links allow it less than the link's threshold.

    Attributes:
        flows: number of flows on the link.
        few: number of flows below.
        below: total rate allowed to the flows that are below.
        largest: largest rate allowed to a flow that is below; 0 if no flow is below.
        least: smallest rate that other links allow a flow that is not below; infinite if all flows are below.
    """

    flows: Floats
    few: Floats
    below: Floats
    largest: Floats
    least: Floats


def control_interval(shortest: Floats, packet_s: Floats, flows: Floats) -> Floats:
    """Returns control intervals, s.

    Args:
        shortest: Parameter `interval`, s.
        packet_s: Transmission time of a packet of the size `max_packet`, s.
        flows: Number of flows on the link.
    """
    packets = np.maximum(PACKETS, PACKETS_PER_FLOW * flows)
    return np.maximum(np.minimum(packets * packet_s, LONGEST_S), shortest)


def announced(interval: Floats) -> Floats:
    """Returns intervals as headers carry them: rounded up to 100 ms times a power of the square root of 2."""
    return np.asarray(0.1 * 2 ** (np.ceil(2 * np.log2(interval / 0.1) - SAME) / 2))


def elsewhere(levels: Floats, flow: Ints, starts: Ints) -> Floats:
    """Returns the rate that other links allow a flow (eq 1), per crossing; infinite if the flow crosses one link."""
    least = np.minimum.reduceat(levels, starts)[flow]
    at = np.arange(flow.size)
    lowest = np.minimum.reduceat(np.where(levels == least, at, flow.size), starts)[flow]
    second = np.minimum.reduceat(np.where(at == lowest, np.inf, levels), starts)[flow]
    return np.where(at == lowest, second, least)


def census(others: Floats, threshold: Floats, link: Ints, counts: Floats) -> Census:
    """Counts flows by the rates that their other links allow. Each crossing represents `counts` flows."""
    size = threshold.size
    below = others < threshold[link]
    largest, least = np.zeros(size), np.full(size, np.inf)

    def total(values: Floats) -> Floats:
        return np.bincount(link, values, size).astype(np.float64)

    np.maximum.at(largest, link, np.where(below, others, 0.0))
    np.minimum.at(least, link, np.where(below | (counts == 0), np.inf, others))
    return Census(
        flows=total(counts),
        few=total(np.where(below, counts, 0.0)),
        below=total(np.where(below, others, 0.0) * counts),
        largest=largest,
        least=least,
    )


def update(target: Floats, seen: Census) -> tuple[Floats, Floats]:
    """Returns the next thresholds (eq 3), and upper bounds of the levels (eq 4)."""
    above, left = seen.flows - seen.few, target - seen.below
    with np.errstate(divide="ignore", invalid="ignore"):
        filled = np.where(above > 0, left / above, left + seen.largest)
        threshold = np.where(seen.flows > 0, np.minimum(np.maximum(filled, target / seen.flows), target), target)
        bound = left - np.maximum(above - 1, 0.0) * seen.least
    bound = np.where(seen.least < threshold, bound, threshold)
    bound = np.where(seen.largest > threshold, seen.largest, bound)
    bound = np.where(seen.flows > 0, bound, threshold)
    return threshold, np.minimum(np.maximum(bound, threshold), target)


def smoothed(last: Floats, before: Floats, bound: Floats) -> Floats:
    """Returns the next levels to announce, from the last levels and the bounds of the last two steps (eq 5)."""
    least = np.minimum(before, bound)
    change = least - last
    return np.where(np.abs(change) < NEAR * last, last + GAIN * change, least)


class Run(NamedTuple):
    """Recorded run. The first axis of each array is time.

    Attributes:
        rates: rates by step and flow.
        levels: levels by step and link.
        thresholds: thresholds by step and link.
    """

    rates: Floats
    levels: Floats
    thresholds: Floats


@explained
def iterate(
    network: Paths, targets: ArrayLike, steps: int, levels: ArrayLike, thresholds: ArrayLike, smooth: bool = True
) -> Run:
    """Iterates levels and thresholds of a network. Rates follow levels immediately; proposals are not modelled.

    Args:
        network: paths and delays. The split of round-trip times has no effect.
        targets: target `C` of each link.
        steps: number of updates of all links.
        levels: levels at step 0 and before, for all links or per link.
        thresholds: thresholds at step 0.
        smooth: True if routers follow eq 5; otherwise `b` is `u`.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        ParameterError: if another number is not allowed.
    """
    target = read_capacities(targets)
    size = target.size
    flow, link = np.nonzero(network.crossings)
    starts = np.searchsorted(flow, np.arange(network.delays.size))
    whole(0, steps=steps)
    went = np.empty((steps + 1, size))
    kept = np.empty_like(went)
    went[0] = read_each("level", levels, size)
    kept[0] = read_each("threshold", thresholds, size)
    bound = went[0]
    for n in range(steps):
        heard = went[np.maximum(n + 1 - network.delays[flow], 0), link]
        seen = census(elsewhere(heard, flow, starts), kept[n], link, network.crossings[flow, link])
        kept[n + 1], after = update(target, seen)
        went[n + 1] = smoothed(went[n], bound, after) if smooth else after
        bound = after
    return Run(np.minimum.reduceat(went[:, link], starts, axis=1), went, kept)


@explained
def steps(routes: Routes, targets: ArrayLike, delay: int = 1) -> int:
    """Returns the number of updates until all rates are max-min fair, from any start, without eq 5.

    All links are updated simultaneously. The first bottleneck level takes `delay + 2` updates. Once `k` levels have
    settled, the next level takes `2 delay + k` updates (docs/theory/level.md, theorem 1).

    Args:
        routes: per flow, the indices of the links that it crosses.
        targets: `C`, per link.
        delay: longest round trip, in updates, at least 1.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if the delay is not a whole number above 0.

    >>> steps([[0, 1], [0], [1]], [10.0, 4.0])
    6
    """
    whole(1, delay=delay)
    return delay + 2 + sum(2 * delay + k for k in range(1, depth(maxmin(routes, targets))))


@explained
def equilibrium(
    routes: Routes, targets: ArrayLike, *, counts: ArrayLike = 1.0, survival: ArrayLike = 1.0
) -> Equilibrium:
    """Returns the equilibrium: max-min fair rates. Links count the packets that arrive, and signals are levels.

    Args:
        routes: for each route, the indices of its links.
        targets: `C`, per link.
        counts: number of flows that each route represents.
        survival: fraction of a flow's packets that reaches a link; one number, or an array of routes by links. Loads
            are then arrival rates.

    Raises:
        NetworkError: if a target or route is not allowed.
        ParameterError: if another number is not allowed.

    >>> equilibrium([[0, 1], [0], [1]], [10.0, 4.0], counts=[1, 3, 1]).rates.round(6).tolist()
    [2.0, 2.666667, 2.0]
    """
    found = RoutedFlows(routes, targets, counts)
    crossings, target = (found.flow, found.link, found.starts), found.capacity
    arriving = jetmax.read_survival(survival, len(routes), target.size)
    counted = found.counts[found.flow] * arriving[found.flow, found.link]

    def stops(rising: Floats, taken: Floats) -> Floats:
        """Returns the level at which a link is full, at most the target."""
        return np.minimum(np.maximum(target - taken, 0.0) / rising, target)

    rates, limits = fill(crossings, target.size, counted, stops)
    loads = found.sums(rates[found.flow] * counted)
    # The level of a link that limits no flow is above all rates: the spare capacity plus the largest rate.
    most = np.zeros(loads.size)
    np.maximum.at(most, found.link, rates[found.flow])
    levels = np.maximum(target - loads, 0.0) + most
    levels[limits] = rates
    others = elsewhere(levels[found.link], found.flow, found.starts[:-1])
    _, again = update(target, census(others, levels * (1 - SAME), found.link, counted))
    lowest = np.minimum.reduceat(levels[found.link], found.starts[:-1])
    crossed = np.unique(found.link)
    over = np.max(excess_share(target, loads), initial=0.0)
    missing = np.concatenate((np.abs(again / levels - 1)[crossed], np.abs(lowest / rates - 1), [over]))
    empty = np.zeros(loads.size)
    return Equilibrium(rates, loads, levels, limits, empty, empty, float(missing.max()))


def _in_scenario(found: Competition) -> Equilibrium:
    """Returns the equilibrium in a scenario, in which routers count the packets that earlier wires deliver."""
    return equilibrium(found.routes, found.available, counts=found.counts, survival=jetmax.survival_of(found))


def _judge(port: Port) -> Verdict:
    """Proves stability: Newton's steps on a concave function reach the level from any start, for any delays."""
    flows = port.rates.size if port.counts is None else port.counts.sum()
    capacity = float((port.rates * (1.0 if port.counts is None else port.counts)).sum()) / port.of_router("gamma")
    packet_s = 8 * port.of_router("max_packet") / capacity
    shortest, packets, number = (
        np.array(value, dtype=np.float64) for value in (port.of_router("interval"), packet_s, flows)
    )
    interval = float(announced(control_interval(shortest, packets, number)))
    heard = float(port.delays.max()) + 4 * interval
    raised = float(port.delays.max()) + DECIDED * interval
    return Verdict(
        True,
        np.inf,
        heard + raised,
        "for any delays, Newton's steps reach the level at which flows fill the link. After k other bottlenecks, this "
        "takes two round trips and at most k + 3 updates of two intervals; the last 1 % takes some tens of further "
        "updates (docs/theory/level.md)",
        "flows that send less than a packet in an interval",
    )


THEORY = Theory(
    fluid="level:Level",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=each_port(_judge),
    region=NotSupported("its gain is fixed, and delays do not matter"),
    nyquist=NotSupported("its steps are not linear"),
    phase=NotSupported("both rates are at the fair share within a few steps"),
)
