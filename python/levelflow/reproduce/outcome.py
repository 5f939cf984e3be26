"""Outcome of a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from levelflow.reproduce.verdict import Seeds, Spread, Verdict, listed, meets, spread

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
    #: Name of the reading that was measured; empty if the text leaves no choice.
    reading: str = ""
    #: Outcomes under each reading of the text.
    readings: tuple[Outcome, ...] = ()

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
    def tolerance_used(self) -> float | None:
        """Fraction of the tolerance that the measured value uses, above 1 if it fails; None without a tolerance."""
        expected = self.check.value if self.target is None else self.target
        spread = self.spread
        return tolerance_used(self.check, expected, spread.median if spread else self.measured)

    @property
    def ground(self) -> str:
        """Ground of the verdict."""
        return "a real network" if self.beside else self.entry.ground(self.check)


def tolerance_used(check: Check, expected: Any, measured: Any) -> float | None:
    """Returns the largest fraction of the tolerance that a number uses; None without a tolerance or numbers.

    A number that satisfies an inequality uses no tolerance: its fraction is 0 or negative.
    """
    if measured is None or expected is None or not (check.tol_rel or check.tol_abs):
        return None
    values, targets = listed(measured), listed(expected)
    if len(targets) == 1:
        targets *= len(values)
    used = []
    for value, target in zip(values, targets, strict=True):
        if isinstance(value, str | bool) or isinstance(target, str | bool):
            return None
        slack = max(check.tol_abs or 0.0, (check.tol_rel or 0.0) * abs(target))
        beyond = {"<": value - target, "<=": value - target, ">": target - value, ">=": target - value}
        used.append(beyond.get(check.op, abs(value - target)) / slack if slack else 0.0)
    return max(used, default=None)
