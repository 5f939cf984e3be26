"""Measures figure 2: a stream whose sender observes neither the queue nor the capacity of the link."""

import numpy as np

from levelflow.measure import series
from levelflow.reproduce.drawing import draw_expected

SECOND = 10  # samples in a second
SPAN = 20  # s


def measure(figure):
    _, sent, rtt, lost = per_second(figure.run())
    first = np.flatnonzero(lost)[0]
    peaks = sent.reshape(-1, SPAN).max(axis=1)
    return {
        "dsl-fig2": {
            "rate_peak_kbps": (peaks / 1e3).tolist(),
            "rate_min_after_first_loss_kbps": sent[first:].min() / 1e3,
            "corr_rtt_vs_loss_events": np.corrcoef(rtt, lost)[0, 1],
        }
    }


def per_second(run):
    """Sender's values per second: time in s, sending rate in bit/s, RTT in s, and True where the sender backs off."""
    t, sent = series.flow_series(run.flows, "stream", "sending_rate_bps")
    _, rtt = series.flow_series(run.flows, "stream", "rtt_s")
    _, rate = series.flow_series(run.flows, "stream", "law_rate_bps")
    lowered = np.diff(rate, prepend=rate[0]) < 0
    t, sent, rtt, lowered = (column.reshape(-1, SECOND) for column in (t, sent, rtt, lowered))
    return t[:, -1], sent.mean(axis=1), rtt.mean(axis=1), lowered.any(axis=1)


def plot(figure, canvas):
    t, sent, rtt, lost = per_second(figure.results[0])
    left, right = canvas.subplots(1, 2)
    left.plot(t, rtt)
    left.plot(t[lost], rtt[lost], ".", label="loss")
    left.set(xlabel="time (s)", ylabel="round trip (s)")
    right.plot(t, sent / 1e3)
    right.set(xlabel="time (s)", ylabel="rate (kb/s)")
    draw_expected(right, figure, "dsl-fig2[0]")
    draw_expected(right, figure, "dsl-fig2[1]")
