"""What a run comes to: final rates beside those of a reference, delays, completion times, queues, loss.

A flow that a scenario lists by itself, neither arriving at random nor of finite size, has a rate to compare with a
reference (`levelflow.theory.references`); the others have completion times to compare with the least ones
(`levelflow.theory.queues.bounds`). The *steady window* of a run is the last fifth of the time between the last
event and the end: an arrival or departure of a listed flow, or a change of a link after which a tenth of the run is
left. The reference has the capacities of links in the mean over that window. A run has *settled* if each listed flow
keeps its rate before the window, and has that of the reference in it. Samples are sums over an entry; flows of a group
count one by one where the result has its members, and with their mean otherwise. Flows with an application that has
less to send than they may are compared with nothing; the reference leaves them what they had in the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from levelflow.theory.competition import in_force
from levelflow.theory.queues.bounds import slowdowns
from levelflow.theory.references import Reference, reference

Rates = np.ndarray[Any, np.dtype[np.float64]]

SETTLED_WITHIN = 0.05
#: Links that change after this share of a run never reach an equilibrium in it.
MOST_OF_A_RUN = 0.9
DIGITS = 12


def summarise(
    tables: dict[str, pl.DataFrame],
    scenario: dict[str, Any],
    end_s: float,
    counters: dict[str, Any],
) -> dict[str, Any]:
    """Returns the summary of a run as plain data; the keys say the units.

    Args:
        tables: `flows`, `links`, `completions` and, where there are any, `members`, as in `levelflow.Result`.
        scenario: the resolved scenario.
        end_s: how far the run came, in seconds.
        counters: the engine's exact counters.
    """
    flows, links, completions = (tables[name] for name in ("flows", "links", "completions"))
    event_s, changed_s = last_event(flows, scenario, end_s), last_change(scenario, end_s)
    event, event_s = ("change of a link", changed_s) if changed_s > event_s else ("arrival or departure", event_s)
    window = steady_window(event_s, end_s)
    members = _members(tables.get("members", pl.DataFrame()), window)
    per_flow, compared_with, shares = _flows(flows, completions, scenario, window, counters, members)
    compared = [row for row in per_flow if row["distance"] is not None]
    rates = {row["name"]: members.get(row["name"], np.full(round(row["active"]), row["rate_bps"])) for row in compared}
    parts = [rates[row["name"]] / shares[row["name"]] for row in compared]
    distance = max((row["distance"] for row in compared), default=None)
    steady = settling(flows, scenario, event_s, window)
    summary = {
        "window_s": list(window),
        "last_event": event,
        "last_event_s": event_s,
        "settling_s": steady,
        "settled": steady is not None and (distance is None or distance <= SETTLED_WITHIN),
        "jain": jain(np.concatenate([*rates.values(), []])),
        "jain_of_shares": jain(np.concatenate([*parts, []])),
        "reference": compared_with,
        "distance_max": distance,
        "flows": per_flow,
        "links": _links(links, scenario, counters),
        "random": scenario.get("random", True),
        "warnings": scenario.get("warnings", []),
    }
    rounded: dict[str, Any] = _rounded(summary)
    return rounded


def last_event(flows: pl.DataFrame, scenario: dict[str, Any], end_s: float) -> float:
    """Returns when the last listed flow came or went, in seconds; 0 if none did before the end."""
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


def last_change(scenario: dict[str, Any], end_s: float) -> float:
    """Returns when a link or a route changed last, in seconds, if a tenth of the run was left then; otherwise 0."""
    changes = [change["at_s"] for link in scenario["links"] for change in link.get("changes", ())]
    changes += [plan["from_s"] for flow in scenario["flows"] for plan in flow.get("plans", ())]
    last = max((at for at in changes if at < end_s), default=0.0)
    return last if last <= MOST_OF_A_RUN * end_s else 0.0


def is_listed(flow: dict[str, Any]) -> bool:
    """Tells a flow that the scenario lists by itself from arrivals (no `count`) and finite ones."""
    return flow["count"] is not None and not flow["finite"]


def always_sends(flow: dict[str, Any]) -> bool:
    """Tells a listed flow without an application, which would have less to send than it may."""
    return is_listed(flow) and not flow.get("application")


def steady_window(event_s: float, end_s: float) -> tuple[float, float]:
    """Returns the last fifth of the time between an event and the end, in seconds."""
    return end_s - (end_s - event_s) / 5, end_s


def within(table: pl.DataFrame, window: tuple[float, float]) -> pl.DataFrame:
    """Returns the samples of a window; the last sample if the window is shorter than one."""
    inside = table.filter(pl.col("t").is_between(*window))
    return inside if inside.height else table.filter(pl.col("t") == pl.col("t").max())


def settling(
    flows: pl.DataFrame, scenario: dict[str, Any], event_s: float, window: tuple[float, float]
) -> float | None:
    """Returns how long after the last event every listed flow stays within 5 % of its steady rate, in seconds.

    None if that is not before the steady window, or if no listed flow is active in it.
    """
    settled = None
    active = flows.filter(pl.col("t") >= event_s, pl.col("active") > 0).partition_by("flow", as_dict=True)
    for flow in scenario["flows"]:
        own = active.get((flow["name"],))
        if own is None or not always_sends(flow):
            continue
        final = within(own, window)["rate_bps"].mean()
        if not isinstance(final, float):
            continue
        away = np.abs(own["rate_bps"].to_numpy() - final) > SETTLED_WITHIN * final
        settled = float(own["t"].to_numpy()[away].max(initial=settled or event_s))
    return settled - event_s if settled is not None and settled < window[0] else None


def jain(rates: Rates) -> float | None:
    """Returns Jain's fairness index of some rates: 1 if all are equal, 1/n if one has everything.

    >>> jain(np.array([3.0, 3.0])), jain(np.array([1.0, 0.0, 0.0, 0.0]))
    (1.0, 0.25)
    """
    squares = float((rates**2).sum()) * rates.size
    return float(rates.sum()) ** 2 / squares if squares else None


def _flows(
    flows: pl.DataFrame,
    completions: pl.DataFrame,
    scenario: dict[str, Any],
    window: tuple[float, float],
    counters: dict[str, Any],
    members: dict[str, Rates],
) -> tuple[list[dict[str, Any]], str, dict[str, Rates | float]]:
    """Returns a row per entry, the name of the reference, and the rates there of the flows of entries that it has."""
    steady = within(flows, window).group_by("flow").agg(pl.col("active", "rate_bps", "delivered_bps").mean())
    means = {row["flow"]: row for row in steady.to_dicts()}
    active = [means[flow["name"]]["active"] if flow["name"] in means else 0.0 for flow in scenario["flows"]]
    at_rest = in_force(scenario, *window)
    sending = {
        number: means[flow["name"]]["delivered_bps"]
        for number, flow in enumerate(scenario["flows"])
        if flow.get("application") and active[number]
    }
    found = reference(at_rest, active, sending)
    completions = completions.with_columns(slowdown=slowdowns(completions, scenario))
    ended, none_ended = completions.partition_by("flow", as_dict=True), completions.clear()
    rows: list[dict[str, Any]] = []
    shares: dict[str, Rates | float] = {}
    for number, (flow, count, share, exact) in enumerate(
        zip(scenario["flows"], active, found.rates, counters["flows"], strict=True)
    ):
        own = ended.get((flow["name"],), none_ended)
        measured = "delivered_bps" if number in sending else "rate_bps"
        rate = means[flow["name"]][measured] / count if count else None
        compared = rate is not None and share and always_sends(flow)
        each = members.get(flow["name"], np.array([rate]))
        if compared and share:
            shares[flow["name"]] = (
                _shares(found, at_rest["flows"][number], number, len(each)) if len(each) > 1 else share
            )
        lost = exact["dropped_packets"] + exact["lost_packets"]
        rows.append(
            {
                "name": flow["name"],
                "law": flow["law"],
                "active": count,
                "rate_bps": rate,
                "delivered_bps": means[flow["name"]]["delivered_bps"] / count if count else None,
                "share_bps": share,
                "distance": float(abs(each / shares[flow["name"]] - 1).max()) if compared else None,
                "has_members": flow["name"] in members,
                "fct_s": _spread(own["fct_s"]),
                "slowdown": _spread(own["slowdown"]),
                "loss": lost / exact["sent_packets"] if exact["sent_packets"] else 0.0,
                **{key: value for key, value in exact.items() if key != "name"},
            }
        )
    return rows, found.name, shares


def _shares(found: Reference, flow: dict[str, Any], number: int, count: int) -> Rates:
    """Returns the rate in the reference of each flow of an entry, by its path."""
    taken = flow["plans"][0]["path_of"] if "plans" in flow else [0]
    return np.array([found.on_path[number, taken[member % len(taken)]] for member in range(count)])


def _members(members: pl.DataFrame, window: tuple[float, float]) -> dict[str, Rates]:
    """Returns the mean rate in the window of each flow of each group that has members, bit/s."""
    if members.is_empty():
        return {}
    means = within(members, window).group_by("flow", "member").agg(pl.col("rate_bps").mean()).sort("flow", "member")
    return {str(name): own["rate_bps"].to_numpy() for (name,), own in means.partition_by("flow", as_dict=True).items()}


def _spread(values: pl.Series) -> dict[str, Any] | None:
    if values.is_empty():
        return None
    return {"mean": values.mean(), **{f"p{share}": values.quantile(share / 100) for share in (50, 90, 99)}}


def _links(links: pl.DataFrame, scenario: dict[str, Any], counters: dict[str, Any]) -> list[dict[str, Any]]:
    largest = links.group_by("link").agg(pl.col("queue_max_bytes", "peak_loss").max())
    longest, losses = (dict(zip(largest["link"], largest[column], strict=True)) for column in largest.columns[1:])
    rows = []
    for link, exact in zip(scenario["links"], counters["links"], strict=True):
        found = exact["queue_bytes"] or dict.fromkeys(("mean", "p50", "p90", "p99", "max"), 0)  # none came to see it
        most = longest.get(link["name"], found["max"])
        queue = {key: min(value, most) for key, value in found.items()} | {"max": most}
        to_ms = 8e3 / link["capacity_bps"]
        waits = exact.pop("wait_s", None)  # of links that change
        rows.append(
            {
                **exact,
                "queue_bytes": queue,
                "queue_ms": {key: 1e3 * waits[key] if waits else value * to_ms for key, value in queue.items()},
                "loss_max": losses.get(link["name"]),
            }
        )
    return rows


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
