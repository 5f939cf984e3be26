"""JetMax (Zhang 2008, chapter VI.5): routers signal fair shares of the capacity that unresponsive flows do not use.

    g_l(n) = (gamma_l C_l - u_l(n)) / N_l                           (133)
    x_r(n) = (1 - tau) x_r(n - D_r) + tau g(n - backward delay)     (134)
    p_l(n) = 1 - gamma_l C_l / y_l(n)                               (135)

`g_l` is the fair share of link `l`, `p_l` its price and `y_l` its load. `x_r` is the rate of flow `r`. `N_l` is the
number of flows that respond to link `l`. `u_l` is the load of flows that cross link `l` and respond to another link.
`target` is `gamma C`. If links lose packets, `y_l` and `u_l` include only the packets that arrive at link `l` (eq.
151-152). Rates are in any common unit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.competition import Competition
from levelflow.theory.errors import ParameterError
from levelflow.theory.laws import emkc
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.filling import fill
from levelflow.theory.networks.paths import Paths, Run, run
from levelflow.theory.networks.routes import FixedPoint, Routes, read_capacities, read_crossings
from levelflow.theory.queues.marking import excess_share
from levelflow.theory.record import MAX_MIN, NotSupported, Pairs, Theory
from levelflow.theory.validate import explained, read_array, read_each, read_number, read_numbers, read_whole, whole
from levelflow.theory.verdict import NEAR, Port, Verdict, each_port

#: Relative rounding error by which a deviation may exceed `eps`.
ROUNDING = 1e-12

#: Price of a link, `1 - gamma C / y` (eq 135). The link with the largest price is the bottleneck of a flow.
price = emkc.price


def fair_share(target: Floats, unresponsive: Floats, number: Floats) -> Floats:
    """Returns the fair share `g` of each link (eq 133); infinite if no flow responds, so no flow chooses the link."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(number > 0, (target - unresponsive) / number, np.inf)


def sender(reference: Floats, share: Floats, tau: Floats | float) -> Floats:
    """Returns the next rate, from the rate one round trip ago and the fair share (eq 134)."""
    return (1 - tau) * reference + tau * share


@explained
def iterate(
    network: Paths,
    start: ArrayLike,
    steps: int,
    targets: ArrayLike,
    tau: float,
    *,
    bottlenecks: ArrayLike = 0,
    survival: ArrayLike = 1.0,
) -> Run:
    """Iterates JetMax over a network of flows with fixed bottlenecks. The signal of a link is its fair share.

    Args:
        network: paths and delays.
        start: rates at step 0 and before, per flow.
        steps: number of steps.
        targets: `gamma C`, per link.
        tau: gain.
        bottlenecks: per flow, a link that it crosses; by default, the first link for all flows.
        survival: fraction of a flow's packets that reaches a link; one number, or an array of flows by links.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        ParameterError: if there is not one finite rate per flow, a flow does not cross its bottleneck, a survival is
            not above 0 and at most 1, or another number is not allowed.
    """
    target = read_capacities(targets)
    arriving, chosen = read_survival(survival, *network.crossings.shape), _chosen(network, bottlenecks)
    who = np.arange(chosen.size)
    responds = np.zeros(arriving.shape, dtype=bool)
    responds[who, chosen] = True
    number = np.where(responds, arriving * network.crossings, 0.0).sum(axis=0)
    gain = read_number("tau", tau)

    def senders(_: Floats, reference: Floats, heard: Floats) -> Floats:
        return sender(reference, heard[who, chosen], gain)

    def routers(received: Floats, memory: Floats) -> tuple[Floats, Floats]:
        unresponsive = np.where(responds, 0.0, arriving * received).sum(axis=0)
        return fair_share(target, unresponsive, number), memory

    return run(network, start, steps, senders, routers)


@explained
def fixed_point(routes: Routes, targets: ArrayLike, survival: ArrayLike = 1.0, counts: ArrayLike = 1.0) -> FixedPoint:
    """Returns the fixed point: max-min fair rates (theorem 16). Links count the packets that arrive.

    If several full links could limit a flow, the link with the smallest fair share does (eq 136). Signals are fair
    shares, infinite if no flow responds.

    Args:
        routes: per flow, the indices of the links that it crosses. A link that the flow crosses twice counts twice.
        targets: `gamma C`, per link.
        survival: fraction of a flow's packets that reaches a link; one number, or an array of flows by links.
        counts: number of equal flows that each route represents; may be fractional, as a mean.

    Raises:
        CapacityError: if a target is negative, infinite or NaN.
        RouteError: if a flow crosses no link or an unknown one.
        ParameterError: if a survival is not above 0 and at most 1, or a count not above 0.

    >>> fixed_point([[0], [0]], [10.0], [[0.9], [0.8]]).rates.round(3).tolist()
    [5.882, 5.882]
    """
    target = read_capacities(targets)
    crossings = read_crossings(routes, target.size)
    flow, link, _ = crossings
    arriving = read_survival(survival, len(routes), target.size)[flow, link]
    counted = arriving * read_each("count", counts, len(routes))[flow]
    rates, limits = fill(
        crossings, target.size, counted, lambda rising, taken: np.maximum(target - taken, 0.0) / rising
    )
    sent, own = rates[flow] * counted, limits[flow] == link
    unresponsive, number = np.zeros(target.size), np.zeros(target.size)
    np.add.at(unresponsive, link, np.where(own, 0.0, sent))
    np.add.at(number, link, np.where(own, counted, 0.0))
    return FixedPoint(rates, fair_share(target, unresponsive, number), limits)


def steps(tau: float, eps: float, start: float = 1.0) -> int:
    """Returns the number of round trips in which a deviation shrinks to `eps` (eq 142).

    The number is the smallest `n` with `start |1 - tau|^n <= eps`. For efficiency from an empty link and for the
    fairness of new flows, `start` is 1. For the fairness of a flow that had the whole link, `start` is `N - 1`.

    Args:
        tau: gain, below 2.
        eps: allowed deviation, relative to the equilibrium rate.
        start: initial relative deviation.

    Raises:
        ParameterError: if a number is not allowed.

    >>> steps(0.6, 0.01), steps(0.6, 0.01, 1023)
    (6, 13)
    """
    factor = abs(1 - read_number("tau", tau, high=np.nextafter(2, 0)))
    wanted = read_number("eps", eps) / read_number("start", start) * (1 + ROUNDING)
    if wanted >= 1:
        return 0
    return 1 if factor <= wanted else int(np.ceil(np.log(wanted) / np.log(factor)))


@explained
def read_survival(survival: ArrayLike, flows: int, links: int) -> Floats:
    """Returns the fraction of the packets of each flow that reaches each link.

    Raises:
        ParameterError: if a fraction is not above 0 and at most 1, or the shape of the array is wrong.
    """
    whole(0, flows=flows, links=links)
    array, shape = read_array("survival", survival), (flows, links)
    if array.shape not in {(), shape}:
        raise ParameterError(f"survival of shape {array.shape} is not allowed; needs one number, or {shape}")
    return np.broadcast_to(read_numbers("survival", array, high=1.0), shape)


def _chosen(network: Paths, bottlenecks: ArrayLike) -> Ints:
    flows, links = network.crossings.shape
    chosen = read_whole("bottleneck", read_each("bottleneck", bottlenecks, flows, -np.inf), -flows - links)
    inside = (chosen >= 0) & (chosen < links)
    inside[inside] = network.crosses[np.flatnonzero(inside), chosen[inside]]
    if not inside.all():
        bad = int(np.argmin(inside))
        raise ParameterError(f"flow {bad}: bottleneck {chosen[bad]} is not allowed; needs a link that the flow crosses")
    return chosen


@explained
def equilibrium(
    routes: Routes, targets: ArrayLike, *, counts: ArrayLike = 1.0, survival: ArrayLike = 1.0
) -> Equilibrium:
    """Returns the equilibrium of JetMax (theorem 16; with losses on the path, eq. 151).

    Args:
        routes: for each route, the indices of its links.
        targets: `gamma C`, per link.
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
    point = fixed_point(routes, targets, survival, found.counts)
    arriving = np.broadcast_to(survival, (len(routes), found.capacity.size))[found.flow, found.link]
    loads = found.sums((point.rates * found.counts)[found.flow] * arriving)
    over = np.max(excess_share(found.capacity, loads), initial=0.0)
    missing = np.append(np.abs(point.rates / point.signals[point.bottlenecks] - 1), over)
    empty = np.zeros(loads.size)
    return Equilibrium(point.rates, loads, point.signals, point.bottlenecks, empty, empty, float(missing.max()))


def survival_of(found: Competition) -> Floats:
    """Returns, for each flow entry and link, the fraction of packets that the wires before this link deliver."""
    survival = np.ones((len(found.routes), len(found.links)))
    for entry, route in enumerate(found.routes):
        passed = 1.0
        for link in route:
            survival[entry, link] = passed
            passed *= 1 - found.links[link]["loss"]
    return survival


def _in_scenario(found: Competition) -> Equilibrium:
    """Returns the equilibrium in a scenario, in which routers count the packets that earlier wires deliver."""
    return equilibrium(found.routes, found.available, counts=found.counts, survival=survival_of(found))


def _judge(port: Port) -> Verdict:
    """Decides stability by theorems 15 to 17: `|1 - tau| < 1` for any delays."""
    tau = port.of_sender("tau")
    proposes = port.sender["propose"] == "true"
    if tau > 1 and proposes:
        why = (
            f"with tau = {tau:g} above 1, the sum of all proposals exceeds the capacity of the link. No proposal is "
            "approved, so flows keep their initial rates"
        )
        return Verdict(False, 1 / tau, None, why)
    left = abs(1 - tau)
    steps = np.ceil(np.log(NEAR) / np.log(left)) if left else 1.0
    step = (np.ceil(port.delays.max() / port.of_router("interval")) + 1) * port.of_router("interval")
    most = 1 if proposes else 2
    return Verdict(
        tau <= 1 or tau < most,
        most / tau,
        float(steps * step),
        f"each step leaves |1 - tau| = {left:.3g} of the distance, whatever the delays (Zhang 2008, theorems 15, 16)",
        f"tau above {most}",
    )


def _step(rates: Floats, capacity: float, gains: dict[str, float]) -> Floats:
    """Updates the rates of two flows that receive the share at once and whose increases the router approves."""
    share = fair_share(np.array(capacity), np.array(0.0), np.array(2.0))
    return sender(rates, share, gains["tau"])


THEORY = Theory(
    fluid="jetmax:JetMax",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    signal="rate",
    judge=each_port(_judge),
    region=NotSupported(
        "delays do not matter; tau from 0 to 1 is stable, or from 0 to 2 if increases are not proposed first"
    ),
    phase=Pairs({"tau": 0.5}, {"tau": 2.0}, _step),
)
