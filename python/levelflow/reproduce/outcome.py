"""Outcome of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.reproduce.verdict import Seeds, Spread, Verdict, meets, spread

if TYPE_CHECKING:
    from levelflow.reproduce.model import Check, Entry

#: Tiers of measurements.
QUICK, FULL = "quick", "full"


@dataclass(frozen=True)
class Outcome:
    """Outcome of one check."""

    entry: Entry
    index: int
    verdict: Verdict
    measured: Any = None
    target: Any = None
    note: str = ""
    #: Number of seeds with a value in `measured`; 0 if it is not a list of seeds.
    seeds: int = 0
    #: Outcome of this check in the simulator at the same scale, if a network was measured.
    beside: Outcome | None = None
    #: Measured tier. If both tiers were measured, the tier with the worse verdict.
    tier: str = QUICK
    #: Outcome of this check in the tier that is not `tier`, if both were measured.
    other: Outcome | None = None

    @property
    def check(self) -> Check:
        """Evaluated check."""
        return self.entry.check[self.index]

    @property
    def spread(self) -> Spread | None:
        """Median and range over the seeds; None without seeds."""
        if not self.seeds:
            return None
        check = self.check
        slack = check.tol_rel or 0.0, check.tol_abs or 0.0
        return spread(Seeds(self.measured), lambda value: meets(check.op, check.value, value, *slack))

    @property
    def ground(self) -> str:
        """Ground of the verdict."""
        return "a real network" if self.beside else self.entry.ground
