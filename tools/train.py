"""Runs the cases of `make bench` as training for the compiler of a wheel (profile-guided optimisation)."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from levelflow.library import laws
from tools.bench import cases, dumbbell, measure

if TYPE_CHECKING:
    from levelflow.scenario import Scenario

#: Largest number of flows in training. More flows would only repeat the same code paths.
MOST_FLOWS = 100_000


def main() -> None:
    """Runs each case once, and networks with all laws. Cases with one law may run on a specialised engine."""
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
