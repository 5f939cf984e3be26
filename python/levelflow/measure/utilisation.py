"""Costs and benefits of a buffer: use, loss and queueing delay of a link, from the ``links`` table.

Columns are weighed by what they count: loss is dropped over arrived bytes of a window, not a mean of ratios.
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
    """Means of a link over a window.

    Attributes:
        utilisation: share of the line that was used.
        loss: dropped over arrived bytes.
        buffer: packets that fit; NaN where the buffer is in bytes or has no limit.
        queue: mean backlog, packets.
        wait: mean queueing delay of packets, s.
    """

    utilisation: float
    loss: float
    buffer: float
    queue: float
    wait: float


def use(links: pl.DataFrame, link: str, capacity: float, window: Window) -> Use:
    """What a link of ``capacity`` (bit/s) did in a window."""
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
    """Time between two samples, s."""
    return float(np.median(np.diff(t))) if len(t) > 1 else 1.0


def batches(links: pl.DataFrame, link: str, capacity: float, window: Window, count: int = 10) -> list[Use]:
    """The same over so many equal parts of a window, for a confidence interval by batch means."""
    edges = np.linspace(*window, count + 1)
    return [use(links, link, capacity, (float(a), float(b))) for a, b in itertools.pairwise(edges)]


def variation(links: pl.DataFrame, link: str, window: Window) -> float:
    """Standard deviation of the buffer over its mean."""
    buffers = series.link_series(links, link, "buffer_packets", window)[1]
    return float(buffers.std() / buffers.mean())
