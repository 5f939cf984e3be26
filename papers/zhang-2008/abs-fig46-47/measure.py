"""Adaptive Buffer Sizing (ABS) with twenty flows: two pairs of targets, without and with training of the gains."""

import itertools

import numpy as np

from levelflow.measure import series, utilisation
from levelflow.reproduce import over_seeds
from levelflow.reproduce.drawing import draw_expected
from levelflow.topology.bottleneck import LINK, identical_flows, single_bottleneck
from zhang_models.adaptive_buffer import Settings, start, update

C, FLOWS, RTT = 10e6, 20, (30, 70)
END = 200.0  # s
LAST = (END / 2, END)
INTERVAL = 0.2  # s
TARGETS = {"a": (0.95, 0.005), "b": (0.7, 0.05)}
SETTLED = 0.15  # fraction of the mean of the last quarter
SEEDS = 5
PARTS = 5  # parts of the second half of a run, each longer than a cycle


def network(targets, training="none", algorithm="abs", seed=1, **words):
    u, p = targets
    words |= {"utilisation": u, "loss": p, "initial": "100 packets"}
    if algorithm == "abs":
        words["training"] = training
    scenario = single_bottleneck(C / 1e6, {algorithm: words}, END, "200 ms").set("seed", seed)
    return identical_flows(scenario, FLOWS, RTT)


def runs(figure, seed):
    """Four runs of a seed for each pair of targets: as printed, trained, with absolute damping, and in logarithms."""
    ways = ({}, {"training": "percent"}, {"damping": "absolute"}, {"algorithm": "abs_log"})
    results = figure.runs([network(targets, seed=seed, **way) for targets in TARGETS.values() for way in ways])
    return dict(zip(TARGETS, (results[:4], results[4:]), strict=True))


def under(figure, name, one):
    """Measures the runs of all seeds under a reading of the text."""

    def measured(reading):
        scenarios = [network(TARGETS[name], seed=seed) for seed in figure.seeds(SEEDS)]
        for scenario in scenarios:
            for path, value in reading.items():
                scenario.set(path, value)
        return over_seeds(map(one, figure.runs(scenarios)))

    return measured


def second_half(result):
    end = float(buffers(result)[0][-1])
    return (end / 2, end)


def buffers(result, window=series.ALL):
    return series.link_series(result.links, LINK, "buffer_packets", window)


def settling(result):
    """Time in s from which the buffer stays within 15 % of its mean in the last quarter; infinite if it does not."""
    t, b = buffers(result)
    final = b[t > 0.75 * END].mean()
    return series.holds_from(t, np.abs(b - final) <= SETTLED * final, 0.0)


def gains(result, targets):
    """Gains over time, computed by the equations from the link's loss and utilisation in each interval."""
    settings = Settings(*targets, training="percent")
    rows = series.select(result.links, "link", LINK)
    used = np.minimum(rows["throughput_bps"].to_numpy() / C, 1.0)
    lost = 8 * rows["dropped_bytes"].to_numpy() / np.maximum(rows["arrival_bps"].to_numpy() * INTERVAL, 1.0)
    state, went = start(settings, 100.0), []
    for u, p in zip(used, np.minimum(lost, 1.0), strict=True):
        state = update(settings, state, u, p)
        went.append((float(state.gain_u), float(state.gain_p)))
    return np.array(went)


def converge(result, targets):
    """True if each gain's range in the last quarter of the run is at most a tenth of the gain's earlier range."""
    went = gains(result, targets)
    cut = len(went) * 3 // 4
    late, early = np.ptp(went[cut:], axis=0), np.ptp(went[:cut], axis=0)
    return bool((late <= 0.1 * np.maximum(early, 1e-9)).all())


def cycles(result):
    """Smallest and largest buffers of each part of the second half, packets."""
    start, end = second_half(result)
    t, b = buffers(result)
    edges = np.linspace(start, end, PARTS + 1)
    parts = [b[(t > low) & (t <= high)] for low, high in itertools.pairwise(edges)]
    return [float(part.min()) for part in parts], [float(part.max()) for part in parts]


def untrained_a(result):
    window = second_half(result)
    used = utilisation.use(result.links, LINK, C, window)
    return {
        "buffer_mean_pkts[last half]": used.buffer,
        "buffer_cv": utilisation.variation(result.links, LINK, window),
        "loss_rate": used.loss,
    }


def untrained_b(result):
    low, high = cycles(result)
    return {
        "buffer_min_pkts": low,
        "buffer_max_pkts[each cycle]": high,
        "oscillates": bool(np.mean(high) > 2 * max(np.mean(low), 1.0)),
    }


def trained(name, plain, result):
    """Metrics with training. The settling time is divided by the settling time without training (targets a), or by END
    (targets b).
    """
    return {
        "buffer_cv": utilisation.variation(result.links, LINK, LAST),
        "settling_time_ratio": float(settling(result) / (settling(plain) if name == "a" else END)),
        "gains_converge": converge(result, TARGETS[name]),
        "loss_rate": utilisation.use(result.links, LINK, C, LAST).loss,
    }


def measure(figure):
    went = [runs(figure, seed) for seed in figure.seeds(SEEDS)]
    return {
        f"abs-fig46{name}": figure.by_reading(f"abs-fig46{name}", under(figure, name, one))
        for name, one in (("a", untrained_a), ("b", untrained_b))
    } | {f"abs-fig47{name}": over_seeds(trained(name, *seed[name][:2]) for seed in went) for name in TARGETS}


def plot(figure, canvas):
    canvas.set_size_inches(9, 7)
    names = ("as printed", "trained, per cent", "damping: absolute", "abs_log")
    grid = canvas.subplots(2, 2, sharex=True)
    for column, (name, results) in enumerate(zip(TARGETS, (figure.results[:4], figure.results[4:8]), strict=True)):
        for label, result in zip(names, results, strict=True):
            grid[0, column].plot(*buffers(result), label=label, linewidth=1)
        u, p = TARGETS[name]
        grid[0, column].set(title=f"fig 46, 47({name}): u* {100 * u:g} %, p* {100 * p:g} %", ylabel="buffer (packets)")
        went = gains(results[1], TARGETS[name])
        t = INTERVAL * np.arange(1, len(went) + 1)
        grid[1, column].plot(t, went, label=("I_u", "I_p"))
        grid[1, column].set(xlabel="time (s)", ylabel="trained gains (packets/s)")
        grid[1, column].legend()
    grid[0, 0].legend()
    draw_expected(grid[0, 0], figure, "abs-fig46a[0]", LAST)
    draw_expected(grid[0, 1], figure, "abs-fig46b[0]", LAST)
    draw_expected(grid[0, 1], figure, "abs-fig46b[1]", LAST)
