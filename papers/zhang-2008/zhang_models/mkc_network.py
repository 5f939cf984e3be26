"""MKC in a network in which each flow keeps its bottleneck (Zhang 2008, section VI.4.2).

    x_r(n) = (1 - beta_r p_r(n - backward delay)) x_r(n - D_r) + alpha_r    (131)
    p_r(n) = p(sum of x_s(n - forward delay) over all s that cross b_r)     (132)

The price is that of EMKC, `p = 1 - C/y`. Theorem 14 is about networks with a consistent assignment of bottlenecks. Such
a network is stable under any delays if and only if each link is stable with its responsive flows and a constant load of
other flows. Rates and capacities are in the same unit, of any size; `alpha` is in this unit per step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from levelflow.theory.arrays import Floats, Ints
from levelflow.theory.laws import emkc
from levelflow.theory.laws.shared import mkc
from levelflow.theory.networks import assignment as assignments
from levelflow.theory.networks.assignment import Assignment
from levelflow.theory.networks.paths import Paths, Run, run
from levelflow.theory.networks.routes import read_capacities
from levelflow.theory.validate import explained, read_each


def rest(assignment: Assignment, capacities: ArrayLike, alpha_over_beta: ArrayLike) -> Floats:
    """Returns the equilibrium rates of flows, computed link by link.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        ParameterError: if a ratio is not positive and finite.
        InconsistentError: if the assignment has a cycle.

    >>> from levelflow.theory.networks.assignment import assign
    >>> rest(assign([[0], [0]], [0, 0]), [10.0], 1.0).round(9).tolist()
    [6.0, 6.0]
    """
    capacity = read_capacities(capacities)
    ratio = read_each("alpha over beta", alpha_over_beta, len(assignment.bottlenecks))

    def rates_on(link: int, flows: Ints, load: float) -> Floats:
        return mkc.fixed_point(lambda own: 1 - capacity[link] / (own + load), ratio[flows], flows.size)

    return assignments.settle(assignment, rates_on)


@explained
def jacobian(assignment: Assignment, capacities: ArrayLike, rates: ArrayLike, beta: ArrayLike) -> Floats:
    """Returns the undelayed Jacobian at these rates, of shape (flows, flows).

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        ParameterError: if a rate or a gain is not positive and finite.
    """
    capacity = read_capacities(capacities)
    rate = read_each("rate", rates, len(assignment.bottlenecks))
    gain = read_each("beta", beta, rate.size)
    loads = (rate @ assignment.crosses)[assignment.bottlenecks]
    limit = capacity[assignment.bottlenecks]
    felt = -gain * rate * limit / loads**2
    return assignments.jacobian(assignment, 1 - gain * emkc.price(loads, limit), felt, felt)


@explained
def iterate(
    network: Paths,
    assignment: Assignment,
    start: ArrayLike,
    steps: int,
    capacities: ArrayLike,
    gains: tuple[ArrayLike, ArrayLike],
) -> Run:
    """Iterates eq 131 and 132.

    Args:
        network: paths and delays.
        assignment: bottleneck of each flow.
        start: rates of flows up to step 0.
        steps: number of steps.
        capacities: capacity of each link.
        gains: `alpha` and `beta`, either as one number for all flows or as one per flow.

    Raises:
        CapacityError: if a capacity is negative, infinite or NaN.
        ParameterError: if a gain, a rate or the number of steps is not allowed.
    """
    flows = len(assignment.bottlenecks)
    capacity, who = read_capacities(capacities), np.arange(flows)
    alpha, beta = read_each("alpha", gains[0], flows, closed=True), read_each("beta", gains[1], flows)

    def senders(_: Floats, reference: Floats, heard: Floats) -> Floats:
        return mkc.sender(reference, heard[who, assignment.bottlenecks], alpha, beta)

    def routers(received: Floats, memory: Floats) -> tuple[Floats, Floats]:
        return emkc.price(received.sum(axis=0), capacity), memory

    return run(network, start, steps, senders, routers)
