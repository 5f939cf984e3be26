"""Stability of the flows that fill one link, and the margin of the law's gain to the stability boundary.

Some laws follow only the tightest link of a path. A network of such laws is stable if each bottleneck is stable with
the flows that it limits (Zhang 2008, theorem 14). Stability is therefore decided link by link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.units import base
from levelflow.theory.validate import explained

#: Factors by which a gain is multiplied to find its stability margin.
FACTORS = np.geomspace(0.25, 4, 80)
#: Relative distance from the equilibrium below which a rate has converged.
NEAR = 0.02


@dataclass(frozen=True)
class Port:
    """A link and the flows that it limits.

    Attributes:
        rates: equilibrium rate of each of these flows, bit/s.
        delays: round-trip time of each flow without queueing, s.
        sender: sender parameters of the law, as texts with units.
        router: router parameters of the law, as texts with units.
        counts: number of flows that each element of `rates` represents; 1 by default.
        hops: number of links that each flow crosses, up to the first link that drops its excess load. After that link,
            the load is constant. 1 by default.
    """

    rates: Floats
    delays: Floats
    sender: dict[str, str]
    router: dict[str, str]
    counts: Floats | None = None
    hops: Floats | None = None

    def of_sender(self, name: str) -> float:
        """Returns a sender parameter in base units."""
        return base(self.sender[name])

    def of_router(self, name: str) -> float:
        """Returns a router parameter in base units."""
        return base(self.router[name])

    @property
    def weights(self) -> Floats:
        """Fraction of the total rate, for the flows of each element of `rates`."""
        total = self.rates * (1.0 if self.counts is None else self.counts)
        return total / total.sum()

    @property
    def mean_delay(self) -> float:
        """Round-trip time averaged over packets, s."""
        return float(self.weights @ self.delays)


@dataclass(frozen=True)
class Verdict:
    """Stability verdict on one port.

    Attributes:
        stable: True if the port is stable; None if unknown.
        margin: factor of the loop gain at which stability changes: above 1 if the port is stable, below 1 if it is
            unstable.
        time: time in which a small disturbance shrinks to 2 %, s; None if it does not shrink, or the time is unknown.
        why: proof, as text.
        breaks: change that would make the port unstable, as text.
    """

    stable: bool | None
    margin: float | None = None
    time: float | None = None
    why: str = ""
    breaks: str = ""


def each_port(judge: Callable[[Port], Verdict]) -> Callable[[list[Port]], list[Verdict]]:
    """Returns a function that judges several ports, from a function that judges one port."""
    return lambda ports: [judge(port) for port in ports]


def margin_of(settled: Bools) -> float:
    """Returns the factor of the gain at which stability changes: the geometric mean of two adjacent tried factors.

    `settled` contains the stability for each of `FACTORS`. Its last element is the stability for factor 1.
    """
    now = bool(settled[-1])
    at = int(np.searchsorted(FACTORS, 1.0))
    factors, settles = np.insert(FACTORS, at, 1.0), np.insert(settled[:-1], at, now)
    others = np.flatnonzero(settles != now)
    beyond = others[others > at] if now else others[others < at]
    if not beyond.size:
        return np.inf if now else 0.0
    edge = int(beyond[0]) - 1 if now else int(beyond[-1])
    return float(np.sqrt(factors[edge] * factors[edge + 1]))


@explained
def times_larger(what: str, margin: float) -> str:
    """Returns the factor by which a quantity must grow to cause instability, as text."""
    if np.isfinite(margin):
        return f"{what} {margin:.2g} times as large"
    return f"nothing that was tried, up to {what} {FACTORS[-1]:g} times as large"
