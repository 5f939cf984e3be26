"""Start-up: the first data packet leaves at the smallest rate of the path, one round trip after the SYN."""

import numpy as np

from levelflow.measure import rates, series
from levelflow.reproduce import Against

START, RTPD = 0.5, 0.1  # s
ON_THE_WAY = {"A->B": 0.0, "B->C": 0.02}  # delay of the SYN to each router, s
PACKET, CONTROL = 1000, 40  # bytes
SAMPLE = 1e-4  # s


def measure(figure):
    result = figure.run()
    t, sent = series.flow_series(result.flows, "x", "sending_rate_bps")
    began = float(t[np.argmax(sent * SAMPLE / 8 >= PACKET)])
    offered = min(rate_at(result.links, name, START + later) for name, later in ON_THE_WAY.items())
    granted = float(rates.rate_series(result.flows, "x", (began - SAMPLE / 2, np.inf))[1][0])
    return {
        "rcp-min-rate-header": {
            "first_data_rate": Against(granted, offered),
            "time_first_data_sent_s": Against(began - START, RTPD),
            "rate_updates_per_rtt": fewest_changes(result.flows, began),
        },
        "rcp-fig6": {
            "messages_before_data": messages(result.links, began),
            "first_window_idle_time_s": Against(began - START - RTPD, 8 * PACKET / granted),
        },
    }


def rate_at(links, name, when):
    t, rate = series.link_series(links, name, "signal")
    return float(rate[np.searchsorted(t, when) - 1])


def fewest_changes(flows, began):
    """Smallest number of rate changes per round trip, among the ten round trips after the first."""
    window = (began + RTPD, began + 11 * RTPD)
    changes, _ = rates.rate_changes(flows, "x", window)
    return int(np.histogram(changes, bins=10, range=window)[0].min())


def messages(links, began):
    """Number of control packets that enter the path, in either direction, before the first data packet."""
    return sum(
        round(series.link_series(links, name, "arrival_bps", (0, began - SAMPLE / 2))[1].sum() * SAMPLE / 8 / CONTROL)
        for name in ("A->B", "C->B")
    )


def plot(figure, canvas):
    axes = canvas.subplots()
    (result,) = figure.results
    for name in ON_THE_WAY:
        t, rate = series.link_series(result.links, name, "signal")
        axes.semilogy(t, rate, label=f"offered by {name}")
    t, rate = rates.rate_series(result.flows, "x", (START + RTPD, np.inf))
    axes.semilogy(t, rate, "k--", label="sent by x")
    axes.axvline(START, color="grey", linestyle=":")
    axes.set(xlabel="time (s)", ylabel="bit/s", title="SYN at the dotted line")
