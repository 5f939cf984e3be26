import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from levelflow.measure import queues, rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected, draw_rates

C = 10e6  # bit/s
LINK = "R1->R2"
FLOWS = ("x1", "x2")
JOIN, END = 30.0, 70.0  # s, in the runs with lossy ACKs
LATER, LAST = 50.0, 150.0  # s, in the runs with lossy data
MEAN_OVER = 20.0  # s
SURVIVE = (0.9, 0.8)  # fractions of packets that survive
SHIFT = 1.01  # s, half the round trip of x2


def measure(figure):
    seeds = figure.seeds(5)
    free = figure.runs([figure.scenario(seed=seed, name="return.toml") for seed in seeds])
    lossy = {"link.R1->R2.reverse": {"loss": 0.9}}
    acks = figure.runs([figure.scenario(lossy, seed=seed, name="return.toml") for seed in seeds])
    data = figure.runs([figure.scenario(seed=seed, name="forward.toml") for seed in seeds])
    return {
        "jetmax-return-loss-90": over_seeds(map(lossy_acks, free, acks)),
        "jetmax-fig39a": over_seeds(map(lossy_data, data)),
    }


def difference(free, lossy, flow):
    """Largest difference between a flow's rates in two runs shifted by up to SHIFT, in per cent of the capacity.

    Each curve is compared with the extremes of the other curve within this shift.
    """
    (t, one), (_, other) = rates.rate_series(free, flow), rates.rate_series(lossy, flow)
    reach = 2 * round(SHIFT / (t[1] - t[0])) + 1

    def beyond(rate, near):
        return np.maximum(rate - maximum_filter1d(near, reach), minimum_filter1d(near, reach) - rate).max()

    return 100 * max(beyond(one, other), beyond(other, one)) / C


def lossy_acks(free, lossy):
    return {
        "max_rate_difference_vs_lossfree_pct[curves_shifted_by_up_to_RTT/2]": max(
            difference(free.flows, lossy.flows, x) for x in FLOWS
        ),
        "steady_rate_mbps[x1,x2]": [rates.steady_rate(lossy.flows, x, JOIN, END) / 1e6 for x in FLOWS],
        "overshoot_pct": queues.overshoot_pct(lossy.links, LINK, C),
    }


def lossy_data(run):
    flows, links = run.flows, run.links
    overshoot = queues.mean_overshoot_pct(links, LINK, C, (LATER + 30.0, LAST))
    return {
        "steady_rate_mbps[first_flow_alone]": rates.mean_rate(flows, "x2", (LATER - MEAN_OVER, LATER)) / 1e6,
        "steady_rate_mbps[x1,x2]": [rates.mean_rate(flows, x, (LAST - MEAN_OVER, LAST)) / 1e6 for x in FLOWS],
        "arrival_rate_over_C_mean": 1 + overshoot / 100,
        "drop_count_at_the_queue": queues.drop_count(links, [LINK]),
        "share_by_eq_151_mbps": C / 2e6 / np.mean(SURVIVE),
    }


def plot(figure, canvas):
    titles = ("no loss", "ACKs lost, 90 %", "data lost, 10 % and 20 %")
    shown = figure.results[:: len(figure.results) // 3]
    draw_rates(canvas.subplots(1, 3, sharey=True), shown, titles, ("x2", "x1"))
    draw_expected(canvas.axes[1], figure, "jetmax-return-loss-90[1]", series.steady(JOIN, END))
    draw_expected(canvas.axes[2], figure, "jetmax-fig39a[0]", (LATER - MEAN_OVER, LATER))
    draw_expected(canvas.axes[2], figure, "jetmax-fig39a[1]", (LAST - MEAN_OVER, LAST))
