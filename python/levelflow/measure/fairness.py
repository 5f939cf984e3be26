"""Fairness of throughputs: Jain's index, distance from a reference, settling time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from levelflow.measure.samples import inside
from levelflow.measure.windows import always_sends

if TYPE_CHECKING:
    from levelflow.measure.samples import Window
    from levelflow.records import ScenarioRecord

Rates = npt.NDArray[np.float64]

#: Relative difference within which two throughputs count as equal.
SETTLED_WITHIN = 0.05
#: Packets over which a throughput is averaged before a comparison. A single packet changes this mean by 1 %.
PACKETS_PER_MEAN = 100


def jain(rates: npt.ArrayLike) -> float | None:
    """Returns Jain's fairness index: 1 for equal rates, 1/n if one flow has the whole rate, None if all rates are 0.

    >>> jain([3.0, 3.0]), jain([1.0, 0.0, 0.0, 0.0]), jain([])
    (1.0, 0.25, None)
    """
    each = np.asarray(rates, dtype=np.float64)
    squares = math.fsum(each**2) * each.size
    return math.fsum(each) ** 2 / squares if squares else None


def distance(rates: npt.ArrayLike, shares: npt.ArrayLike) -> float:
    """Returns the largest `|rate/share - 1|`, where `shares` are the reference rates.

    >>> round(distance([5.5, 4.9], 5.0), 3)
    0.1
    """
    return float(np.abs(np.asarray(rates, dtype=np.float64) / np.asarray(shares, dtype=np.float64) - 1).max())


def settling(flows: pl.DataFrame, scenario: ScenarioRecord, event_s: float, window: Window) -> float | None:
    """Returns the time from an event until every listed flow keeps its steady throughput, in seconds.

    A flow keeps its steady throughput once each moving average is within 5 % of the mean in the steady window. A moving
    average covers the samples of 100 packets, so a single packet has little effect. Throughputs of the flows of one
    entry are added. Returns None if a flow settles only in the steady window, or if no flow is active in this window.
    """
    settled = None
    active = flows.filter(pl.col("t") >= event_s, pl.col("active") > 0).partition_by("flow", as_dict=True)
    for flow in scenario["flows"]:
        own = active.get((flow["name"],))
        if own is None or not always_sends(flow):
            continue
        last = inside(own, window)["throughput_bps"].to_numpy()
        final = float(last.mean())
        if not final > 0:
            continue
        count = samples_per_mean(final, flow["packet_bytes"], scenario["sample_s"], last.size)
        distances = forward_distances(own["throughput_bps"].to_numpy(), final, count)
        settled = last_away(own["t"].to_numpy(), distances, settled or event_s)
    return settled - event_s if settled is not None and settled < window[0] else None


def forward_distances(rates: Rates, steady: float, count: int) -> Rates:
    """Returns the relative deviation from `steady` of each moving average over `count` consecutive rates."""
    count = min(count, rates.size)
    forward = np.lib.stride_tricks.sliding_window_view(rates, count).mean(axis=1)
    return np.asarray(np.abs(forward / steady - 1))


def last_away(times: Rates, distances: Rates, begin: float) -> float:
    """Returns the last time at which the deviation is above 5 %; `begin` if it never is."""
    return float(times[: distances.size][distances > SETTLED_WITHIN].max(initial=begin))


def samples_per_mean(bps: float, packet_bytes: float, sample_s: float, most: int) -> int:
    """Returns the number of samples that carry 100 packets at the throughput `bps`, from 1 to `most`.

    >>> samples_per_mean(1e6, 1250, 0.1, most=50)
    10
    """
    needed = math.ceil(PACKETS_PER_MEAN * packet_bytes * 8 / (bps * sample_s))
    return max(1, min(needed, most))
