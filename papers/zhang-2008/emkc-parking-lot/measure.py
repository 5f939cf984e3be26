"""Measures EMKC on a parking lot: without and with handling of bottleneck switches, and with random ACK delays."""

import math

from levelflow.measure import rates, series
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected, draw_rates
from levelflow.reproduce.verdict import Noted

PHASE, PHASES = 40.0, 7  # s and phases: x2, x3, x4 join in phases 2 to 4 and leave in phases 5 to 7
X1 = (191.1, 161.1, 113.9, 108.0, 113.9, 161.1, 191.1)  # fixed points of x1, Mb/s
LIVES = {"x1": range(7), "x2": range(1, 6), "x3": range(2, 5), "x4": range(3, 4)}  # phases in which a flow is active
RTT = 0.61  # round-trip time of x1, s
ACK_RATE = 1e5  # ACK rate of a receiver, 1/s


def phase(k):
    return k * PHASE, (k + 1) * PHASE


def steady(result, name, phases=range(PHASES)):
    """Steady rate in Mb/s by phase, for the phases in which the flow is active."""
    return {k: rates.steady_rate(result.flows, name, *phase(k)) / 1e6 for k in LIVES[name] if k in phases}


def overshoots(result):
    """Overshoot of x1 above the larger of its fixed points before and after each event, per cent."""
    targets = [max(pair) for pair in zip(X1, (0.0, *X1[:-1]), strict=True)]
    peaks = [rates.peak_rate(result.flows, "x1", phase(k)) / 1e6 for k in range(PHASES)]
    return [100 * (peak / target - 1) for peak, target in zip(peaks, targets, strict=True)]


def amplitudes(result):
    """Oscillation of every flow in the steady window of every phase, per cent."""
    windows = [(name, series.steady(*phase(k))) for name, phases in LIVES.items() for k in phases]
    return [rates.osc_amplitude_pct(result.flows, *window) for window in windows]


def naive(result):
    flows, x1, x2 = result.flows, steady(result, "x1", range(3)), steady(result, "x2", range(3))
    early = [(x, phase(k)) for x, phases in LIVES.items() for k in phases if k < 3]
    return {
        "time_to_99pct_efficiency_s[x1_alone,_bottleneck_C3-C4]": rates.time_to_efficiency(
            flows, ["x1"], 180e6, *phase(0)
        ),
        "steady_rate_mbps[x1][at_40_80_120s]": list(x1.values()),
        "steady_rate_mbps[x2][at_120s]": x2[2],
        "monotonic_until_120_s": [rates.monotonic(flows, *window) for window in early],
    }


def oscillation(result):
    """First and last time, in s, in phase 4 at which x1 is over 10 % from its fixed point. Infinite if x1 stays away
    from it.
    """
    t, rate = rates.rate_series(result.flows, "x1", phase(3))
    wild = t[abs(rate / 1e6 / X1[3] - 1) > 0.1]
    if not wild.size:
        return []
    return [float(wild.min()), float(wild.max()) if wild.max() < t.max() else math.inf]


def handled(result):
    x1, x2, x3, x4 = (steady(result, x) for x in LIVES)
    return {
        "steady_rate_mbps[x1][phases_of_40s_from_0]": list(x1.values()),
        "steady_rate_mbps[x2][80-120s_120-160s]": [x2[2], x2[3]],
        "steady_rate_mbps[x3][80-120s_120-160s]": [x3[2], x3[3]],
        "steady_rate_mbps[x4][120-160s]": x4[3],
        "bottleneck_sequence[x1]": rates.bottleneck_sequence(result.flows, "x1", RTT),
        "overshoot_pct[x1][transients]": max(overshoots(result)),
        "osc_amplitude_pct[all]": max(amplitudes(result)),
    }


def delayed(result, reference):
    pairs = [
        (a, b) for x in LIVES for a, b in zip(steady(result, x).values(), steady(reference, x).values(), strict=True)
    ]
    acks = max(flow["sent_packets"] for flow in result.summary["flows"]) / (PHASES * PHASE)
    return {
        "steady_rates_match[emkc-fig23a]": all(abs(a / b - 1) <= 0.03 for a, b in pairs),
        "stable": [amplitude <= 10.0 for amplitude in amplitudes(result)],
        "queue_empties_between_spikes": acks < ACK_RATE,
    }


def measure(figure):
    few = figure.seeds(5 if figure.full else 3, quick=1)
    handling = [figure.scenario(seed=seed) for seed in figure.seeds(5, quick=1)]
    none = [figure.scenario({"law.emkc.switch": "none", "duration": "160 s"}, seed=seed) for seed in few]
    spiky = [figure.scenario(seed=seed, name="random-delay.toml") for seed in few]
    hold, wild, random = figure.runs(handling), figure.runs(none), figure.runs(spiky)
    peaks = [rates.peak_rate(result.flows, "x1", phase(3)) / 1e6 for result in wild]
    highest = wild[peaks.index(max(peaks))]
    return {
        "emkc-fig22b-naive-switch": {
            **over_seeds(map(naive, wild)),
            "rate_peak_mbps[x1][after_120s]": Noted(max(peaks), f"by phase {', '.join(f'{x:.0f}' for x in peaks)}"),
            "oscillation_interval_s": oscillation(highest),
        },
        "emkc-fig23a": over_seeds(map(handled, hold)),
        "emkc-fig23b-random-delay": over_seeds(map(delayed, random, hold)),
    }


def plot(figure, canvas):
    titles = ("fig 23(a): hold and threshold", "fig 22(b): neither", "fig 23(b): random ACK delay")
    draw_rates(
        canvas.subplots(1, 3), (figure.results[i] for i in (0, len(figure.seeds(5, quick=1)), -1)), titles, list(LIVES)
    )
    for axes, top in zip(canvas.axes, (300, 800, 300), strict=True):
        axes.set_ylim(0, top)
    phases = [series.steady(*phase(k)) for k in range(PHASES)]
    draw_expected(canvas.axes[0], figure, "emkc-fig23a[0]", phases)
    draw_expected(canvas.axes[1], figure, "emkc-fig22b-naive-switch[1]", phases[:3])
    draw_expected(canvas.axes[1], figure, "emkc-fig22b-naive-switch[4]", phase(3))
    draw_expected(canvas.axes[1], figure, "emkc-fig22b-naive-switch[5]", along="x")
