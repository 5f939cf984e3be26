import numpy as np

from levelflow.measure import fairness, queues, series
from levelflow.reproduce.drawing import draw_expected

LINK = "R1->R2"
C = 150e6  # bit/s
WINDOWS = ((30.0, 40.0), (80.0, 100.0), (130.0, 140.0))
FIRST = [f"first-{i}" for i in range(1, 21)]
SECOND = [f"second-{i}" for i in range(1, 21)]
GROUPS = (FIRST, FIRST + SECOND, SECOND)  # active flows in each window


def add_flows(scenario):
    rtt = {"uniform": ["20 ms", "200 ms"]}
    for name in FIRST:
        scenario.flow(name, "rcp", "R1", "R2", rtt=rtt, stop="100 s")
    for name in SECOND:
        scenario.flow(name, "rcp", "R1", "R2", rtt=rtt, start="40 s")


def jain(flows, names, window):
    delivered = [series.mean(series.flow_series(flows, name, "throughput_bps", window)[1]) for name in names]
    return fairness.jain(delivered)


def measure(figure):
    result = figure.run(add_flows)
    flows, links = result.flows, result.links
    return {
        "rcp-fig19": {
            **{f"c_over_r[t = {a:g}-{b:g} s]": queues.c_over_r(links, LINK, C, (a, b)) for a, b in WINDOWS},
            "utilisation": [queues.utilisation(links, LINK, C, window)[0] for window in WINDOWS],
            "jain_index": [jain(flows, names, window) for names, window in zip(GROUPS, WINDOWS, strict=True)],
        }
    }


def plot(figure, canvas):
    links = figure.results[0].links
    above, below = canvas.subplots(2, 1, sharex=True)
    t, rate = series.link_series(links, LINK, "signal")
    above.plot(t, C / rate)
    above.set(ylabel="C/R", ylim=(0, 60), title="RCP: C/R follows the number of flows")
    _, throughput = series.link_series(links, LINK, "throughput_bps")
    below.plot(t, np.asarray(throughput) / C)
    below.set(xlabel="time (s)", ylabel="utilisation", ylim=(0, 1.1))
    for number, window in enumerate(WINDOWS):
        draw_expected(above, figure, f"rcp-fig19[{number}]", window)
    draw_expected(below, figure, "rcp-fig19[3]", WINDOWS)
