"""Three buffer rules on traffic that their papers speak of."""

import numpy as np

from levelflow.claims.metrics import sizing
from levelflow.claims.sized import LINK, crowd, one_link
from levelflow.claims.verdict import Against
from levelflow.theory.buffers import eun_wang, harmonic_rtt, pipe

END = 40.0  # s
LAST = (END / 2, END)
MANY, MANY_C = 400, 1e9
HUNDRED, RTT = 100, (40, 120)
CAP_C, OFFERED = 1e9, 0.8
MARKED_C = 500e6


def stanford():
    return crowd(one_link(MANY_C / 1e6, {"stanford": {"times": 1}}, END), MANY, RTT)


def capped(paced):
    """A hundred Reno flows whose windows are capped so that together they offer 80 % of the link."""
    mean = 0.08  # s
    window = max(int(OFFERED * CAP_C / HUNDRED * mean / 12_000), 1)
    law = {"reno": {"window_limit": window, "paced": paced}}
    network = one_link(CAP_C / 1e6, {"enachescu": {}}, END)
    return network.flow(
        "x", law, "A", "B", count=HUNDRED, packet="1500 B", rtt="80 ms", start={"uniform": ["0 s", "5 s"]}
    )


def offered():
    """What the windows offer when nothing is lost, of the link; the window is a whole number of packets."""
    window = max(int(OFFERED * CAP_C / HUNDRED * 0.08 / 12_000), 1)
    return HUNDRED * window * 12_000 / 0.08 / CAP_C


def eun_wang_range():
    """The range of buffers, packets."""
    low, high = eun_wang(pipe(MARKED_C, harmonic_rtt(RTT[0] / 1e3, RTT[1] / 1e3)), HUNDRED)
    return float(low), float(high)


def marked():
    """Reno flows that understand marks, REM whose target is half the buffer, and buffers across the range."""
    low, high = eun_wang_range()
    sizes = [int(b) for b in np.geomspace(low, min(high, 5000), 4)]
    return sizes, [
        crowd(one_link(MARKED_C / 1e6, f"{b} packets", END), HUNDRED, RTT, {"reno": {"ecn": True}}).set(
            "link.1.queue", {"rem": {"target": f"{b // 2} packets"}}
        )
        for b in sizes
    ]


def measure(figure):
    _sizes, networks = marked()
    results = figure.runs([stanford(), capped(True), capped(False), *networks])
    many = sizing.use(results[0].links, LINK, MANY_C, LAST)
    paced, plain = (sizing.use(result.links, LINK, CAP_C, LAST) for result in results[1:3])
    across = [sizing.use(result.links, LINK, MARKED_C, LAST) for result in results[3:]]
    return {
        "rule-stanford": [many.utilisation],
        "rule-enachescu": [
            paced.utilisation / offered(),
            Against(paced.utilisation, plain.utilisation),
        ],
        "rule-eun-wang": [[used.utilisation for used in across], [used.loss for used in across]],
    }


def plot(figure, canvas):
    sizes, _ = marked()
    left, right = canvas.subplots(1, 2)
    paced, plain = (sizing.use(result.links, LINK, CAP_C, LAST) for result in figure.results[1:3])
    left.bar(("paced", "not paced"), (paced.utilisation, plain.utilisation))
    left.axhline(offered(), linestyle="--", color="black", label="offered")
    left.set(ylabel="utilisation", title="20 packets of buffer")
    left.legend()
    across = [sizing.use(result.links, LINK, MARKED_C, LAST) for result in figure.results[3:]]
    right.plot(sizes, [used.utilisation for used in across], marker="o", label="utilisation")
    right.plot(sizes, [used.loss for used in across], marker="o", label="loss")
    right.set(xscale="log", xlabel="buffer (packets)", title="REM with marks, 100 flows: between C R/sqrt(N) and 5000")
    right.legend()
