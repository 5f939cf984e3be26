"""Laws whose routers signal a rate that grows with the spare capacity and shrinks with the queue: RCP and XCP."""

from __future__ import annotations

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.stability.equations import Past, integrate
from levelflow.theory.stability.loops import Loop
from levelflow.theory.verdict import FACTORS, NEAR, Port, Verdict, margin_of, times_larger

#: Duration and step of a run of the fluid model, in mean round trips.
ROUND_TRIPS, STEP = 120.0, 0.025
#: Limit on the groups of similar round trips in a run.
GROUPS = 8
#: Initial rate of XCP's flows, one packet per round trip, as a fraction of the capacity.
FIRST = 0.01
#: Largest swing of a settled run in its last tenth, relative to the load.
SWING = 0.01


def verdicts(ports: list[Port], *, relative: bool) -> list[Verdict]:
    """Returns verdicts on rates that grow by `alpha` times spare capacity and shrink by `beta` times the queue.

    Both gains are per mean round trip. Near the equilibrium, the loop is `(alpha s + beta)/s^2 sum_i w_i e^(-s d_i)` in
    units of the mean round trip (Dukkipati et al. 2005, eq 9). The linear loop permits negative queues. A law with an
    unstable linear loop may still settle, because the queue cannot fall below 0. A simulation of the fluid model
    therefore decides. If `relative`, a rate changes in proportion to itself (RCP), otherwise in proportion to the
    capacity (XCP).
    """
    gains = np.array(
        [
            (port.of_router("alpha"), port.of_router("beta"), port.of_router("initial") if relative else FIRST)
            for port in ports
        ]
    )
    lags, weights = np.ones((2, GROUPS, len(ports)))
    weights[:] = 0.0
    for number, port in enumerate(ports):
        mean = port.mean_delay
        lag, weight = _groups(port.delays / mean, port.weights)
        wait = min(port.of_router("interval") / mean, 1.0) if relative else 0.0
        lags[: lag.size, number] = np.maximum(lag + round(wait / STEP) * STEP, STEP)
        weights[: lag.size, number] = weight
    settled, times = _settled(gains, lags, weights, relative=relative)
    return [
        _explicit_verdict(port, settled[number], times[number], lags[:, number], weights[:, number])
        for number, port in enumerate(ports)
    ]


def _explicit_verdict(port: Port, settled: Bools, time: float, lags: Floats, weights: Floats) -> Verdict:
    alpha, beta, margin, stable = port.of_router("alpha"), port.of_router("beta"), margin_of(settled), bool(settled[-1])
    loops = [
        Loop.rational([alpha, beta], [1, 0, 0], delay=lag, gain=weight)
        for lag, weight in zip(lags, weights, strict=True)
        if weight
    ]
    linear = sum(loops[1:], start=loops[0]).stable
    why = "its linear loop is stable, too" if linear else "its linear loop is unstable, but a queue cannot fall below 0"
    return Verdict(
        stable,
        margin,
        float(time * port.mean_delay) if stable else None,
        f"alpha = {alpha:g}, beta = {beta:g}: a run of the fluid model {'settles' if stable else 'never settles'}"
        + (f"; {why}" if stable else "")
        + " (Dukkipati et al. 2005, section IV)",
        times_larger("alpha and beta", margin) if stable else "",
    )


def _groups(lags: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Returns lags (in whole steps) and weights of at most `GROUPS` groups of equal or adjacent lags."""
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
    """Simulates several ports with several factors of the gains. Capacities and mean round trips are 1.

    Args:
        gains: `alpha`, `beta` and the initial rate, by port.
        lags: lag of each group of flows, by port.
        weights: fraction of the load in each group of flows, by port.
        relative: True if a rate changes in proportion to itself, False if in proportion to the capacity.

    Returns:
        True per port and factor if the port settles, and the settling time of each port with the original gains.
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
