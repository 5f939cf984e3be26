import statistics

import numpy as np

from levelflow.measure import rates
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Against

C = 10e6  # bit/s
INITIAL = 40e3  # bit/s
RTTS = (0.22, 2.02)  # s


def measure(figure):
    seeds = figure.seeds(5)
    fast = figure.runs([figure.scenario(seed=seed) for seed in seeds])
    slow = {"flow.x.rtt": f"{RTTS[1]:g} s", "duration": "15 s"}
    slow = figure.runs([figure.scenario(slow, seed=seed) for seed in seeds])
    periods = [period for run in fast for period in ramp(run.flows)]
    flat = [flat_time(run.flows) / rtt for rtt, runs in zip(RTTS, (fast, slow), strict=True) for run in runs]
    start = [peak for run in (*fast, *slow) for peak in flat_rates(run.flows)]
    return {
        "jetmax-adjustment-period": {
            "adjustment_period_s[each]": periods,
            "adjustment_period_s[median]": statistics.median(periods),
        },
        "jetmax-startup-3rtt": {"flat_time_rtts": flat, "rate_during_flat": Against(start, [INITIAL] * len(start))},
    }


def ramp(flows):
    """Seconds between changes of the rate until it is within 1 % of the capacity."""
    t, rate = rates.rate_changes(flows, "x")
    return np.diff(t[: np.argmax(rate >= 0.99 * C) + 1]).tolist()


def flat_time(flows):
    """Seconds until the rate leaves its initial value."""
    t, rate = rates.rate_series(flows, "x")
    return float(t[np.argmax(rate > 1.01 * INITIAL)])


def flat_rates(flows):
    """Smallest and largest rate until the rate leaves its initial value."""
    _, rate = rates.rate_series(flows, "x", (0.0, flat_time(flows) - 1e-3))
    return [float(rate.min()), float(rate.max())]


def plot(figure, canvas):
    axes = canvas.subplots()
    for run, rtt in ((figure.results[0], RTTS[0]), (figure.results[-1], RTTS[1])):
        t, rate = rates.rate_series(run.flows, "x")
        axes.plot(t / rtt, rate / 1e6, label=f"RTT {1e3 * rtt:.0f} ms")
    axes.set(xlabel="time (RTTs)", ylabel="rate (Mb/s)", title="A flow alone: flat for three RTTs, then steps")
    axes.set_xlim(0, 15)
    draw_expected(axes, figure, "jetmax-startup-3rtt[0]", along="x")
