"""Adversarial search for small networks on which a law fails to converge.

The search changes small random trees step by step, as long as the settling time of the law increases. It shrinks a
failing network, as property-based testing shrinks failing inputs, because the smallest failing network shows the cause
best.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from levelflow.convergence.families import Draw, neighbours, placed, shortest, spread, tied, whole
from levelflow.convergence.network import Flow, Network
from levelflow.convergence.shrink import size, smaller
from levelflow.convergence.trial import Outcome, failure
from levelflow.files import replace as replace_file

if TYPE_CHECKING:
    from pathlib import Path

Found = TypeVar("Found")
#: Step of a search that returns `Found`: yields networks to evaluate, and receives their outcomes in the same order.
Evaluations = Generator[list[Network], list[Outcome], Found]

#: Ranges of the number of links and the number of flows of an initial network.
LINKS, FLOWS = (2, 6), (2, 24)
#: Range of the longest round-trip time of an initial network, s.
ROUND_TRIP_S = (0.002, 0.4)
#: Fraction of initial networks with the same capacity per flow on all links, within 1 %.
TIED_FRACTION = 0.5
#: Number of changed networks per iteration, and number of iterations without progress before a restart.
CHANGES_PER_ITERATION, MAX_STALE_ITERATIONS = 4, 4
#: Fraction of flows that start after time 0, and their latest start time, steps.
LATE_FRACTION, LATE_STEPS = 0.3, 20


@dataclass
class Search:
    """State of a search: the smallest failing networks.

    The methods are generators. They yield networks and receive the outcome of the law on each of them.

    Attributes:
        law: Name of the law.
        smallest: Smallest failing network and its outcome, for each kind of failure.
        failures: Number of failing networks that were shrunk.
    """

    law: str
    smallest: dict[str, tuple[Network, Outcome]] = field(default_factory=dict)
    failures: int = 0

    def run(self, seed: int) -> Evaluations[None]:
        """Searches without end: hill-climbs from random networks and shrinks failing networks."""
        draw = np.random.default_rng(seed)
        while True:
            yield from self.shrink((yield from self.hill_climb(draw)))

    def hill_climb(self, draw: Draw) -> Evaluations[Network]:
        """Hill-climbs from a random network until the law fails or `MAX_STALE_ITERATIONS` iterations bring no progress.

        Returns the last network.
        """
        here, stale = start(draw), 0
        worst = score(self.law, *(yield [here]))
        while worst < 1 and stale < MAX_STALE_ITERATIONS:
            others = [changed(draw, here) for _ in range(CHANGES_PER_ITERATION)]
            scores = [score(self.law, outcome) for outcome in (yield others)]
            best = int(np.argmax(scores))
            stale = 0 if scores[best] > worst else stale + 1
            if scores[best] >= worst:
                here, worst = others[best], scores[best]
        return here

    def shrink(self, network: Network) -> Evaluations[None]:
        """Shrinks a failing network until every single reduction step ends this kind of failure."""
        if not (kind := (yield from self.failure(network))):
            return
        self.failures += 1
        candidates = smaller(network)
        while other := next(candidates, None):
            if size(other) < size(network) and (yield from self.failure(other)) == kind:
                network, candidates = other, smaller(other)

    def failure(self, network: Network) -> Evaluations[str | None]:
        """Returns the kind of failure of the law on a network, or None. Records the smallest network of each kind."""
        (outcome,) = yield [network]
        kind = failure(self.law, outcome)
        if kind and (kind not in self.smallest or size(network) < size(self.smallest[kind][0])):
            self.smallest[kind] = network, outcome
        return kind


def score(law: str, outcome: Outcome) -> float:
    """Returns the objective of the search: 1 if the law fails, otherwise the settling time in thousands of steps."""
    if failure(law, outcome):
        return 1.0
    return (outcome.settling_s or 0.0) / (1e3 * outcome.step_s)


def start(draw: Draw) -> Network:
    """Draws a random tree with flows between random nodes.

    A fraction `LATE_FRACTION` of the flows starts after time 0. In a fraction `TIED_FRACTION` of the networks, all
    links have the same capacity per flow, within 1 %.
    """
    nodes = whole(draw, *LINKS) + 1
    edges = [(int(draw.integers(max(0, node - 2), node)), node) for node in range(1, nodes)]
    ends = [draw.choice(nodes, 2, replace=False) for _ in range(whole(draw, *FLOWS))]
    adjacent = neighbours(edges)
    flows = [shortest(adjacent, int(here), int(there)) for here, there in ends]
    capacities = tied(draw, edges, flows) if draw.uniform() < TIED_FRACTION else None
    network = placed(draw, (edges, flows, capacities), ROUND_TRIP_S)
    links = (replace(link, ms=rounded(link.ms, 2), mbps=rounded(link.mbps, 3)) for link in network.links)
    late = draw.uniform(size=len(flows)) < LATE_FRACTION
    starts = np.where(late, draw.uniform(0, LATE_STEPS * network.step_s, len(flows)), 0).round(2).tolist()
    begun = (replace(flow, start_s=at) for flow, at in zip(network.flows, starts, strict=True))
    return Network(tuple(links), tuple(begun))


def rounded(value: float, digits: int) -> float:
    """Rounds a number to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


def changed(draw: Draw, network: Network) -> Network:
    """Returns the network with one random change: another capacity, delay or start time, or one flow more or less."""
    kind = int(draw.integers(5))
    link, flow = int(draw.integers(len(network.links))), int(draw.integers(len(network.flows)))
    flows = list(network.flows)
    if kind < 2:
        old = network.links[link]
        factor = spread(draw, 0.5, 2)
        mbps, ms = (old.mbps * factor, old.ms) if kind == 0 else (old.mbps, old.ms * factor)
        new = replace(old, mbps=rounded(max(mbps, 1.0), 3), ms=rounded(ms, 2))
        return replace(network, links=(*network.links[:link], new, *network.links[link + 1 :]))
    if kind == 2:
        flows[flow] = replace(flows[flow], start_s=round(float(draw.uniform(0, LATE_STEPS * network.step_s)), 2))
    elif kind == 3 or len(flows) == 1:
        nodes = sorted({node for link in network.links for node in link.ends})
        here, there = (int(node) for node in draw.choice(nodes, 2, replace=False))
        flows.append(Flow(shortest(neighbours([link.ends for link in network.links]), here, there)))
    else:
        del flows[flow]
    return replace(network, flows=tuple(flows))


def report(search: Search, runs: int) -> list[str]:
    """Returns the results of a search with `runs` executed runs, as lines of text."""
    lines = [f"{search.law}: {runs} runs, {search.failures} {_some('failure', search.failures)} shrunk"]
    for kind, (network, outcome) in sorted(search.smallest.items()):
        links, flows = len(network.links), len(network.flows)
        lines.append(f"{kind}: {links} {_some('link', links)}, {flows} {_some('flow', flows)}; {reason(outcome)}")
    return lines if search.smallest else [*lines, "no network failed"]


def write(search: Search, run_seed: int, folder: Path) -> list[Path]:
    """Writes the smallest failing network of each kind as scenario `LAW-KIND.toml` and returns the paths."""
    paths = []
    for kind, (network, outcome) in sorted(search.smallest.items()):
        scenario = network.scenario(f"{search.law}-{kind}", search.law, run_seed)
        scenario.raw = {"name": scenario.raw["name"], "description": f"{search.law}: {reason(outcome)}", **scenario.raw}
        paths.append(folder / f"{search.law}-{kind}.toml")
        replace_file(paths[-1], scenario.to_toml())
    return paths


def reason(outcome: Outcome) -> str:
    """Returns a description of a failure."""
    if outcome.runaway:
        return "the run has far more packets than the reference rates need"
    worst, mean = (f"{100 * distance:.1f} %" for distance in (outcome.worst or 0.0, outcome.distance or 0.0))
    if not outcome.settles:
        return f"largest error in the last fifth of the run: {worst} over a step, {mean} in the mean of a flow"
    return f"{outcome.drops} {_some('packet', outcome.drops or 0)} dropped"


def _some(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
