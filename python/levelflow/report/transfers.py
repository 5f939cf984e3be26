"""Completion times and slowdowns of transfers against size, and the distribution of completion times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from levelflow.measure.transfers import finished, with_wire_bytes
from levelflow.measure.windows import always_sends
from levelflow.style import COLOURS
from levelflow.theory.queues.sharing import completion_times

if TYPE_CHECKING:
    import polars as pl

    from levelflow.records import ScenarioRecord
    from levelflow.rundata import RunData

Array = np.ndarray[Any, np.dtype[np.float64]]

#: Largest number of flow entries with a curve each. Above it, all transfers share one curve.
MOST_ENTRIES = len(COLOURS)
#: Size classes per decade, and limit on transfers that are also drawn as single points.
PER_DECADE = 5
FEW = 300
#: Limit on the points of a distribution.
STEPS = 400
LOW, HIGH = 0.05, 0.95
#: Quantiles of the slowdown curves.
MEDIAN, LATE = 0.5, 0.99


@dataclass(frozen=True)
class Transfers:
    """Completion times of the finished transfers of a flow entry, s; sizes in bytes.

    Attributes:
        name: Name of the flow entry.
        label: Text of the legend.
        size: Mean size of each size class.
        median: Median completion time of each class.
        low: 5th percentile of the completion time of each class.
        high: 95th percentile of the completion time of each class.
        ideal: Median ideal completion time of each class.
        sharing: Median completion time of each class under processor sharing of the narrowest link; NaN if unlimited
            flows use that link.
        slowdown: Median slowdown of each class.
        slowdown_late: 99th percentile of the slowdown of each class.
        points: Sizes and completion times of single transfers, if there are at most `FEW` transfers.
        times: Quantiles of the completion time.
        shares: Fractions of all started transfers that finished within `times`.
    """

    name: str
    label: str
    size: Array
    median: Array
    low: Array
    high: Array
    ideal: Array
    sharing: Array
    slowdown: Array
    slowdown_late: Array
    points: tuple[Array, Array]
    times: Array
    shares: Array


def transfers(result: RunData) -> list[Transfers]:
    """Returns completion times by flow entry with finished transfers. With many entries, returns one total."""
    done = finished(result.transfers)
    if done.is_empty():
        return []
    done = done.with_columns(sharing=_sharing(done, result.scenario))
    by_name = done.partition_by("flow", as_dict=True)
    if len(by_name) > MOST_ENTRIES:
        return [_of("all", f"all {len(by_name)} entries", done, result.transfers.height)]
    started = dict(result.transfers.group_by("flow").len().iter_rows())
    return [
        _of(name, f"{name} ({flow['law']})", by_name[(name,)], started[name])
        for flow in result.scenario["flows"]
        if ((name := flow["name"]),) in by_name
    ]


def _of(name: str, label: str, own: pl.DataFrame, started: int) -> Transfers:
    size, took = own["bytes"].to_numpy().astype(float), own["fct_s"].to_numpy()
    bins = np.floor(PER_DECADE * np.log10(size) + 1e-9)
    chosen = [bins == kind for kind in np.unique(bins)]

    def of_each(column: str, share: float) -> Array:
        values = own[column].to_numpy()
        return np.array([np.quantile(values[some], share, method="inverted_cdf") for some in chosen])

    few = size.size <= FEW
    shares = np.linspace(0, 1, min(took.size, STEPS) + 1)[1:]
    return Transfers(
        name=name,
        label=label,
        size=np.array([size[some].mean() for some in chosen]),
        median=of_each("fct_s", 0.5),
        low=of_each("fct_s", LOW),
        high=of_each("fct_s", HIGH),
        ideal=of_each("ideal_s", 0.5),
        sharing=of_each("sharing", 0.5),
        slowdown=of_each("slowdown", MEDIAN),
        slowdown_late=of_each("slowdown", LATE),
        points=(size, took) if few else (size[:0], took[:0]),
        times=np.quantile(took, shares, method="inverted_cdf"),
        shares=shares * (took.size / started),
    )


def _sharing(done: pl.DataFrame, scenario: ScenarioRecord) -> Array:
    """Returns the completion time of each transfer under processor sharing of its narrowest link, s.

    It is NaN if unlimited flows use that link. A transfer carries its payload and the headers of its packets.
    """
    capacity = {link["name"]: link["service_bps"] for link in scenario["links"]}
    narrowest = {flow["name"]: min(flow["path"], key=capacity.__getitem__) for flow in scenario["flows"]}
    unlimited = {name for flow in scenario["flows"] if always_sends(flow) for name in flow["path"]}
    over = np.array([narrowest[name] for name in done["flow"].cast(str)])
    done = with_wire_bytes(done, scenario["flows"])
    ideal, size, start = (done[column].to_numpy() for column in ("ideal_s", "wire_bytes", "start_s"))
    shared = np.full(done.height, np.nan)
    for link in set(narrowest.values()) - unlimited:
        own = over == link
        alone = 8 * size[own] / capacity[link]
        if own.any():
            shared[own] = completion_times(start[own], size[own], capacity[link], np.maximum(ideal[own] - alone, 0.0))
    return shared
