"""Scenarios for buffer sizing: long flows that share a single bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from levelflow.keywords import ReverseKeys, Table

LINK = "A->B"


def single_bottleneck(
    capacity_mbps: float, buffer: str | Table, duration_s: float, sample: str = "1 s", seed: int = 1
) -> Scenario:
    """Returns a scenario with one link `A->B`, a fast reverse path, ideal hosts and clocks, and no flows."""
    scenario = Scenario("sized", f"{duration_s:g} s", seed=seed, sample=sample).set("profile", "paper")
    back: ReverseKeys = {"buffer": "unlimited", "capacity": "10 Gb/s"}
    return scenario.link("A", "B", f"{capacity_mbps:g} Mb/s", "5 ms", buffer=buffer, duplex=True, reverse=back)


def identical_flows(
    scenario: Scenario, count: int, rtt_ms: tuple[float, float], law: object = "newreno", name: str = "x"
) -> Scenario:
    """Adds long flows of 1500-byte packets, whose round-trip times are uniformly distributed over a range."""
    low, high = rtt_ms
    rtt = {"uniform": [f"{low:g} ms", f"{high:g} ms"]}
    return scenario.flow(name, law, "A", "B", count=count, packet="1500 B", rtt=rtt)  # type: ignore[arg-type]
