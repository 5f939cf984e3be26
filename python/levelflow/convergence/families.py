"""Random networks, family by family: drawn from a seed, the same for every law.

The capacity of a link is a share of `SHARE` for each flow that crosses it, in the direction that more of them do: rates
matter, not capacities. Shares this large are ten packets in 40 ms, and the first rate of no law here fills them. The
longest round trip is drawn, and delays of links are parts of it. A network whose run would take more than
`MOST_PACKET_HOPS` is drawn anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from levelflow.convergence.network import Flow, Link, Network, crossings

Draw = np.random.Generator
Edge = tuple[int, int]
#: Ends of links, routes of flows, and capacities, Mb/s, unless shares are drawn.
Drawn = tuple[list[Edge], list[tuple[int, ...]], list[float] | None]

LINKS, FLOWS = (3, 100), (2, 1000)
#: Of a link's capacity for each of its flows, Mb/s.
SHARE = (2.0, 10.0)
ROUND_TRIP_S = (0.001, 2.0)
MOST_PACKET_HOPS = 4e6
#: How long flows come and go, in steps.
COMING_AND_GOING = 20
MODES = ("at once", "come and go")


def spread(draw: Draw, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return float(low * (high / low) ** draw.uniform())


def whole(draw: Draw, low: int, high: int) -> int:
    """A whole number whose logarithm is about uniform."""
    return int(spread(draw, low, high + 1))


def line(draw: Draw) -> Drawn:
    """Links in a row; flows cross up to 6."""
    links = whole(draw, *LINKS)
    return [(i, i + 1) for i in range(links)], [stretch(draw, links, 6) for _ in range(whole(draw, *FLOWS))], None


def tree(draw: Draw) -> Drawn:
    """A random tree; flows from any node to any other."""
    nodes = whole(draw, *LINKS) + 1
    edges = [(int(draw.integers(node)), node) for node in range(1, nodes)]
    return edges, routes(draw, edges, nodes), None


def mesh(draw: Draw) -> Drawn:
    """A random tree and half as many links again between random nodes; flows take the fewest links."""
    links = whole(draw, *LINKS)
    nodes = max(3, 1 + 2 * links // 3)
    edges = [(int(draw.integers(node)), node) for node in range(1, nodes)]
    others = [(i, j) for j in range(nodes) for i in range(j) if (i, j) not in set(edges)]
    extra = draw.permutation(len(others))[: links - len(edges)]
    edges += [others[number] for number in extra]
    return edges, routes(draw, edges, nodes), None


def chain(draw: Draw) -> Drawn:
    """As many levels of bottlenecks as links: rates grow from link to link, and flows on each pair hang links on it."""
    links = whole(draw, *LINKS)
    alone = [int(draw.integers(1, 4)) for _ in range(links)]
    pairs = [int(draw.integers(1, 4)) for _ in range(links - 1)] + [0]
    rates = np.geomspace(1.0, 10.0, links)
    before = np.array([0.0, *(count * rate for count, rate in zip(pairs[:-1], rates[:-1], strict=True))])
    capacities = (before + (np.array(alone) + pairs) * rates).tolist()
    flows: list[tuple[int, ...]] = [(i, i + 1) for i in range(links) for _ in range(alone[i])]
    flows += [(i, i + 1, i + 2) for i in range(links - 1) for _ in range(pairs[i])]
    return [(i, i + 1) for i in range(links)], flows, capacities


def ties(draw: Draw) -> Drawn:
    """A line whose links have nearly the same share for each flow that crosses them: within 1 %."""
    edges, flows, _ = line(draw)
    return edges, flows, tied(draw, edges, flows)


def lot(draw: Draw) -> Drawn:
    """A parking lot: one flow over all links, and some on each."""
    links = whole(draw, *LINKS)
    most = whole(draw, 1, max(FLOWS[1] // links - 1, 1))
    flows = [(i, i + 1) for i in range(links) for _ in range(int(draw.integers(1, most + 1)))]
    return [(i, i + 1) for i in range(links)], [tuple(range(links + 1)), *flows], None


FAMILIES: dict[str, Callable[[Draw], Drawn]] = {
    "line": line,
    "tree": tree,
    "mesh": mesh,
    "chain": chain,
    "ties": ties,
    "lot": lot,
}


def tied(draw: Draw, edges: list[Edge], flows: list[tuple[int, ...]]) -> list[float]:
    """Capacities that are the same for each flow that crosses a link, within 1 %."""
    count = crossings([list(pairwise(flow)) for flow in flows])
    share = spread(draw, *SHARE)
    return [max(count[edge], 1) * share * float(draw.uniform(0.99, 1.01)) for edge in edges]


def stretch(draw: Draw, links: int, most: int) -> tuple[int, ...]:
    """A part of a line."""
    length = int(draw.integers(1, min(most, links) + 1))
    first = int(draw.integers(0, links - length + 1))
    return tuple(range(first, first + length + 1))


def routes(draw: Draw, edges: list[Edge], nodes: int) -> list[tuple[int, ...]]:
    """Shortest routes between random pairs of nodes."""
    beside = neighbours(edges)
    found: dict[int, dict[int, tuple[int, ...]]] = {}
    flows = []
    for _ in range(whole(draw, *FLOWS)):
        here, there = (int(node) for node in draw.choice(nodes, 2, replace=False))
        flows.append(
            found.setdefault(here, {}).get(there) or found[here].setdefault(there, shortest(beside, here, there))
        )
    return flows


def neighbours(edges: list[Edge]) -> dict[int, list[int]]:
    """The nodes that links join to each node."""
    beside = defaultdict(list)
    for here, there in edges:
        beside[here].append(there)
        beside[there].append(here)
    return beside


def shortest(beside: dict[int, list[int]], here: int, there: int) -> tuple[int, ...]:
    """The route of the fewest links."""
    reached, ahead = {there: there}, [there]
    while here not in reached:
        ahead = [near for node in ahead for near in beside[node] if reached.setdefault(near, node) == node]
    route = [here]
    while route[-1] != there:
        route.append(reached[route[-1]])
    return tuple(route)


def placed(draw: Draw, drawn: Drawn, round_trip_s: tuple[float, float] = ROUND_TRIP_S) -> Network:
    """Gives links their capacities, and delays for a longest round trip from this range; all flows begin at once."""
    edges, flows, capacities = drawn
    hops = [list(pairwise(flow)) for flow in flows]
    count = crossings(hops)
    capacities = capacities or [spread(draw, *SHARE) * max(count[edge], 1) for edge in edges]
    delays = {edge: spread(draw, 1, 10) for edge in edges}
    longest = max(sum(delays[min(hop), max(hop)] for hop in flow) for flow in hops)
    scale = 1e3 * spread(draw, *round_trip_s) / 2 / longest
    links = [
        Link(edge, round(mbps, 6), round(delays[edge] * scale, 6)) for edge, mbps in zip(edges, capacities, strict=True)
    ]
    return Network(tuple(links), tuple(Flow(flow) for flow in flows))


def busy(draw: Draw, network: Network) -> Network:
    """Lets flows begin at random, and half as many others come and go, over routes of the same kind."""
    end = COMING_AND_GOING * network.step_s
    staying = [replace(flow, start_s=round(draw.uniform(0, end), 6)) for flow in network.flows]
    leaving = []
    for number in draw.choice(len(staying), (len(staying) + 1) // 2, replace=False):
        start, stop = sorted(draw.uniform(0, end, 2).tolist())
        leaving.append(Flow(staying[number].route, round(start, 6), round(stop + 1e-6, 6)))
    return replace(network, flows=(*staying, *leaving))


def network(family: str, seed: int) -> tuple[str, Network]:
    """Returns mode and network of a family and a seed: flows of even seeds begin at once, others come and go."""
    draw = np.random.default_rng([list(FAMILIES).index(family), seed])
    while True:
        mode = MODES[seed % 2]
        found = placed(draw, FAMILIES[family](draw))
        found = busy(draw, found) if mode == MODES[1] else found
        if found.packet_hops <= MOST_PACKET_HOPS:
            return mode, found
