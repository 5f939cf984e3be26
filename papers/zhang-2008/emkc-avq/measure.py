"""Measures EMKC-AVQ on T1 and T2 (baselines-t1, baselines-t2), and its overshoot with a large alpha."""

import numpy as np

from levelflow.measure import queues, rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Seeds

LAW, LINK = "emkc_avq", "R1->R2"
C, JOIN = 10e6, 5.0  # bit/s, s
T1 = ("x1", "x2")
FAST = [f"x{i}" for i in range(1, 100)]  # flows of T2
T2 = [*FAST, "x100"]
T2_SHARE = 0.1e6  # bit/s
END, USERS_END = 300.0, 150.0  # s
USERS = 20


def t2(figure, seed):
    scenario = figure.scenario(seed=seed, name="t2.toml")
    for x in FAST:
        scenario.flow(x, LAW, "R1", "R2", rtt="220 ms", packet="200 B", start=within_a_second(0))
    return scenario


def users(figure, seed):
    """Returns many users with the paths of T1. Half of them have the short path and start first."""
    scenario = figure.scenario(seed=seed, name="users.toml")
    for i in range(USERS):
        start, rtt = (0, "220 ms") if i < USERS / 2 else (5, "2020 ms")
        scenario.flow(f"x{i + 1}", LAW, "R1", "R2", rtt=rtt, packet="200 B", start=within_a_second(start))
    return scenario


def within_a_second(start):
    return {"uniform": [f"{start} s", f"{start + 1} s"]}


def steady(result):
    return [rates.steady_rate(result.flows, x, JOIN, END) / 1e6 for x in T1]


def virtual_capacity(result):
    """Mean of y (1 - p) in the steady window, Mb/s. The price p is 1 - Cv/y, with the virtual capacity Cv."""
    window = series.steady(JOIN, END)
    _, load = series.link_series(result.links, LINK, "arrival_bps", window)
    _, price = series.link_series(result.links, LINK, "signal", window)
    return series.mean(load * (1 - price)) / 1e6


def overload(result):
    """Longest time for which the arrival rate stays above 1.05 C, s."""
    t, load = series.link_series(result.links, LINK, "arrival_bps")
    fits = np.concatenate(([t[0]], t[load <= 1.05 * C], [t[-1]]))
    return float(np.diff(fits).max())


def sent(result, x, window):
    """Mean sending rate in each 100 ms, bit/s.

    Instantaneous samples would be synchronous with the routers' intervals.
    """
    return series.flow_series(result.flows, x, "sending_rate_bps", window)


def each(result):
    return [series.mean(sent(result, x, series.steady(JOIN, END))[1]) / 1e6 for x in T2]


def fast_mean(result, window=series.ALL):
    curves = [sent(result, x, window) for x in FAST]
    return curves[0][0], sum(rate for _, rate in curves) / len(FAST)


def measure(figure):
    seeds = figure.seeds(5, quick=1)
    scenarios = [figure.scenario(name="t1.toml"), figure.scenario({"law.emkc_avq.alpha": "2 Mb/s"}, name="t1.toml")]
    for build in (t2, users):
        scenarios += [build(figure, seed) for seed in seeds]
    slow, fast, *rest = figure.runs(scenarios)
    many, crowd = rest[: len(seeds)], rest[len(seeds) :]
    figure.sums = {"fig 25(e): x1..x99": fast_mean(many[0]), "fig 28(b): sum": arrivals(crowd[0])}
    return {
        "t1-emkcavq-fig24e": {
            "steady_rate_mbps[x1,x2]": steady(slow),
            "virtual_capacity_steady_mbps": virtual_capacity(slow),
            "time_to_99pct_fairness_s": rates.time_to_fairness(slow.flows, dict.fromkeys(T1, C / 2), JOIN, within=0.01),
            "stable": [rates.stable(slow.flows, x, C / 2, (JOIN, END)) for x in T1],
        },
        "t2-emkcavq-fig25e": {
            "steady_rate_mbps[each]": Seeds([each(result) for result in many]),
            "stable": Seeds([series.is_stable(*fast_mean(result, (JOIN, END)), T2_SHARE) for result in many]),
        },
        "emkcavq-fig28a": {
            "rate_peak_mbps[aggregate]": float(rates.aggregate(fast.flows, T1)[1].max()) / 1e6,
            "overshoot_duration_s": overload(fast),
            "steady_rate_mbps[x1,x2]": steady(fast),
        },
        "emkcavq-fig28b": {
            "overshoot_pct": Seeds([queues.overshoot_pct(result.links, LINK, C) for result in crowd]),
            "overshoot_duration_s": Seeds([overload(result) for result in crowd]),
        },
    }


def arrivals(result):
    return series.link_series(result.links, LINK, "arrival_bps")


def plot(figure, canvas):
    panels = canvas.subplots(2, 2)
    draw_rates(panels[:, 0], figure.results[:2], ("fig 24(e)", "fig 28(a)"), T1)
    for axes, (title, (t, rate)) in zip(panels[:, 1], figure.sums.items(), strict=True):
        axes.plot(t, rate / 1e6)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title)
    late = series.steady(JOIN, END)
    draw_expected(panels[0, 0], figure, "t1-emkcavq-fig24e[0]", late)
    draw_expected(panels[0, 0], figure, "t1-emkcavq-fig24e[2]", shift=JOIN, along="x")
    draw_expected(panels[1, 0], figure, "emkcavq-fig28a[2]", late)
    draw_expected(panels[0, 1], figure, "t2-emkcavq-fig25e[0]", late)
    draw_expected(panels[1, 1], figure, "emkcavq-fig28b[0]", scale=0.1, shift=10)
