"""Figures 5 to 8: rates and queues of four flows over two links in six intervals."""

import numpy as np

from levelflow.measure import queues, series
from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_expected

LINK1, LINK2 = "Edge->Core", "Core->Yellow"
C1, RTT1, RTT2 = 622e6, 0.029, 0.15  # bit/s, s
#: Start and end of the first interval of each flow, s.
FLOWS = {
    "red-blue": (0.0, 20.0),
    "green-yellow": (20.0, 40.0),
    "blue-yellow": (40.0, 60.0),
    "blue-yellow-2": (60.0, 80.0),
}
INTERVALS = [(20.0 * i, 20.0 * i + 20.0) for i in range(6)]
SECOND = 1.0  # averaging time in the paper, s
#: Start times of the flow Green, s. They differ by a fifth of the round trip of the flow Red.
GREEN_STARTS = [20.0 + RTT1 * phase / 5 for phase in range(5)]


def measure(figure):
    result, *others = figure.runs([figure.scenario(), *(figure.scenario(phase(start)) for start in GREEN_STARTS[1:])])
    flows, links = result.flows, result.links
    ends = {start: (end - 5.0, end) for start, end in INTERVALS}
    queue = {link: series.link_series(links, link, "backlog_max_bytes") for link in (LINK1, LINK2)}
    t2, q2 = queue[LINK2]
    after = q2[(t2 > 40.0) & (t2 <= 45.0)].max()
    green = share(flows, "green-yellow", (35.0, 40.0))
    bdp = green * (RTT1 + RTT2) / 8
    return {
        "maxnet-fig5-8-rise": {
            "rise_time_s": [rise(flows, name) for name in FLOWS],
            "rise_time_rtts": rise(flows, "red-blue") / RTT1,
            "utilisation": queues.utilisation(links, LINK1, C1, (10.0, 20.0))[0],
        },
        "maxnet-fig7-interval2": {
            "time_to_fair_s": time_to_fair(flows, ["red-blue", "green-yellow"], 20.0, 40.0),
            "flow_rate_bps": [share(flows, name, ends[20.0]) for name in ("red-blue", "green-yellow")],
            "rtt_ratio": shortest_rtt(flows, "green-yellow") / shortest_rtt(flows, "red-blue"),
        },
        "maxnet-fig7-interval3": {
            "time_to_fair_s": time_to_fair(flows, ["green-yellow", "blue-yellow"], 40.0, 60.0),
            "flow_rate_bps[both, end of interval 3]": [
                share(flows, name, ends[40.0]) for name in ("green-yellow", "blue-yellow")
            ],
            "bottleneck_switches_after_settling": switches(links, 50.0, 60.0),
            "flow_rate_bps[Red->Blue]": share(flows, "red-blue", ends[40.0]),
        },
        "maxnet-fig7-interval4": {
            "time_to_90pct_new_rate_s": [
                time_to_rate(flows, start, end) for start, end in ((40.0, 60.0), (60.0, 80.0))
            ],
            "flow_rate_bps": share(flows, "red-blue", ends[60.0]),
        },
        "maxnet-fig8-queues": {
            "mean_queue_bytes": max(
                mean_queue(links, link, (end - 10.0, end)) for link in queue for _, end in INTERVALS
            ),
            "queue_peak_bytes": float(after),
            "queue_peak_over_bdp": float(after / bdp),
            "queue_peak_time_s": Seeds([largest_queue_at(one.links) for one in (result, *others)]),
            "unexplained_queue_time_s": unexplained(queue),
        },
    }


def phase(start):
    """Returns the changes of the scenario for another start of Green. A run of 50 s includes the largest queue."""
    return {"flow.green-yellow.start": f"{start:.4f} s", "duration": "50 s"}


def largest_queue_at(links):
    """Returns the time of the largest queue of either link, s."""
    queue = (series.link_series(links, link, "backlog_max_bytes") for link in (LINK1, LINK2))
    return float(max((q.max(), t[q.argmax()]) for t, q in queue)[1])


def shortest_rtt(flows, name):
    """Returns the shortest mean round trip of a flow over 10 ms, s."""
    return float(np.nanmin(series.flow_series(flows, name, "rtt_s")[1]))


def share(flows, name, window):
    """Returns the mean throughput of a flow, bit/s."""
    return series.mean(series.flow_series(flows, name, "throughput_bps", window)[1])


def by_second(flows, name, start, end):
    """Returns the end times of consecutive seconds, and the throughput in each second."""
    rate = series.flow_series(flows, name, "throughput_bps", (start, end))[1]
    means = rate.reshape(-1, round(SECOND / 0.01)).mean(axis=1)
    return start + SECOND * np.arange(1, means.size + 1), means


def rise(flows, name):
    """Returns the time from the first packet to 90 % of the plateau, s. The plateau is the throughput at the end of the
    flow's first interval. The throughput is averaged over a round trip of the flow, because windows are sent in
    bursts.
    """
    start, end = FLOWS[name]
    plateau = share(flows, name, (end - 5.0, end))
    t, rate = series.flow_series(flows, name, "throughput_bps", (start, end))
    width = round(base_rtt(name) / 0.01)
    means = np.convolve(rate, np.ones(width) / width, "valid")
    return float(t[width - 1 :][means >= 0.9 * plateau][0] - start)


def base_rtt(name):
    return {"red": RTT1, "green": RTT1 + RTT2, "blue": RTT2}[name.split("-")[0]]


def time_to_fair(flows, names, start, end):
    """Returns the time in s after `start` from which two rates stay within 5 % of each other.

    Rates are means over 1 s.
    """
    (t, a), (_, b) = (by_second(flows, name, start, end) for name in names)
    return series.holds_from(t, np.abs(a / b - 1) <= 0.05, start, end)


def time_to_rate(flows, start, end):
    """Returns the time in s after `start` from which the rate of Red to Blue is at least 90 % of its final value."""
    t, rate = by_second(flows, "red-blue", start, end)
    return series.holds_from(t, rate >= 0.9 * series.mean(rate[-5:]), start, end)


def switches(links, start, end):
    """Returns how many times the larger of the two prices changes from one link to the other."""
    (_, first), (_, second) = (series.link_series(links, link, "signal", (start, end)) for link in (LINK1, LINK2))
    return int(np.count_nonzero(np.diff(first > second)))


def mean_queue(links, link, window):
    return series.mean(series.link_series(links, link, "backlog_bytes", window)[1])


def unexplained(queue):
    """Returns the time of the largest total queue of both links between 43 and 48 s."""
    t = queue[LINK1][0]
    total = queue[LINK1][1] + queue[LINK2][1]
    inside = (t > 43.0) & (t <= 48.0)
    return float(t[inside][total[inside].argmax()])


def plot(figure, canvas):
    result = figure.results[0]
    above, below = canvas.subplots(2, 1, sharex=True)
    for name, (start, _) in FLOWS.items():
        end = {"blue-yellow": 100.0, "blue-yellow-2": 80.0}.get(name, 120.0)
        t, rate = by_second(result.flows, name, start, end)
        above.step(t, rate / 1e6, label=name)
    for link, name in ((LINK1, "link 1"), (LINK2, "link 2")):
        t, queue = series.link_series(result.links, link, "backlog_max_bytes")
        below.plot(t, queue / 1e6, label=name, linewidth=0.7)
    above.set(ylabel="rate over 1 s (Mb/s)", title="Figure 7")
    below.set(xlabel="time (s)", ylabel="queue (MB)", title="Figure 8")
    above.legend(fontsize="small")
    below.legend()
    for check, end in (
        ("maxnet-fig7-interval2[1]", 40),
        ("maxnet-fig7-interval3[1]", 60),
        ("maxnet-fig7-interval3[3]", 60),
        ("maxnet-fig7-interval4[1]", 80),
    ):
        draw_expected(above, figure, check, (end - 5, end), scale=1e-6)
    draw_expected(below, figure, "maxnet-fig8-queues[1]", (40, 45), scale=1e-06)
    draw_expected(below, figure, "maxnet-fig8-queues[3]", along="x")
