"""MaxNet (Andrew et al., "MaxNet: theory and implementation"): links signal prices; flows react to the largest price.

The equations of MaxNet are in `shared.maxnet_model`, its linear loops in `shared.maxnet_stability`.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from levelflow.theory.arrays import Floats
from levelflow.theory.competition import Competition, of_flows
from levelflow.theory.laws.shared.maxnet_model import equilibrium
from levelflow.theory.laws.shared.maxnet_stability import Compensator, boundary, link_loop
from levelflow.theory.networks.equilibrium import Equilibrium
from levelflow.theory.record import MAX_MIN, Loops, Plane, Theory
from levelflow.theory.region import POINTS, Region
from levelflow.theory.stability.loops import Loop
from levelflow.theory.validate import explained, read_number
from levelflow.theory.verdict import FACTORS, NEAR, Port, Verdict, each_port, margin_of, times_larger

#: Values of eta in the table of the stable region, one per row.
ETAS = (0.01, 0.06, 0.25, 0.5, 0.75, 1.0)
#: Largest alpha and largest eta of the curves.
MOST_ALPHA, MOST_ETA = math.pi / 2, 2.0


def _in_scenario(found: Competition) -> Equilibrium | None:
    scales = of_flows(found, "t")
    if len(set(scales)) > 1:
        return None
    capacities = np.array([link["capacity_bps"] for link in found.links])
    # The capacity available at a link without flows may be 0. Such a link gets a target above 0.
    aims = np.where(found.available > 0, found.available, capacities) / capacities
    return equilibrium(
        found.routes, capacities, counts=found.counts, mu=aims, x_max=of_flows(found, "x_max"), scale=scales[0]
    )


def _judge(port: Port) -> Verdict:
    """Decides stability by Nyquist's criterion for the loop `sum_i w_i F(s, tau_i)` (Andrew et al., eq 13).

    Crossings of the real axis left of -1 are counted. The loop includes the factor `1/(1 + s tau)`, which eq 13 omits:
    receivers average prices over one round-trip time (section VI).
    """
    alpha, eta, scale = port.of_sender("alpha"), port.of_sender("eta"), port.of_sender("t")
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
    margin = margin_of(np.array(settles))
    slowest = (delay**2 / (alpha * eta * scale)).max() if eta else np.inf
    return Verdict(
        settles[-1],
        margin,
        float(-np.log(NEAR) * (delay.max() / alpha + slowest)) if settles[-1] and np.isfinite(slowest) else None,
        f"alpha = {alpha:g}, eta = {eta:g}: the Nyquist curve {'does not go' if settles[-1] else 'goes'} around -1 "
        "(Andrew et al., eq 13, with the receivers' average of prices)",
        times_larger("alpha", margin) if settles[-1] else "",
    )


@explained
def region(scale: float = 0.4, delay: float = 1.0, share: float = 0.9) -> Region:
    """Returns the gains for which a MaxNet link is stable if its flows have equal round trips, at constant T.

    Receivers average prices over a round trip. The paper's loop (13) omits this average. The second curve includes it.

    Args:
        scale: T, s.
        delay: round trip, s.
        share: fraction of the capacity that flows use, `mu`.

    Raises:
        ParameterError: if a number is not above 0.

    >>> [round(x, 2) for x in region(delay=1.0).rows[-3]]
    [0.5, 0.0, 1.56, 0.0, 0.44]
    """
    from scipy.optimize import brentq

    read_number("share", share)
    ratio = read_number("scale", scale) / read_number("delay", delay)
    phi = np.linspace(0, math.pi, 20 * POINTS)[1:-1]
    both = {False: "as in the paper (13)", True: "with prices averaged over a round trip"}
    found = {averaged: boundary(phi, ratio, share, averaged=averaged) for averaged in both}
    curves = {both[averaged]: _shown(*curve) for averaged, curve in found.items()}

    def crossing(k: int, eta: float, *, averaged: bool) -> float:
        """Returns alpha where the curve has this eta, between two points of the grid."""

        def at(point: float) -> tuple[float, float]:
            alpha, own = boundary(point, ratio, share, averaged=averaged)
            return float(alpha), float(own)

        return at(brentq(lambda point: at(point)[1] - eta, phi[k], phi[k + 1]))[0]

    def ends(eta: float, *, averaged: bool) -> tuple[float, float]:
        """Returns the lowest stable range of alpha. Stability changes only where alpha crosses the curve."""
        alpha, etas = found[averaged]
        cells = np.flatnonzero(np.diff(etas > eta) & (alpha[:-1] > 0) & (np.abs(np.diff(etas)) < MOST_ETA))
        crossings = [crossing(k, eta, averaged=averaged) for k in cells.tolist()]
        edges = [0.0, *sorted(alpha for alpha in crossings if alpha < MOST_ALPHA), MOST_ALPHA]
        for low, high in pairwise(edges):
            middle = (low + high) / 2
            if link_loop([1.0], [share], Compensator(eta, middle * ratio), middle, averaged=averaged).stable:
                return float(low), float(high)
        return math.nan, math.nan

    rows = tuple((eta, *ends(eta, averaged=False), *ends(eta, averaged=True)) for eta in ETAS)
    note = f"Stable below the curves. Alpha is at most pi/2 = {MOST_ALPHA:.4f}. T / tau = {ratio:g}, share {share:g}."
    return Region(
        ("alpha", "eta"), curves, ("eta", "alpha from", "alpha to", "averaged: from", "averaged: to"), rows, note
    )


def _shown(alpha: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Removes the points of a curve that are out of range, which leaves gaps."""
    inside = (alpha > 0) & (alpha <= MOST_ALPHA) & (eta > 0) & (eta <= MOST_ETA)
    return np.where(inside, alpha, np.nan), np.where(inside, eta, np.nan)


def _loop(gains: dict[str, float], delays: list[float], *, averaged: bool = False) -> Loop:
    """Returns the control loop of a link whose flows share its target equally, each with its own round-trip time."""
    compensator = Compensator(gains["eta"], read_number("alpha", gains["alpha"]) * read_number("scale", gains["scale"]))
    shares = [read_number("mu", gains["mu"], high=1.0) / len(delays)] * len(delays)
    return link_loop(delays, shares, compensator, gains["alpha"], averaged=averaged)


THEORY = Theory(
    fluid="maxnet:MaxNet",
    reference=MAX_MIN,
    equilibrium=equilibrium,
    in_scenario=_in_scenario,
    weight="x_max",  # the rate at a price is `x_max e^(-price/T)` (Andrew et al., eq. 7)
    judge=each_port(_judge),
    region=Plane(region, ("delay",)),
    nyquist=Loops({"alpha": 0.66, "eta": 0.06, "scale": 0.4, "mu": 0.9}, _loop, averages=True, delays=math.inf),
)
