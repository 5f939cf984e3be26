"""A network and its flows, the same for every law; how long a run of it lasts and what that takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from levelflow.scenario import Scenario

#: A round trip counts as at least so long, s: no law that measures by intervals is faster.
SHORTEST_STEP_S = 0.1
#: Steps that a run lasts after the last arrival or departure: so many, and so many per level of bottlenecks.
STEPS, STEPS_PER_LEVEL = 50, 20
#: Packets are no larger, bit; slow senders of some laws make them smaller, to send so many a second.
PACKET, PACKETS_PER_S = 8000, 100
#: Buffers hold what comes in a step, s, and at least so much: some laws would fill any.
SHORTEST_BUFFER_S = 0.25


@dataclass(frozen=True)
class Link:
    """A link of the same capacity and delay in both directions."""

    ends: tuple[int, int]
    mbps: float
    ms: float


@dataclass(frozen=True)
class Flow:
    """A flow along nodes; without `stop_s` it stays."""

    route: tuple[int, ...]
    start_s: float = 0.0
    stop_s: float | None = None

    @property
    def hops(self) -> list[tuple[int, int]]:
        """The links in the direction in which it crosses them."""
        return list(pairwise(self.route))


@dataclass(frozen=True)
class Network:
    """Links and flows; each route is along links."""

    links: tuple[Link, ...]
    flows: tuple[Flow, ...]

    @cached_property
    def round_trip_s(self) -> float:
        """The longest round trip, s."""
        delays = {ends: link.ms for link in self.links for ends in (link.ends, link.ends[::-1])}
        return 2e-3 * max(sum(delays[hop] for hop in flow.hops) for flow in self.flows)

    @property
    def step_s(self) -> float:
        """The longest round trip, s, as far as it counts."""
        return max(self.round_trip_s, SHORTEST_STEP_S)

    @property
    def is_tree(self) -> bool:
        """Whether there is only one way from a node to another."""
        return len(self.links) < len({end for link in self.links for end in link.ends})

    @cached_property
    def last_event_s(self) -> float:
        """When the last flow comes or goes, s."""
        return max(flow.stop_s or flow.start_s for flow in self.flows)

    @cached_property
    def staying(self) -> list[Flow]:
        """The flows that are judged."""
        return [flow for flow in self.flows if flow.stop_s is None]

    @cached_property
    def rates_and_levels(self) -> tuple[list[float], int]:
        """The max-min fair rates of flows that stay, Mb/s, and the levels of bottlenecks."""
        capacities = {ends: link.mbps for link in self.links for ends in (link.ends, link.ends[::-1])}
        return filled([flow.hops for flow in self.staying], capacities)

    @cached_property
    def levels(self) -> int:
        """How deep bottlenecks hang on each other."""
        return self.rates_and_levels[1]

    @cached_property
    def duration_s(self) -> float:
        """How long a run lasts, s."""
        return self.last_event_s + self.step_s * (STEPS + STEPS_PER_LEVEL * self.levels)

    @cached_property
    def packet_hops(self) -> float:
        """About how many packets cross links in a run, at max-min fair rates."""
        rates, _ = self.rates_and_levels
        each = zip(rates, self.staying, strict=True)
        per_s = sum(max(1e6 * rate / PACKET, PACKETS_PER_S) * len(flow.hops) for rate, flow in each)
        return per_s * self.duration_s

    def scenario(self, name: str, law: str, seed: int) -> Scenario:
        """Returns the scenario in which all flows are under a law.

        ACKs have 1 B: references know of none, and links that carry flows both ways would give a part to them.
        """
        duration, sample = (f"{seconds:.6f}".rstrip("0").rstrip(".") for seconds in (self.duration_s, self.step_s / 2))
        scenario = Scenario(name, f"{duration} s", sample=f"{sample} s", seed=seed)
        buffer_s = max(self.step_s, SHORTEST_BUFFER_S)
        for link in self.links:
            here, there = (f"R{end}" for end in link.ends)
            buffer = f"{1e6 * link.mbps * buffer_s / 8:.0f} B"
            scenario.link(here, there, f"{link.mbps:g} Mb/s", f"{link.ms:g} ms", buffer=buffer, duplex=True)
        for number, flow in enumerate(self.flows, 1):
            ends: dict[str, Any] = {"start": f"{flow.start_s:.6f} s"} if flow.start_s else {}
            ends |= {} if flow.stop_s is None else {"stop": f"{flow.stop_s:.6f} s"}
            nodes = [f"R{node}" for node in flow.route]
            there_and_back: dict[str, Any] = {} if self.is_tree else {"path": nodes, "reverse_path": nodes[::-1]}
            scenario.flow(f"x{number}", law, nodes[0], nodes[-1], ack="1 B", **there_and_back, **ends)
        return scenario


def crossings(routes: list[list[tuple[int, int]]]) -> Counter[tuple[int, int]]:
    """Returns how many flows cross each link, by its ends, in the direction that more of them cross it."""
    each = Counter(hop for route in routes for hop in route)
    most: Counter[tuple[int, int]] = Counter()
    for (here, there), count in each.items():
        ends = min(here, there), max(here, there)
        most[ends] = max(most[ends], count)
    return most


def filled(routes: list[list[tuple[int, int]]], capacities: dict[tuple[int, int], float]) -> tuple[list[float], int]:
    """Returns max-min fair rates and in how many rounds links can find them, each from what its neighbours know.

    In a round, all links stop their flows whose share is the smallest among the links that any of these crosses. So
    links that have nothing to do with each other stop theirs at once, and a link waits for those below it: these are
    the levels of bottlenecks.
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
        lowest = np.where(crosses, shares, np.inf).min(axis=1)  # of the links that a flow crosses
        beside = np.where(crosses[rising], lowest[rising, None], np.inf).min(axis=0)  # of the flows that cross a link
        tight = (counts > 0) & (shares <= beside * (1 + 1e-9))
        stopped = rising & crosses[:, tight].any(axis=1)
        rates[stopped] = lowest[stopped]
        left = left - crosses[stopped].T @ rates[stopped]
        rising &= ~stopped
        rounds += 1
    return rates.tolist(), rounds
