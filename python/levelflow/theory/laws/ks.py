"""Users who climb a utility and pay `beta` for each packet that is lost or marked (Kunniyur and Srikant 2003).

User `r` has the utility `log x` (`nu = 0`) or `-1/x^nu` of its rate `x`. Of its packets, links lose or mark the sum of
their shares `p` (`theory.queues.marking`), and wires deliver the part `alpha`: `x - z` of them come back as nacks.

    x' = kappa (s w/beta_r - beta x^nu (x - z))                           rates, eq 9-10; s = nu, or 1 for log x
    W += kappa s w d^2/(beta_r W) per ack, kappa beta d (W/d)^nu less per nack         windows, eq 12-13
    W += kappa s w/(beta_r W)     per ack, kappa beta W^nu         less per nack       blind to the delay, eq 20-21

A nack is an ack, too. In the unit of time that one chooses, rates are packets per unit and delays are numbers of units.
In equilibrium `(w/beta_r) U'(x) = beta (x - z)/x` for all three (eq 4), blind ones with the weight over `d^(nu+1)`.

TCP is a window of `nu = 1`, `kappa = 1`, and `w/beta_r = 1/d^2` (or 1, and blind), with `beta` 0.5, or `ln 2` since
several losses halve several times (section III-A).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Numbers
from levelflow.theory.competition import Competition, Link, delivered_shares, of_flows, packet_sizes
from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.equilibrium import Equilibrium, RoutedFlows
from levelflow.theory.networks.routes import Routes, read_capacities
from levelflow.theory.networks.utility import Optimum, optimum
from levelflow.theory.record import UTILITY, Theory
from levelflow.theory.units import base
from levelflow.theory.validate import explained, not_negative, positive, read_each, read_number, share

#: What TCP pays for a loss: halving once in a while, or as often as there are losses (eq 14, 16).
TCP_BETA = 0.5
TCP_BETA_HALVING = float(np.log(2))


@dataclass(frozen=True)
class Users:
    """What users want and what becomes of their packets: numbers for all, or arrays whose last axis is that of users.

    Attributes:
        weights: `w/beta_r`, above 0.
        exponents: `nu`, from 0 on.
        delays: `d`, round-trip times in units of time, above 0.
        kept: `alpha`, the part of the packets that is not lost at random, above 0 and at most 1.
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
        """`s`, so that `U'(x) = s x^-(nu+1)`."""
        return np.where(self.exponents > 0, self.exponents, 1.0)

    def felt_weights(self, blind: bool) -> Floats:
        """Weights of the rates in equilibrium: over `d^(nu+1)` if windows ignore the delay (remark 3)."""
        return np.asarray(self.weights / self.delays ** (self.exponents + 1) if blind else self.weights)


@explained
def tcp_users(delays: Numbers, kept: Numbers = 1.0) -> Users:
    """Returns TCP's users: `-1/(d^2 x)`, as eq 14 is eq 13 with `nu = 1`, `kappa = 1` and `w/beta_r = 1/d^2`."""
    positive(delay=delays)
    return Users(weights=np.asarray(delays, dtype=np.float64) ** -2, exponents=1.0, delays=delays, kept=kept)


# --- equations of motion, elementwise ---


@explained
def nack_rate(users: Users, rates: Numbers, shares: Numbers, *, marks: bool = False) -> Floats:
    """Returns `x - z`, the rate of nacks.

    Args:
        users: who sends.
        rates: `x`, in packets per unit of time.
        shares: sum of what the links of each route lose or mark; losses on several links are taken to be independent of
            each other (eq 2), so that the sum may exceed 1.
        marks: whether nacks are the marks that arrive, `alpha x` of the share, while losses count for nothing (eq
            40-41); otherwise they are all that was lost, `1 - alpha + alpha share` of `x`.
    """
    by_links = users.kept * np.asarray(shares)
    return np.asarray(rates * (by_links if marks else 1 - users.kept + by_links))


@explained
def rate_change(
    users: Users, beta: float, rates: Numbers, nacks: Numbers, *, blind: bool = False, acks: Numbers | None = None
) -> Floats:
    """Returns `x'` of eq 9-10, or of windows in terms of rates.

    Args:
        users: who sends.
        beta: what a nack costs.
        rates: `x`, in packets per unit of time.
        nacks: `x - z`, as long ago as they take to come.
        blind: whether constants ignore the delay (eq 24-25).
        acks: rate at which windows are answered; that at which they send by default. Rates of eq 9-10 grow with time
            and not with answers.

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
    """Returns by how much windows change for so many acks, of which so many are nacks (eq 12-13, 20-21), in packets.

    For rates of acks and nacks it returns `dW/dt` (eq 22-23).

    Args:
        users: who sends.
        beta: what a nack costs.
        windows: `W`, packets.
        acks: positive and negative ones.
        nacks: negative ones.
        blind: whether constants ignore the delay.

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
    """Returns TCP's windows after a slot in which each of several nacks halves them (eq 16).

    To first order in the nacks it takes `ln 2` of the window each: TCP's `beta` is between 0.5 and `ln 2`.
    """
    positive(window=windows)
    window = np.asarray(windows, dtype=np.float64)
    return np.asarray(acks / window + 0.5 ** np.asarray(nacks) * window)


# --- equilibrium ---


class Program(NamedTuple):
    """What `theory.networks.utility.optimum` maximises: `sum w U(x) - c x`, less what links charge.

    Attributes:
        weights: per user.
        exponents: per user.
        costs: per user.
    """

    weights: Floats
    exponents: Floats
    costs: Floats


@explained
def program(users: Users, beta: float | None, *, marks: bool = False, blind: bool = False) -> Program:
    """Returns the program whose optimum is the equilibrium of users; it tells all those of the paper.

    | eq | users |
    |---|---|
    | 3, and 5 where nothing is lost at random | rates or windows that count losses |
    | 6-8 | the same, without a `beta`: capacities are hard |
    | 15, and 17 for one user | `tcp_users`; 17 is read with the `1/alpha` that 15 has and 18 needs |
    | 26 | `blind` |
    | 42 | `marks`; capacities are the levels from which links mark |
    | 43 | `marks` and `blind` |

    Raises:
        ParameterError: if `beta` is not above 0, or missing where random losses cost something.
    """
    if beta is not None:
        positive(beta=beta)
    kept = np.asarray(users.kept)
    if beta is None and not marks and (kept < 1).any():
        raise ParameterError(f"kept {kept.tolist()} without a beta is not allowed; needs 1, or users of marks")
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

    They are the only Nash equilibrium of users each of whom weighs its utility against its losses, and the only optimum
    of `program` (proposition 1). As `beta` grows, they go to the optimum with hard capacities (corollary 1).

    Args:
        routes: per user, the indices of the links that it crosses.
        capacities: per link, where it begins to lose, or to mark.
        users: one per route.
        beta: what a nack costs; without it, capacities are hard.
        marks: see `program`.
        blind: see `program`.

    Raises:
        ParameterError: see `program`, or if there is not one user per route.
        NetworkError: if a capacity or route is not allowed.
        ConvergenceError: if the numbers differ by more than floating point can hold.

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
    """Returns the rate of a user in equilibrium whose share `nacked` of packets come back as nacks (eq 4).

    `x = (s w / (beta_r beta nacked))^(1/(nu+1))`, over `d` if it is blind. TCP's is `1/(d sqrt(beta nacked))` (eq 18).
    So a law whose throughput falls with the share of losses as `nacked^-e` has `nu = 1/e - 1` (section IV).

    >>> equilibrium_rate(tcp_users(1.0), 0.5, 0.05).round(4).item()
    6.3246
    """
    positive(beta=beta, nacked=nacked)
    wanted = users.slopes * users.felt_weights(blind) / (beta * np.asarray(nacked))
    return np.asarray(wanted ** (1 / (users.exponents + 1)))


def utility_exponent(loss_exponent: float) -> float:
    """Returns `nu` of a law whose throughput goes as `1/(d p^e)`, `e` at most 1, so that one can tell who is friendly.

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
    """Returns the share of random losses above which one TCP user no longer fills its link, `1/(beta (d C)^2)`."""
    positive(capacity=capacity, beta=beta, delay=delay)
    return np.asarray(1 / (beta * (np.asarray(delay) * np.asarray(capacity)) ** 2))


@explained
def hurley_utility(rates: Numbers) -> Floats:
    """Returns `log(x/(1+x))`, TCP's utility by Hurley, Le Boudec and Thiran: near `-1/x` (section III-A)."""
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
    """Users of Kunniyur and Srikant: `w U'(x) = c + sum p` with `p = (y - L)^+/y` (eq. 4 and 42).

    Args:
        routes: per entry, the indices of the links that it crosses.
        levels: per link, the load from which it loses or marks.
        weights: `w/(beta_r beta)`, for all flows or per route, for rates in bit/s.
        exponents: `nu`, for all flows or per route.
        costs: what a unit of rate costs besides: `(1 - alpha)/alpha` where losses at random count.
        counts: how many flows each route stands for.
        capacities: per link, where levels are those of marks; what exceeds them is lost.

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
    """Equilibrium of eq. 3, 26 and 42: `(w/beta_r) U'(x) = beta (1 - a + a sum p)`, where wires deliver the share `a`.

    The equations count packets per time unit. With a constant `d'` in place of the delay `d`, the weight is
    `(d'/d)^(nu + 1)` times as large.
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


def _marking_level(link: Link) -> float:
    """Returns the load at which a link begins to mark, over its capacity; 0 if it does not stay where it is."""
    own = link["queue"].get("virtual_queue")
    if own is None:
        return 1.0
    return base(own["level"]) if own["adapt"] == "off" else 0.0


THEORY = Theory(
    fluid="kunniyur_srikant:KunniyurSrikant", reference=UTILITY, equilibrium=equilibrium, in_scenario=_in_scenario
)
