import numpy as np

from levelflow.claims.metrics import completions, queues
from levelflow.claims.traffic import LINK, OneLink, Setting
from levelflow.theory.sharing import ROUND_TRIPS

LOAD, MEAN = 0.9, 25
SEEDS, MANY_FLOWS = 3, 1e9  # one seed from this capacity (bit/s) on
SMALL, LARGE = (0, 500_000), (500_000, np.inf)  # bytes
CAPACITIES = (0.1e9, 0.3e9, 0.6e9, 1.2e9, 2.4e9, 4.8e9, 9.6e9)  # bit/s
RTPDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)  # s


def over_capacity(capacity):
    printed = round(300 * (capacity / 0.1e9) ** -0.593)  # 300 s at 0.1 Gb/s, 20 s at 9.6 Gb/s
    seeds = SEEDS if capacity < MANY_FLOWS else 1
    return Setting(OneLink(capacity, 0.1, LOAD, MEAN), printed, max(6, 9e9 / capacity), seeds=seeds)


def over_delay(rtpd):
    return Setting(OneLink(150e6, rtpd, LOAD, MEAN), max(200, 300 * rtpd), max(100, 100 * rtpd), seeds=SEEDS)


FIG20 = [over_capacity(capacity) for capacity in CAPACITIES]
FIG21 = [over_delay(rtpd) for rtpd in RTPDS]


def run_all(figure, settings):
    """Results of all seeds of each setting."""
    found = iter(figure.runs([scenario for setting in settings for scenario in setting.scenarios(figure)]))
    return [[next(found) for _ in range(setting.seeds)] for setting in settings]


def over_seeds(figure, settings, runs, metric):
    """For each setting the mean over seeds of ``metric(result, plan, window)``."""
    return [
        float(np.mean([metric(result, setting.plan, setting.window(figure)) for result in results]))
        for setting, results in zip(settings, runs, strict=True)
    ]


def ratio(sizes):
    return lambda result, plan, window: completions.afct_ratio_to_ps(
        result.completions, plan.capacity, plan.load, sizes, window
    )


def afct_small(result, _plan, window):
    return completions.afct(result.completions, SMALL, window)


def queue(result, plan, window):
    return queues.mean_queue_over_bdp(result.links, LINK, plan.capacity, plan.rtpd, window)


def measure(figure):
    by_capacity, by_delay = figure.by_capacity, figure.by_delay = run_all(figure, FIG20), run_all(figure, FIG21)
    small = np.array(over_seeds(figure, FIG21, by_delay, afct_small))
    excess = small - ROUND_TRIPS * np.array(RTPDS)
    ratios20, ratios21 = (
        [value for sizes in (SMALL, LARGE) for value in over_seeds(figure, settings, runs, ratio(sizes))]
        for settings, runs in ((FIG20, by_capacity), (FIG21, by_delay))
    )
    slope = float(np.polyfit(RTPDS, small, 1)[0])
    return {
        "rcp-fig20": [ratios20, None, None, None, None, over_seeds(figure, FIG20, by_capacity, queue), None, None],
        "rcp-fig21": [ratios21, None, None, None, slope, float(np.ptp(excess) / excess.mean())],
    }


def plot(figure, canvas):
    columns = (
        (FIG20, figure.by_capacity, [c / 1e9 for c in CAPACITIES], "capacity (Gb/s)"),
        (FIG21, figure.by_delay, RTPDS, "RTPD (s)"),
    )
    grid = canvas.subplots(2, 2, sharex="col")
    for (above, below), (settings, runs, x, label) in zip(grid.T, columns, strict=True):
        for sizes, name in ((SMALL, "below 500 packets"), (LARGE, "500 packets or more")):
            above.loglog(x, over_seeds(figure, settings, runs, ratio(sizes)), "o-", label=name)
        below.loglog(x, over_seeds(figure, settings, runs, queue), "o-")
        above.set(ylabel="AFCT / processor sharing", ylim=(0.3, 5))
        below.set(xlabel=label, ylabel="queue / BDP", ylim=(0.001, 0.1))
    grid[0, 0].legend()
