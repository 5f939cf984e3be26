"""Adversarial search for small networks on which a law fails to converge.

The search changes small random trees as long as the law performs worse on them. A network on which the law fails is
shrunk, as in property tests, since the smallest failing network shows the cause best.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from levelflow.convergence.families import Draw, neighbours, placed, shortest, spread, tied, whole
from levelflow.convergence.network import Flow, Network
from levelflow.convergence.pool import side_by_side
from levelflow.convergence.shrink import shrunk, size
from levelflow.convergence.trial import Outcome, attempt, failure
from levelflow.report.files import replace as replace_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Ranges of the number of links and the number of flows of an initial network.
LINKS, FLOWS = (2, 6), (2, 24)
#: Range of the longest round-trip time of an initial network, s.
ROUND_TRIP_S = (0.002, 0.4)
#: Fraction of initial networks with nearly equal capacity per flow on all links.
TIED = 0.5
#: Changed networks tried per iteration, and iterations without progress before a restart.
CHANGES, PATIENCE = 4, 4
#: Fraction of flows that start late, and latest start time in steps.
LATE, LATE_STEPS = 0.3, 20


class SpentError(Exception):
    """Signals that the limit on runs or on time is reached."""


@dataclass
class Search:
    """Search for networks on which a law fails.

    A progress callback receives the number of runs executed and the limit on runs.

    Attributes:
        law: Name of the law.
        trial: Function that runs the law on a network; `levelflow.convergence.trial.attempt` except in tests.
        runs: Limit on the number of runs.
        run_seed: Simulation seed, the same for all runs.
        until_s: Time limit on the clock of `time.monotonic`, s.
        workers: Number of parallel runs.
        smallest: Smallest failing network and its outcome, for each kind of failure.
        failures: Number of failing networks that were shrunk.
        made: Number of runs executed.
        known: Outcomes of executed runs, by network.
    """

    law: str
    trial: Callable[[Network], Outcome]
    runs: int
    run_seed: int = 1
    until_s: float = np.inf
    workers: int | None = None
    progress: Callable[[float, float], None] = lambda _done, _of: None
    smallest: dict[str, tuple[Network, Outcome]] = field(default_factory=dict)
    failures: int = 0
    made: int = 0
    known: dict[Network, Outcome] = field(default_factory=dict)

    def shrink(self, network: Network) -> None:
        """Shrinks a network if the law fails on it."""
        try:
            self.shrink_failure(network)
        except SpentError:
            return

    def run(self, seed: int) -> None:
        """Searches until the limit on runs or on time is reached."""
        draw = np.random.default_rng(seed)
        try:
            while True:
                self.hill_climb(draw)
        except SpentError:
            return

    def hill_climb(self, draw: Draw) -> None:
        """Hill-climbs from a random network until the law fails or `PATIENCE` iterations bring no progress.

        A failing network is shrunk.
        """
        here, stale = start(draw), 0
        worst = score(self.law, self.outcomes([here])[0])
        while worst < 1 and stale < PATIENCE:
            others = [changed(draw, here) for _ in range(CHANGES)]
            values = [score(self.law, outcome) for outcome in self.outcomes(others)]
            best = int(np.argmax(values))
            stale = 0 if values[best] > worst else stale + 1
            if values[best] >= worst:
                here, worst = others[best], values[best]
        self.shrink_failure(here)

    def shrink_failure(self, network: Network) -> None:
        """Shrinks a network as long as the law fails on it with the same kind of failure."""
        if kind := self.failed(network):
            self.failures += 1
            shrunk(network, lambda other: self.failed(other) == kind)

    def failed(self, network: Network) -> str | None:
        """Returns the kind of failure of the law on a network, or None. Records the smallest network of each kind."""
        outcome = self.outcomes([network])[0]
        kind = failure(self.law, outcome)
        if kind and (kind not in self.smallest or size(network) < size(self.smallest[kind][0])):
            self.smallest[kind] = network, outcome
        return kind

    def outcomes(self, networks: list[Network]) -> list[Outcome]:
        """Returns the outcome of each network. Networks without a known outcome are run in parallel."""
        missing = [one for one in dict.fromkeys(networks) if one not in self.known]
        if self.made + len(missing) > self.runs or time.monotonic() > self.until_s:
            raise SpentError
        found = side_by_side(self.workers, lambda one, _tell: (one, self.trial(one)), missing)
        self.known.update(found)
        self.made += len(missing)
        self.progress(self.made, self.runs)
        return [self.known[one] for one in networks]


def score(law: str, outcome: Outcome) -> float:
    """Returns the objective of the search: 1 if the law fails, otherwise the settling time in thousands of steps."""
    if failure(law, outcome):
        return 1.0
    return (outcome.settling_s or 0.0) / (1e3 * outcome.step_s)


def trial(law: str, seed: int) -> Callable[[Network], Outcome]:
    """Returns a function that runs a law on a network, always with the same seed."""
    return lambda network: attempt(network.scenario(law, law, seed), network.packet_hops)


def start(draw: Draw) -> Network:
    """Draws a random tree with flows between random nodes.

    A fraction `LATE` of the flows starts late. A fraction `TIED` of the networks has nearly equal capacity per flow.
    """
    nodes = whole(draw, *LINKS) + 1
    edges = [(int(draw.integers(max(0, node - 2), node)), node) for node in range(1, nodes)]
    ends = [draw.choice(nodes, 2, replace=False) for _ in range(whole(draw, *FLOWS))]
    beside = neighbours(edges)
    flows = [shortest(beside, int(here), int(there)) for here, there in ends]
    capacities = tied(draw, edges, flows) if draw.uniform() < TIED else None
    network = placed(draw, (edges, flows, capacities), ROUND_TRIP_S)
    links = (replace(link, ms=rounded(link.ms, 2), mbps=rounded(link.mbps, 3)) for link in network.links)
    late = draw.uniform(size=len(flows)) < LATE
    starts = np.where(late, draw.uniform(0, LATE_STEPS * network.step_s, len(flows)), 0).round(2).tolist()
    begun = (replace(flow, start_s=at) for flow, at in zip(network.flows, starts, strict=True))
    return Network(tuple(links), tuple(begun))


def rounded(value: float, digits: int) -> float:
    """Rounds a number to `digits` significant digits."""
    return float(f"{value:.{digits}g}")


def changed(draw: Draw, network: Network) -> Network:
    """Returns the network with one random change: of a capacity, delay or start time, or a flow added or removed."""
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


def report(search: Search) -> list[str]:
    """Returns the results of a search as lines of text."""
    lines = [f"{search.law}: {search.made} runs, {search.failures} {_some('failure', search.failures)} shrunk"]
    for kind, (network, outcome) in sorted(search.smallest.items()):
        links, flows = len(network.links), len(network.flows)
        lines.append(f"{kind}: {links} {_some('link', links)}, {flows} {_some('flow', flows)}; {reason(outcome)}")
    return lines if search.smallest else [*lines, "no network failed"]


def write(search: Search, folder: Path) -> list[Path]:
    """Writes the smallest failing network of each kind as scenario `LAW-KIND.toml` and returns the paths."""
    paths = []
    for kind, (network, outcome) in sorted(search.smallest.items()):
        scenario = network.scenario(f"{search.law}-{kind}", search.law, search.run_seed)
        scenario.raw = {"name": scenario.raw["name"], "description": f"{search.law}: {reason(outcome)}", **scenario.raw}
        paths.append(folder / f"{search.law}-{kind}.toml")
        replace_file(paths[-1], scenario.to_toml())
    return paths


def reason(outcome: Outcome) -> str:
    """Returns a description of a failure."""
    if outcome.runaway:
        return "sends many times what links carry"
    worst, mean = (f"{100 * distance:.1f} %" for distance in (outcome.worst or 0.0, outcome.distance or 0.0))
    if not outcome.settles:
        return f"in the last fifth a flow is {worst} from its reference, in the mean {mean}"
    return f"{outcome.drops} {_some('packet', outcome.drops or 0)} dropped"


def _some(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
