"""RCP and MaxNet on a link. Flows with another bottleneck change the mean round-trip time at this link."""

import numpy as np

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected

L1 = 155e6  # bit/s
FLOWS = (1, 9, 49)
END = 60.0  # s
LAST = (48.0, END)
#: Averaging time of the rates of the long flow, s.
SAMPLE = 0.1


def measure(figure):
    rcp = dict(zip(FLOWS, figure.runs([network(figure, n) for n in FLOWS]), strict=True))
    maxnet = dict(zip(FLOWS, figure.runs([network(figure, n, "maxnet") for n in FLOWS]), strict=True))
    t, one = long_flow(rcp[1])
    final = series.mean(one[t > LAST[0]])
    early = long_flow(rcp[9], (1.0, 10.0))[1]
    late = long_flow(rcp[9], (10.0, END))[1]
    _, offered = series.link_series(rcp[49].links, "A->B", "signal", (10.0, END))
    return {
        "maxnet-fig12-rcp-n1": {
            "settling_time_s": series.settling_time(t, one, 0.0),
            "overshoot": float(one.max() / final - 1),
            "flow_rate_bps": [share(rcp[1], name) for name in ("long", "short")],
        },
        "maxnet-fig12-rcp-n9": {
            "rate_min_bps": float(early.min()),
            "rate_max_bps": float(early.max()),
            "oscillation_amplitude_over_c": float(np.ptp(late) / L1),
            "periodic": is_periodic(late),
        },
        "maxnet-fig12-rcp-n49": {
            "rate_min_over_c": float(offered.min() / L1),
            "rate_max_over_c": float(offered.max() / L1),
            "stable": settles(rcp[49]),
        },
        "maxnet-fig12-maxnet": {
            "stable": [settles(maxnet[n]) for n in FLOWS],
            "flow_rate_bps[flow 1, N = 9 and 49]": [share(maxnet[n], "long") for n in (9, 49)],
            "flow_rate_bps[others, N = 9]": share(maxnet[9], "short"),
        },
    }


def network(figure, flows, law="rcp"):
    scenario = figure.scenario({"flow.short.count": flows})
    if law == "maxnet":
        for name in ("long", "short"):
            scenario.set(f"flow.{name}.law", {"maxnet": {"paced": True}}).set(f"flow.{name}.packet", "1500 B")
    return scenario


def long_flow(result, window=series.ALL):
    return series.flow_series(result.flows, "long", "law_rate_bps", window)


def share(result, name):
    """Returns the mean rate of flow `name` in the last 12 s of a run, bit/s."""
    return rates.mean_rate(result.flows, name, LAST)


def settles(result):
    """Returns True if the long flow stays within 5 % of its mean over the last tenth of a run."""
    t, rate = long_flow(result)
    return series.is_stable(t, rate, series.mean(rate[t > 0.9 * END]))


def is_periodic(values):
    """Returns True if a shift of the curve by 0.5 to 25 s gives nearly the same curve (correlation 0.9)."""
    shifts = range(round(0.5 / SAMPLE), values.size // 2)
    return any(series.correlation(values[:-shift], values[shift:]) > 0.9 for shift in shifts)


def plot(figure, canvas):
    grid = canvas.subplots(2, 3, sharex=True, sharey=True)
    for axes, result, title in zip(
        grid.flat, figure.results, [f"{law}, N = {n}" for law in ("RCP", "MaxNet") for n in FLOWS], strict=True
    ):
        t, rate = long_flow(result)
        axes.plot(t, rate / 1e6, linewidth=0.7)
        axes.set(title=title)
    grid[1, 1].set(xlabel="time (s)")
    grid[0, 0].set(ylabel="rate of flow 1 (Mb/s)")
    draw_expected(grid[0, 0], figure, "maxnet-fig12-rcp-n1[0]", along="x")
    draw_expected(grid[0, 0], figure, "maxnet-fig12-rcp-n1[2]", LAST, scale=1e-06)
    draw_expected(grid[0, 1], figure, "maxnet-fig12-rcp-n9[0]", (1, 10), scale=1e-06)
    draw_expected(grid[0, 1], figure, "maxnet-fig12-rcp-n9[1]", (1, 10), scale=1e-06)
    for axes in grid[1, 1:]:
        draw_expected(axes, figure, "maxnet-fig12-maxnet[1]", LAST, scale=1e-06)
