"""Queueing delay of packets at one link, from samples of the ``links`` table.

The delay of a packet is the time from its arrival at the queue to the start of its transmission. This delay counts in
the sample in which the packet leaves the queue.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def mean(rows: pl.DataFrame) -> float | None:
    """Returns the mean queueing delay of the packets in `rows`, in seconds; None without packets."""
    packets = rows["delayed_packets"].to_numpy()
    known = packets > 0
    total = math.fsum(rows["queueing_delay_mean_s"].to_numpy()[known] * packets[known])
    return total / int(packets.sum()) if known.any() else None
