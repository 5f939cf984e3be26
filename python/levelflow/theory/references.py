"""The rates with which a run is compared: those at which its laws would come to rest.

Laws whose routers tell the smallest share or the largest price of a path come to max-min fair rates. Some others come
to rates of largest utility; what is known of them stands in `UTILITIES`. One law alone in a network is compared with
its own rest point. Of some laws none is known, nor of several together; then max-min fair rates are the yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from levelflow.theory.maxmin import maxmin
from levelflow.theory.scenarios import base, competition
from levelflow.theory.utility import ConvergenceError, optimum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from levelflow.theory.scenarios import Competition, Flow, Link
    from levelflow.theory.utility import Optimum

MAX_MIN = "max-min fair"
UTILITY = "utility-optimal"

#: Laws that come to rest at max-min fair rates, XCP where its links leave nothing unused.
MAX_MIN_LAWS = ("jetmax", "emkc", "emkc_avq", "rcp", "maxnet", "xcp")


class Reference(NamedTuple):
    """What rates are compared with.

    Attributes:
        name: `MAX_MIN` or `UTILITY`.
        rates: of one flow of each entry, bit/s; None where no flow competes.
    """

    name: str
    rates: list[float | None]


@dataclass(frozen=True)
class Utility:
    """What one flow wants, with rates in bit/s: `levelflow.theory.utility.optimum` has the symbols."""

    weight: float
    exponent: float
    #: What a unit of rate costs by itself: random losses, where the law takes them for a signal.
    cost: float = 0.0
    #: Whether it pays 1 for each bit that links lose or mark, so that rates come to rest above capacities or marking
    #: levels. Otherwise prices are whatever keeps rates within capacities.
    pays: bool = False
    #: Whether links charge by marks.
    marks: bool = False


def reference(scenario: dict[str, Any], active: Sequence[float]) -> Reference:
    """Returns the rates at which the flows that compete would come to rest.

    Args:
        scenario: resolved.
        active: how many flows of each entry compete; a mean may be a fraction.
    """
    found = competition(scenario, active)
    best = optimal(found)
    name = MAX_MIN if best is None else UTILITY
    totals = maxmin(found.routes, found.available, found.weights) if best is None else best.rates
    rates: list[float | None] = [None] * len(active)
    for number, total, count in zip(found.numbers, totals, found.counts, strict=True):
        rates[number] = float(total / count)
    return Reference(name, rates)


def optimal(found: Competition) -> Optimum | None:
    """Returns the total rate of each entry, and the prices, at the largest utility; None if no utility is known."""
    wants = utilities(found)
    if wants is None:
        return None
    marks = any(want.marks for want in wants)
    capacities = found.available * [_marking_level(link) for link in found.links] if marks else found.available
    crossed = capacities[sorted({link for route in found.routes for link in route})]
    if not (crossed > 0).all():
        return None
    exponents = np.array([want.exponent for want in wants])
    try:
        return optimum(
            found.routes,
            capacities,
            # Of n flows at the rate X/n each, the utility is n U(X/n).
            weights=found.counts ** (1 + exponents) * [want.weight for want in wants],
            exponents=exponents,
            costs=[want.cost for want in wants],
            penalty=1.0 if wants[0].pays else None,
        )
    except ConvergenceError:
        return None


def utilities(found: Competition) -> list[Utility] | None:
    """Returns what one flow of each entry wants; None if not all follow the same law, or what it wants is not known."""
    laws = {flow["law"] for flow in found.entries}
    if len(laws) != 1 or not laws <= UTILITIES.keys():
        return None
    of = UTILITIES[laws.pop()]
    wants = []
    for flow, route in zip(found.entries, found.routes, strict=True):
        want = of(flow, [found.links[link] for link in route])
        if want is None:
            return None
        wants.append(want)
    return wants if len({want.pays for want in wants}) == 1 else None


def _marking_level(link: Link) -> float:
    """Returns the load at which a link begins to mark, over its capacity; 0 if it does not stay where it is."""
    own = link["queue"].get("virtual_queue")
    if own is None:
        return 1.0
    return base(own["level"]) if own["adapt"] == "off" else 0.0


def _lost(path: list[Link]) -> float:
    """Returns the share of packets that the wires of a path lose."""
    return 1 - float(np.prod([1 - link["loss"] for link in path]))


def _square_root(flow: Flow, path: list[Link]) -> Utility | None:
    """The law `x = (s/d) sqrt(3/(2p))` of TCP and TFRC, `s` bits a packet (Kunniyur and Srikant, section III-A).

    The loss `p` of a flow is the sum of those of its links: `U'(x) = 3 s^2 / (2 d^2 x^2) = p`. The round trip is the
    base one: queueing delays are left out.
    """
    if not flow["base_rtt_s"]:
        return None
    return Utility(weight=1.5 * (8 * flow["packet_bytes"] / flow["base_rtt_s"]) ** 2, exponent=1.0, cost=_lost(path))


def _backlog(packets: float, flow: Flow) -> Utility:
    """A law that keeps so many packets in queues: with the queueing delay `q`, `x q` of them (Low et al. 2002)."""
    return Utility(weight=8 * flow["packet_bytes"] * packets, exponent=0.0)


def _fast(flow: Flow, _path: list[Link]) -> Utility:
    return _backlog(base(flow["params"]["alpha"]), flow)


def _vegas(flow: Flow, _path: list[Link]) -> Utility:
    """Vegas rests anywhere between its two thresholds; the middle stands for all."""
    return _backlog((base(flow["params"]["alpha"]) + base(flow["params"]["beta"])) / 2, flow)


def _kelly(flow: Flow, _path: list[Link]) -> Utility:
    """Rest point `omega = x sum p` with `p = (y - C)/y`; that this is below 0 where links have room is left out."""
    return Utility(weight=base(flow["params"]["omega"]), exponent=0.0, pays=True)


def _kunniyur_srikant(flow: Flow, path: list[Link]) -> Utility | None:
    """Rest point of eq. 3, 26 and 42: `(w/beta_r) U'(x) = beta (1 - a + a sum p)`, where wires deliver the share `a`.

    The equations count packets per time unit. With a constant `d'` in place of the delay `d`, the weight is
    `(d'/d)^(nu + 1)` times as large.
    """
    own = flow["params"]
    exponent = base(own["nu"]) if own["utility"] == "power" else 0.0
    unit = base(own["time_unit"])
    delay = base(own["delay"])
    if own["control"] == "rate" or delay == 0:
        seen = 1.0
    elif flow["base_rtt_s"]:
        seen = delay * unit / flow["base_rtt_s"]
    else:
        return None
    in_bits = 8 * flow["packet_bytes"] / unit
    weight = base(own["weight"]) / base(own["beta"]) * (seen * in_bits) ** (exponent + 1)
    kept = 1 - _lost(path)
    marks = own["signal"] != "loss"
    cost = 0.0 if own["signal"] == "mark" else (1 - kept) / kept
    return Utility(weight / kept, exponent, cost, pays=True, marks=marks)


#: By law, the utility of a flow over a path.
UTILITIES: dict[str, Callable[[Flow, list[Link]], Utility | None]] = {
    "reno": _square_root,
    "tfrc": _square_root,
    "vegas": _vegas,
    "fast": _fast,
    "kelly": _kelly,
    "ks": _kunniyur_srikant,
}


def model(law: str) -> str:
    """What theory knows of where a law comes to rest: `MAX_MIN`, `UTILITY` or "none"."""
    if law in MAX_MIN_LAWS:
        return MAX_MIN
    return UTILITY if law in UTILITIES else "none"
