"""Users that maximise a utility and pay `beta` for each lost or marked packet (Kunniyur and Srikant 2003).

User `r` has the utility `log x` (`nu = 0`) or `-1/x^nu` of its rate `x`. Links lose or mark packets of the user with
total probability `p` (`theory.queues.marking`). Wires deliver the fraction `alpha`. Lost or marked packets return as
nacks, at the rate `x - z`.

    x' = kappa (s w/beta_r - beta x^nu (x - z))                           rates, eq 9-10; s = nu, or 1 for log x
      W += kappa s w d^2/(beta_r W) per ack, kappa beta d (W/d)^nu less per nack     windows, eq 12-13
      W += kappa s w/(beta_r W)   per ack, kappa beta W^nu     less per nack     without the delay, eq 20-21

A nack is also an ACK. Rates are in packets per unit of time, and delays in units of time. The unit is arbitrary. At
equilibrium, `(w/beta_r) U'(x) = beta (x - z)/x` for all three controllers (eq 4). Windows that ignore the delay (eq
20-21) are called blind; their weight is divided by `d^(nu+1)`.

TCP is a window with `nu = 1`, `kappa = 1`, and `w/beta_r = 1/d^2` (or 1, if blind). Its `beta` is 0.5 if the window
halves once per round trip, and `ln 2` if it halves once per loss (section III-A).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.competition import Competition, delivered_shares, of_flows, packet_sizes
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes, read_capacities
from levelflow.theory.networks.utility import Optimum, optimum
from levelflow.theory.record import UTILITY, Theory
from levelflow.theory.units import base
from levelflow.theory.validate import explained, not_negative, positive, read_each, read_number, share

if TYPE_CHECKING:
    from levelflow.records import LinkRecord

#: Price of a loss for TCP: 0.5 if it halves once per round trip, `ln 2` if it halves once per loss (eq 14, 16).
TCP_BETA = 0.5
TCP_BETA_HALVING = float(np.log(2))


@dataclass(frozen=True)
class Users:
    """Utilities of users, and delivery of their packets: numbers for all users, or arrays with users on the last axis.

    Attributes:
        weights: `w/beta_r`, above 0.
        exponents: `nu`, at least 0.
        delays: `d`, round-trip times in units of time, above 0.
        kept: `alpha`, the fraction of packets that is not lost at random; above 0 and at most 1.
        gains: `kappa`, above 0.
    """

    weights: Numbers = 1.0
    exponents: Numbers = 0.0
    delays: Numbers = 1.0
    kept: Numbers = 1.0
    gains: Numbers = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            values = np.array(getattr(self, field.name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, field.name, values)
        positive(weight=self.weights, delay=self.delays, kept=self.kept, gain=self.gains)
        not_negative(exponent=self.exponents)
        share(kept=self.kept)

    @cached_property
    def slopes(self) -> Floats:
        """The factor `s` in `U'(x) = s x^-(nu+1)`."""
        return np.where(self.exponents > 0, self.exponents, 1.0)

    def felt_weights(self, blind: bool) -> Floats:
        """Returns the weights at equilibrium; divided by `d^(nu+1)` if windows ignore the delay (remark 3)."""
        return np.asarray(self.weights / self.delays ** (self.exponents + 1) if blind else self.weights)


@explained
def tcp_users(delays: Numbers, kept: Numbers = 1.0) -> Users:
    """Returns TCP users, of utility `-1/(d^2 x)`: eq 14 is eq 13 with `nu = kappa = 1` and `w/beta_r = 1/d^2`."""
    positive(delay=delays)
    return Users(weights=np.asarray(delays, dtype=np.float64) ** -2, exponents=1.0, delays=delays, kept=kept)


# --- equations of motion, elementwise ---


@explained
def nack_rate(users: Users, rates: Numbers, shares: Numbers, *, marks: bool = False) -> Floats:
    """Returns `x - z`, the rate of nacks.

    Args:
        users: the senders.
        rates: `x`, in packets per unit of time.
        shares: sum of the loss or marking rates of the links of each route. Losses on several links are assumed to be
            independent (eq 2), so the sum may exceed 1.
        marks: True if only arriving marks are nacks (eq 40-41): `alpha x` times the marking rate. Otherwise, all losses
            are nacks: the fraction `1 - alpha + alpha share` of `x`.
    """
    by_links = users.kept * np.asarray(shares)
    return np.asarray(rates * (by_links if marks else 1 - users.kept + by_links))


@explained
def rate_change(
    users: Users, beta: float, rates: Numbers, nacks: Numbers, *, blind: bool = False, acks: Numbers | None = None
) -> Floats:
    """Returns `x'`: by eq 9-10 for rates, and by the window equations converted to rates for windows.

    Args:
        users: the senders.
        beta: price of a nack.
        rates: `x`, in packets per unit of time.
        nacks: `x - z`, the rate of nacks one feedback delay ago.
        blind: True if constants ignore the delay (eq 24-25).
        acks: rate of the ACKs that windows receive; by default, the sending rate. Omit it for rates by eq 9-10, which
            grow with time and not with ACKs.

    >>> rate_change(Users(exponents=[0, 1]), 0.5, [4.0, 4.0], [0.5, 0.5]).tolist()
    [0.75, 0.0]
    """
    rate = np.asarray(rates, dtype=np.float64)
    up = users.slopes * users.felt_weights(blind)
    if acks is not None:
        up = up * (acks / rate)
    speed = users.gains * users.delays ** (users.exponents - 1) if blind else users.gains
    return np.asarray(speed * (up - beta * rate**users.exponents * nacks))


@explained
def window_change(
    users: Users, beta: Numbers, windows: Numbers, acks: Numbers, nacks: Numbers, *, blind: bool = False
) -> Floats:
    """Returns the change of windows for given numbers of ACKs and nacks (eq 12-13, 20-21), packets.

    From the rates of ACKs and nacks, the function returns `dW/dt` (eq 22-23).

    Args:
        users: the senders.
        beta: price of a nack.
        windows: `W`, packets.
        acks: number of ACKs, nacks included.
        nacks: number of nacks.
        blind: True if constants ignore the delay.

    >>> window_change(tcp_users(2.0), 0.5, [10.0, 10.0], [1, 1], [0, 1]).tolist()
    [0.1, -4.9]
    """
    positive(window=windows)
    window = np.asarray(windows, dtype=np.float64)
    d = 1.0 if blind else users.delays
    up = users.slopes * users.weights * d**2 / window * acks
    return np.asarray(users.gains * (up - beta * d * (window / d) ** users.exponents * nacks))


@explained
def halved(windows: Numbers, acks: Numbers, nacks: Numbers) -> Floats:
    """Returns TCP's windows after a slot in which each nack halves the window (eq 16).

    To first order, each nack removes `ln 2` of the window. So TCP's `beta` is between 0.5 and `ln 2`.
    """
    positive(window=windows)
    window = np.asarray(windows, dtype=np.float64)
    return np.asarray(acks / window + 0.5 ** np.asarray(nacks) * window)


# --- equilibrium ---


class Program(NamedTuple):
    """Problem for `theory.networks.utility.optimum`: maximise `sum w U(x) - c x`, minus the price of links.

    Attributes:
        weights: `w` per user.
        exponents: `nu` per user.
        costs: `c` per user.
    """

    weights: Floats
    exponents: Floats
    costs: Floats


@explained
def program(users: Users, beta: float | None, *, marks: bool = False, blind: bool = False) -> Program:
    """Returns the problem whose optimum is the equilibrium of users. It covers all problems of the paper.

    | eq | users |
    |---|---|
    | 3, and 5 where nothing is lost at random | rates or windows that count losses |
    | 6-8 | the same users, without a `beta`: capacities are hard limits |
    | 15, and 17 for one user | `tcp_users`; eq 17 is read with the factor `1/alpha`, which eq 15 has and eq 18 needs |
    | 26 | `blind` |
    | 42 | `marks`; capacities are the loads above which links mark |
    | 43 | `marks` and `blind` |

    Raises:
        ParameterError: if `beta` is not above 0, or missing although random losses have a cost.
    """
    if beta is not None:
        positive(beta=beta)
    kept = np.asarray(users.kept)
    if beta is None and not marks and (kept < 1).any():
        raise ParameterError(f"kept {kept.tolist()} is not allowed without a beta; needs 1, or marks instead of losses")
    costs = np.zeros_like(kept) if marks or beta is None else beta * (1 - kept) / kept
    return Program(users.felt_weights(blind) / kept, np.asarray(users.exponents), costs)


@explained
def best(
    routes: Routes,
    capacities: ArrayLike,
    users: Users,
    beta: float | None = None,
    *,
    marks: bool = False,
    blind: bool = False,
) -> Optimum:
    """Returns the equilibrium of users in a network, in packets per unit of time, and the prices.

    Each user balances utility and losses. The result is the only Nash equilibrium of these users, and the only optimum
    of `program` (proposition 1). As `beta` grows, the equilibrium converges to the optimum with hard capacities
    (corollary 1).

    Args:
        routes: per user, the indices of the links that it crosses.
        capacities: per link, the load above which it loses or marks packets.
        users: one per route.
        beta: price of a nack; without it, capacities are hard.
        marks: see `program`.
        blind: see `program`.

    Raises:
        ParameterError: see `program`, or if there is not one user per route.
        NetworkError: if a capacity or route is not allowed.
        ConvergenceError: if the numbers differ by more than floating point can represent.

    >>> best([[0, 1], [0], [1]], [156.25, 78.125], Users(exponents=[0.5, 0, 1])).rates.round(2).tolist()
    [16.56, 139.69, 61.57]
    """
    wanted = program(users, beta, marks=marks, blind=blind)
    try:
        weights, exponents, costs = (np.broadcast_to(values, (len(routes),)) for values in wanted)
    except ValueError:
        raise ParameterError(f"{np.broadcast(*wanted).size} users for {len(routes)} routes; needs one each") from None
    return optimum(routes, capacities, weights=weights, exponents=exponents, costs=costs, penalty=beta)


@explained
def equilibrium_rate(users: Users, beta: float, nacked: Numbers, *, blind: bool = False) -> Floats:
    """Returns the equilibrium rate of a user for which the fraction `nacked` of packets returns as nacks (eq 4).

    The rate is `x = (s w / (beta_r beta nacked))^(1/(nu+1))`, divided by `d` if blind. The rate of TCP is `1/(d
    sqrt(beta nacked))` (eq 18). A law whose throughput is proportional to `nacked^-e` has `nu = 1/e - 1` (section IV).

    >>> equilibrium_rate(tcp_users(1.0), 0.5, 0.05).round(4).item()
    6.3246
    """
    positive(beta=beta, nacked=nacked)
    wanted = users.slopes * users.felt_weights(blind) / (beta * np.asarray(nacked))
    return np.asarray(wanted ** (1 / (users.exponents + 1)))


def utility_exponent(loss_exponent: float) -> float:
    """Returns `nu` of a law with the throughput `1/(d p^e)`, `e` at most 1.

    Laws with equal `nu` are friendly to each other.

    Raises:
        ParameterError: if no utility has that exponent.

    >>> utility_exponent(0.5), utility_exponent(1.0)
    (1.0, 0.0)
    """
    return 1 / read_number("loss exponent", loss_exponent, high=1) - 1


@explained
def full_link_rate(capacity: Numbers, beta: float, delay: Numbers) -> Floats:
    """Returns the rate of one TCP user on a link without random losses, `x (x - C) = 1/(beta d^2)` (eq 19).

    >>> full_link_rate(50.0, 0.5, 1.0).round(4).item()
    50.04
    """
    positive(beta=beta, delay=delay)
    capacity = np.asarray(capacity, dtype=np.float64)
    return np.asarray((capacity + np.sqrt(capacity**2 + 4 / (beta * np.asarray(delay) ** 2))) / 2)


@explained
def harmful_loss(capacity: Numbers, beta: float, delay: Numbers) -> Floats:
    """Returns the random loss rate above which one TCP user no longer fills its link, `1/(beta (d C)^2)`."""
    positive(capacity=capacity, beta=beta, delay=delay)
    return np.asarray(1 / (beta * (np.asarray(delay) * np.asarray(capacity)) ** 2))


@explained
def hurley_utility(rates: Numbers) -> Floats:
    """Returns `log(x/(1+x))`, TCP's utility by Hurley, Le Boudec and Thiran, which is close to `-1/x` (III-A)."""
    positive(rate=rates)
    return np.asarray(-np.log1p(1 / np.asarray(rates, dtype=np.float64)))


@explained
def equilibrium(
    routes: Routes,
    levels: ArrayLike,
    *,
    weights: ArrayLike,
    exponents: ArrayLike,
    costs: ArrayLike = 0.0,
    counts: ArrayLike = 1.0,
    capacities: ArrayLike | None = None,
) -> Equilibrium:
    """Returns the equilibrium of users: `w U'(x) = c + sum p` with `p = (y - L)^+/y` (eq. 4 and 42).

    Args:
        routes: for each route, the indices of its links.
        levels: per link, the load above which it loses or marks packets.
        weights: `w/(beta_r beta)`, for all flows or per route, for rates in bit/s.
        exponents: `nu`, for all flows or per route.
        costs: additional cost per unit of rate: `(1 - alpha)/alpha` if random losses count.
        counts: number of flows that each route represents.
        capacities: per link, if `levels` are marking levels. The load above the capacity is lost.

    >>> equilibrium([[0]], [90.0], weights=2.0, exponents=0.0, counts=20).loads.round(6).tolist()
    [130.0]
    """
    found = RoutedFlows(routes, levels if capacities is None else capacities, counts)
    level = read_capacities(levels)
    weight, exponent = found.each("weight", weights), read_each("exponent", exponents, len(routes), closed=True)
    cost = read_each("cost", costs, len(routes), closed=True)
    best = optimum(
        routes, level, weights=weight * found.counts ** (1 + exponent), exponents=exponent, costs=cost, penalty=1.0
    )
    rates = best.rates / found.counts
    wanted = weight * np.where(exponent > 0, exponent, 1.0) * rates ** (-exponent - 1)
    missing = np.append(np.abs(wanted / (cost + found.total(best.prices)) - 1), best.residuals.worst)
    return found.by_price(rates, best.prices, missing)


def _in_scenario(found: Competition) -> Equilibrium | None:
    """Returns the equilibrium of eq. 3, 26 and 42: `(w/beta_r) U'(x) = beta (1 - a + a sum p)`.

    Wires deliver the fraction `a`. The equations count packets per time unit. A constant `d'` that replaces the delay
    `d` multiplies the weight by `(d'/d)^(nu + 1)`.
    """
    params = [flow["params"] for flow in found.entries]
    marks = {own["signal"] != "loss" for own in params}
    levels = found.available * [_marking_level(link) if True in marks else 1.0 for link in found.links]
    crossed = sorted({link for route in found.routes for link in route})
    exponents = np.array([base(own["nu"]) if own["utility"] == "power" else 0.0 for own in params])
    units, delays = np.array(of_flows(found, "time_unit")), np.array(of_flows(found, "delay"))
    blind = (delays > 0) & [own["control"] != "rate" for own in params]
    rtts = [flow["base_rtt_s"] or np.nan for flow in found.entries]
    if not (levels[crossed] > 0).all() or np.isnan(rtts)[blind].any():
        return None
    seen = np.where(blind, delays * units / rtts, 1.0)
    kept = delivered_shares(found)
    weights = np.divide(of_flows(found, "weight"), of_flows(found, "beta"))
    weights = weights * (seen * packet_sizes(found) / units) ** (exponents + 1) / kept
    costs = np.where([own["signal"] == "mark" for own in params], 0.0, (1 - kept) / kept)
    return equilibrium(
        found.routes,
        levels,
        weights=weights,
        exponents=exponents,
        costs=costs,
        counts=found.counts,
        capacities=found.available,
    )


def _marking_level(link: LinkRecord) -> float:
    """Returns the load at which a link begins to mark, relative to its capacity; 0 if this load varies."""
    own = link["queue"].get("virtual_queue")
    if own is None:
        return 1.0
    return base(own["level"]) if own["adapt"] == "off" else 0.0


THEORY = Theory(
    fluid="kunniyur_srikant:KunniyurSrikant", reference=UTILITY, equilibrium=equilibrium, in_scenario=_in_scenario
)
