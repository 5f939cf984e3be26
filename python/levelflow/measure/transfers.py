"""Transfers of a result: counts by outcome, completion times of finished transfers, and the unfinished fraction.

Columns are those of the `transfers` table. Only finished transfers have a completion time. Every mean completion time
is therefore reported with the number of unfinished transfers and of their bytes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from levelflow.records import FlowRecord

OUTCOMES = ("finished", "aborted", "unfinished")
#: Quantiles of completion times and slowdowns, by name.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


class Spread(TypedDict):
    """Mean and quantiles of a set of values."""

    mean: float
    p50: float
    p95: float
    p99: float
    p999: float


class TransferCounts(TypedDict):
    """Counts of a set of transfers by outcome, and statistics of the finished transfers."""

    started: int
    finished: int
    aborted: int
    unfinished: int
    missing_share: float
    """Fraction of the bytes that belong to transfers that did not finish."""
    fct_s: Spread | None
    """Completion times, s."""
    slowdown: Spread | None


class SizeSummary(TransferCounts):
    """Transfers of `low` bytes to less than `high` bytes."""

    low: int
    high: int


class TransferSummary(TransferCounts):
    """Transfers of a flow entry or of a run, also by size."""

    sizes: list[SizeSummary]


def summary(transfers: pl.DataFrame) -> TransferSummary | None:
    """Returns counts by outcome, the unfinished fraction of bytes, and quantiles of times and slowdowns.

    The summary also contains these values for each decade of sizes.

    Returns None if there are no transfers.
    """
    if transfers.is_empty():
        return None
    return {**_counts(transfers), "sizes": by_size(transfers)}


def by_size(transfers: pl.DataFrame) -> list[SizeSummary]:
    """Returns a summary for each decade of sizes that has transfers: sizes from `low` bytes to less than `high`."""
    decade = transfers.select(decades(pl.col("bytes"))).to_series()
    bins: list[SizeSummary] = []
    for place in sorted(set(decade)):
        own = transfers.filter(decade == place)
        bins.append({"low": 10**place, "high": 10 ** (place + 1), **_counts(own)})
    return bins


def decades(size: pl.Expr) -> pl.Expr:
    """Returns the decade of a size in bytes, such as 3 for 1000 to 9999."""
    return (size.cast(pl.String).str.len_chars() - 1).cast(pl.Int64)  # exact, unlike a logarithm


def finished(transfers: pl.DataFrame) -> pl.DataFrame:
    """Returns the transfers whose receivers have all bytes."""
    return transfers.filter(pl.col("outcome").cast(pl.String) == "finished")


def with_wire_bytes(transfers: pl.DataFrame, flows: Sequence[FlowRecord]) -> pl.DataFrame:
    """Adds the column `wire_bytes`: payload and headers of the packets of each transfer, without retransmissions."""

    def of_flow(values: dict[str, int]) -> pl.Expr:
        return pl.col("flow").cast(pl.String).replace_strict(values, return_dtype=pl.Int64)

    header = of_flow({flow["name"]: flow["header_bytes"] for flow in flows})
    room = of_flow({flow["name"]: flow["packet_bytes"] - flow["header_bytes"] for flow in flows})
    payload = pl.col("bytes").cast(pl.Int64)
    return transfers.with_columns((payload + header * ((payload + room - 1) // room)).alias("wire_bytes"))


def spread(values: npt.ArrayLike) -> Spread | None:
    """Returns the mean and quantiles of the values; None without values. Quantiles are values (nearest rank).

    >>> spread([1.0, 2.0, 3.0, 10.0])
    {'mean': 4.0, 'p50': 2.0, 'p95': 10.0, 'p99': 10.0, 'p999': 10.0}
    """
    each = np.sort(np.asarray(values, dtype=np.float64))
    if not each.size:
        return None

    def quantile(name: str) -> float:
        return float(each[max(math.ceil(QUANTILES[name] * each.size - 1e-9), 1) - 1])

    return {
        "mean": math.fsum(each) / each.size,
        "p50": quantile("p50"),
        "p95": quantile("p95"),
        "p99": quantile("p99"),
        "p999": quantile("p999"),
    }


def _counts(transfers: pl.DataFrame) -> TransferCounts:
    outcome = transfers["outcome"].cast(pl.String)
    done = finished(transfers)
    started, carried = int(transfers["bytes"].sum()), int(done["bytes"].sum())
    return {
        "started": transfers.height,
        "finished": int((outcome == "finished").sum()),
        "aborted": int((outcome == "aborted").sum()),
        "unfinished": int((outcome == "unfinished").sum()),
        "missing_share": (started - carried) / started if started else 0.0,
        "fct_s": spread(done["fct_s"].to_numpy()),
        "slowdown": spread(done["slowdown"].to_numpy()),
    }
