"""Families of random networks, drawn from a seed and identical for every law.

The capacity of a link is its number of flows in the busier direction, times a capacity per flow from `MBPS_PER_FLOW`.
Therefore the fair share of a link does not depend on its number of flows. The smallest fair share is ten packets in
40 ms, which is more than the initial rate of any law. The longest round-trip time of a network is drawn, and determines
the scale of its link delays. A network is redrawn if its run would need more than `MAX_PACKET_HOPS`.
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
#: Ends of links, routes of flows, and capacities in Mb/s. If capacities are None, `placed` draws them.
Drawn = tuple[list[Edge], list[tuple[int, ...]], list[float] | None]

#: Ranges of the number of links and the number of flows of a network.
LINKS, FLOWS = (3, 100), (2, 1000)
#: Range of a link's capacity per flow, Mb/s.
MBPS_PER_FLOW = (2.0, 10.0)
#: Range of the longest round-trip time of a network, s.
ROUND_TRIP_S = (0.001, 2.0)
#: Limit on the expected number of link crossings of packets in a run.
MAX_PACKET_HOPS = 4e6
#: Period in which flows arrive and leave, in steps (see `levelflow.convergence.trial`).
ARRIVAL_STEPS = 20
MODES = ("at once", "come and go")


def spread(draw: Draw, low: float, high: float) -> float:
    """Draws a number whose logarithm is uniform."""
    return float(low * (high / low) ** draw.uniform())


def whole(draw: Draw, low: int, high: int) -> int:
    """Draws a whole number whose logarithm is approximately uniform."""
    return int(spread(draw, low, high + 1))


def line(draw: Draw) -> Drawn:
    """Draws a line of links. Each flow crosses up to 6 consecutive links."""
    links = whole(draw, *LINKS)
    return [(i, i + 1) for i in range(links)], [stretch(draw, links, 6) for _ in range(whole(draw, *FLOWS))], None


def tree(draw: Draw) -> Drawn:
    """Draws a random tree. Flows connect random pairs of nodes."""
    nodes = whole(draw, *LINKS) + 1
    edges = [(int(draw.integers(node)), node) for node in range(1, nodes)]
    return edges, routes(draw, edges, nodes), None


def mesh(draw: Draw) -> Drawn:
    """Draws a random tree and adds half as many random links. Routes minimise the number of links."""
    links = whole(draw, *LINKS)
    nodes = max(3, 1 + 2 * links // 3)
    edges = [(int(draw.integers(node)), node) for node in range(1, nodes)]
    others = [(i, j) for j in range(nodes) for i in range(j) if (i, j) not in set(edges)]
    extra = draw.permutation(len(others))[: links - len(edges)]
    edges += [others[number] for number in extra]
    return edges, routes(draw, edges, nodes), None


def chain(draw: Draw) -> Drawn:
    """Draws a line with as many bottleneck levels as links.

    Fair rates increase from link to link. Each level depends on the previous level, because flows cross pairs of
    adjacent links.
    """
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
    """Draws a line of links with equal capacity per flow, within 1 %."""
    edges, flows, _ = line(draw)
    return edges, flows, tied(draw, edges, flows)


def lot(draw: Draw) -> Drawn:
    """Draws a parking lot: one flow over all links, and cross traffic on each link."""
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
    """Draws capacities that are equal per flow within 1 %."""
    count = crossings([list(pairwise(flow)) for flow in flows])
    share = spread(draw, *MBPS_PER_FLOW)
    return [max(count[edge], 1) * share * float(draw.uniform(0.99, 1.01)) for edge in edges]


def stretch(draw: Draw, links: int, most: int) -> tuple[int, ...]:
    """Draws a route over at most `most` consecutive links of a line."""
    length = int(draw.integers(1, min(most, links) + 1))
    first = int(draw.integers(0, links - length + 1))
    return tuple(range(first, first + length + 1))


def routes(draw: Draw, edges: list[Edge], nodes: int) -> list[tuple[int, ...]]:
    """Draws random pairs of nodes and returns a shortest route between the nodes of each pair."""
    adjacent = neighbours(edges)
    found: dict[int, dict[int, tuple[int, ...]]] = {}
    flows = []
    for _ in range(whole(draw, *FLOWS)):
        here, there = (int(node) for node in draw.choice(nodes, 2, replace=False))
        flows.append(
            found.setdefault(here, {}).get(there) or found[here].setdefault(there, shortest(adjacent, here, there))
        )
    return flows


def neighbours(edges: list[Edge]) -> dict[int, list[int]]:
    """Returns the adjacent nodes of each node."""
    adjacent = defaultdict(list)
    for here, there in edges:
        adjacent[here].append(there)
        adjacent[there].append(here)
    return adjacent


def shortest(adjacent: dict[int, list[int]], here: int, there: int) -> tuple[int, ...]:
    """Returns a route with the fewest links from the node `here` to the node `there`."""
    reached, ahead = {there: there}, [there]
    while here not in reached:
        ahead = [near for node in ahead for near in adjacent[node] if reached.setdefault(near, node) == node]
    route = [here]
    while route[-1] != there:
        route.append(reached[route[-1]])
    return tuple(route)


def placed(draw: Draw, drawn: Drawn, round_trip_s: tuple[float, float] = ROUND_TRIP_S) -> Network:
    """Returns a network with drawn link delays, and drawn capacities if they are None. All flows start at time 0.

    The longest round-trip time is drawn from `round_trip_s`.
    """
    edges, flows, capacities = drawn
    hops = [list(pairwise(flow)) for flow in flows]
    count = crossings(hops)
    capacities = capacities or [spread(draw, *MBPS_PER_FLOW) * max(count[edge], 1) for edge in edges]
    delays = {edge: spread(draw, 1, 10) for edge in edges}
    longest = max(sum(delays[min(hop), max(hop)] for hop in flow) for flow in hops)
    scale = 1e3 * spread(draw, *round_trip_s) / 2 / longest
    links = [
        Link(edge, round(mbps, 6), round(delays[edge] * scale, 6)) for edge, mbps in zip(edges, capacities, strict=True)
    ]
    return Network(tuple(links), tuple(Flow(flow) for flow in flows))


def busy(draw: Draw, network: Network) -> Network:
    """Draws start times of all flows. Adds half as many temporary flows on the routes of other flows."""
    end = ARRIVAL_STEPS * network.step_s
    staying = [replace(flow, start_s=round(draw.uniform(0, end), 6)) for flow in network.flows]
    leaving = []
    for number in draw.choice(len(staying), (len(staying) + 1) // 2, replace=False):
        start, stop = sorted(draw.uniform(0, end, 2).tolist())
        leaving.append(Flow(staying[number].route, round(start, 6), round(stop + 1e-6, 6)))
    return replace(network, flows=(*staying, *leaving))


def network(family: str, seed: int) -> tuple[str, Network]:
    """Returns the mode and the network of a family and a seed.

    With an even seed, all flows start at time 0. With an odd seed, flows arrive and leave.
    """
    draw = np.random.default_rng([list(FAMILIES).index(family), seed])
    while True:
        mode = MODES[seed % 2]
        found = placed(draw, FAMILIES[family](draw))
        found = busy(draw, found) if mode == MODES[1] else found
        if found.packet_hops <= MAX_PACKET_HOPS:
            return mode, found
