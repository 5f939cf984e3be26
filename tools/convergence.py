"""Which laws come to max-min fairness on networks drawn at random: `python -m tools.convergence [LAW ...]`.

A law *settles* on a network if in the last fifth of the run each flow is within 5 % of its rate in the reference
(`levelflow.theory.references`). All flows begin at once. ACKs have 1 B: the reference knows of none, and links that
carry flows both ways would give a part to them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest

from levelflow import Interrupted, Scenario
from levelflow.status import INTERRUPTED
from levelflow.workers import Bar, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from levelflow.results import Result

LAWS = ("level", "sperc", "jetmax", "rcp", "maxnet")
SETTLED_WITHIN = 0.05


@dataclass(frozen=True)
class Outcome:
    """What one law came to on one network: distances are relative, the queue is in bytes."""

    law: str
    family: str
    seed: int
    links: int
    flows: int
    worst: float
    settling_s: float | None
    drops: int
    queue: int

    @property
    def settles(self) -> bool:
        """Whether every flow had its rate."""
        return self.worst <= SETTLED_WITHIN


def line(scenario: Scenario, draw: np.random.Generator) -> list[tuple[str, str]]:
    """Links in a row: 3 to 29 of them; flows cross 1 to 6."""
    links = int(draw.integers(3, 30))
    for i in range(links):
        connect(scenario, f"R{i}", f"R{i + 1}", *anything(draw))
    ends = []
    for _ in range(int(draw.integers(5, 199))):
        length = int(draw.integers(1, min(6, links) + 1))
        first = int(draw.integers(0, links - length + 1))
        ends.append((f"R{first}", f"R{first + length}"))
    return ends


def tree(scenario: Scenario, draw: np.random.Generator) -> list[tuple[str, str]]:
    """A tree of 4 to 30 nodes; flows go from any node to any other."""
    nodes = int(draw.integers(4, 31))
    for node in range(1, nodes):
        connect(scenario, f"R{int(draw.integers(0, node))}", f"R{node}", *anything(draw))
    pairs = (draw.choice(nodes, 2, replace=False) for _ in range(int(draw.integers(5, 199))))
    return [(f"R{source}", f"R{to}") for source, to in pairs]


def chain(scenario: Scenario, draw: np.random.Generator) -> list[tuple[str, str]]:
    """As many levels of bottlenecks as links, each 20 % wider than the one before; a flow on each, and on each pair."""
    links = int(draw.integers(3, 13))
    for i in range(links):
        connect(scenario, f"R{i}", f"R{i + 1}", 10 * 1.2**i, 10 ** draw.uniform(0, 1.7))
    alone = [(f"R{i}", f"R{i + 1}") for i in range(links)]
    return alone + [(f"R{i}", f"R{i + 2}") for i in range(links - 1)]


def anything(draw: np.random.Generator) -> tuple[float, float]:
    """10 to 200 Mb/s, 1 to 100 ms."""
    return 10 * 20 ** draw.uniform(), 10 ** draw.uniform(0, 2)


def connect(scenario: Scenario, source: str, to: str, mbps: float, ms: float) -> None:
    """A link whose buffer holds 250 ms, as some laws would fill any."""
    buffer = f"{mbps * 0.25 / 8:.6f} MB"
    scenario.link(source, to, f"{mbps:.3f} Mb/s", f"{ms:.3f} ms", buffer=buffer, duplex=True)


FAMILIES: dict[str, Callable[[Scenario, np.random.Generator], list[tuple[str, str]]]] = {
    "line": line,
    "tree": tree,
    "chain": chain,
}


def network(family: str, seed: int, law: str, seconds: float) -> Scenario:
    """The network of a family and a seed, with all flows under a law."""
    scenario = Scenario(f"{family}-{seed}-{law}", f"{seconds:g} s", sample="1 s", seed=seed + 1)
    draw = np.random.default_rng([list(FAMILIES).index(family), seed])
    for number, (source, to) in enumerate(FAMILIES[family](scenario, draw)):
        scenario.flow(f"x{number}", law, source, to, ack="1 B")
    return scenario


def outcome(law: str, family: str, seed: int, result: Result) -> Outcome:
    """What a run came to."""
    summary = result.summary
    return Outcome(
        law=law,
        family=family,
        seed=seed,
        links=len(summary["links"]),
        flows=len(summary["flows"]),
        worst=summary["distance_max"],
        settling_s=summary["settling_s"],
        drops=sum(link["dropped_packets"] for link in summary["links"]),
        queue=max(link["queue_bytes"]["max"] for link in summary["links"]),
    )


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """A row per family and law, in Markdown; shares with 95 % intervals (Clopper and Pearson)."""
    head = ("family", "law", "every flow within 5 %", "95 % interval", "worst distance")
    head += ("settled after, median", "networks with drops", "longest queue")
    rows = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    groups = dict.fromkeys((one.family, one.law) for one in outcomes)
    for family, law in groups:
        own = [one for one in outcomes if (one.family, one.law) == (family, law)]
        good = sum(one.settles for one in own)
        low, high = binomtest(good, len(own)).proportion_ci()
        times = [one.settling_s for one in own if one.settles and one.settling_s is not None]
        settled = f"{np.median(times):.0f} s" if times else "-"
        rows.append(
            f"| {family} | {law} | {good} of {len(own)} | {100 * low:.0f} to {100 * high:.0f} % "
            f"| {100 * max(one.worst for one in own):.1f} % | {settled} "
            f"| {sum(one.drops > 0 for one in own)} | {max(one.queue for one in own) / 1e3:,.0f} kB |"
        )
    return rows


def main(words: Sequence[str] | None = None) -> int:
    """Runs the networks and prints the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.convergence", description=__doc__)
    parser.add_argument("law", nargs="*", default=LAWS, help=f"laws; {', '.join(LAWS)} without any")
    parser.add_argument("--networks", type=int, default=10, help="networks of each family (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first network (%(default)s)")
    parser.add_argument("--seconds", type=float, default=150.0, help="length of a run (%(default)g)")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="only these families")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side (%(default)s)")
    parser.add_argument("--json", help="writes the outcome of each run to this file")
    options = parser.parse_args(words)
    families = options.family or list(FAMILIES)
    seeds = range(options.first, options.first + options.networks)
    outcomes: list[Outcome] = []
    try:
        with Bar("networks") as bar, Workers(options.workers, bar) as workers:
            workers.expect(len(families) * len(seeds) * len(options.law))
            for family, seed in itertools.product(families, seeds):
                results = workers([network(family, seed, law, options.seconds) for law in options.law])
                pairs = zip(options.law, results, strict=True)
                outcomes += [outcome(law, family, seed, result) for law, result in pairs]
    except (KeyboardInterrupt, Interrupted):
        return INTERRUPTED
    print(*table(outcomes), sep="\n")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([asdict(one) | {"settles": one.settles} for one in outcomes], file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
