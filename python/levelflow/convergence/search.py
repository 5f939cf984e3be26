"""An adversarial search: small random trees, changed as long as a law gets worse on them; what fails is shrunk.

As property tests do: any failure will do to begin with, and the smallest that is left of it shows why.
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

#: Most links and flows of a network that the search begins with.
LINKS, FLOWS = (2, 6), (2, 24)
#: Round trips of these, s.
ROUND_TRIP_S = (0.002, 0.4)
#: Which share of networks have links with nearly the same share for each flow.
TIED = 0.5
#: Changed networks that are tried at once, and how often in vain before the search begins anew.
CHANGES, PATIENCE = 4, 4
#: Which share of its flows begin later, and until how many steps.
LATE, LATE_STEPS = 0.3, 20


class SpentError(Exception):
    """All runs are made, or the time is over."""


@dataclass
class Search:
    """A search for networks on which a law fails.

    Attributes:
        law: its name.
        trial: what a law comes to on a network; `levelflow.convergence.trial.attempt` unless a test has another one.
        runs: so many at most.
        run_seed: that of each run.
        until_s: when it ends, by `time.monotonic`.
        tell: receives how many runs are made.
        smallest: by what the law did not keep, the smallest network, and what the law came to on it.
        failures: from how many beginnings a failure was found.
        made: how many runs were made.
        known: what they came to.
    """

    law: str
    trial: Callable[[Network], Outcome]
    runs: int
    run_seed: int = 1
    until_s: float = np.inf
    workers: int | None = None
    tell: Callable[[float, float], None] = lambda _done, _of: None
    smallest: dict[str, tuple[Network, Outcome]] = field(default_factory=dict)
    failures: int = 0
    made: int = 0
    known: dict[Network, Outcome] = field(default_factory=dict)

    def shrink(self, network: Network) -> None:
        """Shrinks a network if the law fails on it."""
        try:
            self.reduce(network)
        except SpentError:
            return

    def run(self, seed: int) -> None:
        """Searches until all runs are made."""
        draw = np.random.default_rng(seed)
        try:
            while True:
                self.climb(draw)
        except SpentError:
            return

    def climb(self, draw: Draw) -> None:
        """Goes from a random network to worse ones, until one fails, which is shrunk, or none gets worse."""
        here, vain = start(draw), 0
        worst = badness(self.law, self.outcomes([here])[0])
        while worst < 1 and vain < PATIENCE:
            others = [changed(draw, here) for _ in range(CHANGES)]
            values = [badness(self.law, outcome) for outcome in self.outcomes(others)]
            best = int(np.argmax(values))
            vain = 0 if values[best] > worst else vain + 1
            if values[best] >= worst:
                here, worst = others[best], values[best]
        self.reduce(here)

    def reduce(self, network: Network) -> None:
        """Shrinks a network while the law fails on it in the same way."""
        if kind := self.failed(network):
            self.failures += 1
            shrunk(network, lambda other: self.failed(other) == kind)

    def failed(self, network: Network) -> str | None:
        """What the law does not keep on a network; the smallest such is kept."""
        outcome = self.outcomes([network])[0]
        kind = failure(self.law, outcome)
        if kind and (kind not in self.smallest or size(network) < size(self.smallest[kind][0])):
            self.smallest[kind] = network, outcome
        return kind

    def outcomes(self, networks: list[Network]) -> list[Outcome]:
        """Returns what the law came to on each network; runs side by side what is not known."""
        missing = [one for one in dict.fromkeys(networks) if one not in self.known]
        if self.made + len(missing) > self.runs or time.monotonic() > self.until_s:
            raise SpentError
        found = side_by_side(self.workers, lambda one, _tell: (one, self.trial(one)), missing)
        self.known.update(found)
        self.made += len(missing)
        self.tell(self.made, self.runs)
        return [self.known[one] for one in networks]


def badness(law: str, outcome: Outcome) -> float:
    """Returns a number that is at least 1 if a law fails, and below it the larger the later it settles."""
    if failure(law, outcome):
        return 1.0
    return (outcome.settling_s or 0.0) / (1e3 * outcome.step_s)


def trial(law: str, seed: int) -> Callable[[Network], Outcome]:
    """Returns what runs a law on a network, with a seed of the run."""
    return lambda network: attempt(network.scenario(law, law, seed), network.packet_hops)


def start(draw: Draw) -> Network:
    """A random tree, and flows from any node to any other; some begin later, and half of the networks are tied."""
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
    """A number with so many digits."""
    return float(f"{value:.{digits}g}")


def changed(draw: Draw, network: Network) -> Network:
    """The network with another capacity, delay or start, a flow more, or a flow fewer."""
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
    """Says what came of a search."""
    lines = [f"{search.law}: {search.made} runs, {search.failures} {_some('failure', search.failures)} shrunk"]
    for kind, (network, outcome) in sorted(search.smallest.items()):
        links, flows = len(network.links), len(network.flows)
        lines.append(f"{kind}: {links} {_some('link', links)}, {flows} {_some('flow', flows)}; {reason(outcome)}")
    return lines if search.smallest else [*lines, "no network failed"]


def write(search: Search, folder: Path) -> list[Path]:
    """Writes the smallest networks as scenarios, `LAW-rates.toml` and so on; returns their paths."""
    paths = []
    for kind, (network, outcome) in sorted(search.smallest.items()):
        scenario = network.scenario(f"{search.law}-{kind}", search.law, search.run_seed)
        scenario.raw = {"name": scenario.raw["name"], "description": f"{search.law}: {reason(outcome)}", **scenario.raw}
        paths.append(folder / f"{search.law}-{kind}.toml")
        replace_file(paths[-1], scenario.to_toml())
    return paths


def reason(outcome: Outcome) -> str:
    """Says how a law failed."""
    if outcome.runaway:
        return "sends many times what links carry"
    worst, mean = (f"{100 * distance:.1f} %" for distance in (outcome.worst or 0.0, outcome.distance or 0.0))
    if not outcome.settles:
        return f"in the last fifth a flow is {worst} from its reference, in the mean {mean}"
    return f"{outcome.drops} {_some('packet', outcome.drops or 0)} dropped"


def _some(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
