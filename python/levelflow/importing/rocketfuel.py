"""Latencies and weights of Rocketfuel (`latencies.intra`, `weights.intra`): lines of two nodes and a number.

Latencies are in milliseconds (Mahajan, Spring, Wetherall, Anderson 2002, "Inferring link weights using end-to-end
measurements"; archive `weights-dist`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from levelflow.importing.source import Source
    from levelflow.topology.graphs import Graph

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def recognise(source: Source) -> bool:
    """Returns True if the file is a `.intra` file, or each of its first lines has two names and a number."""
    head = source.head
    are_edges = (len(words) == 3 and _NUMBER.fullmatch(words[2]) and not _NUMBER.fullmatch(words[0]) for words in head)
    return source.path.suffix == ".intra" or (bool(head) and all(are_edges))


def are_weights(source: Source) -> bool:
    """Returns True if the file has weights rather than latencies."""
    return "weight" in source.path.name.lower()


def read(source: Source, weights: Source | None = None) -> Graph:
    """Returns a directed graph with `delay` as text and, from a second file, `weight`.

    Raises:
        ScenarioError: If a line is invalid, or the second file has a link that the first one lacks.
    """
    edges = _edges(source)
    weight_of = _edges(weights) if weights else {}
    for ends, (line, number) in weight_of.items():
        if weights and ends not in edges:
            weights.fail(line, f"{source.path} has no link from {source.quoted(ends[0])} to {source.quoted(ends[1])}")
        if weights and not float(number):
            weights.fail(line, "a weight is 0; allowed: above 0")
    graph = nx.MultiDiGraph()
    for (a, b), (_, number) in edges.items():
        weight = {"weight": float(weight_of[a, b][1])} if (a, b) in weight_of else {}
        graph.add_edge(a, b, delay=f"{number} ms", **weight)
    return graph


def _edges(source: Source) -> dict[tuple[str, str], tuple[int, str]]:
    """Returns the line and the number of each link."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for line, words in source.lines():
        if len(words) != 3 or not _NUMBER.fullmatch(words[2]):
            source.fail(line, "needs two nodes and a number")
        a, b, number = words
        if not (a + b).isprintable():
            source.fail(line, "has a node with control characters")
        if a == b:
            source.fail(line, f"node {source.quoted(a)} is linked to itself")
        if (a, b) in found:
            source.fail(line, f"the link from {source.quoted(a)} to {source.quoted(b)} is there twice")
        found[a, b] = line, number
    if not found:
        source.fail(0, "has no link")
    return found
