"""Measures three buffer rules on the traffic that their papers assume."""

import numpy as np

from levelflow.measure import utilisation
from levelflow.reproduce.verdict import Against, Noted
from levelflow.theory.queues.buffers import eun_wang, harmonic_rtt, pipe
from levelflow.topology.bottleneck import LINK, identical_flows, single_bottleneck

END = 40.0  # s
LAST = (END / 2, END)
MANY, MANY_C = 400, 1e9
HUNDRED, RTT, EQUAL = 100, (40, 120), (80, 80)
CAP_C, FAST_C, OFFERED = 100e6, 1e9, 0.8
MARKED_C = 500e6


def stanford():
    return identical_flows(single_bottleneck(MANY_C / 1e6, {"stanford": {"times": 1}}, END), MANY, RTT)


def capped(paced, capacity=CAP_C, rtt_ms=RTT):
    """A hundred Reno flows whose windows are capped so that together they offer 80 % of the link."""
    law = {"reno": {"window_limit": window(capacity, rtt_ms), "paced": paced}}
    rtt = {"uniform": [f"{x} ms" for x in rtt_ms]}
    network = single_bottleneck(capacity / 1e6, {"enachescu": {}}, END)
    return network.flow("x", law, "A", "B", count=HUNDRED, packet="1500 B", rtt=rtt, start={"uniform": ["0 s", "5 s"]})


def window(capacity, rtt_ms):
    """Window limit, a whole number of packets."""
    return max(int(OFFERED * capacity / HUNDRED * mean(rtt_ms) / 12_000), 1)


def mean(rtt_ms):
    """The harmonic mean of round-trip times, s."""
    low, high = (x / 1e3 for x in rtt_ms)
    return float(harmonic_rtt(low, high)) if low < high else low


def offered(capacity=CAP_C, rtt_ms=RTT):
    """Load that the windows offer if no packet is lost, divided by the capacity."""
    return HUNDRED * window(capacity, rtt_ms) * 12_000 / mean(rtt_ms) / capacity


def eun_wang_range():
    """Range of buffers by the rule of Eun and Wang, packets."""
    low, high = eun_wang(pipe(MARKED_C, harmonic_rtt(RTT[0] / 1e3, RTT[1] / 1e3)), HUNDRED)
    return float(low), float(high)


def marked():
    """Reno flows with ECN, REM with a target of half the buffer, and buffers across the rule's range."""
    low, high = eun_wang_range()
    sizes = [int(b) for b in np.geomspace(low, min(high, 5000), 4)]
    return sizes, [
        identical_flows(
            single_bottleneck(MARKED_C / 1e6, f"{b} packets", END), HUNDRED, RTT, {"reno": {"ecn": True}}
        ).set("link.1.queue", {"rem": {"target": f"{b // 2} packets"}})
        for b in sizes
    ]


def measure(figure):
    _sizes, networks = marked()
    results = figure.runs(
        [stanford(), capped(True), capped(False), *networks]
        + [capped(paced, FAST_C, rtt) for rtt in (RTT, EQUAL) for paced in (True, False)]
    )
    many = utilisation.use(results[0].links, LINK, MANY_C, LAST)
    paced, plain = (utilisation.use(result.links, LINK, CAP_C, LAST) for result in results[1:3])
    across = [utilisation.use(result.links, LINK, MARKED_C, LAST) for result in results[3:-4]]
    fast = [100 * utilisation.use(result.links, LINK, FAST_C, LAST).utilisation for result in results[-4:]]
    return {
        "rule-stanford": {"utilisation": many.utilisation},
        "rule-enachescu": {
            "utilisation_over_offered": paced.utilisation / offered(),
            "utilisation": Noted(
                Against(paced.utilisation, plain.utilisation),
                f"not paced it loses {100 * plain.loss:.2f} %; at 1 Gb/s, paced and not paced use {fast[0]:.2f} and "
                f"{fast[1]:.2f} %, with round trips of {EQUAL[0]} ms for all {fast[2]:.2f} and {fast[3]:.2f} %",
            ),
        },
        "rule-eun-wang": {
            "utilisation": [used.utilisation for used in across],
            "loss_rate": [used.loss for used in across],
        },
    }


def plot(figure, canvas):
    sizes, _ = marked()
    left, right = canvas.subplots(1, 2)
    paced, plain = (utilisation.use(result.links, LINK, CAP_C, LAST) for result in figure.results[1:3])
    left.bar(("paced", "not paced"), (paced.utilisation, plain.utilisation))
    left.axhline(offered(), linestyle="--", color="black", label="offered")
    left.set(ylabel="utilisation", title="20 packets of buffer")
    across = [utilisation.use(result.links, LINK, MARKED_C, LAST) for result in figure.results[3:-4]]
    right.plot(sizes, [used.utilisation for used in across], marker="o", label="utilisation")
    right.plot(sizes, [used.loss for used in across], marker="o", label="loss")
    right.set(xscale="log", xlabel="buffer (packets)", title="REM with marks, 100 flows: between C R/sqrt(N) and 5000")
