"""Summary of a run: rates and fairness in the steady window, delays, transfers, queues, losses.

The throughput of listed flows (`levelflow.measure.windows`) is compared with reference rates
(`levelflow.theory.references`). The completion times of transfers are compared with ideal completion times. Reference
rates use mean link capacities over the steady window. A run has *settled* if each listed flow meets two conditions: its
throughput becomes steady before the window, and is near its reference rate in the window. A sample of a flow entry is
the sum over its flows. Fairness uses the throughput of each flow of a group if the table `members` contains it.
Otherwise it uses the mean of the group. Application-limited flows are not compared. The reference rates of other flows
are computed for the throughput that application-limited flows have in the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from levelflow.measure import fairness, transfers
from levelflow.measure.fairness import SETTLED_WITHIN, Rates
from levelflow.measure.samples import means
from levelflow.measure.windows import always_sends, last_event, steady_window
from levelflow.report import warned
from levelflow.theory.competition import in_force
from levelflow.theory.references import Reference, reference

if TYPE_CHECKING:
    from levelflow.measure.samples import Window
    from levelflow.records import Counters, FlowRecord, ScenarioRecord
    from levelflow.rundata import Tables
    from levelflow.summary import FlowSummary, LinkSummary, Summary

DIGITS = 12
#: Rates of a flow entry, which the summary contains as means per flow.
RATES = ("throughput_bps", "goodput_bps", "sending_rate_bps", "law_rate_bps")


def summarise(
    tables: Tables,
    scenario: ScenarioRecord,
    end_s: float,
    counters: Counters,
) -> Summary:
    """Returns the summary of a run as plain data; units are part of the keys.

    Args:
        tables: Tables of the run, as in `levelflow.Result`.
        scenario: Resolved scenario.
        end_s: Simulated time at the end of the run, s.
        counters: Exact counters of the engine.
    """
    flows, links, ended = tables["flows"], tables["links"], tables["transfers"]
    event, event_s = last_event(flows, scenario, end_s)
    window = steady_window(event_s, end_s)
    members = _members(tables["members"], window)
    per_flow, compared_with, shares = _flows(flows, ended, scenario, window, counters, members)
    per_link = _links(links, scenario, counters)
    compared = [row for row in per_flow if row["distance"] is not None]
    rates = {
        row["name"]: members.get(row["name"], np.full(round(row["active"]), row["throughput_bps"])) for row in compared
    }
    parts = [rates[row["name"]] / shares[row["name"]] for row in compared]
    distance = max((value for row in per_flow if (value := row["distance"]) is not None), default=None)
    steady = fairness.settling(flows, scenario, event_s, window)
    summary: Summary = {
        "window_s": list(window),
        "last_event": event,
        "last_event_s": event_s,
        "settling_s": steady,
        "settled": steady is not None and (distance is None or distance <= SETTLED_WITHIN),
        "jain": fairness.jain(np.concatenate([*rates.values(), []])),
        "jain_of_shares": fairness.jain(np.concatenate([*parts, []])),
        "reference": compared_with,
        "distance_max": distance,
        "flows": per_flow,
        "links": per_link,
        "transfers": transfers.summary(ended),
        "random": scenario["random"],
        "warnings": [*scenario["warnings"], *warned.of_run(per_flow, per_link)],
    }
    rounded: Summary = _rounded(summary)
    return rounded


def _flows(
    flows: pl.DataFrame,
    ended: pl.DataFrame,
    scenario: ScenarioRecord,
    window: Window,
    counters: Counters,
    members: dict[str, Rates],
) -> tuple[list[FlowSummary], str, dict[str, Rates | float]]:
    """Returns one row per flow entry, the name of the reference, and reference rates of the compared flow entries."""
    steady = {row["flow"]: row for row in means(flows, ["flow"], ["active", *RATES], window).to_dicts()}
    active = [steady[flow["name"]]["active"] if flow["name"] in steady else 0.0 for flow in scenario["flows"]]
    at_rest = in_force(scenario, *window)
    sending = {
        number: steady[flow["name"]]["throughput_bps"]
        for number, flow in enumerate(scenario["flows"])
        if flow["application"] and active[number]
    }
    found = reference(at_rest, active, sending)
    ended_of, none_ended = ended.partition_by("flow", as_dict=True), ended.clear()
    rows: list[FlowSummary] = []
    shares: dict[str, Rates | float] = {}
    for number, (flow, count, share, exact) in enumerate(
        zip(scenario["flows"], active, found.rates, counters["flows"], strict=True)
    ):
        name = flow["name"]
        throughput, goodput, sending_rate, law_rate = (steady[name][key] / count if count else None for key in RATES)
        compared = throughput is not None and share and always_sends(flow)
        each = members.get(name, np.array([throughput]))
        if compared and share:
            shares[name] = _shares(found, at_rest["flows"][number], number, len(each)) if len(each) > 1 else share
        lost = exact["dropped_packets"] + exact["lost_packets"]
        rows.append(
            {
                "name": name,
                "law": flow["law"],
                "active": count,
                "throughput_bps": throughput,
                "goodput_bps": goodput,
                "sending_rate_bps": sending_rate,
                "law_rate_bps": law_rate,
                "share_bps": share,
                "distance": fairness.distance(each, shares[name]) if compared else None,
                "has_members": name in members,
                "loss": lost / exact["sent_packets"] if exact["sent_packets"] else 0.0,
                "transfers": transfers.summary(ended_of.get((name,), none_ended)),
                **exact,
            }
        )
    return rows, found.name, shares


def _shares(found: Reference, flow: FlowRecord, number: int, count: int) -> Rates:
    """Returns the reference rate of each flow of a flow entry. The rate depends on the path of the flow."""
    taken = flow["plans"][0]["path_of"] if "plans" in flow else [0]
    return np.array([found.on_path[number, taken[member % len(taken)]] for member in range(count)])


def _members(members: pl.DataFrame, window: Window) -> dict[str, Rates]:
    """Returns, for each group with members, the throughput of each flow in the window, in bit/s."""
    if members.is_empty():
        return {}
    each = means(members, ["flow", "member"], ["throughput_bps"], window)
    parts = each.partition_by("flow", as_dict=True)
    return {str(name): own["throughput_bps"].to_numpy() for (name,), own in parts.items()}


def _links(links: pl.DataFrame, scenario: ScenarioRecord, counters: Counters) -> list[LinkSummary]:
    losses = dict(links.group_by("link").agg(pl.col("peak_loss").max()).iter_rows())
    return [
        {**exact, "loss_max": losses.get(link["name"])}
        for link, exact in zip(scenario["links"], counters["links"], strict=True)
    ]


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
        case dict():
            return {key: _rounded(item) for key, item in value.items()}
        case list():
            return [_rounded(item) for item in value]
        case _:
            return value
