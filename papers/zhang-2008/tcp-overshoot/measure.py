"""Measures figures 3 to 7: overshoot of TCP."""

import numpy as np

from levelflow.measure import series
from levelflow.reproduce.drawing import draw_expected
from zhang_models.overshoot import WindowAimd, immediate_aimd

SLOW, FAST = 0.2e6, 2e6  # bit/s
PACKET = 1040 * 8  # bits in figures 5 to 7
RTT = 0.06 + PACKET / FAST
FULL = FAST * RTT / PACKET  # the window that fills the link, packets
SETTLED = (10, 100)


def measure(figure):
    window_grows = run(figure, {"reno": {"initial_ssthresh": FULL}})
    from_one = run(figure, {"reno": {"slow_start": False, "initial_window": 1}})
    scalable = run(figure, {"scalable": {"step": 0.05, "initial_ssthresh": FULL}})
    delayed = two(figure)
    together = sum(sent(delayed, name)[1] for name in ("x1", "x2"))
    return {
        "tcp2-fig3": {
            "combined_rate_mean_over_C": together.mean() / SLOW,
            "combined_rate_peak_mbps": together.max() / 1e6,
            "combined_rate_min_mbps": together.min() / 1e6,
        },
        "tcp2-fig4": {"median_unfairness_ratio[a_over_b]": unfairness(rates(delayed)) / unfairness(immediate())},
        "tcp-fig5": {"rms_rel_error_W": error_of_eq_14(window_grows), "capacity_packets_per_s": FAST / PACKET},
        "tcp-fig6a": {
            "steady_rate_over_C": steady(from_one, 60, 100),
            "growth_rate_drops_at_saturation": growth_drops(from_one),
        },
        "stcp-fig7a": {"steady_rate_over_C": steady(scalable, 20, 60)},
    }


def run(figure, law):
    """One flow over the link of figures 5 to 7."""

    def edit(scenario):
        scenario.flow("x1", law, "A", "B", packet="1040 B")

    return figure.run(edit)


def two(figure):
    """Two flows over the link of figures 3 and 4."""

    def edit(scenario):
        scenario.set("link.A->B.capacity", f"{SLOW} b/s").set("link.A->B.delay", "10 ms")
        scenario.set("link.A->B.buffer", "20 packets")
        for name, start in (("x1", "0 s"), ("x2", "1 s")):
            scenario.flow(name, "newreno", "A", "B", start=start, packet="1040 B")

    return figure.run(edit)


def immediate():
    """Rates of two users with immediate feedback, from an unfair start, by user and step."""
    return immediate_aimd([0.1 * SLOW, 0.8 * SLOW], SLOW, 0.01 * SLOW, 999).T


def sent(result, flow, window=SETTLED):
    return series.flow_series(result.flows, flow, "sending_rate_bps", window)


def rates(result):
    return np.array([sent(result, flow)[1] for flow in ("x1", "x2")])


def unfairness(x):
    """Median of `larger rate/smaller rate` in the last nine tenths of the run. Times without traffic are omitted."""
    x = x[:, x.shape[1] // 10 :]
    x = x[:, x.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        return float(np.median(x.max(axis=0) / x.min(axis=0)))


def windows(result):
    return series.flow_series(result.flows, "x1", "window_packets")


def when_full(result):
    t, w = windows(result)
    return float(t[w >= FULL][0])


def error_of_eq_14(result):
    """Root mean square relative error of W, compared with eq 14."""
    t, w = windows(result)
    after = t >= when_full(result)
    return float(np.sqrt(np.mean((w[after] / eq_14(t[after]) - 1) ** 2)))


def eq_14(t):
    """W(t) = sqrt(2 C t + W0^2), from the moment at which the link is full."""
    return WindowAimd(FAST / PACKET, FULL).windows(t - t[0])


def steady(result, start, end):
    return float(sent(result, "x1", (start, end))[1].mean()) / FAST


def seconds(result):
    """End times of consecutive seconds, and the mean rate in each second."""
    t, rate = sent(result, "x1", (0, 100))
    return t.reshape(-1, 10)[:, -1], rate.reshape(-1, 10).mean(axis=1)


def growth_drops(result):
    full = when_full(result)

    def slope(start, end):
        t, rate = sent(result, "x1", (start, end))
        return np.polyfit(t, rate, 1)[0]

    return slope(full, full + 10) < slope(max(full - 2, 0), full) / 10


def plot(figure, canvas):
    grows, from_one, scalable, delayed = figure.results
    axes = canvas.subplots(2, 3).ravel()
    for name in ("x1", "x2"):
        t, rate = sent(delayed, name, (0, 100))
        axes[0].plot(t, rate / 1e6, label=name)
    axes[0].set(xlabel="time (s)", ylabel="rate (Mb/s)", title="Figure 3")
    for (x, y), label in ((rates(delayed), "TCP, delayed"), (immediate(), "AIMD, immediate")):
        axes[1].plot(x / 1e6, y / 1e6, ".", ms=2, label=label)
    axes[1].set(xlabel="x1 (Mb/s)", ylabel="x2 (Mb/s)", title="Figure 4")
    t, w = windows(grows)
    after = t >= when_full(grows)
    axes[2].plot(t, w, label="window")
    axes[2].plot(t[after], eq_14(t[after]), "k--", label="eq 14")
    axes[2].set(xlabel="time (s)", ylabel="packets", title="Figure 5")
    for ax, result, title in ((axes[3], from_one, "Figure 6(a)"), (axes[4], scalable, "Figure 7(a)")):
        ax.plot(*seconds(result))
        ax.axhline(FAST, color="k", ls="--", lw=1)
        ax.set(xlabel="time (s)", ylabel="rate (bit/s)", title=title)
    axes[5].axis("off")
    draw_expected(axes[3], figure, "tcp-fig6a[0]", (60, 100), scale=FAST)
    draw_expected(axes[4], figure, "stcp-fig7a[0]", (20, 60), scale=FAST)
