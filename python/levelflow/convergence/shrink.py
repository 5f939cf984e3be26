"""Reduction steps of failing networks. Each step removes or simplifies flows or links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from levelflow.convergence.network import Flow, Link, Network

#: Link delay in ms and capacity in Mb/s of the simplest network.
PLAIN_MS, PLAIN_MBPS = 10.0, 10.0


def size(network: Network) -> tuple[float, ...]:
    """Returns the sort key for network size: flows, links, hops, late starts and stops, delays, capacity digits."""
    hops = sum(len(flow.hops) for flow in network.flows)
    late = sum(flow.start_s > 0 for flow in network.flows) + sum(flow.stop_s is not None for flow in network.flows)
    unequal = sum(link.ms != PLAIN_MS for link in network.links)
    digits = sum(len(f"{link.mbps:g}") + (link.mbps != PLAIN_MBPS) for link in network.links)
    return len(network.flows), len(network.links), hops, late, unequal, digits


def smaller(network: Network) -> Iterator[Network]:
    """Yields the networks after each possible reduction step, the largest reductions first."""
    part = len(network.flows)
    while part := part // 2:
        for first in range(0, len(network.flows), part):
            yield from _with(network, (*network.flows[:first], *network.flows[first + part :]))
    for link in network.links:
        yield from _contracted(network, link)
    for number, flow in enumerate(network.flows):
        if len(flow.route) > 2:
            yield from _instead(network, number, replace(flow, route=flow.route[1:]))
            yield from _instead(network, number, replace(flow, route=flow.route[:-1]))
    yield replace(network, flows=tuple(replace(flow, start_s=0.0) for flow in network.flows))
    for number, flow in enumerate(network.flows):
        yield from _instead(network, number, replace(flow, start_s=0.0))
        yield from _instead(network, number, replace(flow, stop_s=None))
    yield replace(network, links=tuple(replace(link, ms=PLAIN_MS) for link in network.links))
    for number, link in enumerate(network.links):
        for other in (replace(link, ms=PLAIN_MS), *(replace(link, mbps=mbps) for mbps in rounder(link.mbps))):
            yield replace(network, links=(*network.links[:number], other, *network.links[number + 1 :]))


def rounder(mbps: float) -> list[float]:
    """Returns nearby capacities with fewer digits.

    >>> rounder(12.37)
    [10.0, 12.0, 12.4]
    """
    near = [PLAIN_MBPS, *(float(f"{mbps:.{digits}g}") for digits in (1, 2, 3))]
    return [value for value in dict.fromkeys(near) if value != mbps]


def _instead(network: Network, number: int, flow: Flow) -> Iterator[Network]:
    """Yields the network with flow `number` replaced by `flow`."""
    return _with(network, (*network.flows[:number], flow, *network.flows[number + 1 :]))


def _with(network: Network, flows: tuple[Flow, ...]) -> Iterator[Network]:
    """Yields the network with these flows and without unused links. Yields nothing if no flow is permanent."""
    if any(flow.stop_s is None for flow in flows):
        crossed = {frozenset(hop) for flow in flows for hop in flow.hops}
        yield Network(tuple(link for link in network.links if frozenset(link.ends) in crossed), flows)


def _contracted(network: Network, gone: Link) -> Iterator[Network]:
    """Yields the network with the ends of a link merged into one node, without flows that crossed only this link.

    Parallel links become one link. Yields nothing if a flow would cross a node twice.
    """
    kept, merged = gone.ends

    def renamed(nodes: tuple[int, ...]) -> tuple[int, ...]:
        names = [kept if node == merged else node for node in nodes]
        return tuple(name for number, name in enumerate(names) if number == 0 or name != names[number - 1])

    links: dict[frozenset[int], Link] = {}
    for link in network.links:
        here, *there = renamed(link.ends)
        if there:
            links.setdefault(frozenset((here, *there)), replace(link, ends=(here, there[0])))
    flows = [replace(flow, route=renamed(flow.route)) for flow in network.flows]
    flows = [flow for flow in flows if len(flow.route) > 1]
    if all(len(set(flow.route)) == len(flow.route) for flow in flows):
        yield from _with(replace(network, links=tuple(links.values())), tuple(flows))
