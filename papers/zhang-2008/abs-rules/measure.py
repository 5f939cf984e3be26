"""Evaluates published buffer rules, and one run with the oldest of them."""

import numpy as np

from levelflow.measure import queues, series
from levelflow.theory.queues.buffers import (
    ENACHESCU,
    avrachenkov,
    bscl,
    bscl_loss,
    harmonic_rtt,
    pipe,
    stanford,
)

CAPACITY = 10e6  # bit/s
TARGET = 0.02
SETTLED = (20, 120)  # s


def ordering():
    """Verifies that, at constant RTT, the buffer of eq 10 grows with the number of flows, and the buffers of
    small-buffer rules shrink.
    """
    flows = np.arange(1, 1025)
    steps = [
        np.diff(rule) for rule in (bscl_loss(400.0, flows, TARGET), stanford(400.0, flows), avrachenkov(400.0, flows))
    ]
    return [bool((steps[0] > 0).all()), bool((steps[1] < 0).all()), bool((steps[2] < 0).all())]


def growth():
    """Describes the growth of the buffer with many flows. If it is linear, twice the flows need twice the buffer,
    within 1 %.
    """
    flows = 2.0 ** np.arange(14, 21)
    doubled = bscl(400.0, flows[1:], TARGET) / bscl(400.0, flows[:-1], TARGET)
    return "linear in N" if (np.abs(doubled / 2 - 1) < 0.01).all() else "other"


def measure(figure):
    result = figure.run()
    busy, _ = queues.utilisation(result.links, "A->B", CAPACITY, SETTLED)
    return {
        "buffer-sizing-formulas-sec-ii2": {"rule_ordering": ordering()},
        "rule-bdp": {"utilisation": busy},
        "rule-bscl": {"buffer_growth": growth()},
    }


def plot(figure, canvas):
    canvas.set_size_inches(9, 7)
    upper, lower = canvas.subfigures(2, 1)
    draw_rules(*upper.subplots(1, 2, sharey=True))
    axes = lower.subplots()
    axes.plot(*series.link_series(figure.results[0].links, "A->B", "backlog_packets", (0, 120)), linewidth=1)
    axes.set(xlabel="time (s)", ylabel="queue (packets)", title="one Reno flow, b = C R: the queue just empties")


def draw_rules(left, right):
    """Draws the buffer of each rule against the number of flows and against the capacity. RTTs grow with the flows."""
    many, few = np.geomspace(2, 1024, 60), 16
    fast = np.geomspace(1e6, 1e10, 60)
    for axes, x, flows, capacities in ((left, many, many, CAPACITY), (right, fast / 1e6, few, fast)):
        packets = pipe(capacities, harmonic_rtt(0.03, 0.03 + 0.002 * flows))
        axes.plot(x, packets, label="C R")
        axes.plot(x, stanford(packets, flows), label="Stanford")
        axes.plot(x, avrachenkov(packets, flows), label="Avrachenkov")
        axes.plot(x, bscl(packets, flows, TARGET), label="BSCL, loss 2 %")
        axes.axhspan(*ENACHESCU, alpha=0.2, label="Enachescu")
        axes.set(xscale="log", yscale="log", ylim=(0.5, 1e5))
    left.set(xlabel="flows", ylabel="buffer (packets)", title=f"{CAPACITY / 1e6:g} Mb/s: rules disagree by decades")
    right.set(xlabel="capacity (Mb/s)", title=f"{few} flows")
    left.legend(fontsize=9)
