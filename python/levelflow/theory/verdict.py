"""Whether the flows that fill one link keep their equilibrium, and how far the law's gain is from the boundary.

A network of laws that follow the tightest link of a path is stable if each of its bottlenecks is, with the flows that
it limits (Zhang 2008, theorem 14), so this is asked link by link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from levelflow.theory.arrays import Bools, Floats
from levelflow.theory.units import base
from levelflow.theory.validate import explained

#: Factors of the gains that are tried where only a run tells.
FACTORS = np.geomspace(0.25, 4, 80)
#: Distance from the equilibrium that counts as arrived.
NEAR = 0.02


@dataclass(frozen=True)
class Port:
    """A link and the flows that it limits.

    Attributes:
        rates: of each of these flows in equilibrium, bit/s.
        delays: their round-trip times without queues, s.
        sender: parameters of the law in force at the senders, as texts with units.
        router: those in force at the router.
        counts: how many flows there are of each; one by default.
        hops: how many links each crosses, up to the first that loses what does not fit: those behind it see no change;
            one by default.
    """

    rates: Floats
    delays: Floats
    sender: dict[str, str]
    router: dict[str, str]
    counts: Floats | None = None
    hops: Floats | None = None

    def of_sender(self, name: str) -> float:
        """Returns a parameter of the senders in base units."""
        return base(self.sender[name])

    def of_router(self, name: str) -> float:
        """Returns a parameter of the router in base units."""
        return base(self.router[name])

    @property
    def weights(self) -> Floats:
        """The share that flows of each kind have of what all send."""
        total = self.rates * (1.0 if self.counts is None else self.counts)
        return total / total.sum()

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


def each_port(judge: Callable[[Port], Verdict]) -> Callable[[list[Port]], list[Verdict]]:
    """Returns what judges several ports, from what judges one."""
    return lambda ports: [judge(port) for port in ports]


def margin_of(settled: Bools) -> float:
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


@explained
def times_larger(what: str, margin: float) -> str:
    """Says by how much something must grow to be unstable."""
    if np.isfinite(margin):
        return f"{what} {margin:.2g} times as large"
    return f"nothing that was tried, up to {what} {FACTORS[-1]:g} times as large"
