"""For which two parameters a law is stable on one link: curves and tables of each law that has such a region."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.theory.laws import emkc_avq, rcp, xcp
from levelflow.theory.laws.shared.maxnet_stability import Compensator, boundary, link_loop
from levelflow.theory.stability.delays import critical_gain
from levelflow.theory.validate import explained, read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.theory.arrays import Floats

#: Points of a curve, and parameters of the rows of tables.
POINTS = 300
BETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.55)
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
ETAS = (0.01, 0.06, 0.25, 0.5, 0.75, 1.0)
GAINS = (0.1, 0.25, 0.5, 1.0, 1.5, 1.9)
#: Largest gain of MaxNet, and the largest eta that is shown.
MOST_ALPHA, MOST_ETA = math.pi / 2, 2.0


class Region(NamedTuple):
    """Where a law is stable.

    Attributes:
        labels: of the two parameters.
        curves: boundaries, by what they are.
        head: what the columns of the table are.
        rows: of the table.
        note: how to read it.
    """

    labels: tuple[str, str]
    curves: dict[str, tuple[Floats, Floats]]
    head: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    note: str


@explained
def kelly(delays: Sequence[int] = (1, 2, 3, 5, 10, 30)) -> Region:
    """Returns up to which gain Kelly control is stable if all delays are equal, by delay (Zhang 2008, eq 3).

    Raises:
        ParameterError: if a delay is not a whole number of at least 1.

    >>> [round(x, 3) for x in kelly([2, 3]).rows[1]]
    [3.0, 0.618, 0.524]
    """
    rows = tuple((float(delay), critical_gain(delay), math.pi / (2 * delay)) for delay in delays)
    columns = np.array(rows).T
    curves = {"2 sin(pi / (2 (2D - 1)))": (columns[0], columns[1])}
    head = ("delay D", "gain up to", "in continuous time")
    return Region(("delay D (steps)", "gain"), curves, head, rows, "Stable below the curve.")


def rcp_region() -> Region:
    """Returns the gains for which RCP is linearly stable: exactly, and with Padé's delay of order 2 (001, fig 4).

    >>> [round(x, 3) for x in rcp_region().rows[2]]
    [0.3, 0.343, 1.406, 0.343, 1.416]
    """
    rows = tuple((beta, *_ends(beta, pade=False), *_ends(beta, pade=True)) for beta in BETAS)
    head = ("beta", "alpha from", "to", "Padé: from", "to")
    note = f"Stable below the curve. No alpha is for beta above {rcp.beta_limit():.4f}."
    return Region(("alpha", "beta"), _rcp_curves(), head, rows, note)


def xcp_region() -> Region:
    """Returns the same for XCP, whose loop is RCP's, with the gains that its theorem 1 proves (Katabi et al. 2002).

    The margin is the factor by which the loop's gain may rise.

    >>> [round(x, 3) for x in xcp_region().rows[-2]]
    [0.4, 0.226, 2.428, 12.589]
    """
    proven = np.linspace(1e-3, xcp.ALPHA_LIMIT, POINTS)
    curves = _rcp_curves() | {"beta = sqrt(2) alpha² (theorem 1)": (proven, xcp.balanced(proven))}
    rows = []
    for alpha in SHARES:
        beta = float(xcp.balanced(alpha))
        margins = xcp.aggregate_loop(alpha, beta).margins
        rows.append((alpha, beta, margins.gain, math.degrees(margins.phase)))
    head = ("alpha", "beta", "gain margin", "phase margin (degrees)")
    note = f"Stable below the curves. Theorem 1 takes alpha below pi / (4 sqrt(2)) = {xcp.ALPHA_LIMIT:.4f}."
    return Region(("alpha", "beta"), curves, head, tuple(rows), note)


@explained
def maxnet(scale: float = 0.4, delay: float = 1.0, share: float = 0.9) -> Region:
    """Returns the gains for which a MaxNet link is stable whose flows have one round trip, with T constant.

    Receivers average prices over a round trip, which the paper's loop (13) leaves out; the second curve has it.

    Args:
        scale: T, s.
        delay: round trip, s.
        share: of the capacity that flows take, `mu`.

    Raises:
        ParameterError: if a number is not above 0.

    >>> [round(x, 2) for x in maxnet(delay=1.0).rows[-3]]
    [0.5, 0.0, 1.56, 0.0, 0.44]
    """
    read_number("share", share)
    ratio = read_number("scale", scale) / read_number("delay", delay)
    phi = np.linspace(0, math.pi, 20 * POINTS)[1:-1]
    both = {False: "as in the paper (13)", True: "with prices averaged over a round trip"}
    found = {averaged: boundary(phi, ratio, share, averaged=averaged) for averaged in both}
    curves = {both[averaged]: _shown(*curve) for averaged, curve in found.items()}

    def ends(eta: float, *, averaged: bool) -> tuple[float, float]:
        """Returns the lowest stable range of alpha: between crossings of the curve, one loop tells for all."""
        alpha, etas = found[averaged]
        at = np.flatnonzero(np.diff(etas > eta) & (alpha[:-1] > 0) & (np.abs(np.diff(etas)) < MOST_ETA))
        edges = [0.0, *sorted(alpha[k] for k in at if alpha[k] < MOST_ALPHA), MOST_ALPHA]
        for low, high in pairwise(edges):
            middle = (low + high) / 2
            if link_loop([1.0], [share], Compensator(eta, middle * ratio), middle, averaged=averaged).stable:
                return float(low), float(high)
        return math.nan, math.nan

    rows = tuple((eta, *ends(eta, averaged=False), *ends(eta, averaged=True)) for eta in ETAS)
    note = f"Stable below the curves. Alpha is at most pi/2 = {MOST_ALPHA:.4f}. T / tau = {ratio:g}, share {share:g}."
    return Region(("alpha", "eta"), curves, ("eta", "alpha from", "to", "averaged: from", "to"), rows, note)


@explained
def avq(delays: Sequence[int] = (2, 5, 10)) -> Region:
    """Returns up to which gain of the virtual capacity EMKC-AVQ is stable, by `beta`, for delays in steps (eq 130).

    Raises:
        ParameterError: if a delay is not a whole number of at least 1.

    >>> [round(x, 3) for x in avq().rows[2]]
    [0.5, 1.5, 0.432, 0.197]
    """
    betas = np.linspace(0.02, 1.98, 50)
    curves = {f"D = {d} steps": (betas, np.array([emkc_avq.largest_gain(beta, d) for beta in betas])) for d in delays}
    rows = tuple((beta, *(emkc_avq.largest_gain(beta, d) for d in delays)) for beta in GAINS)
    head = ("beta", *(f"D = {d}: gain up to" for d in delays))
    return Region(("beta", "gain tau Delta / D_max"), curves, head, rows, "Stable below the curves, for beta below 2.")


def _ends(beta: float, *, pade: bool) -> tuple[float, float]:
    return rcp.alpha_range(beta, pade=pade) or (math.nan, math.nan)


def _rcp_curves() -> dict[str, tuple[Floats, Floats]]:
    exact = np.linspace(1e-3, np.pi / 2, POINTS)
    near = np.linspace(1e-3, rcp.right_angle(pade=True), POINTS)
    return {"exact: (x sin x, x² cos x)": rcp.boundary(exact), "Padé of order 2/2": rcp.boundary(near, pade=True)}


def _shown(alpha: Floats, eta: Floats) -> tuple[Floats, Floats]:
    """Leaves gaps in a curve where it is outside of what is allowed."""
    inside = (alpha > 0) & (alpha <= MOST_ALPHA) & (eta > 0) & (eta <= MOST_ETA)
    return np.where(inside, alpha, np.nan), np.where(inside, eta, np.nan)
