"""Queueing delay of packets at one link, from samples of the ``links`` table.

A delay is the time from the arrival of a packet at a queue to the start of its transmission, and belongs to the sample
in which the packet leaves the queue.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def mean(rows: pl.DataFrame) -> float | None:
    """Returns the mean delay of the packets of some samples, s; None without packets."""
    packets = rows["delayed_packets"].to_numpy()
    known = packets > 0
    total = math.fsum(rows["queueing_delay_mean_s"].to_numpy()[known] * packets[known])
    return total / int(packets.sum()) if known.any() else None
