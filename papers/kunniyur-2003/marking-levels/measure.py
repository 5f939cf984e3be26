"""Marking levels of links without loss (section V)."""

from dataclasses import fields, replace
from functools import cache

import numpy as np

from kunniyur_models.fluid import Network, random_network, run, run_adaptive
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws.ks import Users, best
from levelflow.theory.queues.marking import LevelError, alone_on_a_link, excess_share, marking_levels

N, CAPACITY, SHORT = 10, 100.0, 20.0  # proposition 4: log users, link, load of short flows
PERIOD = 200.0
NETWORKS, QUICK_NETWORKS = 1200, 400  # networks drawn for proposition 3; 105 and 34 of these have levels
#: Proposition 5 and section V-D: users with utilities log x and -1/x over two links.
ROUTES = [[0]] * 8 + [[1]] * 6 + [[0, 1]] * 6 + [[0]] * 5 + [[1]] * 5
EXPONENTS = [0.0] * 20 + [1.0] * 10
LINKS, BETA = np.array([60.0, 40.0]), 2.0
ARRIVALS = 4.0  # short flows per unit of time, each with a mean duration of 1


def single_link():
    cases = ((5, 90.0), (20, 60.0), (100, 20.0))
    totals = [best([[0]] * n, [level], Users(), 0.5, marks=True).rates.sum() for n, level in cases]
    *met, above = (best([[0]] * 20, [level], Users(), 0.5, marks=True).rates.sum() for level in (59.9, 40.0, 60.1))
    if not excess_share(CAPACITY, above) > 0:
        raise ArithmeticError("a level above that of the condition loses nothing, either")
    return {
        "total_rate": Against(totals, [level + n / 0.5 for n, level in cases]),
        "loss_rate": excess_share(CAPACITY, met).tolist(),
    }


def levels_of(network, case):
    """Returns the levels of proposition 3 (with equality) for one network of a batch; None if a link has no level."""
    routes = [np.flatnonzero(column).tolist() for column in network.crossings[case].T]
    weights, exponents = network.users.weights[case], network.users.exponents[case]
    try:
        return marking_levels(routes, network.capacities[case], beta=network.beta, weights=weights, exponents=exponents)
    except LevelError:
        return None


def no_loss(drawn):
    """Returns the largest `load/capacity` in random networks, with the levels for equality in (27) and with lower
    levels.
    """
    networks = random_network(5, 8, seed=4, batch=(drawn,), marks=True)
    levels = {case: found for case in range(drawn) if (found := levels_of(networks, case)) is not None}
    cases, highest = list(levels), np.array(list(levels.values()))
    own = {field.name: getattr(networks.users, field.name) for field in fields(Users)}
    users = Users(**{name: values[cases] for name, values in own.items() if name != "kept"})
    marked = replace(networks, crossings=networks.crossings[cases], capacities=highest, users=users)
    lower = replace(marked, capacities=highest * np.random.default_rng(4).uniform(0.01, 1.0, highest.shape))
    return [float((each.loads(each.rest()) / networks.capacities[cases]).max()) for each in (marked, lower)]


def bound():
    """Returns the number of violations of lemma 1: samples in which a link carries more in a perturbed network than
    alone.
    """
    networks = random_network(4, 6, seed=5, batch=(20,), exponents=(0.0,), marks=True)
    random = np.random.default_rng(5)
    networks = replace(networks, users=replace(networks.users, kept=1.0, gains=1.0))
    networks = replace(networks, capacities=networks.capacities * random.uniform(0.5, 1.0, networks.capacities.shape))
    loads = random.uniform(0.0, 5.0, (11, *networks.capacities.shape))
    start = random.uniform(0.1, 5.0, (20, 6))
    went = run(networks, start, 100.0, step=0.02, foreign=lambda time: loads[int(time // 10)], every=5)
    found, first = networks.loads(went.states), networks.loads(start)
    weights = networks.loads(networks.users.weights)
    violations = 0
    for case in np.ndindex(first.shape):
        if weights[case]:
            alone = alone_on_a_link(went.times, first[case], networks.capacities[case], weights[case], networks.beta)
            violations += int((found[:, *case] > alone * (1 + 1e-6)).sum())
    return violations


@cache
def with_short_flows(beta):
    """Simulates ten log users and short flows on a link.

    Returns:
        Times, and load relative to the capacity, by time, level (printed or corrected) and short flows (constant or
        square wave). At a jump of the short flows, the load is the value just after the jump.
    """
    # Eq 35 as printed: without beta, and with the marking rate at the full capacity.
    printed = CAPACITY * (1 - N / (CAPACITY - SHORT))
    corrected = marking_levels([[0]] * N, [CAPACITY], beta=beta, unresponsive=SHORT)[0]
    levels = np.broadcast_to(np.reshape([printed, corrected], (2, 1, 1)), (2, 2, 1))
    network = Network(np.ones((1, N)), levels, Users(), beta, marks=True)

    def short(time):
        return np.array([[SHORT], [SHORT * ((time // (PERIOD / 2)) % 2)]])

    went = run(network, np.full(N, CAPACITY / N), 4 * PERIOD, step=0.1, foreign=short)
    after = network.loads(went.states[:-1]) + np.array([short(time) for time in went.times[1:]])[:, None]
    return went.times[1:], after[..., 0] / CAPACITY


def largest_loads(beta):
    times, loads = with_short_flows(beta)
    return loads[times > 2 * PERIOD].max(axis=0)


def short_flows():
    (printed, corrected), (printed_half, corrected_half) = largest_loads(1.0), largest_loads(0.5)
    return {
        "limsup_load_over_capacity[corrected condition, constant and square-wave xi]": [*corrected, *corrected_half],
        "limsup_load_over_capacity[printed condition, beta = 1, square wave xi = 0/20]": printed[1],
        "limsup_load_over_capacity[printed condition, beta = 0.5, constant xi = 20]": printed_half[0],
        "limsup_load_over_capacity[condition (35) as printed, both]": [printed[1], printed_half[0]],
    }


def poisson_flows():
    """Returns the mean load of each link relative to its capacity, with random short flows and levels for their mean
    load.
    """
    levels = marking_levels(ROUTES, LINKS, beta=BETA, exponents=EXPONENTS, unresponsive=ARRIVALS)
    network = Network.of_routes(ROUTES, levels, Users(exponents=EXPONENTS, gains=0.1), BETA, marks=True)
    random = np.random.default_rng(6)
    step, duration = 0.1, 2000.0
    steps = round(duration / step) + 1
    come = random.poisson(ARRIVALS * step, (steps, LINKS.size))
    present = np.empty((steps, LINKS.size))
    present[0] = random.poisson(ARRIVALS, LINKS.size)
    stay = np.exp(-step)
    for n in range(1, steps):
        present[n] = random.binomial(present[n - 1].astype(int), stay) + come[n]
    went = run(network, network.rest(), duration, step=step, foreign=lambda time: present[round(time / step)])
    load = network.loads(went.states) + present
    return (load[load.shape[0] // 3 :].mean(axis=0) / LINKS).tolist()


def networks_of_marks(control):
    return random_network(4, 6, seed=7, batch=(20,), control=control, marks=True)


def settled(networks, *optima):
    """Returns, for each optimum, the largest relative deviation of the steady-state rates from it."""
    start = np.random.default_rng(7).uniform(0.1, 5.0, (20, 6))
    rates = run(networks, start, 200.0, step=0.05, every=100).states[-1]
    return [np.abs(rates / optimum - 1).max() for optimum in optima]


def only_marks(control):
    """Returns the errors of mark-responsive users relative to the optimum of (42) or (43): with C~, and with C as
    printed.
    """
    networks = networks_of_marks(control)
    return settled(networks, networks.rest(), replace(networks, capacities=1 / 0.9 * networks.capacities).rest())


def received():
    """Returns the error relative to the optimum of (42) with C~, if `z` is the rate of received unmarked packets."""
    networks = networks_of_marks("rate")
    # In this case, alpha (x - z) = alpha (1 - alpha + alpha share) x. This is (9) and (10) with w/alpha, including
    # losses.
    users = networks.users
    losses = replace(networks, marks=False, users=replace(users, weights=users.weights / users.kept))
    return settled(losses, networks.rest())[0]


def change_by_losses():
    def rates(exponent, kept):
        return best([[0]] * 6, [30.0], Users(exponents=exponent, kept=kept), 1.0, marks=True).rates

    return [float(np.abs(rates(nu, 0.95) / rates(nu, 1.0) - 1).max()) for nu in (0.0, 0.5, 1.0, 2.0)]


def adaptive(network, gain, gamma=1.0, step=0.03):
    """Returns the final loads, relative to the capacities, and the final marking levels."""
    users = network.crossings.shape[-1]
    went = run_adaptive(network, np.ones(users), 200.0, step=step, gain=gain, target=gamma)
    return network.loads(went.rates[-1]) / network.capacities, went.levels[-1]


def own_levels():
    gains, gammas = np.array([[0.1], [1.0], [1.0]]), np.array([[0.9], [0.98], [1.0]])
    one = Network(np.ones((1, 30)), np.full((3, 1), 100.0), Users(exponents=EXPONENTS), BETA, marks=True)
    loads, levels = adaptive(one, gains, gammas)
    users = Users(exponents=[0.0, 1.0, 0.0, 2.0])
    chain = Network.of_routes([[0, 1, 2], [0], [1], [2]], [4.0, 6.0, 8.0], users, BETA, marks=True)
    shares = [*(loads / gammas)[:2, 0], *adaptive(chain, 0.1)[0]]
    expected = marking_levels([[0]] * 30, [100.0], beta=BETA, exponents=EXPONENTS)[0]
    full, none = adaptive(Network.of_routes([[0]] * 100, [100.0], Users(), 0.5, marks=True), 1.0)
    if full[0] < 1.99:
        raise ArithmeticError(f"the load is {full[0]} of the capacity")
    return {
        "load_over_capacity": Against(shares, [1.0] * len(shares)),
        "c_tilde[one link]": Against(levels[2, 0], expected),
        "c_tilde[no feasible level: load stays above gamma C]": none[0],
    }


def measure(figure):
    rates, printed_rates = only_marks("rate")
    windows, printed_windows = only_marks("blind window")
    return {
        "ks-ecn-single-link": single_link(),
        "ks-prop3": {"load_over_capacity_max": no_loss(figure.draws(NETWORKS, QUICK_NETWORKS))},
        "ks-lemma1": {"bound_violations": bound()},
        "ks-prop4": short_flows(),
        "ks-prop5": {"mean_load_over_capacity": poisson_flows()},
        "ks-prop6": {
            "solution_rel_difference[ODE against solver of (42) with C~]": rates,
            "rate_change": change_by_losses(),
            "solution_rel_difference[(42) as printed, with C; C~ = 0.9 C]": printed_rates,
            "solution_rel_difference[z as printed: unmarked packets received]": received(),
        },
        "ks-remark4": {
            "solution_rel_difference": windows,
            "solution_rel_difference[(43) as printed, with C; C~ = 0.9 C]": printed_windows,
        },
        "ks-adaptive-marking": own_levels(),
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    times, loads = with_short_flows(1.0)
    last = times > 2 * PERIOD
    for number, label in enumerate(("level of eq 35 as printed", "corrected")):
        left.plot(times[last] - 2 * PERIOD, loads[last, number, 1], label=label)
    left.set(xlabel="time", ylabel="load over capacity", title="Proposition 4: short flows come and go")
    left.legend(loc="lower right")
    counts = np.array([1, 12, 24, 49])
    for number, beta in enumerate((0.25, 0.5, 2.0)):
        possible = counts[counts < beta * CAPACITY]
        levels = [marking_levels([[0]] * n, [CAPACITY], beta=beta)[0] for n in possible]
        right.plot(possible, levels, color=f"C{number}", label=f"beta = {beta:g}")
        for n in (10, 40):
            network = Network.of_routes([[0]] * n, [CAPACITY], Users(), beta, marks=True)
            right.plot(n, adaptive(network, 0.5, step=0.2)[1][0], "o", color=f"C{number}")
    right.set(xlabel="log users on a link of 100", ylabel="marking level")
    right.set_title("Proposition 3; dots: links on their own")
    right.legend(loc="lower left")
    draw_expected(left, figure, "ks-prop4[0]")
    draw_expected(left, figure, "ks-prop4[1]")
