"""Whether the flows that fill one link stay at rest, and how far from that the law's gain is.

A network of laws that follow the tightest link of a path is stable if each of its bottlenecks is, with the flows that
rest there (Zhang 2008, theorem 14), so this is asked link by link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from levelflow.theory.laws import emkc_avq
from levelflow.theory.stability.equations import integrate
from levelflow.theory.stability.loops import Loop
from levelflow.theory.units import base
from levelflow.theory.validate import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from levelflow.theory.arrays import Bools, Floats
    from levelflow.theory.stability.equations import Past

#: Factors of the gains that are tried where only a run tells.
FACTORS = np.geomspace(0.25, 4, 80)
#: Such a run: how long, and its step, in mean round trips.
ROUND_TRIPS, STEP = 120.0, 0.025
#: Flows are put into so many groups of similar round trips for it.
GROUPS = 8
#: Rate of a first packet per round trip, as a share of the capacity.
FIRST = 0.01
#: It has settled if it swings by less than this part of what it carries in the last tenth.
SWING = 0.01
#: Distance from rest that counts as arrived.
NEAR = 0.02


@dataclass(frozen=True)
class Port:
    """A link and the flows that rest there.

    Attributes:
        rates: of each of these flows at rest, bit/s.
        delays: their round-trip times without queues, s.
        parameters: of the law, as texts with units.
        counts: how many flows there are of each; one by default.
        hops: how many links each crosses, up to the first that loses what does not fit: those behind it see no change;
            one by default.
    """

    rates: Floats
    delays: Floats
    parameters: dict[str, str]
    counts: Floats | None = None
    hops: Floats | None = None

    def __getitem__(self, name: str) -> float:
        """A parameter in base units."""
        return base(self.parameters[name])

    @property
    def weights(self) -> Floats:
        """The share that flows of each kind have of what all send."""
        total = self.rates * (1.0 if self.counts is None else self.counts)
        shares: Floats = total / total.sum()
        return shares

    @property
    def mean_delay(self) -> float:
        """Round-trip time of the mean packet, s."""
        return float(self.weights @ self.delays)


@dataclass(frozen=True)
class Verdict:
    """What is known of the stability of one port.

    Attributes:
        stable: None where nothing is known.
        margin: the factor by which the loop's gain may rise (above 1) or must fall (below 1) until this changes.
        time: how long a small disturbance takes to shrink to 2 %, s; None if it does not, or nobody knows.
        why: what proves it.
        breaks: what would make it unstable.
    """

    stable: bool | None
    margin: float | None = None
    time: float | None = None
    why: str = ""
    breaks: str = ""


@explained
def verdicts(law: str, ports: list[Port]) -> list[Verdict]:
    """Returns what theory says of a law at each of some ports."""
    if law in TOGETHER:
        return TOGETHER[law](ports)
    if law in JUDGES:
        return [JUDGES[law](port) for port in ports]
    unknown = Verdict(None, why=f"no condition is known for {law}; `levelflow theory fluid` integrates its model")
    return [unknown] * len(ports)


def _jetmax(port: Port) -> Verdict:
    """Theorems 15 to 17: `|1 - tau| < 1` whatever the delays."""
    tau = port["tau"]
    if tau > 1 and port.parameters["propose"] == "true":
        why = (
            f"with tau = {tau:g} above 1, what all flows propose is more than the link has room for, so none is "
            "approved: they stay at their first rate"
        )
        return Verdict(False, 1 / tau, None, why)
    left = abs(1 - tau)
    steps = np.ceil(np.log(NEAR) / np.log(left)) if left else 1.0
    step = (np.ceil(port.delays.max() / port["interval"]) + 1) * port["interval"]
    most = 1 if port.parameters["propose"] == "true" else 2
    return Verdict(
        tau < most,
        most / tau,
        float(steps * step),
        f"each step leaves |1 - tau| = {left:.3g} of the distance, whatever the delays (Zhang 2008, theorems 15, 16)",
        f"tau above {most}",
    )


def _emkc(port: Port) -> Verdict:
    """Theorem 9: `0 < beta < 2` whatever the delays; differences shrink by `1 - beta p`."""
    beta = port["beta"]
    price = port["alpha"] / beta / port.rates.max()
    shrink = max(abs(1 - beta), abs(1 - beta * price))
    step = port.delays.max() + port["interval"]
    return Verdict(
        beta < 2,
        2 / beta,
        float(np.log(NEAR) / np.log(shrink) * step),
        f"0 < beta = {beta:g} < 2, whatever the delays (Zhang 2008, theorem 9)",
        "beta of 2 or more",
    )


def _emkc_avq(port: Port) -> Verdict:
    """The sum of rates by the roots of eq 130 with 61; differences by eq 66, where `beta p = alpha/x`."""
    alpha, beta, interval, delay = port["alpha"], port["beta"], port["interval"], port.delays.max()
    steps = int(1 + np.ceil(round(delay / interval, 6)))
    gain = port["tau"] * interval / delay
    radii = [emkc_avq.radius(beta, gain * factor, steps) for factor in [*FACTORS, 1.0]]
    share = float(port.rates.min())
    equal = emkc_avq.differences(share, alpha).holds
    slowest = max(radii[-1] ** steps, abs(1 - alpha / port.rates.max()))
    stable = radii[-1] < 1 and equal
    why = f"the largest root of the sum of rates is {radii[-1]:.4g}, and fair shares are "
    return Verdict(
        stable,
        _margin(np.array(radii) < 1) if equal else 2 * share / alpha,
        float(np.log(NEAR) / np.log(slowest) * (delay + interval)) if stable else None,
        why + f"{'above' if equal else 'not above'} alpha/2 (Zhang 2008, eq 61, 66, 130)",
        f"{_times('tau', _margin(np.array(radii) < 1))}, or shares below alpha/2" if stable else "",
    )


def _rcp(ports: list[Port]) -> list[Verdict]:
    return _explicit(ports, relative=True)


def _xcp(ports: list[Port]) -> list[Verdict]:
    """As RCP, and flows become equal as `gamma` of the traffic is shuffled in each round trip."""
    verdicts = []
    for port, found in zip(ports, _explicit(ports, relative=False), strict=True):
        shuffled = -np.log(NEAR) / port["gamma"] * port.mean_delay if port["gamma"] else np.inf
        verdicts.append(replace(found, time=None if found.time is None else max(found.time, shuffled)))
    return verdicts


def _explicit(ports: list[Port], *, relative: bool) -> list[Verdict]:
    """A rate that grows by `alpha` of what is spare and shrinks by `beta` of the queue, both per mean round trip.

    Near rest the loop is `(alpha s + beta)/s^2 sum_i w_i e^(-s d_i)` in units of the mean round trip (Dukkipati et al.
    2005, eq 9). But a queue ends at 0, and a law that is unstable where there is one may rest without: a run decides.
    A rate changes by a part of itself (RCP) or, if not `relative`, of the capacity (XCP).
    """
    gains = np.array([(port["alpha"], port["beta"], port["initial"] if relative else FIRST) for port in ports])
    lags, weights = np.ones((2, GROUPS, len(ports)))
    weights[:] = 0.0
    for number, port in enumerate(ports):
        mean = port.mean_delay
        lag, weight = _groups(port.delays / mean, port.weights)
        wait = min(port["interval"] / mean, 1.0) if relative else 0.0
        lags[: lag.size, number] = np.maximum(lag + round(wait / STEP) * STEP, STEP)
        weights[: lag.size, number] = weight
    settled, times = _settled(gains, lags, weights, relative=relative)
    return [
        _explicit_verdict(port, settled[number], times[number], lags[:, number], weights[:, number])
        for number, port in enumerate(ports)
    ]


def _explicit_verdict(port: Port, settled: Bools, time: float, lags: Floats, weights: Floats) -> Verdict:
    alpha, beta, margin, stable = port["alpha"], port["beta"], _margin(settled), bool(settled[-1])
    loops = [
        Loop.rational([alpha, beta], [1, 0, 0], delay=lag, gain=weight)
        for lag, weight in zip(lags, weights, strict=True)
        if weight
    ]
    linear = sum(loops[1:], start=loops[0]).stable
    why = "so is the loop near it" if linear else "the loop near it is unstable, but a queue ends at 0"
    return Verdict(
        stable,
        margin,
        float(time * port.mean_delay) if stable else None,
        f"alpha = {alpha:g}, beta = {beta:g}: a run of the fluid {'comes to' if stable else 'never comes to'} rest"
        + (f"; {why}" if stable else "")
        + " (Dukkipati et al. 2005, section IV)",
        _times("alpha and beta", margin) if stable else "",
    )


def _groups(lags: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Returns lags, in whole steps, and weights of at most `GROUPS` groups of equal or else neighbouring lags."""
    distinct, member = np.unique(lags, return_inverse=True)
    if distinct.size > GROUPS:
        order = np.argsort(lags, kind="stable")
        before = weights[order].cumsum() - weights[order]
        member = np.empty(lags.size, dtype=np.int64)
        member[order] = np.unique((GROUPS * before / weights.sum()).astype(np.int64), return_inverse=True)[1]
    weight = np.bincount(member, weights=weights)
    lag = np.bincount(member, weights=weights * lags) / weight
    return np.round(lag / STEP) * STEP, weight.astype(np.float64)


def _settled(gains: Floats, lags: Floats, weights: Floats, *, relative: bool) -> tuple[Bools, Floats]:
    """Runs the fluid of several ports with several factors of the gains; capacities and mean round trips are 1.

    Args:
        gains: `alpha`, `beta` and the first rate, by port.
        lags: of each kind of flow, by port.
        weights: its share of the load, by port.
        relative: whether a rate changes by a part of itself, or of the capacity.

    Returns:
        Per port and factor, whether it comes to rest; and per port when it does with the gains as they are.
    """
    factor = np.append(FACTORS, 1.0)
    alpha, beta, first = gains.T[:, :, None]

    def change(_t: float, state: Floats, past: Past) -> Floats:
        load = np.einsum("gp,gpf->pf", weights, past(lags[:, :, None], 0))
        queue = state[..., 1]
        drift = factor * (alpha * (1 - load) - beta * queue / (1 + queue)) / (1 + queue)
        return np.stack([state[..., 0] * drift if relative else drift, load - 1], axis=-1)

    start = np.stack(np.broadcast_arrays(first, np.zeros(factor.size)), axis=-1)
    run = integrate(change, start, ROUND_TRIPS, step=STEP, longest=lags.max(), bounds=([0.0, 0.0], [np.inf, np.inf]))
    rate = run.states[..., 0]
    with np.errstate(invalid="ignore"):
        settled = np.ptp(rate[-run.times.size // 10 :], axis=0) < SWING
    away = np.abs(rate[:, :, -1] - 1) > NEAR
    last = run.times.size - 1 - np.argmax(away[::-1], axis=0)
    return settled, np.where(away.any(axis=0), run.times[last], 0.0)


def _margin(settled: Bools) -> float:
    """Returns the factor, between two that were tried, at which what holds for 1 (the last) no longer does."""
    now = bool(settled[-1])
    at = int(np.searchsorted(FACTORS, 1.0))
    factors, settles = np.insert(FACTORS, at, 1.0), np.insert(settled[:-1], at, now)
    others = np.flatnonzero(settles != now)
    beyond = others[others > at] if now else others[others < at]
    if not beyond.size:
        return np.inf if now else 0.0
    edge = int(beyond[0]) - 1 if now else int(beyond[-1])
    return float(np.sqrt(factors[edge] * factors[edge + 1]))


def _times(what: str, margin: float) -> str:
    if np.isfinite(margin):
        return f"{what} {margin:.2g} times as large"
    return f"nothing that was tried, up to {what} {FACTORS[-1]:g} times as large"


def _maxnet(port: Port) -> Verdict:
    """The loop `sum_i w_i F(s, tau_i)` (Andrew et al., eq 13), by the crossings of its Nyquist curve left of -1.

    Receivers average prices over one round-trip time (section VI), which eq 13 leaves out: `1/(1 + s tau)`.
    """
    alpha, eta, scale = port["alpha"], port["eta"], port["t"]
    delay, member = np.unique(port.delays, return_inverse=True)
    weight = np.bincount(member, weights=port.weights)
    s = 1j * np.geomspace(1e-4, 1e2, 6000)[:, None] / delay.max()
    turn = s * delay

    def encircled(gain: float) -> bool:
        pole = eta * gain * scale / delay
        curve = (weight * gain * np.exp(-turn) / turn * (turn + eta) / (turn + pole) / (1 + turn)).sum(axis=1)
        up = np.diff(np.sign(curve.imag)) / 2
        return bool((up * (curve.real[1:] < -1)).sum() != 0)

    settles = [not encircled(alpha * factor) for factor in [*FACTORS, 1.0]]
    margin = _margin(np.array(settles))
    slowest = (delay**2 / (alpha * eta * scale)).max() if eta else np.inf
    return Verdict(
        settles[-1],
        margin,
        float(-np.log(NEAR) * (delay.max() / alpha + slowest)) if settles[-1] and np.isfinite(slowest) else None,
        f"alpha = {alpha:g}, eta = {eta:g}: the Nyquist curve {'does not go' if settles[-1] else 'goes'} around -1 "
        "(Andrew et al., eq 13, with the receivers' average of prices)",
        _times("alpha", margin) if settles[-1] else "",
    )


def _kelly(port: Port) -> Verdict:
    """`z^D - z^(D-1) + kappa sum_i w_i M_i z^(D - D_i)` has its roots inside the unit circle (Zhang 2008, eq 3).

    With the price `(y - C)/y`, each of `M_i` links adds `p + y p' = 1` to the left of eq 3, full or not.
    """
    kappa = port["kappa"]
    steps = 1 + np.ceil(np.round(port.delays / port["interval"], 6)).astype(int)
    longest = int(steps.max())
    hops = 1.0 if port.hops is None else port.hops

    def radius(gain: float) -> float:
        closed = np.zeros(longest + 1)
        closed[:2] = 1.0, -1.0
        np.add.at(closed, steps, gain * port.weights * hops)
        return float(np.abs(np.roots(closed)).max())

    here = radius(kappa)
    margin = _margin(np.array([radius(kappa * factor) < 1 for factor in [*FACTORS, 1.0]]))
    return Verdict(
        here < 1,
        margin,
        float(np.log(NEAR) / np.log(here) * port["interval"]) if here < 1 else None,
        f"kappa = {kappa:g}, {steps.min()} to {longest} steps of delay: the largest root is {here:.4g} "
        "(Zhang 2008, eq 3)",
        _times("kappa", margin) + ", or longer delays" if here < 1 else "",
    )


#: Laws whose ports are run side by side.
TOGETHER: dict[str, Callable[[list[Port]], list[Verdict]]] = {"rcp": _rcp, "xcp": _xcp}
JUDGES: dict[str, Callable[[Port], Verdict]] = {
    "jetmax": _jetmax,
    "emkc": _emkc,
    "emkc_avq": _emkc_avq,
    "maxnet": _maxnet,
    "kelly": _kelly,
}
