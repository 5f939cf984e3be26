"""Figure 16: completion times and queue over offered load, 150 Mb/s, 100 ms."""

import math

import numpy as np

from dukkipati_models.arrivals import LAWS, LINK, PACKET, over_sharing, points
from levelflow.measure import completions, queues
from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_expected, draw_seeds

LIMIT = 500 * PACKET
CLASSES = {"below 500 packets": (0, LIMIT), "500 packets and more": (LIMIT, math.inf)}
LARGE = CLASSES["500 packets and more"]
LOW, HIGH = 0.3, 0.8  # largest low load, smallest high load
#: Size classes and ranges of loads for the comparison with processor sharing of the same arrivals.
SHARED = {
    "500 packets and more, load 0.8, 0.9 and 0.95": (LARGE, (HIGH, 0.95)),
    "below 50 packets, every load": ((0, 50 * PACKET), (0.0, 0.95)),
    "50 to 499 packets, loads up to 0.9": ((50 * PACKET, LIMIT), (0.0, 0.9)),
    "500 to 1999 packets, load 0.5": ((LIMIT, 2000 * PACKET), (0.5, 0.5)),
}


def measure(figure):
    figure.points = points(figure, "fig16 ", "load")
    rcp, tcp, xcp = (run(figure, law) for law in LAWS.values())
    small, big = ([ratios(figure, runs, sizes) for runs in by_seed(rcp)] for sizes in CLASSES.values())
    both = [below + above for below, above in zip(small, big, strict=True)]
    large = [ratios(figure, runs, LARGE) for runs in by_seed(tcp)]
    low = sum(load <= LOW for load in figure.points)
    return {
        "rcp-fig16": {
            "afct_ratio_to_ps[RCP, every load, both classes]": Seeds(both),
            "afct_ratio_to_ps_max": Seeds([max(values[:low]) for values in large]),
            "afct_ratio_to_ps_slope[TCP, large flows, over load]": Seeds([slope(figure, values) for values in large]),
            "afct_ratio_to_ps_slope[XCP, over load]": Seeds(
                [slope(figure, ratios(figure, runs, completions.ANY_SIZE)) for runs in by_seed(xcp)]
            ),
            "mean_queue_over_bdp_rank": rank(figure, {"RCP": rcp, "TCP": tcp, "XCP": xcp}),
            "afct_ratio_to_ps[RCP, every load, below 500 packets]": Seeds(small),
            **{
                f"afct_ratio_to_sharing[RCP, {where}, processor sharing of the same arrivals]": Seeds(
                    to_sharing(figure, runs, sizes, loads) for runs in by_seed(rcp)
                )
                for where, (sizes, loads) in SHARED.items()
            },
        }
    }


def to_sharing(figure, results, sizes, loads):
    """Completion times of a size class relative to processor sharing of the same arrivals, at the loads of a range."""
    return [
        over_sharing([result], setting.plan, sizes, setting.window(figure))[0]
        for (load, setting), result in zip(figure.points.items(), results, strict=True)
        if loads[0] <= load <= loads[1]
    ]


def run(figure, law):
    """Returns one result per seed for each load."""
    scenarios = [scenario for setting in figure.points.values() for scenario in setting.scenarios(figure, law)]
    results = iter(figure.runs(scenarios))
    return [[next(results) for _ in setting.drawn(figure)] for setting in figure.points.values()]


def by_seed(results):
    return list(zip(*results, strict=True))


def ratios(figure, results, sizes):
    return [
        completions.afct_ratio_to_ps(result.completions, setting.plan.capacity, load, sizes, setting.window(figure))
        for (load, setting), result in zip(figure.points.items(), results, strict=True)
    ]


def slope(figure, values):
    """Least-squares slope of a ratio over the load."""
    return float(np.polyfit(list(figure.points), values, 1)[0])


def rank(figure, results):
    """Laws by their mean queue at high loads, largest first."""
    mean = {
        law: np.mean([queue(figure, s, r) for s, r in at_high_load(figure, by_load)])
        for law, by_load in results.items()
    }
    return sorted(mean, key=mean.__getitem__, reverse=True)


def at_high_load(figure, by_load):
    pairs = zip(figure.points.items(), by_load, strict=True)
    return [(setting, result) for (load, setting), results in pairs if load >= HIGH for result in results]


def queue(figure, setting, result):
    plan, window = setting.plan, setting.window(figure)
    return queues.mean_queue_over_bdp(result.links, LINK, plan.capacity, plan.rtpd, window)


def plot(figure, canvas):
    axes = canvas.subplots(1, 3)
    for law, color in zip(LAWS, ("C0", "C1", "C2"), strict=True):
        seeds = list(by_seed(run(figure, LAWS[law])))
        for ax, sizes in zip(axes, CLASSES.values(), strict=False):
            draw_seeds(ax, [(list(figure.points), ratios(figure, runs, sizes)) for runs in seeds], law, color=color)
            ax.set_yscale("log")
        queued = [[queue(figure, *pair) for pair in zip(figure.points.values(), runs, strict=True)] for runs in seeds]
        draw_seeds(axes[2], [(list(figure.points), means) for means in queued], law, color=color)
    for ax, title in zip(axes, [*CLASSES, "queue"], strict=True):
        ax.set(xlabel="offered load", title=title)
    axes[0].set_ylabel("mean completion time / processor sharing")
    axes[2].set_ylabel("mean queue / bandwidth-delay product")
    axes[0].legend()
    for ax in axes[:2]:
        draw_expected(ax, figure, "rcp-fig16[0]")
    draw_expected(axes[1], figure, "rcp-fig16[1]", (0.1, LOW))
