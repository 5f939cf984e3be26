"""Metrics of flow rates (``flows`` table): steadiness, convergence, fairness and bottlenecks.

A rate is the rate that the law sets, in bit/s, as in the plots of the papers. For a flow entry with several flows, it
is the mean over active flows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from levelflow.measure import series
from levelflow.measure.series import ALL, Array, Window

#: Fraction of its max-min rate below which a flow counts as starved.
STARVED_BELOW = 0.2


def rate_series(flows: pl.DataFrame, flow: str, window: Window = ALL) -> tuple[Array, Array]:
    """Sample times and law rate per active flow of a flow entry, in bit/s; 0 while none of its flows is active."""
    t, rate = series.flow_series(flows, flow, "law_rate_bps", window)
    _, active = series.flow_series(flows, flow, "active", window)
    return t, rate / np.maximum(active, 1)


def mean_rate(flows: pl.DataFrame, flow: str, window: Window) -> float:
    """Mean law rate of a flow in a window, in bit/s."""
    return series.mean(rate_series(flows, flow, window)[1])


def steady_rate(flows: pl.DataFrame, flow: str, start: float, end: float) -> float:
    """Mean law rate of a flow in the steady window between two events, in bit/s."""
    return mean_rate(flows, flow, series.steady(start, end))


def peak_rate(flows: pl.DataFrame, flow: str, window: Window = ALL) -> float:
    """Largest sampled law rate of a flow, in bit/s."""
    return float(rate_series(flows, flow, window)[1].max())


def aggregate(flows: pl.DataFrame, names: Sequence[str], window: Window = ALL) -> tuple[Array, Array]:
    """Sample times and sum of the law rates of the named entries, in bit/s."""
    rows = flows.filter(
        pl.col("flow").cast(pl.String).is_in(list(names)), pl.col("t") > window[0], pl.col("t") <= window[1]
    )
    times, which = np.unique(rows["t"].to_numpy(), return_inverse=True)
    return times, np.bincount(which, rows["law_rate_bps"].to_numpy(), times.size).astype(np.float64)


def time_to_efficiency(
    flows: pl.DataFrame,
    names: Sequence[str],
    target: float,
    start: float,
    end: float = math.inf,
    share: float = 0.99,
) -> float:
    """Seconds after ``start`` from which the aggregate stays at or above ``share`` of ``target`` until ``end``."""
    t, total = aggregate(flows, names)
    return series.holds_from(t, total >= share * target, start, end)


def time_to_fairness(
    flows: pl.DataFrame,
    shares: Mapping[str, float],
    start: float,
    end: float = math.inf,
    within: float = 0.01,
) -> float:
    """Seconds after ``start`` from which every flow stays within ``within`` of its share (bit/s) until ``end``."""
    times = []
    for flow, share in shares.items():
        t, rate = rate_series(flows, flow)
        times.append(series.holds_from(t, np.abs(rate - share) <= within * share, start, end))
    return max(times)


def first_proposal(flows: pl.DataFrame, flow: str, start: float = 0.0) -> float:
    """Time of the first sample after ``start`` in which a flow proposes more than its rate, in s; infinite if never."""
    rows = series.select(flows, "flow", flow, (start, math.inf)).filter(pl.col("proposal_bps") > pl.col("law_rate_bps"))
    return math.inf if rows.is_empty() else float(rows["t"][0])


def rate_changes(flows: pl.DataFrame, flow: str, window: Window = ALL) -> tuple[Array, Array]:
    """Times of the samples whose rate differs from the previous sample, and the new rates in bit/s."""
    t, rate = rate_series(flows, flow, window)
    changed = np.flatnonzero(np.diff(rate)) + 1
    return t[changed], rate[changed]


def osc_amplitude_pct(flows: pl.DataFrame, flow: str, window: Window) -> float:
    """100 (max - min) / mean of the sampled law rate in a window."""
    return series.amplitude_pct(rate_series(flows, flow, window)[1])


def monotonic(flows: pl.DataFrame, flow: str, window: Window = ALL) -> bool:
    """Returns True if no reversal of the sampled rate in a window exceeds 2 % of its final value."""
    return series.is_monotonic(rate_series(flows, flow, window)[1])


def stable(flows: pl.DataFrame, flow: str, equilibrium: float, window: Window = ALL) -> bool:
    """Returns True if the rate stays within 5 % of `equilibrium` (bit/s) over the last tenth of a window."""
    return series.is_stable(*rate_series(flows, flow, window), equilibrium)


def starved(flows: pl.DataFrame, flow: str, share: float, window: Window) -> bool:
    """Returns True if the mean rate is below a fifth of the fair share (bit/s). The window begins with the flow."""
    return mean_rate(flows, flow, window) < STARVED_BELOW * share


def max_share_error(flows: pl.DataFrame, shares: Mapping[str, float], window: Window) -> float:
    """Largest relative deviation of a flow's mean rate in a window from its share (bit/s)."""
    return max(abs(mean_rate(flows, flow, window) / share - 1) for flow, share in shares.items())


def bottleneck_sequence(flows: pl.DataFrame, flow: str, rtt: float, window: Window = ALL) -> list[str]:
    """Links that a flow treats as its bottleneck, in order of time, without periods shorter than one RTT (s)."""
    rows = series.select(flows, "flow", flow, window)
    t, names = rows["t"].to_numpy(), rows["bottleneck"].cast(pl.String).to_list()
    if not names:
        return []
    starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    period = float(np.median(np.diff(t))) if len(names) > 1 else 0.0
    sequence: list[str] = []
    for first, beyond in zip(starts, [*starts[1:], len(names)], strict=True):
        lasted = t[beyond - 1] + period - t[first]
        name = names[first]
        if name is not None and lasted >= rtt and sequence[-1:] != [name]:
            sequence.append(name)
    return sequence
