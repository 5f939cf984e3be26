"""Measures XCP on T1, T2 and T4, the networks of baselines-t1, baselines-t2 and baselines-t4."""

import numpy as np

from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Noted, Seeds

PAIR = ("x1", "x2")
FAST = [f"x{i}" for i in range(1, 100)]
FOUR = ("x1", "x2", "x3", "x4")
JOIN, END = 5.0, 150.0  # s
FAIR = {"T1": 5e6, "T2": 0.1e6, "T4": 10e6}  # bit/s
CALM = (30.0, 60.0)  # s: x2 of T1 has joined and the link is full
JOINED, T4_END = 90.0, 400.0  # s: x4 joins, and the run ends
LAST = 300.0  # s: start of the window of the final means
GAMMA = 0.1
LIMIT = "law.xcp.longest_interval", "1 s"  # parameter of the second XCP variant
# Flows of T4 that cross two links, with both links and the other flow of the first link.
CROSSED = {"x1": ("R1->R2", "R2->R4", "x2"), "x3": ("R4->R3", "R3->R1", "x4")}


def t2(figure, seed):
    scenario = figure.scenario(seed=seed, name="t2.toml")
    for x in FAST:
        scenario.flow(x, "xcp", "R1", "R2", rtt="220 ms", start={"uniform": ["0 s", "1 s"]})
    return scenario


def calm(result):
    """True if the sum of all rates on T2 swings by at most 20 %."""
    return series.amplitude_pct(rates.aggregate(result.flows, [*FAST, "x100"], series.steady(JOIN, END))[1]) <= 20.0


def fair_after(flows, within):
    """Seconds after the first data of x2 on T1 until both rates stay near the fair rate."""
    return rates.time_to_fairness(flows, dict.fromkeys(PAIR, FAIR["T1"]), JOIN, within=within)


def oscillates_for(flows):
    """Seconds after the last join of T4 until all rates stay within a fifth of their own means, or until the end."""
    settled = []
    for x in FOUR:
        times, rate = rates.rate_series(flows, x, (JOINED, T4_END))
        mean = series.mean(rate[times > LAST])
        settled.append(series.holds_from(times, np.abs(rate - mean) <= 0.2 * mean, JOINED))
    return min(max(settled), T4_END - JOINED)


def change(result, link, own, other):
    """Change of a flow's rate that a link signals per interval, bit/s. Equations: section 3.5 of the XCP paper."""
    window = (JOINED, T4_END)
    sharing = [x for x in (own, other) if x]
    delay = sum(np.nan_to_num(series.flow_series(result.flows, x, "rtt_s", window)[1]) for x in sharing) / len(sharing)
    arrived = series.link_series(result.links, link, "arrival_bps", window)[1]
    rate = rates.rate_series(result.flows, own, window)[1]
    phi = 8 * series.link_series(result.links, link, "signal", window)[1] / np.maximum(delay, 1e-3)
    shuffled = np.maximum(0.0, GAMMA * arrived - np.abs(phi))
    gain = (shuffled + np.maximum(phi, 0.0)) / len(sharing)
    return gain - (shuffled + np.maximum(-phi, 0.0)) * rate / np.maximum(arrived, 1.0)


def switches(result, flow):
    """Number of times per minute that the link with the smaller grant for a flow changes."""
    first, second, other = CROSSED[flow]
    tighter = change(result, first, flow, other) < change(result, second, flow, None)
    return float(60.0 * np.count_nonzero(np.diff(tighter)) / (T4_END - JOINED))


def measure(figure):
    one, four, *many = figure.runs(
        [
            figure.scenario(name="t1.toml"),
            figure.scenario(name="t4.toml"),
            *(t2(figure, seed) for seed in figure.seeds(5)),
        ]
    )
    limited = [figure.scenario(name="t1.toml"), figure.scenario(name="t4.toml"), t2(figure, 1)]
    short_one, short_four, short_many = figure.runs([scenario.set(*LIMIT) for scenario in limited])
    values, others = outcomes(one, four, many), outcomes(short_one, short_four, [short_many])
    noted = {
        entry: {name: beside(value, others[entry][name]) for name, value in checks.items()}
        for entry, checks in values.items()
    }
    levels = ", ".join(f"{fair_after(one.flows, within):.0f} s" for within in (0.05, 0.03, 0.02))
    time = noted["t1-xcp-fig24b"]["time_to_99pct_fairness_s"]
    noted["t1-xcp-fig24b"]["time_to_99pct_fairness_s"] = Noted(
        time.value, f"within 5, 3 and 2 %: {levels}; {time.note}"
    )
    return noted


def beside(value, other):
    """Returns a value, with the value under the other XCP variant as a note."""
    single = other.values[0] if isinstance(other, Seeds) else other
    return Noted(value, f"with intervals of at most 1 s: {single}")


def outcomes(one, four, many):
    return {
        "t1-xcp-fig24b": {
            "stable": [rates.stable(one.flows, x, FAIR["T1"], (JOIN, END)) for x in PAIR],
            "time_to_99pct_fairness_s": fair_after(one.flows, 0.01),
            "osc_amplitude_pct[x1][0-60s]": rates.osc_amplitude_pct(one.flows, "x1", CALM),
        },
        "t2-xcp-fig25b": {
            "stable": Seeds([calm(r) for r in many]),
            "starved[x100]": Seeds([rates.starved(r.flows, "x100", FAIR["T2"], (JOIN, END)) for r in many]),
        },
        "t4-xcp-fig27b": {
            "oscillation_duration_s": oscillates_for(four.flows),
            "starved[x3]": rates.starved(four.flows, "x3", FAIR["T4"], (JOINED, T4_END)),
            "bottleneck_switches_of_x1_and_x3_per_minute": [switches(four, x) for x in CROSSED],
        },
    }


def plot(figure, canvas):
    for axes, result, title, names in zip(
        canvas.subplots(1, 3),
        (figure.results[i] for i in (0, 2, 1)),
        ("fig 24(b): T1", "fig 25(b): T2", "fig 27(b): T4"),
        (PAIR, ("x1", "x100"), ("x2", "x4", "x1", "x3")),
        strict=True,
    ):
        draw_rates(axes, [result], [title], names, linewidth=0.8)
    draw_expected(canvas.axes[0], figure, "t1-xcp-fig24b[1]", shift=JOIN, along="x")
