"""Convictions of honest flows by policing routers on random networks: `python -m experiments.police`.

Prints a table in Markdown: for each law, the number of networks and flows, the number of convictions, and the largest
debt of a flow. A flow with a debt of 100 % is convicted.
"""

from __future__ import annotations

import argparse
import random
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from levelflow import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

LAWS = ("jetmax", "level", "rcp", "xcp", "sperc")
"""Laws of the table."""
NETWORKS = 40
"""Number of networks per law."""
DURATION = 30
"""Duration of a run, s."""


def _between(draw: random.Random, low: float, high: float) -> float:
    """Draws a number whose logarithm is uniform."""
    return float(low * (high / low) ** draw.random())


def _link(draw: random.Random) -> dict[str, Any]:
    """Draws the capacity, delay, buffer and faults of a link."""
    capacity = _between(draw, 1, 100)
    buffer = 2000 + capacity * 125e3 * _between(draw, 0.01, 0.25)
    keys: dict[str, Any] = {"buffer": f"{buffer:.0f} B", "duplex": True, "police": True}
    if draw.random() < 0.3:
        keys["jitter"] = f"{_between(draw, 0.1, 30):.3g} ms"
    if draw.random() < 0.2:
        keys["loss"] = f"{_between(draw, 0.01, 3):.3g} %"
    if draw.random() < 0.3:
        keys["changes"] = [
            {"at": f"{at} s", "capacity": f"{capacity * _between(draw, 0.25, 1):.4g} Mb/s"}
            for at in sorted(draw.sample(range(1, DURATION), 3))
        ]
    return {"capacity": f"{capacity:.4g} Mb/s", "delay": f"{_between(draw, 0.5, 50):.3g} ms", **keys}


def _traffic(draw: random.Random) -> dict[str, Any]:
    """Draws the start, the end and the application of flows."""
    keys: dict[str, Any] = {"count": draw.randint(1, 5), "start": {"uniform": ["0 s", f"{draw.randint(1, 15)} s"]}}
    kind = draw.random()
    if kind < 0.15:
        keys["application"] = {"rate": f"{_between(draw, 0.05, 5):.3g} Mb/s"}
    elif kind < 0.3:
        on, off = (f"{_between(draw, 0.05, 3):.3g} s" for _ in range(2))
        keys["application"] = {"on_off": {"rate": f"{_between(draw, 0.2, 20):.3g} Mb/s", "on": on, "off": off}}
    elif kind < 0.45:
        keys["lifetime"] = {"uniform": ["0.5 s", "10 s"]}
    elif kind < 0.6:
        keys["size"] = f"{_between(draw, 0.05, 10):.3g} MB"
    return keys


def network(law: str, seed: int) -> Scenario:
    """Returns a random network of honest flows."""
    draw = random.Random(seed)
    scenario = Scenario("honest", f"{DURATION} s", seed=seed)
    nodes = [f"n{i}" for i in range(draw.randint(2, 6))]
    for here, there in pairwise(nodes):
        scenario.link(here, there, **_link(draw))
    for i in range(draw.randint(2, 6)):
        a, b = draw.sample(range(len(nodes)), 2)
        scenario.flow(f"x{i}", law, nodes[min(a, b)], nodes[max(a, b)], **_traffic(draw))
    if draw.random() < 0.3:
        other = draw.choice(["cubic", "cbr"])
        scenario.flow(
            "other",
            {"cbr": {"rate": f"{_between(draw, 0.2, 5):.3g} Mb/s"}} if other == "cbr" else other,
            nodes[0],
            nodes[-1],
            start=f"{draw.randint(0, 15)} s",
            stop=f"{draw.randint(16, 29)} s",
        )
    return scenario


def row(law: str, networks: int) -> str:
    """Returns the row of a law."""
    flows = convictions = 0
    debt = 0.0
    for seed in range(networks):
        result = network(law, seed).run()
        for link in result.summary["links"]:
            if police := link.get("police"):
                convictions += police["convictions"]
                debt = max(debt, police["largest_debt"])
        flows += sum(flow["started"] for flow in result.summary["flows"] if flow["name"] != "other")
    return f"| {law} | {networks} | {flows} | {convictions} | {100 * debt:.0f} % |"


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.police", description=__doc__)
    parser.add_argument("--law", choices=LAWS, help="only this law")
    parser.add_argument("--networks", type=int, default=NETWORKS, help="number of networks per law")
    options = parser.parse_args(arguments)
    print("| law | networks | flows | convictions | largest debt |\n|---|---|---|---|---|")
    for law in [options.law] if options.law else LAWS:
        print(row(law, options.networks), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
