"""Verifies the dependency graphs and the Jacobian of JetMax for assignments of bottlenecks to flows."""

from itertools import combinations, product

import numpy as np

from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.networks.assignment import (
    assign,
    bottleneck_sets,
    jetmax_jacobian,
    random_assignment,
    random_consistent,
    random_routes,
    spectral_radius,
)
from levelflow.theory.networks.maxmin import rates_and_bottlenecks
from levelflow.theory.pictures.graphs import draw_dependencies

TAU = 0.6
FLOWS, LINKS = 50, 10
NETWORKS, QUICK_NETWORKS = 2000, 500
RANDOM = 1

BOTTLENECKS = [0, 1, 1, 2]
EXAMPLE = assign([[0, 1], [1], [1, 2], [2]], BOTTLENECKS)


def acyclic_by_max_min(draws=40):
    """True if no graph has a cycle, among all routes over three links with the given bottlenecks at max-min rates."""
    random = np.random.default_rng(RANDOM)
    ways = [[way for n in (1, 2, 3) for way in combinations(range(3), n) if b in way] for b in BOTTLENECKS]
    wanted, found = [[b] for b in BOTTLENECKS], []
    for routes in product(*ways):
        for capacities in random.uniform(1, 10, (draws, 3)):
            rates, limits = rates_and_bottlenecks(routes, capacities)
            if limits.tolist() == BOTTLENECKS and bottleneck_sets(routes, capacities, rates) == wanted:
                found.append(assign(routes, BOTTLENECKS).consistent)
                break
    if len(found) < 2 or all(assign(routes, BOTTLENECKS).consistent for routes in product(*ways)):
        raise ArithmeticError("the routes decide nothing")
    return all(found)


def radii(count):
    """Spectral radii of consistent assignments, by one order of all links, and of random inconsistent assignments."""
    random = np.random.default_rng(RANDOM)
    found = {True: [], False: []}
    for _ in range(count):
        routes = random_routes(random, FLOWS, LINKS, 2, 5)
        for assignment in (random_consistent(random, routes), random_assignment(random, routes)):
            found[assignment.consistent].append(spectral_radius(assignment, jetmax_jacobian(assignment, TAU)))
    return found[True], found[False]


def measure(figure):
    consistent, inconsistent = radii(figure.draws(NETWORKS, quick=QUICK_NETWORKS))
    return {
        "dependency-graph-fig30": {
            "graph_acyclic": EXAMPLE.consistent and acyclic_by_max_min(),
            "edges": sorted(f"x{s + 1}->x{r + 1}" for s, r in EXAMPLE.graph().edges),
        },
        "jetmax-fig32": {
            "spectral_radius[consistent]": [min(consistent), max(consistent)],
            "share_rho_above_1[inconsistent]": float(np.mean(np.array(inconsistent) > 1)),
            "spectral_radius_max[inconsistent,paths_2..5]": max(inconsistent),
        },
    }


def plot(figure, canvas):
    upper, lower = canvas.subfigures(2, 1, height_ratios=[2, 3])
    draw_dependencies(upper, EXAMPLE, ["x1", "x2", "x3", "x4"], ["link 1", "link 2", "link 3"])
    axes = lower.subplots()
    consistent, inconsistent = radii(300)
    axes.plot(np.linspace(0, 1, len(inconsistent)), sorted(inconsistent), label="inconsistent assignments")
    axes.plot(np.linspace(0, 1, len(consistent)), sorted(consistent), label="consistent assignments")
    axes.axhline(1, color="grey", linewidth=1)
    axes.set(xlabel="share of the assignments", ylabel="spectral radius", title="JetMax, tau = 0.6 (fig 32)")
    draw_expected(axes, figure, "jetmax-fig32[0]")
    draw_expected(axes, figure, "jetmax-fig32[2]")
