"""Completion times of transfers: against size, and their distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.report.summary import always_sends
from levelflow.theory.queues.bounds import bounds
from levelflow.theory.queues.sharing import completion_times

if TYPE_CHECKING:
    import polars as pl

    from levelflow.results import Result

Array = np.ndarray[Any, np.dtype[np.float64]]

#: Sizes within a fifth of a decade are one point; with fewer transfers than these, each is a point of its own.
PER_DECADE = 5
FEW = 300
#: Points of a distribution.
STEPS = 400
LOW, HIGH = 0.05, 0.95


@dataclass(frozen=True)
class Transfers:
    """The completion times of an entry, s; sizes in bytes.

    Attributes:
        name: of the entry.
        label: what a legend says.
        size: the mean size of each class.
        median: of each class; nine of ten lie between `low` and `high`.
        low: see `median`.
        high: see `median`.
        least: the median of the least possible times of each class.
        sharing: the median if the same transfers shared their narrowest link; NaN beside unlimited flows.
        points: sizes and times of single transfers, where they are few.
        times: completion times, sorted.
        shares: of transfers that took no longer.
    """

    name: str
    label: str
    size: Array
    median: Array
    low: Array
    high: Array
    least: Array
    sharing: Array
    points: tuple[Array, Array]
    times: Array
    shares: Array


def transfers(result: Result) -> list[Transfers]:
    """The completion times of each entry that had any."""
    if result.completions.is_empty():
        return []
    done = result.completions.with_columns(least=bounds(result.completions, result.scenario))
    done = done.with_columns(sharing=_sharing(done, result.scenario))
    by_name = done.partition_by("flow", as_dict=True)
    return [_of(flow, by_name[(flow["name"],)]) for flow in result.scenario["flows"] if (flow["name"],) in by_name]


def _of(flow: dict[str, Any], own: pl.DataFrame) -> Transfers:
    size, took = own["bytes"].to_numpy().astype(float), own["fct_s"].to_numpy()
    bins = np.floor(PER_DECADE * np.log10(size) + 1e-9)
    chosen = [bins == kind for kind in np.unique(bins)]

    def of_each(column: str, share: float) -> Array:
        values = own[column].to_numpy()
        return np.array([np.quantile(values[some], share) for some in chosen])

    few = size.size <= FEW
    shares = np.linspace(0, 1, min(took.size, STEPS) + 1)[1:]
    return Transfers(
        name=flow["name"],
        label=f"{flow['name']} ({flow['law']})",
        size=np.array([size[some].mean() for some in chosen]),
        median=of_each("fct_s", 0.5),
        low=of_each("fct_s", LOW),
        high=of_each("fct_s", HIGH),
        least=of_each("least", 0.5),
        sharing=of_each("sharing", 0.5),
        points=(size, took) if few else (size[:0], took[:0]),
        times=np.quantile(took, shares, method="inverted_cdf"),
        shares=shares,
    )


def _sharing(done: pl.DataFrame, scenario: dict[str, Any]) -> Array:
    """What each transfer would take if those over its narrowest link shared that at any moment, s.

    NaN beside unlimited flows.
    """
    capacity = {link["name"]: link["capacity_bps"] for link in scenario["links"]}
    narrowest = {flow["name"]: min(flow["path"], key=capacity.__getitem__) for flow in scenario["flows"]}
    unlimited = {name for flow in scenario["flows"] if always_sends(flow) for name in flow["path"]}
    over = np.array([narrowest[name] for name in done["flow"].cast(str)])
    least, size, start = (done[column].to_numpy() for column in ("least", "bytes", "start_s"))
    shared = np.full(done.height, np.nan)
    for link in set(narrowest.values()) - unlimited:
        own = over == link
        alone = 8 * size[own] / capacity[link]
        if own.any():
            shared[own] = completion_times(start[own], size[own], capacity[link], np.maximum(least[own] - alone, 0.0))
    return shared
