"""Figures 10 and 11: completion times for mean sizes from 30 to 30000 packets, load 0.8."""

import math

from levelflow.claims.metrics import completions
from levelflow.claims.traffic import PACKET, SETTINGS

POINTS = {setting.plan.mean: setting for name, setting in SETTINGS.items() if name.startswith("fig10 ")}
#: The paper's classes, bytes.
CLASSES = ((0, 7000 * PACKET), (7000 * PACKET, math.inf))


def measure(figure):
    results = run(figure)
    return {
        "rcp-fig10": [[ratio(figure, mean, results[mean], c) for mean in POINTS for c in CLASSES], *[None] * 4],
        "rcp-fig11": [
            [
                completions.worst_ratio_to_ps(
                    results[mean].completions, plan.capacity, plan.load, window=POINTS[mean].window(figure)
                )
                for mean, plan in ((m, POINTS[m].plan) for m in (30, 30_000))
            ],
            *[None] * 3,
        ],
    }


def run(figure):
    scenarios = [scenario for setting in POINTS.values() for scenario in setting.scenarios(figure)]
    return dict(zip(POINTS, figure.runs(scenarios), strict=True))


def ratio(figure, mean, result, sizes):
    setting = POINTS[mean]
    return completions.afct_ratio_to_ps(
        result.completions, setting.plan.capacity, setting.plan.load, sizes, setting.window(figure)
    )


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    results = dict(zip(POINTS, figure.results, strict=True))
    for sizes, name in zip(CLASSES, ("below 7000 packets", "7000 packets and more"), strict=True):
        left.semilogx(list(POINTS), [ratio(figure, m, results[m], sizes) for m in POINTS], "o-", label=name)
    left.set(xlabel="mean flow size (packets)", ylabel="mean completion time / processor sharing", title="Figure 10")
    left.set_ylim(bottom=0)
    left.legend()
    for mean in (30, 30_000):
        setting = POINTS[mean]
        plan, window = setting.plan, setting.window(figure)
        bins = completions.by_size(results[mean].completions, plan.capacity, plan.load, window=window)
        right.loglog(bins["bytes"] / PACKET, bins["fct_s"], "o-", label=f"RCP, mean {mean}")
    right.loglog(bins["bytes"] / PACKET, bins["ps_s"], "k--", label="processor sharing")
    right.set(xlabel="flow size (packets)", ylabel="mean completion time (s)", title="Figure 11")
    right.legend()
