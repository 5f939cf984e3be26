"""Verifies statements on bottlenecks in networks: max-min rates, dependencies between flows, and stability."""

from dataclasses import replace

import numpy as np

from levelflow.reproduce.verdict import Noted
from levelflow.theory.laws import emkc
from levelflow.theory.networks.assignment import (
    bottleneck_sets,
    by_price,
    random_consistent,
    random_routes,
    spectral_radius,
    spectrum,
)
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.networks.membership import EQUATIONS, Batch, rest
from levelflow.theory.networks.paths import scattered
from levelflow.theory.stability.equations import integrate
from zhang_models import jetmax_choice, mkc_network

RANDOM = 1
NETWORKS, QUICK_NETWORKS, FLOWS, LINKS = 500, 100, 50, 10
SMALL = 10, 5  # flows and links; some of these small networks settle by theorem 16's equations alone
LOOKS = 1000


def networks(count, flows=FLOWS, links=LINKS, longest=5):
    random = np.random.default_rng(RANDOM)
    for _ in range(count):
        yield random, random_routes(random, flows, links, 1, longest), random.uniform(1, 100, links)


def definition_6(count):
    """Definition 6: verifies that every flow has a bottleneck at max-min rates, and only at these rates."""
    fair, others = [], []
    for random, routes, capacities in networks(count):
        rates = maxmin(routes, capacities)
        fair.append(all(bottleneck_sets(routes, capacities, rates)))
        modest = rates * np.where(np.arange(FLOWS) == random.integers(FLOWS), 0.5, 1)
        weighted = maxmin(routes, capacities, 10 ** random.uniform(-1, 1, FLOWS))
        for other in (modest, weighted):
            lacks = not all(bottleneck_sets(routes, capacities, other))
            others.append(lacks and not np.allclose(other, rates))
    return {
        "every_flow_has_a_bottleneck_under_maxmin": all(fair),
        "allocation_without_that_property_is_not_maxmin": all(others),
    }


def at_rest(count):
    """Yields assignments by the largest price at EMKC's equilibrium, and assignments by a common order of links."""
    for random, routes, capacities in networks(count):
        ratio = 10 ** random.uniform(-2, 1)
        resting = emkc.equilibrium(routes, capacities, alpha_over_beta=ratio)
        if resting.residual > 1e-9:
            raise ArithmeticError("EMKC does not rest there")
        yield by_price(routes, resting.signals)
        yield random_consistent(random, routes)


def lemmas_17_and_18(count):
    found = list(at_rest(count))
    acyclic = [assignment.cycle() is None for assignment in found]
    clean = [any(not assignment.unresponsive(link).size for link in assignment.links) for assignment in found]
    return {"lemma17": {"acyclic_share": float(np.mean(acyclic))}, "lemma18": {"exists_clean_router": all(clean)}}


def theorem_14(count, flows=12, links=5):
    """Theorem 14: the spectrum of a network is the union of its links' spectra. If each link is stable, the network is
    stable under delay.
    """
    same, agree, apart, wanted = [], [], [], {True: count // 2, False: count // 2}  # half stable and half unstable
    random = np.random.default_rng(RANDOM)
    while len(agree) < count:
        routes = random_routes(random, flows, links, 1, 3)
        capacities, alpha, beta = (
            random.uniform(5, 20, links),
            random.uniform(0.1, 1, flows),
            random.uniform(1, 6) * random.uniform(0.05, 1, flows),
        )
        assignment = random_consistent(random, routes)
        rates = mkc_network.rest(assignment, capacities, alpha / beta)
        matrix = mkc_network.jacobian(assignment, capacities, rates, beta)
        radius = spectral_radius(assignment, matrix)
        if abs(radius - 1) < 0.05 or wanted[radius < 1] == 0:
            continue
        wanted[radius < 1] -= 1
        blocks = [matrix[np.ix_(own, own)] for _, own in assignment.subsystems()]
        apart.append(np.count_nonzero(matrix) == sum(map(np.count_nonzero, blocks)))
        points = 3 * np.exp(2j * np.pi * random.random(20))
        whole = [np.linalg.det(point * np.eye(flows) - matrix) for point in points]
        parts = [np.prod([np.linalg.det(point * np.eye(len(b)) - b) for b in blocks]) for point in points]
        same.append(np.allclose(whole, parts, rtol=1e-9) and spectrum(assignment, matrix).size == flows)
        returns = [
            comes_back(assignment, scattered(routes, links, longest, random), rates, capacities, (alpha, beta), longest)
            for longest in (1, 5)
        ]
        agree.append(all(returns) == (radius < 1))
    return {
        "spectrum_equals_union_of_link_spectra": all(same),
        "verdict_agreement": float(np.mean(agree)),
        "share_with_block_diagonal_jacobian": float(np.mean(apart)),
    }


def comes_back(assignment, network, rates, capacities, gains, longest):
    """True if a small deviation shrinks to a tenth within 120 round trips."""
    start = rates * (1 + 1e-6 * np.cos(np.arange(rates.size)))
    end = mkc_network.iterate(network, assignment, start, 120 * longest, capacities, gains).rates[-1]
    return bool(np.abs(end / rates - 1).max() < 1e-7)


def signals(oscillating, duration=120.0, step=0.01):
    """Prices of two links over time, as solutions of differential equations."""
    if not oscillating:
        final = np.array([0.1, 0.15])
        return integrate(lambda _, p, __: (final - p) / 5, [0.0, -0.15], duration, step=step)
    speed = 2 * np.pi / PERIOD

    def turn(t, state, past):
        deviation, slope = state
        return np.array([slope, -(speed**2) * deviation])

    went = integrate(turn, [[0.0, 0.0], [0.05 * speed, -0.05 * speed]], duration, step=step)
    return went._replace(states=0.1 + went.states[:, 0])


PERIOD = 6.0


def looks(went):
    """Returns the times in s at which the first flow reads the prices, and the resulting assignments of bottlenecks.

    The second flow reads prices half a period later.
    """
    first = np.arange(PERIOD / 4, went.times[-1] - PERIOD / 2, PERIOD)
    seen = [
        [went.states[np.searchsorted(went.times, time)] for time in (moment, moment + PERIOD / 2)] for moment in first
    ]
    return first, [by_price([[0, 1], [0, 1]], prices) for prices in seen]


def drawn_looks(went):
    """Fraction of pairs of flows that select different bottlenecks, if both read the prices at random times in the last
    period.
    """
    random = np.random.default_rng(RANDOM)
    moments = np.searchsorted(went.times, went.times[-1] - PERIOD * random.random((LOOKS, 2)))
    pairs = [by_price([[0, 1], [0, 1]], went.states[pair]) for pair in moments]
    return float(np.mean([not assignment.consistent for assignment in pairs]))


def corollary_7():
    rising, turning = signals(False), signals(True)
    monotone, swinging = looks(rising)[1], looks(turning)[1]
    healed = monotone[-1].consistent and set(monotone[-1].bottlenecks) == {1}
    cycles = all(not assignment.consistent for assignment in swinging)
    return {
        name: Noted(holds, f"of flows that look at random moments, {drawn_looks(went):.0%} disagree in the end")
        for name, holds, went in (
            ("final_assignment_agrees[a]", healed, rising),
            ("cycle_persists[b]", cycles, turning),
        )
    }


def settled(count, **words):
    """Per network, number of steps to equilibrium (-1 if not reached), and the largest relative error of a rate."""
    found = []
    for random, routes, targets in networks(count):
        result = jetmax_choice.settle(routes, targets, 10 ** random.uniform(-3, 2, FLOWS), **words)
        found.append((result.steps, np.abs(result.rates / maxmin(routes, targets) - 1).max()))
    return np.array(found).T


def plainly(count, most=3000):
    """Describes the convergence of networks under the law of the paper, without our additions."""
    steps, errors = settled(count, ready=1.0, zero=1e-12, most=most)
    rest, other = errors[steps > 0], errors[steps < 0]
    return (
        f"where all flows move at once and only prices below 1e-12 count as 0, {rest.size} of the first {count} "
        f"networks rest within {most} steps, to {rest.max():.0e} at max-min rates; errors of the others: "
        + (", ".join(f"{error:.1g}" for error in other) or "none")
    )


def in_step(count, flows, links):
    """Random networks in which each flow may change in every round."""
    drawn = [(routes, targets) for _, routes, targets in networks(count, flows, links)]
    routes, targets = zip(*drawn, strict=True)
    return Batch(routes, np.array(targets), np.ones(flows, dtype=np.int64))


def printed(batch, **rules):
    """Returns, per network under eq 133-136 as printed, True if it settles, and its distance from max-min rates."""
    found = rest(replace(EQUATIONS, **rules), batch, rounds=400, longest=60)
    return ~found.moves & (found.period == 1), found.distance


def theorem_16(count, plain):
    small = in_step(count, *SMALL)
    resting, errors = printed(small)
    many, _ = printed(in_step(count, FLOWS, LINKS))
    banded = {zero: printed(small, eps_p=zero)[0].mean() for zero in (0.01, 0.05)}
    steps, added = settled(count)
    return {
        "max_rel_error_vs_waterfill": Noted(
            errors[resting].max(), f"{resting.sum()} of {resting.size} networks settle; the others are left out"
        ),
        "share_that_comes_to_rest": Noted(
            [resting.mean(), many.mean()],
            "where prices up to a band count as zero, of the smaller networks "
            + " and ".join(f"{share:.0%} (band {zero:g})" for zero, share in banded.items()),
        ),
        "max_rel_error_vs_waterfill_with_additions": Noted(
            float(added.max()) if (steps > 0).all() else float("inf"), plainly(plain)
        ),
    }


def measure(figure):
    count = figure.draws(NETWORKS, quick=QUICK_NETWORKS)
    return {
        "bottleneck-def6": definition_6(count),
        **lemmas_17_and_18(count),
        "thm14": theorem_14(figure.draws(40, quick=20)),
        "cor7-fig31": corollary_7(),
        "jetmax-thm16": theorem_16(count, plain=figure.draws(50, quick=20)),
    }


def plot(figure, canvas):
    for axes, oscillating in zip(canvas.subplots(1, 2, sharey=True), (False, True), strict=True):
        went = signals(oscillating, 40.0)
        for link, p in enumerate(went.states.T, 1):
            axes.plot(went.times, p, label=f"price of link {link}")
        times, found = looks(signals(oscillating))
        for flow, (offset, marker) in enumerate(((0.0, "o"), (PERIOD / 2, "s"))):
            at = times[times < 35] + offset
            heard = [
                went.states[np.searchsorted(went.times, t), a.bottlenecks[flow]]
                for t, a in zip(at, found, strict=False)
            ]
            axes.plot(at, heard, marker, color="black", fillstyle="none", label=f"read by flow {flow + 1}")
        axes.set(xlabel="time (s)", title="flows agree in the end" if not oscillating else "the cycle persists")
    axes.legend()
    canvas.suptitle("Fig 31: two flows that read prices at different times")
