"""Queue of one link under 1 to 64 flows."""

import numpy as np

from levelflow.measure import queues, series

LINK = "A->B"
C, RTT = 622e6, 0.029  # bit/s, s
FLOWS = (1, 4, 16, 64)
WINDOW = (10.0, 30.0)  # s


def measure(figure):
    results = figure.runs([figure.scenario({"flow.x.count": n}) for n in FLOWS])
    means = [queues.mean_queue_over_bdp(result.links, LINK, C, RTT, WINDOW) for result in results]
    return {
        "maxnet-queue-vs-load": {
            "mean_queue_over_bdp": means,
            "mean_queue_trend": float(np.polyfit(FLOWS, means, 1)[0]),
        }
    }


def plot(figure, canvas):
    axes = canvas.subplots()
    for result, flows in zip(figure.results, FLOWS, strict=True):
        t, queue = series.link_series(result.links, LINK, "backlog_max_bytes")
        axes.semilogy(t, np.maximum(8 * queue / (C * RTT), 1e-5), label=f"{flows} flows", linewidth=0.7)
    axes.set(xlabel="time (s)", ylabel="largest queue of 10 ms / BDP", title="MaxNet, 622 Mb/s, 29 ms")
