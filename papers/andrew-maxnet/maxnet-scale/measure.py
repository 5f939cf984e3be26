"""One flow on links of 10 kb/s to 100 Gb/s with round trips of 1 ms to 1 s."""

from collections import deque

import numpy as np

from levelflow.laws import Router, Sender
from levelflow.measure import series
from levelflow.reproduce import Against

MU, X_MAX, X_MIN, T = 0.9, 1e15, 32.0, 0.4  # bit/s, s
CAPACITIES = (10e3, 1e6, 1e9, 100e9)  # bit/s
PACKET_CAPACITIES = (1e6, 1e9)
RTTS = (0.001, 0.18, 1.0)  # s
DT = 0.001  # s


def duration(rtt):
    """Returns the duration of a run. The duration and the settling time of the flow grow with the round trip."""
    return 10.0 + 50.0 * rtt


def measure(figure):
    points = [(c, rtt) for c in PACKET_CAPACITIES for rtt in RTTS]
    runs = figure.runs([packets(figure, *point) for point in points])
    carried = [
        series.mean(series.link_series(run.links, "A->B", "throughput_bps", last_fifth(rtt))[1]) / capacity
        for run, (capacity, rtt) in zip(runs, points, strict=True)
    ]
    figure.loads = {(c, rtt): fluid(c, rtt) for c in CAPACITIES for rtt in RTTS}
    settled = [float(load[-load.size // 5 :].mean()) for load in figure.loads.values()]
    values = settled + carried
    return {
        "maxnet-scale-claims": {
            "utilisation": Against(values, [MU] * len(values)),
            "rate_quantisation_error": quantisation_error(),
        }
    }


def last_fifth(rtt):
    return series.steady(0.0, duration(rtt))


def packets(figure, capacity, rtt):
    link = "link.A->B.capacity"
    return figure.scenario({link: f"{capacity} b/s", "flow.x.rtt": f"{rtt} s", "duration": f"{duration(rtt)} s"})


def fluid(capacity, rtt):
    """Returns the load relative to the capacity in steps of 1 ms, for a sender that receives prices one round trip
    late.
    """
    router, sender = Router("maxnet", capacity), Sender("maxnet", packet_bytes=1)
    header = sender.send(0.0, 0, 1500)
    prices = deque([router.arrive(0, header)] * round(rtt / DT))
    loads, owed, queue = np.zeros(round(duration(rtt) / DT)), 0.0, 0.0
    for step in range(loads.size):
        prices.append(router.arrive(0, header))
        sender.feedback(step * DT, step, rtt, prices.popleft(), "data")
        loads[step] = sender.proposal_bps / capacity
        volume = sender.proposal_bps * DT / 8
        owed += volume
        router.arrive(int(owed))
        owed -= int(owed)
        queue = max(0.0, queue + volume - capacity * DT / 8)
        router.close(DT, int(queue))
    return loads


def quantisation_error():
    """Returns the largest relative difference between a rate and its coded value."""
    errors = []
    for rate in X_MIN * 10 ** np.arange(0, 13.5, 0.05):
        sender = Sender("maxnet", packet_bytes=1)
        sender.feedback(1.0, 0, 0.1, Router("maxnet", rate).arrive(1500, sender.send(0.0, 0, 1500)), "data")
        errors.append(abs(sender.proposal_bps / rate - 1))
    return max(errors)


def plot(figure, canvas):
    axes = canvas.subplots()
    for (capacity, rtt), load in figure.loads.items():
        if rtt == RTTS[1]:
            axes.plot(DT * np.arange(load.size), load, label=f"{capacity / 1e6:g} Mb/s")
    axes.axhline(MU, linestyle="--", color="k")
    axes.set(xlabel="time (s)", ylabel="load / C", title="Round trip of 180 ms, fluid")
