"""Measures the naive and the proper EMKC sender on one link (figs 19 and 20)."""

from levelflow.laws import Router, Sender
from levelflow.measure import rates, series
from levelflow.reproduce.drawing import draw_expected
from levelflow.reproduce.verdict import Noted

FINAL = 10e6 + 100e3 / 0.9  # bit/s
RTTS = (20, 30, 40, 50, 60)  # ms
NAIVE_RTT = 28  # ms
END = 5.0


def overshoot(result, window=series.ALL):
    return 100 * (rates.peak_rate(result.flows, "x1", window) / FINAL - 1)


def settled(result, within):
    return rates.time_to_fairness(result.flows, {"x1": FINAL}, 0.0, within=within)


def transient(result):
    """Overshoot in the first 0.3 s, per cent, and time to settle, s."""
    return overshoot(result, (0.0, 0.3)), settled(result, 0.02)


def reference_error(intervals=40):
    """Largest relative difference between the sender's reference rate (eq 124) and the rate measured by the router."""
    capacity, delta, size = 10e6, 0.05, 200
    params = {"alpha": "100 kb/s", "beta": 0.9}
    router, sender = Router("emkc", capacity), Sender("emkc", params, packet_bytes=size)
    number, counted, error = 0, 0, 0.0
    for n in range(intervals):
        packets = 200 + 137 * n % 100
        for k in range(packets):
            header = router.arrive(size, sender.send(n * delta, number, size))
            sender.feedback(n * delta, number, 0.0, header)
            number += 1
            if k == 0 and n > 1:
                reference = (sender.rate_bps - 100e3) / (1 - 0.9 * router.signal)
                error = max(error, abs(reference * delta / (8 * size * counted) - 1))
        router.close(delta)
        counted = packets
    return error


def measure(figure):
    paths = [{"flow.x1.rtt": f"{rtt} ms"} for rtt in RTTS]
    slow = {"flow.x1.rtt": f"{NAIVE_RTT} ms", "law.emkc.sender": "naive"}
    naive = figure.runs([figure.scenario(slow, seed=seed) for seed in figure.seeds(5)])
    proper = figure.runs([figure.scenario(path) for path in paths])
    rises, times = zip(*map(transient, naive), strict=True)
    return {
        "emkc-fig19a-naive": {
            "overshoot_pct": Noted(rises[0], f"in other phases {', '.join(f'{rise:.0f}' for rise in rises[1:])}"),
            "settle_time_s[2_%_of_10.11_mb/s]": Noted(
                times[0], f"in other phases {', '.join(f'{time:.2f}' for time in times[1:])}"
            ),
            "steady_rate_mbps[x1]": rates.steady_rate(naive[0].flows, "x1", 0.0, END) / 1e6,
        },
        "emkc-fig20-proper": {
            "overshoot_pct": max(map(overshoot, proper)),
            "monotonic[x1]": [rates.monotonic(result.flows, "x1") for result in proper],
            "settle_time_s": max(settled(result, 0.02) for result in proper),
            "xbar_equals_router_interval_contribution": reference_error() < 1e-6,
        },
    }


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    phases, paths = [f"phase {i}" for i in range(1, 6)], [f"RTT {rtt} ms" for rtt in RTTS]
    for axes, results, labels, title in (
        (left, figure.results[:5], phases, f"naive, RTT {NAIVE_RTT} ms"),
        (right, figure.results[5:], paths, "proper"),
    ):
        for label, result in zip(labels, results, strict=True):
            t, rate = rates.rate_series(result.flows, "x1", (0.0, 2.0))
            axes.plot(t, rate / 1e6, label=label)
        axes.set(xlabel="time (s)", ylabel="rate (Mb/s)", title=title)
    above = {"scale": FINAL / 1e8, "shift": FINAL / 1e6}  # conversion of per cent
    draw_expected(left, figure, "emkc-fig19a-naive[0]", **above)
    draw_expected(left, figure, "emkc-fig19a-naive[1]", along="x")
    draw_expected(right, figure, "emkc-fig20-proper[0]", **above)
    draw_expected(right, figure, "emkc-fig20-proper[2]", along="x")
