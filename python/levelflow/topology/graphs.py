"""Graph generators. Nodes with a `host` attribute send and receive traffic."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import networkx as nx

from levelflow._core import ScenarioError
from levelflow.words import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

Graph = Any  # networkx has no types
MOST_LINKS = 1_000_000


def dumbbell(pairs: int) -> Graph:
    """Returns a dumbbell: one link, with `pairs` hosts on its left and `pairs` hosts on its right."""
    graph = _of_links([("left", "right")])
    for side in ("left", "right"):
        _hosts(graph, side, [f"{side}{number}" for number in range(1, pairs + 1)])
    return graph


def parking_lot(links: int) -> Graph:
    """Returns routers in a row, connected by `links` links, with a host at each router."""
    graph = _of_links(list(pairwise(f"r{number}" for number in range(links + 1))))
    for number in range(links + 1):
        _hosts(graph, f"r{number}", [f"h{number}"])
    return graph


def star(hosts: int) -> Graph:
    """Returns hosts connected to one switch."""
    graph = nx.Graph()
    _hosts(graph, "switch", [f"h{number}" for number in range(1, hosts + 1)])
    return graph


def leaf_spine(leaves: int, spines: int, hosts: int) -> Graph:
    """Returns a leaf-spine network: each leaf has a link to each spine, and `hosts` hosts."""
    graph = _of_links([(f"leaf{i}", f"spine{j}") for i, j in product(range(1, leaves + 1), range(1, spines + 1))])
    for leaf in range(1, leaves + 1):
        _hosts(graph, f"leaf{leaf}", [f"h{leaf}-{number}" for number in range(1, hosts + 1)])
    return graph


def fat_tree(k: int) -> Graph:
    """Returns a fat tree of switches with k ports (Al-Fares, Loukissas, Vahdat 2008): k pods, k^3/4 hosts.

    Raises:
        ScenarioError: if k is odd.
    """
    if k % 2:
        raise ScenarioError(f"fat-tree:{k}: k must be even, as half of the ports of a switch lead up")
    half = k // 2
    graph = nx.Graph()
    for pod, edge in product(range(k), range(half)):
        _hosts(graph, f"e{pod}-{edge}", [f"h{pod}-{edge}-{number}" for number in range(half)])
        graph.add_edges_from((f"e{pod}-{edge}", f"a{pod}-{up}") for up in range(half))
    for pod, up, core in product(range(k), range(half), range(half)):
        graph.add_edge(f"a{pod}-{up}", f"c{up}-{core}")
    return graph


def waxman(nodes: int, seed: int) -> Graph:
    """Returns the largest connected part of a Waxman graph (1988): random nodes in a square, and mostly short links."""
    graph = nx.waxman_graph(nodes, beta=0.6, alpha=0.2, L=1.0, seed=seed)
    if not graph.number_of_edges():
        raise ScenarioError(f"waxman:{nodes}: no links with seed {seed}; take more nodes, or another seed")
    return _named(graph.subgraph(max(nx.connected_components(graph), key=len)))


def random_regular(nodes: int, degree: int, seed: int) -> Graph:
    """Returns a random connected graph in which each node has `degree` links.

    Raises:
        ScenarioError: if no such graph exists.
    """
    if degree >= nodes or degree < 2 or nodes * degree % 2:
        rule = "needs a degree of 2 or more, below the number of nodes, and an even product of nodes and degree"
        raise ScenarioError(f"random-regular:{nodes}x{degree}: {rule}")
    for attempt in range(100):
        graph = nx.random_regular_graph(degree, nodes, seed=seed + 1000 * attempt)
        if nx.is_connected(graph):
            return _named(graph)
    raise ScenarioError(f"random-regular:{nodes}x{degree}: no connected graph in 100 draws; take a larger degree")


#: Generator of each kind, names of its arguments, and True if it is random.
KINDS: dict[str, tuple[Callable[..., Graph], tuple[str, ...], bool]] = {
    "dumbbell": (dumbbell, ("pairs",), False),
    "parking-lot": (parking_lot, ("links",), False),
    "star": (star, ("hosts",), False),
    "leaf-spine": (leaf_spine, ("leaves", "spines", "hosts"), False),
    "fat-tree": (fat_tree, ("k",), False),
    "waxman": (waxman, ("nodes",), True),
    "random-regular": (random_regular, ("nodes", "degree"), True),
}


def generate(text: str, seed: int = 1) -> Graph:
    """Returns the graph described by a text, such as `fat-tree:8` or `leaf-spine:4x2x16`.

    Raises:
        ScenarioError: if the kind is unknown. The message has one line.
    """
    kind, _, numbers = text.partition(":")
    if kind not in KINDS:
        raise ScenarioError(f"{text}: no such file or topology; {nearest(kind, list(KINDS))}")
    make, what, drawn = KINDS[kind]
    given = numbers.split("x") if numbers else []
    if len(given) != len(what) or not all(
        one.isascii() and one.isdigit() and 1 <= int(one) <= 100_000 for one in given
    ):
        raise ScenarioError(
            f"{text}: needs {'x'.join(one.upper() for one in what)}, each 1 to 100000, as in {kind}:{_example(what)}"
        )
    values = [int(one) for one in given]
    if _links(kind, values) > MOST_LINKS:
        raise ScenarioError(f"{text}: has more than {MOST_LINKS:,} links")
    return make(*values, seed) if drawn else make(*values)


def _links(kind: str, values: list[int]) -> int:
    """Returns an estimate of the number of links of a graph."""
    a, b, c = (*values, 0, 0)[:3]
    return {
        "leaf-spine": a * b + a * c,
        "fat-tree": 3 * a**3 // 4,
        "waxman": a * a // 8,
        "random-regular": a * b // 2,
    }.get(kind, 2 * a + 1)


def _example(what: tuple[str, ...]) -> str:
    return "x".join("8842"[: len(what)])


def _of_links(links: list[tuple[str, str]]) -> Graph:
    graph = nx.Graph()
    graph.add_edges_from(links)
    return graph


def _hosts(graph: Graph, at: str, names: list[str]) -> None:
    for name in names:
        graph.add_node(name, host=True)
        graph.add_edge(at, name)


def _named(graph: Graph) -> Graph:
    return nx.relabel_nodes(graph, {node: f"n{node}" for node in graph})
