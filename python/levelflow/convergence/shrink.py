"""Smaller networks: every step takes something away, so that what still fails after the last is as small as it gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from levelflow.convergence.network import Flow, Link, Network

#: What delays and capacities are in the simplest network, ms and Mb/s.
PLAIN_MS, PLAIN_MBPS = 10.0, 10.0


def size(network: Network) -> tuple[float, ...]:
    """Says which of two networks is the smaller one: fewer flows, fewer links, shorter paths, fewer odd numbers."""
    hops = sum(len(flow.hops) for flow in network.flows)
    late = sum(flow.start_s > 0 for flow in network.flows) + sum(flow.stop_s is not None for flow in network.flows)
    unequal = sum(link.ms != PLAIN_MS for link in network.links)
    digits = sum(len(f"{link.mbps:g}") + (link.mbps != PLAIN_MBPS) for link in network.links)
    return len(network.flows), len(network.links), hops, late, unequal, digits


def smaller(network: Network) -> Iterator[Network]:
    """Gives networks that are smaller by one step, those first that are smaller by most."""
    for number in range(len(network.flows)):
        yield from _without(network, number, None)
    for link in network.links:
        yield from _contracted(network, link)
    for number, flow in enumerate(network.flows):
        if len(flow.route) > 2:
            yield from _without(network, number, replace(flow, route=flow.route[1:]))
            yield from _without(network, number, replace(flow, route=flow.route[:-1]))
    yield replace(network, flows=tuple(replace(flow, start_s=0.0) for flow in network.flows))
    for number, flow in enumerate(network.flows):
        yield from _without(network, number, replace(flow, start_s=0.0))
        yield from _without(network, number, replace(flow, stop_s=None))
    yield replace(network, links=tuple(replace(link, ms=PLAIN_MS) for link in network.links))
    for number, link in enumerate(network.links):
        for other in (replace(link, ms=PLAIN_MS), *(replace(link, mbps=mbps) for mbps in rounder(link.mbps))):
            yield replace(network, links=(*network.links[:number], other, *network.links[number + 1 :]))


def rounder(mbps: float) -> list[float]:
    """Numbers near this one that have fewer digits.

    >>> rounder(12.37)
    [10.0, 12.0, 12.4]
    """
    near = [PLAIN_MBPS, *(float(f"{mbps:.{digits}g}") for digits in (1, 2, 3))]
    return [value for value in dict.fromkeys(near) if value != mbps]


def shrunk(network: Network, fails: Callable[[Network], bool]) -> Network:
    """Returns a network that fails while none that is smaller by one step does.

    Args:
        network: one that fails.
        fails: says whether another one does.
    """
    while True:
        for other in smaller(network):
            if size(other) < size(network) and fails(other):
                network = other
                break
        else:
            return network


def _without(network: Network, number: int, instead: Flow | None) -> Iterator[Network]:
    """The network with another flow in place of one, or none, and without links that nobody crosses then."""
    flows = (*network.flows[:number], *([instead] if instead else []), *network.flows[number + 1 :])
    if any(flow.stop_s is None for flow in flows):
        crossed = {frozenset(hop) for flow in flows for hop in flow.hops}
        yield Network(tuple(link for link in network.links if frozenset(link.ends) in crossed), flows)


def _contracted(network: Network, gone: Link) -> Iterator[Network]:
    """The network in which the ends of a link are one node; flows that crossed nothing else go with it."""
    kept, merged = gone.ends

    def renamed(node: int) -> int:
        return kept if node == merged else node

    links = [
        replace(link, ends=(renamed(link.ends[0]), renamed(link.ends[1]))) for link in network.links if link != gone
    ]
    flows = []
    for flow in network.flows:
        nodes = [renamed(node) for node in flow.route]
        route = tuple(node for number, node in enumerate(nodes) if number == 0 or node != nodes[number - 1])
        if len(route) > 1:
            flows.append(replace(flow, route=route))
    if any(flow.stop_s is None for flow in flows):
        yield Network(tuple(links), tuple(flows))
