import numpy as np

from levelflow.measure import rates, series
from levelflow.scenario import Scenario
from levelflow.theory.networks.maxmin import maxmin

NETWORKS, QUICK_NETWORKS = 20, 8
DURATION, QUICK = 40.0, 24.0  # s
GAINS = ((0.1, 1.0), (0.5, 0.5), (0.5, 1.0))
CAPACITY = (100, 600)  # Mb/s
RTT = (0.05, 0.2)  # s
SIMILAR = (0.85, 1.15)  # range of round trips of one network, relative to its middle
HOP = 0.001  # one-way delay of a link, s


def network(number, gains, duration):
    """Chain of links. Each link has a flow of its own, and further flows cross random sections of the chain."""
    draw = np.random.default_rng(number)
    hops = int(draw.integers(2, 6))
    middle = draw.uniform(RTT[0] / SIMILAR[0], RTT[1] / SIMILAR[1])
    scenario = Scenario(f"chain {number}", f"{duration} s", seed=number)
    scenario.law("rcp", alpha=gains[0], beta=gains[1], initial_rtt=f"{middle:.4f} s")
    for hop in range(hops):
        capacity = int(draw.integers(CAPACITY[0], CAPACITY[1] + 1))
        buffer = round(capacity * 1e6 * RTT[1] / 8)
        scenario.link(f"N{hop}", f"N{hop + 1}", f"{capacity} Mb/s", f"{HOP} s", buffer=f"{buffer} B", duplex=True)
    spans = [(hop, hop + 1) for hop in range(hops)]
    for _ in range(int(draw.integers(hops, 3 * hops + 1))):
        start = int(draw.integers(0, hops))
        spans.append((start, int(draw.integers(start + 1, hops + 1))))
    for i, (start, end) in enumerate(spans):
        rtt = middle * draw.uniform(*SIMILAR)
        scenario.flow(f"x{i + 1}", "rcp", f"N{start}", f"N{end}", rtt=f"{rtt:.4f} s")
    return scenario


def fair_rates(scenario):
    """Max-min fair rate of each flow, bit/s."""
    index = {link["name"]: i for i, link in enumerate(scenario["links"])}
    routes = [[index[name] for name in flow["path"]] for flow in scenario["flows"]]
    fair = maxmin(routes, [link["capacity_bps"] for link in scenario["links"]])
    return {flow["name"]: float(rate) for flow, rate in zip(scenario["flows"], fair, strict=True)}


def measure(figure):
    networks = range(1, figure.draws(NETWORKS, QUICK_NETWORKS) + 1)
    if figure.full:
        scenarios = [network(i, gains, DURATION) for gains in GAINS for i in networks]
    else:
        scenarios = [network(i, GAINS[i % len(GAINS)], QUICK) for i in networks]
    stable, errors = [], []
    for result in figure.runs(scenarios):
        shares = fair_rates(result.scenario)
        stable.append(all(rates.stable(result.flows, name, share) for name, share in shares.items()))
        errors.append(rates.max_share_error(result.flows, shares, steady(result)))
    return {"rcp-stable-multi-bottleneck": {"stable": stable, "rate_error_to_maxmin": max(errors)}}


def steady(result):
    return series.steady(0.0, result.scenario["duration_s"])


def plot(figure, canvas):
    axes = canvas.subplots()
    for result in figure.results:
        shares = fair_rates(result.scenario)
        reached = [rates.mean_rate(result.flows, name, steady(result)) / 1e6 for name in shares]
        axes.plot([share / 1e6 for share in shares.values()], reached, "o", color="C0", markersize=3)
    top = axes.get_xlim()[1]
    axes.plot([0, top], [0, top], color="C1", linewidth=1)
    axes.set(xlabel="max-min fair rate (Mb/s)", ylabel="rate reached (Mb/s)", title="RCP on random chains")
