from levelflow.measure import queues
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Seeds

LINK = "R1->R2"
FIXED = 1024e6  # bit/s, the capacity while round-trip times vary
DISCARD, OBSERVE = 20.0, 20.0  # s


def by_capacity(full):
    """Capacities, bit/s: 16 Mb/s to 16 Gb/s, or to 512 Mb/s in the quick tier."""
    return [16e6 * 2**k for k in range(11 if full else 6)]


def by_rtt(full):
    """Round-trip times, s: 10 to 2560 ms. The quick tier has every fourth value."""
    return [0.01 * 2**k for k in range(0, 9, 1 if full else 4)]


def after(rtt):
    """Start of the observation, s. The start-up takes three round trips, and then six steps of at least one round trip
    each.
    """
    return max(DISCARD, 12 * rtt)


def length(full, begin):
    return max(60.0, begin + OBSERVE) if full else begin + OBSERVE


def of_capacity(figure, capacity, seed):
    changes = {"link.1.capacity": f"{capacity:.0f} b/s", "duration": f"{length(figure.full, DISCARD)} s"}
    return figure.scenario(changes, seed=seed)


def of_rtt(figure, rtt, seed):
    text = f"{rtt} s"
    changes = {"link.1.capacity": f"{FIXED:.0f} b/s", "link.1.delay": "5 ms", "flow.forward.rtt": text}
    changes |= {"flow.backward.rtt": text, "duration": f"{length(figure.full, after(rtt))} s"}
    return figure.scenario(changes, seed=seed)


def utilisation(result, capacity, begin):
    return queues.utilisation(result.links, LINK, capacity, (begin, float("inf")))


def measured(figure):
    """Pairs of capacity and result, and of round-trip time and result, per seed. RTTs and starts are random."""
    points = [(of_capacity, c) for c in by_capacity(figure.full)] + [(of_rtt, d) for d in by_rtt(figure.full)]
    seeds = figure.seeds(5 if figure.full else 3, quick=1)
    results = iter(figure.runs([of(figure, value, seed) for seed in seeds for of, value in points]))
    for _ in seeds:
        pairs = [(value, next(results)) for _, value in points]
        yield pairs[: len(by_capacity(figure.full))], pairs[len(by_capacity(figure.full)) :]


def measure(figure):
    window = (DISCARD, float("inf"))
    seeds = figure.by_seed = list(measured(figure))
    at_c = [[utilisation(result, c, DISCARD) for c, result in over_c] for over_c, _ in seeds]
    at_rtt = [[utilisation(result, FIXED, after(d)) for d, result in over_rtt] for _, over_rtt in seeds]
    peaks = [[queues.overshoot_pct(result.links, LINK, c, window) for c, result in over_c] for over_c, _ in seeds]
    means, variances = ([[pair[i] for pair in pairs] for pairs in at_rtt] for i in (0, 1))
    return {
        "jetmax-fig40a": {
            "utilization_mean": Seeds([[mean for mean, _ in pairs] for pairs in at_c]),
            "overshoot_pct": Seeds(peaks),
            "utilization_var": Seeds([[variance for _, variance in pairs] for pairs in at_c]),
        },
        "jetmax-fig40b": {
            "utilization_mean": Seeds(means),
            "utilization_mean_range_over_RTT": Seeds([max(mean) - min(mean) for mean in means]),
            "utilization_var": Seeds(variances),
        },
    }


def plot(figure, canvas):
    over_c, over_rtt = figure.by_seed[0]
    left, right = canvas.subplots(1, 2, sharey=True)
    left.plot([c / 1e6 for c, _ in over_c], [utilisation(result, c, DISCARD)[0] for c, result in over_c], "o-")
    left.set(xscale="log", ylim=(0, 1.1), xlabel="capacity (Mb/s)", ylabel="utilisation", title="(a) 20 to 220 ms")
    right.plot(
        [1e3 * d for d, _ in over_rtt], [utilisation(result, FIXED, after(d))[0] for d, result in over_rtt], "o-"
    )
    right.set(xscale="log", xlabel="round trip (ms)", title="(b) 1024 Mb/s")
    draw_expected(left, figure, "jetmax-fig40a[0]")
    draw_expected(right, figure, "jetmax-fig40b[0]")
