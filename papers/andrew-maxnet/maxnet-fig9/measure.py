"""Figure 9: a flow yields to constant traffic of 400 Mb/s and reclaims its capacity afterwards."""

import numpy as np

from levelflow.measure import series
from levelflow.reproduce.drawing import draw_expected

C, TARGET = 1e9, 940e6  # bit/s
STOP, END, LATER, RTT = 20.0, 30.0, 0.3, 0.029  # s


def measure(figure):
    result = figure.run()
    before = sent(result, (STOP - 1.0, STOP))
    later = sent(result, (STOP + LATER - RTT, STOP + LATER))
    t, rate = series.flow_series(result.flows, "maxnet", "sending_rate_bps")
    smooth = np.convolve(rate, np.ones(3) / 3, "same")  # averaged over a round trip
    carried = series.link_series(result.links, "A->B", "throughput_bps", (14.0, 20.0))[1]
    return {
        "maxnet-fig9": {
            "flow_rate_bps[3-10 s]": delivered(result, (3.0, 10.0)),
            "flow_rate_bps[10.2-11.5 s (link saturated, window clocked)]": delivered(result, (10.2, 11.5)),
            "flow_rate_bps[14-20 s]": delivered(result, (14.0, 20.0)),
            "utilisation": series.mean(carried) / C,
            "reclaimed_fraction": (later - before) / (TARGET - before),
            "time_to_target_s": series.holds_from(t, smooth >= 0.98 * TARGET, STOP, END - RTT),
        }
    }


def sent(result, window):
    return series.mean(series.flow_series(result.flows, "maxnet", "sending_rate_bps", window)[1])


def delivered(result, window):
    return series.mean(series.flow_series(result.flows, "maxnet", "throughput_bps", window)[1])


def plot(figure, canvas):
    axes = canvas.subplots()
    result = figure.results[0]
    for name in ("maxnet", "cbr"):
        t, rate = series.flow_series(result.flows, name, "throughput_bps")
        means = rate.reshape(-1, 10).mean(axis=1)
        axes.step(t[9::10], means / 1e6, label=name)
    axes.set(xlabel="time (s)", ylabel="rate over 0.1 s (Mb/s)", title="Figure 9")
    draw_expected(axes, figure, "maxnet-fig9[0]", (3, 10), scale=1e-06)
    draw_expected(axes, figure, "maxnet-fig9[1]", (10.2, 11.5), scale=1e-06)
    draw_expected(axes, figure, "maxnet-fig9[2]", (14, 20), scale=1e-06)
