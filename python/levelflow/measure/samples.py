"""Samples of a result in a window, and means that depend neither on threads nor on row order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

Window = tuple[float, float]


def inside(table: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Returns the samples that end in the window `(start, end]`. If there are none, returns the last sample."""
    rows = table.filter(pl.col("t") > window[0], pl.col("t") <= window[1])
    return rows if rows.height else table.filter(pl.col("t") == pl.col("t").max())


def lengths(table: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Returns, for each row, the duration of its sample in seconds. The last sample of a run may be shorter."""
    times = np.unique(table["t"].to_numpy())
    each = np.diff(times, prepend=0.0)
    return np.asarray(each[np.searchsorted(times, table["t"].to_numpy())])


def means(table: pl.DataFrame, keys: Sequence[str], columns: Sequence[str], window: Window) -> pl.DataFrame:
    """Returns the time-weighted means of `columns` in a window, for each combination of `keys`, sorted by `keys`.

    Samples are weighted by their duration. Sums are computed in time order, so they do not depend on threads.
    """
    rows = inside(table.with_columns(pl.Series("length", lengths(table))), window).sort([*keys, "t"])
    if rows.is_empty():
        return rows.select(*keys, *columns)
    place = rows.select(pl.struct(keys).rle_id()).to_series().to_numpy()
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    weight = rows["length"].to_numpy()
    total = np.add.reduceat(weight, starts)
    found = [
        pl.Series(name, np.add.reduceat(rows[name].cast(pl.Float64).to_numpy() * weight, starts) / total)
        for name in columns
    ]
    return rows.select(keys)[starts].with_columns(*found)
