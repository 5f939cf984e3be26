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


def _instead(network: Network, number: int, flow: Flow) -> Iterator[Network]:
    """The network with another flow in place of one."""
    return _with(network, (*network.flows[:number], flow, *network.flows[number + 1 :]))


def _with(network: Network, flows: tuple[Flow, ...]) -> Iterator[Network]:
    """The network with these flows, and without links that none of them crosses."""
    if any(flow.stop_s is None for flow in flows):
        crossed = {frozenset(hop) for flow in flows for hop in flow.hops}
        yield Network(tuple(link for link in network.links if frozenset(link.ends) in crossed), flows)


def _contracted(network: Network, gone: Link) -> Iterator[Network]:
    """The network in which the ends of a link are one node; flows that crossed nothing else go with it.

    Of links that then have the same ends, one stays. There is none where a flow would pass a node twice.
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
