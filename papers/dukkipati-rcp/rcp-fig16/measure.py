"""Figure 16: completion times and queue against offered load, 150 Mb/s, 100 ms."""

import math

from levelflow.claims.metrics import completions, queues
from levelflow.claims.traffic import LINK, PACKET, SETTINGS

POINTS = {setting.plan.load: setting for name, setting in SETTINGS.items() if name.startswith("fig16 ")}
LIMIT = 500 * PACKET
CLASSES = {"below 500 packets": (0, LIMIT), "500 packets and more": (LIMIT, math.inf)}


def measure(figure):
    results = figure.runs([setting.scenarios(figure)[0] for setting in POINTS.values()])
    return {"rcp-fig16": [[r for sizes in CLASSES.values() for r in ratios(figure, results, sizes)], *[None] * 4]}


def ratios(figure, results, sizes):
    return [
        completions.afct_ratio_to_ps(result.completions, setting.plan.capacity, load, sizes, setting.window(figure))
        for (load, setting), result in zip(POINTS.items(), results, strict=True)
    ]


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    for name, sizes in CLASSES.items():
        left.plot(list(POINTS), ratios(figure, figure.results, sizes), "o-", label=name)
    left.set(xlabel="offered load", ylabel="mean completion time / processor sharing", ylim=(0, None))
    left.set_title("Figure 16")
    left.legend()
    mean = [
        queues.mean_queue_over_bdp(result.links, LINK, setting.plan.capacity, setting.plan.rtpd)
        for setting, result in zip(POINTS.values(), figure.results, strict=True)
    ]
    right.plot(list(POINTS), mean, "o-")
    right.set(xlabel="offered load", ylabel="mean queue / bandwidth-delay product", ylim=(0, None))
