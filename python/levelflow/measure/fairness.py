"""Fairness of throughputs: Jain's index, distance from a reference, time to settle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from levelflow.measure.samples import inside
from levelflow.measure.windows import always_sends

if TYPE_CHECKING:
    from levelflow.measure.samples import Window

Rates = npt.NDArray[np.float64]

#: A throughput within this share of another one counts as that.
SETTLED_WITHIN = 0.05
#: Packets over which a throughput is averaged before it is compared: one more or less changes it by 1 %.
PACKETS_PER_MEAN = 100


def jain(rates: npt.ArrayLike) -> float | None:
    """Returns Jain's fairness index of some rates: 1 if all are equal, 1/n if one has everything; None if all are 0.

    >>> jain([3.0, 3.0]), jain([1.0, 0.0, 0.0, 0.0]), jain([])
    (1.0, 0.25, None)
    """
    each = np.asarray(rates, dtype=np.float64)
    squares = math.fsum(each**2) * each.size
    return math.fsum(each) ** 2 / squares if squares else None


def distance(rates: npt.ArrayLike, shares: npt.ArrayLike) -> float:
    """Returns the largest relative distance of a rate from its share in a reference.

    >>> round(distance([5.5, 4.9], 5.0), 3)
    0.1
    """
    return float(np.abs(np.asarray(rates, dtype=np.float64) / np.asarray(shares, dtype=np.float64) - 1).max())


def settling(flows: pl.DataFrame, scenario: dict[str, Any], event_s: float, window: Window) -> float | None:
    """Returns the time from an event until every listed flow keeps its steady throughput, s.

    From then on each mean over the next samples is within 5 % of the mean in the steady window; a mean is over as many
    samples as carry 100 packets, so that no single packet decides. Entries of several flows count as their sum. None if
    that is not before the steady window, or if no listed flow is active in it.
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
    """Returns the relative distance from a steady rate of each mean of `count` consecutive rates."""
    count = min(count, rates.size)
    forward = np.lib.stride_tricks.sliding_window_view(rates, count).mean(axis=1)
    return np.asarray(np.abs(forward / steady - 1))


def last_away(times: Rates, distances: Rates, begin: float) -> float:
    """Returns the last time whose distance is above 5 %, or `begin` if there is none."""
    return float(times[: distances.size][distances > SETTLED_WITHIN].max(initial=begin))


def samples_per_mean(bps: float, packet_bytes: float, sample_s: float, most: int) -> int:
    """Returns the number of samples that carry 100 packets at a throughput, from 1 to `most`.

    >>> samples_per_mean(1e6, 1250, 0.1, most=50)
    10
    """
    needed = math.ceil(PACKETS_PER_MEAN * packet_bytes * 8 / (bps * sample_s))
    return max(1, min(needed, most))
