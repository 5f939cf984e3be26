"""Figure 2: a stream that sees neither its queue nor its capacity."""

import numpy as np

from levelflow.measure import series

LINE = 450e3  # bit/s
BASE = 0.05  # s
SECOND = 10  # samples
LINK = "server->home"


def measure(figure):
    _, sent, rtt, lost = per_second(figure.run())
    first = np.flatnonzero(lost)[0]
    return {
        "dsl-fig2": {
            "rate_peak_kbps": sent.max() / 1e3,
            "rate_min_after_first_loss_kbps": sent[first:].min() / 1e3,
            "corr_rtt_vs_loss_events": np.corrcoef(rtt, lost > 0)[0, 1],
        }
    }


def per_second(run):
    """Of each second: time in s, rate sent in bit/s, round trip of packets that leave then in s, packets dropped."""
    t, sent = series.flow_series(run.flows, "stream", "sent_bps")
    _, queue = series.link_series(run.links, LINK, "queue_bytes")
    _, dropped = series.link_series(run.links, LINK, "dropped")
    t, sent, queue, dropped = (column.reshape(-1, SECOND) for column in (t, sent, queue, dropped))
    return t[:, -1], sent.mean(axis=1), BASE + 8 * queue.mean(axis=1) / LINE, dropped.sum(axis=1)


def plot(figure, canvas):
    t, sent, rtt, lost = per_second(figure.results[0])
    left, right = canvas.subplots(1, 2)
    left.plot(t, rtt)
    left.plot(t[lost > 0], rtt[lost > 0], ".", label="loss")
    left.set(xlabel="time (s)", ylabel="round trip (s)")
    right.plot(t, sent / 1e3)
    right.set(xlabel="time (s)", ylabel="rate (kb/s)")
