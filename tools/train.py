"""Simulates what `make bench` does, for the compiler of a wheel to learn which ways packets take (profile-guided)."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from levelflow.library import laws
from tools.bench import cases, dumbbell, measure

if TYPE_CHECKING:
    from levelflow.scenario import Scenario

#: With more flows, packets take the same paths, but longer.
MOST_FLOWS = 100_000


def main() -> None:
    """Runs each case once, and networks of all laws, since cases of one law may run on an engine of its own."""
    for _, _, scenario, flows in cases():
        if (flows or 0) <= MOST_FLOWS:
            measure(scenario)
    for size in ((100, 29, 10), (10_000, 87, 0.5)):
        measure(_mixed(*size))


def _mixed(mbps: int, flows: int, seconds: float) -> Scenario:
    scenario = dumbbell("dctcp", mbps, flows, seconds)
    for flow, law in zip(scenario.raw["flow"], cycle(laws()), strict=False):
        flow["law"] = law["name"]
    return scenario


if __name__ == "__main__":
    main()
