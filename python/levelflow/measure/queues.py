"""Metrics of links (``links`` table): overshoot, loss, utilisation, queues, and the price or rate that a law signals.

Rates and capacities are in bit/s; ``target`` is gamma C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from levelflow.measure import series
from levelflow.measure.series import ALL, Array, Window


def overshoot_pct(links: pl.DataFrame, link: str, target: float, window: Window = ALL) -> float:
    """100 (largest arrival rate in a router interval / target - 1), where dropped packets count as arrivals."""
    _, peak = series.link_series(links, link, "peak_bps", window)
    return float(100 * (peak.max() - target) / target)


def mean_overshoot_pct(links: pl.DataFrame, link: str, target: float, window: Window) -> float:
    """100 (mean arrival rate / target - 1)."""
    return 100 * (series.mean(series.link_series(links, link, "arrival_bps", window)[1]) / target - 1)


def loss_rate(summary: Mapping[str, Any], link: str) -> float:
    """Dropped packets of a link divided by its arrived packets, over the whole run."""
    (counters,) = (row for row in summary["links"] if row["name"] == link)
    return float(counters["dropped_packets"] / max(counters["arrived_packets"], 1))


def loss_rate_max(links: pl.DataFrame, link: str, window: Window = ALL) -> float:
    """Largest loss rate, dropped/arrived, of a router interval."""
    return float(series.link_series(links, link, "peak_loss", window)[1].max())


def loss_rate_mean(links: pl.DataFrame, link: str, capacity: float, window: Window) -> float:
    """Loss rate 1 - C/y for the mean arrival rate y of a window; 0 if y is at most C."""
    arrival = series.mean(series.link_series(links, link, "arrival_bps", window)[1])
    return max(0.0, 1 - capacity / arrival)


def overload_loss_max(links: pl.DataFrame, link: str, capacity: float, window: Window = ALL) -> float:
    """Largest max(0, 1 - C/y) over router intervals: the loss rate if nothing is queued."""
    _, peak = series.link_series(links, link, "peak_bps", window)
    return max(0.0, 1 - capacity / float(peak.max()))


def overload_duration(links: pl.DataFrame, link: str, capacity: float, window: Window = ALL) -> float:
    """Seconds from the first to the last sample with a peak arrival rate above the capacity."""
    t, peak = series.link_series(links, link, "peak_bps", window)
    over = t[peak > capacity]
    return float(over[-1] - over[0]) if over.size else 0.0


def drop_count(links: pl.DataFrame, names: Sequence[str] | None = None, window: Window = ALL) -> int:
    """Packets dropped at the queues of the named links, or of all links."""
    return _total(links, "dropped", names, window)


def drop_bytes(links: pl.DataFrame, names: Sequence[str] | None = None, window: Window = ALL) -> int:
    """Bytes dropped at the queues of the named links, or of all links."""
    return _total(links, "dropped_bytes", names, window)


def _total(links: pl.DataFrame, column: str, names: Sequence[str] | None, window: Window) -> int:
    rows = links.filter(pl.col("t") > window[0], pl.col("t") <= window[1])
    if names is not None:
        rows = rows.filter(pl.col("link").cast(pl.String).is_in(list(names)))
    return int(rows[column].cast(pl.UInt64).sum())


def utilisation(links: pl.DataFrame, link: str, target: float, window: Window = ALL) -> tuple[float, float]:
    """Mean and variance of the sampled throughput divided by the target."""
    _, throughput = series.link_series(links, link, "throughput_bps", window)
    share = throughput / target
    return series.mean(share), float(share.var())


def queue_cdf(links: pl.DataFrame, link: str, packets: int, window: Window = ALL) -> float:
    """Fraction of the samples in which fewer than ``packets`` packets are queued."""
    _, queued = series.link_series(links, link, "backlog_packets", window)
    return float((queued < packets).mean())


def mean_queue_over_bdp(links: pl.DataFrame, link: str, capacity: float, rtpd: float, window: Window = ALL) -> float:
    """Time-averaged queue in bits, divided by capacity times round-trip propagation delay (`rtpd`, in seconds)."""
    return 8 * series.mean(series.link_series(links, link, "backlog_bytes", window)[1]) / (capacity * rtpd)


def queue_grows(links: pl.DataFrame, link: str, window: Window) -> bool:
    """Returns True if the queue is longer at the end of a window than at its start."""
    _, queued = series.link_series(links, link, "backlog_bytes", window)
    return bool(queued[-1] > queued[0])


def c_over_r(links: pl.DataFrame, link: str, capacity: float, window: Window = ALL) -> float:
    """Mean of C/R, where R is the rate signalled by the router, in bit/s."""
    return series.mean(capacity / series.link_series(links, link, "signal", window)[1])


def n_estimate_error(
    links: pl.DataFrame, link: str, capacity: float, active: tuple[Array, Array], width: float = 1.0
) -> float:
    """Mean of |avg(C/R) - avg(N)| / avg(N) over windows of ``width`` seconds; N is given as (t, active flows)."""
    t, rate = series.link_series(links, link, "signal")
    estimate = series.window_means(t, capacity / rate, width)
    actual = series.window_means(*active, width)
    both = min(estimate.size, actual.size)
    busy = actual[:both] > 0
    return float(np.mean(np.abs(estimate[:both][busy] / actual[:both][busy] - 1)))
