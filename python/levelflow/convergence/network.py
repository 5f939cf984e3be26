"""Networks and their flows, with the duration and the number of packets of a run. They are the same for every law."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from levelflow.scenario import Scenario

if TYPE_CHECKING:
    from levelflow.keywords import FlowKeys

#: Minimum duration of a step, s. Laws with control intervals do not react faster.
MIN_STEP_S = 0.1
#: Number of steps after the last arrival or departure: a constant, and steps per bottleneck level.
BASE_STEPS, STEPS_PER_LEVEL = 50, 20
#: Maximum packet size, bits, and minimum packet rate, 1/s. Slow senders of some laws reduce their packet size.
MAX_PACKET_BITS, MIN_PACKETS_PER_S = 8000, 100
#: Minimum buffer size, as transmission time in s. The size is the larger of this minimum and one step.
MIN_BUFFER_S = 0.25


@dataclass(frozen=True)
class Link:
    """Link with the same capacity and delay in both directions."""

    ends: tuple[int, int]
    mbps: float
    ms: float


@dataclass(frozen=True)
class Flow:
    """Flow along a route of nodes. The flow is permanent if `stop_s` is None."""

    route: tuple[int, ...]
    start_s: float = 0.0
    stop_s: float | None = None

    @property
    def hops(self) -> list[tuple[int, int]]:
        """Links that the flow crosses, in its direction."""
        return list(pairwise(self.route))


@dataclass(frozen=True)
class Network:
    """Links and flows."""

    links: tuple[Link, ...]
    flows: tuple[Flow, ...]

    @cached_property
    def round_trip_s(self) -> float:
        """Longest round-trip time without queueing, s."""
        delays = {ends: link.ms for link in self.links for ends in (link.ends, link.ends[::-1])}
        return 2e-3 * max(sum(delays[hop] for hop in flow.hops) for flow in self.flows)

    @property
    def step_s(self) -> float:
        """Duration of a step: the maximum of the longest round-trip time and `MIN_STEP_S`, s."""
        return max(self.round_trip_s, MIN_STEP_S)

    @property
    def is_tree(self) -> bool:
        """True if any two nodes have only one route between them."""
        return len(self.links) < len({end for link in self.links for end in link.ends})

    @cached_property
    def last_event_s(self) -> float:
        """Time of the last arrival or departure, s."""
        return max(flow.stop_s or flow.start_s for flow in self.flows)

    @cached_property
    def staying(self) -> list[Flow]:
        """Permanent flows. Only these are evaluated."""
        return [flow for flow in self.flows if flow.stop_s is None]

    @cached_property
    def rates_and_levels(self) -> tuple[list[float], int]:
        """Max-min fair rates of the permanent flows, Mb/s, and the number of bottleneck levels."""
        capacities = {ends: link.mbps for link in self.links for ends in (link.ends, link.ends[::-1])}
        return filled([flow.hops for flow in self.staying], capacities)

    @cached_property
    def levels(self) -> int:
        """Number of bottleneck levels."""
        return self.rates_and_levels[1]

    @cached_property
    def duration_s(self) -> float:
        """Duration of a run, s."""
        return self.last_event_s + self.step_s * (BASE_STEPS + STEPS_PER_LEVEL * self.levels)

    @cached_property
    def packet_hops(self) -> float:
        """Expected number of link crossings of packets in a run, at max-min fair rates."""
        rates, _ = self.rates_and_levels
        each = zip(rates, self.staying, strict=True)
        per_s = sum(max(1e6 * rate / MAX_PACKET_BITS, MIN_PACKETS_PER_S) * len(flow.hops) for rate, flow in each)
        return per_s * self.duration_s

    def scenario(self, name: str, law: str, seed: int) -> Scenario:
        """Returns a scenario of this network with the same law for all flows.

        ACKs have 1 B because the reference rates do not include ACKs. Larger ACKs would reduce the capacity of links
        with flows in both directions.
        """
        duration, sample = (f"{seconds:.6f}".rstrip("0").rstrip(".") for seconds in (self.duration_s, self.step_s / 2))
        scenario = Scenario(name, f"{duration} s", sample=f"{sample} s", seed=seed, encapsulation="none")
        buffer_s = max(self.step_s, MIN_BUFFER_S)
        for link in self.links:
            here, there = (f"R{end}" for end in link.ends)
            buffer = f"{1e6 * link.mbps * buffer_s / 8:.0f} B"
            scenario.link(here, there, f"{link.mbps:g} Mb/s", f"{link.ms:g} ms", buffer=buffer, duplex=True)
        for number, flow in enumerate(self.flows, 1):
            nodes = [f"R{node}" for node in flow.route]
            options: FlowKeys = {"ack": "1 B"}
            if not self.is_tree:
                options |= {"path": nodes, "reverse_path": nodes[::-1]}
            if flow.start_s:
                options["start"] = f"{flow.start_s:.6f} s"
            if flow.stop_s is not None:
                options["stop"] = f"{flow.stop_s:.6f} s"
            scenario.flow(f"x{number}", law, nodes[0], nodes[-1], **options)
        return scenario


def crossings(routes: list[list[tuple[int, int]]]) -> Counter[tuple[int, int]]:
    """Returns, for each pair of link ends, the number of flows on the link in the busier direction."""
    each = Counter(hop for route in routes for hop in route)
    most: Counter[tuple[int, int]] = Counter()
    for (here, there), count in each.items():
        ends = min(here, there), max(here, there)
        most[ends] = max(most[ends], count)
    return most


def filled(routes: list[list[tuple[int, int]]], capacities: dict[tuple[int, int], float]) -> tuple[list[float], int]:
    """Returns max-min fair rates, and the number of bottleneck levels: the rounds of parallel water filling.

    In a round, a link fixes the rates of its flows if its share is the smallest share on all their paths. Independent
    links fix rates in the same round. A link that depends on another bottleneck fixes rates in a later round.
    """
    index = {link: number for number, link in enumerate(capacities)}
    crosses = np.zeros((len(routes), len(capacities)), dtype=bool)
    for flow, route in enumerate(routes):
        crosses[flow, [index[hop] for hop in route]] = True
    left = np.array(list(capacities.values()))
    rates, rising, rounds = np.zeros(len(routes)), np.ones(len(routes), dtype=bool), 0
    while rising.any():
        counts = crosses[rising].sum(axis=0)
        shares = np.full(left.size, np.inf)
        np.divide(left, counts, out=shares, where=counts > 0)
        lowest = np.where(crosses, shares, np.inf).min(axis=1)  # smallest share over the links of each flow
        limit = np.where(crosses[rising], lowest[rising, None], np.inf).min(
            axis=0
        )  # minimum of `lowest` over the flows on each link
        tight = (counts > 0) & (shares <= limit * (1 + 1e-9))
        stopped = rising & crosses[:, tight].any(axis=1)
        rates[stopped] = lowest[stopped]
        left = left - crosses[stopped].T @ rates[stopped]
        rising &= ~stopped
        rounds += 1
    return rates.tolist(), rounds
