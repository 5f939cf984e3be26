"""Burst of arrivals in addition to a load of 0.5 (Dukkipati 2005, section III-B.4)."""

import numpy as np

from dukkipati_models.arrivals import LINK, OneLink
from levelflow.measure import series
from levelflow.reproduce import Seeds
from levelflow.reproduce.drawing import draw_expected, draw_seeds

PLAN = OneLink(150e6, 0.1, 0.5, 25)
DURATION = 60  # s
BURST, SPREAD = 30.0, 0.05  # start and duration, s
EMPTY = 0.05  # queue relative to the bandwidth-delay product
QUIET = 30  # round trips


def measure(figure):
    runs = figure.runs([scenario(seed) for seed in figure.seeds(5)])
    return {"rcp-flash-crowd": {"recovery_time_rtts": Seeds([recovery(run) for run in runs])}}


def scenario(seed):
    start = {"uniform": [f"{BURST} s", f"{BURST + SPREAD} s"]}
    crowd = {"count": 200, "size": "100 packets", "start": start}
    return PLAN.scenario(DURATION, seed, sample=0.01).flow("crowd", "rcp", "A", "B", **crowd)


def recovery(run):
    """Round trips from the end of the burst until the queue is empty, and remains empty for ``QUIET`` round trips."""
    t, queue = over_bdp(run, (BURST + SPREAD + PLAN.rtpd, DURATION))
    full = t[queue > EMPTY]
    quiet = np.flatnonzero(np.diff(full) > QUIET * PLAN.rtpd)
    return float(full[quiet[0]] - BURST - SPREAD) / PLAN.rtpd


def over_bdp(run, window):
    t, queue = series.link_series(run.links, LINK, "backlog_bytes", window)
    return t, 8 * queue / (PLAN.capacity * PLAN.rtpd)


def plot(figure, canvas):
    left, right = canvas.subplots(1, 2)
    window = (BURST - 1, BURST + 6)
    rates = [series.link_series(run.links, LINK, "signal", window) for run in figure.results]
    draw_seeds(left, [over_bdp(run, window) for run in figure.results], f"median and band of {len(rates)} seeds")
    draw_seeds(right, [(t, rate / PLAN.capacity) for t, rate in rates])
    right.set_yscale("log")
    left.set(xlabel="time (s)", ylabel="queue / bandwidth-delay product")
    right.set(xlabel="time (s)", ylabel="R/C")
    draw_expected(left, figure, "rcp-flash-crowd[0]", scale=PLAN.rtpd, shift=BURST + SPREAD, along="x")
