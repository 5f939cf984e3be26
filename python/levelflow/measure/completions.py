"""Metrics of flow completion times (``completions`` table), compared with processor sharing.

RTPD is the round-trip propagation delay, L the size and C the capacity. L is the size on the wire (`wire_bytes`), with
headers, because C counts headers. Times are in seconds, capacities in bit/s and sizes in bytes. A size class
``(low, high)`` includes payloads from low to just below high.
"""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from levelflow.measure import series
from levelflow.measure.series import ALL, Array, Window
from levelflow.theory.queues.sharing import completion_times, fct_processor_sharing

SizeClass = tuple[float, float]
ANY_SIZE: SizeClass = (0, math.inf)
#: Number of size bins per decade, for metrics that are computed per bin of flow sizes.
BINS_PER_DECADE = 5
#: Smallest number of flows in a bin for which a spread is computed.
FEWEST_IN_BIN = 10
#: Smallest number of flows in a bin for which a mean is computed (Dukkipati 2005, fig 7).
FEWEST_IN_MEAN = 20
#: Quantiles reported with a mean: the median, and the 5 % and 95 % quantiles.
MEDIAN_AND_MOST = (0.5, 0.05, 0.95)


class OverFlows(float):
    """A mean over flows, or a ratio of two such means.

    Attributes:
        flows: number of flows in the mean.
        quantiles: quantiles `MEDIAN_AND_MOST` of the per-flow values; empty if these are unknown.
    """

    flows: int
    quantiles: tuple[float, ...]

    def __new__(cls, value: float, flows: int, each: npt.ArrayLike = ()) -> Self:
        """Creates the mean; ``each`` holds the per-flow values."""
        number = super().__new__(cls, value)
        number.flows = flows
        known = np.asarray(each, dtype=np.float64)
        number.quantiles = tuple(np.quantile(known, MEDIAN_AND_MOST).tolist()) if known.size else ()
        return number


def select(completions: pl.DataFrame, sizes: SizeClass = ANY_SIZE, window: Window = ALL) -> pl.DataFrame:
    """Returns the completions of a size class whose flows started in a window.

    Raises:
        ValueError: if no flow matches.
    """
    rows = completions.filter(
        pl.col("bytes") >= sizes[0],
        pl.col("bytes") < sizes[1],
        pl.col("start_s") > window[0],
        pl.col("start_s") <= window[1],
    )
    if rows.is_empty():
        raise ValueError(f"no flow of {sizes[0]:g} to {sizes[1]:g} bytes was completed")
    return rows


def afct(completions: pl.DataFrame, sizes: SizeClass = ANY_SIZE, window: Window = ALL) -> OverFlows:
    """Mean completion time of a size class, s."""
    times = select(completions, sizes, window)["fct_s"].to_numpy()
    return OverFlows(series.mean(times), times.size, times)


def afct_ratio_to_ps(
    completions: pl.DataFrame, capacity: float, load: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> OverFlows:
    """Mean completion time of a size class, divided by the mean of the same flows under processor sharing."""
    rows = select(completions, sizes, window)
    return _ratio(rows["fct_s"].to_numpy(), _processor_sharing(rows, capacity, load))


def afct_ratio_to_sharing(
    completions: pl.DataFrame, capacity: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> OverFlows:
    """Mean completion time of a size class, divided by the mean if the same arrivals shared the link equally.

    All completed flows count as arrivals, even those outside the size class and the window. As in the formula of
    `fct_processor_sharing`, 1.5 round trips are added to each flow. The load does not include flows that do not
    complete. Arrivals should therefore end before the run ends.
    """
    columns = (completions[name].to_numpy() for name in ("start_s", "wire_bytes", "rtt_s"))
    starts, carried, round_trips = columns
    shared = completion_times(starts, carried, capacity, delays=1.5 * round_trips)
    rows = select(completions.with_columns(pl.Series("sharing_s", shared)), sizes, window)
    return _ratio(rows["fct_s"].to_numpy(), rows["sharing_s"].to_numpy())


def afct_ratio_to_bound(
    completions: pl.DataFrame, capacity: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> float:
    """Mean completion time of a size class, divided by the mean of 1.5 RTPD + L/C over the same flows."""
    return afct_ratio_to_ps(completions, capacity, 0.0, sizes, window)


def afct_ratio(a: pl.DataFrame, b: pl.DataFrame, sizes: SizeClass = ANY_SIZE, window: Window = ALL) -> OverFlows:
    """Mean completion time in ``a`` divided by that in ``b``, over the arrivals that completed in both runs."""
    keys = ["start_s", "bytes"]
    both = select(a, sizes, window).join(b, on=keys, suffix="_b", maintain_order="left")
    if both.is_empty():
        raise ValueError("no arrival completed in both runs")
    return _ratio(both["fct_s"].to_numpy(), both["fct_s_b"].to_numpy())


def fct_max_ratio_to_ps(
    completions: pl.DataFrame, capacity: float, load: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> float:
    """Largest ratio of a flow's completion time to the processor-sharing value for its size."""
    rows = select(completions, sizes, window)
    return float((rows["fct_s"].to_numpy() / _processor_sharing(rows, capacity, load)).max())


def by_size(
    completions: pl.DataFrame, capacity: float, load: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> pl.DataFrame:
    """Completion times per logarithmic bin of flow size, smallest sizes first.

    The largest bins are pooled until they contain ``FEWEST_IN_MEAN`` flows. Other bins with fewer flows are omitted.
    Columns: ``bytes`` and ``fct_s`` (means), ``fct_max_s``, ``ps_s`` (mean of the same flows under processor sharing),
    ``flows``, ``ratio`` (``fct_s`` / ``ps_s``) and ``ratios`` (the ratio of each flow).

    Raises:
        ValueError: if no bin contains enough flows.
    """
    rows = select(completions, sizes, window)
    bins = np.floor(BINS_PER_DECADE * np.log10(rows["bytes"].to_numpy()))
    largest = np.sort(bins)[-min(FEWEST_IN_MEAN, bins.size)]
    rows = rows.with_columns(
        pl.Series("bin", np.minimum(bins, largest)), pl.Series("ps_s", _processor_sharing(rows, capacity, load))
    )
    each = [
        own.select(
            pl.first("bin"),
            pl.mean("bytes", "fct_s", "ps_s"),
            pl.max("fct_s").alias("fct_max_s"),
            pl.len().alias("flows"),
            (pl.col("fct_s") / pl.col("ps_s")).implode().alias("ratios"),
        )
        for own in _bins(rows, FEWEST_IN_MEAN)
    ]
    return pl.concat(each).with_columns((pl.col("fct_s") / pl.col("ps_s")).alias("ratio"))


def worst_ratio_to_ps(
    completions: pl.DataFrame, capacity: float, load: float, sizes: SizeClass = ANY_SIZE, window: Window = ALL
) -> OverFlows:
    """Largest ratio of a size bin: mean completion time, divided by the mean under processor sharing."""
    table = by_size(completions, capacity, load, sizes, window)
    worst = table.row(int(table["ratio"].arg_max() or 0), named=True)
    return OverFlows(worst["ratio"], worst["flows"], worst["ratios"])


def fct_max_over_mean(completions: pl.DataFrame, sizes: SizeClass = ANY_SIZE, window: Window = ALL) -> float:
    """Median over size bins of `maximum/mean` of the completion times in a bin."""
    return _over_bins(select(completions, sizes, window), pl.col("fct_s").max() / pl.col("fct_s").mean())


def fct_cv(completions: pl.DataFrame, sizes: SizeClass = ANY_SIZE, window: Window = ALL) -> float:
    """Median over size bins of `standard deviation/mean` of the completion times in a bin."""
    return _over_bins(select(completions, sizes, window), pl.col("fct_s").std() / pl.col("fct_s").mean())


def active_series(flows: pl.DataFrame, names: list[str] | None = None, window: Window = ALL) -> tuple[Array, Array]:
    """Sample times and number of active flows of the named or all flow entries. A flow in its handshake is active."""
    rows = flows.filter(pl.col("t") > window[0], pl.col("t") <= window[1])
    if names is not None:
        rows = rows.filter(pl.col("flow").cast(pl.String).is_in(names))
    total = rows.group_by("t").agg(pl.col("active").cast(pl.Float64).sum()).sort("t")
    return total["t"].to_numpy(), total["active"].to_numpy()


def active_mean(flows: pl.DataFrame, names: list[str] | None = None, window: Window = ALL) -> float:
    """Time-averaged number of active flows in a window."""
    return series.mean(active_series(flows, names, window)[1])


def active_trend(flows: pl.DataFrame, names: list[str] | None = None, window: Window = ALL) -> float:
    """Least-squares slope of the number of active flows over the last half of a window, relative to its mean, 1/s."""
    return series.trend(*active_series(flows, names, window))


def transferring(completions: pl.DataFrame, t: Array) -> Array:
    """Number of flows at the times ``t`` that are between the end of their handshake and their completion."""
    begins = np.sort((completions["start_s"] + completions["rtt_s"]).to_numpy())
    ends = np.sort((completions["start_s"] + completions["fct_s"]).to_numpy())
    return (np.searchsorted(begins, t, "right") - np.searchsorted(ends, t, "right")).astype(np.float64)


def _ratio(times: Array, others: Array) -> OverFlows:
    """Returns the ratio of two means over the same flows."""
    return OverFlows(series.mean(times) / series.mean(others), times.size, times / others)


def _processor_sharing(rows: pl.DataFrame, capacity: float, load: float) -> Array:
    return np.asarray(fct_processor_sharing(rows["rtt_s"].to_numpy(), rows["wire_bytes"].to_numpy(), capacity, load))


def _over_bins(rows: pl.DataFrame, metric: pl.Expr) -> float:
    rows = rows.with_columns((pl.col("bytes").log10() * BINS_PER_DECADE).floor().alias("bin"))
    return float(np.median([own.select(metric).item() for own in _bins(rows, FEWEST_IN_BIN)]))


def _bins(rows: pl.DataFrame, fewest: int) -> list[pl.DataFrame]:
    """Returns the flows of each ``bin``, smallest sizes first. Row order is fixed, so means do not depend on threads.

    Raises:
        ValueError: if no bin contains enough flows.
    """
    parts = rows.sort("bin", maintain_order=True).partition_by("bin", maintain_order=True)
    found = [own for own in parts if own.height >= fewest]
    if not found:
        raise ValueError(f"no size bin holds {fewest} flows")
    return found
