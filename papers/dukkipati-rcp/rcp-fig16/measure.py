"""Figure 16: completion times and queue against offered load, 150 Mb/s, 100 ms."""

import math

from levelflow.claims import Seeds
from levelflow.claims.metrics import completions, queues
from levelflow.claims.traffic import LINK, PACKET, SETTINGS

POINTS = {setting.plan.load: setting for name, setting in SETTINGS.items() if name.startswith("fig16 ")}
LIMIT = 500 * PACKET
CLASSES = {"below 500 packets": (0, LIMIT), "500 packets and more": (LIMIT, math.inf)}


def measure(figure):
    by_load = run(figure)
    both = [
        [ratio for sizes in CLASSES.values() for ratio in ratios(figure, runs, sizes)]
        for runs in zip(*by_load, strict=True)
    ]
    return {"rcp-fig16": [Seeds(both), *[None] * 4]}


def run(figure):
    """For each load one result per seed."""
    results = iter(figure.runs([scenario for setting in POINTS.values() for scenario in setting.scenarios(figure)]))
    return [[next(results) for _ in range(setting.seeds)] for setting in POINTS.values()]


def ratios(figure, results, sizes):
    return [
        completions.afct_ratio_to_ps(result.completions, setting.plan.capacity, load, sizes, setting.window(figure))
        for (load, setting), result in zip(POINTS.items(), results, strict=True)
    ]


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    by_seed = list(zip(*run(figure), strict=True))
    for color, (name, sizes) in zip(("C0", "C1"), CLASSES.items(), strict=True):
        for seed, runs in enumerate(by_seed):
            left.plot(list(POINTS), ratios(figure, runs, sizes), "o-", color=color, label=None if seed else name)
    left.set(xlabel="offered load", ylabel="mean completion time / processor sharing", ylim=(0, None))
    left.set_title("Figure 16")
    left.legend()
    for runs in by_seed:
        right.plot(list(POINTS), [queue(*pair) for pair in zip(POINTS.values(), runs, strict=True)], "o-", color="C0")
    right.set(xlabel="offered load", ylabel="mean queue / bandwidth-delay product", ylim=(0, None))


def queue(setting, result):
    return queues.mean_queue_over_bdp(result.links, LINK, setting.plan.capacity, setting.plan.rtpd)
