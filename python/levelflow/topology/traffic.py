"""Traffic matrices, as pairs of senders and receivers."""

from __future__ import annotations

import json
import math
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING, Any

from levelflow import _core
from levelflow._core import ScenarioError
from levelflow.words import nearest

if TYPE_CHECKING:
    from levelflow.scenario import Scenario
    from levelflow.topology.graphs import Graph

MATRICES = ("all-to-all", "permutation", "incast", "gravity", "random")
MOST_FLOWS = 1_000_000
#: Largest load of the busiest link, relative to its service rate.
MOST_LOAD = 10.0


def pairs(graph: Graph, matrix: str, flows: int | None = None, seed: int = 1) -> list[tuple[str, str]]:
    """Returns pairs of senders and receivers, among nodes with `host`, or among all nodes if no node has it.

    Args:
        graph: networkx graph.
        matrix: one of `MATRICES`. In `permutation`, each node sends to one node and receives from one node. In
            `incast`, all other nodes send to the first node. In `gravity`, the probability of a pair is proportional to
            the product of the degrees of its nodes. In `random`, all pairs are equally likely.
        flows: number of flows, for gravity and random; by default the number of nodes.
        seed: seed of the random draws.

    Raises:
        ScenarioError: if the matrix does not exist, or there are too few nodes.
    """
    if matrix not in MATRICES:
        raise ScenarioError(f"--traffic {matrix}: {nearest(matrix, list(MATRICES))}")
    ends = [str(node) for node, values in graph.nodes(data=True) if values.get("host")] or list(map(str, graph))
    if len(ends) < 2:
        raise ScenarioError(f"--traffic {matrix}: needs two nodes; there {'is one' if ends else 'are none'}")
    if flows is not None and matrix not in {"gravity", "random"}:
        raise ScenarioError(f"--flows: nodes determine the flows of {matrix}; allowed with gravity and random")
    count = math.perm(len(ends), 2) if matrix == "all-to-all" else flows or len(ends)
    if count > MOST_FLOWS:
        raise ScenarioError(f"--traffic {matrix}: {count:,} flows; allowed: {MOST_FLOWS:,}")
    draw = Random(seed)
    if matrix == "all-to-all":
        return list(permutations(ends, 2))
    if matrix == "permutation":
        return _derangement(ends, draw)
    if matrix == "incast":
        return [(end, ends[0]) for end in ends[1:]]
    degree = {str(node): count for node, count in graph.degree()}
    mass = [degree[end] if matrix == "gravity" else 1 for end in ends]
    found: list[tuple[str, str]] = []
    while len(found) < count:
        a, b = draw.choices(ends, mass, k=2)
        if a != b:
            found.append((a, b))
    return found


def _derangement(ends: list[str], draw: Random) -> list[tuple[str, str]]:
    """Returns a random permutation without a node that is its own partner; needs about 2.7 draws on average."""
    while True:
        others = draw.sample(ends, len(ends))
        if all(a != b for a, b in zip(ends, others, strict=True)):
            return list(zip(ends, others, strict=True))


def scale(scenario: Scenario, load: float) -> Scenario:
    """Scales the arrivals of all flow entries to a given load of the busiest link, relative to its service rate.

    Entries without `arrivals` get Poisson arrivals of equal rate.

    Args:
        scenario: scenario whose flow entries have a size.
        load: load of the busiest link, such as 0.8 for 80 %.

    Raises:
        ScenarioError: if the scenario is invalid, no entry has a size, or arrivals are at fixed times.
    """
    if not 0 < load <= MOST_LOAD:
        hint = f"; did you mean {load:g}%?" if 0 < load / 100 <= MOST_LOAD else ""
        raise ScenarioError(f"--load {load:g}: is out of range; allowed: above 0 to {MOST_LOAD:g}{hint}")
    for flow in scenario.raw.get("flow", []):
        flow.setdefault("arrivals", {"poisson": "1 /s"})
        if "size" not in flow:
            hint = "write e.g. --set 'flow.*.size={exponential=\"50 kB\"}'"
            raise ScenarioError(f"--load: flow {flow['name']} has no size, so its load is unlimited; {hint}")
    _, most = busiest(scenario)
    if not most:
        raise ScenarioError("--load: no flow entry offers load, or its link has a service rate of 0")
    raw = json.dumps(scenario.raw)
    scenario.raw = json.loads(_core.scale_arrivals(raw, load / most))
    return scenario


def busiest(scenario: Scenario) -> tuple[str, float]:
    """Returns the most loaded link and its load relative to its service rate. The load is 0 if no flow offers any."""
    links = scenario.resolve()["links"]
    load, name = max((link["offered_load"] or 0.0, link["name"]) for link in links)
    return name, load


def add(scenario: Scenario, between: list[tuple[str, str]], law: str, **options: Any) -> Scenario:
    """Adds a flow entry for each pair; `options` are keys of `[[flow]]`, such as `size` and `arrivals`."""
    seen: dict[tuple[str, str], int] = {}
    for a, b in between:
        number = seen[a, b] = seen.get((a, b), 0) + 1
        name = f"{a}->{b}" if number == 1 else f"{a}->{b} {number}"
        scenario.flow(name, law, a, b, **options)
    return scenario
