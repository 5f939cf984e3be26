"""Columns of one flow or link as arrays, and measures that apply to any column.

Times are in seconds from the start of the run. A window ``(start, end)`` excludes its start and includes its end.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Window = tuple[float, float]
ALL: Window = (-math.inf, math.inf)

#: Length of the steady window, as a fraction of the time between two events. The window is at the end of this time.
STEADY_SHARE = 0.2
#: Last fraction of a run in which a stable quantity must stay close to its equilibrium.
STABLE_SHARE = 0.1
#: Largest relative deviation of a stable quantity from its equilibrium, or of a settled quantity from its final mean.
STABLE_WITHIN = 0.05


def steady(start: float, end: float) -> Window:
    """Returns the steady window between two events: the last fifth of that time."""
    return end - STEADY_SHARE * (end - start), end


def flow_series(flows: pl.DataFrame, flow: str, column: str, window: Window = ALL) -> tuple[Array, Array]:
    """Sample times and values of a column of one flow entry.

    Raises:
        KeyError: if no row has this flow.
    """
    return _series(flows, "flow", flow, column, window)


def link_series(links: pl.DataFrame, link: str, column: str, window: Window = ALL) -> tuple[Array, Array]:
    """Sample times and values of a column of one link.

    Raises:
        KeyError: if no row has this link.
    """
    return _series(links, "link", link, column, window)


def select(frame: pl.DataFrame, key: str, name: str, window: Window = ALL) -> pl.DataFrame:
    """Rows of one flow (key "flow") or link (key "link") in a window, in time order.

    Raises:
        KeyError: if no row has this name.
    """
    rows = frame.filter(pl.col(key).cast(pl.String) == name)
    if rows.is_empty():
        raise KeyError(f"no {key} is named {name!r}")
    return rows.filter(pl.col("t") > window[0], pl.col("t") <= window[1]).sort("t")


def _series(frame: pl.DataFrame, key: str, name: str, column: str, window: Window) -> tuple[Array, Array]:
    rows = select(frame, key, name, window)
    return rows["t"].to_numpy(), rows[column].cast(pl.Float64).to_numpy()


def mean(values: Array) -> float:
    """Mean of the values that are not NaN.

    Raises:
        ValueError: if there are no such values, for example because the window contains no sample.
    """
    numbers = values[~np.isnan(values)]
    if numbers.size == 0:
        raise ValueError("no sample in the window")
    return float(numbers.mean())


def holds_from(t: Array, ok: Truth, start: float, end: float = math.inf) -> float:
    """Seconds after ``start`` from which ``ok`` holds until ``end``; infinite if it does not hold at the end."""
    inside = (t > start) & (t <= end)
    t, ok = t[inside], ok[inside]
    if t.size == 0 or not ok[-1]:
        return math.inf
    broken = np.flatnonzero(~ok)
    first = t[broken[-1] + 1] if broken.size else t[0]
    return float(first - start)


def settling_time(t: Array, values: Array, start: float, end: float = math.inf) -> float:
    """Seconds after ``start`` from which the values stay within 5 % of their mean over the last tenth of samples."""
    inside = (t > start) & (t <= end)
    final = mean(values[inside][-max(1, round(STABLE_SHARE * inside.sum())) :])
    return holds_from(t, np.abs(values - final) <= STABLE_WITHIN * abs(final), start, end)


def is_stable(t: Array, values: Array, equilibrium: float, within: float = STABLE_WITHIN) -> bool:
    """Returns True if the relative deviation from `equilibrium` is at most ``within`` in the last tenth of time."""
    last = t > t[-1] - STABLE_SHARE * (t[-1] - t[0])
    return bool(np.all(np.abs(values[last] / equilibrium - 1) <= within))


def amplitude_pct(values: Array) -> float:
    """Returns 100 (max - min) / mean of the values."""
    return float(100 * np.ptp(values) / mean(values))


def is_monotonic(values: Array, slack: float = 0.02) -> bool:
    """Returns True if no change against the overall direction exceeds the fraction ``slack`` of the final value."""
    if values.size < 2:
        return True
    rising = values if values[-1] >= values[0] else -values
    reversal = np.max(np.maximum.accumulate(rising) - rising)
    return bool(reversal <= slack * abs(values[-1]))


def trend(t: Array, values: Array) -> float:
    """Least-squares slope over the last half of the time, divided by the mean over that half, in 1/s."""
    half = t >= (t[0] + t[-1]) / 2
    slope = np.polyfit(t[half], values[half], 1)[0]
    return float(slope / mean(values[half]))


def distance(a: tuple[Array, Array], b: tuple[Array, Array]) -> float:
    """Largest difference between two curves, each (t, values), sampled at the same times."""
    return float(np.abs(a[1] - b[1]).max())


def correlation(a: Array, b: Array) -> float:
    """Pearson's correlation coefficient of two series of equal length."""
    return float(np.corrcoef(a, b)[0, 1])


def window_means(t: Array, values: Array, width: float) -> Array:
    """Means over consecutive windows of ``width`` seconds, without an incomplete last window."""
    slot = np.floor((t - t[0]) / width + 1e-9).astype(np.int64)  # tolerance for rounding at boundaries
    sums, counts = np.bincount(slot, weights=values), np.bincount(slot)
    full = counts[:-1] > 0
    return np.asarray(sums[:-1][full] / counts[:-1][full])
