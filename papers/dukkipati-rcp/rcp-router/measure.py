"""Updates of the router's rate, per interval, and of its round-trip time, per packet."""

import numpy as np

from levelflow.laws import Router, Sender
from levelflow.reproduce import Against

C = 100e6  # bit/s
D0, T = 0.1, 0.01  # s
GAIN = 0.02
PACKET = 1000  # bytes
TURN = [0.1, 0.1, 0.1, 0.3]  # repeating pattern of the round-trip times of packets, from two groups of flows, s


def measure(figure):
    fill = int(C * T / 8)
    drops = {"arrived": 2 * fill, "queue": fill, "dropped": fill}
    return {
        "rcp-eq2-rate-update": {
            "rate_ratio_one_step[y = C, q = 0]": step(arrived=fill),
            "rate_ratio_one_step[y = 0, q = 0, T = 10 ms, d0 = 100 ms, alpha = 0.1]": step(),
            "rate_ratio_one_step[y = C, q = C d0, T = 10 ms, d0 = 100 ms, beta = 1]": step(
                arrived=fill, queue=int(C * D0 / 8)
            ),
            "rate_ratio_one_step[y = 0, q = 0, T = d0, alpha = 0.1 (same as eq (1) with N_hat = C/R)]": step(d0=T),
            "per_packet_operations": rate_changes_between_intervals(),
        },
        "rcp-rtt-ewma": {
            "step_response": (averages([0.2] * 50)[-1] - D0) / (0.2 - D0),
            "d0_steady": Against(two_groups(), float(np.mean(TURN))),
        },
        "rcp-loss-aware-queue": {"rate_ratio_one_step": Against(step(**drops, loss_aware=True), step(**drops))},
    }


def step(arrived=0, queue=0, dropped=0, d0=D0, **params):
    """R after one interval, divided by R before. Sizes are in bytes. The link transmits one more packet, which `queue`
    excludes.
    """
    router = Router("rcp", C, {"initial": 0.5, "initial_rtt": f"{d0} s", **params})
    before = router.signal
    router.arrive(arrived)
    router.close(T, queue + PACKET, dropped, PACKET)
    return router.signal / before


def rate_changes_between_intervals():
    router = Router("rcp", C)
    header = Sender("rcp").send(0.0, 0, 1000)
    rates = [router.signal]
    for _ in range(1000):
        router.depart(router.arrive(1000, header))
        rates.append(router.signal)
    return int(np.count_nonzero(np.diff(rates)))


def averages(rtts):
    """d0 after each packet. The interval parameter is longer than d0, so that the update interval is d0."""
    router = Router("rcp", C, {"interval": "100 s", "initial_rtt": f"{D0} s", "gain": GAIN})
    values = []
    for rtt in rtts:
        sender = Sender("rcp")
        sender.feedback(0.0, 0, rtt, sender.send(0.0, 0, 1000))
        router.arrive(1000, sender.send(0.0, 1, 1000))
        values.append(router.interval_s)
    return values


def two_groups():
    return float(np.mean(averages(TURN * 250)[-400:]))


def plot(figure, canvas):
    axes = canvas.subplots()
    axes.plot(averages([0.2] * 200), label="d0")
    axes.plot(0.2 - 0.1 * (1 - GAIN) ** np.arange(1, 201), "k--", label="0.2 - 0.1 (1 - 0.02)^n")
    axes.set(xlabel="packets", ylabel="d0 (s)", title="A step of the packets' round-trip time")
