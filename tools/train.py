"""Simulates what `make bench` does, for the compiler of a wheel to learn which ways packets take (profile-guided)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.bench import cases, dumbbell, measure

if TYPE_CHECKING:
    from levelflow.scenario import Scenario

#: With more flows, packets take the same paths, but longer.
MOST_FLOWS = 100_000
#: Laws with engines of their own: where several meet, they run on that of all laws.
MET = ("jetmax", "emkc", "rcp", "newreno", "cubic", "dctcp")


def main() -> None:
    """Runs each case once, and networks of several laws."""
    for _, _, scenario, flows in cases():
        if (flows or 0) <= MOST_FLOWS:
            measure(scenario)
    for size in ((100, 18, 10), (10_000, 96, 0.5)):
        measure(_mixed(*size))


def _mixed(mbps: int, flows: int, seconds: float) -> Scenario:
    scenario = dumbbell("dctcp", mbps, flows, seconds)
    for i, flow in enumerate(scenario.raw["flow"]):
        flow["law"] = MET[i % len(MET)]
    return scenario


if __name__ == "__main__":
    main()
