"""Measures one flow of classic Kelly control at round-trip times of 90 and 120 ms."""

from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Seeds

C, FIXED = 50e6, 50.02e6  # bit/s
RTTS = (90, 120)  # ms
LAST = 18.0  # s of the 20 s


def converges(result):
    """True if the rate is near C + omega, and its mean nearer to C + omega than to C. Omega is below the tolerance."""
    t, rate = rates.rate_series(result.flows, "x1")
    return series.is_stable(t, rate, FIXED, within=0.02) and series.mean(rate[t >= LAST]) > (C + FIXED) / 2


def measure(figure):
    seeds = figure.seeds(5)
    runs = [figure.scenario({"flow.x1.rtt": f"{rtt} ms"}, seed=seed) for rtt in RTTS for seed in seeds]
    results = figure.runs(runs)
    short, long = results[: len(seeds)], results[len(seeds) :]
    return {
        "kelly-fig15": {
            "converges[rtt=90ms]": Seeds([converges(result) for result in short]),
            "converges[rtt=120ms]": Seeds([converges(result) for result in long]),
            "overshoot_pct[rtt=120ms]": Seeds([queues.overshoot_pct(result.links, "R1->R2", C) for result in long]),
        }
    }


def plot(figure, canvas):
    titles = [f"fig 15: RTT {rtt} ms" for rtt in RTTS]
    draw_rates(canvas.subplots(1, 2), figure.results[::5], titles, ["x1"], (0.0, 10.0))
    draw_expected(canvas.axes[1], figure, "kelly-fig15[2]", scale=0.5, shift=50)
