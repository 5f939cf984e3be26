"""MaxStart: feedback of a new flow, and its ramp to the rate for its price."""

import numpy as np

from levelflow.laws import Router, Sender
from levelflow.measure import series

C, TAU = 622e6, 0.029  # bit/s, s
MU, T, X_MAX = 0.9, 0.4, 1e15
STEP = TAU / 1000  # between ACKs, s


def measure(figure):
    times, rates = ramp()
    steps = times[np.flatnonzero(np.diff(rates)) + 1]
    busiest = max(int(((steps >= t) & (steps < t + TAU)).sum()) for t in steps)
    return {
        "maxnet-maxstart": {
            "start_rate_over_c[idle link, mu = 0.9]": started(0.0).proposal_bps / C,
            "start_rate_over_c[link already at mu = 0.9]": started(MU).proposal_bps / C,
            "ramp_duration_rtts": float(steps[-1] - times[0]) / TAU,
            "ramp_updates_per_rtt": busiest,
            "time_to_full_rate_rtts": time_to_full_rate(figure.run()) / TAU,
        }
    }


def started(load):
    """Returns a sender whose opening packet has crossed a link with the given load (relative to C)."""
    router, sender = Router("maxnet", C), Sender("maxnet", packet_bytes=1500)
    for _ in range(100):
        router.arrive(round(load * C * 0.001 / 8))
        router.close(0.001)
    header = router.arrive(40, sender.send(0.0, 0, 40, "syn"))
    sender.feedback(TAU, 0, TAU, header, "syn")
    return sender


def ramp():
    """Returns the target rates of a flow on a full link with a constant price, beginning with the first price."""
    sender = started(MU)
    code = round(T * np.log(X_MAX / (MU * C / 2)) * 2**19)
    header = sender.send(TAU, 1, 1500)[:5] + code.to_bytes(3, "big")
    times, rates = 2 * TAU + STEP * np.arange(3000), []
    for now in times:
        sender.feedback(now, 1, TAU, header, "data")
        rates.append(sender.proposal_bps)
    return times, np.array(rates)


def time_to_full_rate(result):
    """Returns the end, in s, of the first round trip in which the mean load of the link reaches its target."""
    t, carried = series.link_series(result.links, "A->B", "throughput_bps")
    width = round(TAU / 0.001)
    means = np.convolve(carried, np.ones(width) / width, "valid")
    return float(t[width - 1 :][means >= MU * C][0])


def plot(figure, canvas):
    times, rates = ramp()
    axes = canvas.subplots()
    axes.plot(times / TAU, rates / C)
    axes.axhline(MU / 2, linestyle="--", color="k")
    axes.set(xlabel="round trips since the opening packet", ylabel="target rate / C", title="A second flow starts")
