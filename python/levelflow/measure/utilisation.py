"""Costs and benefits of a buffer: utilisation, loss and queueing delay of a link, from the ``links`` table.

Loss is the ratio of dropped to arrived bytes in a window, not a mean of ratios. Mean delays are weighted by packets.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from levelflow.measure import delays, series

if TYPE_CHECKING:
    import polars as pl

    from levelflow.measure.series import Array, Window


class Use(NamedTuple):
    """Means of a link's quantities over a window.

    Attributes:
        utilisation: fraction of the capacity that is used.
        loss: loss rate, as dropped bytes over arrived bytes.
        buffer: buffer limit, packets; NaN if the limit is in bytes or absent.
        queue: mean backlog, packets.
        wait: mean queueing delay of packets, s.
    """

    utilisation: float
    loss: float
    buffer: float
    queue: float
    wait: float


def use(links: pl.DataFrame, link: str, capacity: float, window: Window) -> Use:
    """Returns the means over a window for a link of `capacity` bit/s."""
    rows = series.select(links, "link", link, window)
    t = rows["t"].to_numpy()
    arrived = float(rows["arrival_bps"].to_numpy().sum()) * _step(t)
    return Use(
        series.mean(rows["throughput_bps"].to_numpy()) / capacity,
        8 * float(rows["dropped_bytes"].sum()) / arrived if arrived > 0 else 0.0,
        float(np.mean(rows["buffer_packets"].to_numpy())),
        series.mean(rows["backlog_packets"].to_numpy()),
        math.nan if (delay := delays.mean(rows)) is None else delay,
    )


def _step(t: Array) -> float:
    """Time between two samples, in seconds."""
    return float(np.median(np.diff(t))) if len(t) > 1 else 1.0


def batches(links: pl.DataFrame, link: str, capacity: float, window: Window, count: int = 10) -> list[Use]:
    """Returns the means over `count` equal parts of a window, for a confidence interval by batch means."""
    edges = np.linspace(*window, count + 1)
    return [use(links, link, capacity, (float(a), float(b))) for a, b in itertools.pairwise(edges)]


def variation(links: pl.DataFrame, link: str, window: Window) -> float:
    """Standard deviation of the buffer limit, divided by its mean."""
    buffers = series.link_series(links, link, "buffer_packets", window)[1]
    return float(buffers.std() / buffers.mean())
