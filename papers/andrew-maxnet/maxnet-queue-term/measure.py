"""Response of the router to a queue. The window of the flow is twice the bandwidth-delay product."""

import math

import numpy as np

from levelflow.measure import series
from levelflow.reproduce import Against

LINK = "A->B"
C, TAU = 622e6, 0.029  # bit/s, s
AT_LINK, AT_FLOW = "link.A->B.law.maxnet", "flow.x.law.maxnet"
FROZEN = {f"{AT_LINK}.t0": "29 ms", f"{AT_FLOW}.alpha": 0.001, f"{AT_FLOW}.eta": 0.0}
#: Parameters that reduce the queue term to 10^-6 of its value for T_0 = 1 s.
WITHOUT = {f"{AT_LINK}.t0": "1000000 s"}


def measure(figure):
    frozen, plain, without = figure.runs([figure.scenario(changes) for changes in (FROZEN, {}, WITHOUT)])
    return {
        "maxnet-queue-term": {
            "virtual_load_over_c": virtual_load(frozen),
            "time_to_drain_s": Against(drained(plain), drained(without)),
        }
    }


def column(result, name, window=series.ALL):
    return series.link_series(result.links, LINK, name, window)


def virtual_load(result):
    """Returns the mean of y/C + Q/(T_0 C) from the third round trip on, during which the window is constant."""
    window = (3 * TAU, 10 * TAU)
    load = column(result, "arrival_bps", window)[1] / C
    queue = 8 * column(result, "backlog_bytes", window)[1] / (TAU * C)
    return series.mean(load + queue)


def drained(result):
    """Returns the time from the first queued packet to the first empty queue, s."""
    t, queue = column(result, "backlog_bytes")
    begun = np.argmax(queue > 0)
    empty = np.flatnonzero(queue[begun:] == 0)
    return float(t[begun + empty[0]] - t[begun]) if empty.size else math.inf


def plot(figure, canvas):
    axes = canvas.subplots()
    for result, name in zip(figure.results, ("window held, T0 = 29 ms", "T0 = 130 ms", "no queue term"), strict=True):
        t, queue = column(result, "backlog_bytes", (0.0, 1.0))
        axes.plot(t, 8 * queue / (C * TAU), label=name)
    axes.set(xlabel="time (s)", ylabel="queue / BDP", title="A window of 2 C tau")
