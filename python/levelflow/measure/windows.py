"""Last event of a run, and steady window after this event. Rates in the window are compared with a reference.

A *listed* flow does not arrive at random, and has no finite size. The *last event* of a run is the last arrival or
departure of a listed flow, or the last change of a link or route. Changes of links and routes in the last tenth of the
run do not count. The *steady window* is the last fifth of the time from the last event to the end of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from levelflow.measure.series import steady

if TYPE_CHECKING:
    from levelflow.records import FlowRecord, ScenarioRecord

#: Fraction of a run after which link changes are ignored, because the remaining time is too short for an equilibrium.
MOST_OF_A_RUN = 0.9


def last_event(flows: pl.DataFrame, scenario: ScenarioRecord, end_s: float) -> tuple[str, float]:
    """Returns the name of the last event of a run and its time in seconds. Without events, the time is 0."""
    joined, changed = last_arrival(flows, scenario, end_s), last_change(scenario, end_s)
    return ("change of a link", changed) if changed > joined else ("arrival or departure", joined)


def last_arrival(flows: pl.DataFrame, scenario: ScenarioRecord, end_s: float) -> float:
    """Returns the time of the last arrival or departure of a listed flow before the end, s; 0 without listed flows."""
    listed = [flow["name"] for flow in scenario["flows"] if is_listed(flow)]
    changes = (
        flows.filter(pl.col("flow").cast(pl.String).is_in(listed), pl.col("t") < end_s)
        .with_columns(change=pl.col("active").cast(pl.Int64).diff().fill_null(0).over("flow"))
        .filter(pl.col("change") != 0)
    )
    starts = [flow["start_s"] for flow in scenario["flows"] if flow["name"] in listed and flow["start_s"] is not None]
    sampled = changes["t"].max()
    last = float(sampled) if isinstance(sampled, float) else 0.0
    exact = [start for start in starts if last - 1.01 * scenario["sample_s"] <= start <= last]
    return max(exact, default=last)


def last_change(scenario: ScenarioRecord, end_s: float) -> float:
    """Returns the time of the last link or route change, s; 0 without a change, or if it is in the last tenth."""
    changes = [change["at_s"] for link in scenario["links"] for change in link["changes"]]
    changes += [plan["from_s"] for flow in scenario["flows"] for plan in flow.get("plans", ())]
    last = max((at for at in changes if at < end_s), default=0.0)
    return last if last <= MOST_OF_A_RUN * end_s else 0.0


def steady_window(event_s: float, end_s: float) -> tuple[float, float]:
    """Returns the last fifth of the time between an event and the end, as start and end in seconds."""
    return steady(event_s, end_s)


def is_listed(flow: FlowRecord) -> bool:
    """Returns True for a listed flow: a flow with a `count`, which does not arrive at random and is not finite."""
    return flow["count"] is not None and not flow["finite"]


def always_sends(flow: FlowRecord) -> bool:
    """Returns True for a listed flow whose rate is not limited by an application."""
    return is_listed(flow) and not flow["application"]
