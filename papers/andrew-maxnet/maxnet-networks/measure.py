"""Networks of MaxNet: fairness, stability in random networks, overload by a new flow, comparison with RCP and XCP."""

from functools import cache
from typing import NamedTuple

import numpy as np

from andrew_models.maxnet_fluid import Network, Start, run
from levelflow.reproduce import Against
from levelflow.reproduce.drawing import draw_expected
from levelflow.theory.laws import xcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.laws.shared.maxnet_model import PAPER, Parameters
from levelflow.theory.laws.shared.maxnet_stability import Compensator, network_roots, unstable_roots
from levelflow.theory.networks.maxmin import maxmin

RANDOM = 1  # seed of the networks, starts and loads
OWN, LONGEST = Compensator.of(PAPER), 1000.0  # s
FIGURE_10, LONGEST_10 = Compensator(eta=0.7, alpha_t=0.1), 3.0  # s
SHORTEST = 1e-3  # s
#: Numbers of random networks, as pairs (full tier, quick tier). The pairs are for lemma 1 with gains below the largest
#: gain, for lemma 1 with gains above it, and for equilibria.
STABLE, UNSTABLE, AT_REST = (1000, 300), (100, 30), (300, 100)
CAPACITY = 622e6  # bit/s
EXISTING = (1, 2, 4, 8)
#: RTT of the flows at equilibrium, and RTT of the new flow, s.
RTTS = ((0.029, 0.029), (0.179, 0.029), (0.029, 0.179))


def measure(figure):
    peaks = np.array([[newcomer(n, *rtts).queue.max() / 8 for n in EXISTING] for rtts in RTTS])
    bounds = [bound(n, max(rtts)) / 8 for rtts in RTTS for n in EXISTING]
    return {
        "maxnet-eq5-demand-static": static(),
        "maxnet-lemma1": {"counterexamples": lemma_1(figure.draws(*STABLE), figure.draws(*UNSTABLE))},
        "maxnet-prop1": {"stable": [not roots_of(50), fluids_settle(50)]},
        "maxnet-overload-bound": {
            "overload_over_c[N = 1, mu = 0.9]": newcomer(1, *RTTS[0]).overload,
            "overload_over_c[N >= 9, mu = 0.9]": [newcomer(n, *RTTS[0]).overload for n in (9, 10, 100, 1000)],
            "queue_peak_bytes": Against(peaks.ravel().tolist(), bounds),
            "queue_peak_trend": np.diff(peaks, axis=1).ravel().tolist(),
        },
        "maxnet-rcp-equivalence": {
            "rate_trace_rel_difference": [given_loads()[0], *(closed_loop(start) for start in (0.5, 2.0))],
            "log_difference_over_second_order": [given_loads(step)[1] for step in (1e-4, 1e-3, 1e-2)],
        },
        "maxnet-vs-xcp-maxmin": {
            "rate_over_maxmin[MaxNet, mu = 0.9, every flow]": at_least(figure.draws(*AT_REST), 50),
            "rate_over_maxmin[XCP, some flow in a chosen network]": beside_xcp(),
        },
    }


def static():
    """Evaluates eq 4-5: the slope of the demand, by a complex step, and the stability of single flows with other
    slopes.
    """
    price, delay = np.meshgrid(np.linspace(1, 7, 13), np.geomspace(0.01, 1, 9))
    step = 1e-20
    slope = maxnet.static_demand(price + 1j * step, delay).imag / step
    shares = slope * delay / maxnet.static_demand(price, delay)
    short, long = maxnet.static_demand(0.05, [0.029, 0.179])
    return {
        "demand_slope_times_tau_over_x": Against(shares.ravel().tolist(), [-PAPER.alpha] * shares.size),
        "rtt_fair": bool(np.isclose(short, long)),
        "stable[slope -3 alpha x/tau, alpha = 0.66]": slope_is_stable(3 * PAPER.alpha),
        "stable[slope from -alpha x/tau to 0, alpha < pi/2]": [
            slope_is_stable(np.pi / 2 * part) for part in (0.999, 0.9, 0.5, 0.1, 0.01)
        ],
    }


def slope_is_stable(steepness):
    """Returns True if single flows with a static demand of slope `-steepness x/tau` are stable at several RTTs."""
    # With alpha T = tau, F is alpha e^(-s tau)/(s tau), which is the loop of a static demand.
    return not any(
        unstable_roots([tau], [1.0], Compensator(PAPER.eta, tau), steepness) for tau in np.geomspace(1e-3, 10, 9)
    )


def some_network(random, links=20, flows=60, hops=5):
    links, flows = int(random.integers(1, links + 1)), int(random.integers(1, flows + 1))
    routes = [
        random.choice(links, random.integers(1, min(links, hops) + 1), replace=False).tolist() for _ in range(flows)
    ]
    return routes, 10 ** random.uniform(6, 9, links)


def counterexamples(count, low, high):
    """Returns the number of random networks that are unstable.

    Gains are `low` to `high` times the gain of algorithm 3.
    """
    random, found = np.random.default_rng(RANDOM), 0
    cases = [(own, longest, own.line(longest).alpha_max) for own, longest in ((OWN, LONGEST), (FIGURE_10, LONGEST_10))]
    for number in range(count):
        own, longest, most = cases[number % 2]
        alpha = most * random.uniform(low, high)
        law = Parameters(alpha=alpha, scale=own.alpha_t / alpha, eta=own.eta)
        rest = maxnet.fixed_point(*some_network(random), law)
        delays = SHORTEST * (longest / SHORTEST) ** random.uniform(0, 1, rest.rates.size)
        found += bool(network_roots(rest, delays, law).any())
    return found


def lemma_1(stable, unstable):
    """Returns the number of counterexamples of lemma 1 in `stable` random networks.

    Draws `unstable` other networks with larger gains, and raises an error if all of these networks are stable.
    """
    if not counterexamples(unstable, 1.2, 1.8):
        raise ArithmeticError("larger gains are stable, too, so the count proves nothing")
    return counterexamples(stable, 0.01, 0.999)


def roots_of(count):
    """Returns the number of unstable roots of random networks, with section VI's parameters and RTTs up to 1000 s."""
    random = np.random.default_rng(RANDOM + 1)
    total = 0
    for _ in range(count):
        rest = maxnet.fixed_point(*some_network(random))
        delays = SHORTEST * (LONGEST / SHORTEST) ** random.uniform(0, 1, rest.rates.size)
        total += network_roots(rest, delays, PAPER).sum()
    return int(total)


@cache
def fluids(count):
    """Returns three arrays of rates in random networks: in the last 10 s of a run, at equilibrium, and max-min fair.

    All networks are integrated as one large network.
    """
    random = np.random.default_rng(RANDOM + 2)
    routes, capacities = [], []
    for _ in range(count):
        own = [random.choice(4, random.integers(1, 4), replace=False) for _ in range(6)]
        routes += [(len(capacities) + route).tolist() for route in own]
        capacities += (10 ** random.uniform(6, 9, 4)).tolist()
    delays = random.uniform(0.1, 0.6, len(routes))
    there = [np.sort(random.uniform(0, delay, len(route))) for route, delay in zip(routes, delays, strict=True)]
    rest = maxnet.fixed_point(routes, capacities)
    start = Start(rest.rates * 2 ** random.uniform(-1, 1, len(routes)), rest.prices)
    went = run(Network(routes, capacities, delays, there), 100.0, step=0.02, start=start, every=50)
    return went.rates[-10:], rest.rates, maxmin(routes, capacities)


def fluids_settle(count):
    """Returns True if random networks stay within 5 % of their equilibrium."""
    went, rest, _ = fluids(count)
    return bool(np.abs(went / rest - 1).max() < 0.05)


def bound(flows, longest):
    """Returns the data above the capacity, in bits, that one additional flow causes during the longest RTT."""
    return (maxnet.overload(flows) * CAPACITY * longest).item()


class Newcomer(NamedTuple):
    """Effect of an additional flow: times in s, queue in bits, and the overload `largest load/capacity - 1`."""

    times: np.ndarray
    queue: np.ndarray
    overload: float


@cache
def newcomer(flows, rtt, new_rtt):
    """Simulates a link on which a new flow joins flows at equilibrium, 0.1 s after the start."""
    share = PAPER.mu * CAPACITY / flows
    delays = [rtt] * flows + [new_rtt]
    network = Network([[0]] * len(delays), [CAPACITY], delays, [[delay / 2] for delay in delays])
    start = Start([share] * flows + [1.0], maxnet.price_of([share]), since=[0.0] * flows + [0.1])
    went = run(network, 1.0, step=0.0015, start=start)
    return Newcomer(went.times, went.queues[:, 0], float(went.rates.sum(axis=1).max() / CAPACITY - 1))


def given_loads(step=1e-4, gain=0.4, tau=0.1, duration=5.0):
    """Compares the advertised rates of RCP (16) and MaxNet (3) under the same loads.

    Returns:
        The largest relative difference, and the final `log(MaxNet/RCP)/sum(x^2/2)`. The sum is the first term that the
        approximation `log(1 + x) = x` omits.
    """
    loads = np.random.default_rng(RANDOM + 3).uniform(0.0, 2.0, round(duration / step))
    changes = step * gain / tau * (1 - loads)
    rates = np.cumprod(1 + changes)
    prices = np.cumsum(step * maxnet.price_change(loads, 0.0, 1.0, Parameters(mu=1.0)))
    of_price = maxnet.advertised(prices, tau, gain)
    worst = np.abs(rates / of_price - 1).max()
    return float(worst), float(2 * np.log(of_price[-1] / rates[-1]) / (changes**2).sum())


def closed_loop(begin, step=1e-3, gain=0.4, tau=0.1, flows=10):
    """Returns the largest relative difference between the rates of RCP and MaxNet. Flows adopt a rate after an RTT."""
    lag, count = round(tau / step), 5000
    # Rates of RCP (row 0) and MaxNet (row 1), divided by the capacity.
    rates = np.full((2, count + lag), begin / flows)
    price = -tau / gain * np.log(begin / flows)
    for n in range(lag, count + lag):
        loads = flows * rates[:, n - lag]
        rates[0, n] = rates[0, n - 1] * (1 + step * gain / tau * (1 - loads[0]))
        price += step * maxnet.price_change(loads[1], 0.0, 1.0, Parameters(mu=1.0))
        rates[1, n] = maxnet.advertised(price, tau, gain)
    return float(np.abs(rates[0] / rates[1] - 1).max())


def at_least(count, followed):
    """Returns the smallest ratio of MaxNet rates to max-min rates, at equilibrium and in the fluid model."""
    random = np.random.default_rng(RANDOM + 4)
    networks = [some_network(random) for _ in range(count)]
    at_rest = min(float((maxnet.fixed_point(*network).rates / maxmin(*network)).min()) for network in networks)
    went, _, fair = fluids(followed)
    return [at_rest, float((went / fair).min())]


def split(flows):
    """Returns two links. All flows cross the first link; all except the last also cross the second, with 90 % of its
    capacity.
    """
    return [[0, 1]] * flows + [[0]], [1.0, 0.9]


def beside_xcp(flows=100):
    """Returns the rate of the last flow under XCP, divided by its max-min rate."""
    routes, capacities = split(flows)
    rest = xcp.fixed_point(routes, capacities)
    if not np.allclose(xcp.offers(routes, capacities, rest.rates), 0, atol=1e-12):
        raise ArithmeticError("XCP is not in equilibrium there")
    return float((rest.rates / maxmin(routes, capacities))[-1])


def plot(figure, canvas):
    shares, queues = canvas.subplots(1, 2)
    counts = np.unique(np.geomspace(1, 1000, 40).round().astype(int))
    shares.semilogx(counts, [beside_xcp(int(count)) for count in counts], label="XCP")
    shares.semilogx(counts, [PAPER.mu] * counts.size, label="MaxNet, mu = 0.9")
    shares.set(
        xlabel="flows with a second bottleneck of 90 %",
        ylabel="rate over max-min rate",
        ylim=(0, 1.05),
        title="the flow with only the first bottleneck",
    )
    for flows in EXISTING:
        times, queue, _ = newcomer(flows, *RTTS[0])
        queues.plot(times, queue / bound(flows, max(RTTS[0])), label=f"to {flows}")
    queues.axhline(1, color="k", linewidth=0.8, linestyle="--")
    queues.set(xlabel="time (s)", ylabel="queue over the bound", title="arrival of one more flow (622 Mb/s, 29 ms)")
    draw_expected(shares, figure, "maxnet-vs-xcp-maxmin[0]")
    draw_expected(shares, figure, "maxnet-vs-xcp-maxmin[1]")
