"""Assignment of bottlenecks to flows, and its effect on stability (Zhang 2008, section VI.4).

A *bottleneck* of a flow is a full link on which no flow has a larger rate (definition 6). An *assignment* maps each
flow to the link of its route whose signal it follows. The flow is *responsive* on this link, and *unresponsive* on the
other links of its route. There it disturbs the responsive flows. Each disturbance is an edge `s -> r` of the
*dependency graph*. An assignment is *consistent* if this graph has no cycle. Links then settle one after another. Such
a network is stable if each link is stable with its responsive flows (lemmas 17 and 18, theorem 14).

Flows and links are identified by their index.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelflow.theory.arrays import Bools, Floats, Ints
from levelflow.theory.errors import TheoryError
from levelflow.theory.networks.routes import Routes, crossing_matrix, read_capacities, read_crossings
from levelflow.theory.validate import LARGEST_WHOLE, explained, read_each, read_number, read_whole


class AssignmentError(TheoryError):
    """Assigned bottlenecks that are not on the routes, or rates that are not numbers."""


class InconsistentError(AssignmentError):
    """Assignment with a cycle in the dependency graph, where a consistent assignment is needed."""


@explained
def bottleneck_sets(
    routes: Routes,
    capacities: ArrayLike,
    rates: ArrayLike,
    weights: ArrayLike = 1.0,
    tolerance: float = 1e-9,
) -> list[list[int]]:
    """Returns all bottlenecks of each flow (definition 6), in ascending order.

    Feasible rates are max-min fair if and only if every flow has a bottleneck.

    Args:
        routes: per flow, the indices of the links that it crosses.
        capacities: per link.
        rates: per flow, in the unit of the capacities.
        weights: per flow; rates are divided by the weights before a comparison.
        tolerance: relative tolerance of both conditions: load equal to capacity, and rate equal to the largest rate.

    Raises:
        ParameterError: if there is not one rate for each flow, or a rate is negative, infinite or NaN.
        NetworkError: if the network is invalid, as for `levelflow.theory.networks.maxmin.maxmin`.

    >>> bottleneck_sets([[0, 1], [0], [1]], [10.0, 4.0], [2.0, 8.0, 2.0])
    [[1], [0], [1]]
    """
    capacity = read_capacities(capacities)
    weight = read_each("weight", weights, len(routes))
    flow, link, starts = read_crossings(routes, capacity.size)
    rate = read_each("rate", rates, len(routes), closed=True)
    used = np.bincount(link, weights=rate[flow], minlength=capacity.size)
    full = np.abs(used - capacity) <= tolerance * capacity
    level = rate / weight
    highest = np.zeros(capacity.size)
    np.maximum.at(highest, link, level[flow])
    limits = full[link] & (level[flow] >= highest[link] * (1 - tolerance))
    ends = starts.tolist()
    return [np.unique(link[first:last][limits[first:last]]).tolist() for first, last in itertools.pairwise(ends)]


@explained
def assign(routes: Routes, bottlenecks: ArrayLike, links: int | None = None) -> Assignment:
    """Returns the assignment with the given bottleneck of each flow.

    Args:
        routes: per flow, the indices of the links that it crosses.
        bottlenecks: per flow, one link of its route.
        links: number of links; by default, the largest index in the routes plus one.

    Raises:
        AssignmentError: if there is not one bottleneck per flow, or a bottleneck is not on the flow's route.
        RouteError: if a flow crosses no link or an unknown one.

    >>> fig_30 = assign([[0, 1], [1], [1, 2], [2]], [0, 1, 1, 2])
    >>> [(int(s), int(r)) for r, s in np.argwhere(fig_30.dependencies)], fig_30.cycle()
    ([(0, 1), (0, 2), (2, 3)], None)
    """
    count = max((max(route, default=0) for route in routes), default=-1) + 1 if links is None else links
    crosses = crossing_matrix(routes, count) > 0
    named = np.array(bottlenecks, dtype=np.float64)
    if named.shape != (len(routes),) or not (np.isfinite(named) & (named == np.round(named))).all():
        raise AssignmentError(f"{named.size} bottlenecks for {len(routes)} flows; needs the index of a link for each")
    limits = named.astype(np.int64)
    inside = (limits >= 0) & (limits < count)
    bad = np.flatnonzero(~(inside & crosses[np.arange(len(routes)), np.where(inside, limits, 0)]))
    if bad.size:
        raise AssignmentError(f"flow {bad[0]}: link {limits[bad[0]]} is not on its route {list(routes[bad[0]])}")
    return Assignment(crosses, limits)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A bottleneck for each flow; `assign` builds it from routes.

    Attributes:
        crosses: flows by links; True if the flow crosses the link.
        bottlenecks: per flow, the link whose signal it follows.
    """

    crosses: Bools
    bottlenecks: Ints

    @cached_property
    def links(self) -> list[int]:
        """Links that are the bottleneck of a flow, in ascending order."""
        return np.unique(self.bottlenecks).tolist()

    @cached_property
    def counts(self) -> Ints:
        """Number of responsive flows of each link."""
        return np.bincount(self.bottlenecks, minlength=self.crosses.shape[1])

    def responsive(self, link: int) -> Ints:
        """Returns the flows whose bottleneck is `link`."""
        return np.flatnonzero(self.bottlenecks == link)

    def unresponsive(self, link: int) -> Ints:
        """Returns the flows that cross `link` and have another bottleneck."""
        return np.flatnonzero(self.crosses[:, link] & (self.bottlenecks != link))

    @cached_property
    def dependencies(self) -> Bools:
        """Flows by flows; True at `r, s` if `s` crosses the bottleneck of `r`, but has another bottleneck."""
        return self.crosses.T[self.bottlenecks] & (self.bottlenecks[None, :] != self.bottlenecks[:, None])

    def graph(self) -> Any:
        """Returns the dependency graph, a `networkx.DiGraph` with an edge `s -> r` if flow `s` disturbs flow `r`."""
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.bottlenecks)))
        graph.add_edges_from((int(s), int(r)) for r, s in np.argwhere(self.dependencies))
        return graph

    @cached_property
    def precedence(self) -> Any:
        """A `networkx.DiGraph` of `links`, with an edge `k -> l` if a flow with the bottleneck `k` crosses `l`.

        This graph has a cycle if and only if the dependency graph has a cycle, and is much smaller.
        """
        import networkx as nx

        graph = nx.DiGraph()
        graph.add_nodes_from(self.links)
        flow, link = np.nonzero(self.crosses & (self.counts > 0))
        pairs = {*zip(self.bottlenecks[flow].tolist(), link.tolist(), strict=True)}
        graph.add_edges_from((here, there) for here, there in sorted(pairs) if here != there)
        return graph

    def cycle(self) -> list[int] | None:
        """Returns a cycle of flows, in which each flow disturbs the next; None if there is no cycle."""
        import networkx as nx

        try:
            edges = nx.find_cycle(self.precedence)
        except nx.NetworkXNoCycle:
            return None
        return [int(np.argmax((self.bottlenecks == here) & self.crosses[:, there])) for here, there in edges]

    @property
    def consistent(self) -> bool:
        """True if the dependency graph has no cycle."""
        import networkx as nx

        return bool(nx.is_directed_acyclic_graph(self.precedence))

    def layers(self) -> list[list[int]]:
        """Returns the links in the order in which they settle, grouped into layers that settle independently.

        No flow is unresponsive on the links of the first layer (lemma 18). After these links and their flows are
        removed, this also holds for the second layer, and so on.

        Raises:
            InconsistentError: if the assignment has a cycle. The message names the cycle.
        """
        import networkx as nx

        if not self.consistent:
            raise InconsistentError(
                f"flows {self.cycle()} disturb each other in a circle; needs a consistent assignment"
            )
        return [sorted(layer) for layer in nx.topological_generations(self.precedence)]

    def subsystems(self) -> list[tuple[int, Ints]]:
        """Returns each link with its responsive flows, in the order of `layers`.

        Raises:
            InconsistentError: if the assignment has a cycle. The message names the cycle.
        """
        return [(link, self.responsive(link)) for layer in self.layers() for link in layer]


@explained
def by_price(routes: Routes, prices: ArrayLike) -> Assignment:
    """Returns the assignment in which each flow follows the largest price that it received from its route (eq. 62).

    Among equal prices, the link with the lowest index is chosen, so all flows agree.

    Args:
        routes: per flow, the indices of the links that it crosses.
        prices: per link, or flows by links if flows received prices at different times.

    Raises:
        AssignmentError: if there is not one price per link, or a price is NaN.
        RouteError: if a flow crosses no link or an unknown one.

    >>> by_price([[0, 1], [0, 1]], [[0.2, 0.1], [0.1, 0.2]]).cycle()  # flow 1 has newer prices than flow 0
    [0, 1]
    """
    seen = np.array(prices, dtype=np.float64)
    if seen.ndim not in {1, 2} or seen.shape[:-1] not in {(), (len(routes),)} or np.isnan(seen).any():
        raise AssignmentError(f"prices of shape {seen.shape} are not allowed; needs one per link, or flows by links")
    links = seen.shape[-1]
    crosses = crossing_matrix(routes, links) > 0
    # A price of minus infinity also selects a link of the route.
    offered = np.where(crosses, np.broadcast_to(seen, crosses.shape), -np.inf)
    largest = crosses & (offered == offered.max(axis=1, initial=-np.inf, keepdims=True))
    return Assignment(crosses, largest.argmax(axis=1))


def settle(assignment: Assignment, rates_on: Callable[[int, Ints, float], ArrayLike]) -> Floats:
    """Returns the equilibrium rates, link after link. On later links, settled flows are a constant load.

    Args:
        assignment: the bottleneck of each flow.
        rates_on: maps a link, its responsive flows and the load of its other flows to the rates of the responsive
            flows.

    Raises:
        InconsistentError: if links depend on each other in a cycle.

    >>> half = assign([[0, 1], [0], [1]], [0, 0, 1])
    >>> settle(half, lambda link, flows, load: ([4.0, 10.0][link] - load) / flows.size).tolist()
    [2.0, 2.0, 8.0]
    """
    rates = np.zeros(len(assignment.bottlenecks))
    for link, flows in assignment.subsystems():
        rates[flows] = rates_on(link, flows, float(rates[assignment.unresponsive(link)].sum()))
    return rates


@explained
def random_routes(random: np.random.Generator, flows: int, links: int, shortest: int, longest: int) -> list[list[int]]:
    """Returns routes without repeated links. All lengths and all links are equally likely.

    Raises:
        AssignmentError: unless `1 <= shortest <= longest <= links`.
    """
    for name, value in {"flows": flows, "links": links, "shortest": shortest, "longest": longest}.items():
        read_whole(name, read_number(name, value, closed=True))
    if not 1 <= shortest <= longest <= links:
        raise AssignmentError(f"routes of {shortest} to {longest} of {links} links are not allowed; needs 1 to {links}")
    lengths = random.integers(shortest, longest + 1, flows)
    return [random.choice(links, length, replace=False).tolist() for length in lengths]


def random_assignment(random: np.random.Generator, routes: Routes) -> Assignment:
    """Returns an assignment that draws a link of each route uniformly. The assignment is rarely consistent."""
    read_crossings(routes, LARGEST_WHOLE)
    return assign(routes, [route[int(random.integers(len(route)))] for route in routes])


def random_consistent(random: np.random.Generator, routes: Routes) -> Assignment:
    """Returns an assignment from a random order of all links: each flow follows its first link in this order."""
    if not read_crossings(routes, LARGEST_WHOLE)[1].size:
        raise AssignmentError("an empty list of routes is not allowed; needs at least one route")
    rank = random.permutation(max(max(route) for route in routes) + 1)
    return assign(routes, [min(route, key=lambda link: rank[link]) for route in routes])


@explained
def jacobian(assignment: Assignment, own: ArrayLike, among: ArrayLike, others: ArrayLike) -> Floats:
    """Returns the derivatives of the rate of flow `r` with respect to the rate of flow `s`, as flows by flows.

    Args:
        assignment: the bottleneck of each flow.
        own: addend for `r = s`, per flow or for all flows.
        among: addend for flows `s` with the bottleneck of `r`, including `r` itself.
        others: addend for flows `s` that are unresponsive at the bottleneck of `r`.
    """
    count = len(assignment.bottlenecks)
    same = assignment.bottlenecks[:, None] == assignment.bottlenecks[None, :]
    diagonal, here, there = (
        read_each(name, part, count, -np.inf)
        for name, part in (("own part", own), ("part among", among), ("part of others", others))
    )
    return np.diag(diagonal) + here[:, None] * same + there[:, None] * assignment.dependencies


@explained
def jetmax_jacobian(assignment: Assignment, tau: float) -> Floats:
    """Returns the Jacobian of JetMax, `(1 - tau) I - tau U` (eq. 133 and 134), at any rates.

    For each `s` that disturbs `r`, the element of `U` is 1 divided by the number of flows with the bottleneck of `r`.
    """
    tau = read_number("tau", tau, -np.inf)
    return jacobian(assignment, 1 - tau, 0.0, -tau / assignment.counts[assignment.bottlenecks])


@explained
def spectrum(assignment: Assignment, matrix: ArrayLike) -> NDArray[np.complex128]:
    """Returns the eigenvalues of a Jacobian, link by link if the assignment is consistent.

    In the order of `Assignment.subsystems`, the matrix is block-triangular, so its eigenvalues are those of the blocks.
    Eigenvalues computed from the whole matrix would be inaccurate if the matrix is far from normal.

    Raises:
        AssignmentError: if the matrix is not flows by flows and finite, or the rate of a flow depends on a flow that
            does not cross its bottleneck.
    """
    whole = np.array(matrix, dtype=np.float64)
    count = len(assignment.bottlenecks)
    if whole.shape != (count, count) or not np.isfinite(whole).all():
        raise AssignmentError(f"a matrix of shape {whole.shape} is not allowed; needs {count} x {count} finite numbers")
    stray = np.argwhere((whole != 0) & ~assignment.crosses.T[assignment.bottlenecks])
    if stray.size:
        raise AssignmentError(
            f"flow {stray[0, 0]} cannot depend on flow {stray[0, 1]}, which does not cross its bottleneck"
        )
    if not assignment.consistent:
        return np.linalg.eigvals(whole).astype(np.complex128)
    blocks = [whole[np.ix_(flows, flows)] for _, flows in assignment.subsystems()]
    return np.concatenate([np.zeros(0, np.complex128), *(np.linalg.eigvals(block) for block in blocks)])


@explained
def spectral_radius(assignment: Assignment, matrix: ArrayLike) -> float:
    """Returns the largest modulus of the `spectrum`. If it is below 1, the system without delays is stable.

    >>> circle = assign([[0, 1], [0, 1], [0, 1]], [0, 0, 1])  # each disturbs those on the other link
    >>> round(spectral_radius(circle, jetmax_jacobian(circle, 0.6)), 12)
    1.0
    """
    return float(np.abs(spectrum(assignment, matrix)).max(initial=0.0))
