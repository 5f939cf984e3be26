"""Transfers of a result: counts by outcome, completion times of finished transfers, and the unfinished fraction.

Columns are those of the `transfers` table. Only finished transfers have a completion time. So every mean completion
time is reported with the numbers of unfinished transfers and of their bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

OUTCOMES = ("finished", "aborted", "unfinished")
#: Quantiles of completion times and slowdowns, by name.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def summary(transfers: pl.DataFrame) -> dict[str, Any] | None:
    """Returns counts by outcome, the unfinished fraction of bytes, and spreads of `fct_s` and `slowdown`, also by size.

    None without transfers.
    """
    if transfers.is_empty():
        return None
    return {**_part(transfers), "sizes": by_size(transfers)}


def by_size(transfers: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns a summary for each decade of sizes that has transfers: sizes from `low` bytes to less than `high`."""
    decade = transfers.select(decades(pl.col("bytes"))).to_series()
    bins = []
    for place in sorted(set(decade)):
        own = transfers.filter(decade == place)
        bins.append({"low": 10**place, "high": 10 ** (place + 1), **_part(own)})
    return bins


def decades(size: pl.Expr) -> pl.Expr:
    """Returns the decade of a size in bytes, such as 3 for 1000 to 9999."""
    return (size.cast(pl.String).str.len_chars() - 1).cast(pl.Int64)  # exact, unlike a logarithm


def finished(transfers: pl.DataFrame) -> pl.DataFrame:
    """Returns the transfers whose receivers have all bytes."""
    return transfers.filter(pl.col("outcome").cast(pl.String) == "finished")


def spread(values: npt.ArrayLike) -> dict[str, float] | None:
    """Returns the mean and quantiles of the values; None without values. Quantiles are values (nearest rank).

    >>> spread([1.0, 2.0, 3.0, 10.0])
    {'mean': 4.0, 'p50': 2.0, 'p95': 10.0, 'p99': 10.0, 'p999': 10.0}
    """
    each = np.sort(np.asarray(values, dtype=np.float64))
    if not each.size:
        return None
    ranks = {name: max(math.ceil(share * each.size - 1e-9), 1) for name, share in QUANTILES.items()}
    return {"mean": math.fsum(each) / each.size, **{name: float(each[rank - 1]) for name, rank in ranks.items()}}


def _part(transfers: pl.DataFrame) -> dict[str, Any]:
    outcome = transfers["outcome"].cast(pl.String)
    done = finished(transfers)
    started, carried = int(transfers["bytes"].sum()), int(done["bytes"].sum())
    return {
        "started": transfers.height,
        **{name: int((outcome == name).sum()) for name in OUTCOMES},
        "missing_share": (started - carried) / started if started else 0.0,
        "fct_s": spread(done["fct_s"].to_numpy()),
        "slowdown": spread(done["slowdown"].to_numpy()),
    }
