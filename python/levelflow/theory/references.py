"""The rates with which a run is compared: those at which its laws would come to rest.

Laws whose routers tell the smallest share or the largest price of a path come to max-min fair rates, or near them. Some
others come to rates of largest utility. `RESTS` tells of each law where its flows in a scenario rest, by
`levelflow.theory.equilibrium`. Laws of the first kind are compared with max-min fair rates, which is what they are
after; so are those of which no rest point is known, and several laws together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from levelflow.theory import equilibrium
from levelflow.theory.competition import competition
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.utility import ConvergenceError
from levelflow.theory.units import base
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from levelflow.theory.arrays import Floats
    from levelflow.theory.competition import Competition, Link
    from levelflow.theory.equilibrium import Equilibrium

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


@explained
def reference(scenario: dict[str, Any], active: Sequence[float]) -> Reference:
    """Returns the rates at which the flows that compete would come to rest.

    Args:
        scenario: resolved.
        active: how many flows of each entry compete; a mean may be a fraction.
    """
    found = competition(scenario, active)
    laws = {flow["law"] for flow in found.entries}
    known = resting(found) if {model(law) for law in laws} == {UTILITY} else None
    name = MAX_MIN if known is None else UTILITY
    each = maxmin(found.routes, found.available, found.weights) / found.counts if known is None else known.rates
    rates: list[float | None] = [None] * len(active)
    for number, rate in zip(found.numbers, each, strict=True):
        rates[number] = float(rate)
    return Reference(name, rates)


def resting(found: Competition) -> Equilibrium | None:
    """Returns where flows of one law rest; None if there are several, or the rest point of the law is not known.

    Nor is it known where a link has nothing left for flows that cross it, round trips are drawn, or the level from
    which a link marks does not stay where it is.
    """
    laws = {flow["law"] for flow in found.entries}
    crossed = sorted({link for route in found.routes for link in route})
    if len(laws) != 1 or not laws <= RESTS.keys() or not (found.available[crossed] > 0).all():
        return None
    try:
        return RESTS[laws.pop()](found)
    except ConvergenceError:
        return None


def _of_flows(found: Competition, name: str) -> list[float]:
    """Returns a parameter of each entry."""
    return [base(flow["params"][name]) for flow in found.entries]


def _rtts(found: Competition) -> list[float] | None:
    """Returns the base round-trip time of each entry; None if one is drawn."""
    rtts = [flow["base_rtt_s"] for flow in found.entries]
    return rtts if all(rtts) else None


def _packets(found: Competition) -> Floats:
    return np.array([8.0 * flow["packet_bytes"] for flow in found.entries])


def _kept(found: Competition) -> Floats:
    """Returns what share of the packets of each entry wires deliver."""
    return np.array([np.prod([1 - found.links[link]["loss"] for link in route]) for route in found.routes])


def _jetmax(found: Competition) -> Equilibrium:
    """A router counts what the wires before it deliver."""
    survival = np.ones((len(found.routes), len(found.links)))
    for entry, route in enumerate(found.routes):
        passed = 1.0
        for link in route:
            survival[entry, link] = passed
            passed *= 1 - found.links[link]["loss"]
    return equilibrium.jetmax(found.routes, found.available, counts=found.counts, survival=survival)


def _rcp(found: Competition) -> Equilibrium:
    return equilibrium.rcp(found.routes, found.available, counts=found.counts)


def _maxnet(found: Competition) -> Equilibrium | None:
    scales = _of_flows(found, "t")
    if len(set(scales)) > 1:
        return None
    capacities = np.array([link["capacity_bps"] for link in found.links])
    # Links that nobody crosses may have nothing left.
    aims = np.where(found.available > 0, found.available, capacities) / capacities
    return equilibrium.maxnet(
        found.routes, capacities, counts=found.counts, mu=aims, x_max=_of_flows(found, "x_max"), scale=scales[0]
    )


def _xcp(found: Competition) -> Equilibrium:
    """Links count flows, of which there is a whole number."""
    gains = found.entries[0]["params"]
    counts = np.maximum(found.counts.round(), 1.0)
    return equilibrium.xcp(
        found.routes, found.available, counts=counts, alpha=base(gains["alpha"]), gamma=base(gains["gamma"])
    )


def _emkc(found: Competition) -> Equilibrium:
    ratio = np.divide(_of_flows(found, "alpha"), _of_flows(found, "beta"))
    return equilibrium.emkc(found.routes, found.available, alpha_over_beta=ratio, counts=found.counts, thinned=True)


def _emkc_avq(found: Competition) -> Equilibrium:
    ratio = np.divide(_of_flows(found, "alpha"), _of_flows(found, "beta"))
    targets = np.where(found.available > 0, found.available, 1.0)  # of links that nobody crosses
    return equilibrium.emkc_avq(found.routes, targets, alpha_over_beta=ratio, counts=found.counts)


def _kelly(found: Competition) -> Equilibrium:
    return equilibrium.kelly(found.routes, found.available, omega=_of_flows(found, "omega"), counts=found.counts)


def _reno(found: Competition) -> Equilibrium | None:
    """The round trip is the base one: queueing delays are left out."""
    rtts = _rtts(found)
    if rtts is None:
        return None
    lost = 1 - _kept(found)
    return equilibrium.reno(
        found.routes, found.available, rtts=rtts, packets=_packets(found), lost=lost, counts=found.counts
    )


def _fast(found: Competition) -> Equilibrium:
    backlogs = _packets(found) * _of_flows(found, "alpha")
    return equilibrium.fast(found.routes, found.available, backlogs=backlogs, counts=found.counts)


def _vegas(found: Competition) -> Equilibrium:
    """Vegas rests anywhere between its two thresholds; the middle stands for all."""
    middle = np.add(_of_flows(found, "alpha"), _of_flows(found, "beta")) / 2
    return equilibrium.fast(found.routes, found.available, backlogs=_packets(found) * middle, counts=found.counts)


def _kunniyur_srikant(found: Competition) -> Equilibrium | None:
    """Rest point of eq. 3, 26 and 42: `(w/beta_r) U'(x) = beta (1 - a + a sum p)`, where wires deliver the share `a`.

    The equations count packets per time unit. With a constant `d'` in place of the delay `d`, the weight is
    `(d'/d)^(nu + 1)` times as large.
    """
    params = [flow["params"] for flow in found.entries]
    marks = {own["signal"] != "loss" for own in params}
    levels = found.available * [_marking_level(link) if True in marks else 1.0 for link in found.links]
    crossed = sorted({link for route in found.routes for link in route})
    exponents = np.array([base(own["nu"]) if own["utility"] == "power" else 0.0 for own in params])
    units, delays = np.array(_of_flows(found, "time_unit")), np.array(_of_flows(found, "delay"))
    blind = (delays > 0) & [own["control"] != "rate" for own in params]
    rtts = [flow["base_rtt_s"] or np.nan for flow in found.entries]
    if not (levels[crossed] > 0).all() or np.isnan(rtts)[blind].any():
        return None
    seen = np.where(blind, delays * units / rtts, 1.0)
    kept = _kept(found)
    weights = np.divide(_of_flows(found, "weight"), _of_flows(found, "beta"))
    weights = weights * (seen * _packets(found) / units) ** (exponents + 1) / kept
    costs = np.where([own["signal"] == "mark" for own in params], 0.0, (1 - kept) / kept)
    return equilibrium.ks(
        found.routes,
        levels,
        weights=weights,
        exponents=exponents,
        costs=costs,
        counts=found.counts,
        capacities=found.available,
    )


def _marking_level(link: Link) -> float:
    """Returns the load at which a link begins to mark, over its capacity; 0 if it does not stay where it is."""
    own = link["queue"].get("virtual_queue")
    if own is None:
        return 1.0
    return base(own["level"]) if own["adapt"] == "off" else 0.0


#: By law, where its flows rest.
RESTS: dict[str, Callable[[Competition], Equilibrium | None]] = {
    "jetmax": _jetmax,
    "rcp": _rcp,
    "maxnet": _maxnet,
    "xcp": _xcp,
    "emkc": _emkc,
    "emkc_avq": _emkc_avq,
    "kelly": _kelly,
    "ks": _kunniyur_srikant,
    "reno": _reno,
    "tfrc": _reno,
    "vegas": _vegas,
    "fast": _fast,
}


@explained
def model(law: str) -> str:
    """What theory knows of where a law comes to rest: `MAX_MIN`, `UTILITY` or "none"."""
    if law in MAX_MIN_LAWS:
        return MAX_MIN
    return UTILITY if law in RESTS else "none"
