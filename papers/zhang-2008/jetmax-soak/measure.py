"""Compares JetMax on random networks with water filling."""

import itertools
import random

from levelflow.measure import queues, rates
from levelflow.scenario import Scenario
from levelflow.theory.networks.maxmin import maxmin

FIRST = 101  # seed of the first network; the rules of switching were chosen on networks 1 to 12
MANY = 40  # the paper speaks of "a dozen of additional topologies"
QUICK = (102, 105, 129, 134)  # some of the 40, with the two that never settle and the one with the largest overshoot
DURATION = 240.0  # s
RANDOM_ACK_DELAY = {
    "every": {"uniform": [5000, 10000]},
    "hold": {"uniform": ["500 ms", "1 s"]},
}


def network(seed):
    """A chain with shortcuts. All data has one direction, so that no ACK shares a link with data."""
    draw = random.Random(seed)
    nodes = draw.randint(3, 7)
    pairs = [(a, a + 1) for a in range(nodes - 1)]
    shortcuts = [(a, b) for a, b in itertools.combinations(range(nodes), 2) if b > a + 1]
    most = min(10, len(pairs) + len(shortcuts))
    pairs += draw.sample(shortcuts, draw.randint(max(3, len(pairs)), most) - len(pairs))

    scenario = Scenario(f"JetMax on random network {seed}", f"{DURATION} s", seed=seed)
    for a, b in pairs:
        capacity = draw.uniform(20, 100)
        scenario.link(f"N{a}", f"N{b}", f"{capacity:.3f} Mb/s", "1 ms", buffer="250 kB", duplex=True)
    for number in range(draw.randint(5, 30)):
        rtt = 20 * 100 ** draw.random()  # 20 to 2000 ms, equally often in each octave
        options = {"ack_delay": RANDOM_ACK_DELAY} if draw.random() < 0.25 else {}
        path = [f"N{node}" for node in _walk(draw, pairs)]
        start = f"{draw.uniform(0, 20):.3f} s"
        scenario.flow(f"x{number}", "jetmax", path[0], path[-1], path=path, rtt=f"{rtt:.3f} ms", start=start, **options)
    return scenario


def _walk(draw, pairs):
    """The nodes of a random path of one to five links."""
    walk = list(draw.choice(pairs))
    while len(walk) < 6 and draw.random() < 0.6:
        onward = [b for a, b in pairs if a == walk[-1]]
        if not onward:
            break
        walk.append(draw.choice(onward))
    return walk


def shares(scenario):
    """Max-min fair rate of each flow, and capacity of each link that carries data, bit/s."""
    resolved = scenario.resolve()
    links = {link["name"]: link["target_bps"] for link in resolved["links"]}
    index = {name: number for number, name in enumerate(links)}
    routes = [[index[name] for name in flow["path"]] for flow in resolved["flows"]]
    fair = maxmin(routes, list(links.values()))
    used = {name: links[name] for flow in resolved["flows"] for name in flow["path"]}
    return dict(zip((flow["name"] for flow in resolved["flows"]), fair, strict=True)), used


def measure(figure):
    return {"multi-topology-soak": figure.by_reading("multi-topology-soak", lambda reading: soak(figure, reading))}


def soak(figure, reading):
    seeds = range(FIRST, FIRST + MANY) if figure.full else QUICK
    scenarios = [network(seed) for seed in seeds]
    for scenario in scenarios:
        for path, value in reading.items():
            scenario.set(path, value)
    errors, drops, overshoots = [], 0, []
    for scenario, result in zip(scenarios, figure.runs(scenarios), strict=True):
        fair, used = shares(scenario)
        errors.append(rates.max_share_error(result.flows, fair, (0.8 * DURATION, DURATION)))
        drops += queues.drop_count(result.links)
        overshoots.append(max(queues.overshoot_pct(result.links, *link) for link in used.items()))
    return {
        "max_rel_error_vs_waterfill": max(errors),
        "drop_count": drops,
        "overshoot_pct[every_link]": max(overshoots),
    }
